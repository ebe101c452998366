// lane_arrays / registers -- lanes that hold several elements each exchange all of them, or one.
//
// In, out   in[outer][n], kEach elements a lane -> out. XOR_ARRAY: each lane has what the lane
//           `lane ^ mask` had. SWAP: of each pair of such lanes the lower one's element `first` and
//           the upper one's `second` have changed places.
// How       an array in registers has no addresses: its indices must be known when the kernel is
//           compiled, so loops over it are unrolled, and a chosen element is picked by comparisons.
//           A swap moves one register each way: every lane puts its element forward, and takes the
//           partner's in its place.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014), ch. 5.
#include "warp/lanes.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename U, int kEach>
__global__ void
registers(const lanes::task __grid_constant__ t, const U *in, U *out)
{
    using W = lanes::word<U>;
    const wk_lanes_args &a = t.args;
    const int64_t all = a.outer * t.per_line, step = (int64_t)gridDim.x * lanes::kWarps;
    const int lane = threadIdx.x % wk::kWarp;
    int64_t w = (int64_t)blockIdx.x * lanes::kWarps + threadIdx.x / wk::kWarp;
    for (; w < all; w += step) {
        const int64_t at = w % t.per_line * wk::kWarp * kEach, left = (a.n - at) / kEach;
        const int there = left < wk::kWarp ? (int)left : wk::kWarp;
        const int64_t i = w / t.per_line * a.n + at + lane * kEach;
        const int source = wk_source_lane(WK_LANES_XOR, lane, a.operand, a.width, there);
        const bool own = lane < there, paired = source != lane;
        W x[kEach];
#pragma unroll
        for (int e = 0; e < kEach; e++) x[e] = own ? in[i + e] : 0;
        if (a.kind == WK_LANES_XOR_ARRAY) {
#pragma unroll
            for (int e = 0; e < kEach; e++) {
                const W got = __shfl_xor_sync(wk::kAllLanes, x[e], a.operand, a.width);
                x[e] = paired ? got : x[e];
            }
        } else {
            const int mine = lane < source ? a.first : a.second;
            W given = 0;
#pragma unroll
            for (int e = 0; e < kEach; e++) given = e == mine ? x[e] : given;
            const W got = __shfl_xor_sync(wk::kAllLanes, given, a.operand, a.width);
#pragma unroll
            for (int e = 0; e < kEach; e++) x[e] = paired && e == mine ? got : x[e];
        }
#pragma unroll
        for (int e = 0; e < kEach; e++)
            if (own) out[i + e] = (U)x[e];
    }
}

template <typename U, int kEach>
wk_status
launch_registers(wk_call *call)
{
    return lanes::launch_lanes(call, registers<U, kEach>, wk::first_element<U>(&call->in),
                               static_cast<U *>(call->out[0].data));
}

template <typename U>
wk_status
with_elements(wk_call *call)
{
    switch (call->args.lanes.each) {
    case 2: return launch_registers<U, 2>(call);
    case 4: return launch_registers<U, 4>(call);
    case 8: return launch_registers<U, 8>(call);
    default: return launch_registers<U, 16>(call);
    }
}

} // namespace

WK_LAUNCHER(lane_arrays, cuda, registers)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) > 8)
            return WK_OK; // the table takes none of these
        else
            return with_elements<U>(call);
    });
}
