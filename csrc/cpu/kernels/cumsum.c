/* cumsum / cpu chunks -- each line's sums of its first element, its first two, ...; each rounded once.
 *
 * In, out   x[lines][n] -> sums[lines][n], of floats, of both parts of complex numbers, of integers.
 * How       the exact sums of chunks, and what stands before each of them; then each chunk by itself,
 *           block after block. In a block elements are cut into one to three parts, each a multiple of
 *           a unit such that no sum of a block's parts has more than 53 bits: these are scanned
 *           plainly, by vectors. A prefix is the three doubles that stand before the block and the
 *           parts' sums, added up with what each addition rounds off.
 * Rounding  h + t is a prefix but for e, |t| at most half a unit of h, and e bounds what no double
 *           took. Of float64 h + (t - e) and h + (t + e) are the same double, or the block goes another
 *           way; rounding is monotonic, so that is what h + t + any of it is rounded to. Of less digits
 *           h is made odd towards t, whose sign is the rest's if |t| > e: rounded to odd with more than
 *           two digits to spare, and then to nearest, is rounded once.
 * Else      integers: limbs, of which each prefix is rounded. Half a microsecond an element. */
#include "cpu/fp.h"
#include "cpu/threads.h"
#include "exact_slow.h"
#include "finish.h"
#include "near.h"
#include "store.h"
#include "vector.h"
#include "weights.h"

#include <stdlib.h>

enum {
    CHUNK = 1 << 15,      /* elements a task: 50 us                */
    BLOCK = WK_BIN_BLOCK, /* whose parts and sums stay in L1       */
    LOG_BLOCK = 9,
    PARTS = 3
};
_Static_assert(BLOCK == 1 << LOG_BLOCK, "the windows are made for so many");

typedef struct before { /* a chunk's series: its sum, and then all that stands before it */
    wk_exact sum;
    int64_t limbs[WK_SUM_LIMBS];
    uint64_t bits; /* of integers */
} before;

typedef struct job {
    const wk_call *call;
    const char *in;
    wk_dtype dtype, out;
    int64_t n, chunks, series;
    int parts, digits; /* series of a line; digits of an element */
    before *state;     /* [series][chunks]                       */
} job;

/* What stands before a block: three doubles, if they are all of it. */
typedef struct carry {
    double c[PARTS];
    int known, minus; /* minus: -0.0 alone */
} carry;

static void
start(before *b)
{
    memset(&b->sum, 0, sizeof b->sum);
    b->sum.limbs = (wk_limbs){b->limbs, WK_SUM_LIMBS, WK_SUM_BASE};
    b->sum.words = 2;
    b->sum.part[0].f = -0.0;
    b->bits = 0;
}

static void
copy(before *to, const before *from)
{
    *to = *from;
    to->sum.limbs.limb = to->limbs;
}

/* ---- floats: elements and carries --------------------------------------------------------- */

static void
load(const job *j, int64_t series, int64_t first, int64_t n, double *x)
{
    const int64_t at = series / j->parts * j->n + first;
    WK_ISA_NAME(wk_weights_load)(j->dtype, (int)(series % j->parts), j->in, at, n, x);
    for (int64_t i = 0; j->call->args.cumsum.skip_nan && i < n; i++)
        x[i] = x[i] == x[i] ? x[i] : 0;
    for (int64_t i = n; i < n + WK_VD; i++) x[i] = 0;
}

extern const wk_folding WK_ISA_NAME(wk_folding_sum_float)[WK_DTYPES];

/* The elements first .. end - 1 of a series, exactly. */
static void
add_range(const job *j, int64_t series, int64_t first, int64_t end, before *b)
{
    const wk_folding *f = &WK_ISA_NAME(wk_folding_sum_float)[WK_F64];
    wk_acc acc = {.sum = {b->sum}};
    double x[BLOCK + WK_VD];
    for (int64_t i = first, n; i < end; i += n) {
        n = end - i < BLOCK ? end - i : BLOCK;
        load(j, series, i, n, x);
        f->run(&acc, x, n, i);
    }
    b->sum = acc.sum[0];
}

/* Adds x to three doubles; what is left of it. */
static double
put(double *c, double x)
{
    for (int k = 0; k < PARTS; k++) {
        const wk_pair s = wk_two_sum(c[k], x);
        c[k] = s.high;
        x = s.low;
    }
    return x;
}

static carry
carry_of(const before *b)
{
    const wk_exact *e = &b->sum;
    carry c = {.known = 0};
    if (e->flags & WK_IS_ODD) return c;
    c.minus = !(e->flags & WK_NOT_MINUS_ZERO) && e->part[0].f == 0 && signbit(e->part[0].f) &&
              e->part[1].f == 0;
    double left = fabs(put(c.c, e->part[0].f)) + fabs(put(c.c, e->part[1].f));
    if (e->used) {
        int64_t room[WK_SUM_LIMBS];
        wk_limbs limbs = {room, WK_SUM_LIMBS, WK_SUM_BASE};
        memcpy(room, b->limbs, sizeof room);
        const double sign = wk_limbs_magnitude(&limbs) ? -1 : 1;
        int top = WK_SUM_LIMBS - 1;
        while (top > 0 && room[top] == 0) top--;
        const int e2 =
            32 * top + WK_SUM_BASE; /* of the uppermost; its numbers are all doubles */
        if (e2 > 900 || (room[top] && e2 < -800)) return c;
        for (int i = top; i >= 0 && i > top - 6; i--) {
            const int e1 = 32 * i + WK_SUM_BASE;
            if (room[i] == 0) continue;
            left += fabs(put(c.c, sign * (double)room[i] * wk_power_of_two(e1)));
        }
        for (int i = top - 6; i >= 0; i--) left += room[i] != 0;
    }
    c.known = left == 0;
    return c;
}

/* ---- floats: a block ----------------------------------------------------------------------- */

#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE __builtin_shufflevector
#endif
#if defined(__AVX512F__)
#define UP1(v) SHUFFLE(v, (wk_vd){0}, 8, 0, 1, 2, 3, 4, 5, 6)
#define UP2(v) SHUFFLE(v, (wk_vd){0}, 8, 8, 0, 1, 2, 3, 4, 5)
#define UP4(v) SHUFFLE(v, (wk_vd){0}, 8, 8, 8, 8, 0, 1, 2, 3)
#define LAST(v) SHUFFLE(v, v, 7, 7, 7, 7, 7, 7, 7, 7)
#elif defined(__AVX__)
#define UP1(v) SHUFFLE(v, (wk_vd){0}, 4, 0, 1, 2)
#define UP2(v) SHUFFLE(v, (wk_vd){0}, 4, 4, 0, 1)
#define LAST(v) SHUFFLE(v, v, 3, 3, 3, 3)
#else
#define UP1(v) SHUFFLE(v, (wk_vd){0}, 2, 0)
#define LAST(v) SHUFFLE(v, v, 1, 1)
#endif

static inline __attribute__((always_inline)) wk_vd
scan_vector(wk_vd v)
{
    v += UP1(v);
#ifdef UP2
    v += UP2(v);
#endif
#ifdef UP4
    v += UP4(v);
#endif
    return v;
}

static inline __attribute__((always_inline)) wk_vd
two_sum(wk_vd a, wk_vd b, wk_vd *rest)
{
    const wk_vd s = a + b, other = s - a;
    *rest = (a - (s - other)) + (b - other);
    return s;
}

static inline __attribute__((always_inline)) wk_vd
size_of(wk_vd v)
{
    return (wk_vd)((wk_vl)v & INT64_MAX);
}

/* The exponents of a block; 0: it has what is no number, or too large or too small for doubles. */
static int
spread_of(const double *x, int64_t n, int digits, int *top, int *low)
{
    const wk_range r = WK_ISA_NAME(wk_range_of)(x, n);
    *top = *low = 0;
    if (r.most == 0) {
        uint64_t some = 0;
        for (int64_t i = 0; i < n; i++) some |= wk_bits_f64(x[i]) << 1;
        return some == 0;
    }
    *top = (int)(r.most >> 52) - 1023;
    *low = (int)(r.least >> 52) - 1023 - (digits - 1);
    return *top < 850 && *top > -700 && *low > -1000;
}

/* In place: prefixes that are doubles, of which the narrow dtypes' are odd where something is left; 0:
 * some are not known. */
static inline __attribute__((always_inline)) int
scan_parts(double *x, int64_t n, int top, const carry *c, int parts, int wide, double *sums)
{
    wk_vd before[PARTS] = {{0}}, bias[PARTS], c0 = wk_splat(c->c[0]), c1 = wk_splat(c->c[1]),
          c2 = wk_splat(c->c[2]);
    wk_vl unknown = {0};
    for (int p = 0; p < parts - 1; p++) /* units of 2^(top + 1 + LOG_BLOCK - 52), and on */
        bias[p] = wk_splat(1.5 * wk_power_of_two(top + 1 + LOG_BLOCK - 42 * p));
    for (int64_t i = 0; i < n; i += WK_VD) {
        wk_vd v = wk_load_f64(x + i), h = c0, m = c1, l = c2, lost = {0};
#pragma GCC unroll 3
        for (int p = 0; p < parts; p++) {
            wk_vd own = v, rest;
            if (p < parts - 1) {
                own = (v + bias[p]) - bias[p];
                v -= own;
            }
            own = scan_vector(own);
            const wk_vd sum = own + before[p];
            before[p] += LAST(own);
            h = two_sum(h, sum, &rest);
            m = two_sum(m, rest, &rest);
            l = two_sum(l, rest, &rest);
            lost += size_of(rest);
        }
        wk_vd t, w;
        h = two_sum(h, m, &t);
        t = two_sum(t, l, &w);
        h = two_sum(h, t, &t);
        const wk_vd off = lost + lost + size_of(w), spare = size_of(t) * 0x1p-50;
        const wk_vd e = off + (wk_vd)((wk_vl)spare & (off > 0)); /* t + off may round it off */
        if (wide) {
            const wk_vd below = h + (t - e), above = h + (t + e);
            unknown |= below != above;
            h = below;
        } else {
            const wk_vl even = ((wk_vl)h & 1) - 1, left = t != 0,
                        same = ((wk_vl)h ^ (wk_vl)t) >> 63;
            unknown |= (e != 0) & (size_of(t) <= e);
            h = (wk_vd)((wk_vl)h + (even & left & (same | 1)));
        }
        h += 0.0; /* no -0.0 */
        memcpy(x + i, &h, sizeof h);
    }
    for (int p = 0; p < parts; p++) sums[p] = before[p][0];
    int64_t any = 0;
    for (int k = 0; k < WK_VD; k++) any |= unknown[k];
    return any == 0;
}

static int
scan_block(double *x, int64_t n, carry *c, int digits, int wide)
{
    int top, low;
    double sums[PARTS] = {0}, left = 0;
    int64_t minus = 0;
    if (!c->known || !spread_of(x, n, digits, &top, &low)) return 0;
    while (c->minus && minus < n && wk_bits_f64(x[minus]) == (uint64_t)1 << 63) minus++;
    const int depth = top + 1 + LOG_BLOCK - low;
    int held = 0;
    if (depth <= 53)
        held =
            wide ? scan_parts(x, n, top, c, 1, 1, sums) : scan_parts(x, n, top, c, 1, 0, sums);
    else if (depth <= 42 + 53)
        held =
            wide ? scan_parts(x, n, top, c, 2, 1, sums) : scan_parts(x, n, top, c, 2, 0, sums);
    else if (depth <= 84 + 53)
        held =
            wide ? scan_parts(x, n, top, c, 3, 1, sums) : scan_parts(x, n, top, c, 3, 0, sums);
    if (!held) return 0;
    for (int64_t i = 0; i < minus; i++) x[i] = -0.0;
    c->minus = minus == n && c->minus;
    for (int p = 0; p < PARTS; p++) left += fabs(put(c->c, sums[p]));
    c->known = left == 0;
    return 1;
}

/* ---- floats: a chunk ------------------------------------------------------------------------ */

static void
store(const job *j, int64_t series, int64_t first, int64_t n, const double *x)
{
    const wk_dtype real = wk_real_of(j->out);
    const int64_t at = (series / j->parts * j->n + first) * j->parts + series % j->parts;
    void *out = j->call->out[0].data;
    if (real == WK_F32 && j->parts == 1) {
        for (int64_t i = 0; i < n; i++) ((float *)out)[at + i] = (float)x[i];
    } else if (real == WK_F64 && j->parts == 1) {
        memcpy((double *)out + at, x, (size_t)n * sizeof *x);
    } else {
        for (int64_t i = 0; i < n; i++) {
            const double v = wk_narrow((wk_near){x[i], 0, 1}, real);
            wk_store_real(out, at + i * j->parts, real, v);
        }
    }
}

/* From limbs, one by one. */
static void
scan_slowly(const job *j, int64_t series, int64_t first, int64_t n, before *b, double *x)
{
    const wk_dtype real = wk_real_of(j->out);
    for (int64_t i = 0; i < n; i++) {
        wk_exact_add(&b->sum, x[i]);
        x[i] = b->sum.flags & WK_IS_ODD
                   ? wk_odd_sum(b->sum.flags)
                   : WK_ISA_NAME(wk_finish_exact)(&b->sum, first + i + 1, 0, real);
    }
    const int64_t at = (series / j->parts * j->n + first) * j->parts + series % j->parts;
    for (int64_t i = 0; i < n; i++)
        wk_store_real(j->call->out[0].data, at + i * j->parts, real, x[i]);
}

static void
scan_chunk(const job *j, int64_t series, int64_t first, int64_t end, const before *given)
{
    const wk_dtype real = wk_real_of(j->out);
    carry c = carry_of(given);
    before b;
    int64_t taken = -1; /* what b has, up to here; -1: not yet anything */
    double x[BLOCK + WK_VD];
    for (int64_t i = first, n; i < end; i += n) {
        n = end - i < BLOCK ? end - i : BLOCK;
        load(j, series, i, n, x);
        const carry had = c;
        if (scan_block(x, n, &c, j->digits, real == WK_F64)) {
            store(j, series, i, n, x);
            continue;
        }
        c = had;
        load(j, series, i, n, x);
        if (taken < 0) {
            copy(&b, given);
            taken = first;
        }
        add_range(j, series, taken, i, &b);
        scan_slowly(j, series, i, n, &b, x);
        taken = i + n;
        c = carry_of(&b);
    }
}

/* ---- integers ------------------------------------------------------------------------------- */

#define EACH(E)                                                                                \
    for (int64_t i = first; i < end; i++) {                                                    \
        sum += (uint64_t)((const E *)j->in)[i];                                                \
        if (to) wk_store_bits(to, i, j->out, sum);                                             \
    }                                                                                          \
    break

/* The sum of what is there, which goes to `to`, if that is not NULL, step by step. */
static uint64_t
scan_integers(const job *j, int64_t first, int64_t end, uint64_t sum, void *to)
{
    switch (j->dtype) {
    case WK_BOOL:
        for (int64_t i = first; i < end; i++) {
            sum += ((const uint8_t *)j->in)[i] != 0;
            if (to) wk_store_bits(to, i, j->out, sum);
        }
        break;
    case WK_I8: EACH(int8_t);
    case WK_U8: EACH(uint8_t);
    case WK_I16: EACH(int16_t);
    case WK_U16: EACH(uint16_t);
    case WK_I32: EACH(int32_t);
    case WK_U32: EACH(uint32_t);
    default: EACH(uint64_t);
    }
    return sum;
}

/* ---- the call ------------------------------------------------------------------------------- */

static void
sum_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    (void)thread;
    for (int64_t item = begin; item < end && !wk_interrupted(); item++) {
        const int64_t series = item / j->chunks, first = item % j->chunks * CHUNK;
        const int64_t last = first + CHUNK < j->n ? first + CHUNK : j->n;
        before *b = &j->state[item];
        start(b);
        if (j->dtype >= WK_F16)
            add_range(j, series, first, last, b);
        else
            b->bits = scan_integers(j, series * j->n + first, series * j->n + last, 0, NULL);
    }
    wk_fp_end(state);
}

static void
scan_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    before none;
    (void)thread;
    start(&none);
    for (int64_t item = begin; item < end && !wk_interrupted(); item++) {
        const int64_t series = item / j->chunks, first = item % j->chunks * CHUNK;
        const int64_t last = first + CHUNK < j->n ? first + CHUNK : j->n;
        const before *b = j->state ? &j->state[item] : &none;
        if (j->dtype >= WK_F16)
            scan_chunk(j, series, first, last, b);
        else
            scan_integers(j, series * j->n + first, series * j->n + last, b->bits,
                          j->call->out[0].data);
    }
    wk_fp_end(state);
}

/* Each chunk's sum becomes that of all before it. */
static void
join(const job *j)
{
    before all, own;
    for (int64_t s = 0; s < j->series; s++) {
        start(&all);
        for (int64_t k = 0; k < j->chunks; k++) {
            before *b = &j->state[s * j->chunks + k];
            copy(&own, b);
            copy(b, &all);
            wk_exact_merge(&all.sum, &own.sum);
            all.bits += own.bits;
        }
    }
}

WK_CPU_LAUNCHER(cumsum, chunks)
{
    const wk_cumsum_args *a = &call->args.cumsum;
    job j = {.call = call, .dtype = call->in.dtype, .out = call->out[0].dtype, .n = a->n};
    j.in = (const char *)call->in.data + call->in.first;
    j.parts = wk_is_complex(j.dtype) ? 2 : 1;
    j.digits = j.dtype < WK_F16 ? 0 : wk_format_of(wk_real_of(j.dtype)).digits;
    j.series = a->lines * j.parts;
    j.chunks = (a->n + CHUNK - 1) / CHUNK;
    if (j.chunks > 1) {
        j.state = malloc((size_t)(j.series * j.chunks) * sizeof *j.state);
        if (j.state == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate sums of chunks");
        wk_parallel(call->context, j.series * j.chunks, 1, sum_task, &j);
        if (!wk_interrupted()) {
            const wk_fp_state state = wk_fp_begin();
            join(&j);
            wk_fp_end(state);
        }
    }
    if (!wk_interrupted())
        wk_parallel(call->context, j.series * j.chunks, 1 + CHUNK / (a->n + 64),
                    scan_task, &j);
    free(j.state);
    return WK_OK;
}
