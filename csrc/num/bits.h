/* num/bits.h -- bits of floats, the one NaN, and numbers as integers.
 *
 * Promise one (the same bits on every device) rests on this folder: whatever decides a bit of a
 * result is here, and the CPU and the CUDA code call it. Plain C that is also C++; no state. */
#ifndef WARPKIT_NUM_BITS_H
#define WARPKIT_NUM_BITS_H

#include "warpkit.h"
#include <string.h>

#ifdef __CUDACC__
#define WK_FN static __host__ __device__ __forceinline__
/* Long, and rarely called. */
#define WK_FN_ONCE static __host__ __device__ __attribute__((noinline, unused))
#else
#define WK_FN static inline
#define WK_FN_ONCE static inline
#endif

WK_FN uint32_t
wk_bits_f32(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

WK_FN uint64_t
wk_bits_f64(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

WK_FN float
wk_from_bits_f32(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

WK_FN double
wk_from_bits_f64(uint64_t b)
{
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

WK_FN double
wk_power_of_two(int e) /* of a normal number */
{
    return wk_from_bits_f64((uint64_t)(e + 1023) << 52);
}

/* Which NaN an operation yields differs between chips, so results carry one NaN only. */
WK_FN float
wk_one_nan_f32(float x)
{
    return x == x ? x : wk_from_bits_f32(0x7fc00000u);
}

WK_FN double
wk_one_nan_f64(double x)
{
    return x == x ? x : wk_from_bits_f64(0x7ff8000000000000u);
}

/* ---- double to integer, defined for every value ----------------------------------------- */
/* SciPy casts in C, which leaves values out of range to the chip. Here: towards zero, then
 * modulo the type's range; NaN and what no 64-bit integer holds become the smallest int64. */

WK_FN int64_t
wk_to_i64(double v)
{
    return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v : INT64_MIN;
}

WK_FN uint64_t
wk_to_u64(double v)
{
    const int large = v >= 9223372036854775808.0 && v < 18446744073709551616.0;
    return large ? (uint64_t)(int64_t)(v - 9223372036854775808.0) + 0x8000000000000000u
                 : (uint64_t)wk_to_i64(v);
}

#endif
