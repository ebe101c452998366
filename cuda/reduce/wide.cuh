// wide.cuh -- sums by integers, of elements that no few doubles hold.
//
// Elements are digits of 24 bits: each lane adds them to its own column of 32-bit counters, so that no
// two lanes meet in a bank, and now and then columns are added to the table's limbs (table.cuh). Any
// exponents, NaN and infinities; no float arithmetic. It is also what GPUs with few float64 units use
// always.
#pragma once
#include "reduce/table.cuh"

namespace wk
{

// An element of a part; its flags.
template <class Acc>
__device__ __forceinline__ int
add_number(table_memory<Acc> *memory, typename Acc::F x, int part)
{
    constexpr bool kWide = Acc::kWide;
    constexpr int kLanes = table_memory<Acc>::kLanes, kBits = kWide ? 52 : 23;
    uint64_t b;
    if constexpr (kWide)
        b = wk_bits_f64(x);
    else
        b = wk_bits_f32(x);
    const bool negative = b >> (kWide ? 63 : 31);
    const int most = kWide ? 2047 : 255, e = (int)(b >> kBits) & most;
    uint64_t m = b & (((uint64_t)1 << kBits) - 1);
    if (e == most) return m ? WK_HAS_NAN : negative ? WK_HAS_MINUS_INF : WK_HAS_INF;
    m |= (uint64_t)(e > 0) << kBits;
    if (m == 0) return negative ? 0 : WK_NOT_MINUS_ZERO;
    const int place = (e > 0 ? e : 1) - 1;
    int *column = &memory->column[0][threadIdx.x % kLanes];
    if constexpr (Acc::kHasSum)
        add_digits<kLanes>(column + part * Acc::kSumLimbs * kLanes, m, place, negative);
    if constexpr (Acc::kHasSquares) {
        using W = std::conditional_t<kWide, unsigned __int128, uint64_t>;
        add_digits<kLanes>(column + Acc::kPieces * Acc::kSumLimbs * kLanes, (W)m * (W)m,
                           2 * place, false);
    }
    return WK_NOT_MINUS_ZERO;
}

// All columns to the limbs, by the block's warps.
template <class Acc>
__device__ __forceinline__ void
flush_columns(table_memory<Acc> *memory)
{
    const int lane = threadIdx.x % kWarp;
#pragma unroll 1
    for (int b = threadIdx.x / kWarp; b < Acc::kLimbs; b += kWarps) {
        int *column = &memory->column[b][lane % memory->kLanes];
        const int own = lane < memory->kLanes ? *column : 0;
        if (!__any_sync(kAllLanes, own != 0)) continue;
        const int high = __reduce_add_sync(kAllLanes, own >> 16);
        const int low = __reduce_add_sync(kAllLanes, own & 0xffff);
        if (lane < memory->kLanes) *column = 0;
        if (lane == 0)
            memory->word[Acc::kLimb + b] += (unsigned long long)((int64_t)high * 65536 + low);
    }
}

template <typename T>
struct alignas(16) vector16 {
    T x[16 / sizeof(T)];
};

// A run's vectors, and what lies before them.
template <typename T>
struct run_of {
    static constexpr int kPer = 16 / (int)sizeof(T);
    const T *from;
    int64_t first; // of its elements, in the fold
    int64_t vectors;
    int lead;

    __device__ __forceinline__ run_of(const T *x, const reduce_task &task, int64_t run)
        : from(x), first(run * task.run), lead(0)
    {
        if (task.runs > 1) from += spot_of(task.folded, task.where_folded, first).at;
        if (!task.aligned) {
            lead = (int)(-reinterpret_cast<uintptr_t>(from) & 15) / (int)sizeof(T);
            lead = lead < task.run ? lead : (int)task.run;
        }
        vectors = (task.run - lead) / kPer;
    }
};

// Elements of a fold: number m, begin <= m < end, is at m, or `skip` further on from `lead` on.
struct stretch {
    int64_t begin, end, lead, skip;
};

// The elements of a tile's turn (lines.cuh).
template <class Acc>
__device__ __forceinline__ stretch
stretch_of(const typename Acc::T *x, const reduce_task &task, int64_t number, int turn)
{
    constexpr int kPer = run_of<typename Acc::T>::kPer;
    constexpr int64_t kStep = (int64_t)Acc::kVectors * kWarp;
    if (task.pack) { // runs follow each other in the fold
        const int64_t runs = task.pack / (Acc::kVectors / Acc::kTurn) * task.run,
                      from = (number * task.pack) * task.run + turn * runs, to = from + runs;
        return {from < task.n ? from : task.n, to < task.n ? to : task.n, INT64_MAX, 0};
    }
    int64_t run = number;
    const int64_t t = split(&run, task.tiles);
    if (!task.vector) { // of one batch
        if (turn > 0) return {0, 0, 0, 0};
        const int64_t at = t * Acc::kBatch * kWarp, end = at + Acc::kBatch * kWarp;
        return {at, end < task.n ? end : task.n, INT64_MAX, 0};
    }
    const run_of<typename Acc::T> r(x, task, run);
    constexpr int64_t kOwn = (int64_t)Acc::kTurn * kWarp;
    const int64_t v = t * kStep + turn * kOwn, all = r.vectors * kPer, lead = r.first + r.lead;
    if (v >= r.vectors) { // the ends, after all vectors; or nothing
        if (turn > 0 || v >= r.vectors + kStep) return {0, 0, 0, 0};
        return {r.first, r.first + task.run - all, lead, all};
    }
    const int64_t end = v + kOwn < r.vectors ? v + kOwn : r.vectors;
    return {lead + v * kPer, lead + end * kPer, INT64_MAX, 0};
}

// The element of an output at x; false: it does not count, and is left as it was.
template <class Acc>
__device__ __forceinline__ bool
element_at(const typename Acc::T *x, const uint8_t *mask, const reduce_task &task, int64_t i,
           typename Acc::T *e)
{
    spot s = {i * task.stride, 0};
    if (task.folded.ndim > 1 || mask) s = spot_of(task.folded, task.where_folded, i);
    if (mask && !mask[s.mask]) return false;
    if (task.pairs() && is_nan(x[s.at + task.other_part(x)])) return false;
    if (task.skip_nan && is_nan(x[s.at])) return false;
    *e = x[s.at];
    return true;
}

// Stretches of a fold, by the block's warps: of a warp's marked tiles, or of all from `begin` on.
template <class Acc>
struct stretches {
    const typename Acc::T *x;
    const reduce_task *task;
    const uint32_t *marks; // kWarp words of the warp's, a bit a batch; null: all elements
    int64_t first, step;   // of its tiles
    stretch now = {0, 0, INT64_MAX, 0};
    int64_t begin = 0, end = 0;
    int word = 0;
    uint32_t left = 0;

    // The warp's next, of 32 * kTurn elements at most; false: it has none.
    __device__ __forceinline__ bool next(stretch *s)
    {
        constexpr int64_t kMost = kWarp * table_memory<Acc>::kTurn;
        constexpr int kTurns = Acc::kVectors / Acc::kTurn;
        if (marks == nullptr) {
            const int64_t at = begin + threadIdx.x / kWarp * kMost;
            begin += kWarps * kMost;
            *s = {at, at + kMost < end ? at + kMost : end, INT64_MAX, 0};
            return at < end;
        }
        while (now.begin >= now.end) {
            while (left == 0) {
                if (word == kWarp) return false;
                left = marks[word++];
            }
            const int bit = __ffs((int)left) - 1;
            left &= left - 1;
            const int mark = (word - 1) * kWarp + bit;
            now = stretch_of<Acc>(x, *task, first + mark / kTurns * step, mark % kTurns);
        }
        *s = now;
        if (s->end > s->begin + kMost) s->end = s->begin + kMost;
        now.begin = s->end;
        return true;
    }
};

// Adds stretches of the output at x to the table, by the whole block. Columns are zero before and after.
// A barrier must follow.
template <class Acc>
__device__ WK_NOINLINE void
add_elements(const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
             table_memory<Acc> *memory, stretches<Acc> from)
{
    using T = typename Acc::T;
    constexpr int kTurn = table_memory<Acc>::kTurn, kMore = kTurn < 4 ? kTurn : 4;
    const int lane = threadIdx.x % kWarp;
    const bool simple =
        task.folded.ndim <= 1 && mask == nullptr && !task.pairs() && !task.skip_nan;
    Acc rest;
    rest.start(task);
#pragma unroll 1
    for (;;) {
        stretch s = {0, 0, 0, 0};
        const bool some = from.next(&s);
        if (!__syncthreads_or(some)) break; // columns have been flushed, too
#pragma unroll 1
        for (int64_t i = s.begin + lane; i < s.end; i += kMore * kWarp) {
            T e[kMore];
#pragma unroll
            for (int j = 0; j < kMore; j++) { // on their way together
                const int64_t m = i + j * kWarp, at = m < s.lead ? m : m + s.skip;
                if (simple && m < s.end) e[j] = x[at * task.stride];
            }
#pragma unroll 1
            for (int j = 0; j < kMore; j++) {
                const int64_t m = i + j * kWarp, at = m < s.lead ? m : m + s.skip;
                T own[1] = {e[0]};
#pragma unroll
                for (int k = 1; k < kMore; k++) e[k - 1] = e[k]; // the next comes first
                if (m >= s.end || !(simple || element_at<Acc>(x, mask, task, at, own)))
                    continue;
                if constexpr (Acc::kPieces == 2) {
                    rest.flags |= add_number<Acc>(memory, value_of(own[0].re), 0);
                    rest.flags |= Acc::note(1, add_number<Acc>(memory, value_of(own[0].im), 1));
                } else {
                    rest.flags |= add_number<Acc>(memory, value_of(own[0]), 0);
                }
                if (task.counts) rest.count++;
                rest.take_rest(own, 1);
            }
        }
        __syncthreads(); // all digits are in the columns
        flush_columns(memory);
    }
    add_to_table(rest, memory); // which holds no doubles
}

// An output, or the part of it from `begin` to `end`, by integers, by the whole block. A barrier must
// have gone before.
template <class Acc>
__device__ WK_NOINLINE void
fold_by_integers(const typename Acc::T *in, const reduce_task &task, int64_t output,
                 int64_t begin, int64_t end, table_memory<Acc> *memory)
{
    const spot first = spot_of(task.kept, task.where_kept, output);
    const uint8_t *mask = task.where ? task.where + first.mask : nullptr;
    stretches<Acc> all{in + first.at, &task, nullptr, 0, 0};
    all.begin = begin;
    all.end = end;
    clear_table(memory, true);
    __syncthreads(); // all is zero before anything is added
    add_elements<Acc>(in + first.at, mask, task, memory, all);
    __syncthreads(); // the table is whole
    if (task.shared)
        share_table(memory, task, output);
    else
        finish_by_table(memory, task, output);
    __syncthreads(); // the table has been read
}

// The outputs of a block's items that its warps have marked, of `lanes` each, by the whole block.
template <class Acc>
__device__ __forceinline__ void
fold_marked(const typename Acc::T *in, const reduce_task &task, const uint32_t (*marks)[kWarp],
            int items, int lanes, table_memory<Acc> *memory)
{
    for (int k = 0; k < items * kWarps; k++) {
        const int64_t item = blockIdx.x + (int64_t)(k / kWarps) * gridDim.x;
        const int64_t first = (item * kWarps + k % kWarps) * (kWarp / lanes);
        for (uint32_t left = marks[k % kWarps][k / kWarps]; left; left &= left - 1)
            fold_by_integers<Acc>(in, task, first + (__ffs((int)left) - 1) / lanes, 0, task.n,
                                  memory);
    }
}

} // namespace wk
