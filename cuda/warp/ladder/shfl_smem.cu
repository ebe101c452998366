// shfl / smem -- what a shuffle replaces: lanes pass values through shared memory.
//
// In, out   in[outer][n] -> out, each element that of the lane it comes from.
// How       a lane stores its value, the warp waits, the lane loads its source's. Another barrier
//           keeps the next warp's values from overtaking.
// Still bad three instructions and two barriers where one would do, and memory for it.
#include "warp/lanes.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename U>
__global__ void
shfl_smem(const lanes::task __grid_constant__ t, const U *in, U *out)
{
    __shared__ U values[lanes::kWarps][wk::kWarp];
    const int lane = threadIdx.x % wk::kWarp;
    U *mine = values[threadIdx.x / wk::kWarp];
    lanes::for_warps(t, [&](int64_t i, int there, bool own) {
        const int operand = t.sources && own ? t.sources[i] : t.args.operand;
        const int source = wk_source_lane(t.args.kind, lane, operand, t.args.width, there);
        if (own) mine[lane] = in[i];
        __syncwarp(); // every value is there before it is fetched
        if (own) out[i] = mine[source];
        __syncwarp(); // every value has been fetched before the next is stored
    });
}

} // namespace

WK_LAUNCHER(shfl, cuda, smem)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) > 8)
            return WK_OK; // the table takes none of these
        else
            return lanes::launch_lanes(call, shfl_smem<U>, wk::first_element<U>(&call->in),
                                       static_cast<U *>(call->out[0].data));
    });
}
