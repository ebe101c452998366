/* keys.h -- elements in the order of integers; num/keys.h's keys, of 16 bits where those do. */
#ifndef WARPKIT_KEYS_H
#define WARPKIT_KEYS_H

#include "num/keys.h"

#define WK_TOP(T) ((T)((T)-1 > (T)0 ? (T)-1 : (T)(((uint64_t)1 << (8 * sizeof(T) - 1)) - 1)))
#define WK_BOTTOM(T) ((T)((T)-1 > (T)0 ? (T)0 : (T)(-WK_TOP(T) - 1)))

/* No branches, that loops may vectorise. Of float16 (inf 0x7c00) and bfloat16 (0x7f80): their order as float32. */
static inline int16_t
wk_order_16(uint16_t x, uint16_t inf, int16_t nan)
{
    const int16_t b = (int16_t)x;
    const int16_t key = (int16_t)(b ^ ((b >> 15) & INT16_MAX));
    const int16_t is = (int16_t) - ((x & 0x7fff) > inf);
    return (int16_t)((key & ~is) | (nan & is));
}

/* num/keys.h's keys from the bits; a comparison of floats would keep loops from vectorising. */
static inline int32_t
wk_order_32(uint32_t x, int32_t nan)
{
    const int32_t b = (int32_t)x;
    const int32_t key = b ^ ((b >> 31) & INT32_MAX);
    const int32_t is = -((b & INT32_MAX) > 0x7f800000);
    return (key & ~is) | (nan & is);
}

static inline int64_t
wk_order_64(uint64_t x, int64_t nan)
{
    const int64_t b = (int64_t)x;
    const int64_t key = b ^ ((b >> 63) & INT64_MAX);
    const int64_t is = -(int64_t)((b & INT64_MAX) > (int64_t)2047 << 52);
    return (key & ~is) | (nan & is);
}

/* Of a complex64: by its real part, then by its imaginary one; zeros are equal. */
static inline int64_t
wk_order_c64(uint64_t x, int64_t nan)
{
    const uint32_t real = (uint32_t)x, imag = (uint32_t)(x >> 32);
    const int64_t high = wk_order_32(real << 1 ? real : 0, 0);
    const uint32_t low = (uint32_t)wk_order_32(imag << 1 ? imag : 0, 0) ^ (uint32_t)1 << 31;
    const uint32_t top = 0x7f800000, ones = 0x7fffffff;
    const int64_t is = -(int64_t)(((real & ones) > top) | ((imag & ones) > top));
    return ((high * ((int64_t)1 << 32) + low) & ~is) | (nan & is);
}

/* One key for -0.0 and 0.0, for which others below zero make room. */
#define WK_ZEROS_EQUAL(T, key) ((T)((key) - ((key) >> (8 * sizeof(T) - 1))))

static inline uint16_t
wk_unorder_16(int16_t key, uint16_t inf, uint16_t nan)
{
    const uint16_t b = (uint16_t)(key ^ ((key >> 15) & INT16_MAX));
    return (b & 0x7fff) <= inf ? b : nan;
}

static inline double
wk_f64_of_f16(uint16_t x)
{
    const uint32_t m = x & 0x7fff, sign = (uint32_t)(x >> 15) << 31;
    if (m >= 0x7c00) return (double)wk_from_bits_f32(sign | 0x7f800000u | m << 13);
    const double v = (double)wk_from_bits_f32(m << 13) * 0x1p112;
    return sign ? -v : v;
}

#endif
