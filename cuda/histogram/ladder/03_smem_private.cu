// histogram / 03 smem_private -- each warp counts in a copy of its own; copies are added at the end.
//
// In, out   n elements in any order, edges or none -> int64 counts[bins], and one of what is in no
//           bin where that is asked for. More counters than shared memory holds copies of go the way
//           of 01: with 8 copies that is from 1537 counters on.
// How       warp w adds to counters[w][bin]. When all are done a thread adds the copies of a counter,
//           and their sum to the result.
// Better    than 02_smem_atomic where warps stand in each other's way: with add as a lock and a loop,
//           as it was before 2014, a counter was contended by the lanes of one warp, no longer by the
//           block's.
// Still bad today the unit takes one warp's adds after the other's whomever they belong to, so copies
//           save nothing: lanes of one warp still meet in a bank. They cost shared memory, hence
//           bins, and clearing and adding 8 times as much. What helps is a copy for each lane, in a
//           bank of its own, where bins are few. 04_match_any lets lanes agree before they add.
// Source    V. Podlozhnyuk, "Histogram calculation in CUDA" (2007), per-warp sub-histograms.
#include "histogram/ladder/ladder.cuh"

namespace
{

namespace ladder = wk::ladder;

constexpr int kThreads = 256; // of 8 warps: each more is a copy more
constexpr int kWarps = kThreads / wk::kWarp;

template <typename T>
__global__ void
histogram_private(const T *in, const wk::bins_task __grid_constant__ task,
                  unsigned long long *counts)
{
    WK_DYNAMIC_SHARED(unsigned, copies);
    const int counters = (int)task.args.bins + (task.args.outside != 0);
    for (int b = threadIdx.x; b < kWarps * counters; b += kThreads) copies[b] = 0;
    __syncthreads(); // every counter is zero before the first add

    unsigned *const mine = copies + threadIdx.x / wk::kWarp * counters;
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < task.args.n; i += step) {
        const int64_t at = ladder::counter_of(task, in[i]);
        if (at >= 0) atomicAdd(&mine[at], 1u);
    }
    __syncthreads(); // every add is done before the copies are added

    for (int b = threadIdx.x; b < counters; b += kThreads) {
        unsigned long long sum = 0;
        for (int w = 0; w < kWarps; w++) sum += copies[w * counters + b];
        if (sum) atomicAdd(&counts[b], sum);
    }
}

} // namespace

WK_LAUNCHER(histogram, cuda, smem_private)
{
    return ladder::count_in_blocks(call, "smem_private", kThreads, kWarps,
                                   [](auto zero) { return histogram_private<decltype(zero)>; });
}
