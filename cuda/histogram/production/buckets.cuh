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

// How many of `all` edges, which rise, are below.
template <typename Edges, typename F>
__device__ unsigned
edges_below(const Edges &edges, unsigned all, const F &is_below)
{
    unsigned low = 0, high = all;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (is_below(edges[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// By all threads of a block, whose edges are there. Of each bucket: how many edges none of it is below, and
// in the upper half how many others it has too.
template <typename Edges>
__device__ void
make_buckets(const bucket_map &map, const Edges &edges, unsigned all, unsigned *ranges)
{
    using K = std::decay_t<decltype(edges[0])>;
    const K first = edges[0];
    for (unsigned b = threadIdx.x; b < kBuckets; b += blockDim.x) {
        const unsigned low = edges_below(edges, all, [&](K edge) {
            if constexpr (std::is_integral_v<
                              K>) // those that its least number is, which may be all
                return edge - first <= (K)b << map.shift;
            else
                return map.bucket(edge, first) < b;
        });
        const unsigned high =
            edges_below(edges, all, [&](K edge) { return map.bucket(edge, first) <= b; });
        ranges[b] = low | high << 16;
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

// The better map of the call's edges, which elements meet as K; of integers these are the first and the last.
template <typename K>
bucket_map
map_of(const wk_call *call, K first, K last)
{
    if constexpr (std::is_integral_v<K>) {
        return {kBuckets, false, shift_of(last - first), 0};
    } else {
        const int64_t bins = call->args.histogram.bins;
        const auto *edges = static_cast<const double *>((const void *)call->aux.host);
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
