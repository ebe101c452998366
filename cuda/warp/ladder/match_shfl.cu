// match / shfl -- what a match does by shuffles: each lane is compared with each.
//
// In, out   in[outer][n] -> masks, as match.cu.
// How       in 32 steps every lane gets one lane's value and notes whether it is its own.
// Still bad 32 shuffles, or 64 of 8 bytes, whatever the lanes hold.
#include "warp/lanes.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename U>
__global__ void
match_shfl(const lanes::task __grid_constant__ t, const U *in, uint32_t *out)
{
    lanes::for_warps(t, [&](int64_t i, int there, bool own) {
        const lanes::word<U> x = own ? in[i] : 0;
        const unsigned here = lanes::present(there);
        unsigned alike = 0;
        for (int k = 0; k < wk::kWarp; k++)
            alike |= (unsigned)(__shfl_sync(wk::kAllLanes, x, k) == x) << k;
        alike &= here;
        if (t.args.kind == WK_LANES_MATCH_ALL)
            alike = __all_sync(wk::kAllLanes, alike == here || !own) ? here : 0;
        if (own) out[i] = alike;
    });
}

} // namespace

WK_LAUNCHER(match, cuda, shfl)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) > 8)
            return WK_OK; // the table takes none of these
        else
            return lanes::launch_lanes(call, match_shfl<U>, wk::first_element<U>(&call->in),
                                       static_cast<uint32_t *>(call->out[0].data));
    });
}
