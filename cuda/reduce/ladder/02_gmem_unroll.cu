// reduce / 02 gmem_unroll -- the last steps are one warp's, and need no barrier of the block.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       once 64 elements are left, one warp can add them alone: its six steps are written
//           out, and the other seven warps are done.
// Better    than 01_gmem: two barriers of the block instead of eight. Lanes of a warp do not run
//           in step by themselves: __syncwarp stands where the classic form relied on
//           `volatile` and on luck.
// Still bad every step still reads and writes global memory; 03_neighbored leaves it.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           reduceUnrollWarps; M. Harris, "Optimizing Parallel Reduction in CUDA" (2007),
//           kernel 5.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // a power of two, so that halves match; 8 warps hide latency

template <typename T>
__global__ void
sum_gmem_unroll(const T *in, int64_t n, wk::total_of<T> *scratch, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    const int64_t row = blockIdx.y, block = row * gridDim.x + blockIdx.x;
    const int64_t i = (int64_t)blockIdx.x * kThreads + t;
    A *mine = scratch + block * kThreads;
    mine[t] = i < n ? (A)in[row * n + i] : A(0);
    __syncthreads(); // all 256 are there before the first two are added

    for (int half = kThreads / 2; half > wk::kWarp; half /= 2) {
        if (t < half) mine[t] += mine[t + half];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t < wk::kWarp) { // a whole warp: no lane is missed below
#pragma unroll
        for (int half = wk::kWarp; half > 0; half /= 2) {
            if (t < half) mine[t] += mine[t + half]; // without the if, lanes would overwrite
            __syncwarp(); // the sums are there before the next step reads them
        }
    }
    if (t == 0) out[block] = wk::written(mine[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, gmem_unroll)
{
    void *scratch = nullptr; // of the first launch, which is the largest; it serves all
    return wk::sum_in_passes(call, "gmem_unroll", wk::share::once, kThreads, [&](auto pass) {
        using T = typename decltype(pass)::element;
        using A = wk::total_of<T>;
        const int64_t room = (int64_t)pass.grid.x * pass.grid.y * kThreads * sizeof(A);
        if (scratch == nullptr && wk::allocate(call, room, &scratch) != WK_OK)
            return call->error.status;
        return wk::launch(call, pass.grid, kThreads, 0, sum_gmem_unroll<T>, pass.in, pass.n,
                          (A *)scratch, pass.out);
    });
}
