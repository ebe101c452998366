// reduce / exact, means and variances of integers, and all their results in one pass.
//
// What is called once an output is a function here, beside its kernels, and not in results.cu: with few registers
// a function keeps its caller's in memory, of which the L2 has more to take than of the elements. H200, 256 MiB of
// 16 x n along axis 0, std: int32 320 us -> 209, (min, max, mean, std) of uint8 1,232 us -> 890.
#include "reduce/production/exact.cuh"

namespace wk
{

// A number of 128 bits, as two doubles.
static __device__ __forceinline__ double_pair
pair_of(unsigned __int128 x)
{
    // The first is zero, or above the second.
    const double a = (double)(int64_t)(x >> 75) * 0x1p75,
                 b = (double)(int64_t)((uint64_t)(x >> 22) & ((1ull << 53) - 1)) * 0x1p22,
                 c = (double)(int)((uint32_t)x & ((1u << 22) - 1));
    double_pair p;
    double more;
    p.high = a + b;
    p.low = two_sum(b - (p.high - a), c, &more);
    p.lost = 2 * fabs(more);
    p.high = two_sum(p.high, p.low, &p.low);
    return p;
}

// The upper 128 bits of a number, all of it over 2^shift, which is even; `cut`: but for less than one.
struct upper_bits {
    unsigned __int128 x;
    int shift;
    bool cut;
};

static __device__ __forceinline__ upper_bits
upper_of(uint64_t d, uint64_t c, uint64_t b, uint64_t a) // words from the lowest on
{
    if ((a | b) == 0) return {(unsigned __int128)c << 64 | d, 0, false};
    int shift = 128;
    if (a == 0) {
        a = b;
        b = c;
        c = d;
        d = 0;
        shift = 64;
    }
    const int up = __clzll((long long)a) & ~1;
    if (up) {
        a = a << up | b >> (64 - up);
        b = b << up | c >> (64 - up);
        c <<= up;
    }
    return {(unsigned __int128)a << 64 | b, shift - up, (c | d) != 0};
}

// n Q - S^2, S being a magnitude; without kWide it takes no more than two words.
template <bool kWide>
static __device__ __forceinline__ upper_bits
spread_of_words(uint32_t n, const uint64_t (&q)[3], uint64_t s, uint64_t s_high)
{
    using wide = unsigned __int128;
    const wide first = (wide)n * q[0], second = (wide)n * q[1] + (uint64_t)(first >> 64);
    if (!kWide || (s_high | q[2] | (uint64_t)(second >> 64)) == 0)
        return {(second << 64 | (uint64_t)first) - (wide)s * s, 0, false};
    const wide third = (wide)n * q[2] + (uint64_t)(second >> 64), square = (wide)s * s,
               cross = (wide)s * s_high, top = (wide)s_high * s_high;
    // The square's words from the second on: less than 2^64 each are added.
    const wide s1 = (wide)(uint64_t)(square >> 64) + 2 * (wide)(uint64_t)cross,
               s2 = (wide)(uint64_t)top + 2 * (wide)(uint64_t)(cross >> 64) + (s1 >> 64),
               s3 = (top >> 64) + (s2 >> 64);
    uint64_t w[4] = {(uint64_t)first, (uint64_t)second, (uint64_t)third,
                     (uint64_t)(third >> 64)};
    const uint64_t off[4] = {(uint64_t)square, (uint64_t)s1, (uint64_t)s2, (uint64_t)s3};
    uint64_t borrow = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint64_t less = w[i] - off[i], rest = less - borrow;
        borrow = (w[i] < off[i]) | (less < borrow);
        w[i] = rest;
    }
    return upper_of(w[0], w[1], w[2], w[3]);
}

// A mean's magnitude, a norm, a variance or its root; all is exact, but for what was cut, until it is divided
// by d, of which `inverse` is the inverse, rounded.
static __device__ __forceinline__ answer
short_moment(const upper_bits &of, double d, double inverse, int fold, int dtype)
{
    const unsigned __int128 x = of.x;
    const bool root = is_root(fold);
    // A root that may be an integer, or its half, and a tie.
    const bool whole = fold == WK_NORM || (fold == WK_STD && d == 4);
    if (x == 0) return {0, true};
    double_pair r;
    if (x >> 53 == 0) {
        r = {(double)(int64_t)x, 0, 0};
        if (dtype == WK_F64 && !root) return {quotient(r.high, d, inverse), true};
    } else {
        r = pair_of(x);
    }
    if (of.cut) r.lost += 1;
    if (!whole) r = divided(r, d, inverse);
    if (root) r = root_of(r);
    if (whole && x >> 106 != 0 && of.shift == 0) { // else a double holds it, or it is not told
        uint64_t m = (uint64_t)(int64_t)(r.high - (r.high < 0x1p63 ? 0 : 0x1p63));
        m += (r.high < 0x1p63 ? 0 : 1ull << 63) + (uint64_t)(int64_t)rint(r.low);
        if ((unsigned __int128)m * m == x) {
            r.high = two_sum((double)(uint32_t)(m >> 32) * 0x1p32, (double)(uint32_t)m, &r.low);
            r.lost = 0;
        }
    }
    if (whole && fold == WK_STD) r = {r.high / 2, r.low / 2, r.lost / 2};
    const answer a = rounded(r, dtype);
    if (of.shift == 0) return a;
    const double power = wk_power_of_two(root ? of.shift / 2 : of.shift);
    return {a.value * power, a.known && dtype == WK_F64}; // others may be too large then
}

__device__ WK_NOINLINE void
finish_extremes(uint64_t least, uint64_t most, const reduce_task &task, int64_t output)
{
#pragma unroll 1
    for (int i = 0; i < task.folds; i++)
        if (task.fold[i] == WK_MIN || task.fold[i] == WK_MAX)
            store(task.out[i], task.out_dtype[i], output,
                  task.fold[i] == WK_MIN ? least : most);
}

template <bool kWide>
static __device__ __forceinline__ bool
finish_words(uint64_t sum, uint64_t sum_high, uint64_t squares, uint64_t squares_high,
             uint64_t squares_top, const reduce_task &task, int64_t output, int64_t count)
{
    // Loads of the task that do not wait for each other.
    const int folds = task.folds, bias = task.bias_bits;
    const bool counts = task.counts, initial = task.has_initial;
    const double ddof = task.ddof, of_mean = task.inverse, of_spread = task.inverse_spread;
    const bool negative = (int64_t)sum_high < 0;
    const uint64_t size = negative ? ~sum + 1 : sum,
                   size_high = negative ? ~sum_high + (size == 0) : sum_high;
    if (count <= 0 || count > INT32_MAX || initial) return false;
    const double n = (double)(int)count;
#pragma unroll 1
    for (int i = 0; i < folds; i++) {
        const int fold = task.fold[i], dtype = task.out_dtype[i];
        void *const out = task.out[i];
        if (fold == WK_MIN || fold == WK_MAX) continue;
        const bool spread = is_spread(fold);
        uint64_t q[3] = {squares, squares_high, squares_top};
        upper_bits x = {(unsigned __int128)size_high << 64 | size, 0, false};
        double d = n, inverse = of_mean;
        bool minus = negative && fold == WK_MEAN;
        if (!is_float_dtype(dtype) || !(spread || fold == WK_MEAN || fold == WK_NORM))
            return false;
        if (fold == WK_MEAN && bias) { // of unsigned elements
            x.x = sum_with_bias(sum, sum_high, count, bias);
            minus = false;
        }
        if (fold == WK_NORM) {
            if (bias) add_bias_to_squares(q, sum, sum_high, count, bias);
            x = upper_of(q[0], q[1], kWide ? q[2] : 0, 0);
        }
        if (spread) { // the same without bias
            x = spread_of_words<kWide>((uint32_t)count, q, size, size_high);
            d = n * (n - ddof);
            inverse = of_spread;
            if (!(d > 0 && d < 0x1p53 && ddof == rint(ddof))) return false;
        }
        if (counts) inverse = 1 / d;
        const answer a = short_moment(x, d, inverse, fold, dtype);
        if (!a.known) return false;
        store(out, dtype, output, minus ? -a.value : a.value);
    }
    return true;
}

__device__ WK_NOINLINE bool
finish_moments(uint64_t sum, uint64_t sum_high, uint64_t squares, uint64_t squares_high,
               uint64_t, const reduce_task &task, int64_t output, int64_t n)
{
    return finish_words<false>(sum, sum_high, squares, squares_high, 0, task, output, n);
}

__device__ WK_NOINLINE bool
finish_wide_moments(uint64_t sum, uint64_t sum_high, uint64_t squares, uint64_t squares_high,
                    uint64_t squares_top, const reduce_task &task, int64_t output, int64_t n)
{
    return finish_words<true>(sum, sum_high, squares, squares_high, squares_top, task, output,
                              n);
}

} // namespace wk

// Their squares would take 192 bits.
static bool
only_sums(const wk_call *call)
{
    for (int i = 0; i < call->outs; i++)
        if (call->args.reduce.fold[i] != WK_MEAN && call->args.reduce.fold[i] != WK_SUM)
            return false;
    return true;
}

wk_status
wk::reduce_int_moments(wk_call *call)
{
    return with_words(call, [&](auto zero) {
        if constexpr (sizeof zero == 8)
            if (only_sums(call)) return reduce<int_summary<uint64_t, false, false>>(call);
        return reduce<int_summary<decltype(zero), false>>(call);
    });
}

wk_status
wk::reduce_int_summary(wk_call *call)
{
    return with_words(
        call, [&](auto zero) { return reduce<int_summary<decltype(zero), true>>(call); });
}
