// doubles.cuh -- sums in a few doubles and a bound: what a thread keeps of the floats it has seen.
//
// A number is added to the first double, what that rounds off to the second, and so on (Knuth's
// two-sum); what is left behind the last is lost, and enlarges the bound. Where nothing was lost the sum
// is exact; else it is proved when a result is rounded that what was lost cannot have changed it
// (results.cuh).
//
// Sources   D. Knuth, TAOCP 2, 4.2.2; T. J. Dekker, "A floating-point technique for extending the
//           available precision" (1971); J. Demmel, H. D. Nguyen, "Parallel Reproducible Summation"
//           (2015) for the bias.
#pragma once
#include "num/exact.h"
#include "runtime/cuda.cuh"

namespace wk
{

// Over two to this no square of a float64 is too large.
constexpr int kLargeShift = 600;

// a + b = sum + rest, exactly. Source: D. Knuth.
__device__ __forceinline__ double
two_sum(double a, double b, double *rest)
{
    const double sum = a + b, back = sum - a;
    *rest = (a - (sum - back)) + (b - back);
    return sum;
}

__device__ __forceinline__ float
fma_rn(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

__device__ __forceinline__ double
fma_rn(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}

// K doubles, each far below the one before it; what they are off, at most.
template <int K>
struct few {
    static constexpr int kWords = K + 1;
    double s[K], lost;

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = 0;
        lost = 0;
    }
    // Adds x to the double with number `first`, and what is rounded off to those behind.
    template <int first = 0>
    __device__ __forceinline__ void put(double x)
    {
#pragma unroll
        for (int k = first; k < K; k++) s[k] = two_sum(s[k], x, &x);
        lost += fabs(x);
    }
    template <int k = 0>
    __device__ __forceinline__ void merge(const uint64_t *words)
    {
        if constexpr (k < K) {
            put<k>(wk_from_bits_f64(words[k]));
            merge<k + 1>(words);
        } else {
            lost += wk_from_bits_f64(words[K]);
        }
    }
    // Over 2^kLargeShift; what is far below is lost.
    __device__ __forceinline__ void scale()
    {
        const double over = wk_power_of_two(-kLargeShift);
#pragma unroll
        for (int k = 0; k < K; k++) {
            s[k] *= over;
            if (fabs(s[k]) < 0x1p-900) s[k] = 0;
        }
        lost = lost * over + K * 0x1p-900;
    }
    __device__ __forceinline__ void load(const uint64_t *words)
    {
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = wk_from_bits_f64(words[k]);
        lost = wk_from_bits_f64(words[K]);
    }
    __device__ __forceinline__ void save(uint64_t *words) const
    {
#pragma unroll
        for (int k = 0; k < K; k++) words[k] = wk_bits_f64(s[k]);
        words[K] = wk_bits_f64(lost);
    }
};

// The sum of numbers that together are below 2^e, in two parts: multiples of a unit, of which none is
// rounded, and what lies below it: less than 2^(e - 50) of each number.
struct cut_sum {
    double bias, upper, lower = 0;

    __device__ __forceinline__ explicit cut_sum(int e)
        : bias(1.5 * wk_power_of_two(e + 1)), upper(bias)
    {
    }
    __device__ __forceinline__ void add(double x)
    {
        const double next = upper + x;
        lower += x - (next - upper);
        upper = next;
    }
    __device__ __forceinline__ void add_square(double x)
    {
        const double next = __fma_rn(x, x, upper);
        lower += __fma_rn(x, x, upper - next);
        upper = next;
    }
    // To the doubles from number `first` on.
    template <int first = 0, int K>
    __device__ __forceinline__ void put_to(few<K> *sum) const
    {
        constexpr int kNext = first + 1 < K ? first + 1 : K - 1;
        sum->template put<first>(upper - bias);
        sum->template put<kNext>(lower);
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
