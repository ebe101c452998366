// histogram / 02 smem_atomic -- each block counts in shared memory, and adds its counts once.
//
// In, out   n elements in any order, edges or none -> int64 counts[bins].
// Better    than 01_global_atomic: adds stay on the chip, and a literal 1 whose result nobody
//           reads is merged among the lanes that want the same counter.
// Still bad more bins than fit go the way of 01; one element a load.
// Source    N. Sakharnykh, "GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell"
//           (2015).
#include "histogram/bins.cuh"
#include "histogram/weights.cuh"

namespace
{

constexpr int kThreads = 512;                      // two blocks' counters fit a multiprocessor
constexpr int64_t kMostBins = 48 * 1024 / 4;       // what a block gets without asking for more
constexpr int64_t kMostOfBlock = int64_t{1} << 31; // elements: a counter has 32 bits

template <typename T>
__global__ void
histogram_smem(const T *in, const wk::bins_task __grid_constant__ task,
               unsigned long long *counts)
{
    WK_DYNAMIC_SHARED(unsigned, mine);
    const int bins = (int)task.args.bins;
    for (int b = threadIdx.x; b < bins; b += kThreads) mine[b] = 0;
    __syncthreads(); // every counter is zero before the first add

    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < task.args.n; i += step) {
        const int64_t bin = wk::bin_of(task, in[i]);
        if (bin >= 0) atomicAdd(&mine[bin], 1u);
    }
    __syncthreads(); // every add is done before the counters are read

    for (int b = threadIdx.x; b < bins; b += kThreads)
        if (mine[b]) atomicAdd(&counts[b], (unsigned long long)mine[b]);
}

} // namespace

extern "C" wk_status
wk_histogram_cuda_smem_atomic(wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    if (call->where.ndim >= 0) return wk::histogram::weighted(call);
    if (h->bins > kMostBins) return wk_histogram_cuda_global_atomic(call);
    if (wk::clear_counts(call) != WK_OK) return call->error.status;
    return wk::visit(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        unsigned grid = wk::grid_for(call, h->n, kThreads);
        while (h->n / grid >= kMostOfBlock) grid *= 2;
        return wk::launch(call, grid, kThreads, (size_t)h->bins * sizeof(unsigned),
                          histogram_smem<T>, (const T *)call->in.data, wk::bins_of(call),
                          (unsigned long long *)call->out[0].data);
    });
}
