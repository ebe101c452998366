/* stencil_simd.h -- registers of float32 and float64: what sums of a stencil are made of. */
#ifndef WARPKIT_STENCIL_SIMD_H
#define WARPKIT_STENCIL_SIMD_H

#include "vector.h"

#include <math.h>

#define WK_INLINE static inline __attribute__((always_inline))

typedef float wk_vs __attribute__((vector_size(WK_VECTOR)));
typedef int32_t wk_vsi __attribute__((vector_size(WK_VECTOR)));
enum { WK_VS = WK_VECTOR / 4 };

#if defined(__AVX512F__)
#define FMA_F64(a, b, c) ((wk_vd)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FMA_F32(a, b, c) ((wk_vs)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define SWAP_F64(x) ((wk_vd)_mm512_permute_pd((__m512d)(x), 0x55))
#define SWAP_F32(x) ((wk_vs)_mm512_permute_ps((__m512)(x), 0xb1))
#elif defined(__FMA__)
#define FMA_F64(a, b, c) ((wk_vd)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FMA_F32(a, b, c) ((wk_vs)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define SWAP_F64(x) ((wk_vd)_mm256_permute_pd((__m256d)(x), 0x5))
#define SWAP_F32(x) ((wk_vs)_mm256_permute_ps((__m256)(x), 0xb1))
#else
WK_INLINE wk_vd
fma_lanes_f64(wk_vd a, wk_vd b, wk_vd c)
{
    for (int i = 0; i < WK_VD; i++) c[i] = fma(a[i], b[i], c[i]);
    return c;
}

WK_INLINE wk_vs
fma_lanes_f32(wk_vs a, wk_vs b, wk_vs c)
{
    for (int i = 0; i < WK_VS; i++) c[i] = fmaf(a[i], b[i], c[i]);
    return c;
}

WK_INLINE wk_vd
swap_lanes_f64(wk_vd x)
{
    wk_vd y;
    for (int i = 0; i < WK_VD; i++) y[i] = x[i ^ 1];
    return y;
}

WK_INLINE wk_vs
swap_lanes_f32(wk_vs x)
{
    wk_vs y;
    for (int i = 0; i < WK_VS; i++) y[i] = x[i ^ 1];
    return y;
}
#define FMA_F64 fma_lanes_f64
#define FMA_F32 fma_lanes_f32
#define SWAP_F64 swap_lanes_f64
#define SWAP_F32 swap_lanes_f32
#endif

/* w[0] for even lanes, w[1] for odd ones. */
WK_INLINE wk_vd
wk_pair_f64(const double *w)
{
#if defined(__AVX512DQ__)
    return (wk_vd)_mm512_broadcast_f64x2(_mm_loadu_pd(w));
#elif defined(__AVX__)
    return (wk_vd)_mm256_broadcast_pd((const __m128d *)w);
#else
    wk_vd v;
    for (int i = 0; i < WK_VD; i++) v[i] = w[i & 1];
    return v;
#endif
}

WK_INLINE wk_vs
wk_pair_f32(const float *w)
{
    double both;
    memcpy(&both, w, sizeof both);
    return (wk_vs)(both - (wk_vd){0});
}

/* Of NaN there is one only: see wk_one_nan_f64. */
WK_INLINE wk_vd
wk_one_nan_vd(wk_vd v)
{
#if defined(__AVX512F__)
    const __mmask8 nan = _mm512_cmp_pd_mask((__m512d)v, (__m512d)v, _CMP_UNORD_Q);
    const __m512i one = _mm512_set1_epi64(0x7ff8000000000000);
    return (wk_vd)_mm512_mask_mov_pd((__m512d)v, nan, _mm512_castsi512_pd(one));
#else
    const wk_vl number = v == v;
    return (wk_vd)(((wk_vl)v & number) | (~number & 0x7ff8000000000000));
#endif
}

WK_INLINE wk_vs
wk_one_nan_vs(wk_vs v)
{
#if defined(__AVX512F__)
    const __mmask16 nan = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
    return (wk_vs)_mm512_mask_mov_ps((__m512)v, nan,
                                     _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
#else
    const wk_vsi number = v == v;
    return (wk_vs)(((wk_vsi)v & number) | (~number & 0x7fc00000));
#endif
}

#endif
