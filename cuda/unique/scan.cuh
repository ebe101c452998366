// scan.cuh -- sums over what stands before: of lanes, and of a block's threads.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// The sum of x over the lanes to the left, and over all 32 in total. By all lanes.
template <typename N>
__device__ __forceinline__ N
sum_before(N x, int lane, N *total)
{
    N sum = x;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
        const N left = __shfl_up_sync(kAllLanes, sum, step);
        if (lane >= step) sum += left;
    }
    *total = __shfl_sync(kAllLanes, sum, kWarp - 1);
    return sum - x;
}

// Likewise over a block of kWarps warps; of holds a word for each. By all threads.
template <int kWarps, typename N>
__device__ __forceinline__ N
sum_before_in_block(N x, N *of, N *total)
{
    const int lane = threadIdx.x % kWarp, w = threadIdx.x / kWarp;
    N own = 0, all = 0, left = 0;
    const N before = sum_before(x, lane, &own);
    if (lane == 0) of[w] = own;
    __syncthreads(); // every warp's sum is there before it is read
#pragma unroll
    for (int i = 0; i < kWarps; i++) {
        if (i < w) left += of[i];
        all += of[i];
    }
    __syncthreads(); // every sum has been read before the next call writes
    *total = all;
    return left + before;
}

} // namespace wk
