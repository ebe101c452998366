// vote / vote -- what is true in which lanes: ballot, any, all.
//
// In, out   in[outer][n] -> a word of bits, or whether any or all are set, for each lane.
// How       a lane's condition is a predicate; one instruction gathers 32 of them into a word that
//           every lane gets. Absent lanes vote no; to `all` they vote yes.
// Source    NVIDIA, "CUDA C++ Programming Guide", warp vote functions.
#include "warp/lanes.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename U>
__global__ void
vote(const lanes::task __grid_constant__ t, const U *in, U value, void *out)
{
    lanes::for_warps(t, [&](int64_t i, int there, bool own) {
        const bool holds = own && (in[i] & value) != 0;
        if (t.args.kind == WK_LANES_BALLOT) {
            const unsigned ballot = __ballot_sync(wk::kAllLanes, holds);
            if (own) static_cast<uint32_t *>(out)[i] = ballot;
            return;
        }
        const bool any = __any_sync(wk::kAllLanes, holds);
        const bool all = __all_sync(wk::kAllLanes, holds || !own);
        if (own) static_cast<uint8_t *>(out)[i] = t.args.kind == WK_LANES_ANY ? any : all;
    });
}

// The bits that make a number another than zero: not those of a float's sign.
template <typename U>
U
value_bits(wk_dtype dtype)
{
    switch (dtype) {
    case WK_F16:
    case WK_BF16: return (U)0x7fff;
    case WK_F32: return (U)0x7fffffffu;
    case WK_F64: return (U)0x7fffffffffffffffu;
    case WK_C64: return (U)0x7fffffff7fffffffu;
    default: return (U) ~(U)0;
    }
}

} // namespace

WK_LAUNCHER(vote, cuda, vote)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) > 8)
            return WK_OK; // the table takes none of these
        else
            return lanes::launch_lanes(call, vote<U>, wk::first_element<U>(&call->in),
                                       value_bits<U>(call->in.dtype), call->out[0].data);
    });
}
