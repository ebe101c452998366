// warp_histogram / sorted_smem -- lanes count their runs together, and heads leave by shared memory.
//
// In, out   in[n], each group of 32 ascending -> values[groups][32], counts[groups][32],
//           totals[groups]; zeros behind.
// How       a lane asks its left neighbour for its value: another one makes it the head of a run.
//           Lengths double: in step d = 1, 2, 4, 8, 16 a lane whose run fills all of the d lanes that
//           it has seen adds what the lane d further on has, if that goes on with its value. The
//           ballot of heads tells each its rank, and at that place in shared memory it leaves value
//           and length; then lane i stores what lies at i.
// Better    than a counter for each value: nothing is known of the values, and nothing is atomic.
// Still bad 11 shuffles, though the ballot tells already where each run ends; and two rows of shared
//           memory are written and read only to move results from one lane to another.
//           sorted_linear does without both.
// Source    G. Blelloch, "Prefix sums and their applications" (1990), segmented scans;
//           NVIDIA, "CUDA C++ Programming Guide", warp shuffle functions.
#include "histogram/warp_groups.cuh"

namespace
{

namespace groups = wk::groups;

constexpr int kWarps = groups::kThreads / wk::kWarp;

// Of the elements that follow each other from this lane's on, how many are equal to it.
template <typename K>
__device__ int
run_length(const groups::member<K> &m, int lane)
{
    int length = lane < m.count;
#pragma unroll
    for (int d = 1; d < wk::kWarp; d *= 2) {
        const groups::bits<K> other = __shfl_down_sync(wk::kAllLanes, m.mine, d);
        const int more = __shfl_down_sync(wk::kAllLanes, length, d);
        if (length == d && lane + d < wk::kWarp && other == m.mine) length += more;
    }
    return length;
}

template <typename K>
__global__ void
sorted_smem(const groups::task<K> __grid_constant__ t)
{
    __shared__ groups::word<K> values[kWarps][wk::kWarp];
    __shared__ int counts[kWarps][wk::kWarp];
    const int lane = threadIdx.x % wk::kWarp, warp = threadIdx.x / wk::kWarp;
    int64_t group = (int64_t)blockIdx.x * kWarps + warp;
    for (; group * wk::kWarp < t.n; group += (int64_t)gridDim.x * kWarps) {
        const groups::member<K> m = groups::member_of(t, group, lane);
        const unsigned heads = groups::heads_of(m, lane);
        const int length = run_length(m, lane);
        values[warp][lane] = 0;
        counts[warp][lane] = 0;
        __syncwarp(); // all slots are zero before heads take theirs; the last group's were read
        if (heads >> lane & 1) {
            const int rank = groups::slot_of(heads, lane);
            values[warp][rank] = (groups::word<K>)m.mine;
            counts[warp][rank] = length;
        }
        __syncwarp(); // heads have written before other lanes read
        t.values[m.at + lane] = values[warp][lane];
        t.counts[m.at + lane] = counts[warp][lane];
        if (lane == 0) t.totals[group] = __popc(heads);
    }
}

} // namespace

WK_LAUNCHER(warp_histogram, cuda, sorted_smem)
{
    if (groups::check_sorted(call, "sorted_smem") != WK_OK) return call->error.status;
    return wk::visit_word(call->in.dtype, [&](auto zero) {
        return groups::launch_rung(call, sorted_smem<decltype(zero)>);
    });
}
