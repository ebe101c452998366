/* stencil_fused.c -- float32 summed in float64 and stored as float32, in one pass: for few
 * coefficients, where it costs less to convert an element for each than to keep it converted. */
#include "num/bits.h"
#include "stencil.h"
#include "stencil_simd.h"

WK_INLINE void
save_f32(wk_vd v, float *y)
{
#if defined(__AVX512F__)
    _mm256_storeu_ps(y, _mm512_cvtpd_ps((__m512d)wk_one_nan_vd(v)));
#elif defined(__AVX__)
    _mm_storeu_ps(y, _mm256_cvtpd_ps((__m256d)wk_one_nan_vd(v)));
#else
    const wk_vf f = __builtin_convertvector(wk_one_nan_vd(v), wk_vf);
    memcpy(y, &f, sizeof f);
#endif
}

WK_INLINE void
block(const float *x, int64_t step, const double *taps, int64_t count, float *y, const int many)
{
    wk_vd sum[8] = {{0}};
    for (int64_t t = 0; t < count; t++, x += step)
#pragma GCC unroll 8
        for (int v = 0; v < many; v++)
            sum[v] = FMA_F64(wk_splat(taps[t]), wk_load_f32(x + v * WK_VD), sum[v]);
#pragma GCC unroll 8
    for (int v = 0; v < many; v++) save_f32(sum[v], y + v * WK_VD);
}

void
WK_ISA_NAME(wk_stencil_fused_f32)(const void *from, int64_t step, const void *taps,
                                  int64_t count, int64_t n, void *to)
{
    const float *x = from;
    float *y = to;
    int64_t i = 0;
    for (; i + 8 * WK_VD <= n; i += 8 * WK_VD) block(x + i, step, taps, count, y + i, 8);
    for (; i < n; i += WK_VD) {
        if (i + WK_VD > n) i = n - WK_VD; /* again, with what is before it */
        block(x + i, step, taps, count, y + i, 1);
    }
}
