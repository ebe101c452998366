/* norm.c -- the norm of one run, or its sum of squares: first by doubles and a bound of what they lose.
 *
 * How       squares of all but float64 are doubles, and are added up in lanes. Of float64 a square is two
 *           doubles, and so is a lane's sum. No square is negative, so each addition is off by a 2^53rd of
 *           all, or of what the second doubles hold, at most. Where all that the result may be is rounded
 *           to one number, that is it; elsewhere, and where something is no number, reduce goes its way.
 * Why       bins take some ten operations a float32 and twenty a float64; these two and ten. */
#include "cpu/fp.h"
#include "cpu/threads.h"
#include "finish.h"
#include "near.h"
#include "settings.h"
#include "store.h"
#include "vector.h"

enum {
    TASK = 1 << 15, /* elements a task: 5 to 10 us                 */
    PARTS = 64,     /* of a long run                               */
    SETS = 4        /* of lanes, each of which waits for itself alone */
};

typedef struct job {
    const char *x;
    int64_t n, part;
    wk_dtype dtype;
    wk_pair sums[PARTS];
} job;

#if WK_HAS_FMA
static inline __attribute__((always_inline)) void
add(wk_vd *high, wk_vd *low, wk_vd v, int two)
{
    if (two) {
        wk_vd rest;
        const wk_vd p = v * v;
        *high = wk_two_sums(*high, p, &rest);
        *low += wk_fma(v, v, -p) + rest;
    } else {
        *high = wk_fma(v, v, *high);
    }
}

static wk_pair
joined(wk_pair all, double high, double low)
{
    const wk_pair s = wk_two_sum(all.high, high);
    return (wk_pair){s.high, all.low + (s.low + low)};
}

static wk_pair
of_lanes(const wk_vd *high, const wk_vd *low)
{
    wk_pair all = {0, 0};
    for (int k = 0; k < SETS; k++)
        for (int l = 0; l < WK_VD; l++) all = joined(all, high[k][l], low[k][l]);
    return all;
}

#define SUM(T, LOAD, TWO)                                                                      \
    do {                                                                                       \
        const T *at = x;                                                                       \
        T rest[WK_VD] = {0};                                                                   \
        wk_vd high[SETS] = {{0}}, low[SETS] = {{0}};                                           \
        int64_t i = 0;                                                                         \
        for (; i + SETS * WK_VD <= n; i += SETS * WK_VD)                                       \
            for (int k = 0; k < SETS; k++)                                                     \
                add(&high[k], &low[k], LOAD(at + i + k * WK_VD), TWO);                         \
        for (; i + WK_VD <= n; i += WK_VD) add(&high[0], &low[0], LOAD(at + i), TWO);          \
        memcpy(rest, at + i, (size_t)(n - i) * sizeof *rest);                                  \
        add(&high[1], &low[1], LOAD(rest), TWO);                                               \
        return of_lanes(high, low);                                                            \
    } while (0)

static wk_pair
sum_of(wk_dtype dtype, const void *x, int64_t n)
{
    switch (dtype) {
    case WK_F16: SUM(uint16_t, wk_load_f16, 0);
    case WK_BF16: SUM(uint16_t, wk_load_bf16, 0);
    case WK_F32: SUM(float, wk_load_f32, 0);
    default: SUM(double, wk_load_f64, 1);
    }
}

static void
task(void *arg, int64_t begin, int64_t end, int thread)
{
    job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    (void)thread;
    for (int64_t p = begin; p < end && !wk_interrupted(); p++) {
        const int64_t first = p * j->part, left = j->n - first;
        j->sums[p] = sum_of(j->dtype, j->x + first * wk_itemsize[j->dtype],
                            left < j->part ? left : j->part);
    }
    wk_fp_end(state);
}

/* Stores what high + low, or its root, is rounded to, if that is the same within `slack`. */
static int
store(const wk_call *call, wk_pair s, double slack)
{
    const wk_dtype dtype = call->out[0].dtype;
    double q = s.high, c = s.low;
    if (call->args.reduce.fold[0] == WK_NORM) {
        q = sqrt(s.high);
        c = (fma(-q, q, s.high) + s.low) / (q + q);
        slack = slack / q + fabs(c) * 0x1p-46 + q * 0x1p-103;
    }
    slack += fabs(c) * 0x1p-50 + (dtype == WK_F64 ? 0 : q * 0x1p-51); /* rounded twice */
    const double least = wk_narrow((wk_near){q + (c - slack), 0, 1}, dtype),
                 most = wk_narrow((wk_near){q + (c + slack), 0, 1}, dtype);
    if (!(least == most)) return 0;
    wk_store_real(call->out[0].data, 0, dtype, least);
    return 1;
}

/* A lane's sum is that of m squares, lanes and parts are added to each other: of doubles that is off by
 * so many 2^53rds of all. Where there are two, the second ones are, which are smaller by as much; and what
 * a square loses below 2^-1074. */
static int
finish(const wk_call *call, const job *j, int64_t parts)
{
    const double many = (double)(j->part / (SETS * WK_VD) + SETS * WK_VD + PARTS + 8);
    wk_pair all = {0, 0};
    for (int64_t p = 0; p < parts; p++) all = joined(all, j->sums[p].high, j->sums[p].low);
    all = wk_two_sum(all.high, all.low);
    if (!(all.high > 0x1p-900 && all.high < 0x1p900)) return 0;
    return store(call, all,
                 all.high * (j->dtype == WK_F64 ? many * many * 0x1p-104 : many * 0x1p-52));
}

int
WK_ISA_NAME(wk_norm_near)(wk_call *call)
{
    const wk_reduce_args *a = &call->args.reduce;
    const wk_array *in = &call->in;
    const int run = in->ndim == 0 || (in->ndim == 1 && in->strides[0] == 1);
    job j = {.x = (const char *)in->data + in->first, .n = a->n, .dtype = in->dtype};
    if (call->outs != 1 || (a->fold[0] != WK_NORM && a->fold[0] != WK_SUMSQ)) return 0;
    if (call->part.mode != WK_WHOLE || !run || a->kept > 0 || a->n < 1) return 0;
    if (call->mask.ndim >= 0 || a->skip_nan || a->has_initial) return 0;
    if (!wk_is_float(in->dtype) || wk_real_of(call->out[0].dtype) != in->dtype) return 0;
    if (wk_is_complex(call->out[0].dtype) || wk_setting_value(WK_SET_SUMS, 0)) return 0;
    const int64_t wanted = a->n > 2 * TASK ? a->n / TASK : 1;
    j.part = (a->n + wanted - 1) / wanted;
    if (wanted > PARTS) j.part = (a->n + PARTS - 1) / PARTS;
    const int64_t parts = (a->n + j.part - 1) / j.part;
    wk_parallel_short(call->context, parts, 1, a->n / TASK, task, &j);
    if (wk_interrupted()) return 0;
    const wk_fp_state state = wk_fp_begin();
    const int done = finish(call, &j, parts);
    wk_fp_end(state);
    return done;
}
#else
int
WK_ISA_NAME(wk_norm_near)(wk_call *call)
{
    (void)call;
    return 0;
}
#endif
