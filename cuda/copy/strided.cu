// copy / strided -- each thread copies elements from where one layout has them to another's.
//
// In, out   any strides and number of axes on both sides.
// Still bad two divisions an axis and element, and reads that coalesce only if the last axis is
//           contiguous: it serves views that no kernel takes as they are.
#include "copy/strided.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"
#include "runtime/visit.cuh"

#include "plan.h"

namespace
{

constexpr int kThreads = 256; // any multiple of a warp does: no thread needs another

template <typename T>
__global__ void
copy_elements(const T *in, T *out, int64_t n, const wk::long_layout __grid_constant__ from,
              const wk::long_layout __grid_constant__ to)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < n; i += step)
        out[wk::offset_of(to, i)] = in[wk::offset_of(from, i)];
}

} // namespace

wk_status
wk::copy_strided(wk_call *call, const wk_array *from, const wk_array *to)
{
    wk_array a = *from, b = *to;
    if (wk_c_contiguous(&b)) wk_fuse(&a, 0); // C order is all that the other side needs to keep
    if (wk_c_contiguous(&b)) wk_fuse(&b, 0);
    return visit_size(a.dtype, [&](auto zero) {
        using T = decltype(zero);
        const int64_t n = wk_size(&a);
        return launch(call, grid_for(call, n, kThreads), kThreads, 0, copy_elements<T>,
                      first_element<T>(&a), const_cast<T *>(first_element<T>(&b)), n,
                      axes_of<WK_MAX_DIMS>(&a, 0, a.ndim), axes_of<WK_MAX_DIMS>(&b, 0, b.ndim));
    });
}

wk_status
wk::pack(wk_call *call, const wk_array *a, void *to)
{
    wk_array packed = *a;
    wk_set_contiguous(&packed);
    packed.data = to;
    packed.first = 0;
    return copy_strided(call, a, &packed);
}
