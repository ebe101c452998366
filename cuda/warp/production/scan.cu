// warp_scan / up -- prefix folds: each lane gets the fold of those before it in its segment.
//
// In, out   in[outer][n] -> the folds; inclusive, or exclusive of the lane's own value.
// How       lanes combine what stands 1, 2, 4, 8, 16 before them: after each step a lane holds
//           the fold of twice as many. The exclusive one is the inclusive one a lane further, and
//           nothing (0, or what changes nothing) in a segment's first.
// Better    than shared memory with two barriers a step.
// Source    W. Hillis, G. Steele, "Data Parallel Algorithms" (1986).
#include "warp/fold.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename T>
__global__ void
up(const lanes::task __grid_constant__ t, lanes::source<T> in, T *out)
{
    const wk_lanes_kind kind = t.args.kind;
    const int width = t.args.width, place = threadIdx.x % wk::kWarp % width;
    lanes::for_warps(t, [&](int64_t i, int, bool own) {
        T x = lanes::value(kind, in, i, own);
        for (int step = 1; step < width; step *= 2) {
            const T before = __shfl_up_sync(wk::kAllLanes, x, step, width);
            if (place >= step) x = lanes::combine(kind, before, x);
        }
        if (t.args.exclusive) {
            const T before = __shfl_up_sync(wk::kAllLanes, x, 1, width);
            x = place ? before : kind == WK_LANES_SUM ? T{} : lanes::neutral<T>(kind);
        }
        if (own) out[i] = x;
    });
}

} // namespace

WK_LAUNCHER(warp_scan, cuda, up)
{
    return lanes::visit_folded(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return lanes::launch_fold<T>(call, up<T>);
    });
}
