// reduce / 04 interleaved -- the same pairs, added by the first threads of the block.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       thread t adds the t-th pair that is left, which lies at 2 * step * t: the threads at
//           work are 0 .. 127, then 0 .. 63, and so on, so that whole warps drop out.
// Better    than 03_neighbored: no warp diverges before the last five steps, and no remainder is
//           computed to find out whose turn it is.
// Still bad neighbouring lanes read words 2, 4, 8 ... apart: they meet in every 2nd, 4th, 8th of
//           the 32 banks, and take turns (bank conflicts). 05_smem pairs otherwise.
// Source    M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), kernel 2, "interleaved
//           addressing". "Professional CUDA C Programming" (2014) has the word for the pairs
//           that Harris calls sequential addressing, and that 01, 02 and 05 add.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // a power of two, so that every pair is whole; 8 warps

template <typename T>
__global__ void
sum_interleaved(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    __shared__ A tile[kThreads];
    const int64_t row = blockIdx.y;
    const int64_t i = (int64_t)blockIdx.x * kThreads + t;
    tile[t] = i < n ? (A)in[row * n + i] : A(0);
    __syncthreads(); // the tile is full before the first pair is added

    for (int step = 1; step < kThreads; step *= 2) {
        const int left = 2 * step * t;
        if (left < kThreads) tile[left] += tile[left + step];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t == 0) out[row * gridDim.x + blockIdx.x] = wk::written(tile[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, interleaved)
{
    return wk::sum_in_passes(call, "interleaved", wk::share::once, kThreads, [&](auto pass) {
        using T = typename decltype(pass)::element;
        return wk::launch(call, pass.grid, kThreads, 0, sum_interleaved<T>, pass.in, pass.n,
                          pass.out);
    });
}
