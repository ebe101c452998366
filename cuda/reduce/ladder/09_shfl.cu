// reduce / 09 shfl -- lanes hand each other their sums in registers; a barrier is left over.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       lane l adds what lane l ^ 16 has, then l ^ 8, 4, 2, 1: a butterfly, after which
//           every lane has the warp's sum. The 8 warps' sums meet in shared memory, and the
//           first warp adds them by a butterfly too. The blocks' totals are a second launch's.
// Better    than 07_smem_unroll4: one barrier instead of nine, 8 words of shared memory instead
//           of 256, and no lane sits out a step within the warp.
// Still bad a second launch for the totals: 10_shfl_atomic needs none. A shuffle moves 4 bytes,
//           so sums of 8 take two each; 11_redux knows better for integers.
// Source    J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // 8 warps hide latency, and their tail is short
constexpr int kWarps = kThreads / wk::kWarp;
constexpr int kUnroll = 4; // as in 07: loads in flight, and work for a block's start and end

// Of all lanes of a warp; every lane gets the sum.
template <typename A>
__device__ A
butterfly(A sum)
{
#pragma unroll
    for (int lanes = wk::kWarp / 2; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(wk::kAllLanes, sum, lanes);
    return sum;
}

template <typename T>
__global__ void
sum_shfl(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    __shared__ A sums[kWarps];
    const int lane = t % wk::kWarp, warp = t / wk::kWarp;
    const int64_t row = blockIdx.y;
    const int64_t first = (int64_t)blockIdx.x * kThreads * kUnroll + t;
    A sum = 0;
#pragma unroll
    for (int k = 0; k < kUnroll; k++) {
        const int64_t i = first + k * kThreads;
        sum += i < n ? (A)in[row * n + i] : A(0); // no lane leaves: all are in the shuffles
    }
    sum = butterfly(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads(); // every warp's sum is there before the first warp reads them

    if (warp == 0) { // all of its lanes, though there are 8 sums only
        sum = butterfly(lane < kWarps ? sums[lane] : A(0));
        if (lane == 0) out[row * gridDim.x + blockIdx.x] = wk::written(sum);
    }
}

} // namespace

WK_LAUNCHER(reduce, cuda, shfl)
{
    constexpr int per_block = kThreads * kUnroll;
    return wk::sum_in_passes(call, "shfl", wk::share::once, per_block, [&](auto pass) {
        using T = typename decltype(pass)::element;
        return wk::launch(call, pass.grid, kThreads, 0, sum_shfl<T>, pass.in, pass.n, pass.out);
    });
}
