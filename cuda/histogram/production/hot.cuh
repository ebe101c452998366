// hot.cuh -- values that are frequent: counted apart, so that no counter becomes a queue.
//
// A small kernel counts a sample in a hash table, and lists what is frequent there with a multiplier
// whose hash keeps those values apart. Counting blocks look each value up: what is in the list counts
// in a word of its own by increments, which merge. The sample decides the speed alone: counts are
// exact whatever it says.
#pragma once
#include "histogram/production/stream.cuh"
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

    // Of four values: what is hot is counted, and found says which. The others increment the word
    // `spare`: a branch around an add would cost as much as the add.
    __device__ __forceinline__ void count(unsigned *mine, unsigned spare,
                                          const unsigned (&v)[4], bool (&found)[4]) const
    {
        unsigned counter[4];
#pragma unroll
        for (int i = 0; i < 4; i++) found[i] = find(mine, v[i], &counter[i]);
#pragma unroll
        for (int i = 0; i < 4; i++) atomicAdd(&mine[found[i] ? counter[i] : spare], 1u);
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

// A vector of a lane's. Where most lanes hold equal elements, runs of them are counted at once:
// many(value, length), found by a ballot of their heads; else four(v), elements by four. All lanes of a
// warp call it. T: uint32_t or uint16_t.
template <typename T, typename F, typename M>
__device__ __forceinline__ void
by_runs(uint4 v, F &&four, M &&many)
{
    constexpr bool kHalves = sizeof(T) == 2;
    const bool same =
        v.x == v.y && v.y == v.z && v.z == v.w && (!kHalves || v.x >> 16 == (v.x & 0xffff));
    const unsigned alike = __ballot_sync(kAllLanes, same), lane = threadIdx.x % kWarp;
    if (__popc(alike) < kWarp / 2) {
        const elements<T> e = unpacked<T>(v);
#pragma unroll
        for (int k = 0; k < kEach<T>; k += 4) {
            const unsigned x[4] = {e.x[k], e.x[k + 1], e.x[k + 2], e.x[k + 3]};
            four(x);
        }
        return;
    }
    const unsigned before = __shfl_up_sync(kAllLanes, v.x, 1);
    const bool head = !same || lane == 0 || v.x != before || !(alike >> ((lane - 1) % 32) & 1);
    const unsigned heads = __ballot_sync(kAllLanes, head);
    const unsigned later = heads & (0xfffffffeu << lane);
    const unsigned length = kEach<T> * ((later ? __ffs((int)later) - 1 : 32) - lane);
#pragma unroll 1
    for (int k = same ? kEach<T> - 1 : 0; k < kEach<T>;
         k++) { // a run once, or elements one by one; a loop keeps code small
        if (head) many(kHalves ? v.x & 0xffff : v.x, same ? length : 1);
        v.x = kHalves ? __funnelshift_r(v.x, v.y, 16) : v.y;
        v.y = kHalves ? __funnelshift_r(v.y, v.z, 16) : v.z;
        v.z = kHalves ? __funnelshift_r(v.z, v.w, 16) : v.w;
        if (kHalves) v.w >>= 16;
    }
    __syncwarp(); // lanes that went apart meet again before the next ballot
}

} // namespace wk::histogram
