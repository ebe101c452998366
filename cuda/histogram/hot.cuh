// hot.cuh -- values that are frequent: counted apart, so that no counter becomes a queue.
//
// A small kernel counts a sample in a hash table, and lists what is frequent there with a multiplier
// whose hash keeps those values apart. Counting blocks look each value up: what is in the list counts
// in a word of its own by increments, which merge. The sample decides the speed alone: counts are
// exact whatever it says.
#pragma once
#include "histogram/stream.cuh"
#include "runtime/launch.cuh"

namespace wk::histogram
{

constexpr unsigned kMostHot = 64, kHotBits = 10, kHotSlots = 1u << kHotBits;
constexpr unsigned kHotWords = 2 * kHotSlots; // of shared memory: values, then counters
constexpr unsigned kNoValue = 0xffffffffu;    // beyond every bin

struct hot_list { // in device memory
    unsigned found, multiplier;
    unsigned value[kMostHot];
};

// What is frequent among n numbers x - first that are less than bins, to *list, a hot_list; too few for a
// sample: nothing is.
template <typename T>
wk_status sample(wk_call *call, const T *in, int64_t n, unsigned first, unsigned bins,
                 void **list);

// In a counting block: kHotWords of its shared memory, from `at` on. Places are indices, half as long
// as pointers.
struct hot_values {
    unsigned at, multiplier;

    // By all threads; there is a barrier at the end.
    __device__ __forceinline__ void start(unsigned *mine, unsigned first, const hot_list *list)
    {
        at = first;
        multiplier = list->multiplier;
        for (unsigned i = threadIdx.x; i < kHotWords; i += kThreads)
            mine[at + i] = i < kHotSlots ? kNoValue : 0;
        __syncthreads(); // the table is empty before values are put there
        if (threadIdx.x < list->found) {
            const unsigned v = list->value[threadIdx.x];
            mine[at + (v * multiplier >> (32 - kHotBits))] = v;
        }
        __syncthreads(); // every value is in its slot, and what the caller wrote is there
    }

    // Where v counts, if it is hot.
    __device__ __forceinline__ bool find(const unsigned *mine, unsigned v,
                                         unsigned *counter) const
    {
        const unsigned slot = at + (v * multiplier >> (32 - kHotBits));
        *counter = slot + kHotSlots;
        return mine[slot] == v;
    }

    __device__ __forceinline__ void add_to(const unsigned *mine, unsigned long long *counts,
                                           unsigned kept) const
    {
        for (unsigned i = threadIdx.x; i < kHotSlots; i += kThreads) {
            const unsigned v = mine[at + i], c = mine[at + kHotSlots + i];
            if (c && v < kept) atomicAdd(&counts[v], (unsigned long long)c);
        }
    }
};

// Four values of a lane. Where most lanes hold four equal ones, runs of them are counted at once:
// many(value, length), found by a ballot of their heads; else four(v). All lanes of a warp call it.
template <typename F, typename M>
__device__ __forceinline__ void
by_runs(uint4 v, F &&four, M &&many)
{
    const bool same = v.x == v.y && v.y == v.z && v.z == v.w;
    const unsigned alike = __ballot_sync(kAllLanes, same), lane = threadIdx.x % kWarp;
    if (__popc(alike) < kWarp / 2) {
        four(v);
        return;
    }
    const unsigned before = __shfl_up_sync(kAllLanes, v.x, 1);
    const bool head = !same || lane == 0 || v.x != before || !(alike >> ((lane - 1) % 32) & 1);
    const unsigned heads = __ballot_sync(kAllLanes, head);
    const unsigned later = heads & (0xfffffffeu << lane);
    const unsigned length = 4 * ((later ? __ffs((int)later) - 1 : 32) - lane);
#pragma unroll 1
    for (int k = same ? 3 : 0; k < 4;
         k++) { // a run once, or four by one; a loop keeps code small
        if (head) many(v.x, same ? length : 1);
        v.x = v.y;
        v.y = v.z;
        v.z = v.w;
    }
    __syncwarp(); // lanes that went apart meet again before the next ballot
}

} // namespace wk::histogram
