// layout.cuh -- axes as a kernel parameter (it lies in constant memory), and index to offset.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// Of an array that a kernel takes as it is. Fused axes are few, and a launch costs more with
// more than 2 KiB of parameters; arrays of more axes are packed before (resident.cu).
constexpr int kAxes = 8;

template <int kMost>
struct axes {
    int ndim;
    int64_t shape[kMost];
    int64_t strides[kMost]; // in elements
};

using layout = axes<kAxes>;
using long_layout = axes<WK_MAX_DIMS>;

template <int kMost = kAxes>
axes<kMost>
axes_of(const wk_array *a, int from, int to)
{
    axes<kMost> l = {};
    l.ndim = to - from;
    for (int d = 0; d < l.ndim; d++) {
        l.shape[d] = a->shape[from + d];
        l.strides[d] = a->strides[from + d];
    }
    return l;
}

// Where the index-th element in C order lies. A 64-bit division an axis: fused axes are few.
template <int kMost>
__device__ __forceinline__ int64_t
offset_of(const axes<kMost> &l, int64_t index)
{
    int64_t offset = 0;
    for (int d = l.ndim - 1; d > 0; d--) {
        offset += index % l.shape[d] * l.strides[d];
        index /= l.shape[d];
    }
    return l.ndim > 0 ? offset + index * l.strides[0] : 0;
}

template <typename T>
const T *
first_element(const wk_array *a)
{
    return reinterpret_cast<const T *>(static_cast<const char *>(a->data) + a->first);
}

} // namespace wk
