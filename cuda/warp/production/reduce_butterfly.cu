// warp_reduce / butterfly -- five exchanges, and every lane has the fold of its segment.
//
// In, out   in[outer][n] -> the fold of each lane's segment, in each of its lanes.
// How       a lane and its partner, `step` apart, combine what they hold, and both keep the result;
//           the step halves. Partners combine the same two values, so that all lanes end with the
//           same bits. Absent lanes hold what changes nothing.
// Better    than shfl_down where all lanes need the result: no broadcast follows.
#include "warp/fold.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename T>
__global__ void
butterfly(const lanes::task __grid_constant__ t, lanes::source<T> in, T *out)
{
    const wk_lanes_kind kind = t.args.kind;
    lanes::for_warps(t, [&](int64_t i, int, bool own) {
        T x = lanes::value(kind, in, i, own);
        for (int step = t.args.width / 2; step > 0; step /= 2)
            x = lanes::combine(kind, x, __shfl_xor_sync(wk::kAllLanes, x, step));
        if (own) out[i] = x;
    });
}

} // namespace

WK_LAUNCHER(warp_reduce, cuda, butterfly)
{
    return lanes::visit_folded(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return lanes::launch_fold<T>(call, butterfly<T>);
    });
}
