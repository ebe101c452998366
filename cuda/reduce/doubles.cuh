// doubles.cuh -- exact sums in a few doubles: what a thread keeps of the floats that it has seen.
//
// A few doubles are a sum that has not been rounded: each is far below the one before it. A number is
// added to the first, what that rounds off to the second, and so on (Knuth's two-sum); what is left
// behind the last did not fit, and is noticed. A batch of elements is one addition, where its own sum
// needs no rounding: plainly, where exponents lie close together, else cut at a few biases, numbers
// far larger than all of the batch (T. J. Dekker), into parts of which each may be added up plainly.
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
struct few {
    double s[K];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = 0;
    }
    // Adds x to the double with number `first` and those behind; what is left, or not a number, is noted.
    template <int first = 0>
    __device__ __forceinline__ void put(double x, rests *rest)
    {
#pragma unroll
        for (int k = first; k < K; k++) s[k] = two_sum(s[k], x, &x);
        rest->note(x);
    }
    template <int k = 0>
    __device__ __forceinline__ void merge(const uint64_t *words, rests *rest)
    {
        if constexpr (k < K) {
            put<k>(wk_from_bits_f64(words[k]), rest);
            merge<k + 1>(words, rest);
        }
    }
    __device__ __forceinline__ void save(uint64_t *words) const
    {
#pragma unroll
        for (int k = 0; k < K; k++) words[k] = wk_bits_f64(s[k]);
    }
};

// Binades between two biases: 53 but for the sum of 32 numbers' rests.
constexpr int kLevel = 46;

// The sum of numbers that together are below 2^e, in M parts: the first are multiples of a bias's unit.
template <int M>
struct cut_sum {
    double bias[M - 1], part[M];

    __device__ __forceinline__ explicit cut_sum(int e)
    {
#pragma unroll
        for (int m = 0; m < M - 1; m++) {
            part[m] = bias[m] = 1.5 * power_of_two(e + 1 - kLevel * m);
        }
        part[M - 1] = 0;
    }
    template <int first = 0>
    __device__ __forceinline__ void add(double x)
    {
#pragma unroll
        for (int m = first; m < M - 1; m++) {
            const double next = part[m] + x;
            x -= next - part[m];
            part[m] = next;
        }
        part[M - 1] += x;
    }
    // v^2, of which a double holds all digits.
    __device__ __forceinline__ void add_square(double v)
    {
        const double next = __fma_rn(v, v, part[0]), rest = __fma_rn(v, v, part[0] - next);
        part[0] = next;
        add<1>(rest);
    }
    // Each part is far below the one before it.
    template <int first, int K, int m = 0>
    __device__ __forceinline__ void put_to(few<K> *sum, rests *rest) const
    {
        if constexpr (m < M) {
            const double x = m < M - 1 ? part[m] - bias[m < M - 1 ? m : 0] : part[m]; // exact
            sum->template put<(first + m < K ? first + m : K - 1)>(x, rest);
            put_to<first, K, m + 1>(sum, rest);
        }
    }
};

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
