// reduce / 08 smem_unroll4_dyn -- four elements a thread, in blocks that fit the row.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       06_smem_dyn and 07_smem_unroll4 together: what is unrolled is the loads, whose number
//           the compiler knows, and what is chosen at the launch is the tree.
// Better    than 07_smem_unroll4 for rows shorter than 1024; the same for longer ones, since
//           dynamic shared memory is as fast as static.
// Still bad every step of the tree goes through shared memory and a barrier; 09_shfl needs
//           neither.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           reduceSmemUnrollDyn.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kMostThreads = 256; // 8 warps hide latency, and their tail is short
constexpr int kUnroll = 4;        // 16 bytes a thread in flight, 32 of a double

template <typename T>
__global__ void
sum_smem_unroll4_dyn(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    WK_DYNAMIC_SHARED(A, tile); // blockDim.x of them
    const int64_t row = blockIdx.y;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * kUnroll + t;
    A sum = 0;
#pragma unroll
    for (int k = 0; k < kUnroll; k++) {
        const int64_t i = first + k * (int)blockDim.x;
        sum += i < n ? (A)in[row * n + i] : A(0);
    }
    tile[t] = sum;
    __syncthreads(); // the tile is full before the first two are added

    for (int half = (int)blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t == 0) out[row * gridDim.x + blockIdx.x] = wk::written(tile[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, smem_unroll4_dyn)
{
    int threads = wk::kWarp; // a power of two, so that halves match
    while (threads < kMostThreads && threads * kUnroll < call->args.reduce.n) threads *= 2;
    const int per_block = threads * kUnroll;
    return wk::sum_in_passes(
        call, "smem_unroll4_dyn", wk::share::once, per_block, [&](auto pass) {
            using T = typename decltype(pass)::element;
            return wk::launch(call, pass.grid, threads, threads * sizeof(wk::total_of<T>),
                              sum_smem_unroll4_dyn<T>, pass.in, pass.n, pass.out);
        });
}
