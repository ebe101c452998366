// stencil1d / 06 registers -- seven outputs a thread, from a window that moves through registers.
//
// In, out   float32 or float64, [outer][n][inner] by two strides -> [outer][outputs][inner],
//           contiguous; up to 448 coefficients; ladder.cuh makes tiles of the output.
// How       a thread makes seven outputs that follow each other. For a coefficient it needs seven
//           elements, six of which it had for the one before: they stay in registers, and one more
//           is loaded in the place of the one that is done with. No register is moved: the window
//           turns in place, and as the loop is written out seven times, each has its name.
//           Coefficients are a kernel parameter, which lies in constant memory too, and belongs to
//           the launch: nothing is shared, and nobody waits. The seven outputs of a thread go
//           through the tile, so that the lanes of a warp store neighbours.
// Better    than 05_smem_readonly: one load for seven multiply-adds; a tile seven times as long has
//           the same halo.
// Still bad 4 bytes an access, and a barrier between loading, adding and storing; there are only as
//           many coefficients as parameters have room. Rows that are as short as the halo leave
//           most of a block idle, as on all rungs.
// Source    P. Micikevicius, "3D Finite Difference Computation on GPUs using CUDA" (2009), the
//           window in registers along the slowest axis; NVIDIA, "CUDA C++ Programming Guide",
//           __grid_constant__.
#include "stencil/ladder/ladder.cuh"

#include <cstring>

namespace
{

namespace ladder = wk::ladder;

constexpr int kEach = 7;    // odd: windows of neighbouring lanes begin in different banks
constexpr int kTaps = 448;  // doubles: with the rest below the 4 KiB that every GPU takes
constexpr int kRoom = 4096; // 7 x 256 rows and the halo; 32 KiB of double

template <typename A>
struct coefficients {
    A c[kTaps];
};

template <typename T, typename A>
__global__ void
__launch_bounds__(ladder::kThreads)
    stencil_registers(const T *in, T *out, const ladder::task __grid_constant__ task,
                      const coefficients<A> __grid_constant__ taps)
{
    __shared__ A shared[kRoom];
    const int x = threadIdx.x, y = threadIdx.y, pitch = blockDim.x, count = (int)task.taps;
    A *const mine = shared + y * kEach * pitch + x;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t row = blockIdx.x; row * task.high < task.outputs; row += gridDim.x) {
            const ladder::tile<T> at = ladder::tile_at(task, strip, row, in, out);
            ladder::fill(task, at, shared);
            __syncthreads(); // the tile is full before windows are read
            A sum[kEach] = {}, window[kEach];
#pragma unroll
            for (int v = 0; v < kEach; v++) window[v] = mine[v * pitch];
            for (int t0 = 0; t0 < count; t0 += kEach)
#pragma unroll
                for (int k = 0; k < kEach && t0 + k < count; k++) {
#pragma unroll
                    for (int v = 0; v < kEach; v++) // the window's v-th is at (k + v) % kEach
                        sum[v] = ladder::fused(taps.c[t0 + k], window[(k + v) % kEach], sum[v]);
                    window[k] = mine[(t0 + k + kEach) * pitch];
                }
            __syncthreads(); // all have read it before sums take its place
#pragma unroll
            for (int v = 0; v < kEach; v++) mine[v * pitch] = sum[v];
            __syncthreads(); // the sums are there before others store them
            for (int i = y; i < at.high && x < at.wide; i += blockDim.y)
                at.out[i * task.inner + x] = ladder::stored<T>(shared[i * pitch + x]);
            // The next tile may come: what a thread fills, it has stored itself.
        }
}

} // namespace

WK_LAUNCHER(stencil1d, cuda, registers)
{
    return ladder::with_types(
        call, "registers", kTaps, [&](auto element, auto sum) -> wk_status {
            using T = decltype(element);
            using A = decltype(sum);
            coefficients<A> taps = {};
            memcpy(taps.c, call->aux.host, (size_t)call->args.stencil.taps * sizeof(A));
            return ladder::launch_tiles(call, kEach, kRoom, stencil_registers<T, A>, taps);
        });
}
