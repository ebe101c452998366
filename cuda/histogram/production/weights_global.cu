// histogram / weights, limbs in global memory: more bins than shared memory holds.
//
// In, out   weights[n] -> limbs[limbs of a row][rows of a pass], by 64-bit adds in the L2.
// How       a warp's lanes that want one limb add up first: an address takes one add every 0.7 ns,
//           so that equal bins would take 32 times as long. Limbs of one place lie side by side:
//           weights of like size keep to a few planes, which the cache holds.
// Source    E. Westphal, "Voting and shuffling to optimize atomic operations" (2015).
#include "histogram/production/weights_pieces.cuh"

namespace wk::weights
{

namespace
{

constexpr int kThreads = 256;

// Sums over the lanes of equal key, each in the lowest of them: pairs, pairs of pairs, ... of those
// that are left. All lanes call it; true: this lane has its key's sums.
template <bool kTwo>
__device__ __forceinline__ bool
add_equal(int key, long long *low, long long *high)
{
    const unsigned lane = threadIdx.x % kWarp;
    const unsigned equal = __match_any_sync(kAllLanes, key);
    const int rank = __popc(equal & ((1u << lane) - 1));
    unsigned above = equal & ~((2u << lane) - 1); // lane 31: 2 << 31 is 0, and nothing is above
    for (int order = rank; __any_sync(kAllLanes, above != 0); order >>= 1) {
        const int next = __ffs((int)above), from = next ? next - 1 : (int)lane;
        const long long l = __shfl_sync(kAllLanes, *low, from);
        const long long h = kTwo ? __shfl_sync(kAllLanes, *high, from) : 0;
        *low += next ? l : 0;
        *high += next ? h : 0;
        above &= __ballot_sync(kAllLanes, (order & 1) == 0); // the odd ones have been added
    }
    return rank == 0;
}

template <numbers kClass>
__global__ void
__launch_bounds__(kThreads) weights_global(const weights_task __grid_constant__ t, int64_t pass)
{
    constexpr int kApart = layout<kClass>::kApart;
    const limbs_now l = limbs_of<kClass>(t);
    const int64_t first = pass * l.rows, left = t.rows - first;
    const int64_t rows = left < l.rows ? left : l.rows; // none: passes may be too many
    const int in_bytes = bytes_of(t.in_dtype), bytes = bytes_of(t.weights.dtype);
    const int64_t step = (int64_t)gridDim.x * kThreads;
    const int64_t end = rows > 0 ? t.end : t.begin;
    for (int64_t at = t.begin + (int64_t)blockIdx.x * kThreads; at < end; at += step) {
        const int64_t i = at + threadIdx.x;
        int64_t row = -1;
        if (i < end) {
            row = bin_of_bits(t.bins, t.in_dtype, bits_at(t.in, in_bytes, i));
            if (row < 0 && t.stray) atomicOr(t.stray, 1u);
            row = (row < 0 ? t.bins.args.bins : row) - first;
        }
        int key = -1;
        pieces p = {};
        if (row >= 0 && row < rows) {
            p = pieces_of<kClass>(t.weights.dtype,
                                  bits_at(t.weights.data, bytes, i * t.weights.step));
            const int place = p.place - l.first;
            // Another stream may have written to weights whose places were found: they have no limb.
            const bool has_limb =
                (unsigned)place < (unsigned)(l.count - layout<kClass>::kAbove);
            if (has_limb && (p.low || p.high)) key = (int)(place * l.rows + row);
            if (p.flags) atomicOr(&t.flags[row], (unsigned)p.flags);
        }
        const bool lowest = add_equal<kApart != 0>(key, &p.low, &p.high);
        if (!lowest || key < 0) continue; // every lane is through with the collectives
        if (p.low) atomicAdd(&t.limbs[key], (unsigned long long)p.low);
        if (p.high) atomicAdd(&t.limbs[key + kApart * l.rows], (unsigned long long)p.high);
    }
}

} // namespace

wk_status
add_global(wk_call *call, numbers kind, const weights_task &t, int64_t pass)
{
    return with_class(kind, [&](auto c) {
        return launch(call, grid_for(call, t.end - t.begin, kThreads), kThreads, 0,
                      weights_global<decltype(c)::value>, t, pass);
    });
}

} // namespace wk::weights
