// stencil1d / 01 gmem -- everything from global memory: elements and coefficients.
//
// In, out   float32 or float64, [outer][n][inner] by two strides -> [outer][outputs][inner],
//           contiguous; any number of coefficients; ladder.cuh makes tiles of the output.
// How       a thread makes one output: for each coefficient it loads that, and the element that
//           belongs to it, and does one multiply-add. Coefficients are added in their order.
// Better    than it looks: neighbouring outputs want the same elements but one, and all want the
//           same coefficients, so that most loads find theirs in the L1, and memory is read about
//           once.
// Still bad two loads for one multiply-add. What comes from the L1 has still been asked for: the
//           unit that serves a warp's loads is busy long before memory is. And the compiler cannot
//           know that `out` is not where `taps` is: it must load them again for each output.
//           02_readonly promises that.
// Source    P. Micikevicius, "3D Finite Difference Computation on GPUs using CUDA" (2009);
//           scipy.ndimage.correlate1d for the meaning.
#include "stencil/ladder/ladder.cuh"

namespace
{

namespace ladder = wk::ladder;

template <typename T, typename A>
__global__ void
stencil_gmem(const T *in, T *out, const ladder::task __grid_constant__ task, const A *taps)
{
    const int x = threadIdx.x, y = threadIdx.y;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t row = blockIdx.x; row * task.high < task.outputs; row += gridDim.x) {
            const ladder::tile<T> at = ladder::tile_at(task, strip, row, in, out);
            if (x >= at.wide || y >= at.high) continue;
            A sum = 0;
            if (at.inside) {
                const T *window = at.in + (at.first + y) * task.step + x;
                for (int64_t t = 0; t < task.taps; t++)
                    sum = ladder::fused(taps[t], (A)window[t * task.step], sum);
            } else {
                for (int64_t t = 0; t < task.taps; t++)
                    sum = ladder::fused(taps[t], ladder::element<A>(task, at, y + t, x), sum);
            }
            at.out[y * task.inner + x] = ladder::stored<T>(sum);
        }
}

} // namespace

WK_LAUNCHER(stencil1d, cuda, gmem)
{
    return ladder::with_types(
        call, "gmem", INT64_MAX, [&](auto element, auto sum) -> wk_status {
            using T = decltype(element);
            using A = decltype(sum);
            const A *taps = ladder::taps_on_device<A>(call);
            if (taps == nullptr) return call->error.status;
            return ladder::launch_tiles(call, 1, 0, stencil_gmem<T, A>, taps);
        });
}
