// results.cuh -- from exact sums, or nearly exact ones, to results that are rounded once.
//
// A result is computed as a high and a low double, with a bound of what both may be off. Where all
// that lies within the bound is rounded the same way, that is the result; where nothing was lost on the
// way there is no bound, and ties are told. What cannot be told takes integers (table.cuh).
//
// What runs once an output, or rarely, is a function of its own, with one copy of machine code for all
// kernels: results.cu.
#pragma once
#include "reduce/production/doubles.cuh"
#include "reduce/production/task.cuh"

namespace wk
{

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
pair_of(const few<K> &y)
{
    double_pair p = {y.s[0], 0, y.lost};
    if constexpr (K > 1) p.high = two_sum(y.s[0], y.s[1], &p.low);
#pragma unroll
    for (int k = 2; k < K; k++) p.add(y.s[k]);
    return p;
}

// The same in three doubles, of which the first two are the pair.
template <int K>
__device__ __forceinline__ few<3>
three_of(const few<K> &y)
{
    few<3> all = {{y.s[0], 0, 0}, y.lost};
#pragma unroll
    for (int k = 1; k < K; k++) {
        double more;
        all.s[0] = two_sum(all.s[0], y.s[k], &more);
        all.s[1] = two_sum(all.s[1], more, &more);
        all.s[0] = two_sum(all.s[0], all.s[1], &all.s[1]);
        all.s[2] = two_sum(all.s[2], more, &more);
        all.lost += fabs(more);
    }
    return all;
}

__device__ __forceinline__ double_pair
pair_of_three(const few<3> &y)
{
    return {y.s[0], y.s[1], y.lost + 2 * fabs(y.s[2])};
}

struct answer {
    double value;
    bool known;
};

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

// x rounded to bfloat16's digits.
__device__ __forceinline__ float
nearest_brain(float x)
{
    const uint32_t b = wk_bits_f32(x);
    return wk_from_bits_f32((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000u);
}

// x rounded to the dtype's digits; x may be rounded to odd before.
__device__ __forceinline__ double
round_to(double x, int dtype)
{
    if (dtype == WK_F64) return x;
    if (dtype == WK_F32) return (double)(float)x;
    const float f = odd_float(x);
    if (dtype == WK_F16) return (double)__half2float(__float2half_rn(f));
    return (double)nearest_brain(f);
}

// h + l is the result but for `e`, at most, l being small; is it rounded the same way wherever it
// lies?
__device__ __forceinline__ answer
settled(double h, double l, double e, int dtype)
{
    e = 2 * e + fabs(l) * 0x1p-50; // to spare: for what is rounded here
    if (!(fabs(h) > 0x1p-900 && fabs(h) < 0x1p1000)) return {0, false};
    if (dtype == WK_F64) {
        const double x = h + (l - e);
        return {x, x == h + (l + e)};
    }
    h = two_sum(h, l, &l);
    const double below = l - e, above = l + e;
    if (e < fabs(h) * 0x1p-54) { // no other double lies between
        const double x = round_to(round_to_odd(h, below), dtype);
        return {x, x == round_to(round_to_odd(h, above), dtype)};
    }
    const double low = h + below, high = h + above;
    const double x = round_to(low - fabs(low) * 0x1p-52, dtype);
    return {x, x == round_to(high + fabs(high) * 0x1p-52, dtype)};
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
    double more = left * inverse; // then rounded as it should be: a tie is told
    more = __fma_rn(__fma_rn(-more, d, left), inverse, more);
    rest = __fma_rn(-more, d, left);
    double_pair r;
    r.high = two_sum(q, more, &r.low);
    // What was lost may be so little that its share would vanish.
    r.lost = rest == 0 && rounded_off == 0 && p.lost == 0
                 ? 0
                 : fabs(r.high) * 0x1p-98 + p.lost * inverse;
    return r;
}

// The root, likewise (divided): what r is off its square is a double, as r is the root's neighbour.
__device__ __forceinline__ double_pair
root_of(const double_pair &p)
{
    const double inverse = rsqrt(p.high), half = 0.5 * inverse, near = p.high * inverse,
                 r = __fma_rn(__fma_rn(-near, near, p.high), half, near),
                 left = __fma_rn(-r, r, p.high) + p.low;
    double_pair q;
    q.high = two_sum(r, left * half, &q.low);
    q.lost = left == 0 && p.lost == 0 ? 0 : r * 0x1p-98 + p.lost * half;
    return q;
}

// The root of a pair that is off by 2^-97 of it at most, rounded to float64.
__device__ __forceinline__ answer
rounded_root(const double_pair &p)
{
    const double inverse = rsqrt(p.high), half = 0.5 * inverse, near = p.high * inverse,
                 r = __fma_rn(__fma_rn(-near, near, p.high), half, near),
                 more = (__fma_rn(-r, r, p.high) + p.low) * half,
                 e = fabs(more) * 0x1p-50 + r * 0x1p-96, x = r + (more - e);
    return {x, x == r + (more + e)};
}

// A sum of squares, but for 2^-98 of it; exact where no number is tiny and nothing was left over.
struct square_sum {
    double high = 0, low = 0;
    bool left = false;

    __device__ __forceinline__ void start(double x)
    {
        high = x * x;
        low = __fma_rn(x, x, -high);
        left = low != 0;
    }
    __device__ __forceinline__ void add(double x)
    {
        const double square = x * x;
        double carry;
        high = two_sum(high, square, &carry);
        carry += __fma_rn(x, x, -square);
        low += carry;
        left |= carry != 0;
    }
    __device__ __forceinline__ void add(double x, double rest) // rest: what was rounded off x
    {
        const double square = x * x;
        double carry;
        high = two_sum(high, square, &carry);
        carry += __fma_rn(2 * x, rest, __fma_rn(x, x, -square));
        low += carry;
        left |= carry != 0 || rest != 0;
    }
};

// a / d, rounded once, of integers that are doubles; `inverse` is the inverse of d, rounded.
// Of a neighbour of the quotient the rest is exact, and one more step rounds it as it should be.
// Source: P. Markstein, "Computation of elementary functions on the IBM RISC System/6000" (1990).
__device__ __forceinline__ double
quotient(double a, double d, double inverse)
{
    double q = a * inverse;
    q = __fma_rn(__fma_rn(-q, d, a), inverse, q);
    return __fma_rn(__fma_rn(-q, d, a), inverse, q);
}

// A mean; `inverse` is that of count, rounded. Not known: it takes exact integers.
__device__ __forceinline__ answer
quick_mean(const double_pair &s, int64_t count, double inverse, int dtype)
{
    const double n = (double)count;
    if (count <= 0 || count > (int64_t)1 << 52) return {0, false};
    if (!(fabs(s.high) > 0x1p-900 && fabs(s.high) < 0x1p1000)) return {0, false};
    return rounded(divided(s, n, inverse), dtype);
}

enum {                      // beside the flags of num/exact.h
    WK_PART_SHIFT = 8,      // those of imaginary parts
    WK_TOO_LARGE = 1 << 16, // elements that no doubles took
    WK_SCALED = 1 << 17     // sums are over 2^kLargeShift, of squares over its square
};

// A part's flag.
__device__ __forceinline__ int
note(int part, int flag)
{
    return part ? flag << WK_PART_SHIFT : flag;
}

// The words of a table (table.cuh): how many elements (where not all count), flags, bounds of what
// was lost, limbs of the sums of each part and of the squares; keys of the least and the largest, how
// many are not zero.
enum { kCount, kFlags, kLostSum, kLostSquares, kLimb };

struct table_shape {
    int pieces, sum_base, sum_limbs, square_limbs;
    bool ends, all;

    __host__ __device__ constexpr int square_base() const
    {
        return 2 * sum_base;
    }
    __host__ __device__ constexpr int sum_at(int part) const
    {
        return kLimb + part * sum_limbs;
    }
    __host__ __device__ constexpr int square_at() const
    {
        return sum_at(pieces);
    }
    __host__ __device__ constexpr int ends_at() const
    {
        return square_at() + square_limbs;
    }
    __host__ __device__ constexpr int all_at() const
    {
        return ends_at() + (ends ? 2 : 0);
    }
    __host__ __device__ constexpr int words() const
    {
        return all_at() + (all ? 1 : 0);
    }
    // Limbs of 32 bits that results take.
    __host__ __device__ constexpr int work() const
    {
        return (pieces ? pieces : 1) * WK_SUM_LIMBS + (square_limbs ? WK_VARIANCE_LIMBS : 0);
    }
};

// Limb i of 24 bits weighs 2^(24 i + base): from the least subnormal, or its square, to the sum of
// 2^63 of the largest.
__host__ __device__ constexpr table_shape
shape_of(bool wide, int pieces, bool squares, bool ends, bool all)
{
    return {pieces,
            wide ? -1074 : -149,
            pieces == 0 ? 0
            : wide      ? 92
                        : 15,
            !squares ? 0
            : wide   ? 178
                     : 26,
            ends,
            all};
}

// What is known of an output of floats. Sums of numbers that doubles do not take as they are, or not their
// squares, are to be taken times powers of two, that of squares an even one.
struct float_outcome {
    double_pair sum[2], squares; // of real and imaginary parts
    few<3> sums[2], all_squares; // the same
    bool in_three = false;       // these are there
    int shift[2] = {0, 0}, square_shift = 0;
    uint64_t ends[2]; // keys
    int64_t nonzeros, n;
    int flags;
    bool sums_only = false; // the others have been stored

    __device__ __forceinline__ bool is_shifted() const
    {
        return (shift[0] | shift[1] | square_shift) != 0;
    }
};

// A result of few digits: of float16 it is rounded when it is stored.
struct near_answer {
    float value;
    bool known;
};

// What a double, off by no more than e, rounds to in fewer digits: nearly always told. Of halves by the float
// next to it, which lies within one of its units of all that x may be: unless that is a tie, all are rounded
// as it is. e is zero where x is exact.
template <int kDtype>
__device__ __forceinline__ near_answer
settled_near(double x, double e)
{
    const double size = fabs(x);
    if constexpr (kDtype == WK_F32) {
        if (e != 0) e += size * 0x1p-50; // or it would vanish
        const float low = (float)(x - e);
        // Far from the ends of the dtype's range, and of float64's.
        return {low, low == (float)(x + e) && (e == 0 || (size > 0x1p-120 && size < 0x1p120))};
    } else {
        constexpr uint32_t kRest = kDtype == WK_F16 ? 0x1fff : 0xffff; // bits that are dropped
        constexpr double kLeast = kDtype == WK_F16 ? 0x1p-14 : 0x1p-120;
        float f = (float)x;
        bool known = (wk_bits_f32(f) & kRest) != kRest / 2 + 1 && size >= kLeast &&
                     size < 0x1p120 && e <= size * 0x1p-26;
        if (!known && e == 0) {
            f = odd_float(x);
            known = true;
        }
        if constexpr (kDtype == WK_F16)
            return {f, known};
        else
            return {nearest_brain(f), known};
    }
}

// What a mean and a variance divide by: of an output whose elements all count, or of one of so many.
struct population {
    int64_t n;
    double number, inverse, inverse_spread; // n, and the inverses of it, and of n (n - ddof)
    double spread;                          // n (n - ddof), if that is an integer; else zero
    float near_number, near_inverse_spread;

    __device__ __forceinline__ explicit population(const reduce_task &task)
        : n(task.n), number(task.number), inverse(task.inverse),
          inverse_spread(task.inverse_spread), spread(task.spread),
          near_number(task.near_number), near_inverse_spread(task.near_inverse_spread)
    {
    }
};

// The latter; results.cu.
__device__ population population_of(int64_t count, const reduce_task &task);

template <int kDtype>
__device__ __forceinline__ near_answer
near_sum(const double_pair &s, bool mean, const population &of)
{
    double x = s.high, e = fabs(s.low) + s.lost;
    if (mean) {
        x *= of.inverse;
        const bool exact = e == 0 && __fma_rn(-x, of.number, s.high) == 0;
        e = exact ? 0 : e * of.inverse + fabs(x) * 0x1p-50;
    }
    return settled_near<kDtype>(x, e);
}

// A sum or a mean of all elements, of which there are some, in their own dtype. False: it takes more.
template <int kDtype>
__device__ __forceinline__ bool
finish_plain(const double_pair &s, int flags, const reduce_task &task, const population &of,
             int64_t output)
{
    const bool mean = task.fold[0] == WK_MEAN;
    if (flags & (WK_IS_ODD | WK_TOO_LARGE)) {
        if (flags & WK_TOO_LARGE) return false;
        store_as<kDtype>(task.out[0], output, wk_odd_sum(flags));
        return true;
    }
    if (s.is_zero()) {
        store_as<kDtype>(task.out[0], output, flags & WK_NOT_MINUS_ZERO ? 0.0 : -0.0);
        return true;
    }
    if constexpr (kDtype == WK_F64) {
        const answer a = mean ? quick_mean(s, of.n, of.inverse, kDtype) : rounded(s, kDtype);
        if (a.known) store_as<kDtype>(task.out[0], output, a.value);
        return a.known;
    } else {
        const near_answer a = near_sum<kDtype>(s, mean, of);
        if (a.known) store_float<kDtype>(task.out[0], output, a.value);
        return a.known;
    }
}

// A sum of squares, a norm, a variance or its root of all elements of a dtype of few digits, from the first doubles
// alone: nearly always enough. Else what is not known is computed in pairs.
template <int kDtype>
__device__ __forceinline__ near_answer
quick_plain(const double_pair &sum, const double_pair &squares, const population &of, int fold)
{
    constexpr double kUnit = 0x1p-50; // of all that is rounded here, to spare
    const double q = squares.high, s = sum.high;
    double x = q, e = q * kUnit + squares.lost;
    if (is_spread(fold)) {
        const double n = of.number, scale = of.inverse_spread;
        x = __fma_rn(n, q, -s * s) * scale;
        // S^2 is no more than n Q
        e = (n * q * (2 * kUnit) + 4 * n * squares.lost + 8 * fabs(s) * sum.lost) * scale;
        if (!(scale > 0)) return {0, false};
    }
    if (!(e < x * 0x1p-26)) return {0, false};
    if (is_root(fold)) {
        const double inverse = rsqrt(x); // but for some units in its last place
        x *= inverse;
        e = e * inverse + x * kUnit;
    }
    return settled_near<kDtype>(x, e);
}

// Is all from low to high rounded the same way in the dtype's digits? Of float16 the value is rounded
// when it is stored.
template <int kDtype, typename F>
__device__ __forceinline__ near_answer
settled_between(F low, F high)
{
    if constexpr (kDtype == WK_F32) {
        return {(float)low, (float)low == (float)high};
    } else {
        float a, b;
        if constexpr (sizeof(F) == 8)
            a = odd_float(low), b = odd_float(high);
        else
            a = low, b = high;
        if constexpr (kDtype == WK_F16)
            return {a, __half_as_ushort(__float2half_rn(a)) ==
                           __half_as_ushort(__float2half_rn(b))};
        const float value = nearest_brain(a);
        return {value, value == nearest_brain(b)};
    }
}

__device__ __forceinline__ float
inverse_root(float x)
{
    return rsqrtf(x);
}

__device__ __forceinline__ double
inverse_root(double x)
{
    return rsqrt(x);
}

// The sum of a batch and that of its squares, in float or in double, and the results that these tell:
// floats nearly always, where a result has few digits, and a mean is not much more than the spread.
// Bound     u is half a unit in the last place. Of the sum of n numbers, added one by one, at most n u of
//           the magnitudes' sum is lost, which is no more than the root of n Q; of the squares' sum as
//           much of Q. n Q - S^2 is off by 3 n u of n Q, and 4 u of that are rounded off later: off is (n
//           + 2) u. Of N numbers, added two at a time, (N / 2 + 1) u are lost.
template <typename F, int kDtype>
struct batch_sums {
    static constexpr bool kWide = sizeof(F) == 8;
    static constexpr F kUnit = kWide ? (F)0x1p-53 : (F)0x1p-24;
    F sum, squares, off;

    __device__ __forceinline__ batch_sums(F s, F q, F o) : sum(s), squares(q), off(o) {}
    template <typename X, int N>
    __device__ __forceinline__ explicit batch_sums(const X (&x)[N])
        : off((F)(N / 2 + 3) * kUnit)
    {
        static_assert(N == 1 || N % 2 == 0, "as many on either side");
        F s[2] = {0, 0}, q[2] = {0, 0};
#pragma unroll
        for (int j = 0; j < N; j++) {
            s[j % 2] += (F)x[j];
            q[j % 2] = fma_rn((F)x[j], (F)x[j], q[j % 2]);
        }
        sum = s[0] + s[1];
        squares = q[0] + q[1];
    }
    // No square was too small or too large, and no number infinite.
    __device__ __forceinline__ bool in_range() const
    {
        return squares > (F)(kWide ? 0x1p-300 : 0x1p-80) &&
               squares < (F)(kWide ? 0x1p300 : 0x1p120);
    }
    // y, off by no more than e, or its root, if asked: the inverse of that is off by four units.
    static __device__ __forceinline__ near_answer settle(F y, F e, bool root)
    {
        const bool known = e < y * (F)0x1p-3 && y > (F)(kWide ? 0x1p-400 : 0x1p-100);
        if (root) {
            const F inverse = inverse_root(y);
            y *= inverse;
            e = e * inverse * (F)0.5625 + y * (8 * kUnit);
        }
        const near_answer a = settled_between<kDtype>(y - e, y + e);
        return {a.value, a.known && known};
    }
    // A sum of squares, a norm, a variance or its root.
    __device__ __forceinline__ near_answer moment(const population &of, int fold) const
    {
        F y = squares, e = squares * off;
        bool known = in_range();
        if (is_spread(fold)) {
            const F n = kWide ? (F)of.number : (F)of.near_number,
                    scale = kWide ? (F)of.inverse_spread : (F)of.near_inverse_spread;
            y = fma_rn(n, squares, -(sum * sum)) * scale;
            e = n * squares * scale * (4 * off);
            known &= scale > 0;
        }
        near_answer a = settle(y, e, is_root(fold));
        a.known &= known;
        if constexpr (kWide)
            if (squares == 0 && (!is_spread(fold) || of.spread > 0)) a = {0, true};
        return a;
    }
};

// The sum of squares, the norm, the variance or its root of elements of a real dtype of few digits, `pitch` apart, where sums of floats,
// or of numbers far from zero, do not tell it: also a tie. By a thread, or by 32 lanes, of which each has it then. results.cu
__device__ near_answer moment_of_column(const void *elements, int64_t pitch, int dtype,
                                        const reduce_task &task, bool only_exact, int lanes);
// The same of float64.
__device__ answer moment_of_wide_column(const double *elements, int64_t pitch,
                                        const reduce_task &task, int lanes);

// An exact sum of products: what each addition rounds off is kept, and noted.
__device__ __forceinline__ void
add_product(double_pair *all, double a, double b) // exact, where neither is tiny
{
    const double p = a * b;
    all->add(p);
    all->add(__fma_rn(a, b, -p));
}

// n Q - S^2 of all parts. False: it is not known well enough.
__device__ __forceinline__ bool
spread_of(const double_pair *sum, int parts, const double_pair &squares, double n,
          double_pair *spread)
{
    double_pair r = {0, 0, 0};
    double error =
        squares.high * n * 0x1p-100 + 4 * n * squares.lost; // S^2 is no more than n Q
    // No product may overflow, and no product's rest vanish.
    if (!(squares.high > 0x1p-400 && squares.high < 0x1p900)) return false;
    add_product(&r, squares.high, n);
    add_product(&r, squares.low, n);
    bool exact = squares.lost == 0; // the squares of low parts are not added, nor what was lost
#pragma unroll 1
    for (int p = 0; p < parts; p++) {
        const double_pair &m = sum[p];
        if (fabs(m.high) > 0x1p-300) {
            add_product(&r, -m.high, m.high);
            add_product(&r, -2 * m.high, m.low);
        } else if (m.high != 0) { // its square is less than 2^-600
            error += 0x1p-590;
            exact = false;
        }
        exact &= m.low == 0 && m.lost == 0;
        error += 4 * (2 * fabs(m.high) + m.lost) * m.lost;
    }
    if (!exact) r.lost += error;
    *spread = r;
    return r.is_zero() || r.lost < r.high * 0x1p-30;
}

// A sum of squares, a norm, a variance or its root of all elements, in float64.
template <bool kSpread>
__device__ __forceinline__ answer
quick_wide(const double_pair &sum, const double_pair &squares, const population &of, int fold)
{
    double_pair r = squares;
    if (!(r.high > 0x1p-400 && r.high < 0x1p900)) return {0, false};
    if (is_spread(fold)) {
        if constexpr (!kSpread) return {0, false};
        if (!(of.spread > 0) || !spread_of(&sum, 1, squares, of.number, &r) || r.is_zero())
            return {0, false};
        r = divided(r, of.spread, of.inverse_spread);
    }
    if (is_root(fold)) r = root_of(r);
    return rounded(r, WK_F64);
}

// One result in the elements' own dtype; kSpread: there are sums beside squares. False: it takes all of
// finish_floats.
template <int kDtype, bool kSpread = true>
__device__ __forceinline__ bool
finish_one(const double_pair &sum, const double_pair &squares, int flags,
           const reduce_task &task, const population &of, int64_t output)
{
    const int fold = task.fold[0];
    if (fold == WK_SUM || fold == WK_MEAN)
        return finish_plain<kDtype>(sum, flags, task, of, output);
    if (flags & (WK_IS_ODD | WK_TOO_LARGE)) return false;
    if constexpr (kDtype == WK_F64) {
        const answer a = quick_wide<kSpread>(sum, squares, of, fold);
        if (a.known) store_as<kDtype>(task.out[0], output, a.value);
        return a.known;
    } else {
        const near_answer a = quick_plain<kDtype>(sum, squares, of, fold);
        if (a.known) store_float<kDtype>(task.out[0], output, a.value);
        return a.known;
    }
}

// The sum of N doubles: exact of two, else but for `lost`; `minus`: all are -0.0.
template <int N>
__device__ __forceinline__ double_pair
sum_of(const double (&x)[N], bool *minus)
{
    double_pair p = {x[0], 0, 0};
    if constexpr (N > 1) p.high = two_sum(p.high, x[1], &p.low);
#pragma unroll
    for (int j = 2; j < N; j++) {
        double carry, more;
        p.high = two_sum(p.high, x[j], &carry);
        p.low = two_sum(p.low, carry, &more);
        p.lost += fabs(more);
    }
    *minus = wk_bits_f64(p.high) == 1ull << 63;
    p.high = two_sum(p.high, p.low, &p.low);
    return p;
}

// Calls element(j) for each of N, or difference(i, j) for each two of the first n, whose squares' sum is
// n Q - S^2: nothing is cancelled.
template <int N, class X, class D>
__device__ __forceinline__ void
each_of_few(int n, bool differences, X &&element, D &&difference)
{
    if (differences) {
#pragma unroll
        for (int i = 0; i < N; i++) {
#pragma unroll
            for (int j = i + 1; j < N; j++) {
                if (j >= n) break;
                difference(i, j);
            }
        }
    } else {
#pragma unroll
        for (int j = 0; j < N; j++) element(j);
    }
}

// As a pair; what is off is in `lost`, INFINITY where it is not known.
__device__ __forceinline__ double_pair
pair_of(const square_sum &all, bool wide)
{
    double_pair r;
    r.high = all.high + all.low; // the larger one first: three operations
    r.low = all.low - (r.high - all.high);
    r.lost = all.left || wide ? r.high * 0x1p-98 : 0;
    // No product may overflow, and no product's rest matter that vanishes.
    if (!(r.high > 0x1p-400 && r.high < 0x1p800)) r.lost = r.high == 0 ? 0 : INFINITY;
    return r;
}

// Of the first n of x, which others follow that are -0.0.
template <int N>
__device__ __forceinline__ double_pair
squares_of_few(const double (&x)[N], int n, bool differences, bool wide)
{
    square_sum all;
    each_of_few<N>(
        n, differences, [&](int j) { j ? all.add(x[j]) : all.start(x[0]); },
        [&](int i, int j) {
            double rest;
            const double apart = two_sum(x[j], -x[i], &rest);
            all.add(apart, rest);
        });
    double_pair r = pair_of(all, wide);
    if (r.high == 0) { // the squares of tiny ones, too
        bool some = false;
#pragma unroll
        for (int j = 0; j < N; j++) some |= differences ? j < n && x[j] != x[0] : x[j] != 0;
        if (some) r.lost = INFINITY;
    }
    return r;
}

// The sum of squares, the norm, the variance or its root in float64, of squares of elements or of differences.
__device__ __forceinline__ answer
answer_of_squares(double_pair r, bool spread, const reduce_task &task)
{
    const int fold = task.fold[0];
    if (!(r.lost < INFINITY)) return {0, false};
    if (r.high == 0) return {0, true};
    if (spread) r = divided(r, task.spread, task.inverse_spread);
    if (is_root(fold)) r = root_of(r);
    return rounded(r, WK_F64);
}

// The same of a few doubles, of elements of so many parts; kSpread: a variance may be asked for.
template <int kParts, bool kSpread, int N>
__device__ __forceinline__ answer
answer_of_few(const double (&x)[N], const reduce_task &task)
{
    const int fold = task.fold[0];
    const bool spread = kSpread && is_spread(fold);
    if (!is_moment(fold) || (is_spread(fold) && !(spread && task.spread > 0)))
        return {0, false};
    const int n = kParts * (int)task.n;
    if constexpr (kSpread && kParts == 1 && N > 1) {
        if (fold == WK_STD && n == 2 && task.spread == 4) { // half of a distance: often a tie
            const double half = fabs(x[0] - x[1]) * 0.5;
            return {half, half == 0 || (half > 0x1p-900 && half < 0x1p900)};
        }
    }
    double_pair squares;
    if constexpr (N > 2) {
        const double pair[2] = {x[0], x[1]}; // in half of the time
        squares =
            n <= 2 ? squares_of_few(pair, n, spread, true) : squares_of_few(x, n, spread, true);
    } else {
        squares = squares_of_few(x, n, spread, true);
    }
    if (spread && n < 2) return {0, false}; // one element differs from none, not even NaN
    if (kSpread || fold != WK_NORM) return answer_of_squares(squares, spread, task);
    if (squares.high == 0 || !(squares.lost < INFINITY)) return {0, squares.lost == 0};
    return rounded_root(squares);
}

// Stores a result of the elements' own dtype, if it is known.
template <int kDtype, typename A>
__device__ __forceinline__ bool
store_answer(const A &a, const reduce_task &task, int64_t at)
{
    if constexpr (std::is_same_v<A, answer>) {
        if (a.known) static_cast<double *>(task.out[0])[at] = a.value;
    } else {
        if (a.known) store_float<kDtype>(task.out[0], at, a.value);
    }
    return a.known;
}

// All results of an output of up to four floats, which the others follow that are -0.0. False: what
// takes more has not been stored.
constexpr int kFew = 4;
__device__ bool finish_few(double a, double b, double c, double d, const reduce_task &task,
                           int64_t output);

// All results of an output. False: integers tell those that are not stored.
__device__ bool finish_floats(const float_outcome &o, const reduce_task &task, int64_t output);

// Results of the least and the largest of elements of the dtype, by their keys.
__device__ void finish_ends(int fold, uint64_t least, uint64_t most, int dtype,
                            const reduce_task &task, int i, int64_t output);

// Keys from a table's words, of which a larger one is further out, and zero is nothing.
__device__ void keys_of_rising(int dtype, const unsigned long long *words, uint64_t *keys);

// What is known of an output of integers: words of 64 bits, the lowest first.
struct integer_outcome {
    uint64_t sum[2], squares[3], ends[2];
    int64_t nonzeros, n;
    int bias; // k: sums are of elements less 2^k; 0: of the elements
};

// The sum of n elements y, and that of their squares, become those of y + 2^k; k is not zero. What lies
// behind a pointer would be kept in memory.
__device__ __forceinline__ unsigned __int128
sum_with_bias(uint64_t low, uint64_t high, int64_t n, int k)
{
    return ((unsigned __int128)high << 64 | low) + ((unsigned __int128)(uint64_t)n << k);
}

__device__ __forceinline__ void
add_bias_to_squares(uint64_t (&squares)[3], uint64_t low, uint64_t high, int64_t n, int k)
{
    // (y + b)^2 = y^2 + b (2 y + b)
    const unsigned __int128 more =
        2 * ((unsigned __int128)high << 64 | low) + ((unsigned __int128)(uint64_t)n << k);
    const auto first = (uint64_t)more, next = (uint64_t)(more >> 64);
    const uint64_t words[3] = {first << k, next << k | first >> (64 - k),
                               (uint64_t)((int64_t)next >> (64 - k))};
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const uint64_t with = words[i] + carry;
        carry = with < carry;
        carry += (squares[i] += with) < with;
    }
}

__device__ void finish_integers(const integer_outcome &o, const reduce_task &task,
                                int64_t output);

// One result of all elements, a float64: a mean, or moments of sums that are doubles; all is exact until
// it is divided. False: it takes more.
__device__ __forceinline__ bool
finish_short(const integer_outcome &o, const reduce_task &task, int64_t output)
{
    constexpr uint64_t kMost = (uint64_t)1 << 53;
    const int fold = task.fold[0];
    uint64_t low = o.sum[0], high = o.sum[1], square = o.squares[0];
    const auto n = (uint64_t)task.n;
    if (!task.in_double) return false;
    if (o.bias && fold == WK_MEAN) {
        const unsigned __int128 all = sum_with_bias(low, high, task.n, o.bias);
        low = (uint64_t)all;
        high = (uint64_t)(all >> 64);
    }
    const auto sum = (int64_t)low;
    const uint64_t size = sum < 0 ? -low : low;
    if (size >= kMost || (int64_t)high != sum >> 63) {
        if (fold != WK_MEAN) return false;
        double_pair p = {0, 0, 0}; // its parts lie apart
        p.high = two_sum((double)(int64_t)high * 0x1p64, (double)(uint32_t)(low >> 32) * 0x1p32,
                         &p.low);
        p.add((double)(uint32_t)low);
        const answer a = quick_mean(p, task.n, task.inverse, WK_F64);
        if (a.known) static_cast<double *>(task.out[0])[output] = a.value;
        return a.known;
    }
    double x = (double)sum;
    if (fold == WK_MEAN) {
        x = quotient(x, (double)task.n, task.inverse);
    } else {
        if (o.bias && fold == WK_NORM) { // of elements of one or two bytes a word holds all
            if (o.bias > 15 || n >> 31) return false;
            square += (2 * low + (n << o.bias)) << o.bias;
        }
        if (square >= kMost || o.squares[1] != 0 || o.squares[2] != 0) return false;
        if (fold == WK_NORM) {
            x = sqrt((double)(int64_t)square);
        } else if (fold == WK_VAR || fold == WK_STD) {
            const uint64_t all = n * square - size * size; // S^2 is no more than n Q
            if (n >= kMost >> 20 || square >= kMost / n || !(task.spread > 0)) return false;
            x = quotient((double)(int64_t)all, task.spread, task.inverse_spread);
            if (fold == WK_STD && all != 0) {
                if (task.spread == 4) return false; // may be a tie
                const double_pair whole = {(double)(int64_t)all, 0, 0};
                const answer a =
                    rounded(root_of(divided(whole, task.spread, task.inverse_spread)), WK_F64);
                if (!a.known) return false;
                x = a.value;
            }
        } else {
            return false;
        }
    }
    static_cast<double *>(task.out[0])[output] = x;
    return true;
}

} // namespace wk
