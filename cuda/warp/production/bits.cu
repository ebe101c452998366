// lane_bits / bits -- how many bits of a word are set, and where the nth of them is.
//
// In, out   in[n] -> int32 counts; or uint32 places, all ones where there is no such bit.
// How       __popc is an instruction. __fns finds the offset-th set bit from `base` upwards, with a
//           negative offset downwards, with 0 at `base` alone: it has a name and no instruction.
// Source    NVIDIA, "CUDA C++ Programming Guide", integer intrinsics; "PTX ISA", fns.
#include "warp/lanes.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename U>
__global__ void
count_bits(const lanes::task __grid_constant__ t, const U *in, int32_t *out)
{
    lanes::for_warps(t, [&](int64_t i, int, bool own) {
        if (own) out[i] = sizeof(U) == 8 ? __popcll(in[i]) : __popc((unsigned)in[i]);
    });
}

template <typename U>
__global__ void
find_bits(const lanes::task __grid_constant__ t, const U *in, uint32_t *out)
{
    const wk_lanes_args &a = t.args;
    lanes::for_warps(t, [&](int64_t i, int, bool own) {
        if (own) out[i] = __fns((unsigned)in[i], (unsigned)a.operand, a.offset);
    });
}

} // namespace

WK_LAUNCHER(lane_bits, cuda, bits)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) > 8) {
            return WK_OK; // the table takes none of these
        } else {
            const U *in = wk::first_element<U>(&call->in);
            void *out = call->out[0].data;
            return call->args.lanes.kind == WK_LANES_FNS
                       ? lanes::launch_lanes(call, find_bits<U>, in,
                                             static_cast<uint32_t *>(out))
                       : lanes::launch_lanes(call, count_bits<U>, in,
                                             static_cast<int32_t *>(out));
        }
    });
}
