// stencil1d / 03 constant -- coefficients in a __constant__ symbol, elements in shared memory.
//
// In, out   float32 or float64, [outer][n][inner] by two strides -> [outer][outputs][inner],
//           contiguous; up to 1024 coefficients; ladder.cuh makes tiles of the output.
// How       a block brings its tile and the halo, all that its windows have, to shared memory; each
//           element crosses once, and is converted once to what sums are added in. All threads want
//           the same coefficient at a time: constant memory serves one word to a whole warp, from a
//           cache of its own. Nine coefficients that are antisymmetric, with nothing in the middle
//           (a first derivative of eighth order), are added as the books have it: 4 multiply-adds of
//           x[+i] - x[-i]. That rounds otherwise than the order of the taps, so its result is near
//           those of other rungs, not equal; and it does not look at the element in the middle.
// Better    than 02_readonly: one load from shared memory for a multiply-add. Coefficients come by
//           a way of their own, and take no place among the loads of elements.
// Still bad the symbol is there once for all streams: calls take turns (turns in ladder.cuh), and
//           each pays for a copy of its own. A thread reads as many elements as there are
//           coefficients: 06_registers. And constant memory serves one word at a time:
//           04_constant_divergent.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           chapter 5, constant memory; P. Micikevicius, "3D Finite Difference Computation on GPUs
//           using CUDA" (2009).
#include "stencil/ladder/ladder.cuh"

#include <cstring>

namespace
{

namespace ladder = wk::ladder;

constexpr int kTaps = 1024; // 12 KiB in both types, of 64 that a module has
constexpr int kRoom = 2048; // 16 KiB of double: 8 blocks, all threads of a multiprocessor, fit
constexpr int kBook = 4;    // the radius of the books' example

template <typename A>
__constant__ A symbol[kTaps];

ladder::turns turns;

template <typename T, typename A, bool kAntisymmetric>
__global__ void
stencil_constant(const T *in, T *out, const ladder::task __grid_constant__ task)
{
    __shared__ A shared[kRoom];
    const int x = threadIdx.x, y = threadIdx.y, pitch = blockDim.x, taps = (int)task.taps;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t row = blockIdx.x; row * task.high < task.outputs; row += gridDim.x) {
            const ladder::tile<T> at = ladder::tile_at(task, strip, row, in, out);
            ladder::fill(task, at, shared);
            __syncthreads(); // the tile is full before windows are read
            const A *window = shared + y * pitch + x;
            A sum = 0;
            if constexpr (kAntisymmetric) {
                const A *middle = window + kBook * pitch;
#pragma unroll
                for (int i = 1; i <= kBook; i++)
                    sum = ladder::fused(symbol<A>[kBook + i],
                                        middle[i * pitch] - middle[-i * pitch], sum);
            } else {
                for (int t = 0; t < taps; t++)
                    sum = ladder::fused(symbol<A>[t], window[t * pitch], sum);
            }
            if (x < at.wide && y < at.high) at.out[y * task.inner + x] = ladder::stored<T>(sum);
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

template <typename A>
bool
antisymmetric(const A *c, int64_t taps)
{
    bool all = taps == 2 * kBook + 1 && c[kBook] == 0;
    for (int i = 1; all && i <= kBook; i++) all = c[kBook + i] == -c[kBook - i];
    return all;
}

} // namespace

WK_LAUNCHER(stencil1d, cuda, constant)
{
    return ladder::with_types(
        call, "constant", kTaps, [&](auto element, auto sum) -> wk_status {
            using T = decltype(element);
            using A = decltype(sum);
            A c[kTaps]; // pageable, so that it has been read when the copy returns
            const size_t bytes = (size_t)call->args.stencil.taps * sizeof(A);
            memcpy(c, call->aux.host, bytes);
            const auto kernel = antisymmetric(c, call->args.stencil.taps)
                                    ? stencil_constant<T, A, true>
                                    : stencil_constant<T, A, false>;
            return turns.take(call, [&]() -> wk_status {
                WK_TRY(&call->error,
                       cudaMemcpyToSymbolAsync(symbol<A>, c, bytes, 0, cudaMemcpyHostToDevice,
                                               wk::session_of(call)->stream));
                return ladder::launch_tiles(call, 1, kRoom, kernel);
            });
        });
}
