// ladder.cuh -- what the rungs of the histogram share: counters, and which calls they take.
#pragma once
#include "histogram/bins.cuh"

WK_LAUNCHER(histogram, cuda, global_atomic);

namespace wk::ladder
{

constexpr int64_t kShared = 48 * 1024; // bytes that a block gets without asking for more
constexpr int64_t kMostOfBlock = int64_t{1} << 31; // elements: a counter there has 32 bits

// The element's counter: its bin's, or behind those the one of what is in no bin; -1: nobody's.
template <typename T>
__device__ __forceinline__ int64_t
counter_of(const bins_task &task, T element)
{
    const int64_t bin = bin_of(task, element);
    return bin >= 0 || !task.args.outside ? bin : task.args.bins;
}

// ---- on the host --------------------------------------------------------------------------

inline int64_t
counters_of(const wk_call *call)
{
    return call->args.histogram.bins + (call->args.histogram.outside != 0);
}

inline wk_status
check_counts(wk_call *call, const char *variant)
{
    if (call->weights.ndim < 0) return WK_OK;
    return WK_FAIL(&call->error, WK_EVALUE,
                   "variant '%s' of histogram only counts; weights need the production kernel",
                   variant);
}

// Launches a kernel that counts in the shared memory of each block, with `copies` of all counters.
// Where those do not fit, the call goes the way of 01_global_atomic.
template <typename F>
wk_status
count_in_blocks(wk_call *call, const char *variant, int threads, int64_t copies, F &&kernel_of)
{
    if (check_counts(call, variant) != WK_OK) return call->error.status;
    const int64_t n = call->args.histogram.n, counters = counters_of(call);
    const int64_t bytes = counters * copies * (int64_t)sizeof(unsigned);
    if (counters > kShared || bytes > kShared) return wk_histogram_cuda_global_atomic(call);
    if (edges_there(call) != WK_OK || clear_counts(call) != WK_OK) return call->error.status;
    return visit(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        unsigned grid = grid_for(call, n, threads);
        while (n / grid >= kMostOfBlock) grid *= 2;
        return launch(call, grid, (unsigned)threads, (size_t)bytes, kernel_of(zero),
                      (const T *)call->in.data, bins_of(call),
                      (unsigned long long *)call->out[0].data);
    });
}

} // namespace wk::ladder
