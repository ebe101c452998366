// reduce / 13 single_pass -- the block that ends last adds up what all have left.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       a block writes its total, then draws a ticket from the row's counter. Whoever draws
//           the last knows that all totals are there, and adds them in the order of the blocks,
//           not of their tickets. Nobody waits for a block that has not started: that could be
//           for ever. The fence makes the total visible to other blocks before the ticket is;
//           __ldcg reads totals from the L2, where they are, past the multiprocessor's own L1.
// Better    than 12_vectorised: one launch, no gap between two; than 10_shfl_atomic: one order of
//           additions, so that the bits are the same each time on one kind of GPU.
// Still bad 4 bytes a load, unlike 12; and rounded in float at each step, in an order that hangs
//           on the size of the grid: another GPU gives other bits. `exact` mends both.
// Source    NVIDIA, CUDA samples, threadFenceReduction; "CUDA C++ Programming Guide", memory
//           fence functions.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // 8 warps hide latency, and their tail is short
constexpr int kWarps = kThreads / wk::kWarp;

// Thread 0 gets the block's sum: 09's two butterflies. Not twice without a barrier between.
template <typename A>
__device__ A
sum_of_block(A sum)
{
    __shared__ A sums[kWarps];
    const int lane = threadIdx.x % wk::kWarp, warp = threadIdx.x / wk::kWarp;
#pragma unroll
    for (int lanes = wk::kWarp / 2; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(wk::kAllLanes, sum, lanes);
    if (lane == 0) sums[warp] = sum;
    __syncthreads(); // every warp's sum is there before the first warp reads them

    sum = warp == 0 && lane < kWarps ? sums[lane] : A(0);
#pragma unroll
    for (int lanes = kWarps / 2; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(wk::kAllLanes, sum, lanes);
    return sum;
}

template <typename T>
__global__ void
sum_single_pass(const T *in, int64_t n, wk::total_of<T> *totals, unsigned *tickets,
                wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    __shared__ bool last;
    const int64_t row = blockIdx.y, step = (int64_t)gridDim.x * kThreads;
    A sum = 0;
#pragma unroll 4 // four loads on their way together
    for (int64_t i = (int64_t)blockIdx.x * kThreads + t; i < n; i += step)
        sum += (A)in[row * n + i];
    sum = sum_of_block(sum);
    totals += row * gridDim.x;
    if (t == 0) {
        totals[blockIdx.x] = sum;
        __threadfence(); // the total is there for all blocks before its ticket is drawn
        last = atomicAdd(&tickets[row], 1u) == gridDim.x - 1;
    }
    __syncthreads(); // `last` is there for all threads, and the first warp has read its sums

    if (last) { // for all threads of the block or for none, so its barrier is whole
        sum = 0;
        for (unsigned b = t; b < gridDim.x; b += kThreads) sum += __ldcg(&totals[b]);
        sum = sum_of_block(sum);
        if (t == 0) out[row] = wk::written(sum);
    }
}

} // namespace

WK_LAUNCHER(reduce, cuda, single_pass)
{
    void *totals = nullptr, *tickets = nullptr; // of the first launch, the largest; for all
    constexpr int per_block = kThreads * 4;     // elements: four trips of a thread, at least
    return wk::sum_at_once(call, "single_pass", per_block, [&](auto pass) {
        using T = typename decltype(pass)::element;
        using A = wk::total_of<T>;
        const int64_t rows = pass.grid.y, words = rows * (int64_t)sizeof(unsigned);
        if (totals == nullptr &&
            (wk::allocate(call, rows * pass.grid.x * (int64_t)sizeof(A), &totals) != WK_OK ||
             wk::allocate(call, words, &tickets) != WK_OK))
            return call->error.status;
        if (wk::clear(call, tickets, words) != WK_OK) return call->error.status;
        return wk::launch(call, pass.grid, kThreads, 0, sum_single_pass<T>, pass.in, pass.n,
                          (A *)totals, (unsigned *)tickets, pass.out);
    });
}
