// histogram / 04 match_any -- lanes that want the same counter add together: one atomic a value.
//
// In, out   n elements in any order, edges or none -> int64 counts[bins], and one of what is in no
//           bin where that is asked for. More counters than shared memory holds go the way of 01.
// How       __match_any_sync tells each lane which lanes have its counter. The first of them adds their
//           number, the others nothing. All lanes of a warp make the same trips, those behind the end
//           with no counter, for none may miss the match.
// Better    than 02_smem_atomic on a chip that does not merge: equal values are one add, and no two
//           lanes of a warp ever want one address.
// Still bad the match takes a turn, two clocks, for each distinct value in the warp: 64 where all
//           differ, and the adds come on top. Shared memory merges an add of 1 by itself, 02 needs no
//           help; but an add of a number it does not merge. It is worth its time where the add itself
//           is dear: on one hot 64-bit counter in global memory, or of floats.
// Source    E. Westphal, "Voting and Shuffling to Optimize Atomic Operations" (2015); NVIDIA, "CUDA
//           C++ Programming Guide", warp match functions.
#include "histogram/ladder/ladder.cuh"

namespace
{

namespace ladder = wk::ladder;

constexpr int kThreads = 512; // as 02_smem_atomic

template <typename T>
__global__ void
histogram_match(const T *in, const wk::bins_task __grid_constant__ task,
                unsigned long long *counts)
{
    WK_DYNAMIC_SHARED(unsigned, mine);
    const int counters = (int)task.args.bins + (task.args.outside != 0);
    for (int b = threadIdx.x; b < counters; b += kThreads) mine[b] = 0;
    __syncthreads(); // every counter is zero before the first add

    const int lane = threadIdx.x % wk::kWarp;
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t trip = (int64_t)blockIdx.x * kThreads; trip < task.args.n; trip += step) {
        const int64_t i = trip + threadIdx.x;
        const int at = i < task.args.n ? (int)ladder::counter_of(task, in[i]) : -1;
        const unsigned alike = __match_any_sync(wk::kAllLanes, at);
        const bool first = __ffs((int)alike) - 1 == lane;
        if (first && at >= 0) atomicAdd(&mine[at], (unsigned)__popc(alike));
    }
    __syncthreads(); // every add is done before the counters are read

    for (int b = threadIdx.x; b < counters; b += kThreads)
        if (mine[b]) atomicAdd(&counts[b], (unsigned long long)mine[b]);
}

} // namespace

WK_LAUNCHER(histogram, cuda, match_any)
{
    return ladder::count_in_blocks(call, "match_any", kThreads, 1,
                                   [](auto zero) { return histogram_match<decltype(zero)>; });
}
