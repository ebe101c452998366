// reduce / 11 redux -- one instruction adds an integer over the 32 lanes of a warp.
//
// In, out   int32 in[rows][n] -> int64 out[rows], modulo 2^64; any n >= 0.
// How       __reduce_add_sync adds 32 bits and drops what does not fit, and NumPy's sum of int32
//           has 64. So x is cut into halves, x = 65536 * high + low with low = 0 .. 65535 and
//           high = -32768 .. 32767. A lane adds 4 of each, a warp 32 times as many: at most
//           128 * 65535 < 2^23, so that nothing is lost, and 65536 * high + low is put together
//           in 64 bits after that. (It would fit for up to 2048 elements a lane.)
// Better    than 10_shfl_atomic: two instructions instead of five steps of two shuffles and a
//           64-bit addition. Integers do not round: the atomic gives the same bits each time.
// Still bad integers only, and compute capability 8.0 at least; 4 bytes a load: 12_vectorised.
// Source    NVIDIA, "CUDA C++ Programming Guide", warp reduce functions.
#include "reduce/ladder/ladder.cuh"

namespace
{

constexpr int kThreads = 256; // 8 warps hide latency, and their tail is short
constexpr int kWarps = kThreads / wk::kWarp;
constexpr int kUnroll = 4; // loads in flight, and lanes' additions for each pair of redux
constexpr int kTrip = kThreads * kUnroll;

__global__ void
sum_redux(const int32_t *in, int64_t n, unsigned long long *out)
{
    const int t = threadIdx.x;
    __shared__ unsigned long long sums[kWarps];
    const int lane = t % wk::kWarp, warp = t / wk::kWarp;
    const int64_t row = blockIdx.y, step = (int64_t)gridDim.x * kTrip;
    unsigned long long sum = 0; // the warp's, in every lane
    // A trip is the block's, not the thread's: no lane may miss a redux.
    for (int64_t trip = (int64_t)blockIdx.x * kTrip; trip < n; trip += step) {
        unsigned low = 0;
        int high = 0;
#pragma unroll
        for (int k = 0; k < kUnroll; k++) {
            const int64_t i = trip + k * kThreads + t;
            const int32_t x = i < n ? in[row * n + i] : 0;
            low += (unsigned)x & 0xffffu;
            high += x >> 16; // rounds down, so that low is never negative
        }
        low = __reduce_add_sync(wk::kAllLanes, low);
        high = __reduce_add_sync(wk::kAllLanes, high);
        sum += (unsigned long long)(65536ll * high + low);
    }
    if (lane == 0) sums[warp] = sum;
    __syncthreads(); // every warp's sum is there before they are added

    if (t == 0) {
        for (int w = 1; w < kWarps; w++) sum += sums[w]; // once a block: no tree is worth it
        atomicAdd(&out[row], sum);
    }
}

} // namespace

WK_LAUNCHER(reduce, cuda, redux)
{
    return wk::sum_at_once(call, "redux", kTrip, [&](auto pass) {
        using T = typename decltype(pass)::element;
        if constexpr (std::is_same_v<T, int32_t>) {
            const int64_t bytes = (int64_t)pass.grid.y * (int64_t)sizeof *pass.out;
            if (wk::clear(call, pass.out, bytes) != WK_OK) return call->error.status;
            return wk::launch(call, pass.grid, kThreads, 0, sum_redux, pass.in, pass.n,
                              pass.out);
        } else { // the table has no such dtype for this row
            return WK_FAIL(&call->error, WK_ETYPE, "redux adds integers");
        }
    });
}
