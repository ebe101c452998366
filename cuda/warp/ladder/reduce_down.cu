// warp_reduce / down -- the tree as books draw it: a lane combines what stands `step` above it.
//
// In, out   in[outer][n] -> in the first lane of each segment the fold of it; in the others what
//           the steps leave there.
// How       the step halves; after the last only a segment's first lane has seen all. A lane
//           whose source lies past its segment gets its own value, and combines that.
// Still bad half as many lanes do useful work at each step, and whoever needs the result must be
//           told.
#include "warp/fold.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename T>
__global__ void
down(const lanes::task __grid_constant__ t, lanes::source<T> in, T *out)
{
    const wk_lanes_kind kind = t.args.kind;
    lanes::for_warps(t, [&](int64_t i, int, bool own) {
        T x = lanes::value(kind, in, i, own);
        for (int step = t.args.width / 2; step > 0; step /= 2)
            x = lanes::combine(kind, x, __shfl_down_sync(wk::kAllLanes, x, step, t.args.width));
        if (own) out[i] = x;
    });
}

} // namespace

WK_LAUNCHER(warp_reduce, cuda, down)
{
    return lanes::visit_folded(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return lanes::launch_fold<T>(call, down<T>);
    });
}
