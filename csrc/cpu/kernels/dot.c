/* dot / cpu blocks -- sums of products, exact and rounded once.
 *
 * In, out   x[outputs][n], y[outputs][n] -> a sum of products each.
 * How       a product of float32 or less is a double, one of float64 two; a block's go to bins that
 *           hang from the largest there can be (dot_body.h), as squares do. The parts of complex
 *           numbers are brought side by side, and four runs of products give the two sums.
 * Source    T. Ogita, S. Rump, S. Oishi, "Accurate sum and dot product" (2005), for the two doubles. */
#include "cpu/fp.h"
#include "cpu/threads.h"
#include "exact_parts.h"
#include "finish.h"
#include "store.h"

#include <stdlib.h>

enum {
    TASK = 1 << 17, /* elements a task: 50 us                            */
    PARTS = 64,     /* of a long output                                  */
    SOME = 1024     /* complex numbers whose parts are brought side by side */
};

/* x y = t[0] + t[1]; no part of it may be subnormal. */
static inline __attribute__((always_inline)) void
product_pair(wk_vd x, wk_vd y, wk_vd *t)
{
    t[0] = x * y;
#if defined(__FMA__) && defined(__AVX512F__)
    t[1] = (wk_vd)_mm512_fmsub_pd((__m512d)x, (__m512d)y, (__m512d)t[0]);
#elif defined(__FMA__)
    t[1] = (wk_vd)_mm256_fmsub_pd((__m256d)x, (__m256d)y, (__m256d)t[0]);
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
    dots *room;          /* [outputs][parts]; NULL: one part          */
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

#define COMPLEX(E, of)                                                                         \
    static void add_complex_##of(dots *d, const E *x, const E *y, int64_t n, int conjugate)    \
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
        add_##of(&d->sum[0], re, real, n);                                                     \
        add_##of(&d->sum[0], minus, imag, n);                                                  \
        add_##of(&d->sum[1], re, imag, n);                                                     \
        add_##of(&d->sum[1], im, real, n);                                                     \
    }
COMPLEX(float, f32)
COMPLEX(double, f64)
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

static void
finish(const job *j, const dots *d, int64_t output)
{
    const wk_array *out = &j->call->out[0];
    const int complex = wk_is_complex(j->dtype);
    if (j->dtype < WK_F16) {
        wk_store_bits(out->data, output, out->dtype, d->bits);
        return;
    }
    const wk_dtype real = j->dtype == WK_C64 ? WK_F32 : complex ? WK_F64 : out->dtype;
    for (int p = 0; p <= complex; p++)
        wk_store_real(out->data, complex ? 2 * output + p : output, real,
                      WK_ISA_NAME(wk_finish_products)(&d->sum[p], real));
}

static void
task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const int64_t some = wk_is_complex(j->dtype) ? SOME : WK_BLOCK;
    const wk_fp_state state = wk_fp_begin();
    dots alone;
    (void)thread;
    for (int64_t item = begin; item < end && !wk_interrupted(); item++) {
        const int64_t output = item / j->parts, first = item % j->parts * j->part;
        const int64_t last = first + j->part < j->n ? first + j->part : j->n;
        const int64_t at = output * j->n;
        dots *d = j->room ? &j->room[item] : &alone;
        start(d, j->dtype);
        for (int64_t i = first; i < last; i += some)
            add_block(j, d, j->x + (at + i) * j->item, j->y + (at + i) * j->item,
                      last - i < some ? last - i : some);
        if (j->room == NULL) finish(j, d, output);
    }
    wk_fp_end(state);
}

static void
join(const job *j, int64_t outputs)
{
    for (int64_t output = 0; output < outputs; output++) {
        dots *all = j->room + output * j->parts;
        for (int64_t p = 1; p < j->parts; p++) {
            for (int k = 0; k < 2; k++) wk_exact_merge(&all->sum[k], &all[p].sum[k]);
            all->bits =
                j->dtype == WK_BOOL ? (all->bits | all[p].bits) : all->bits + all[p].bits;
        }
        finish(j, all, output);
    }
}

WK_CPU_LAUNCHER(dot, blocks)
{
    const wk_dot_args *a = &call->args.dot;
    const wk_array *y = &call->beside;
    job j = {.call = call, .n = a->n, .dtype = call->in.dtype, .parts = 1, .part = a->n};
    j.item = wk_itemsize[j.dtype];
    j.x = (const char *)call->in.data + call->in.first;
    j.y = (const char *)(y->data ? y->data : y->host) + y->first;
    if (a->n > 2 * TASK && a->outputs < PARTS) {
        const int64_t wanted = PARTS / a->outputs, most = a->n / TASK;
        const int64_t parts = wanted < most ? wanted : most;
        j.part = ((a->n + parts - 1) / parts + WK_BLOCK - 1) / WK_BLOCK * WK_BLOCK;
        j.parts = (a->n + j.part - 1) / j.part;
        j.room = malloc((size_t)(a->outputs * j.parts) * sizeof *j.room);
        if (j.room == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate partial results");
    }
    const int64_t each = a->n + 64, grain = j.room == NULL && each < TASK ? TASK / each : 1;
    wk_parallel(call->context, a->outputs * j.parts, grain, task, &j);
    if (j.room && !wk_interrupted()) {
        const wk_fp_state state = wk_fp_begin();
        join(&j, a->outputs);
        wk_fp_end(state);
    }
    free(j.room);
    return WK_OK;
}
