// bins.cuh -- the bin of an element, for every kind of bins; the steps are scalar.h's.
#pragma once
#include "runtime/launch.cuh"
#include "runtime/visit.cuh"

#include <type_traits>

namespace wk
{

struct bins_task {
    wk_bins_kind kind;
    wk_dtype edges_dtype;
    int64_t n, bins;
    double first, last, width;
    uint64_t low, high;
    const void *edges;
};

inline bins_task
bins_of(const wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    bins_task b = {};
    b.kind = h->kind;
    b.edges_dtype = call->aux.dtype;
    b.n = h->n;
    b.bins = h->bins;
    b.first = h->first;
    b.last = h->last;
    b.width = h->width;
    b.low = h->low;
    b.high = h->high;
    b.edges = call->aux.data;
    return b;
}

// Of the first piece; later ones go on counting.
inline wk_status
clear_counts(wk_call *call)
{
    return call->part.later ? WK_OK : clear(call, call->out[0].data, call->out[0].bytes);
}

// For equal bins, integers: between the smallest and the largest that counts.
template <typename T>
__device__ __forceinline__ int64_t
uniform_bin(const bins_task &b, T x)
{
    const auto edges = (const double *)b.edges;
    if constexpr (std::is_floating_point_v<T>) {
        if (!((double)x >= b.first && (double)x <= b.last)) return -1;
    } else if constexpr (std::is_signed_v<T>) {
        if (x < (int64_t)b.low || x > (int64_t)b.high) return -1;
    } else {
        if ((uint64_t)x < b.low || (uint64_t)x > b.high) return -1;
    }
    return wk_uniform_bin_f64((double)x, edges, b.bins, b.first, b.width);
}

__device__ __forceinline__ int64_t
uniform_bin_f32(const bins_task &b, float x)
{
    const auto edges = (const float *)b.edges;
    const float first = (float)b.first, last = (float)b.last;
    if (!(x >= first && x <= last)) return -1;
    return wk_uniform_bin_f32(x, edges, b.bins, first, b.width);
}

// -1: in no bin.
template <typename T>
__device__ int64_t
bin_of(const bins_task &b, T x)
{
    if (b.kind == WK_BINS_VALUES) return (uint64_t)x < (uint64_t)b.bins ? (int64_t)x : -1;
    if (b.kind == WK_BINS_UNIFORM) {
        if constexpr (std::is_same_v<T, float>)
            if (b.edges_dtype == WK_F32) return uniform_bin_f32(b, x);
        return uniform_bin(b, x);
    }
    switch (b.edges_dtype) {
    case WK_I64: return wk_edges_bin_i64((int64_t)x, (const int64_t *)b.edges, b.bins);
    case WK_U64: return wk_edges_bin_u64((uint64_t)x, (const uint64_t *)b.edges, b.bins);
    default: return wk_edges_bin_f64((double)x, (const double *)b.edges, b.bins);
    }
}

} // namespace wk
