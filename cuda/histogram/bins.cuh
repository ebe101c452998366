// bins.cuh -- the bin of an element, for every kind of bins; the steps are scalar.h's.
#pragma once
#include "reduce/fold.cuh"
#include "runtime/launch.cuh"
#include "runtime/visit.cuh"

namespace wk
{

struct bins_task {
    wk_bins_kind kind;
    wk_dtype edges_dtype;
    int64_t n, bins;
    double width;
    uint64_t low, high;
    const void *edges;
};

inline bins_task
bins_of(const wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    return {h->kind, call->aux.dtype, h->n, h->bins, h->width, h->low, h->high, call->aux.data};
}

// For equal bins, integers: between the smallest and the largest that counts.
template <typename T>
__device__ __forceinline__ int64_t
uniform_bin(const bins_task &b, T x)
{
    const auto edges = (const double *)b.edges;
    if constexpr (is_float<T>) {
        if (!(x >= edges[0] && x <= edges[b.bins])) return -1;
    } else if constexpr (std::is_signed_v<T>) {
        if (x < (int64_t)b.low || x > (int64_t)b.high) return -1;
    } else {
        if ((uint64_t)x < b.low || (uint64_t)x > b.high) return -1;
    }
    return wk_uniform_bin_f64((double)x, edges, b.bins, edges[0], b.width);
}

__device__ __forceinline__ int64_t
uniform_bin_f32(const bins_task &b, float x)
{
    const auto edges = (const float *)b.edges;
    if (!(x >= edges[0] && x <= edges[b.bins])) return -1;
    return wk_uniform_bin_f32(x, edges, b.bins, edges[0], b.width);
}

// -1: in no bin.
template <typename T>
__device__ int64_t
bin_of(const bins_task &b, T x)
{
    if (b.kind == WK_BINS_VALUES) return (int64_t)x;
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
