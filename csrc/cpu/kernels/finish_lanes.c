/* finish_lanes.c -- results of many outputs whose lanes hold all there is; the usual ones without
 * an accumulator between. */
#include "finish.h"
#include "near.h"
#include "stencil.h"
#include "store.h"

typedef struct lanes { /* of outputs first, first + step, ... */
    const wk_reduction *r;
    void *const *of;
    int64_t width, first, step;
} lanes;

typedef struct result { /* one of the call's; of a complex one this is a part */
    void *data;
    wk_dtype dtype;
    wk_fold fold;
    int64_t first, step;
} result;

static const void *
lane_of(const lanes *l, wk_component c)
{
    int i = 0;
    while (l->r->component[i] != c) i++;
    return l->of[i];
}

/* A complex number's parts lie side by side. */
static wk_words
words_of(const lanes *l, wk_component c)
{
    const wk_reduction *r = l->r;
    const int parts = wk_is_complex(r->in->dtype) ? 2 : 1;
    const int words = r->foldings->component[c][r->in->dtype].words;
    return (wk_words){lane_of(l, c), parts * wk_stride(l->width), parts, words,
                      parts,         r->in->dtype < WK_F16};
}

static wk_words
words_from(const wk_words *s, int64_t from)
{
    wk_words some = *s;
    some.lane += from * s->step;
    return some;
}

/* ---- what has no short way ------------------------------------------------------------------ */

/* The parts of a sum, which no limbs go with. */
static void
set_parts(wk_exact *e, const wk_word *lane, int64_t stride)
{
    for (int k = 0; k < e->words; k++) e->part[k] = lane[k * stride];
}

/* Finishing moments of real numbers leaves an accumulator as it was. */
static void
through_accumulators(const lanes *l, int64_t from, int64_t to)
{
    const wk_reduction *r = l->r;
    const int64_t stride = wk_stride(l->width);
    union {
        wk_acc acc;
        int64_t room[sizeof(wk_acc) / 8 + 2 * WK_SUM_LIMBS + WK_SQUARE_LIMBS + 2];
    } a;
    int moments = !r->args->has_initial && !wk_is_complex(r->in->dtype);
    for (int c = 0; c < r->components; c++) moments &= r->component[c] <= WK_C_SQUARES;
    for (int64_t w = from; w < to; w++) {
        if (w == from || !moments) wk_acc_start(r, &a.acc);
        a.acc.n = r->args->n;
        for (int c = 0; c < r->components; c++) {
            if (!moments)
                r->folding[c]->absorb(&a.acc, l->of[c], stride, w);
            else
                set_parts(r->component[c] == WK_C_SUM ? &a.acc.sum[0] : &a.acc.squares,
                          (const wk_word *)l->of[c] + w, stride);
        }
        WK_ISA_NAME(wk_finish)(r, &a.acc, l->first + w * l->step);
    }
}

/* ---- moments -------------------------------------------------------------------------------- */

static int
is_half(wk_dtype dtype)
{
    return dtype == WK_F16 || dtype == WK_BF16;
}

/* So many sums of one word each, rounded once. */
static void
store_halves(const wk_words *s, int64_t width, const result *to)
{
    wk_stencil_store *store = WK_ISA_NAME(wk_stencil_storer)(1, to->dtype);
    uint16_t *out = (uint16_t *)to->data + to->first, some[WK_BOUNDS];
    double x[WK_BOUNDS];
    for (int64_t from = 0, n; from < width; from += n) {
        n = width - from < WK_BOUNDS ? width - from : WK_BOUNDS;
        for (int64_t i = 0; i < n; i++) x[i] = s->lane[(from + i) * s->step].f;
        store(x, n, some);
        for (int64_t i = 0; i < n; i++) out[(from + i) * to->step] = some[i];
    }
}

/* Sums of floats in their dtype or as doubles: the zero's sign is the high part's, where the low
 * part is nothing. */
static int
sums(const wk_reduction *r, const wk_words *s, int64_t width, const result *to)
{
    const wk_word *high = s->lane, *low = high + s->stride;
    const int64_t from = s->step, step = to->step;
    if (s->integer) return 0;
    if (wk_real_of(r->in->dtype) == WK_F32 && to->dtype == WK_F32) {
        float *out = (float *)to->data + to->first;
        for (int64_t w = 0; w < width; w++) out[w * step] = (float)high[w * from].f;
    } else if (is_half(to->dtype) && s->words == 1) {
        store_halves(s, width, to);
    } else if (to->dtype != WK_F64) {
        return 0;
    } else if (s->words == 1) {
        double *out = (double *)to->data + to->first;
        for (int64_t w = 0; w < width; w++) out[w * step] = high[w * from].f;
    } else {
        double *out = (double *)to->data + to->first;
        for (int64_t w = 0; w < width; w++) {
            const double h = high[w * from].f, l = low[w * from].f;
            out[w * step] = l == 0 ? h : h + l;
        }
    }
    return 1;
}

/* Means, and sums in other dtypes, of the outputs from .. to - 1. */
static void
any_sums(const wk_reduction *r, const wk_words *s, int64_t from, int64_t to, const result *out)
{
    int64_t limbs[WK_SUM_LIMBS];
    wk_exact e = {.words = s->words, .integer = s->integer};
    e.limbs = (wk_limbs){limbs, r->sum_limbs, r->sum_base};
    for (int64_t w = from; w < to; w++) {
        set_parts(&e, s->lane + w * s->step, s->stride);
        const double x =
            WK_ISA_NAME(wk_finish_exact)(&e, r->args->n, out->fold == WK_MEAN, out->dtype);
        wk_store_real(out->data, out->first + w * out->step, out->dtype, x);
    }
}

/* Both rounded, and stored; afterwards they differ where their roundings do. */
static void
store_bounded_halves(const result *to, int64_t first, double *low, const double *high,
                     int64_t n)
{
    wk_stencil_store *store = WK_ISA_NAME(wk_stencil_storer)(1, to->dtype);
    uint16_t *out = (uint16_t *)to->data + first, below[WK_BOUNDS], above[WK_BOUNDS];
    store(low, n, below);
    store(high, n, above);
    for (int64_t i = 0; i < n; i++) {
        out[i * to->step] = above[i];
        low[i] = below[i] == above[i] && low[i] == low[i] ? high[i] : wk_nan();
    }
}

/* Rounds both, and stores what they round to, where it is the same. Are all? */
static int
store_bounded(const result *to, int64_t from, double *low, double *high, int64_t n)
{
    const int64_t first = to->first + from * to->step, step = to->step;
    double *f64 = (double *)to->data + first;
    float *f32 = (float *)to->data + first;
    int apart = 0;
    if (to->dtype == WK_F64) {
        for (int64_t i = 0; i < n; i++) f64[i * step] = high[i];
    } else if (to->dtype == WK_F32) {
        for (int64_t i = 0; i < n; i++) low[i] = (double)(float)low[i];
        for (int64_t i = 0; i < n; i++) high[i] = (double)(float)high[i];
        for (int64_t i = 0; i < n; i++) f32[i * step] = (float)high[i];
    } else {
        store_bounded_halves(to, first, low, high, n);
    }
    for (int64_t i = 0; i < n; i++) apart |= !(low[i] == high[i]);
    return !apart;
}

/* The sums, or the means, of a part. */
static void
sum_results(const lanes *l, const wk_words *s, const result *to)
{
    const wk_reduction *r = l->r;
    double low[WK_BOUNDS], high[WK_BOUNDS];
    if (to->fold == WK_SUM) {
        if (!sums(r, s, l->width, to)) any_sums(r, s, 0, l->width, to);
        return;
    }
    for (int64_t from = 0, n; from < l->width; from += n) {
        n = l->width - from < WK_BOUNDS ? l->width - from : WK_BOUNDS;
        const wk_words some = words_from(s, from);
        if (!WK_ISA_NAME(wk_mean_bounds)(&some, r->args->n, to->dtype, n, low, high)) {
            any_sums(r, s, from, from + n, to);
            continue;
        }
        if (store_bounded(to, from, low, high, n)) continue;
        for (int64_t i = 0; i < n; i++)
            if (!(low[i] == high[i])) any_sums(r, s, from + i, from + i + 1, to);
    }
}

/* Variances, sums of squares, and the roots of either. */
static void
square_results(const lanes *l, const result *to)
{
    const wk_reduction *r = l->r;
    const int root = to->fold == WK_STD || to->fold == WK_NORM;
    const int variance = to->fold == WK_VAR || to->fold == WK_STD;
    const wk_words q = words_of(l, WK_C_SQUARES);
    const wk_words s = variance ? words_of(l, WK_C_SUM) : q;
    double low[WK_BOUNDS], high[WK_BOUNDS];
    for (int64_t from = 0, n; from < l->width; from += n) {
        n = l->width - from < WK_BOUNDS ? l->width - from : WK_BOUNDS;
        const wk_words sum = words_from(&s, from), squares = words_from(&q, from);
        const int known = variance ? WK_ISA_NAME(wk_variance_bounds)(&sum, &squares, r->args->n,
                                                                     r->args->ddof, root,
                                                                     to->dtype, n, low, high)
                                   : WK_ISA_NAME(wk_square_bounds)(&squares, r->args->n, root,
                                                                   to->dtype, n, low, high);
        if (!known) {
            through_accumulators(l, from, from + n);
            continue;
        }
        if (store_bounded(to, from, low, high, n)) continue;
        for (int64_t i = 0; i < n; i++)
            if (!(low[i] == high[i])) through_accumulators(l, from + i, from + i + 1);
    }
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* Bounds in locals, which no store can change: then these loops vectorise. */
#define EACH(T, value)                                                                         \
    do {                                                                                       \
        T *restrict out = (T *)to->data + to->first;                                           \
        for (int64_t w = 0; w < width; w++) out[w * step] = value;                             \
    } while (0)
#define COPY(T) EACH(T, ((const T *)lane)[w])
#define COMPLEX(T) /* NaN is in either part where there was one */                             \
    do {                                                                                       \
        T *restrict out = (T *)to->data + 2 * to->first;                                       \
        const double *restrict real = lane, *restrict imag = real + wk_stride(width);          \
        for (int64_t w = 0; w < width; w++) {                                                  \
            const int nan = __builtin_isunordered(real[w], imag[w]);                           \
            out[2 * w * step] = nan ? (T)wk_nan() : (T)real[w];                                \
            out[2 * w * step + 1] = nan ? (T)wk_nan() : (T)imag[w];                            \
        }                                                                                      \
    } while (0)

static void
extremes(const lanes *l, const result *to)
{
    const void *restrict lane = lane_of(l, to->fold == WK_MIN ? WK_C_MIN : WK_C_MAX);
    const int64_t width = l->width, step = to->step;
    switch (l->r->in->dtype) {
    case WK_F16:
        EACH(uint16_t, wk_unorder_16(((const int16_t *)lane)[w], 0x7c00, 0x7e00));
        break;
    case WK_BF16:
        EACH(uint16_t, wk_unorder_16(((const int16_t *)lane)[w], 0x7f80, 0x7fc0));
        break;
    case WK_F32: EACH(float, wk_unorder_f32(((const int32_t *)lane)[w])); break;
    case WK_F64: EACH(double, wk_unorder_f64(((const int64_t *)lane)[w])); break;
    case WK_C64: COMPLEX(float); break;
    case WK_C128: COMPLEX(double); break;
    default:
        switch (l->r->item) {
        case 1: COPY(uint8_t); break;
        case 2: COPY(uint16_t); break;
        case 4: COPY(uint32_t); break;
        default: COPY(uint64_t); break;
        }
    }
}

/* The most less the least: integers modulo 2^bits, floats as those of their dtype are subtracted, and
 * each part of complex numbers so. */
#define SPREAD(T) EACH(T, (T)(((const T *)most)[w] - ((const T *)least)[w]))
#define SPREAD_16(one, nan)                                                                    \
    EACH(uint16_t, difference(to->dtype, wk_unorder_16(((const int16_t *)most)[w], one, nan),  \
                              wk_unorder_16(((const int16_t *)least)[w], one, nan)))

static inline uint16_t
difference(wk_dtype dtype, uint16_t a, uint16_t b)
{
    const int half = dtype == WK_F16;
    const double x = half ? wk_f64_of_f16(a) - wk_f64_of_f16(b)
                          : (double)wk_from_bits_f32((uint32_t)a << 16) -
                                (double)wk_from_bits_f32((uint32_t)b << 16);
    const double near = wk_narrow((wk_near){x, 0, 1}, dtype);
    return half ? wk_bits_f16(near) : wk_bits_bf16(near);
}

static void
complex_spreads(const lanes *l, const double *most, const double *least, const result *to)
{
    const wk_dtype part = wk_real_of(to->dtype);
    const int64_t stride = wk_stride(l->width);
    for (int64_t w = 0; w < l->width; w++) {
        const int nan = __builtin_isunordered(most[w], most[stride + w]) ||
                        __builtin_isunordered(least[w], least[stride + w]);
        for (int k = 0; k < 2; k++) {
            const double x = nan ? wk_nan() : most[k * stride + w] - least[k * stride + w];
            wk_store_real(to->data, 2 * (to->first + w * to->step) + k, part,
                          wk_narrow((wk_near){x, 0, 1}, part));
        }
    }
}

static void
spreads(const lanes *l, const result *to)
{
    const void *restrict most = lane_of(l, WK_C_MAX), *restrict least = lane_of(l, WK_C_MIN);
    const int64_t width = l->width, step = to->step;
    switch (l->r->in->dtype) {
    case WK_F16: SPREAD_16(0x7c00, 0x7e00); break;
    case WK_BF16: SPREAD_16(0x7f80, 0x7fc0); break;
    case WK_F32:
        EACH(float, wk_one_nan_f32(wk_unorder_f32(((const int32_t *)most)[w]) -
                                   wk_unorder_f32(((const int32_t *)least)[w])));
        break;
    case WK_F64:
        EACH(double, wk_one_nan_f64(wk_unorder_f64(((const int64_t *)most)[w]) -
                                    wk_unorder_f64(((const int64_t *)least)[w])));
        break;
    case WK_C64:
    case WK_C128: complex_spreads(l, most, least, to); break;
    default:
        switch (l->r->item) {
        case 1: SPREAD(uint8_t); break;
        case 2: SPREAD(uint16_t); break;
        case 4: SPREAD(uint32_t); break;
        default: SPREAD(uint64_t); break;
        }
    }
}

/* Lanes hold whether there is an element other than 0, or a zero. */
static void
logicals(const lanes *l, const result *to)
{
    const uint8_t all = to->fold == WK_ALL;
    const uint8_t *restrict lane = lane_of(l, all ? WK_C_ALL : WK_C_ANY);
    const int64_t width = l->width, step = to->step;
    EACH(uint8_t, lane[w] ^ all);
}

/* What is counted, or kept, modulo 2^64. */
static void
whole(const lanes *l, wk_component c, const result *to)
{
    const int arg = c == WK_C_ARGMIN || c == WK_C_ARGMAX;
    const uint64_t begin = arg ? (uint64_t)l->r->args->first : 0;
    const uint64_t *restrict lane = lane_of(l, c);
    const int64_t width = l->width, step = to->step;
    if (wk_itemsize[to->dtype] == 8) {
        EACH(uint64_t, lane[w] + begin);
        return;
    }
    for (int64_t w = 0; w < width; w++)
        wk_store_bits(to->data, to->first + w * step, to->dtype, lane[w] + begin);
}

static void
finish_one(const lanes *l, int i)
{
    const wk_reduction *r = l->r;
    const wk_array *out = &r->call->out[i];
    result to = {out->data, out->dtype, r->args->fold[i], l->first, l->step};
    switch (to.fold) {
    case WK_SUM:
    case WK_MEAN:
        if (to.fold == WK_SUM && r->in->dtype < WK_F16 && out->dtype < WK_F16) {
            whole(l, WK_C_WRAP, &to);
            break;
        }
        wk_words s = words_of(l, WK_C_SUM);
        const int parts = s.parts;
        s.parts = 1;
        to.dtype = wk_real_of(out->dtype);
        to.first *= parts;
        to.step *= parts;
        for (int k = 0; k < parts; k++, s.lane++, to.first++) sum_results(l, &s, &to);
        break;
    case WK_MIN:
    case WK_MAX: extremes(l, &to); break;
    case WK_PTP: spreads(l, &to); break;
    case WK_ANY:
    case WK_ALL: logicals(l, &to); break;
    case WK_COUNT_NONZERO: whole(l, WK_C_COUNT, &to); break;
    case WK_PROD: whole(l, WK_C_PRODUCT, &to); break;
    case WK_ARGMIN: whole(l, WK_C_ARGMIN, &to); break;
    case WK_ARGMAX: whole(l, WK_C_ARGMAX, &to); break;
    default: square_results(l, &to); break;
    }
}

/* Is there a short way to a result of this fold in this dtype? */
static int
is_short(const wk_reduction *r, wk_fold fold, wk_dtype out)
{
    const wk_dtype in = r->in->dtype;
    switch (fold) {
    case WK_SUM:
    case WK_MEAN: return !wk_is_complex(out) || wk_is_complex(in);
    case WK_SUMSQ:
    case WK_NORM:
    case WK_VAR:
    case WK_STD: return wk_is_float(out);
    case WK_MIN:
    case WK_MAX:
    case WK_PTP: return out == in;
    case WK_ANY:
    case WK_ALL: return out == WK_BOOL;
    default: return out < WK_F16;
    }
}

/* An initial value of extremes is one more row. 0: it must go another way. */
static int
take_initial(const lanes *l)
{
    enum { SOME = 128 };
    const wk_reduction *r = l->r;
    const int64_t row = 0;
    _Alignas(64) char values[8 * SOME];
    if (wk_is_complex(r->in->dtype) || r->args->skip_nan) return 0;
    for (int c = 0; c < r->components; c++)
        if (r->component[c] != WK_C_MIN && r->component[c] != WK_C_MAX) return 0;
    for (int64_t w = 0; w < SOME; w++)
        memcpy(values + w * r->item, r->args->initial.bytes, (size_t)r->item);
    for (int c = 0; c < r->components; c++)
        for (int64_t w = 0, some; w < l->width; w += some) {
            some = l->width - w < SOME ? l->width - w : SOME;
            r->folding[c]->columns((char *)l->of[c] + w * r->folding[c]->size, values, &row, 1,
                                   some);
        }
    return 1;
}

void
WK_ISA_NAME(wk_finish_lanes)(const wk_reduction *r, void *const *of, int64_t width,
                             int64_t first, int64_t step)
{
    const lanes l = {r, of, width, first, step};
    int all = !r->args->has_initial || take_initial(&l);
    for (int i = 0; i < r->call->outs; i++)
        all &= is_short(r, r->args->fold[i], r->call->out[i].dtype);
    for (int i = 0; i < r->call->outs && all; i++) finish_one(&l, i);
    if (!all) through_accumulators(&l, 0, width);
}
