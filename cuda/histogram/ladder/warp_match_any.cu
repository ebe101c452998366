// warp_histogram / match_any -- one instruction tells each lane who has its value.
//
// In, out   in[n] in any order -> values[groups][32] in the order in which they first appear,
//           counts[groups][32], totals[groups]; zeros behind.
// How       __match_any_sync gives each lane the mask of the lanes whose bits are its own: their
//           number is the count, and the first of them speaks for all. Bits must be equal where
//           values are: -0.0 becomes 0.0, and every NaN the same one, before they are compared. What
//           lies behind a short group's end matches too, and is taken out of the mask.
// Better    than sorting where few values differ: nothing is sorted. For up to 4 distinct values it
//           takes no longer than the memory does.
// Still bad the instruction takes a turn, two clocks, for each distinct value: 32 of them take twice
//           the memory's time, where the production kernel's network takes the same for any data. And
//           the order of first appearance is not numpy.unique's.
// Source    NVIDIA, "CUDA C++ Programming Guide", warp match functions.
#include "histogram/warp_groups.cuh"

namespace
{

namespace groups = wk::groups;

constexpr int kWarps = groups::kThreads / wk::kWarp;

template <typename K>
__global__ void
match_any(const groups::task<K> __grid_constant__ t)
{
    const int lane = threadIdx.x % wk::kWarp;
    int64_t group = (int64_t)blockIdx.x * kWarps + threadIdx.x / wk::kWarp;
    for (; group * wk::kWarp < t.n; group += (int64_t)gridDim.x * kWarps) {
        const groups::member<K> m = groups::member_of(t, group, lane);
        const unsigned there = wk::kAllLanes >> (wk::kWarp - m.count);
        const unsigned alike = __match_any_sync(wk::kAllLanes, m.mine) & there;
        const bool head = __ffs((int)alike) - 1 == lane;
        const unsigned heads = __ballot_sync(wk::kAllLanes, head);
        const int64_t slot = m.at + groups::slot_of(heads, lane);
        t.values[slot] = (groups::word<K>)(head ? m.mine : 0);
        t.counts[slot] = head ? __popc(alike) : 0;
        if (lane == 0) t.totals[group] = __popc(heads);
    }
}

} // namespace

WK_LAUNCHER(warp_histogram, cuda, match_any)
{
    return wk::visit_word(call->in.dtype, [&](auto zero) {
        return groups::launch_rung(call, match_any<decltype(zero)>);
    });
}
