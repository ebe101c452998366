// warp_groups.cuh -- groups of 32 elements, a warp each: where runs begin, whose slots.
//
// Elements are words of their size, of which one stands for all that are equal to it (prim/keys.cuh): -0.0
// is 0.0, and all NaN are one.
#pragma once
#include "prim/keys.cuh"
#include "runtime/launch.cuh"

namespace wk::groups
{

template <typename K>
using word = std::conditional_t<sizeof(K) == 8, unsigned long long, K>;

// What lanes exchange: 32 or 64 bits.
template <typename K>
using bits = std::conditional_t<sizeof(K) == 8, unsigned long long, unsigned>;

// Every lane writes one slot, heads in their order to the front, the others their zero behind: a line
// whose words are permuted costs no more than one that is written in order.
__device__ __forceinline__ int
slot_of(unsigned heads, int lane)
{
    const int rank = __popc(heads & ((1u << lane) - 1));
    return heads >> lane & 1 ? rank : __popc(heads) + lane - rank;
}

// ---- of the rungs: a warp takes one group after the other, a lane one element of each ----------

constexpr int kThreads = 256; // 8 warps hide latency

template <typename K>
struct task {
    const word<K> *in;
    int64_t n;
    word<K> *values;
    int32_t *counts, *totals;
    key_order<K> order;
};

// This lane's part of a group.
template <typename K>
struct member {
    int64_t at;   // of the group's first element, and of its first slot
    int count;    // elements that the group has: the last one may be short
    bits<K> mine; // 0 behind the end
};

template <typename K>
__device__ __forceinline__ member<K>
member_of(const task<K> &t, int64_t group, int lane)
{
    const int64_t at = group * kWarp, left = t.n - at;
    const int count = left < kWarp ? (int)left : kWarp;
    return {at, count, lane < count ? (bits<K>)t.order.one_of((K)t.in[at + lane]) : 0};
}

// The lanes whose left neighbour has another value: each begins a run.
template <typename K>
__device__ __forceinline__ unsigned
heads_of(const member<K> &m, int lane)
{
    const bits<K> left = __shfl_up_sync(kAllLanes, m.mine, 1);
    return __ballot_sync(kAllLanes, lane < m.count && (lane == 0 || m.mine != left));
}

// The slot-th run, which begins at lane `begin`, ends where the next slot's begins.
template <typename K>
__device__ __forceinline__ void
write_run(const task<K> &t, int64_t group, const member<K> &m, unsigned heads, int slot,
          int begin)
{
    const int total = __popc(heads);
    const bits<K> value = __shfl_sync(kAllLanes, m.mine, begin);
    const int next = __shfl_down_sync(kAllLanes, begin, 1);
    const int end = slot + 1 < total ? next : m.count;
    t.values[m.at + slot] = (word<K>)(slot < total ? value : 0);
    t.counts[m.at + slot] = slot < total ? end - begin : 0;
    if (slot == 0) t.totals[group] = total;
}

inline wk_status
check_sorted(wk_call *call, const char *variant)
{
    if (call->args.warp_histogram.sorted) return WK_OK;
    return WK_FAIL(&call->error, WK_EVALUE,
                   "variant '%s' of warp_histogram does not sort; it needs assume_sorted=True",
                   variant);
}

template <typename K>
task<K>
task_of(const wk_call *call)
{
    return {(const word<K> *)call->in.data, call->args.warp_histogram.n,
            (word<K> *)call->out[0].data,   (int32_t *)call->out[1].data,
            (int32_t *)call->out[2].data,   key_order<K>(call->in.dtype)};
}

template <typename K>
wk_status
launch_rung(wk_call *call, void (*kernel)(const task<K> __grid_constant__))
{
    const unsigned grid = grid_for(call, call->args.warp_histogram.n, kThreads);
    return launch(call, grid, kThreads, 0, kernel, task_of<K>(call));
}

} // namespace wk::groups
