// reduce / 07 smem_unroll4 -- each thread adds four elements before the tree begins.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       a block has 1024 elements; thread t reads t, t + 256, t + 512 and t + 768, so that
//           each of the four loads is coalesced.
// Better    than 05_smem: four loads of a thread are on their way together, a quarter as many
//           blocks start and end, and the tree's eight barriers serve four times the elements.
// Still bad every step of the tree goes through shared memory and a barrier; 09_shfl needs
//           neither. The size is fixed again; 08_smem_unroll4_dyn frees it.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           reduceSmemUnroll; M. Harris, "Optimizing Parallel Reduction in CUDA" (2007),
//           kernel 4.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // a power of two, so that halves match; 8 warps hide latency
constexpr int kUnroll = 4;    // 16 bytes a thread in flight, 32 of a double

template <typename T>
__global__ void
sum_smem_unroll4(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    __shared__ A tile[kThreads];
    const int64_t row = blockIdx.y;
    const int64_t first = (int64_t)blockIdx.x * kThreads * kUnroll + t;
    A sum = 0;
#pragma unroll
    for (int k = 0; k < kUnroll; k++) {
        const int64_t i = first + k * kThreads;
        sum += i < n ? (A)in[row * n + i] : A(0);
    }
    tile[t] = sum;
    __syncthreads(); // the tile is full before the first two are added

    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t == 0) out[row * gridDim.x + blockIdx.x] = wk::written(tile[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, smem_unroll4)
{
    return wk::sum_in_passes(
        call, "smem_unroll4", wk::share::once, kThreads * kUnroll, [&](auto pass) {
            using T = typename decltype(pass)::element;
            return wk::launch(call, pass.grid, kThreads, 0, sum_smem_unroll4<T>, pass.in,
                              pass.n, pass.out);
        });
}
