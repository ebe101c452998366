// stencil1d / 02 readonly -- the same loads, by the read-only cache.
//
// In, out   float32 or float64, [outer][n][inner] by two strides -> [outer][outputs][inner],
//           contiguous; any number of coefficients; ladder.cuh makes tiles of the output.
// How       `const` and `__restrict__` promise that nobody writes what is read here as long as the
//           kernel runs; `__ldg` says so for a single load, whatever the compiler can prove. Such
//           loads go by the read-only cache (LDG.E.CONSTANT instead of LDG.E).
// Better    than 01_gmem on chips of 2012 to 2014, whose L1 did not keep global memory, or not by
//           itself: the texture units' cache of 48 KiB did. Since then (Maxwell) both are one, and
//           what is left of it is the promise: loads may be moved across stores.
// Still bad two loads for one multiply-add, all the same. A coefficient is one word for the whole
//           warp, and takes as long as 32 words. 03_constant has another cache for those, and
//           shared memory for the elements.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           chapter 5, the read-only cache; NVIDIA, "CUDA C++ Programming Guide", __ldg.
#include "stencil/ladder/ladder.cuh"

namespace
{

namespace ladder = wk::ladder;

template <typename T, typename A>
__global__ void
stencil_readonly(const T *__restrict__ in, T *__restrict__ out,
                 const ladder::task __grid_constant__ task, const A *__restrict__ taps)
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
                    sum = ladder::fused(__ldg(taps + t), (A)__ldg(window + t * task.step), sum);
            } else {
                for (int64_t t = 0; t < task.taps; t++)
                    sum = ladder::fused(__ldg(taps + t), ladder::element<A>(task, at, y + t, x),
                                        sum);
            }
            at.out[y * task.inner + x] = ladder::stored<T>(sum);
        }
}

} // namespace

WK_LAUNCHER(stencil1d, cuda, readonly)
{
    return ladder::with_types(
        call, "readonly", INT64_MAX, [&](auto element, auto sum) -> wk_status {
            using T = decltype(element);
            using A = decltype(sum);
            const A *taps = ladder::taps_on_device<A>(call);
            if (taps == nullptr) return call->error.status;
            return ladder::launch_tiles(call, 1, 0, stencil_readonly<T, A>, taps);
        });
}
