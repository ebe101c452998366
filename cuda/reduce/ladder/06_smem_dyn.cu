// reduce / 06 smem_dyn -- dynamic shared memory: the launch says how much, and how many threads.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       the array has no size of its own; its bytes are an argument of the launch. A block
//           has the smallest power of two of threads that covers a row, from a warp to 256.
// Better    than 05_smem: a row of 40 elements takes 64 threads instead of 256.
// Still bad the compiler no longer knows how many steps the tree has, so it cannot unroll them;
//           and a thread still adds next to nothing: it reads one element, and half of the
//           threads never add at all. 07_smem_unroll4 gives them work.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           reduceSmemDyn.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kMostThreads = 256; // 8 warps hide latency, and their tail is short

template <typename T>
__global__ void
sum_smem_dyn(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    WK_DYNAMIC_SHARED(A, tile); // blockDim.x of them
    const int64_t row = blockIdx.y;
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? (A)in[row * n + i] : A(0);
    __syncthreads(); // the tile is full before the first two are added

    for (int half = (int)blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t == 0) out[row * gridDim.x + blockIdx.x] = wk::written(tile[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, smem_dyn)
{
    int threads = wk::kWarp; // a power of two, so that halves match
    while (threads < kMostThreads && threads < call->args.reduce.n) threads *= 2;
    return wk::sum_in_passes(call, "smem_dyn", wk::share::once, threads, [&](auto pass) {
        using T = typename decltype(pass)::element;
        return wk::launch(call, pass.grid, threads, threads * sizeof(wk::total_of<T>),
                          sum_smem_dyn<T>, pass.in, pass.n, pass.out);
    });
}
