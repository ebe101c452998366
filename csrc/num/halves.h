/* num/halves.h -- 16-bit floats, rounded once and back; the rounding of any float type. */
#ifndef WARPKIT_NUM_HALVES_H
#define WARPKIT_NUM_HALVES_H

#include "num/bits.h"

/* Adding 1.5 2^(e + 52 - p) to x of exponent e leaves p bits behind the point; ties to even as
 * the addition has it. */

WK_FN double
wk_round_bits(double x, int bits, int least)
{
    const int e = (int)(wk_bits_f64(x) >> 52 & 2047) - 1023;
    const double magic = 1.5 * wk_power_of_two((e > least ? e : least) + 52 - bits);
    return (x + magic) - magic;
}

/* Bits of the nearest float16, of its only NaN where x is none. */
WK_FN uint16_t
wk_f16_of_f64(double x)
{
    const uint64_t b = wk_bits_f64(x);
    const uint16_t sign = (uint16_t)(b >> 63 << 15);
    const double size = wk_from_bits_f64(b & INT64_MAX);
    if (!(size < 65520.0)) return size == size ? (uint16_t)(sign | 0x7c00) : 0x7e00;
    /* as float32 the value is exact, and its bits are float16's but for the bias */
    const float f = (float)(wk_round_bits(size, 10, -14) * 0x1p-112);
    return (uint16_t)(sign | wk_bits_f32(f) >> 13);
}

/* Likewise of bfloat16. */
WK_FN uint16_t
wk_bf16_of_f64(double x)
{
    const uint64_t b = wk_bits_f64(x);
    const uint32_t sign = (uint32_t)(b >> 63 << 31);
    const double size = wk_from_bits_f64(b & INT64_MAX);
    if (size != size) return 0x7fc0;
    if (!(size < 0x1p128)) return (uint16_t)((sign | 0x7f800000u) >> 16);
    return (uint16_t)((sign | wk_bits_f32((float)wk_round_bits(size, 7, -126))) >> 16);
}

WK_FN float
wk_f32_of_f16(uint16_t x)
{
    const uint32_t sign = (uint32_t)(x >> 15) << 31, rest = (uint32_t)(x & 0x7fff) << 13;
    const float size = wk_from_bits_f32(rest) * 0x1p112f;
    return wk_from_bits_f32(sign |
                            (rest < 0x0f800000u ? wk_bits_f32(size) : rest | 0x7f800000u));
}

WK_FN float
wk_f32_of_bf16(uint16_t x)
{
    return wk_from_bits_f32((uint32_t)x << 16);
}

/* To float16 or bfloat16: long, and rarely asked for. */
WK_FN_ONCE double
wk_rounded_half(double x, wk_dtype to)
{
    return to == WK_F16 ? (double)wk_f32_of_f16(wk_f16_of_f64(x))
                        : (double)wk_f32_of_bf16(wk_bf16_of_f64(x));
}

/* Rounded to a float type. Of what one operation on numbers of that type gave in float64 it is what
 * that type's own operation gives: float64 has more than twice the bits. */
WK_FN double
wk_rounded(double x, wk_dtype to)
{
    switch (to) {
    case WK_F16:
    case WK_BF16: return wk_rounded_half(x, to);
    case WK_F32: return (double)(float)x;
    default: return x;
    }
}

#endif
