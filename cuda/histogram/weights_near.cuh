// weights_near.cuh -- sums of weights in shared memory, one short number a bin: for thousands of them.
//
// In, out   weights[n] -> limbs[limbs of a row][rows], as weights_shared.cuh.
// How       a bin has one signed number at the place where a sample has most of the weights: it takes
//           those of 9 binades (12 of float64) in two words (three), 32 bits more than one of them
//           needs, so it cannot overflow. Words add modulo 2^32; the old value that an add returns
//           tells of a carry, which goes to the next word. A weight from elsewhere goes to its limb
//           at once: slow, and as exact.
// Share     of more bins than fit one multiprocessor, 2, 4, 8 or 16 of them take a part each, and all
//           read every element: rows of 32 bins go by turns, so that sorted data keeps all of them
//           busy. What is another's adds zero to the lane's first word.
#pragma once
#include "histogram/shared.cuh"
#include "histogram/weights_shared.cuh"

namespace wk::weights
{

// kReach: binades. kWords: of a row. kBits: where a number may begin.
template <numbers kClass>
struct near_form;

template <>
struct near_form<numbers::narrow> {
    static constexpr int kReach = 9, kWords = 2, kBits = 254;
};

template <>
struct near_form<numbers::wide> {
    static constexpr int kReach = 12, kWords = 3, kBits = 2046;
};

struct near_plan {
    const int *low; // where the numbers begin, as the device has found
    int shift;      // 2^shift multiprocessors share the bins
    int words;      // of a part, for one word of each row
    int copies;     // by lane: equal addresses in a warp wait for each other
    int groups;     // of 2^shift blocks, at most
    long long *tables;
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

// Adds a thread's elements: all adds to one word first, so that they wait together.
template <typename S>
__device__ __forceinline__ void
add_elements(const weights_task &t, const near_plan &plan, int low, unsigned part,
             unsigned *own, const unsigned (&row)[S::kEach],
             const typename S::weight_type (&w)[S::kEach])
{
    using form = near_form<S::kClass>;
    constexpr int kEach = S::kEach;
    unsigned at[kEach], carry[kEach];
    uint64_t value[kEach];
    int sign[kEach]; // and what is above: 0 or -1
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const auto x = S::number(t, w[j]);
        const auto s = size_of(x);
        const unsigned up = (unsigned)(s.at - low), line = row[j] / 32;
        const bool mine = row[j] < t.rows && (line & ((1u << plan.shift) - 1)) == part;
        const bool here = mine && up < (unsigned)form::kReach;
        if (mine && (s.flags || (s.size && !here))) add_at_once<S::kClass>(t, row[j], x);
        const uint64_t size = here ? (uint64_t)s.size << up : 0;
        value[j] = s.negative ? 0 - size : size;
        sign[j] = s.negative && size ? -1 : 0;
        carry[j] = 0;
        at[j] = here ? histogram::turned((line >> plan.shift) * 32 + row[j] % 32)
                     : threadIdx.x % kWarp;
    }
#pragma unroll
    for (int k = 0; k < form::kWords - 1; k++, own += plan.words) {
        unsigned old[kEach], add[kEach];
#pragma unroll
        for (int j = 0; j < kEach; j++) {
            const uint64_t v = (value[j] >> 32 * k & 0xffffffffu) + carry[j];
            add[j] = (unsigned)v;
            carry[j] = (unsigned)(v >> 32);
            old[j] = atomicAdd(&own[at[j]], add[j]);
        }
#pragma unroll
        for (int j = 0; j < kEach; j++) carry[j] += old[j] + add[j] < add[j];
    }
#pragma unroll
    for (int j = 0; j < kEach; j++)
        if (const unsigned v = (unsigned)sign[j] + carry[j]) atomicAdd(&own[at[j]], v);
}

// The block's numbers, of 64 bits and as many below as there are words more, to its table: rows side
// by side. near_sum adds the tables up: as many adds in L2 would take longer.
template <numbers kClass>
__device__ __forceinline__ void
store_numbers(const near_plan &plan, const unsigned *words)
{
    constexpr int kWords = near_form<kClass>::kWords, kLong = kWords - 1;
    long long *table = plan.tables + (int64_t)blockIdx.x * kLong * plan.words;
    for (int i = threadIdx.x; i < plan.words; i += kBlock) {
        const unsigned *word = words + histogram::turned((unsigned)i);
        long long sum[kLong] = {};
        for (int c = 0; c < plan.copies; c++)
#pragma unroll
            for (int k = 0; k < kWords; k++, word += plan.words)
                sum[k < kLong ? k : k - 1] +=
                    k < kLong ? (long long)*word : (long long)(int)*word * (1ll << 32);
#pragma unroll
        for (int k = 0; k < kLong; k++) table[k * plan.words + i] = sum[k];
    }
}

template <typename S>
__global__ void
__launch_bounds__(kBlock)
    weights_near(const weights_task __grid_constant__ t, const tiles __grid_constant__ s,
                 const near_plan __grid_constant__ plan)
{
    WK_DYNAMIC_SHARED(unsigned, words);
    const int copy = near_form<S::kClass>::kWords * plan.words, low = *plan.low;
    for (int i = threadIdx.x; i < copy * plan.copies; i += kBlock) words[i] = 0;
    __syncthreads(); // every word is zero before the first add

    unsigned *own = words + (int)threadIdx.x % kWarp % plan.copies * copy;
    const unsigned part = blockIdx.x & ((1u << plan.shift) - 1);
    const int64_t group = blockIdx.x >> plan.shift, groups = gridDim.x >> plan.shift;
    elements<S> next;
    if (group < s.all) fetch<S>(t, s, group, &next);
    for (int64_t tile = group; tile < s.all; tile += groups) {
        const elements<S> e = next;
        if (tile + groups < s.all) fetch<S>(t, s, tile + groups, &next);
        unsigned row[S::kEach];
        S::rows(t, e.x, row);
        add_elements<S>(t, plan, low, part, own, row, e.w);
    }
    __syncthreads(); // every add is done before the words are read
    store_numbers<S::kClass>(plan, words);
}

// Of each row the blocks' numbers, added up, to the limbs: a warp for 32 rows of some of the blocks.
template <numbers kClass>
__global__ void
__launch_bounds__(kBlock) near_sum(const weights_task __grid_constant__ t,
                                   const near_plan __grid_constant__ plan, int groups)
{
    constexpr int kBits = layout<kClass>::kLimbBits, kLong = near_form<kClass>::kWords - 1;
    constexpr int kWarps = kBlock / kWarp;
    __shared__ long long sums[kLong][kWarps][kWarp];
    const int64_t line = blockIdx.x, row = line * kWarp + threadIdx.x % kWarp;
    const int64_t part = line & ((1 << plan.shift) - 1);
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const int64_t at = (line >> plan.shift) * kWarp + lane;
    long long sum[kLong] = {};
    for (int g = warp; g < groups; g += kWarps)
#pragma unroll
        for (int k = 0; k < kLong; k++)
            sum[k] +=
                plan.tables[(((int64_t)g << plan.shift | part) * kLong + k) * plan.words + at];
#pragma unroll
    for (int k = 0; k < kLong; k++) sums[k][warp][lane] = sum[k];
    __syncthreads(); // every warp's sums are there before the first adds them
    if (warp > 0 || row >= t.rows) return;
    const long long unit = 1ll << *plan.low % kBits;
    unsigned long long *limb = &t.limbs[*plan.low / kBits * t.rows + row];
#pragma unroll
    for (int k = 0; k < kLong; k++, limb += 32 / kBits * t.rows) {
        long long all = 0;
        for (int w = 0; w < kWarps; w++) all += sums[k][w][lane];
        limb[0] += (unsigned long long)((all & 0xffffffff) * unit);
        limb[32 / kBits * t.rows] += (unsigned long long)((all >> 32) * unit);
    }
}

template <typename S>
wk_status
launch_near(wk_call *call, const weights_task &t, const near_plan &plan)
{
    constexpr numbers kClass = S::kClass;
    const tiles s = tiles_of<S>(t);
    const size_t bytes =
        sizeof(unsigned) * near_form<kClass>::kWords * plan.words * plan.copies;
    if (grant(call, weights_near<S>, bytes) != WK_OK) return call->error.status;
    const int groups = s.all < plan.groups ? (int)s.all : plan.groups;
    const wk_status status = launch(call, (unsigned)groups << plan.shift, kBlock, bytes,
                                    weights_near<S>, t, s, plan);
    if (status) return status;
    return launch(call, (unsigned)((t.rows + kWarp - 1) / kWarp), kBlock, 0, near_sum<kClass>,
                  t, plan, groups);
}

} // namespace wk::weights
