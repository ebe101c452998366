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

// high + low, high being their rounded sum, but for `lost` at most.
struct double_pair {
    double high, low, lost;
};

template <int K>
__device__ __forceinline__ double_pair
pair_of(const double (&y)[K])
{
    double h = y[0], l = 0, lost = 0;
#pragma unroll
    for (int k = 1; k < K; k++) {
        double carry, more;
        h = two_sum(h, y[k], &carry);
        l = two_sum(l, carry, &more);
        lost += fabs(more);
        h = two_sum(h, l, &l);
    }
    return {h, l, 2 * lost};
}

// ---- results from sums in two doubles each, where one rounding can be told from them ----------

struct sums_in_pairs {
    double_pair sum, squares; // of the elements, and of theirs
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

// h + l divided by d, of which `inverse` is the inverse, rounded; to within 2^-100. True: exactly.
__device__ __forceinline__ bool
divide_pair(double *h, double *l, double d, double inverse)
{
    const double q = *h * inverse, rest = __fma_rn(-q, d, *h);
    const bool exact = rest == 0 && *l == 0;
    *l = (rest + *l) * inverse;
    *h = q;
    return exact;
}

// The root, to within 2^-100, of h + l; that of an error e of it is e `scale`.
__device__ __forceinline__ void
root_of_pair(double *h, double *l, double *scale)
{
    const double r = sqrt(*h);
    *scale = 0.5 / r;
    *l = (__fma_rn(-r, r, *h) + *l) * *scale;
    *h = r;
}

// n Q - S^2 but for 2^-98 of either and what the pairs have lost. True: it is zero, exactly.
__device__ __forceinline__ bool
spread_of(const sums_in_pairs &s, double n, double *h, double *l)
{
    const double_pair a = s.sum, b = s.squares;
    const double p = b.high * n, p_rest = __fma_rn(b.high, n, -p);
    const double q = a.high * a.high, q_rest = __fma_rn(a.high, a.high, -q);
    double rest;
    *h = two_sum(p, -q, &rest);
    *l = rest + (p_rest - q_rest) + (b.low * n - 2 * a.high * a.low);
    return p == q && p_rest == q_rest && b.low == 0 && a.low == 0 && b.lost + a.lost == 0;
}

struct answer {
    double value;
    bool known;
};

__device__ __forceinline__ answer
settled_answer(double h, double l, double e, int dtype)
{
    answer a;
    a.known = settled(h, l, e, dtype, &a.value);
    return a;
}

// Mean, norm or variance; not known: it takes exact integers. Not inlined: else it is computed
// beside each sum.
__device__ WK_NOINLINE inline answer
quick(const sums_in_pairs s, int fold, int64_t count, double ddof, int dtype)
{
    const double n = (double)count, d = n - ddof, squares = s.squares.high;
    double h = s.sum.high, l = s.sum.low, scale = 1;
    if (count <= 0 || count > (int64_t)1 << 52) return {0, false};
    if (fold == WK_MEAN) {
        const double inverse = 1 / n;
        if (h == 0 && s.sum.lost == 0) return {0, true};
        if (!(fabs(h) > 0x1p-900 && fabs(h) < 0x1p1000)) return {0, false};
        if (divide_pair(&h, &l, n, inverse) && s.sum.lost == 0) // half-way, often
            return {round_to(h, dtype), true};
        return settled_answer(h, l, fabs(h) * 0x1p-98 + 2 * s.sum.lost * inverse, dtype);
    }
    if (squares == 0 && s.squares.lost == 0 && (fold == WK_NORM || d > 0))
        return {0, fold == WK_NORM || fold == WK_VAR || fold == WK_STD};
    // No product may overflow, and no product's rest vanish.
    if (!(squares > 0x1p-400 && squares < 0x1p800)) return {0, false};
    if (fold == WK_NORM) {
        h = squares;
        l = s.squares.low;
        root_of_pair(&h, &l, &scale);
        return settled_answer(h, l, h * 0x1p-98 + 2 * s.squares.lost * scale, dtype);
    }
    if (fold != WK_VAR && fold != WK_STD) return {0, false};
    if (!(d > 0) || d != floor(d) || d > 0x1p52 || fabs(ddof) > 0x1p52) return {0, false};
    if (h != 0 && !(fabs(h) > 0x1p-300)) return {0, false};
    double error = squares * n * 0x1p-96 + // S^2 is no more than n Q
                   4 * (n * s.squares.lost + (2 * fabs(h) + s.sum.lost) * s.sum.lost);
    if (spread_of(s, n, &h, &l)) return {0, true};
    h = two_sum(h, l, &l);
    if (!(error < h * 0x1p-30)) return {0, false};
    if (n * d < 0x1p53) {
        const double inverse = 1 / (n * d);
        divide_pair(&h, &l, n * d, inverse);
        error *= inverse;
    } else {
        divide_pair(&h, &l, n, 1 / n);
        divide_pair(&h, &l, d, 1 / d);
        error = error / n / d;
    }
    if (fold == WK_STD) root_of_pair(&h, &l, &scale);
    return settled_answer(h, l, h * 0x1p-95 + 2 * error * scale, dtype);
}

// One of these sums, rounded; false: that takes exact integers.
__device__ __forceinline__ bool
rounded(const double_pair &s, int dtype, double *result)
{
    if (s.lost != 0) return settled(s.high, s.low, s.lost, dtype, result);
    *result = dtype == WK_F64 ? s.high : round_to(round_to_odd(s.high, s.low), dtype);
    return true;
}

// A sum or a mean; false: it is neither, or takes exact integers.
__device__ __forceinline__ bool
sum_or_mean(const sums_in_pairs &s, int flags, int fold, int64_t count, int dtype,
            double *result)
{
    if ((fold != WK_SUM && fold != WK_MEAN) || count <= 0) return false;
    if (s.sum.high == 0 && s.sum.lost == 0) {
        *result = flags & WK_NOT_MINUS_ZERO ? 0.0 : -0.0;
        return true;
    }
    if (fold == WK_MEAN) {
        const answer a = quick(s, fold, count, 0, dtype);
        *result = a.value;
        return a.known;
    }
    return rounded(s.sum, dtype, result);
}

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

// The exponents of the first bit of K numbers and of the last that any may have.
struct digits_of {
    int first = -1075, last = 1024;

    template <class X>
    __device__ void look(const X &x)
    {
        for (int k = 0; k < x.kDoubles; k++) {
            if (x.s[k] == 0) continue;
            const int e = exponent_of(x.s[k]);
            first = e > first ? e : first;
            last = e - 52 < last ? e - 52 : last;
        }
        if (last < -1074) last = -1074;
    }
};

// A result of sums and squares, by a few limbs that hang from the last digit; false if they do not
// reach far enough. Not inlined, and by value: the caller's stay in registers.
template <class M>
__device__ WK_NOINLINE inline answer
by_few_limbs(M m, int fold, double ddof, int dtype)
{
    int64_t s[kFewSum] = {}, q[kFewSquares + 4] = {};
    digits_of a, b;
    if constexpr (M::kHasSum) a.look(m.sum);
    if constexpr (M::kHasSquares) b.look(m.squares);
    const int half = b.last >> 1, base = a.last < half ? a.last : half;
    // an addition touches three limbs
    if (M::kHasSum && a.first - base > 32 * (kFewSum - 3)) return {0, false};
    if (M::kHasSquares && b.first - 2 * base > 32 * (kFewSquares - 3)) return {0, false};
    if (M::kHasSum && M::kHasSquares && 2 * ((a.first - base) / 32 + 1) > kFewSquares)
        return {0, false};
    wk_moments all = {{s, kFewSum, base}, {q, kFewSquares, 2 * base}, m.flags, m.count};
    if constexpr (M::kHasSum)
        for (int k = 0; k < M::kS; k++) wk_limbs_add_f64(&all.sum, m.sum.s[k]);
    if constexpr (M::kHasSquares)
        for (int k = 0; k < M::kQ; k++) wk_limbs_add_f64(&all.squares, m.squares.s[k]);
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
    constexpr int kOdd = WK_HAS_NAN | WK_HAS_INF | WK_HAS_MINUS_INF;
    sums_in_pairs s = {};
    dtype = real_of(dtype);
    if (!(m.flags & kOdd)) {
        if constexpr (M::kHasSum) s.sum = pair_of(m.sum.s);
        if constexpr (M::kHasSquares) s.squares = pair_of(m.squares.s);
        if (M::kHasSum && sum_or_mean(s, m.flags, fold, m.count, dtype, result)) return true;
        if (M::kHasSquares && fold == WK_SUMSQ && rounded(s.squares, dtype, result))
            return true;
        if (M::kHasSquares && fold != WK_SUM && fold != WK_MEAN && fold != WK_SUMSQ) {
            const answer a = quick(s, fold, m.count, ddof, dtype);
            *result = a.value;
            if (a.known) return true;
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
    return by_limbs<M>(&all, fold, ddof, real_of(dtype));
}

} // namespace wk
