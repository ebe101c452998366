// warp_histogram / fns -- the function that CUDA has for it: find the nth set bit.
//
// In, out   in[n], each group of 32 ascending -> values[groups][32], counts[groups][32],
//           totals[groups]; zeros behind.
// How       __fns(mask, base, offset) is the place of the offset-th set bit from `base` upwards, the
//           one at `base` included; with a negative offset it looks downwards, with 0 at `base` alone;
//           all ones where there is none. Lane k asks for the k + 1st head from 0 on.
// Better    to read than sorted_select.
// Still bad no GPU has such an instruction: the compiler writes a loop over the bits. A name of its own
//           does not make it fast: look at the SASS.
// Source    NVIDIA, "PTX ISA", fns.
#include "histogram/warp_groups.cuh"

namespace
{

namespace groups = wk::groups;

constexpr int kWarps = groups::kThreads / wk::kWarp;

template <typename K>
__global__ void
fns(const groups::task<K> __grid_constant__ t)
{
    const int lane = threadIdx.x % wk::kWarp;
    int64_t group = (int64_t)blockIdx.x * kWarps + threadIdx.x / wk::kWarp;
    for (; group * wk::kWarp < t.n; group += (int64_t)gridDim.x * kWarps) {
        const groups::member<K> m = groups::member_of(t, group, lane);
        const unsigned heads = groups::heads_of(m, lane);
        groups::write_run(t, group, m, heads, lane, (int)__fns(heads, 0, lane + 1));
    }
}

} // namespace

WK_LAUNCHER(warp_histogram, cuda, fns)
{
    if (groups::check_sorted(call, "fns") != WK_OK) return call->error.status;
    return wk::visit_word(call->in.dtype, [&](auto zero) {
        return groups::launch_rung(call, fns<decltype(zero)>);
    });
}
