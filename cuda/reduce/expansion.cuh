// expansion.cuh -- an exact sum in a thread's registers: K doubles that add up to it.
//
// Each number is added to the first double, what that addition rounds off to the second, and so on
// (D. Knuth's two-sum: six additions, always exact). A sum is exact if nothing is left behind the
// last. Nothing is set up, and joining is adding: the doubles may be of any size, and overlap.
//
// A batch of numbers costs less: added to a bias that is larger than all of them, three additions
// split each (T. J. Dekker), and what is split off may be added up plainly while it is known to fit
// 53 bits; that the exponents of the least and of the sum of all magnitudes say.
//
// Sources   D. Knuth, TAOCP 2, 4.2.2; J. R. Shewchuk, "Adaptive precision floating-point arithmetic"
//           (1997); J. Demmel, H. D. Nguyen, "Parallel Reproducible Summation" (2015) for the bias.
#pragma once
#include "exact.h"
#include "runtime/cuda.cuh"

namespace wk
{

__device__ __forceinline__ int
exponent_of(double x) // of its leading bit; -1023 for subnormals
{
    return (int)(wk_bits_f64(x) >> 52 & 2047) - 1023;
}

__device__ __forceinline__ double
power_of_two(int e) // of a normal number
{
    return wk_from_bits_f64((uint64_t)(e + 1023) << 52);
}

// a + b = sum + rest, exactly. Source: D. Knuth.
__device__ __forceinline__ double
two_sum(double a, double b, double *rest)
{
    const double sum = a + b, back = sum - a;
    *rest = (a - (sum - back)) + (b - back);
    return sum;
}

// Has any rest of an addition been more than zero? Without comparing: the units for float64 have
// enough to do.
struct rests {
    uint32_t low = 0, high = 0;
    __device__ __forceinline__ void note(double rest)
    {
        const uint64_t b = wk_bits_f64(rest);
        low |= (uint32_t)b;
        high |= (uint32_t)(b >> 32);
    }
    __device__ __forceinline__ bool any() const
    {
        return (low | (high & 0x7fffffff)) != 0;
    }
};

template <int K>
struct expansion {
    static constexpr int kDoubles = K;
    double s[K];

    __device__ void clear()
    {
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = 0;
    }
    // What is left of x, or not a number, behind the last double; x is added to that with number
    // `first` and those behind.
    template <int first = 0>
    __device__ __forceinline__ double put(double x)
    {
#pragma unroll
        for (int k = first; k < K; k++) s[k] = two_sum(s[k], x, &x);
        return x;
    }
    // The other's doubles, each to its own and those behind.
    template <int k = 0>
    __device__ __forceinline__ void merge(const uint64_t *words, rests *rest)
    {
        if constexpr (k < K) {
            rest->note(put<k>(wk_from_bits_f64(words[k])));
            merge<k + 1>(words, rest);
        }
    }
    __device__ void load(const uint64_t *words)
    {
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = wk_from_bits_f64(words[k]);
    }
    __device__ void save(uint64_t *words) const
    {
#pragma unroll
        for (int k = 0; k < K; k++) words[k] = wk_bits_f64(s[k]);
    }
};

// The sum of what is split: `high` is a multiple of the bias's unit, `low` what lies below.
struct split_sum {
    double bias, high, low = 0;

    __device__ explicit split_sum(double bias_) : bias(bias_), high(bias_) {}
    // |x| is below the bias, and so are all sums.
    __device__ __forceinline__ void add(double x)
    {
        const double next = high + x;
        low += x - (next - high);
        high = next;
    }
    // v^2, of which a double holds all digits.
    __device__ __forceinline__ void add_square(double v)
    {
        const double next = __fma_rn(v, v, high);
        low += __fma_rn(v, v, high - next);
        high = next;
    }
    __device__ __forceinline__ double sum() const
    {
        return high - bias; // exact
    }
};

// What `lanes` neighbouring lanes hold is added up in the first of them, exactly: biases larger than
// all numbers of the warp cut each of them into K levels, and a level's sums fit 53 bits. A quarter
// of the time of joining by two-sums, of which each waits for the one before. False, for all lanes,
// if the numbers lie too far apart; nothing is changed then.
template <int K>
__device__ __forceinline__ bool
join_by_levels(double (&s)[K], int lanes)
{
    constexpr int kRoom = 10, kLevel = 43; // bits: 7 x 32 numbers fit above 53 - kRoom + 1
    uint32_t most = 0, left = 0;
#pragma unroll
    for (int k = 0; k < K; k++) {
        const uint32_t size = (uint32_t)(wk_bits_f64(s[k]) >> 32) & 0x7fffffff;
        most = size > most ? size : most;
    }
    int e = (int)(__reduce_max_sync(kAllLanes, most) >> 20) - 1023; // all are below 2^(e + 1)
    if (e > 900) return false;
    e = e < -600 ? -600 : e;
    double x[K], level[K];
#pragma unroll
    for (int k = 0; k < K; k++) x[k] = s[k];
#pragma unroll
    for (int j = 0; j < K; j++) {
        const double bias = 1.5 * power_of_two(e + kRoom - kLevel * j);
        level[j] = 0;
#pragma unroll
        for (int k = 0; k < K; k++) {
            const double high = (x[k] + bias) - bias;
            x[k] -= high;
            level[j] += high;
        }
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
        const uint64_t b = wk_bits_f64(x[k]);
        left |= (uint32_t)b | ((uint32_t)(b >> 32) & 0x7fffffff);
    }
    if (__any_sync(kAllLanes, left != 0)) return false;
    for (int half = lanes / 2; half > 0; half /= 2) {
#pragma unroll
        for (int j = 0; j < K; j++) level[j] += __shfl_down_sync(kAllLanes, level[j], half);
    }
#pragma unroll
    for (int k = 0; k < K; k++) s[k] = level[k];
    return true;
}

// The neighbour of x with an odd last bit on the side of rest, if that is not zero: what it is
// rounded to in fewer digits is what x + rest is rounded to.
__device__ __forceinline__ double
round_to_odd(double x, double rest)
{
    const uint64_t b = wk_bits_f64(x);
    if (rest == 0 || (b & 1)) return x;
    return wk_from_bits_f64((rest > 0) == (x > 0) ? b + 1 : b - 1);
}

} // namespace wk
