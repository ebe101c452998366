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
// kTop: and from there to the third. A number of kDigits is a multiple of 2^kLeast.
template <numbers kClass>
struct near_form;

template <>
struct near_form<numbers::narrow> {
    using number = float;
    using integer = int;
    static constexpr int kReach = 16, kLast = 254 - kReach, kStep = 8, kTop = 24;
    static constexpr int kLeast = -149, kDigits = 24, kMost = 127;
};

template <>
struct near_form<numbers::wide> {
    using number = double;
    using integer = long long;
    static constexpr int kReach = 10, kLast = 2046 - kReach, kStep = 32, kTop = 32;
    static constexpr int kLeast = -1074, kDigits = 53, kMost = 1023;
};

// Numbers in units of the first word, if they begin at `low`.
template <numbers kClass>
struct near_scale {
    using form = near_form<kClass>;
    using F = typename form::number;
    static constexpr F kOne = 1,
                       kEnd = kOne * (1ll << form::kReach) * (1ll << (form::kDigits - 1));
    F most, more; // the unit's inverse: one power of two may be too little
    F least;      // what is there of a whole number's digits, where these begin

    __device__ __forceinline__ explicit near_scale(int low)
    {
        const int e = -form::kLeast - low, rest = e > form::kMost ? e - form::kMost : 0;
        const auto kept = [](F x) { return __shfl_sync(kAllLanes, x, 0); }; // not computed anew
        most = kept((F)wk_power_of_two(e - rest));
        more = kept((F)wk_power_of_two(rest));
        least = kept(low == 0 ? 0 : kOne * (1ll << (form::kDigits - 1)));
    }
    // An integer, if the words take it.
    __device__ __forceinline__ F operator()(F x) const
    {
        return x * most * more;
    }
    __device__ __forceinline__ bool takes(F scaled) const
    {
        return fabs(scaled) >= least && fabs(scaled) < kEnd;
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

// Is the row one of the block's? kShared: some are another multiprocessor's.
template <bool kShared>
__device__ __forceinline__ bool
is_own(const weights_task &t, const near_plan &plan, unsigned part, unsigned row)
{
    return row < (unsigned)t.rows &&
           (!kShared || (row / 32 & ((1u << plan.shift) - 1)) == part);
}

// A weight to its limb, if the words do not take it.
template <numbers kClass, bool kShared>
__device__ WK_NOINLINE void
add_to_limb(const weights_task &t, const near_plan &plan, near_scale<kClass> scale,
            unsigned part, unsigned row, typename near_form<kClass>::number x)
{
    if (x == 0 || !is_own<kShared>(t, plan, part, row) || scale.takes(scale(x))) return;
    const pieces p = pieces_of(x);
    unsigned long long *limb = &t.limbs[p.place * t.rows + row];
    if (p.flags) atomicOr(&t.flags[row], (unsigned)p.flags);
    if (p.low) atomicAdd(limb, (unsigned long long)p.low);
    if (p.high) atomicAdd(limb + layout<kClass>::kApart * t.rows, (unsigned long long)p.high);
}

// A thread's weights as integers, in which of a row's words.
template <numbers kClass, int kEach>
struct near_values {
    typename near_form<kClass>::integer value[kEach];
    unsigned at[kEach];
    bool upper[kEach]; // of narrow ones: to the second word
};

// All adds first, so that they wait together.
template <int kEach>
__device__ __forceinline__ void
add_values(const near_plan &plan, unsigned *own, const near_values<numbers::narrow, kEach> &v)
{
    const auto words = (unsigned)plan.words;
    int old[kEach], over[kEach];
#pragma unroll
    for (int j = 0; j < kEach; j++)
        old[j] = (int)atomicAdd(&own[v.at[j] + (v.upper[j] ? words : 0)], (unsigned)v.value[j]);
    if (overflows(old, v.value, over) >= 0) return;
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const int carry = v.upper[j] ? 1 << near_form<numbers::narrow>::kStep : 1;
        if (over[j] < 0)
            atomicAdd(&own[v.at[j] + 2 * words], (unsigned)(carry * (v.value[j] >> 31 | 1)));
    }
}

template <int kEach>
__device__ __forceinline__ void
add_values(const near_plan &plan, unsigned *own, const near_values<numbers::wide, kEach> &v)
{
    const auto words = (unsigned)plan.words;
    unsigned low[kEach], old[kEach];
    int high[kEach], upper[kEach], over[kEach]; // upper: old ones
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        low[j] = (unsigned)v.value[j];
        high[j] = (int)(v.value[j] >> 32);
        old[j] = atomicAdd(&own[v.at[j]], low[j]);
    }
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        high[j] += old[j] + low[j] < low[j];
        upper[j] = (int)atomicAdd(&own[v.at[j] + words], (unsigned)high[j]);
    }
    if (overflows(upper, high, over) >= 0) return;
#pragma unroll
    for (int j = 0; j < kEach; j++)
        if (over[j] < 0) atomicAdd(&own[v.at[j] + 2 * words], high[j] > 0 ? 1u : ~0u);
}

// Adds a thread's elements.
template <typename S, bool kShared>
__device__ __forceinline__ void
add_elements(const weights_task &t, const near_plan &plan, const near_scale<S::kClass> &scale,
             unsigned part, unsigned *own, const unsigned (&row)[S::kEach],
             const typename S::weight_type (&w)[S::kEach])
{
    using form = near_form<S::kClass>;
    using F = typename form::number;
    constexpr int kEach = S::kEach;
    constexpr F kOne = 1, kMiddle = kOne * (1ll << form::kStep) * (1ll << (form::kDigits - 1));
    near_values<S::kClass, kEach> v;
    bool far = false;
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const F x = S::number(t, w[j]);
        F scaled = scale(x);
        const bool mine = is_own<kShared>(t, plan, part, row[j]), takes = scale.takes(scaled);
        far |= !takes && !(x == 0);
        v.upper[j] = S::kClass == numbers::narrow && fabs(scaled) >= kMiddle;
        if (v.upper[j]) scaled *= kOne / (1ll << form::kStep);
        v.value[j] = (typename form::integer)(mine && takes ? scaled : 0);
        const unsigned place =
            kShared ? (row[j] / 32 >> plan.shift) * 32 + row[j] % 32 : row[j];
        v.at[j] = mine ? histogram::turned(place) : threadIdx.x % kWarp;
    }
    add_values(plan, own, v);
    if (!far) return; // as in most tiles
#pragma unroll
    for (int j = 0; j < kEach; j++)
        add_to_limb<S::kClass, kShared>(t, plan, scale, part, row[j], S::number(t, w[j]));
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
    const int copy = plan.copy();
    const near_scale<S::kClass> scale(*plan.low);
    for (int i = threadIdx.x; i < copy * plan.copies; i += kBlock) words[i] = 0;
    __syncthreads(); // every word is zero before the first add

    unsigned *own = words + (int)threadIdx.x % kWarp % plan.copies * copy;
    const unsigned part = blockIdx.x & ((1u << plan.shift) - 1);
    const int64_t step = (int64_t)(gridDim.x >> plan.shift) * kBlock * S::kEach;
    int64_t at = ((int64_t)(blockIdx.x >> plan.shift) * kBlock + threadIdx.x) * S::kEach;
    elements<S> next;
    bool strays = false;
    if (at < s.all) fetch<S>(t, s, at, &next);
    while (at < s.all) {
        const elements<S> e = next;
        at += step;
        __syncwarp(); // lanes that overflowed are waited for, else each part of the warp loads alone
        if (at < s.all) fetch<S>(t, s, at, &next);
        unsigned row[S::kEach];
        S::rows(t, e.x, row);
#pragma unroll
        for (int j = 0; j < S::kEach; j++) strays |= row[j] == (unsigned)t.bins.args.bins;
        add_elements<S, kShared>(t, plan, scale, part, own, row, e.w);
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
    plan.groups = (int)std::min<int64_t>(plan.groups, s.all / (kBlock * S::kEach));
    if (grant(call, weights_near<S, kShared>, bytes) != WK_OK) return call->error.status;
    const wk_status status = launch(call, (unsigned)plan.groups << plan.shift, kBlock, bytes,
                                    weights_near<S, kShared>, t, s, plan);
    if (status) return status;
    return launch(call, (unsigned)((t.rows + kWarp - 1) / kWarp), kBlock, 0,
                  near_sum<S::kClass>, t, plan);
}

} // namespace wk::weights
