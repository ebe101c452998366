/* finish_lanes.c -- results of many outputs whose lanes hold all there is; the usual ones without
 * an accumulator between. */
#include "finish.h"
#include "near.h"
#include "store.h"

/* The parts of a sum, which no limbs go with. */
static void
set_parts(wk_exact *e, const wk_word *lane, int64_t stride, int64_t w)
{
    for (int k = 0; k < e->words; k++) e->part[k] = lane[k * stride + w];
}

/* What has no short way. Finishing moments leaves an accumulator as it was. */
static void
through_accumulators(const wk_reduction *r, void *const *lanes, int64_t stride, int64_t from,
                     int64_t to, int64_t first, int64_t step)
{
    union {
        wk_acc acc;
        int64_t room[sizeof(wk_acc) / 8 + 2 * WK_SUM_LIMBS + WK_SQUARE_LIMBS + 2];
    } a;
    int moments = !r->args->has_initial;
    for (int c = 0; c < r->components; c++) moments &= r->component[c] <= WK_C_SQUARES;
    for (int64_t w = from; w < to; w++) {
        if (w == from || !moments) wk_acc_start(r, &a.acc);
        a.acc.n = r->args->n;
        for (int c = 0; c < r->components; c++) {
            if (!moments)
                r->folding[c]->absorb(&a.acc, lanes[c], stride, w);
            else
                set_parts(r->component[c] == WK_C_SUM ? &a.acc.sum[0] : &a.acc.squares,
                          lanes[c], stride, w);
        }
        WK_ISA_NAME(wk_finish)(r, &a.acc, first + w * step);
    }
}

/* Sums: the zero's sign is the high part's, where the low part is nothing. */
static int
sums(const wk_reduction *r, const double *lane, int64_t width, int64_t first, int64_t step)
{
    const wk_array *out = &r->call->out[0];
    const double *low = lane + wk_stride(width);
    const int words = r->folding[0]->words;
    if (r->in->dtype == WK_F32 && out->dtype == WK_F32) {
        float *to = (float *)out->data + first;
        for (int64_t w = 0; w < width; w++) to[w * step] = (float)lane[w];
    } else if (r->in->dtype < WK_F16 || out->dtype != WK_F64) {
        return 0;
    } else if (words == 1) {
        double *to = (double *)out->data + first;
        for (int64_t w = 0; w < width; w++) to[w * step] = lane[w];
    } else {
        double *to = (double *)out->data + first;
        for (int64_t w = 0; w < width; w++)
            to[w * step] = low[w] == 0 ? lane[w] : lane[w] + low[w];
    }
    return 1;
}

/* Means, and sums in other dtypes, of the lanes `from` and on. */
static void
any_sums(const wk_reduction *r, const void *lanes, int64_t stride, int64_t from, int64_t to,
         int64_t first, int64_t step)
{
    const wk_word *lane = lanes;
    const wk_array *out = &r->call->out[0];
    const int divide = r->args->fold[0] == WK_MEAN;
    int64_t limbs[WK_SUM_LIMBS];
    wk_exact e = {.words = r->folding[0]->words, .integer = r->in->dtype < WK_F16};
    e.limbs = (wk_limbs){limbs, r->sum_limbs, r->sum_base};
    for (int64_t w = from; w < to; w++) {
        set_parts(&e, lane, stride, w);
        const double x =
            WK_ISA_NAME(wk_finish_exact)(&e, r->args->n, divide, wk_real_of(out->dtype));
        wk_store_real(out->data, first + w * step, out->dtype, x);
    }
}

static void
round_to(wk_dtype dtype, double *x, int64_t n)
{
    if (dtype == WK_F32)
        for (int64_t i = 0; i < n; i++) x[i] = (double)(float)x[i];
    else if (dtype != WK_F64)
        for (int64_t i = 0; i < n; i++) x[i] = wk_narrow((wk_near){x[i], 0, 1}, dtype);
}

/* Rounds both, and stores what they round to, where it is the same. */
static void
store_bounded(const wk_array *out, double *low, double *high, int64_t n, int64_t first,
              int64_t step)
{
    double *f64 = (double *)out->data + first;
    float *f32 = (float *)out->data + first;
    round_to(out->dtype, low, n);
    round_to(out->dtype, high, n);
    if (out->dtype == WK_F64)
        for (int64_t i = 0; i < n; i++) f64[i * step] = high[i];
    else if (out->dtype == WK_F32)
        for (int64_t i = 0; i < n; i++) f32[i * step] = (float)high[i];
    else
        for (int64_t i = 0; i < n; i++)
            wk_store_real(out->data, first + i * step, out->dtype, high[i]);
}

static void
means(const wk_reduction *r, const void *lanes, int64_t width, int64_t first, int64_t step)
{
    const int64_t stride = wk_stride(width);
    double low[WK_BOUNDS], high[WK_BOUNDS];
    for (int64_t from = 0, n; from < width; from += n) {
        n = width - from < WK_BOUNDS ? width - from : WK_BOUNDS;
        if (wk_is_complex(r->call->out[0].dtype) ||
            !WK_ISA_NAME(wk_mean_bounds)(r, (const double *)lanes + from, n, stride, low,
                                         high)) {
            any_sums(r, lanes, stride, from, from + n, first, step);
            continue;
        }
        store_bounded(&r->call->out[0], low, high, n, first + from * step, step);
        for (int64_t i = 0; i < n; i++)
            if (!(low[i] == high[i]))
                any_sums(r, lanes, stride, from + i, from + i + 1, first, step);
    }
}

static void
variances(const wk_reduction *r, void *const *lanes, int64_t width, int64_t first, int64_t step)
{
    const int64_t stride = wk_stride(width);
    double low[WK_BOUNDS], high[WK_BOUNDS];
    for (int64_t from = 0, n; from < width; from += n) {
        n = width - from < WK_BOUNDS ? width - from : WK_BOUNDS;
        if (!WK_ISA_NAME(wk_variance_bounds)(r, lanes, from, n, stride, low, high)) {
            through_accumulators(r, lanes, stride, from, from + n, first, step);
            continue;
        }
        store_bounded(&r->call->out[0], low, high, n, first + from * step, step);
        for (int64_t i = 0; i < n; i++)
            if (!(low[i] == high[i]))
                through_accumulators(r, lanes, stride, from + i, from + i + 1, first, step);
    }
}

#define COPY(T)                                                                                \
    for (int64_t w = 0; w < width; w++)                                                        \
    ((T *)out->data)[first + w * step] = ((const T *)lanes)[w]

static void
extremes(const wk_reduction *r, const void *lanes, int64_t width, int64_t first, int64_t step)
{
    const wk_array *out = &r->call->out[0];
    switch (r->in->dtype) {
    case WK_F16:
    case WK_BF16:
        for (int64_t w = 0; w < width; w++) {
            const double x =
                WK_ISA_NAME(wk_real_of_key)((const int16_t *)lanes + w, r->in->dtype);
            wk_store_real(out->data, first + w * step, out->dtype, x);
        }
        break;
    case WK_F32:
        for (int64_t w = 0; w < width; w++)
            ((float *)out->data)[first + w * step] =
                wk_unorder_f32(((const int32_t *)lanes)[w]);
        break;
    case WK_F64:
        for (int64_t w = 0; w < width; w++)
            ((double *)out->data)[first + w * step] =
                wk_unorder_f64(((const int64_t *)lanes)[w]);
        break;
    default:
        switch (r->item) {
        case 1: COPY(uint8_t); break;
        case 2: COPY(uint16_t); break;
        case 4: COPY(uint32_t); break;
        default: COPY(uint64_t); break;
        }
    }
}

static void
words(const wk_reduction *r, const void *lanes, int64_t width, int64_t first, int64_t step)
{
    const wk_array *out = &r->call->out[0];
    const wk_component c = r->component[0];
    const int arg = c == WK_C_ARGMIN || c == WK_C_ARGMAX;
    const uint64_t begin = arg ? (uint64_t)r->args->first : 0;
    uint64_t *to = (uint64_t *)out->data + first;
    if (r->folding[0]->size == 8 && wk_itemsize[out->dtype] == 8 && out->dtype < WK_F16) {
        for (int64_t w = 0; w < width; w++) to[w * step] = ((const uint64_t *)lanes)[w] + begin;
        return;
    }
    for (int64_t w = 0; w < width; w++) {
        uint64_t x;
        if (c == WK_C_ANY || c == WK_C_ALL)
            x = ((const uint8_t *)lanes)[w] ^ (c == WK_C_ALL);
        else
            x = ((const uint64_t *)lanes)[w] + begin;
        wk_store_bits(out->data, first + w * step, out->dtype, x);
    }
}

void
WK_ISA_NAME(wk_finish_lanes)(const wk_reduction *r, void *const *lanes, int64_t width,
                             int64_t first, int64_t step)
{
    const wk_fold fold = r->args->fold[0];
    if (r->call->outs == 1 && (fold == WK_VAR || fold == WK_STD)) {
        variances(r, lanes, width, first, step);
        return;
    }
    if (r->call->outs != 1 || r->args->has_initial || r->components != 1) {
        through_accumulators(r, lanes, wk_stride(width), 0, width, first, step);
        return;
    }
    switch (r->component[0]) {
    case WK_C_SUM:
        if (fold == WK_MEAN)
            means(r, lanes[0], width, first, step);
        else if (!sums(r, lanes[0], width, first, step))
            any_sums(r, lanes[0], wk_stride(width), 0, width, first, step);
        break;
    case WK_C_MIN:
    case WK_C_MAX: extremes(r, lanes[0], width, first, step); break;
    case WK_C_SQUARES:
        through_accumulators(r, lanes, wk_stride(width), 0, width, first, step);
        break;
    default: words(r, lanes[0], width, first, step); break;
    }
}
