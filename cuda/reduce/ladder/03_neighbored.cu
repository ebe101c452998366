// reduce / 03 neighbored -- the tree moves to shared memory, and adds pairs of neighbours.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       one element a thread; 0 + 1, 2 + 3, 4 + 5 ..., then 0 + 2, 4 + 6 ..., then 0 + 4:
//           the tree that one would draw. The thread of the left element adds.
// Better    than 02_gmem_unroll: an element is read from global memory once, and nothing is
//           written there but a total per block.
// Still bad the threads at work are every 2nd, every 4th, every 8th: each warp stays busy to the
//           fifth step with ever fewer of its lanes (divergence). 04_interleaved packs them.
// Source    M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), kernel 1; J. Cheng,
//           M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           reduceNeighboredSmem.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // a power of two, so that every pair is whole; 8 warps

template <typename T>
__global__ void
sum_neighbored(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    __shared__ A tile[kThreads];
    const int64_t row = blockIdx.y;
    const int64_t i = (int64_t)blockIdx.x * kThreads + t;
    tile[t] = i < n ? (A)in[row * n + i] : A(0);
    __syncthreads(); // the tile is full before the first pair is added

    for (int step = 1; step < kThreads; step *= 2) {
        if (t % (2 * step) == 0) tile[t] += tile[t + step];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t == 0) out[row * gridDim.x + blockIdx.x] = wk::written(tile[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, neighbored)
{
    return wk::sum_in_passes(call, "neighbored", wk::share::once, kThreads, [&](auto pass) {
        using T = typename decltype(pass)::element;
        return wk::launch(call, pass.grid, kThreads, 0, sum_neighbored<T>, pass.in, pass.n,
                          pass.out);
    });
}
