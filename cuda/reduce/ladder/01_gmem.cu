// reduce / 01 gmem -- every block folds 256 elements in place, in global memory.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0.
// How       a block copies its elements to scratch memory, since a fold in place eats its input.
//           Then the upper half is added to the lower, 128 + 128, 64 + 64 ..., until one is
//           left. Only the end of a kernel makes all blocks wait for each other, so the blocks'
//           totals are folded by a next launch.
// Still bad the copy writes as much as it reads, and each of 8 steps goes to global memory and
//           waits for the whole block: 02_gmem_unroll mends the waiting, 03 the traffic.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           reduceGmem.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // a power of two, so that halves match; 8 warps hide latency

template <typename T>
__global__ void
sum_gmem(const T *in, int64_t n, wk::total_of<T> *scratch, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    const int64_t row = blockIdx.y, block = row * gridDim.x + blockIdx.x;
    const int64_t i = (int64_t)blockIdx.x * kThreads + t;
    A *mine = scratch + block * kThreads;
    mine[t] = i < n ? (A)in[row * n + i] : A(0); // beyond the end: 0 changes no sum
    __syncthreads(); // all 256 are there before the first two are added

    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (t < half) mine[t] += mine[t + half];
        __syncthreads(); // this step's sums are there before the next step adds them
    }
    if (t == 0) out[block] = wk::written(mine[0]);
}

} // namespace

WK_LAUNCHER(reduce, cuda, gmem)
{
    void *scratch = nullptr; // of the first launch, which is the largest; it serves all
    return wk::sum_in_passes(call, "gmem", wk::share::once, kThreads, [&](auto pass) {
        using T = typename decltype(pass)::element;
        using A = wk::total_of<T>;
        const int64_t room = (int64_t)pass.grid.x * pass.grid.y * kThreads * sizeof(A);
        if (scratch == nullptr && wk::allocate(call, room, &scratch) != WK_OK)
            return call->error.status;
        return wk::launch(call, pass.grid, kThreads, 0, sum_gmem<T>, pass.in, pass.n,
                          (A *)scratch, pass.out);
    });
}
