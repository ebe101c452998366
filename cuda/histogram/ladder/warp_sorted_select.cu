// warp_histogram / sorted_select -- each lane finds its head by halving, in five steps.
//
// In, out   in[n], each group of 32 ascending -> values[groups][32], counts[groups][32],
//           totals[groups]; zeros behind.
// How       are there more than k heads in the lower 16 bits? Then the one that lane k looks for is
//           there, else it is above, and that many have been passed: 16, 8, 4, 2, 1 bits.
// Better    than sorted_linear: five steps, the same for all lanes and all data, and no branch; about
//           five instructions each.
// Still bad results are fetched: a lane must know whose it wants. Who has a result knows at once where
//           it goes, by counting the heads before it: the production kernel sends. And a warp has one
//           load on its way at a time.
// Source    S. E. Anderson, "Bit Twiddling Hacks", select the bit position with the given rank.
#include "histogram/warp_groups.cuh"

namespace
{

namespace groups = wk::groups;

constexpr int kWarps = groups::kThreads / wk::kWarp;

// The place of the bit before which there are `rank` others, if there is one; 0 to 31.
__device__ __forceinline__ int
nth_bit(unsigned bits, int rank)
{
    int at = 0;
#pragma unroll
    for (int half = wk::kWarp / 2; half > 0; half /= 2) {
        const int below = __popc(bits >> at & ((1u << half) - 1));
        const bool above = rank >= below;
        at += above ? half : 0;
        rank -= above ? below : 0;
    }
    return at;
}

template <typename K>
__global__ void
sorted_select(const groups::task<K> __grid_constant__ t)
{
    const int lane = threadIdx.x % wk::kWarp;
    int64_t group = (int64_t)blockIdx.x * kWarps + threadIdx.x / wk::kWarp;
    for (; group * wk::kWarp < t.n; group += (int64_t)gridDim.x * kWarps) {
        const groups::member<K> m = groups::member_of(t, group, lane);
        const unsigned heads = groups::heads_of(m, lane);
        groups::write_run(t, group, m, heads, lane, nth_bit(heads, lane));
    }
}

} // namespace

WK_LAUNCHER(warp_histogram, cuda, sorted_select)
{
    if (groups::check_sorted(call, "sorted_select") != WK_OK) return call->error.status;
    return wk::visit_word(call->in.dtype, [&](auto zero) {
        return groups::launch_rung(call, sorted_select<decltype(zero)>);
    });
}
