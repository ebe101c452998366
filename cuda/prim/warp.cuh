// warp.cuh -- what 32 lanes do together; every lane of the warp must call these.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// Batcher's bitonic network, of 15 exchanges. Bit i: in the i-th this lane keeps the larger key.
__device__ __forceinline__ unsigned
sort_turns(int lane)
{
    unsigned turns = 0;
    int i = 0;
#pragma unroll
    for (int size = 2; size <= kWarp; size *= 2)
#pragma unroll
        for (int step = size / 2; step > 0; step /= 2, i++)
            turns |= (unsigned)(((lane & step) == 0) != ((lane & size) == 0)) << i;
    return turns;
}

// N times 32 keys, each in ascending order over the lanes. N shuffles wait together, and share what
// decides an exchange.
template <int N>
__device__ __forceinline__ void
sort_lanes(unsigned (&key)[N], unsigned turns)
{
    int i = 0;
#pragma unroll
    for (int size = 2; size <= kWarp; size *= 2)
#pragma unroll
        for (int step = size / 2; step > 0; step /= 2, i++) {
            const bool larger = turns >> i & 1;
#pragma unroll
            for (int k = 0; k < N; k++) { // one instruction, whose predicate says which
                const unsigned other = __shfl_xor_sync(kAllLanes, key[k], step);
                key[k] = larger ? max(key[k], other) : min(key[k], other);
            }
        }
}

template <int N>
__device__ __forceinline__ void
sort_lanes(unsigned long long (&key)[N], unsigned turns)
{
    int i = 0;
#pragma unroll
    for (int size = 2; size <= kWarp; size *= 2)
#pragma unroll
        for (int step = size / 2; step > 0; step /= 2, i++) {
            const bool larger = turns >> i & 1;
#pragma unroll
            for (int k = 0; k < N; k++) { // compared once: 64 bits have no such instruction
                const unsigned long long other = __shfl_xor_sync(kAllLanes, key[k], step);
                key[k] = (key[k] < other) == larger ? other : key[k];
            }
        }
}

} // namespace wk
