/* exact.c -- sums and sums of squares of floats: added plainly, proved by the inexact flag.
 *
 * How     float16 and bfloat16 are added as doubles; so is float32. A float64 is cut by a mask
 *         into 26 + 27 bits, and each half has a sum of its own. Squares of both go to bins.
 * Better  than the tree: exact, in any order, at the same speed.
 * Source  the method is NUMERICS.md's; studies/exact_sum. */
#include "cpu/fp.h"
#include "exact_parts.h"
#include "vector.h"

static int
finite_lanes(const double *lane, int words, int64_t stride, int64_t width)
{
    int64_t bad = 0;
    for (int k = 0; k < words; k++)
        for (int64_t w = 0; w < width; w++) {
            int64_t b;
            memcpy(&b, lane + k * stride + w, sizeof b);
            bad |= (b & (int64_t)2047 << 52) == (int64_t)2047 << 52;
        }
    return !bad;
}

/* The sums of the elements of even and of odd places. */
typedef double two_sums __attribute__((vector_size(16)));

static inline two_sums
sums_by_parity(wk_vd v)
{
#if defined(__AVX512F__)
    const __m256d half =
        _mm512_castpd512_pd256((__m512d)v) + _mm512_extractf64x4_pd((__m512d)v, 1);
#elif defined(__AVX__)
    const __m256d half = (__m256d)v;
#endif
#if defined(__AVX__)
    return (two_sums)(_mm256_castpd256_pd128(half) + _mm256_extractf128_pd(half, 1));
#else
    return (two_sums)v;
#endif
}

static void
commit(wk_exact *e, const double *lane, int64_t stride)
{
    wk_word part[WK_PARTS];
    for (int k = 0; k < e->words; k++) part[k].f = lane[k * stride];
    wk_exact_commit(e, part);
}

static inline __attribute__((always_inline)) void
split(wk_vd *high, wk_vd *low, wk_vd v)
{
    const wk_vd h = (wk_vd)((wk_vl)v & HIGH);
    *high += h;
    *low += v - h;
}

/* v^2 = t[0] + t[1]; no part of it may be subnormal. */
static inline __attribute__((always_inline)) void
square_pair(wk_vd v, wk_vd *t)
{
    t[0] = v * v;
#if WK_HAS_FMA
    t[1] = wk_fma(v, v, -t[0]);
#else
    wk_vd a, b;
    halves(v, &a, &b);
    t[1] = ((a * a - t[0]) + (a + a) * b) + b * b;
#endif
}

static inline __attribute__((always_inline)) void
expand_square(wk_vd v, wk_vd *t)
{
    wk_vd a, b;
    halves(v, &a, &b);
    t[0] = a * a;
    t[1] = (a + a) * b;
    t[2] = b * b;
}

#define ANY_RANGE(range) 1
#define PLAIN(to, v) (to)[0] += (v)
#define SPLIT(to, v) split(&(to)[0], &(to)[1], v)
#define ITSELF(v, t) (t)[0] = (v)
#define SQUARE(v, t) (t)[0] = (v) * (v)

/* ---- sums --------------------------------------------------------------------------------- */

#define EXACT(a) (a)->sum[0]

#define T uint16_t
#define LOAD wk_load_f16
#define MINUS_ZERO 0x8000
#define WORDS 1
#define STEP PLAIN
#define TERMS 1
#define EXPAND ITSELF
#define DIGITS 11
#define SAFE ANY_RANGE
#define ADD_ONE wk_exact_add
#define FN(name) name##_f16
#include "exact_body.h"

#define T uint16_t
#define LOAD wk_load_bf16
#define MINUS_ZERO 0x8000
#define WORDS 1
#define STEP PLAIN
#define TERMS 1
#define EXPAND ITSELF
#define DIGITS 8
#define SAFE ANY_RANGE
#define ADD_ONE wk_exact_add
#define FN(name) name##_bf16
#include "exact_body.h"

#define T float
#define LOAD wk_load_f32
#define MINUS_ZERO -0.0
#define WORDS 1
#define STEP PLAIN
#define TERMS 1
#define EXPAND ITSELF
#define DIGITS 24
#define SAFE ANY_RANGE
#define ADD_ONE wk_exact_add
#define FN(name) name##_f32
#include "exact_body.h"

#define T double
#define LOAD wk_load_f64
#define MINUS_ZERO -0.0
#define WORDS 2
#define STEP SPLIT
#define TERMS 1
#define EXPAND ITSELF
#define DIGITS 53
#define SAFE ANY_RANGE
#define ADD_ONE wk_exact_add
#define FN(name) name##_f64
#include "exact_body.h"

#undef EXACT

/* ---- squares ------------------------------------------------------------------------------ */

#define EXACT(a) (a)->squares

#define T uint16_t
#define LOAD wk_load_f16
#define MINUS_ZERO 0x8000
#define WORDS 2
#define I int16_t
#define STORED 10
#define PAIRED 0
#define SQUARE_OF SQUARE
#define TERMS 1
#define EXPAND SQUARE
#define DIGITS 22
#define SAFE ANY_RANGE
#define ADD_ONE wk_exact_add_square
#define FN(name) square_##name##_f16
#include "exact_body.h"

#define T uint16_t
#define LOAD wk_load_bf16
#define MINUS_ZERO 0x8000
#define WORDS 2
#define I int16_t
#define STORED 7
#define PAIRED 0
#define SQUARE_OF SQUARE
#define TERMS 1
#define EXPAND SQUARE
#define DIGITS 16
#define SAFE ANY_RANGE
#define ADD_ONE wk_exact_add_square
#define FN(name) square_##name##_bf16
#include "exact_body.h"

#define T float
#define LOAD wk_load_f32
#define MINUS_ZERO -0.0
#define WORDS 3
#define I int32_t
#define STORED 23
#define PAIRED 0
#define SQUARE_OF SQUARE
#define TERMS 1
#define EXPAND SQUARE
#define DIGITS 48
#define SAFE ANY_RANGE
#define ADD_ONE wk_exact_add_square
#define FN(name) square_##name##_f32
#include "exact_body.h"

#define T double
#define LOAD wk_load_f64
#define MINUS_ZERO -0.0
#define WORDS 4
#define I int64_t
#define STORED 52
#define PAIRED 1
#define SQUARE_OF square_pair
#define TERMS 3
#define EXPAND expand_square
#define DIGITS 53
#define SAFE moderate
#define ADD_ONE wk_exact_add_square
#define FN(name) square_##name##_f64
#include "exact_body.h"

#undef EXACT

/* ---- complex numbers: their parts --------------------------------------------------------- */

#define T float
#define PART(name) name##_f32
#define FN(name) name##_c64
#include "exact_complex_body.h"
#define T double
#define PART(name) name##_f64
#define FN(name) name##_c128
#include "exact_complex_body.h"

/* ---- tables ------------------------------------------------------------------------------- */

static void
merge_sums(wk_acc *a, const wk_acc *b)
{
    wk_exact_merge(&a->sum[0], &b->sum[0]);
    if (a->sum[1].limbs.count) wk_exact_merge(&a->sum[1], &b->sum[1]);
}

static void
merge_squares(wk_acc *a, const wk_acc *b)
{
    wk_exact_merge(&a->squares, &b->squares);
}

#define FLOAT(type, words, size)                                                               \
    {                                                                                          \
        words, size, rows_##type, columns_##type, start_##type, run_##type, absorb_##type,     \
            merge_sums                                                                         \
    }
const wk_folding WK_ISA_NAME(wk_folding_sum_float)[WK_DTYPES] = {
    [WK_F16] = FLOAT(f16, 1, 8), [WK_BF16] = FLOAT(bf16, 1, 8), [WK_F32] = FLOAT(f32, 1, 8),
    [WK_F64] = FLOAT(f64, 2, 8), [WK_C64] = FLOAT(c64, 1, 16),  [WK_C128] = FLOAT(c128, 2, 16),
};

#undef FLOAT
#define FLOAT(type, words, size)                                                               \
    {                                                                                          \
        words, size, square_rows_##type, square_columns_##type, square_start_##type,           \
            square_run_##type, square_absorb_##type, merge_squares                             \
    }
const wk_folding WK_ISA_NAME(wk_folding_squares_float)[WK_DTYPES] = {
    [WK_F16] = FLOAT(f16, 2, 8), [WK_BF16] = FLOAT(bf16, 2, 8), [WK_F32] = FLOAT(f32, 3, 8),
    [WK_F64] = FLOAT(f64, 4, 8), [WK_C64] = FLOAT(c64, 3, 16),  [WK_C128] = FLOAT(c128, 4, 16),
};
