// reduce / 12 vectorised -- 16 bytes a load: four floats, or two doubles, by one instruction.
//
// In, out   in[rows][n] -> out[rows], int32 summed in int64; any n >= 0, rows that start anywhere.
// How       a 16-byte load must lie at a multiple of 16. So the row has a head of up to 3
//           elements before the first such place, then whole vectors, then a tail of up to 3;
//           the first block adds head and tail, one element a thread.
// Better    than 10_shfl_atomic: a quarter of the load instructions, and of the addresses that
//           are computed, for the same bytes in flight; and one order of additions: the same bits
//           each time, on one kind of GPU, from the same alignment.
// Still bad the blocks' totals are a second launch's again; 13_single_pass needs none.
// Source    J. Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access"
//           (2013).
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // 8 warps hide latency, and their tail is short
constexpr int kWarps = kThreads / wk::kWarp;
constexpr int kBytes = 16; // the widest load that all GPUs have

template <typename T>
using vector_of = std::conditional_t<
    std::is_same_v<T, float>, float4,
    std::conditional_t<std::is_same_v<T, double>, double2,
                       std::conditional_t<std::is_same_v<T, int32_t>, int4, ulonglong2>>>;

template <typename T>
__device__ __forceinline__ wk::total_of<T>
sum_of_vector(vector_of<T> v)
{
    using A = wk::total_of<T>;
    if constexpr (kBytes / sizeof(T) == 4)
        return ((A)v.x + (A)v.y) + ((A)v.z + (A)v.w);
    else
        return v.x + v.y;
}

template <typename A>
__device__ A
butterfly(A sum) // as in 09
{
#pragma unroll
    for (int lanes = wk::kWarp / 2; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(wk::kAllLanes, sum, lanes);
    return sum;
}

template <typename T>
__global__ void
sum_vectorised(const T *in, int64_t n, wk::total_of<T> *out)
{
    using A = wk::total_of<T>;
    const int t = threadIdx.x;
    constexpr int kWide = kBytes / sizeof(T);
    __shared__ A sums[kWarps];
    const int lane = t % wk::kWarp, warp = t / wk::kWarp;
    const T *row = in + blockIdx.y * n;
    const int past = (int)(reinterpret_cast<uintptr_t>(row) / sizeof(T) % kWide);
    const int64_t before = past ? kWide - past : 0, head = before < n ? before : n;
    const int64_t vectors = (n - head) / kWide, step = (int64_t)gridDim.x * kThreads;
    const auto wide = reinterpret_cast<const vector_of<T> *>(row + head);
    A sum = 0;
#pragma unroll 4 // four loads on their way together
    for (int64_t i = (int64_t)blockIdx.x * kThreads + t; i < vectors; i += step)
        sum += sum_of_vector<T>(wide[i]);

    if (blockIdx.x == 0) {
        const int64_t tail = head + vectors * kWide + t;
        if (t < head) sum += (A)row[t];
        if (tail < n) sum += (A)row[tail];
    }
    sum = butterfly(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads(); // every warp's sum is there before the first warp reads them

    if (warp == 0) {
        sum = butterfly(lane < kWarps ? sums[lane] : A(0));
        if (lane == 0) out[(int64_t)blockIdx.y * gridDim.x + blockIdx.x] = wk::written(sum);
    }
}

} // namespace

WK_LAUNCHER(reduce, cuda, vectorised)
{
    constexpr int per_block = kThreads * 16; // elements: four vectors a thread, at least
    return wk::sum_in_passes(call, "vectorised", wk::share::stride, per_block, [&](auto pass) {
        using T = typename decltype(pass)::element;
        return wk::launch(call, pass.grid, kThreads, 0, sum_vectorised<T>, pass.in, pass.n,
                          pass.out);
    });
}
