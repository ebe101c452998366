// transpose / tiles: few -- a small array, a thread an element.
//
// How       Neighbouring threads write neighbours; they read as far apart as the array has it, but the
//           sectors that are fetched for one element are still in the cache for the next. Without a
//           tile there is no barrier to wait at: what counts here is how soon the last thread
//           has read.
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

template <typename T>
__global__ void
__launch_bounds__(WK_FEW) transpose_elements(const turn_task __grid_constant__ t)
{
    const int64_t i = (int64_t)blockIdx.x * WK_FEW + threadIdx.x;
    if (i < t.rows)
        reinterpret_cast<T *>(t.out)[i] =
            *reinterpret_cast<const T *>(t.in + along(t.other, t.other_axes, i).in);
}

} // namespace

wk_status
transpose_few(wk_call *call, const wk_tiles *plan)
{
    return visit_unit(plan->unit, [&](auto zero) {
        return launch_turn(call, plan, WK_FEW, 0, transpose_elements<decltype(zero)>);
    });
}

} // namespace wk
