// finish.cuh -- from exact sums in a few doubles, or in limbs, to results that are rounded once.
#pragma once
#include "reduce/moments.cuh"

namespace wk
{

// The nearest float with an odd last bit where x is no float: rounding it to fewer digits gives what
// rounding x gives.
__device__ __forceinline__ float
odd_float(double x)
{
    const float near = (float)x;
    const double rest = x - (double)near;
    const uint32_t b = wk_bits_f32(near);
    if (rest == 0 || (b & 1) || !(fabsf(near) < INFINITY)) return near;
    return wk_from_bits_f32((rest > 0) == (b >> 31 == 0) ? b + 1 : b - 1);
}

// x rounded to the dtype's digits; x may be rounded to odd before.
__device__ __forceinline__ double
round_to(double x, int dtype)
{
    if (dtype == WK_F64 || dtype == WK_C128) return x;
    if (dtype == WK_F32 || dtype == WK_C64) return (double)(float)x;
    const float f = odd_float(x);
    if (dtype == WK_F16) return (double)__half2float(__float2half_rn(f));
    const uint32_t b = wk_bits_f32(f);
    return (double)wk_from_bits_f32((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000u);
}

// The numbers y as high + low, exactly, high being their rounded sum; false if two doubles do not do.
template <int K>
__device__ __forceinline__ bool
two_doubles(const double (&y)[K], double *high, double *low)
{
    double h = y[0], l = 0, rest = 0;
    bool fits = true;
#pragma unroll
    for (int k = 1; k < K; k++) {
        double carry, more;
        h = two_sum(h, y[k], &carry);
        l = two_sum(l, carry, &more);
        fits = fits && more == 0;
        h = two_sum(h, l, &rest);
        l = rest;
    }
    *high = h;
    *low = l;
    return fits;
}

template <class B>
__device__ __forceinline__ bool
two_doubles(const B &b, double *high, double *low)
{
    double y[sizeof b.s / sizeof b.s[0]];
#pragma unroll
    for (int k = 0; k < (int)(sizeof b.s / sizeof b.s[0]); k++) y[k] = b.part(k);
    return two_doubles(y, high, low);
}

// ---- results from sums in two doubles each, where one rounding can be told from them ----------

// Exact sums of elements and of their squares, each the sum of two doubles.
struct sums_in_pairs {
    double sum, sum_rest, squares, squares_rest;
};

// h + l is the result but for `e`, at most; is it rounded the same way wherever it lies?
__device__ __forceinline__ bool
settled(double h, double l, double e, int dtype, double *result)
{
    h = two_sum(h, l, &l);
    e = 2 * e + fabs(l) * 0x1p-50; // to spare: for what is rounded here
    const double below = l - e, above = l + e;
    if (!(fabs(h) > 0x1p-900 && fabs(h) < 0x1p1000)) return false;
    if (dtype == WK_F64) {
        *result = h;
        return h + below == h && h + above == h;
    }
    *result = round_to(round_to_odd(h, below), dtype);
    return *result == round_to(round_to_odd(h, above), dtype);
}

// h + l divided by d, which is exact; the rest of a double's division is exact.
__device__ __forceinline__ void
divide_pair(double *h, double *l, double d)
{
    const double q = *h / d, rest = __fma_rn(-q, d, *h);
    *l = (rest + *l) / d;
    *h = q;
}

__device__ __forceinline__ void
root_of_pair(double *h, double *l)
{
    const double r = sqrt(*h), rest = __fma_rn(-r, r, *h);
    *l = (rest + *l) / (2 * r);
    *h = r;
}

// n Q - S^2 but for 2^-98 of either. True: it is zero, exactly.
__device__ __forceinline__ bool
spread_of(const sums_in_pairs &s, double n, double *h, double *l)
{
    const double p = s.squares * n, p_rest = __fma_rn(s.squares, n, -p);
    const double q = s.sum * s.sum, q_rest = __fma_rn(s.sum, s.sum, -q);
    double rest;
    *h = two_sum(p, -q, &rest);
    *l = rest + (p_rest - q_rest) + (s.squares_rest * n - 2 * s.sum * s.sum_rest);
    return p == q && p_rest == q_rest && s.squares_rest == 0 && s.sum_rest == 0;
}

// Mean, norm or variance; false: it takes exact integers.
__device__ __forceinline__ bool
quick(const sums_in_pairs &s, int fold, int64_t count, double ddof, int dtype, double *result)
{
    const double n = (double)count, d = n - ddof;
    double h = s.sum, l = s.sum_rest;
    if (count <= 0 || count > (int64_t)1 << 52) return false;
    if (fold == WK_MEAN) { // to within 2^-103
        if (h == 0 && l == 0) {
            *result = 0;
            return true;
        }
        if (!(fabs(h) > 0x1p-900 && fabs(h) < 0x1p1000)) return false;
        divide_pair(&h, &l, n);
        return settled(h, l, fabs(h) * 0x1p-100, dtype, result);
    }
    if (s.squares == 0 && s.squares_rest == 0 && (fold == WK_NORM || d > 0)) {
        *result = 0;
        return fold == WK_NORM || fold == WK_VAR || fold == WK_STD;
    }
    // No product may overflow, and no product's rest vanish.
    if (!(s.squares > 0x1p-400 && s.squares < 0x1p800)) return false;
    if (fold == WK_NORM) {
        h = s.squares;
        l = s.squares_rest;
        root_of_pair(&h, &l);
        return settled(h, l, h * 0x1p-98, dtype, result);
    }
    if (fold != WK_VAR && fold != WK_STD) return false;
    if (!(d > 0) || d != floor(d) || d > 0x1p52 || fabs(ddof) > 0x1p52) return false;
    if (s.sum != 0 && !(fabs(s.sum) > 0x1p-300)) return false;
    if (spread_of(s, n, &h, &l)) {
        *result = 0;
        return true;
    }
    h = two_sum(h, l, &l);
    double error = s.squares * n * 0x1p-96; // S^2 is no more than n Q
    if (!(error < h * 0x1p-30)) return false;
    error = error / h; // of the result's size
    divide_pair(&h, &l, n);
    divide_pair(&h, &l, d);
    if (fold == WK_STD) root_of_pair(&h, &l);
    return settled(h, l, h * (error + 0x1p-96), dtype, result);
}

// A sum or a mean; false: it is neither, or takes exact integers.
__device__ __forceinline__ bool
sum_or_mean(const sums_in_pairs &s, int flags, int fold, int64_t count, int dtype,
            double *result)
{
    if ((fold != WK_SUM && fold != WK_MEAN) || count <= 0) return false;
    if (s.sum == 0) {
        *result = flags & WK_NOT_MINUS_ZERO ? 0.0 : -0.0;
        return true;
    }
    if (fold == WK_MEAN) return quick(s, fold, count, 0, dtype, result);
    *result = dtype == WK_F64 ? s.sum : round_to(round_to_odd(s.sum, s.sum_rest), dtype);
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

// What limbs give, which are used up. Only what can be asked of M is compiled.
template <class M>
__device__ __forceinline__ double
by_limbs(wk_moments *all, int fold, double ddof, int dtype)
{
    const wk_format f = wk_format_of((wk_dtype)dtype);
    if constexpr (M::kHasSum)
        if (fold == WK_SUM || fold == WK_MEAN) return wk_finish_sum(all, fold == WK_MEAN, f);
    if constexpr (M::kHasSquares)
        if (fold == WK_SUMSQ || fold == WK_NORM)
            return wk_finish_squares(all, fold == WK_NORM, f);
    if constexpr (M::kHasSum && M::kHasSquares)
        return wk_finish_variance(all, &all->sum, 1, ddof, fold == WK_STD, f);
    return wk_nan(); // not asked for
}

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
    return {by_limbs<M>(&all, fold, ddof, dtype), true};
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
    sums_in_pairs s = {};
    bool pairs = true;
    dtype = real_of(dtype);
    if constexpr (M::kHasSum) pairs = two_doubles(m.sum, &s.sum, &s.sum_rest);
    if constexpr (M::kHasSquares)
        pairs = two_doubles(m.squares, &s.squares, &s.squares_rest) && pairs;
    if (pairs && sum_or_mean(s, m.flags, fold, m.count, dtype, result)) return true;
    if (pairs && fold == WK_SUMSQ) {
        *result = dtype == WK_F64 ? s.squares
                                  : round_to(round_to_odd(s.squares, s.squares_rest), dtype);
        return true;
    }
    if (pairs && quick(s, fold, m.count, ddof, dtype, result)) return true;
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
    return by_limbs<M>(&all, fold, ddof, real_of(dtype));
}

} // namespace wk
