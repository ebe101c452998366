// bins.cuh -- the bin of an element, for every kind of bins; the steps are num/bins.h's.
#pragma once
#include "num/bins.h"
#include "prim/halves.cuh"
#include "runtime/launch.cuh"

namespace wk
{

struct bins_task {
    wk_histogram_args args;
    wk_dtype edges_dtype;
    const void *edges;
};

// The edges in device memory: where the call gives them as its second result, or in a block of their own.
inline wk_status
edges_there(wk_call *call)
{
    return aux_there(call, call->outs == 2 ? call->out[1].data : nullptr);
}

inline bins_task
bins_of(const wk_call *call)
{
    return {call->args.histogram, call->aux.dtype, call->aux.data};
}

// Pieces go on counting, from zero.
inline wk_status
clear_counts(wk_call *call)
{
    return call->part.mode == WK_PIECE ? WK_OK
                                       : clear(call, call->out[0].data, call->out[0].bytes);
}

// Is x in the range of equal bins?
template <typename T>
__device__ __forceinline__ bool
in_range(const wk_histogram_args &h, T x)
{
    if constexpr (std::is_floating_point_v<T>)
        return (double)x >= h.first && (double)x <= h.last;
    else if constexpr (std::is_signed_v<T>)
        return x >= (int64_t)h.low && x <= (int64_t)h.high;
    else
        return (uint64_t)x >= h.low && (uint64_t)x <= h.high;
}

// Of an x in the range of equal bins.
__device__ __forceinline__ int64_t
uniform_bin(const bins_task &b, double x)
{
    return b.edges_dtype == WK_F32
               ? wk_uniform_bin_f32(&b.args, (const float *)b.edges, (float)x)
               : wk_uniform_bin_f64(&b.args, (const double *)b.edges, x);
}

// Step by step as NumPy finds it; -1: in no bin.
template <typename T>
__device__ int64_t
bin_of(const bins_task &b, T element)
{
    const value_t<T> x = value_of(element);
    const wk_histogram_args &h = b.args;
    if (h.kind == WK_BINS_VALUES)
        return (uint64_t)x < (uint64_t)h.bins ? (int64_t)x : -1; // never floats
    if (h.kind == WK_BINS_UNIFORM) {
        return in_range(h, x) ? uniform_bin(b, (double)x) : -1;
    }
    switch (b.edges_dtype) {
    case WK_I64: return wk_edges_bin_i64((int64_t)x, (const int64_t *)b.edges, h.bins);
    case WK_U64: return wk_edges_bin_u64((uint64_t)x, (const uint64_t *)b.edges, h.bins);
    default: return wk_edges_bin_f64((double)x, (const double *)b.edges, h.bins);
    }
}

// Signed, of an integer of at most 32 bits; and of int64.
__device__ __forceinline__ int64_t
integer_of(wk_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case WK_BOOL: return bits != 0;
    case WK_I8: return (int8_t)bits;
    case WK_I16: return (int16_t)bits;
    case WK_I32: return (int32_t)bits;
    default: return (int64_t)bits;
    }
}

__device__ __forceinline__ float
narrow_of(wk_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case WK_F16: return value_of(half16{(uint16_t)bits});
    case WK_BF16: return value_of(brain16{(uint16_t)bits});
    default: return wk_from_bits_f32((uint32_t)bits);
    }
}

template <typename T>
static __device__ WK_NOINLINE int64_t
called_bin(const bins_task &b, T x)
{
    return bin_of(b, x);
}

// bin_of() of an element's bits, by a call: a kernel has one copy for all dtypes.
static __device__ WK_NOINLINE int64_t
bin_of_bits(const bins_task &b, wk_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case WK_F16:
    case WK_BF16:
    case WK_F32: return called_bin(b, narrow_of(dtype, bits));
    case WK_F64: return called_bin(b, wk_from_bits_f64(bits));
    case WK_U64: return called_bin(b, bits);
    default: return called_bin(b, integer_of(dtype, bits));
    }
}

} // namespace wk
