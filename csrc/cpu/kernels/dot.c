/* dot / cpu blocks -- sums of products, exact and rounded once.
 *
 * In, out   x[outputs][n], y[outputs][n] -> a sum of products each.
 * How       first two doubles and a bound of what they lack, by four operations a product: where all
 *           of that rounds alike it is right. Else by blocks once more, exactly: a product of float32
 *           or less is a double, one of float64 two, which go to bins that hang from the largest there
 *           can be (dot_body.h), as squares do. Complex numbers are multiplied as they lie; by blocks
 *           their parts are brought side by side, and four runs of products give the two sums.
 * Source    T. Ogita, S. Rump, S. Oishi, "Accurate sum and dot product" (2005), for the two doubles. */
#include "cpu/fp.h"
#include "cpu/threads.h"
#include "dot_near.h"
#include "dot_rows.h"
#include "exact_parts.h"
#include "finish.h"
#include "near.h"
#include "settings.h"
#include "store.h"

#include <stdlib.h>

enum {
    TASK = 1 << 15, /* elements a task: 8 to 25 us                                     */
    PARTS = 64,     /* of a long output                                                */
    SOME = 512,     /* complex numbers whose parts are brought side by side            */
    NEAR = 2048     /* elements that are added up before sums are joined               */
};

/* x y = t[0] + t[1]; no part of it may be subnormal. */
static inline __attribute__((always_inline)) void
product_pair(wk_vd x, wk_vd y, wk_vd *t)
{
    t[0] = x * y;
#if WK_HAS_FMA
    t[1] = wk_fma(x, y, -t[0]);
#else
    wk_vd a, b, c, d;
    halves(x, &a, &b);
    halves(y, &c, &d);
    t[1] = ((a * c - t[0]) + a * d + b * c) + b * d;
#endif
}

static inline __attribute__((always_inline)) void
expand_product(wk_vd x, wk_vd y, wk_vd *t)
{
    wk_vd a, b, c, d;
    halves(x, &a, &b);
    halves(y, &c, &d);
    t[0] = a * c;
    t[1] = a * d;
    t[2] = b * c;
    t[3] = b * d;
}

#define PRODUCT(x, y, t) (t)[0] = (x) * (y)

#define T uint16_t
#define LOAD wk_load_f16
#define I int16_t
#define STORED 10
#define PAIRED 0
#define WORDS 2
#define PRODUCT_OF PRODUCT
#define TERMS 1
#define EXPAND PRODUCT
#define DIGITS 22
#define FN(name) name##_f16
#include "dot_body.h"

#define T uint16_t
#define LOAD wk_load_bf16
#define I int16_t
#define STORED 7
#define PAIRED 0
#define WORDS 2
#define PRODUCT_OF PRODUCT
#define TERMS 1
#define EXPAND PRODUCT
#define DIGITS 16
#define FN(name) name##_bf16
#include "dot_body.h"

#define T float
#define LOAD wk_load_f32
#define I int32_t
#define STORED 23
#define PAIRED 0
#define WORDS 3
#define PRODUCT_OF PRODUCT
#define TERMS 1
#define EXPAND PRODUCT
#define DIGITS 48
#define FN(name) name##_f32
#include "dot_body.h"

#define T double
#define LOAD wk_load_f64
#define I int64_t
#define STORED 52
#define PAIRED 1
#define WORDS 4
#define PRODUCT_OF product_pair
#define TERMS 4
#define EXPAND expand_product
#define DIGITS 53
#define FN(name) name##_f64
#include "dot_body.h"

/* ---- what is kept of an output ------------------------------------------------------------- */

typedef struct dots {
    wk_exact sum[2]; /* real and imaginary parts */
    int64_t limbs[2][WK_SQUARE_LIMBS];
    uint64_t bits; /* of integers */
} dots;

typedef struct job {
    const wk_call *call;
    const char *x, *y;
    int64_t item, n;
    wk_dtype dtype;
    int64_t parts, part; /* of an output, and elements of each        */
    enum { WHOLE_OUTPUTS, NEAR_PARTS, EXACT_PARTS } stage;
    int try_near;    /* are two doubles to be tried?              */
    int by_rows;     /* so many short ones at once as a vector has */
    near_dots *near; /* [outputs][parts]; NULL: one part          */
    dots *room;      /* likewise                                  */
    uint64_t told;   /* of several parts: outputs that are there  */
} job;

static void
start(dots *d, wk_dtype dtype)
{
    const int words = dtype == WK_F64 || dtype == WK_C128  ? 4
                      : dtype == WK_F32 || dtype == WK_C64 ? 3
                                                           : 2;
    d->bits = 0;
    for (int p = 0; p < 2; p++) {
        memset(&d->sum[p], 0, sizeof d->sum[p]);
        d->sum[p].limbs = (wk_limbs){d->limbs[p], WK_SQUARE_LIMBS, WK_SQUARE_BASE};
        d->sum[p].words = words;
    }
}

/* ---- products ------------------------------------------------------------------------------ */

#define COMPLEX(E, add, of, sums)                                                              \
    static void add##_complex_##of(sums *d, const E *x, const E *y, int64_t n, int conjugate)  \
    {                                                                                          \
        _Alignas(64) E re[SOME], im[SOME], minus[SOME], real[SOME], imag[SOME];                \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const E part = conjugate ? -x[2 * i + 1] : x[2 * i + 1];                           \
            re[i] = x[2 * i];                                                                  \
            im[i] = part;                                                                      \
            minus[i] = -part;                                                                  \
            real[i] = y[2 * i];                                                                \
            imag[i] = y[2 * i + 1];                                                            \
        }                                                                                      \
        add##_##of(&d->sum[0], re, real, n);                                                   \
        add##_##of(&d->sum[0], minus, imag, n);                                                \
        add##_##of(&d->sum[1], re, imag, n);                                                   \
        add##_##of(&d->sum[1], im, real, n);                                                   \
    }
COMPLEX(float, add, f32, dots)
COMPLEX(double, add, f64, dots)
#undef COMPLEX

#define WHOLE(E, W)                                                                            \
    for (int64_t i = 0; i < n; i++) sum += (W)((const E *)x)[i] * (W)((const E *)y)[i]

static uint64_t
multiply_integers(wk_dtype dtype, const void *x, const void *y, int64_t n)
{
    uint32_t sum = 0; /* modulo 2^32 is enough for all but 8 bytes */
    switch (dtype) {
    case WK_BOOL:
        for (int64_t i = 0; i < n; i++)
            sum |= ((const uint8_t *)x)[i] != 0 && ((const uint8_t *)y)[i] != 0;
        return sum;
    case WK_I8:
    case WK_U8: WHOLE(uint8_t, uint32_t); return sum;
    case WK_I16:
    case WK_U16: WHOLE(uint16_t, uint32_t); return sum;
    case WK_I32:
    case WK_U32: WHOLE(uint32_t, uint32_t); return sum;
    default: break;
    }
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++) all += ((const uint64_t *)x)[i] * ((const uint64_t *)y)[i];
    return all;
}

/* n <= WK_BLOCK elements. */
static void
add_block(const job *j, dots *d, const void *x, const void *y, int64_t n)
{
    const int conjugate = j->call->args.dot.conjugate;
    switch (j->dtype) {
    case WK_F16: add_f16(&d->sum[0], x, y, n); break;
    case WK_BF16: add_bf16(&d->sum[0], x, y, n); break;
    case WK_F32: add_f32(&d->sum[0], x, y, n); break;
    case WK_F64: add_f64(&d->sum[0], x, y, n); break;
    case WK_C64: add_complex_f32(d, x, y, n, conjugate); break;
    case WK_C128: add_complex_f64(d, x, y, n, conjugate); break;
    default: {
        const uint64_t bits = multiply_integers(j->dtype, x, y, n);
        d->bits = j->dtype == WK_BOOL ? (d->bits | bits) : d->bits + bits;
    }
    }
}

/* n <= NEAR. Without an fma nothing is tried. */
static void
near_block(const job *j, near_dots *d, const void *x, const void *y, int64_t n)
{
#if WK_HAS_FMA
    const int conjugate = j->call->args.dot.conjugate;
    switch (j->dtype) {
    case WK_F16: near_f16(&d->sum[0], x, y, n); break;
    case WK_BF16: near_bf16(&d->sum[0], x, y, n); break;
    case WK_F32: near_f32(&d->sum[0], x, y, n); break;
    case WK_F64: near_f64(&d->sum[0], x, y, n); break;
    case WK_C64: near_pairs(d, x, y, n, conjugate); break;
    default: near_wide_pairs(d, x, y, n, conjugate); break;
    }
#else
    (void)j, (void)d, (void)x, (void)y, (void)n;
#endif
}

/* ---- results ------------------------------------------------------------------------------- */

/* What all that the sum may be is rounded to; 0: not to one number. */
static int
settled(const near_sum *sum, wk_dtype dtype, double *x)
{
    const wk_pair s = wk_two_sum(sum->s[0], sum->s[1]);
    double slack = sum->lost;
    if (slack > 0) /* and what is rounded here; of a smaller format it is rounded twice */
        slack += slack * 0x1p-20 + fabs(s.low) * 0x1p-50 +
                 (dtype == WK_F64 ? 0 : fabs(s.high) * 0x1p-51);
    const wk_near least = {s.high + (s.low - slack), 0, 1},
                  most = {s.high + (s.low + slack), 0, 1};
    if (sum->unknown) return 0;
    *x = wk_narrow(least, dtype);
    return wk_bits_f64(*x) == wk_bits_f64(wk_narrow(most, dtype)); /* zeros too */
}

static int
finish_near(const job *j, const near_dots *d, int64_t output)
{
    const int complex = wk_is_complex(j->dtype);
    const wk_dtype real = wk_real_of(j->call->out[0].dtype);
    double x[2];
    for (int p = 0; p <= complex; p++)
        if (!settled(&d->sum[p], real, &x[p])) return 0;
    for (int p = 0; p <= complex; p++)
        wk_store_real(j->call->out[0].data, complex ? 2 * output + p : output, real, x[p]);
    return 1;
}

static void
finish(const job *j, const dots *d, int64_t output)
{
    const wk_array *out = &j->call->out[0];
    const int complex = wk_is_complex(j->dtype);
    const wk_dtype real = wk_real_of(j->call->out[0].dtype);
    if (j->dtype < WK_F16) {
        wk_store_bits(out->data, output, out->dtype, d->bits);
        return;
    }
    for (int p = 0; p <= complex; p++)
        wk_store_real(out->data, complex ? 2 * output + p : output, real,
                      WK_ISA_NAME(wk_finish_products)(&d->sum[p], real));
}

/* ---- parts --------------------------------------------------------------------------------- */

typedef struct range {
    int64_t output, first, last; /* where elements lie among all */
} range;

static range
range_of(const job *j, int64_t item)
{
    const int64_t output = item / j->parts, first = item % j->parts * j->part;
    const int64_t last = first + j->part < j->n ? first + j->part : j->n;
    return (range){output, output * j->n + first, output * j->n + last};
}

/* powers: of both parts' products, as it seems, and then as they were. */
static near_dots
near_part(const job *j, range r, int *powers)
{
    near_dots d = {.sum = {{.power = powers[0]}, {.power = powers[1]}}};
    for (int64_t i = r.first; i < r.last && !(d.sum[0].unknown | d.sum[1].unknown); i += NEAR)
        near_block(j, &d, j->x + i * j->item, j->y + i * j->item,
                   r.last - i < NEAR ? r.last - i : NEAR);
    for (int p = 0; p < 2; p++) powers[p] = d.sum[p].unknown ? NO_POWER : d.sum[p].power;
    return d;
}

static void
add_part(const job *j, range r, dots *d)
{
    const int64_t some = wk_is_complex(j->dtype) ? SOME : WK_BLOCK;
    start(d, j->dtype);
    for (int64_t i = r.first; i < r.last; i += some)
        add_block(j, d, j->x + i * j->item, j->y + i * j->item,
                  r.last - i < some ? r.last - i : some);
}

/* Do doubles tell? The powers are those of the output before; where they do not do, they are looked for. */
static int
tell_near(const job *j, range r, int *powers)
{
    const int guessed = powers[0] != NO_POWER || powers[1] != NO_POWER;
    near_dots near = near_part(j, r, powers);
    if (finish_near(j, &near, r.output)) return 1;
    powers[0] = powers[1] = NO_POWER;
    if (!guessed) return 0;
    near = near_part(j, r, powers);
    return finish_near(j, &near, r.output);
}

/* What is done with the parts of a task: its stage. */
static void
take_item(const job *j, int64_t item, int *powers)
{
    const range r = range_of(j, item);
    if (j->stage == NEAR_PARTS) {
        int none[2] = {NO_POWER, NO_POWER};
        j->near[item] = near_part(j, r, none);
    } else if (j->stage == EXACT_PARTS) {
        if (!(j->told >> r.output & 1)) add_part(j, r, &j->room[item]);
    } else {
        dots alone;
        if (j->try_near && tell_near(j, r, powers)) return;
        add_part(j, r, &alone);
        finish(j, &alone, r.output);
    }
}

static void
task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    (void)thread;
    int powers[2] = {NO_POWER, NO_POWER};
    for (int64_t item = begin, some; item < end && !wk_interrupted(); item += some) {
        unsigned open = 1;
        some = 1;
        if (j->by_rows) {
            const int64_t at = item * j->n * j->item;
            some = end - item < WK_VD ? end - item : WK_VD;
            open = WK_ISA_NAME(wk_dot_rows)(j->dtype, j->x + at, j->y + at, j->n, some,
                                            j->call->out[0].data, item);
        }
        for (int64_t k = 0; k < some; k++)
            if (open >> k & 1) take_item(j, item + k, powers);
    }
    wk_fp_end(state);
}

static void
join_near(job *j, int64_t outputs)
{
    const wk_fp_state state = wk_fp_begin();
    for (int64_t output = 0; output < outputs; output++) {
        near_dots *all = j->near + output * j->parts;
        for (int64_t p = 1; p < j->parts; p++)
            for (int k = 0; k < 2; k++) {
                near_add(&all->sum[k], all[p].sum[k].s[0], all[p].sum[k].s[1]);
                all->sum[k].lost += all[p].sum[k].lost;
                all->sum[k].unknown |= all[p].sum[k].unknown;
            }
        j->told |= (uint64_t)finish_near(j, all, output) << output;
    }
    wk_fp_end(state);
}

static void
join(const job *j, int64_t outputs)
{
    const wk_fp_state state = wk_fp_begin();
    for (int64_t output = 0; output < outputs; output++) {
        dots *all = j->room + output * j->parts;
        if (j->told >> output & 1) continue;
        for (int64_t p = 1; p < j->parts; p++) {
            for (int k = 0; k < 2; k++) wk_exact_merge(&all->sum[k], &all[p].sum[k]);
            all->bits =
                j->dtype == WK_BOOL ? (all->bits | all[p].bits) : all->bits + all[p].bits;
        }
        finish(j, all, output);
    }
    wk_fp_end(state);
}

/* Outputs of several parts each. */
static wk_status
in_parts(wk_call *call, job *j, int64_t outputs)
{
    const int64_t items = outputs * j->parts,
                  all = outputs == 64 ? -1 : ((int64_t)1 << outputs) - 1;
    if (j->try_near) {
        j->near = malloc((size_t)items * sizeof *j->near);
        if (j->near == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate partial results");
        j->stage = NEAR_PARTS;
        wk_parallel_short(call->context, items, 1, outputs * j->n / TASK, task, j);
        if (!wk_interrupted()) join_near(j, outputs);
        free(j->near);
    }
    if (wk_interrupted() || j->told == (uint64_t)all) return WK_OK;
    j->room = malloc((size_t)items * sizeof *j->room);
    if (j->room == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate partial results");
    j->stage = EXACT_PARTS;
    wk_parallel_short(call->context, items, 1, outputs * j->n / TASK, task, j);
    if (!wk_interrupted()) join(j, outputs);
    free(j->room);
    return WK_OK;
}

WK_CPU_LAUNCHER(dot, blocks)
{
    const wk_dot_args *a = &call->args.dot;
    const wk_array *y = &call->beside;
    job j = {.call = call, .n = a->n, .dtype = call->in.dtype, .parts = 1, .part = a->n};
    j.item = wk_itemsize[j.dtype];
    j.x = (const char *)call->in.data + call->in.first;
    j.y = (const char *)(y->data ? y->data : y->host) + y->first;
    j.try_near = WK_HAS_FMA && j.dtype >= WK_F16 && !wk_setting_value(WK_SET_SUMS, 0);
    if (a->n > 2 * TASK && a->outputs < PARTS) {
        const int64_t wanted = PARTS / a->outputs, most = a->n / TASK;
        const int64_t parts = wanted < most ? wanted : most;
        j.part = ((a->n + parts - 1) / parts + WK_BLOCK - 1) / WK_BLOCK * WK_BLOCK;
        j.parts = (a->n + j.part - 1) / j.part;
        return in_parts(call, &j, a->outputs);
    }
    j.by_rows = j.try_near && a->n > 0 && a->n <= WK_DOT_SHORT && a->outputs > 1 &&
                !wk_is_complex(j.dtype) && call->out[0].dtype == j.dtype;
    const int64_t each = a->n + 64, grain = wk_grain_of(a->outputs, each, TASK);
    wk_parallel_short(call->context, a->outputs, grain, a->outputs * each / TASK, task, &j);
    return WK_OK;
}
