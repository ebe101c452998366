// histogram / 01 global_atomic -- one atomic add in global memory per element.
//
// In, out   n elements in any order, edges or none -> int64 counts[bins], and one of what is in no
//           bin where that is asked for; any number of bins.
// How       a thread finds the bin of an element and adds 1 there. Integers add up to the same in any
//           order, so the result is one and the same.
// Better    than a copy of all counters for each thread, while bins are many and equal values few:
//           nothing is cleared, read or added but what is counted.
// Still bad an add goes to the L2, which does a part of what memory brings in elements; and equal
//           values add to one address, where their adds take turns. 02_smem_atomic keeps most of them
//           on the chip.
// Source    D. Kirk, W. Hwu, "Programming Massively Parallel Processors", on histograms.
#include "histogram/ladder/ladder.cuh"

namespace
{

namespace ladder = wk::ladder;

constexpr int kThreads = 256; // 8 warps hide latency

template <typename T>
__global__ void
histogram_global(const T *in, const wk::bins_task __grid_constant__ task,
                 unsigned long long *counts)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < task.args.n; i += step) {
        const int64_t at = ladder::counter_of(task, in[i]);
        if (at >= 0) atomicAdd(&counts[at], 1ull);
    }
}

} // namespace

WK_LAUNCHER(histogram, cuda, global_atomic)
{
    if (ladder::check_counts(call, "global_atomic") != WK_OK ||
        wk::edges_there(call) != WK_OK || wk::clear_counts(call) != WK_OK)
        return call->error.status;
    return wk::visit(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return wk::launch(call, wk::grid_for(call, call->args.histogram.n, kThreads), kThreads,
                          0, histogram_global<T>, (const T *)call->in.data, wk::bins_of(call),
                          (unsigned long long *)call->out[0].data);
    });
}
