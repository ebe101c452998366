// bins.cuh -- an exact sum in a thread's registers: K doubles on fixed grids.
//
// Bin k starts at 1.5 2^(unit + 52), so that it stays in one binade and each addition to it is
// rounded to a multiple of 2^unit: t = s + x; q = t - s; r = x - q splits x without error into the
// part on the bin's grid and the rest, which goes into the next bin. A sum is exact if the last rest
// is zero and no bin has left its binade: for that the caller bounds what it adds.
//
// Source    J. Demmel, H. D. Nguyen, "Parallel Reproducible Summation" (2015); the verification
//           and what follows a failed one are ours.
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

// kTerms: log2 of how many numbers of a batch go through the bins. 2^kBatches batches may follow
// each other before rebased() must look where the sum stands.
template <int K, int kTerms, int kBatches>
struct bins {
    static constexpr int kWidth = 51 - kBatches - kTerms;
    static constexpr int kLeast = -1074, kMost = 960; // exponents of windows
    double s[K];
    int unit; // of the first bin

    static __device__ double magic(int unit)
    {
        return wk_from_bits_f64((uint64_t)(unit + 52 + 1023) << 52 | (uint64_t)1 << 51);
    }
    __device__ int unit_of(int k) const
    {
        const int u = unit - k * kWidth;
        return u > kLeast ? u : kLeast;
    }
    __device__ void clear(int first_unit)
    {
        unit = first_unit > kLeast ? first_unit : kLeast;
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = magic(unit_of(k));
    }
    // What is left of x below the last bin, from bin `first` on.
    template <int first = 0>
    __device__ double put(double x)
    {
#pragma unroll
        for (int k = first; k < K; k++) {
            const double t = s[k] + x, q = t - s[k];
            x = x - q;
            s[k] = t;
        }
        return x;
    }
    __device__ double part(int k) const
    {
        return s[k] - magic(unit_of(k));
    }
    // The bin as an integer, in units of 2^unit_of(k).
    __device__ int64_t whole(int k) const
    {
        return (int64_t)(wk_bits_f64(s[k]) - wk_bits_f64(magic(unit_of(k))));
    }
};

template <class B>
struct checked {
    B bins;
    bool fits;
};

// The bins with room for sums below 2^top beside what is there.
template <int K, int kTerms, int kBatches>
__device__ __forceinline__ checked<bins<K, kTerms, kBatches>>
rebased(bins<K, kTerms, kBatches> b, int top)
{
    double y[K];
    bool fits = true;
#pragma unroll
    for (int k = 0; k < K; k++) y[k] = b.part(k);
    const int own = exponent_of(y[0]) + 1;
    top = (top > own ? top : own) + 1;
    b.clear(top - 50);
#pragma unroll
    for (int k = 0; k < K; k++) fits = b.put(y[k]) == 0 && fits;
    return {b, fits && top <= b.kMost};
}

template <class B>
__device__ WK_NOINLINE checked<B>
rebased_elsewhere(B b, int top)
{
    return rebased(b, top);
}

// What two threads hold, in the lowest window that does; of the other the parts are in s. Not
// inlined, and by value: the callers' bins stay in registers.
template <int K, int kTerms, int kBatches>
__device__ WK_NOINLINE checked<bins<K, kTerms, kBatches>>
joined(bins<K, kTerms, kBatches> b, bins<K, kTerms, kBatches> other)
{
    double y[2 * K];
    int top = -1023;
    bool fits = true;
#pragma unroll
    for (int k = 0; k < K; k++) {
        y[k] = b.part(k);
        y[K + k] = other.s[k];
    }
#pragma unroll
    for (int k = 0; k < 2 * K; k++) {
        const int e = exponent_of(y[k]);
        top = e > top ? e : top;
    }
    b.clear(top + 1 + 4 - 50); // 16 numbers at most
#pragma unroll
    for (int k = 0; k < 2 * K; k++) fits = b.put(y[k]) == 0 && fits;
    return {b, fits && top <= b.kMost};
}

// The largest of `width` neighbouring lanes, in all of them.
__device__ __forceinline__ int
most_of_lanes(int x, int width)
{
    if (width == kWarp) return __reduce_max_sync(kAllLanes, x);
    for (int half = width / 2; half > 0; half /= 2) {
        const int other = __shfl_xor_sync(kAllLanes, x, half);
        x = other > x ? other : x;
    }
    return x;
}

// The sum over `width` neighbouring lanes, in the first of them, of numbers below 2^51: of a whole
// warp by two instructions, 26 bits each.
__device__ __forceinline__ uint64_t
sum_of_lanes(int64_t number, int width)
{
    uint64_t x = (uint64_t)number; // what has failed may be any number
    if (width == kWarp) {
        const unsigned low = __reduce_add_sync(kAllLanes, (unsigned)x & 0x3ffffffu);
        const int high = __reduce_add_sync(kAllLanes, (int)(number >> 26));
        return ((uint64_t)(int64_t)high << 26) + low;
    }
    for (int half = width / 2; half > 0; half /= 2) x += __shfl_down_sync(kAllLanes, x, half);
    return x;
}

// What `width` neighbouring lanes hold, in the first of them: the same window for all of them, in
// which the bins are integers. `fits` is each lane's own.
template <int K, int kTerms, int kBatches>
__device__ WK_NOINLINE checked<bins<K, kTerms, kBatches>>
joined_lanes(bins<K, kTerms, kBatches> b, int width)
{
    double y[K];
    int top = -1023;
    bool fits = true;
#pragma unroll
    for (int k = 0; k < K; k++) {
        y[k] = b.part(k);
        const int e = exponent_of(y[k]);
        top = e > top ? e : top;
    }
    top = most_of_lanes(top, width);
    b.clear(top + 1 + 3 + 5 - 50); // 7 numbers of 32 lanes
#pragma unroll
    for (int k = 0; k < K; k++) fits = b.put(y[k]) == 0 && fits;
    fits = !most_of_lanes(!(fits && top <= b.kMost), width);
#pragma unroll
    for (int k = 0; k < K; k++) {
        const uint64_t whole = sum_of_lanes(b.whole(k), width);
        b.s[k] = wk_from_bits_f64(wk_bits_f64(b.magic(b.unit_of(k))) + whole);
    }
    return {b, fits};
}

// Has any rest of an addition to bins been more than zero? Without comparing: the units for float64
// have enough to do.
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

// a + b = sum + rest, exactly. Source: D. Knuth.
__device__ __forceinline__ double
two_sum(double a, double b, double *rest)
{
    const double sum = a + b, back = sum - a;
    *rest = (a - (sum - back)) + (b - back);
    return sum;
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
