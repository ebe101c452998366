// warp.cuh -- what 32 lanes do together; every lane of the warp must call these.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// Ascending over the lanes: Batcher's bitonic network, 15 exchanges of neighbours in a
// register.
template <typename K>
__device__ K
sort_lanes(K key, int lane)
{
#pragma unroll
    for (int size = 2; size <= kWarp; size *= 2) {
#pragma unroll
        for (int step = size / 2; step > 0; step /= 2) {
            const K other = __shfl_xor_sync(kAllLanes, key, step);
            const bool smaller = ((lane & step) == 0) == ((lane & size) == 0);
            key = (key < other) == smaller ? key : other;
        }
    }
    return key;
}

} // namespace wk
