// reduce / 05 smem -- the upper half is added to the lower: neighbouring lanes, neighbouring words.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       the pairs of 01_gmem, in shared memory: element t and the one half a tile further.
//           That is another order of additions, so the bits of a float sum differ from 04's.
// Better    than 04_interleaved: a warp's 32 words lie in 32 banks, so nobody waits for a turn.
// Still bad the array's size is fixed when it is compiled, and short rows leave most of a block
//           idle; 06_smem_dyn chooses at the launch.
// Source    M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), kernel 3, "sequential
//           addressing"; J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming"
//           (2014), reduceSmem.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // a power of two, so that halves match; 8 warps hide latency

template <typename T>
__global__ void
sum_smem(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    __shared__ A tile[kThreads];
    const int64_t row = blockIdx.y;
    const int64_t i = (int64_t)blockIdx.x * kThreads + t;
    tile[t] = i < n ? (A)in[row * n + i] : A(0);
    __syncthreads(); // the tile is full before the first two are added

    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t == 0) out[row * gridDim.x + blockIdx.x] = wk::written(tile[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, smem)
{
    return wk::sum_in_passes(call, "smem", wk::share::once, kThreads, [&](auto pass) {
        using T = typename decltype(pass)::element;
        return wk::launch(call, pass.grid, kThreads, 0, sum_smem<T>, pass.in, pass.n, pass.out);
    });
}
