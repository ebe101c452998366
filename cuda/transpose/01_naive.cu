// transpose / 01 naive -- each thread writes the next element of the output.
//
// In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
// Still bad neighbouring threads read addresses a row apart: a 32-byte sector is fetched for
//           each element, and most of it is thrown away; 02_smem mends that.
// Source    G. Ruetsch, P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (2009).
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"
#include "runtime/visit.cuh"

namespace
{

constexpr int kThreads = 256; // any multiple of a warp does: no thread needs another

template <typename T>
__global__ void
transpose_naive(const T *in, T *out, int64_t n, const wk::layout __grid_constant__ axes)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < n; i += step)
        out[i] = in[wk::offset_of(axes, i)];
}

} // namespace

extern "C" wk_status
wk_transpose_cuda_naive(wk_call *call)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        const wk_array *a = &call->in;
        const int64_t n = call->out[0].bytes / (int64_t)sizeof(T);
        return wk::launch(call, wk::grid_for(call, n, kThreads), kThreads, 0,
                          transpose_naive<T>, wk::first_element<T>(a), (T *)call->out[0].data,
                          n, wk::axes_of(a, 0, a->ndim));
    });
}
