// shfl / shfl -- a lane reads another lane's register.
//
// In, out   in[outer][n] -> out, each element that of the lane it comes from.
// How       one instruction a warp: it names a source lane, a distance or a mask, and segments of
//           `width` lanes that it does not leave. A lane whose source lies outside keeps its own
//           value. A rotation is a shuffle by index: the instruction takes that modulo the width.
// Better    than shared memory: no store, no barrier, no banks.
// Still bad a lane without an element has nothing to give, which the instruction cannot know: the
//           last warp's lanes look whether their source is there.
// Source    NVIDIA, "CUDA C++ Programming Guide", warp shuffle functions.
#include "warp/lanes.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename W>
__device__ __forceinline__ W
shuffled(const wk_lanes_args &a, W x, int lane, int operand)
{
    switch (a.kind) {
    case WK_LANES_UP: return __shfl_up_sync(wk::kAllLanes, x, operand, a.width);
    case WK_LANES_DOWN: return __shfl_down_sync(wk::kAllLanes, x, operand, a.width);
    case WK_LANES_XOR: return __shfl_xor_sync(wk::kAllLanes, x, operand, a.width);
    case WK_LANES_ROTATE: return __shfl_sync(wk::kAllLanes, x, lane + operand, a.width);
    default: return __shfl_sync(wk::kAllLanes, x, operand, a.width);
    }
}

template <typename U>
__global__ void
shfl(const lanes::task __grid_constant__ t, const U *in, U *out)
{
    const int lane = threadIdx.x % wk::kWarp;
    lanes::for_warps(t, [&](int64_t i, int there, bool own) {
        const lanes::word<U> x = own ? in[i] : 0;
        const int operand = t.sources && own ? t.sources[i] : t.args.operand;
        const auto got = shuffled(t.args, x, lane, operand);
        const int source = wk_source_lane(t.args.kind, lane, operand, t.args.width, there);
        if (own) out[i] = (U)(source == lane ? x : got);
    });
}

} // namespace

WK_LAUNCHER(shfl, cuda, shfl)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) > 8)
            return WK_OK; // the table takes none of these
        else
            return lanes::launch_lanes(call, shfl<U>, wk::first_element<U>(&call->in),
                                       static_cast<U *>(call->out[0].data));
    });
}
