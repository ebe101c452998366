// warp_histogram / bitonic -- a warp sorts its 32 values by shuffles and counts runs by ballot.
//
// In, out   in[n] -> values[warps][32] ascending, counts[warps][32], totals[warps];
//           zeros behind.
// How       each lane keeps one key; a lane whose key differs from its left neighbour's heads a
//           run, the ballot of heads tells each head its rank and where its run ends. Every
//           lane writes one slot, heads to the front, so that whole lines are stored.
// Better    than shared memory: nothing leaves the registers before the result.
// Source    K. Batcher, "Sorting networks and their applications" (1968).
#include "prim/warp.cuh"
#include "runtime/launch.cuh"
#include "runtime/visit.cuh"

#include <type_traits>

namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / wk::kWarp;

template <typename T>
using key_of = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Unsigned keys in the order of the values.
template <typename T>
__device__ key_of<T>
to_key(T x)
{
    using K = key_of<T>;
    if constexpr (std::is_same_v<T, float>)
        return wk_sort_key_f32(x);
    else if constexpr (std::is_same_v<T, double>)
        return wk_sort_key_f64(x);
    else if constexpr (std::is_same_v<T, wk::truth>)
        return x ? 1 : 0;
    else if constexpr (std::is_signed_v<T>)
        return (K)x ^ (K)1 << (8 * sizeof(K) - 1);
    else
        return x;
}

template <typename T>
__device__ T
from_key(key_of<T> key)
{
    using K = key_of<T>;
    if constexpr (std::is_same_v<T, float>)
        return wk_from_sort_key_f32(key);
    else if constexpr (std::is_same_v<T, double>)
        return wk_from_sort_key_f64(key);
    else if constexpr (std::is_same_v<T, wk::truth>)
        return T{(uint8_t)key};
    else if constexpr (std::is_signed_v<T>)
        return (T)(key ^ (K)1 << (8 * sizeof(K) - 1));
    else
        return (T)key;
}

template <typename T>
__global__ void
warp_bitonic(const T *in, int64_t n, bool sorted, T *values, int32_t *counts, int32_t *totals)
{
    const int lane = threadIdx.x % wk::kWarp;
    const unsigned before = (1u << lane) - 1; // the lanes to the left
    const int64_t warps = (n + wk::kWarp - 1) / wk::kWarp;
    int64_t w = (int64_t)blockIdx.x * kWarps + threadIdx.x / wk::kWarp;
    for (; w < warps; w += (int64_t)gridDim.x * kWarps) { // the same trips for all lanes
        const int64_t i = w * wk::kWarp + lane, left = n - w * wk::kWarp;
        key_of<T> key = i < n ? to_key(in[i]) : (key_of<T>)-1; // what is missing sorts last
        if (!sorted) key = wk::sort_lanes(key, lane);

        const key_of<T> neighbour = __shfl_up_sync(wk::kAllLanes, key, 1);
        const bool head = lane < left && (lane == 0 || key != neighbour);
        const unsigned heads = __ballot_sync(wk::kAllLanes, head);
        const int total = __popc(heads), rank = __popc(heads & before);
        const unsigned later = heads & ~before & ~(1u << lane); // the heads to the right
        const int end = later ? __ffs(later) - 1 : left < wk::kWarp ? (int)left : wk::kWarp;
        const int64_t slot = w * wk::kWarp + (head ? rank : total + lane - rank);
        values[slot] = head ? from_key<T>(key) : T{};
        counts[slot] = head ? end - lane : 0;
        if (lane == 0) totals[w] = total;
    }
}

} // namespace

extern "C" wk_status
wk_warp_histogram_cuda_bitonic(wk_call *call)
{
    const wk_warp_histogram_args *a = &call->args.warp_histogram;
    return wk::visit(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return wk::launch(call, wk::grid_for(call, a->n, kThreads), kThreads, 0,
                          warp_bitonic<T>, (const T *)call->in.data, a->n, a->sorted != 0,
                          (T *)call->out[0].data, (int32_t *)call->out[1].data,
                          (int32_t *)call->out[2].data);
    });
}
