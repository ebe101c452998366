// warp_reduce / redux -- one instruction folds 32 integers of 32 bits.
//
// In, out   in[outer][n] -> the fold of each warp, in each of its lanes; width 32 alone.
// How       __reduce_add_sync, and its likes for min, max and bits: compute capability 8.0 on.
// Better    than five shuffles and five additions.
// Still bad 32-bit integers only, and whole warps.
// Source    NVIDIA, "CUDA C++ Programming Guide", warp reduce functions.
#include "warp/fold.cuh"

namespace
{

namespace lanes = wk::lanes;

template <typename T>
__device__ __forceinline__ T
folded(wk_lanes_kind kind, T x)
{
    switch (kind) {
    case WK_LANES_SUM: return __reduce_add_sync(wk::kAllLanes, x);
    case WK_LANES_MIN: return __reduce_min_sync(wk::kAllLanes, x);
    case WK_LANES_MAX: return __reduce_max_sync(wk::kAllLanes, x);
    case WK_LANES_BIT_AND: return (T)__reduce_and_sync(wk::kAllLanes, (unsigned)x);
    case WK_LANES_BIT_OR: return (T)__reduce_or_sync(wk::kAllLanes, (unsigned)x);
    default: return (T)__reduce_xor_sync(wk::kAllLanes, (unsigned)x);
    }
}

template <typename T>
__global__ void
redux(const lanes::task __grid_constant__ t, lanes::source<T> in, T *out)
{
    const wk_lanes_kind kind = t.args.kind;
    lanes::for_warps(t, [&](int64_t i, int, bool own) {
        const T x = folded(kind, lanes::value(kind, in, i, own));
        if (own) out[i] = x;
    });
}

} // namespace

WK_LAUNCHER(warp_reduce, cuda, redux)
{
    if (call->args.lanes.width != wk::kWarp)
        return WK_FAIL(&call->error, WK_EVALUE,
                       "variant 'redux' of warp_reduce folds whole warps; width is %d, not 32",
                       call->args.lanes.width);
    return lanes::visit_folded(call->in.dtype, [&](auto zero) -> wk_status {
        using T = decltype(zero);
        if constexpr (lanes::kFloat<T> || sizeof(T) > 4)
            return WK_OK; // the table takes none of these
        else
            return lanes::launch_fold<T>(call, redux<T>);
    });
}
