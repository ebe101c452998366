// stencil1d / 05 smem_readonly -- elements in shared memory, coefficients by the read-only cache.
//
// In, out   float32 or float64, [outer][n][inner] by two strides -> [outer][outputs][inner],
//           contiguous; up to 1024 coefficients; ladder.cuh makes tiles of the output.
// How       03_constant's tile; the coefficients lie in global memory and come by __ldg. A lane may
//           want any of them: the cache serves whole sectors of 32 bytes, so that 32 neighbouring
//           words take as long as one.
// Better    than 04_constant_divergent, by far, and than any symbol where lanes index apart or the
//           table is larger than the constant cache. Coefficients are the call's own: streams do
//           not wait for each other. Than 02_readonly: elements come from shared memory, by an
//           address that is a sum of small numbers.
// Still bad than 03_constant: where all lanes want the same coefficient, a load of it takes a place
//           among the loads of elements, two for a multiply-add again. 06_registers has neither the
//           loads nor the turns.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           chapter 5, comparing constant memory with the read-only cache.
#include "stencil/ladder/ladder.cuh"

namespace
{

namespace ladder = wk::ladder;

constexpr int kTaps = 1024; // the halo of as many leaves room for a tile's rows
constexpr int kRoom = 2048; // 16 KiB of double: 8 blocks, all threads of a multiprocessor, fit

template <typename T, typename A>
__global__ void
stencil_smem_readonly(const T *in, T *out, const ladder::task __grid_constant__ task,
                      const A *__restrict__ taps)
{
    __shared__ A shared[kRoom];
    const int x = threadIdx.x, y = threadIdx.y, pitch = blockDim.x, count = (int)task.taps;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t row = blockIdx.x; row * task.high < task.outputs; row += gridDim.x) {
            const ladder::tile<T> at = ladder::tile_at(task, strip, row, in, out);
            ladder::fill(task, at, shared);
            __syncthreads(); // the tile is full before windows are read
            const A *window = shared + y * pitch + x;
            A sum = 0;
            for (int t = 0; t < count; t++)
                sum = ladder::fused(__ldg(taps + t), window[t * pitch], sum);
            if (x < at.wide && y < at.high) at.out[y * task.inner + x] = ladder::stored<T>(sum);
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

} // namespace

WK_LAUNCHER(stencil1d, cuda, smem_readonly)
{
    return ladder::with_types(
        call, "smem_readonly", kTaps, [&](auto element, auto sum) -> wk_status {
            using T = decltype(element);
            using A = decltype(sum);
            const A *taps = ladder::taps_on_device<A>(call);
            if (taps == nullptr) return call->error.status;
            return ladder::launch_tiles(call, 1, kRoom, stencil_smem_readonly<T, A>, taps);
        });
}
