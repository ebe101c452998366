// reduce / 10 shfl_atomic -- blocks that fill the device once, and one atomic add by each.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       a grid-stride loop: the grid is as large as the device, and every thread goes on in
//           strides of it. Shuffles move sums down: lane l adds lane l + 16's, then 8, 4, 2, 1,
//           and lane 0 has the warp's. The block's total is added to the result in the L2.
// Better    than 09_shfl: no second launch and no totals in memory; a thread's sum stays in a
//           register however long the row is, so a block's tree is built once, not per 1024.
// Still bad blocks come in any order, and float addition rounds: the same sum of floats differs
//           from run to run, in its last bits. (Integers do not round: their order is nobody's
//           business.) 13_single_pass has one order and one launch.
// Source    J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // 8 warps hide latency, and their tail is short
constexpr int kWarps = kThreads / wk::kWarp;
constexpr int kTrips = 4; // of a thread, at least: else a block is mostly start and end

// Of all lanes of a warp; lane 0 gets the sum, the others what nobody reads.
template <typename A>
__device__ A
sum_down(A sum)
{
#pragma unroll
    for (int lanes = wk::kWarp / 2; lanes > 0; lanes /= 2)
        sum += __shfl_down_sync(wk::kAllLanes, sum, lanes);
    return sum;
}

template <typename T>
__global__ void
sum_shfl_atomic(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    __shared__ A sums[kWarps];
    const int lane = t % wk::kWarp, warp = t / wk::kWarp;
    const int64_t row = blockIdx.y, step = (int64_t)gridDim.x * kThreads;
    A sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + t; i < n; i += step)
        sum += (A)in[row * n + i];

    sum = sum_down(sum); // the loop has ended for all lanes, whatever their trips
    if (lane == 0) sums[warp] = sum;
    __syncthreads(); // every warp's sum is there before the first warp reads them

    if (warp == 0) {
        sum = sum_down(lane < kWarps ? sums[lane] : A(0));
        if (lane == 0) atomicAdd(&out[row], sum);
    }
}

// An atomic makes whichever NaN the chip makes.
template <typename A>
__global__ void
keep_one_nan(A *out, int64_t rows)
{
    const int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    if (i < rows) out[i] = wk::written(out[i]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, shfl_atomic)
{
    return wk::sum_at_once(call, "shfl_atomic", kThreads * kTrips, [&](auto pass) {
        using T = typename decltype(pass)::element;
        using A = wk::total_of<T>;
        const int64_t rows = pass.grid.y;
        if (wk::clear(call, pass.out, rows * (int64_t)sizeof(A)) != WK_OK ||
            wk::launch(call, pass.grid, kThreads, 0, sum_shfl_atomic<T>, pass.in, pass.n,
                       pass.out) != WK_OK)
            return call->error.status;
        if constexpr (std::is_integral_v<A>)
            return WK_OK;
        else
            return wk::launch(call, (unsigned)((rows + kThreads - 1) / kThreads), kThreads, 0,
                              keep_one_nan<A>, pass.out, rows);
    });
}
