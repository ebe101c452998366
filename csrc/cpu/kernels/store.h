/* store.h -- results in their dtype. */
#ifndef WARPKIT_STORE_H
#define WARPKIT_STORE_H

#include "num/bits.h"

/* The bits of a number that float16 or bfloat16 has. */
static inline uint16_t
wk_bits_f16(double x)
{
    const uint64_t b = wk_bits_f64(x);
    const uint16_t sign = (uint16_t)(b >> 63 << 15);
    const int e = (int)(b >> 52 & 2047) - 1023;
    if (x != x) return 0x7e00;
    if (e == 1024) return sign | 0x7c00;
    if (x == 0) return sign;
    if (e >= -14) return (uint16_t)(sign | (e + 15) << 10 | (int)(b >> 42 & 0x3ff));
    return (uint16_t)(sign | ((b >> 42 & 0x3ff) | 0x400) >> (-14 - e));
}

static inline uint16_t
wk_bits_bf16(double x)
{
    return x == x ? (uint16_t)(wk_bits_f32((float)x) >> 16) : 0x7fc0;
}

/* A number that the dtype has; what is complex gets no imaginary part. */
static inline void
wk_store_real(void *out, int64_t i, wk_dtype dtype, double x)
{
    switch (dtype) {
    case WK_F16: ((uint16_t *)out)[i] = wk_bits_f16(x); break;
    case WK_BF16: ((uint16_t *)out)[i] = wk_bits_bf16(x); break;
    case WK_F32: ((float *)out)[i] = wk_one_nan_f32((float)x); break;
    case WK_F64: ((double *)out)[i] = wk_one_nan_f64(x); break;
    case WK_C64:
        ((float *)out)[2 * i] = wk_one_nan_f32((float)x);
        ((float *)out)[2 * i + 1] = 0;
        break;
    case WK_C128:
        ((double *)out)[2 * i] = wk_one_nan_f64(x);
        ((double *)out)[2 * i + 1] = 0;
        break;
    default: break;
    }
}

/* Modulo 2^bits. */
static inline void
wk_store_bits(void *out, int64_t i, wk_dtype dtype, uint64_t x)
{
    switch (dtype) {
    case WK_BOOL: ((uint8_t *)out)[i] = x != 0; break;
    case WK_I8:
    case WK_U8: ((uint8_t *)out)[i] = (uint8_t)x; break;
    case WK_I16:
    case WK_U16: ((uint16_t *)out)[i] = (uint16_t)x; break;
    case WK_I32:
    case WK_U32: ((uint32_t *)out)[i] = (uint32_t)x; break;
    default: ((uint64_t *)out)[i] = x; break;
    }
}

#endif
