// histogram / 02 smem_atomic -- each block counts in shared memory, and adds its counts once.
//
// In, out   n elements in any order, edges or none -> int64 counts[bins], and one of what is in no
//           bin where that is asked for. More counters than shared memory holds go the way of 01.
// How       counters of 32 bits in the block's shared memory; at the end each that is not zero is
//           added to the result.
// Better    than 01_global_atomic: adds stay on the chip, and a literal 1 whose result nobody reads is
//           merged among the lanes that want the same counter (ATOMS.POPC.INC: equal values take 2
//           clocks a warp, values at random 4).
// Still bad lanes that want different counters of one bank take turns: bins at random do, and worse,
//           bins that lie 32 apart. On chips before 2014 an add in shared memory was a lock and a loop,
//           and equal values took 32 turns of it; 03_smem_private has a copy for each warp.
// Source    N. Sakharnykh, "GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell" (2015).
#include "histogram/ladder/ladder.cuh"

namespace
{

namespace ladder = wk::ladder;

constexpr int kThreads =
    512; // a multiprocessor has room for four blocks, one copy of counters each

template <typename T>
__global__ void
histogram_smem(const T *in, const wk::bins_task __grid_constant__ task,
               unsigned long long *counts)
{
    WK_DYNAMIC_SHARED(unsigned, mine);
    const int counters = (int)task.args.bins + (task.args.outside != 0);
    for (int b = threadIdx.x; b < counters; b += kThreads) mine[b] = 0;
    __syncthreads(); // every counter is zero before the first add

    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < task.args.n; i += step) {
        const int64_t at = ladder::counter_of(task, in[i]);
        if (at >= 0) atomicAdd(&mine[at], 1u);
    }
    __syncthreads(); // every add is done before the counters are read

    for (int b = threadIdx.x; b < counters; b += kThreads)
        if (mine[b]) atomicAdd(&counts[b], (unsigned long long)mine[b]);
}

} // namespace

WK_LAUNCHER(histogram, cuda, smem_atomic)
{
    return ladder::count_in_blocks(call, "smem_atomic", kThreads, 1,
                                   [](auto zero) { return histogram_smem<decltype(zero)>; });
}
