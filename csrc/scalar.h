/* scalar.h -- the arithmetic that the CPU and the CUDA code must do alike, written once.
 *
 * Promise one (the same bits on every device) rests on this file: whatever decides a bit of a
 * result is here, and both sides call it. Plain C that is also C++; no state. */
#ifndef WARPKIT_SCALAR_H
#define WARPKIT_SCALAR_H

#include "warpkit.h"

#include <limits.h>
#include <string.h>

#ifdef __CUDACC__
#define WK_FN static __host__ __device__ __forceinline__
#else
#define WK_FN static inline
#endif

/* ---- the tree of a fold ----------------------------------------------------------------- */
/* x[0 .. n) is cut into chunks of 1024. In a chunk lane l folds x[l], x[l + 32], x[l + 64],
 * ... in that order; then lanes are folded pairwise, l with l + 16, 8, 4, 2, 1. The chunks'
 * totals are the next x, until one is left. 32 lanes are a warp, and 8 AVX2 registers of 4
 * doubles: enough to hide an addition's latency. The shape depends on n alone. */
enum { WK_LANES = 32, WK_CHUNK = 1024 };

WK_FN int64_t
wk_chunks(int64_t n)
{
    return (n + WK_CHUNK - 1) / WK_CHUNK;
}

/* ---- bits ------------------------------------------------------------------------------- */

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

/* ---- floats in the order of integers ---------------------------------------------------- */
/* Min and max without a branch, -0 below +0. NaN becomes the extreme that wins, so that it
 * propagates as in numpy.min and numpy.max. */

WK_FN int32_t
wk_order_f32(float x, int32_t nan)
{
    const int32_t b = (int32_t)wk_bits_f32(x);
    const int32_t key = b ^ ((b >> 31) & INT32_MAX);
    return x == x ? key : nan;
}

WK_FN int64_t
wk_order_f64(double x, int64_t nan)
{
    const int64_t b = (int64_t)wk_bits_f64(x);
    const int64_t key = b ^ ((b >> 63) & INT64_MAX);
    return x == x ? key : nan;
}

WK_FN float
wk_unorder_f32(int32_t key)
{
    return wk_one_nan_f32(wk_from_bits_f32((uint32_t)(key ^ ((key >> 31) & INT32_MAX))));
}

WK_FN double
wk_unorder_f64(int64_t key)
{
    return wk_one_nan_f64(wk_from_bits_f64((uint64_t)(key ^ ((key >> 63) & INT64_MAX))));
}

/* ---- the order of complex numbers ------------------------------------------------------- */
/* By their real parts, then by their imaginary ones, as floats compare. Of numbers that are equal so
 * those with -0.0 are below, in the real part first: which one is the least depends on no order. */

/* Is x below y, or neither below the other and `rest` so? Without branches both ends take a GPU 22
 * instructions an element of complex64, with them 36 (sm_90); a CPU takes 1.9 ns, with them 0.9 to 1.4. */
#ifdef __CUDACC__
#define WK_BELOW(x, y, rest) (((x) < (y)) | (((x) == (y)) & (rest)))
#else
#define WK_BELOW(x, y, rest) ((x) < (y) || ((x) == (y) && (rest)))
#endif

WK_FN int
wk_below_c64(float real, float imag, float other_real, float other_imag)
{
    const uint64_t bits = (uint64_t)wk_bits_f32(real) << 32 | wk_bits_f32(imag);
    const uint64_t others = (uint64_t)wk_bits_f32(other_real) << 32 | wk_bits_f32(other_imag);
    return WK_BELOW(real, other_real, WK_BELOW(imag, other_imag, others < bits));
}

WK_FN int
wk_below_c128(double real, double imag, double other_real, double other_imag)
{
    const uint64_t bits[2] = {wk_bits_f64(real), wk_bits_f64(imag)};
    const uint64_t others[2] = {wk_bits_f64(other_real), wk_bits_f64(other_imag)};
    return WK_BELOW(
        real, other_real,
        WK_BELOW(imag, other_imag, WK_BELOW(others[0], bits[0], others[1] < bits[1])));
}

#undef WK_BELOW

/* ---- sort keys of the per-warp histogram ------------------------------------------------ */
/* Unsigned, ascending as numpy.unique. -0.0 and 0.0 are one value (0.0); all NaN are one
 * value, the last. */

WK_FN uint32_t
wk_sort_key_f32(float x)
{
    const uint32_t b = x == 0 ? 0u : wk_bits_f32(x);
    const uint32_t key = b ^ (b >> 31 ? 0xffffffffu : 0x80000000u);
    return x == x ? key : 0xffffffffu;
}

WK_FN uint64_t
wk_sort_key_f64(double x)
{
    const uint64_t b = x == 0 ? 0u : wk_bits_f64(x);
    const uint64_t key = b ^ (b >> 63 ? UINT64_MAX : 0x8000000000000000u);
    return x == x ? key : UINT64_MAX;
}

WK_FN float
wk_from_sort_key_f32(uint32_t key)
{
    const uint32_t b = key ^ (key >> 31 ? 0x80000000u : 0xffffffffu);
    return wk_one_nan_f32(wk_from_bits_f32(b));
}

WK_FN double
wk_from_sort_key_f64(uint64_t key)
{
    const uint64_t b = key ^ (key >> 63 ? 0x8000000000000000u : UINT64_MAX);
    return wk_one_nan_f64(wk_from_bits_f64(b));
}

/* Of the bits of float16 (inf 0x7c00) and bfloat16 (0x7f80); the one NaN is inf with the next bit. */
WK_FN uint16_t
wk_sort_key_16(uint16_t x, uint16_t inf)
{
    const uint16_t size = x & 0x7fff, b = size ? x : 0;
    const uint16_t key = (uint16_t)(b ^ (b >> 15 ? 0xffff : 0x8000));
    return size <= inf ? key : 0xffff;
}

WK_FN uint16_t
wk_from_sort_key_16(uint16_t key, uint16_t inf)
{
    const uint16_t b = (uint16_t)(key ^ (key >> 15 ? 0x8000 : 0xffff));
    return (b & 0x7fff) <= inf ? b : (uint16_t)(inf | (inf & -inf) >> 1);
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

/* ---- double to a 16-bit float, rounded once ---------------------------------------------- */
/* Adding 1.5 2^(e + 52 - p) to x of exponent e leaves p bits behind the point; ties to even as
 * the addition has it. */

WK_FN double
wk_round_bits(double x, int bits, int least)
{
    const int e = (int)(wk_bits_f64(x) >> 52 & 2047) - 1023;
    const double magic =
        1.5 * wk_from_bits_f64((uint64_t)((e > least ? e : least) + 52 - bits + 1023) << 52);
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

/* ---- the line beyond its ends ----------------------------------------------------------- */
/* The index of the element that stands at i, or -1 for cval. scipy.ndimage's modes; any i,
 * any n >= 1, also lines shorter than the halo. */
WK_FN int64_t
wk_extend(int64_t i, int64_t n, wk_mode mode)
{
    if (i >= 0 && i < n) return i;
    if (mode == WK_CONSTANT) return -1;
    if (mode == WK_NEAREST || (mode == WK_MIRROR && n == 1)) return i < 0 ? 0 : n - 1;

    const int64_t period = mode == WK_WRAP ? n : mode == WK_REFLECT ? 2 * n : 2 * n - 2;
    int64_t p = i % period;
    if (p < 0) p += period;
    if (p < n) return p;
    return mode == WK_REFLECT ? period - 1 - p : period - p;
}

/* ---- bins ------------------------------------------------------------------------------- */

#define E float
#define BINS(name) wk_##name##_f32
#include "bins_body.h"
#define E double
#define BINS(name) wk_##name##_f64
#include "bins_body.h"
#define E int64_t
#define BINS(name) wk_##name##_i64
#define BINS_SEARCH_ONLY
#include "bins_body.h"
#define E uint64_t
#define BINS(name) wk_##name##_u64
#define BINS_SEARCH_ONLY
#include "bins_body.h"

/* Rounded to a float type. Of what one operation on numbers of that type gave in float64 it is what
 * that type's own operation gives: float64 has more than twice the bits. */
WK_FN double
wk_rounded(double x, wk_dtype to)
{
    switch (to) {
    case WK_F16: return (double)wk_f32_of_f16(wk_f16_of_f64(x));
    case WK_BF16: return (double)wk_f32_of_bf16(wk_bf16_of_f64(x));
    case WK_F32: return (double)(float)x;
    default: return x;
    }
}

/* numpy.histogram's arithmetic for equal bins, in the types in which NumPy does it; x lies in the
 * range. */
WK_FN int64_t
wk_uniform_guess(const wk_histogram_args *h, double x)
{
    const double bins = wk_rounded((double)h->bins, h->quotient);
    const double part =
        wk_rounded(wk_rounded(x - h->first, h->element) / h->width, h->quotient);
    const double f = wk_rounded(part * bins, h->quotient);
    return f < (double)h->bins ? (int64_t)f : h->bins - 1; /* NaN too, of an infinite width */
}

/* numpy.histogram's bin of an x in the range, whose element and edges are float64, ... */
WK_FN int64_t
wk_uniform_bin_f64(const wk_histogram_args *h, const double *edges, double x)
{
    return wk_settle_f64(x, edges, h->bins, wk_uniform_guess(h, x));
}

/* ... or smaller floats. */
WK_FN int64_t
wk_uniform_bin_f32(const wk_histogram_args *h, const float *edges, float x)
{
    return wk_settle_f32(x, edges, h->bins, wk_uniform_guess(h, (double)x));
}

#endif
