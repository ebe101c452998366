// stencil1d / 04 constant_divergent -- the same, but each lane reads another word of the symbol.
//
// In, out   float32 or float64, [outer][n][inner] by two strides -> [outer][outputs][inner],
//           contiguous; up to 128 coefficients; ladder.cuh makes tiles of the output.
// How       03_constant with a copy of the coefficients for each lane: lane l reads the l-th copy.
//           The numbers are the same, and so are their order and the result. Only the addresses
//           differ, as they do wherever a table is indexed by what a thread has, and not by what all
//           have.
// Better    in nothing. It is here for the difference.
// Still bad the constant cache serves one word at a time to a warp. Where all lanes want the same
//           one, that is the fastest read there is; 32 different ones take 32 passes, each as long.
//           A table that lanes index apart belongs into shared memory, or into global memory by the
//           read-only cache: 05_smem_readonly.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           chapter 5; NVIDIA, "CUDA C++ Best Practices Guide", constant memory.
#include "stencil/ladder/ladder.cuh"

#include <cstring>

namespace
{

namespace ladder = wk::ladder;

constexpr int kTaps = 128;  // 32 copies in both types are 48 KiB, of 64 that a module has
constexpr int kRoom = 2048; // 16 KiB of double: 8 blocks, all threads of a multiprocessor, fit

template <typename A>
__constant__ A symbol[wk::kWarp * kTaps];

ladder::turns turns;

template <typename T, typename A>
__global__ void
stencil_constant_divergent(const T *in, T *out, const ladder::task __grid_constant__ task)
{
    __shared__ A shared[kRoom];
    const int x = threadIdx.x, y = threadIdx.y, pitch = blockDim.x, taps = (int)task.taps;
    const int lane = (y * pitch + x) % wk::kWarp;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t row = blockIdx.x; row * task.high < task.outputs; row += gridDim.x) {
            const ladder::tile<T> at = ladder::tile_at(task, strip, row, in, out);
            ladder::fill(task, at, shared);
            __syncthreads(); // the tile is full before windows are read
            const A *window = shared + y * pitch + x;
            A sum = 0;
            for (int t = 0; t < taps; t++)
                sum = ladder::fused(symbol<A>[lane * taps + t], window[t * pitch], sum);
            if (x < at.wide && y < at.high) at.out[y * task.inner + x] = ladder::stored<T>(sum);
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

} // namespace

WK_LAUNCHER(stencil1d, cuda, constant_divergent)
{
    return ladder::with_types(
        call, "constant_divergent", kTaps, [&](auto element, auto sum) -> wk_status {
            using T = decltype(element);
            using A = decltype(sum);
            A c[wk::kWarp * kTaps]; // pageable, so that it has been read when the copy returns
            const size_t bytes = (size_t)call->args.stencil.taps * sizeof(A);
            for (int lane = 0; lane < wk::kWarp; lane++)
                memcpy(c + lane * call->args.stencil.taps, call->aux.host, bytes);
            return turns.take(call, [&]() -> wk_status {
                WK_TRY(&call->error, cudaMemcpyToSymbolAsync(symbol<A>, c, bytes * wk::kWarp, 0,
                                                             cudaMemcpyHostToDevice,
                                                             wk::session_of(call)->stream));
                return ladder::launch_tiles(call, 1, kRoom, stencil_constant_divergent<T, A>);
            });
        });
}
