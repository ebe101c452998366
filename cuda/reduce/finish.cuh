// finish.cuh -- from exact sums in two doubles each to results that are rounded once.
//
// A result is computed as a high and a low double, with a bound of what both may be off. Where all
// that lies within the bound is rounded the same way, that is the result; where nothing was rounded on
// the way there is no bound, and ties are told. What cannot be told is computed by integers (wide.cuh).
#pragma once
#include "reduce/doubles.cuh"
#include "reduce/task.cuh"

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

__device__ WK_NOINLINE inline double
round_to_half(double x, int dtype)
{
    const float f = odd_float(x);
    if (dtype == WK_F16) return (double)__half2float(__float2half_rn(f));
    const uint32_t b = wk_bits_f32(f);
    return (double)wk_from_bits_f32((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000u);
}

// x rounded to the dtype's digits; x may be rounded to odd before.
__device__ __forceinline__ double
round_to(double x, int dtype)
{
    if (dtype == WK_F64) return x;
    return dtype == WK_F32 ? (double)(float)x : round_to_half(x, dtype);
}

// high + low, high being their rounded sum, but for `lost` at most.
struct double_pair {
    double high, low, lost;

    __device__ __forceinline__ void add(double x)
    {
        double carry, more;
        high = two_sum(high, x, &carry);
        low = two_sum(low, carry, &more);
        lost += 2 * fabs(more);
        high = two_sum(high, low, &low);
    }
    __device__ __forceinline__ bool is_zero() const
    {
        return high == 0 && lost == 0;
    }
};

template <int K>
__device__ __forceinline__ double_pair
pair_of(const double (&y)[K])
{
    double_pair p = {y[0], 0, 0};
#pragma unroll
    for (int k = 1; k < K; k++) p.add(y[k]);
    return p;
}

struct answer {
    double value;
    bool known;
};

// h + l is the result but for `e`, at most; is it rounded the same way wherever it lies?
__device__ WK_NOINLINE inline answer
settled(double h, double l, double e, int dtype)
{
    h = two_sum(h, l, &l);
    e = 2 * e + fabs(l) * 0x1p-50; // to spare: for what is rounded here
    const double below = l - e, above = l + e;
    if (!(fabs(h) > 0x1p-900 && fabs(h) < 0x1p1000)) return {0, false};
    if (dtype == WK_F64) return {h, h + below == h && h + above == h};
    const double x = round_to(round_to_odd(h, below), dtype);
    return {x, x == round_to(round_to_odd(h, above), dtype)};
}

// One of these sums, rounded; not known: that takes exact integers.
__device__ __forceinline__ answer
rounded(const double_pair &s, int dtype)
{
    if (s.lost != 0) return settled(s.high, s.low, s.lost, dtype);
    return {dtype == WK_F64 ? s.high : round_to(round_to_odd(s.high, s.low), dtype), true};
}

// The pair divided by the integer d, of which `inverse` is the inverse, rounded; what it is off, at
// most, is in `lost`: nothing, if the quotient has no more digits.
__device__ __forceinline__ double_pair
divided(const double_pair &p, double d, double inverse)
{
    double rounded_off, rest;
    const double q = p.high * inverse;
    const double left = two_sum(__fma_rn(-q, d, p.high), p.low, &rounded_off);
    const double more = left * inverse;
    rest = __fma_rn(-more, d, left);
    double_pair r;
    r.high = two_sum(q, more, &r.low);
    r.lost = rest == 0 && rounded_off == 0 ? p.lost * inverse
                                           : fabs(r.high) * 0x1p-98 + p.lost * inverse;
    return r;
}

// The root, likewise.
__device__ __forceinline__ double_pair
root_of(const double_pair &p)
{
    const double r = sqrt(p.high), half = 0.5 / r, left = __fma_rn(-r, r, p.high) + p.low;
    double_pair q;
    q.high = two_sum(r, left * half, &q.low);
    q.lost = left == 0 ? p.lost * half : r * 0x1p-98 + p.lost * half;
    return q;
}

// An exact sum of products: what each addition rounds off is kept, and noted.
struct spread {
    double_pair all = {0, 0, 0};

    __device__ __forceinline__ void add_product(double a,
                                                double b) // exact, where neither is tiny
    {
        const double p = a * b;
        all.add(p);
        all.add(__fma_rn(a, b, -p));
    }
};

template <int kParts>
struct sums_in_pairs {
    double_pair sum[kParts], squares; // of the elements, and of theirs
};

// A mean; `inverse` is that of count, rounded. Not known: it takes exact integers.
__device__ __forceinline__ answer
quick_mean(const double_pair &s, int64_t count, double inverse, int dtype)
{
    const double n = (double)count;
    if (count <= 0 || count > (int64_t)1 << 52) return {0, false};
    if (!(fabs(s.high) > 0x1p-900 && fabs(s.high) < 0x1p1000)) return {0, false};
    return rounded(divided(s, n, inverse), dtype);
}

// n Q - S^2 of all parts, over n (n - ddof), of which `inverse` is the inverse, rounded; its root if
// asked.
template <int kParts>
__device__ __forceinline__ answer
quick_spread(const sums_in_pairs<kParts> &s, int fold, double n, double ddof, double inverse,
             int dtype)
{
    const double d = n - ddof, squares = s.squares.high;
    spread v;
    double error = squares * n * 0x1p-100 + 4 * n * s.squares.lost; // S^2 is no more than n Q
    // No product may overflow, and no product's rest vanish.
    if (!(d > 0) || !(fabs(ddof) < 0x1p52 && ddof == rint(ddof)) ||
        !(squares > 0x1p-400 && squares < 0x1p800))
        return {0, false};
    v.add_product(s.squares.high, n);
    v.add_product(s.squares.low, n);
    bool few_digits = true; // the squares of low parts are not added
#pragma unroll
    for (int p = 0; p < kParts; p++) {
        const double_pair &m = s.sum[p];
        if (m.high != 0 && !(fabs(m.high) > 0x1p-300)) return {0, false};
        v.add_product(-m.high, m.high);
        v.add_product(-2 * m.high, m.low);
        few_digits &= m.low == 0;
        error += 4 * (2 * fabs(m.high) + m.lost) * m.lost;
    }
    const bool exact = few_digits && s.squares.low == 0 && error == squares * n * 0x1p-100;
    double_pair r = v.all;
    r.lost = exact ? r.lost : r.lost + error;
    if (r.high == 0 && r.lost == 0) return {0, true};
    if (!(r.lost < r.high * 0x1p-30)) return {0, false};
    if (n * d < 0x1p53) {
        r = divided(r, n * d, inverse);
    } else {
        r = divided(r, n, 1 / n);
        r = divided(r, d, 1 / d);
    }
    if (fold == WK_STD) r = root_of(r);
    return rounded(r, dtype);
}

// A norm, a variance or its root. Not inlined: else it is computed beside each sum.
template <int kParts>
__device__ WK_NOINLINE answer
quick(const sums_in_pairs<kParts> s, int fold, int64_t count, double ddof, double inverse,
      int dtype)
{
    const double n = (double)count, squares = s.squares.high;
    if (count <= 0 || count > (int64_t)1 << 52) return {0, false};
    if (s.squares.is_zero() && (fold == WK_NORM || n - ddof > 0)) return {0, true};
    if (fold != WK_NORM) return quick_spread(s, fold, n, ddof, inverse, dtype);
    if (!(squares > 0x1p-400 && squares < 0x1p800)) return {0, false};
    return rounded(root_of(s.squares), dtype);
}

// As numpy.nanvar has it: NaN, also where numpy.var is infinite.
__device__ __forceinline__ bool
too_few(const reduce_task &task, int i, int64_t n)
{
    return task.skip_nan && (task.fold[i] == WK_VAR || task.fold[i] == WK_STD) &&
           !((double)n - task.ddof > 0);
}

} // namespace wk
