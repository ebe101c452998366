// buckets.cuh -- between which edges an element may lie, by a table of its block's.
//
// How       a map that never falls takes elements to buckets: then the edges of lower buckets are below
//           an element, those of higher ones above, and only those of its own are compared with it.
//           Of two maps that which spreads the edges better: by the difference to the first edge, for
//           edges that are about evenly apart; or by the leading bits of a float, its exponent first,
//           for edges whose ratio is.
// Source    H100, 1,000 logarithmic edges of float64: by halving alone 44 % of a copy.
#pragma once
#include "histogram/bins.cuh"
#include "num/keys.h"

#include <algorithm>
#include <cmath>

namespace wk::histogram
{

constexpr unsigned kBuckets = 4096; // 16 KiB

// Making the table takes about 2 us.
constexpr int64_t kFewForBuckets = 1 << 20; // elements

// A float as an integer in its order, -0 as 0; of a double the upper half.
__host__ __device__ inline int32_t
leading_bits(float x)
{
    return wk_order_f32(x + 0.f, 0);
}

__host__ __device__ inline int32_t
leading_bits(double x)
{
    return (int32_t)(wk_order_f64(x + 0., 0) >> 32);
}

struct bucket_map {
    unsigned buckets; // 0: no table
    bool by_bits;
    unsigned shift; // of the bits, or of a difference of integers
    float scale;    // of a difference of floats

    __host__ __device__ int64_t bytes() const
    {
        return buckets * (int64_t)sizeof(unsigned);
    }

    // Of anything, NaN too; never falls from the first edge to the last.
    template <typename K>
    __host__ __device__ __forceinline__ unsigned bucket(K x, K first) const
    {
        unsigned b;
        if constexpr (std::is_integral_v<K>) {
            const uint64_t far = ((uint64_t)x - (uint64_t)first) >> shift;
            b = far < kBuckets ? (unsigned)far : kBuckets;
        } else if (by_bits) {
            b = ((unsigned)leading_bits(x) - (unsigned)leading_bits(first)) >> shift;
        } else {
            const float t = (float)(x - first) * scale;
            b = t > 0 ? (unsigned)(t < kBuckets ? t : (float)kBuckets) : 0;
        }
        return b < kBuckets ? b : kBuckets - 1;
    }
};

// How many edges have a lower bucket.
template <typename Edges, typename K>
__device__ unsigned
edges_below(const bucket_map &map, const Edges &edges, unsigned all, K first, unsigned bucket)
{
    unsigned low = 0, high = all;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (map.bucket<K>(edges[middle], first) < bucket)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// By all threads of a block, whose edges are there. Of each bucket: how many edges are in lower ones, and
// in the upper half how many in it too. What lies behind the last edge is read, and not looked at.
template <typename Edges>
__device__ void
make_buckets(const bucket_map &map, const Edges &edges, unsigned bins, unsigned *ranges)
{
    using K = std::decay_t<decltype(edges[0])>;
    const K first = edges[0];
    for (unsigned b = threadIdx.x; b < kBuckets; b += blockDim.x) {
        const unsigned low = edges_below<Edges, K>(map, edges, bins + 1, first, b);
        ranges[b] = low | edges_below<Edges, K>(map, edges, bins + 1, first, b + 1) << 16;
    }
    __syncthreads(); // the table is there before the first element
}

// The most edges in one bucket.
template <typename K, typename E>
unsigned
fullest(const bucket_map &map, const E *edges, int64_t bins)
{
    unsigned most = 0, here = 0, last = kBuckets;
    for (int64_t i = 0; i <= bins; i++) {
        const unsigned b = map.bucket<K>((K)edges[i], (K)edges[0]);
        here = b == last ? here + 1 : 1;
        last = b;
        most = std::max(most, here);
    }
    return most;
}

inline unsigned
shift_of(uint64_t span)
{
    unsigned shift = 0;
    while (span >> shift >= kBuckets) shift++;
    return shift;
}

// The better map of the call's edges, which elements meet as K.
template <typename K>
bucket_map
map_of(const wk_call *call)
{
    const int64_t bins = call->args.histogram.bins;
    if constexpr (std::is_integral_v<K>) {
        const auto *edges = static_cast<const K *>((const void *)call->aux.host);
        return {kBuckets, false, shift_of((uint64_t)edges[bins] - (uint64_t)edges[0]), 0};
    } else {
        const auto *edges = static_cast<const double *>((const void *)call->aux.host);
        const K first = (K)edges[0], last = (K)edges[bins];
        const auto bits = (unsigned)leading_bits(last) - (unsigned)leading_bits(first);
        const bucket_map by_bits = {kBuckets, true, shift_of(bits), 0};
        const float scale = kBuckets / (float)(last - first);
        if (!(std::isfinite(scale) && scale > 1e-37f)) return by_bits;
        const bucket_map even = {kBuckets, false, 0, scale};
        return fullest<K>(even, edges, bins) <= fullest<K>(by_bits, edges, bins) ? even
                                                                                 : by_bits;
    }
}

} // namespace wk::histogram
