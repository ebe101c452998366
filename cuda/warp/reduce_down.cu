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
down(const lanes::task __grid_constant__ t, const T *in, T *out)
{
    const wk_lanes_kind kind = t.args.kind;
    lanes::for_warps(t, [&](int64_t i, int, bool own) {
        T x = own ? in[i] : lanes::neutral<T>(kind);
        for (int step = t.args.width / 2; step > 0; step /= 2)
            x = lanes::combine(kind, x, __shfl_down_sync(wk::kAllLanes, x, step, t.args.width));
        if (own) out[i] = x;
    });
}

} // namespace

extern "C" wk_status
wk_warp_reduce_cuda_down(wk_call *call)
{
    return lanes::visit_fold(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return lanes::launch_lanes(call, down<T>, wk::first_element<T>(&call->in),
                                   static_cast<T *>(call->out[0].data));
    });
}
