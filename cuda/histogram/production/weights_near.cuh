// weights_near.cuh -- sums of weights in shared memory, one short number a bin: for thousands of them.
//
// In, out   weights[n] -> limbs[limbs of a row][rows], as weights_shared.cuh.
// How       a bin has three words, where a sample has most of the weights. float32: two words, 8
//           binades apart, take a weight by one add of 31 bits; float64: the two halves of a number
//           of 62 bits take two. The old value that an add returns shows an overflow, which the
//           third word counts. A weight from elsewhere goes to its limb at once: slow, and as exact.
// Share     of more bins than fit one multiprocessor, 2 or 4 of them take a part each, and all
//           read every element: rows of 32 bins go by turns, so that sorted data keeps all of them
//           busy. What is another's adds zero to the lane's first word.
#pragma once
#include "histogram/production/shared.cuh"
#include "histogram/production/weights_shared.cuh"

#include <algorithm>

namespace wk::weights
{

// kReach: binades. kLast: where a number may begin. kStep: bits from the first word to the second;
// kTop: and from there to the third.
template <numbers kClass>
struct near_form;

template <>
struct near_form<numbers::narrow> {
    using bits = uint32_t;
    static constexpr int kReach = 16, kLast = 254 - kReach, kStep = 8, kTop = 24, kField = 23;

    static __device__ __forceinline__ bits of(float x)
    {
        return wk_bits_f32(x);
    }
};

template <>
struct near_form<numbers::wide> {
    using bits = uint64_t;
    static constexpr int kReach = 10, kLast = 2046 - kReach, kStep = 32, kTop = 32, kField = 52;

    static __device__ __forceinline__ bits of(double x)
    {
        return wk_bits_f64(x);
    }
};

constexpr int kNearWords = 3, kNearLongs = 2; // of a row: in shared memory, in a block's table
constexpr int kNearTurn = 4; // banks from copy to copy, of which there are 8 at most
// Elements of a block before its words are stored: no two in a row overflow a word the same way, and
// the third one counts each time as 2^8 at most.
constexpr int64_t kNearMost = int64_t{1} << 23;

struct near_plan {
    const int *low; // where the numbers begin, as the device has found
    int shift;      // 2^shift multiprocessors share the bins
    int words;      // of a part, for one word of each row
    int copies;     // by lane: equal addresses in a warp wait for each other
    int groups;     // of 2^shift blocks

    __host__ __device__ constexpr int copy() const // words to the next one, in other banks
    {
        return kNearWords * words + kNearTurn;
    }
};

// A weight to its limb, past shared memory.
template <numbers kClass, typename N>
__device__ WK_NOINLINE void
add_at_once(const weights_task &t, unsigned row, N x)
{
    const pieces p = pieces_of(x);
    unsigned long long *limb = &t.limbs[p.place * t.rows + row];
    if (p.flags) atomicOr(&t.flags[row], (unsigned)p.flags);
    if (p.low) atomicAdd(limb, (unsigned long long)p.low);
    if (p.high) atomicAdd(limb + layout<kClass>::kApart * t.rows, (unsigned long long)p.high);
}

// A thread's weights as integers, `up` binades from the first word.
template <numbers kClass, int kEach>
struct near_sizes {
    typename near_form<kClass>::bits size[kEach];
    unsigned up[kEach];
    int sign[kEach]; // 0 or -1
};

// All adds first, so that they wait together.
template <int kEach>
__device__ __forceinline__ void
add_sizes(const near_plan &plan, unsigned *own, const unsigned (&at)[kEach],
          const near_sizes<numbers::narrow, kEach> &s)
{
    constexpr int kStep = near_form<numbers::narrow>::kStep;
    const auto words = (unsigned)plan.words;
    int value[kEach], old[kEach], over[kEach];
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        value[j] = ((int)(s.size[j] << s.up[j] % kStep) ^ s.sign[j]) - s.sign[j];
        old[j] =
            (int)atomicAdd(&own[at[j] + (s.up[j] < kStep ? 0 : words)], (unsigned)value[j]);
    }
    if (overflows(old, value, over) >= 0) return;
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const int carry = s.up[j] < kStep ? 1 : 1 << kStep;
        if (over[j] < 0)
            atomicAdd(&own[at[j] + 2 * words], (unsigned)((carry ^ s.sign[j]) - s.sign[j]));
    }
}

template <int kEach>
__device__ __forceinline__ void
add_sizes(const near_plan &plan, unsigned *own, const unsigned (&at)[kEach],
          const near_sizes<numbers::wide, kEach> &s)
{
    const auto words = (unsigned)plan.words;
    unsigned low[kEach], old[kEach];
    int high[kEach], upper[kEach], over[kEach]; // upper: old ones
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const auto v = (long long)(s.size[j] << s.up[j]);
        const long long value = (v ^ s.sign[j]) - s.sign[j];
        low[j] = (unsigned)value;
        high[j] = (int)(value >> 32);
        old[j] = atomicAdd(&own[at[j]], low[j]);
    }
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        high[j] += old[j] + low[j] < low[j];
        upper[j] = (int)atomicAdd(&own[at[j] + words], (unsigned)high[j]);
    }
    if (overflows(upper, high, over) >= 0) return;
#pragma unroll
    for (int j = 0; j < kEach; j++)
        if (over[j] < 0) atomicAdd(&own[at[j] + 2 * words], high[j] > 0 ? 1u : ~0u);
}

// Adds a thread's elements. kShared: some of the rows are another multiprocessor's.
template <typename S, bool kShared>
__device__ __forceinline__ void
add_elements(const weights_task &t, const near_plan &plan, int low, unsigned part,
             unsigned *own, const unsigned (&row)[S::kEach],
             const typename S::weight_type (&w)[S::kEach])
{
    using form = near_form<S::kClass>;
    using bits = typename form::bits;
    constexpr int kEach = S::kEach, kField = form::kField, kSign = sizeof(bits) * 8 - 1;
    near_sizes<S::kClass, kEach> s;
    unsigned at[kEach];
    unsigned far = 0; // bit j: beyond the words' reach
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const bits b = form::of(S::number(t, w[j])), magnitude = b & ~((bits)1 << kSign);
        const int e = (int)(magnitude >> kField); // of infinities and NaN beyond all reach
        const unsigned line = row[j] / 32;
        const bool mine = row[j] < (unsigned)t.rows &&
                          (!kShared || (line & ((1u << plan.shift) - 1)) == part);
        const auto up = (unsigned)(max(e, 1) - 1 - low);
        s.sign[j] = -(int)(b >> kSign);
        const bool here = mine && up < (unsigned)form::kReach;
        const bits size = (b & (((bits)1 << kField) - 1)) + ((bits)min(e, 1) << kField);
        s.size[j] = here ? size : 0;
        s.up[j] = here ? up : 0;
        far |= (unsigned)(mine & !here & (magnitude != 0)) << j;
        const unsigned place = kShared ? (line >> plan.shift) * 32 + row[j] % 32 : row[j];
        at[j] = mine ? histogram::turned(place) : threadIdx.x % kWarp;
    }
    add_sizes(plan, own, at, s);
    if (!far) return; // as in most tiles
#pragma unroll
    for (int j = 0; j < kEach; j++)
        if (far >> j & 1) add_at_once<S::kClass>(t, row[j], S::number(t, w[j]));
}

// The block's numbers to its table, the two upper words as one: rows side by side. near_sum adds the
// tables up: as many adds in L2 would take longer.
template <numbers kClass>
__device__ __forceinline__ void
store_numbers(const weights_task &t, const near_plan &plan, const unsigned *words)
{
    long long *table = t.tables + (int64_t)blockIdx.x * kNearLongs * plan.words;
    for (int i = threadIdx.x; i < plan.words; i += kBlock) {
        const unsigned *word = words + histogram::turned((unsigned)i);
        long long first = 0, others = 0;
        for (int c = 0; c < plan.copies; c++, word += plan.copy()) {
            const unsigned low = word[0], middle = word[plan.words];
            first += kClass == numbers::wide ? (long long)low : (long long)(int)low;
            const int top = (int)word[2 * plan.words];
            others += top * (1ll << near_form<kClass>::kTop) + (int)middle;
        }
        table[i] = first;
        table[plan.words + i] = others;
    }
}

template <typename S, bool kShared>
__global__ void
__launch_bounds__(kBlock)
    weights_near(const weights_task __grid_constant__ t, const tiles __grid_constant__ s,
                 const near_plan __grid_constant__ plan)
{
    WK_DYNAMIC_SHARED(unsigned, words);
    const int copy = plan.copy(), low = *plan.low;
    for (int i = threadIdx.x; i < copy * plan.copies; i += kBlock) words[i] = 0;
    __syncthreads(); // every word is zero before the first add

    unsigned *own = words + (int)threadIdx.x % kWarp % plan.copies * copy;
    const unsigned part = blockIdx.x & ((1u << plan.shift) - 1);
    const int64_t group = blockIdx.x >> plan.shift, groups = gridDim.x >> plan.shift;
    elements<S> next;
    bool strays = false;
    if (group < s.all) fetch<S>(t, s, group, &next);
    for (int64_t tile = group; tile < s.all; tile += groups) {
        const elements<S> e = next;
        if (tile + groups < s.all) fetch<S>(t, s, tile + groups, &next);
        unsigned row[S::kEach];
        S::rows(t, e.x, row);
#pragma unroll
        for (int j = 0; j < S::kEach; j++) strays |= row[j] == (unsigned)t.bins.args.bins;
        add_elements<S, kShared>(t, plan, low, part, own, row, e.w);
    }
    if (strays && t.stray) atomicOr(t.stray, 1u);
    __syncthreads(); // every add is done before the words are read
    store_numbers<S::kClass>(t, plan, words);
}

// Of each row the blocks' numbers, added up, to the limbs: a warp for 32 rows of some of the blocks.
template <numbers kClass>
__global__ void
__launch_bounds__(kBlock)
    near_sum(const weights_task __grid_constant__ t, const near_plan __grid_constant__ plan)
{
    constexpr int kBits = layout<kClass>::kLimbBits, kWarps = kBlock / kWarp;
    __shared__ long long sums[kNearLongs][kWarps][kWarp];
    const int64_t line = blockIdx.x, row = line * kWarp + threadIdx.x % kWarp;
    const int64_t part = line & ((1 << plan.shift) - 1);
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const int64_t at = (line >> plan.shift) * kWarp + lane;
    long long sum[kNearLongs] = {};
    for (int g = warp; g < plan.groups; g += kWarps)
#pragma unroll
        for (int k = 0; k < kNearLongs; k++)
            sum[k] +=
                t.tables[(((int64_t)g << plan.shift | part) * kNearLongs + k) * plan.words +
                         at];
#pragma unroll
    for (int k = 0; k < kNearLongs; k++) sums[k][warp][lane] = sum[k];
    __syncthreads(); // every warp's sums are there before the first adds them
    if (warp > 0 || row >= t.rows) return;
    const long long unit = 1ll << *plan.low % kBits;
    unsigned long long *limb = &t.limbs[*plan.low / kBits * t.rows + row];
#pragma unroll
    for (int k = 0; k < kNearLongs; k++, limb += near_form<kClass>::kStep / kBits * t.rows) {
        long long all = 0;
        for (int w = 0; w < kWarps; w++) all += sums[k][w][lane];
        limb[0] += (unsigned long long)((all & 0xffffffff) * unit);
        limb[32 / kBits * t.rows] += (unsigned long long)((all >> 32) * unit);
    }
}

template <typename S, bool kShared>
wk_status
launch_near(wk_call *call, const weights_task &t, near_plan plan)
{
    const tiles s = tiles_of<S>(t);
    const size_t bytes = sizeof(unsigned) * plan.copy() * plan.copies;
    plan.groups = (int)std::min<int64_t>(plan.groups, s.all);
    if (grant(call, weights_near<S, kShared>, bytes) != WK_OK) return call->error.status;
    const wk_status status = launch(call, (unsigned)plan.groups << plan.shift, kBlock, bytes,
                                    weights_near<S, kShared>, t, s, plan);
    if (status) return status;
    return launch(call, (unsigned)((t.rows + kWarp - 1) / kWarp), kBlock, 0,
                  near_sum<S::kClass>, t, plan);
}

} // namespace wk::weights
