// finish.cuh -- from exact sums in a few doubles, or in limbs, to results that are rounded once.
#pragma once
#include "reduce/moments.cuh"

namespace wk
{

// x rounded to the dtype's digits; x may be rounded to odd before.
__device__ WK_NOINLINE inline double
round_to(double x, int dtype)
{
    if (dtype == WK_F64 || dtype == WK_C128 || x == 0) return x;
    if (dtype == WK_F32 || dtype == WK_C64) return (double)(float)x;
    wk_leading v = {
        {0, 0, 0, wk_bits_f64(x) << 11 | (uint64_t)1 << 63}, exponent_of(x) - 255, 0};
    return wk_round_leading(&v, x < 0, wk_format_of((wk_dtype)dtype));
}

// The bins as high + low, exactly, high being their rounded sum; false if two doubles do not do.
template <class B>
__device__ __forceinline__ bool
two_doubles(const B &b, double *high, double *low)
{
    constexpr int K = sizeof b.s / sizeof b.s[0];
    double h = b.part(0), l = 0, rest = 0;
    bool fits = true;
#pragma unroll
    for (int k = 1; k < K; k++) {
        double carry, more;
        h = two_sum(h, b.part(k), &carry);
        l = two_sum(l, carry, &more);
        fits = fits && more == 0;
        h = two_sum(h, l, &rest);
        l = rest;
    }
    *high = h;
    *low = l;
    return fits;
}

// The mean of high + low over n where one division rounds once; else false.
__device__ inline bool
quick_mean(double high, double low, int64_t n, int dtype, double *mean)
{
    const bool power = (n & (n - 1)) == 0, wide = dtype == WK_F64 || dtype == WK_C128;
    const int e = exponent_of(high);
    if (n > (int64_t)1 << 53 || e < -900) return false; // the rest below must not vanish
    if (power) {
        *mean = round_to((wide ? high : round_to_odd(high, low)) / (double)n, dtype);
        return true;
    }
    if (low != 0) return false;
    const double q = high / (double)n;
    *mean = wide ? q : round_to(round_to_odd(q, __fma_rn(-q, (double)n, high)), dtype);
    return true;
}

// Adds bins to limbs.
template <class B>
__device__ void
add_bins(const B &b, const wk_limbs *to)
{
    constexpr int K = sizeof b.s / sizeof b.s[0];
    for (int k = 0; k < K; k++) {
        const int64_t m = b.whole(k);
        if (m) wk_limbs_add(to, m, b.unit_of(k));
    }
}

struct answer {
    double value;
    bool known;
};

constexpr int kFewSum = 14, kFewSquares = 24; // limbs in a thread's own memory

// A result of sums and squares, by a few limbs that hang from the last bins; false if they do not
// reach far enough. Not inlined, and by value: the caller's stay in registers.
template <class M>
__device__ WK_NOINLINE answer
by_few_limbs(M m, int fold, double ddof, int dtype)
{
    int64_t s[kFewSum] = {}, q[kFewSquares + 4] = {};
    const int last_s = m.sum.unit_of(M::kS - 1), last_q = m.squares.unit_of(M::kQ - 1);
    int base = last_s;
    if (M::kHasSquares && !M::kHasSum) base = last_q >> 1;
    if (M::kHasSquares && M::kHasSum && last_q >> 1 < base) base = last_q >> 1;
    // a bin reaches 2^(unit + 51), and an addition touches three limbs
    if (M::kHasSum && m.sum.unit + 51 - base > 32 * (kFewSum - 3)) return {0, false};
    if (M::kHasSquares && m.squares.unit + 51 - 2 * base > 32 * (kFewSquares - 3))
        return {0, false};
    if (M::kHasSum && M::kHasSquares && 2 * ((m.sum.unit + 51 - base) / 32 + 1) > kFewSquares)
        return {0, false};
    wk_moments all = {{s, kFewSum, base}, {q, kFewSquares, 2 * base}, m.flags, m.count};
    if constexpr (M::kHasSum) add_bins(m.sum, &all.sum);
    if constexpr (M::kHasSquares) add_bins(m.squares, &all.squares);
    const wk_format f = wk_format_of((wk_dtype)dtype);
    if (fold == WK_SUM || fold == WK_MEAN)
        return {wk_finish_sum(&all, fold == WK_MEAN, f), true};
    if (fold == WK_SUMSQ || fold == WK_NORM)
        return {wk_finish_squares(&all, fold == WK_NORM, f), true};
    return {wk_finish_variance(&all, &all.sum, 1, ddof, fold == WK_STD, f), true};
}

// The dtype's real format: complex results are real and imaginary parts.
__device__ inline int
real_of(int dtype)
{
    return dtype == WK_C64 ? (int)WK_F32 : dtype == WK_C128 ? (int)WK_F64 : dtype;
}

// One result; false: it takes all limbs. What has failed never comes here.
template <class M>
__device__ bool
moment(const M &m, int fold, double ddof, int dtype, double *result)
{
    double high, low;
    dtype = real_of(dtype);
    if constexpr (M::kHasSum) {
        if ((fold == WK_SUM || fold == WK_MEAN) && two_doubles(m.sum, &high, &low)) {
            if (fold == WK_SUM && high != 0) {
                *result = dtype == WK_F64 ? high : round_to(round_to_odd(high, low), dtype);
                return true;
            }
            if (high == 0 && m.count > 0) {
                *result = m.flags & WK_NOT_MINUS_ZERO ? 0.0 : -0.0;
                return true;
            }
            if (fold == WK_MEAN && m.count > 0 && quick_mean(high, low, m.count, dtype, result))
                return true;
        }
    }
    if constexpr (M::kHasSquares) {
        if (fold == WK_SUMSQ && two_doubles(m.squares, &high, &low)) {
            *result = dtype == WK_F64 ? high : round_to(round_to_odd(high, low), dtype);
            return true;
        }
    }
    const answer a = by_few_limbs(m, fold, ddof, dtype);
    *result = a.value;
    return a.known;
}

// The same of all limbs, which are used up.
template <class M>
__device__ WK_NOINLINE double
moment_of_limbs(int64_t *limbs, int flags, int64_t count, int fold, double ddof, int dtype)
{
    wk_moments all = {{limbs, M::kSumLimbs, M::kSumBase},
                      {limbs + M::kSumLimbs, M::kSquareLimbs, M::kSquareBase},
                      flags,
                      count};
    const wk_format f = wk_format_of((wk_dtype)real_of(dtype));
    if (fold == WK_SUM || fold == WK_MEAN) return wk_finish_sum(&all, fold == WK_MEAN, f);
    if (fold == WK_SUMSQ || fold == WK_NORM) return wk_finish_squares(&all, fold == WK_NORM, f);
    return wk_finish_variance(&all, &all.sum, 1, ddof, fold == WK_STD, f);
}

} // namespace wk
