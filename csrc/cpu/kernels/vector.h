/* vector.h -- as many doubles as a register of this instruction set holds, from each float. */
#ifndef WARPKIT_VECTOR_H
#define WARPKIT_VECTOR_H

#include "num/bits.h"
#include "cpu/isa.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { WK_VECTOR = 64 };
#elif defined(__AVX__)
enum { WK_VECTOR = 32 };
#else
enum { WK_VECTOR = 16 };
#endif
enum { WK_VD = WK_VECTOR / 8 };

typedef double wk_vd __attribute__((vector_size(WK_VECTOR)));
typedef int64_t wk_vl __attribute__((vector_size(WK_VECTOR)));
typedef float wk_vf __attribute__((vector_size(WK_VECTOR / 2)));
typedef uint32_t wk_vi __attribute__((vector_size(WK_VECTOR / 2)));
typedef uint16_t wk_vh __attribute__((vector_size(WK_VECTOR / 4)));

static inline wk_vd
wk_splat(double x)
{
    return x - (wk_vd){0}; /* also -0.0 */
}

/* GCC 12 takes four instructions for what is one. */
static inline wk_vd
wk_widen(wk_vf v)
{
#if defined(__AVX512F__)
    return (wk_vd)_mm512_cvtps_pd((__m256)v);
#elif defined(__AVX__)
    return (wk_vd)_mm256_cvtps_pd((__m128)v);
#else
    return __builtin_convertvector(v, wk_vd);
#endif
}

/* x y + z, rounded once: where the chip has it, else it takes hundreds of times as long. */
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__)
#define WK_HAS_FMA 1
static inline wk_vd
wk_fma(wk_vd x, wk_vd y, wk_vd z)
{
#if defined(__AVX512F__)
    return (wk_vd)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
#elif defined(__AVX__)
    return (wk_vd)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
#else
    for (int k = 0; k < WK_VD; k++) z[k] = __builtin_fma(x[k], y[k], z[k]);
    return z;
#endif
}
#else
#define WK_HAS_FMA 0
#endif

static inline __attribute__((always_inline)) wk_vd
wk_size_of(wk_vd v)
{
    return (wk_vd)((wk_vl)v & INT64_MAX);
}

/* a + b, and what that is less than the exact sum. */
static inline __attribute__((always_inline)) wk_vd
wk_two_sums(wk_vd a, wk_vd b, wk_vd *rest)
{
    const wk_vd s = a + b, other = s - a;
    *rest = (a - (s - other)) + (b - other);
    return s;
}

/* The larger of |x| and most, which is no NaN; of NaN most. */
static inline wk_vd
wk_larger(wk_vd x, wk_vd most)
{
    const wk_vd size = wk_size_of(x);
#if defined(__AVX512F__)
    return (wk_vd)_mm512_max_pd((__m512d)size, (__m512d)most);
#elif defined(__AVX__)
    return (wk_vd)_mm256_max_pd((__m256d)size, (__m256d)most);
#else
    for (int k = 0; k < WK_VD; k++) most[k] = size[k] > most[k] ? size[k] : most[k];
    return most;
#endif
}

static inline wk_vd
wk_load_f64(const double *x)
{
    wk_vd v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline wk_vd
wk_load_f32(const float *x)
{
    wk_vf v;
    memcpy(&v, x, sizeof v);
    return wk_widen(v);
}

/* The bits of bfloat16 are the upper half of a float's. */
static inline wk_vd
wk_load_bf16(const uint16_t *x)
{
#if defined(__AVX512F__)
    const wk_vi b = (wk_vi)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)x));
#elif defined(__AVX__)
    const wk_vi b = (wk_vi)_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)x));
#else
    wk_vh h;
    memcpy(&h, x, sizeof h);
    const wk_vi b = __builtin_convertvector(h, wk_vi);
#endif
    return wk_widen((wk_vf)(b << 16));
}

/* By the chip, or: the exponent's bias is mended by a product, exact also of subnormals, and
 * what was all ones is made so again. */
static inline wk_vd
wk_load_f16(const uint16_t *x)
{
#if defined(__F16C__) && defined(__AVX512F__)
    const __m128i h = _mm_loadu_si128((const __m128i *)x);
    return (wk_vd)_mm512_cvtps_pd(_mm256_cvtph_ps(h));
#elif defined(__F16C__)
    const __m128i h = _mm_loadl_epi64((const __m128i *)x);
    return (wk_vd)_mm256_cvtps_pd(_mm_cvtph_ps(h));
#else
    wk_vh h;
    memcpy(&h, x, sizeof h);
    const wk_vi b = __builtin_convertvector(h, wk_vi);
    const wk_vf f = (wk_vf)((b & 0x7fff) << 13) * 0x1p112f;
    const wk_vi special = (wk_vi)((b & 0x7c00) == 0x7c00) & 0x7f800000;
    const wk_vi all = (wk_vi)f | special | (b & 0x8000) << 16;
    return wk_widen((wk_vf)all);
#endif
}

#endif
