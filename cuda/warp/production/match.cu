// match / match -- which lanes hold the same bits.
//
// In, out   in[outer][n] -> for each lane a mask: any, of the lanes that hold what it holds; all, of
//           all lanes if they hold the same, else 0.
// How       one instruction, which takes a turn for each distinct value. Absent lanes hold what the
//           first one does, and are taken out of the mask.
// Source    NVIDIA, "CUDA C++ Programming Guide", warp match functions.
#include "warp/lanes.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename U>
__global__ void
match(const lanes::task __grid_constant__ t, const U *in, uint32_t *out)
{
    lanes::for_warps(t, [&](int64_t i, int there, bool own) {
        lanes::word<U> x = own ? in[i] : 0;
        const auto first = __shfl_sync(wk::kAllLanes, x, 0);
        if (!own) x = first;
        int all = 0;
        const unsigned alike = t.args.kind == WK_LANES_MATCH_ANY
                                   ? __match_any_sync(wk::kAllLanes, x)
                                   : __match_all_sync(wk::kAllLanes, x, &all);
        if (own) out[i] = alike & lanes::present(there);
    });
}

} // namespace

WK_LAUNCHER(match, cuda, match)
{
    return wk::visit_size(call->in.dtype, [&](auto zero) -> wk_status {
        using U = decltype(zero);
        if constexpr (sizeof(U) > 8)
            return WK_OK; // the table takes none of these
        else
            return lanes::launch_lanes(call, match<U>, wk::first_element<U>(&call->in),
                                       static_cast<uint32_t *>(call->out[0].data));
    });
}
