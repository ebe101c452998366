// warp_histogram / sorted_linear -- each lane looks for its head among the bits of a ballot.
//
// In, out   in[n], each group of 32 ascending -> values[groups][32], counts[groups][32],
//           totals[groups]; zeros behind.
// How       the ballot of heads holds all there is to know: bit i says whether a run begins at lane i.
//           Lane k goes through the bits until it has met k + 1 of them: there its run begins, and it
//           ends where that of lane k + 1 begins. One shuffle fetches the value from there.
// Better    than sorted_smem: 3 shuffles instead of 11, no shared memory; all lanes know all.
// Still bad the loop goes on until the last lane has found its head, or seen that there is none: 32
//           turns, nearly always. sorted_select takes five.
// Source    NVIDIA, "CUDA C++ Programming Guide", warp vote functions.
#include "histogram/warp_groups.cuh"

namespace
{

namespace groups = wk::groups;

constexpr int kWarps = groups::kThreads / wk::kWarp;

// The place of the bit before which there are `rank` others; 32: there is none.
__device__ __forceinline__ int
nth_bit(unsigned bits, int rank)
{
    int at = 0, met = 0;
    for (; at < wk::kWarp; at++)
        if ((bits >> at & 1) && met++ == rank) break;
    return at;
}

template <typename K>
__global__ void
sorted_linear(const groups::task<K> __grid_constant__ t)
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

WK_LAUNCHER(warp_histogram, cuda, sorted_linear)
{
    if (groups::check_sorted(call, "sorted_linear") != WK_OK) return call->error.status;
    return wk::visit_word(call->in.dtype, [&](auto zero) {
        return groups::launch_rung(call, sorted_linear<decltype(zero)>);
    });
}
