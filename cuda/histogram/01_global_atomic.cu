// histogram / 01 global_atomic -- one atomic add in global memory per element.
//
// In, out   n elements in any order, edges or none -> int64 counts[bins]; any number of bins.
// Still bad equal values add to one address, and their adds take turns in the L2;
//           02_smem_atomic keeps most of them on the chip.
// Source    D. Kirk, W. Hwu, "Programming Massively Parallel Processors", on histograms.
#include "histogram/bins.cuh"

namespace
{

constexpr int kThreads = 256;

template <typename T>
__global__ void
histogram_global(const T *in, const wk::bins_task __grid_constant__ task,
                 unsigned long long *counts)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < task.args.n; i += step) {
        const int64_t bin = wk::bin_of(task, in[i]);
        if (bin >= 0) atomicAdd(&counts[bin], 1ull); // integers: any order, one result
    }
}

} // namespace

extern "C" wk_status
wk_histogram_cuda_global_atomic(wk_call *call)
{
    if (wk::clear_counts(call) != WK_OK) return call->error.status;
    return wk::visit(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return wk::launch(call, wk::grid_for(call, call->args.histogram.n, kThreads), kThreads,
                          0, histogram_global<T>, (const T *)call->in.data, wk::bins_of(call),
                          (unsigned long long *)call->out[0].data);
    });
}
