// take.cuh -- a thread's way through its share of the elements, into an accumulator.
//
// Runs that lie side by side are read 16 bytes at a time, with a ragged head and tail; one axis of any
// stride element by element; anything else, and what has a mask, by divisions of the index. Several
// loads are on their way together.
#pragma once
#include "reduce/task.cuh"

namespace wk
{

template <typename T>
struct alignas(16) vector16 {
    T x[16 / sizeof(T)];
};

// Leaves out what is not an element: NaN where it is skipped.
template <class Acc, int N>
__device__ __forceinline__ void
give(Acc &acc, typename Acc::T (&x)[N], uint32_t ok, const place &at, const reduce_task &task)
{
    if (task.skip_nan) {
#pragma unroll
        for (int j = 0; j < N; j++) {
            if (!is_nan(x[j])) continue;
            x[j] = Acc::filler(task);
            ok &= ~(1u << j);
        }
    }
    acc.tally(__popc(ok));
    acc.add(x, ok, at, task);
}

// Vectors begin .. end - 1, the team's threads side by side, and what `next` goes on with; kVectors
// of a thread are on their way together, in batches of kTurn. Where fewer are left, its first one is
// taken for them again if that does no harm (kRepeats), else fillers are.
template <class Acc, int kVectors, int kTurn, typename Index, class Next>
__device__ __forceinline__ void
take_vectors(Acc &acc, const vector16<uint32_t> *v, const reduce_task &task, int64_t first,
             Index begin, Index end, Index thread, Index team, Next next)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T), kBatch = kTurn * kPer;
    static_assert(kVectors % kTurn == 0, "whole batches");
    const bool packed = Acc::kPacked && !(task.skip_nan && is_half<T>);
    T fillers[kPer];
    do {
        for (Index i = begin + thread; i < end && !acc.hopeless(); i += kVectors * team) {
            vector16<uint32_t> read[kVectors];
            int left = kVectors;
            if (i + (kVectors - 1) * team < end) {
#pragma unroll
                for (int j = 0; j < kVectors; j++) read[j] = v[i + j * team];
            } else {
                left = 0;
                for (int e = 0; e < kPer; e++) fillers[e] = Acc::filler(task);
#pragma unroll
                for (int j = 0; j < kVectors; j++) {
                    const Index at = i + j * team;
                    read[j] = v[at < end ? at : i];
                    if (!Acc::kRepeats && at >= end) memcpy(&read[j], fillers, 16);
                    left += at < end;
                }
            }
#pragma unroll
            for (int t = 0; t < kVectors; t += kTurn) {
                place at = {first + (i + t * team) * kPer, team * kPer, kPer};
                const int own = left - t;
                if (own <= 0) break;
                at.from = v + i + t * team;
                at.vectors = own < kTurn ? own : kTurn;
                if constexpr (Acc::kPacked) {
                    if (packed && (Acc::kRepeats || Acc::kPads || own >= kTurn)) {
                        uint32_t words[kTurn * 4]; // several elements in each
                        memcpy(words, &read[t], sizeof words);
                        acc.tally(at.vectors * kPer);
                        acc.add_packed(words, at, task);
                        continue;
                    }
                }
                T all[kBatch];
                memcpy(all, &read[t], sizeof all);
                give(acc, all,
                     own < kTurn && !Acc::kRepeats ? (1u << own * kPer) - 1 : all_of<kBatch>,
                     at, task);
            }
        }
    } while (next(&begin, &end));
}

// Whole batches of elements `stride` apart; where this thread goes on.
template <class Acc>
__device__ __forceinline__ int64_t
take_strided(Acc &acc, const typename Acc::T *x, const reduce_task &task, int64_t i,
             int64_t end, int64_t team)
{
    constexpr int kBatch = Acc::kLongBatch;
    for (; i + (kBatch - 1) * team < end && !acc.hopeless(); i += kBatch * team) {
        const typename Acc::T *from = x + i * task.stride;
        const int64_t step = team * task.stride;
        typename Acc::T all[kBatch];
#pragma unroll
        for (int j = 0; j < kBatch; j++) all[j] = from[j * step];
        give(acc, all, all_of<kBatch>, {task.first + i, team, 1}, task);
    }
    return i;
}

// Any elements, one by one: those numbered i, i + team, ... below end, of which the first `lead` lie
// at their number and the others `skip` further on.
template <class Acc>
__device__ __forceinline__ void
take_loose(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
           int64_t first, int64_t i, int64_t end, int64_t team, int64_t lead, int64_t skip)
{
    constexpr int kFew = Acc::kBatch < 8 ? Acc::kBatch : 8;
    const bool scattered = !task.vector && (task.folded.ndim > 1 || mask);
    const bool pairs = task.planes == 2 && task.skip_nan; // the other part may be NaN
    for (; i < end && !acc.hopeless(); i += kFew * team) {
        typename Acc::T some[kFew];
        uint32_t ok = 0;
#pragma unroll
        for (int j = 0; j < kFew; j++) {
            const int64_t number = i + j * team, at = number < lead ? number : number + skip;
            some[j] = Acc::filler(task);
            if (number >= end) continue;
            spot s = {task.vector ? at : at * task.stride, 0};
            if (scattered) s = spot_of(task.folded, task.where_folded, at);
            if (mask && !mask[s.mask]) continue;
            if (pairs && is_nan(x[s.at + task.other_part(x)])) continue;
            some[j] = x[s.at];
            ok |= 1u << j;
        }
        give(acc, some, ok, {first + i, team, 1, first + lead, skip}, task);
    }
}

// Up to 15 elements before the first vector of a line, and as many after the last: number i of them
// is at i, or `skip` further on from `lead` on. Of lines alone, by 32 bits: take_loose costs them a
// tenth of their speed (4099 float32, H100).
template <class Acc>
__device__ __forceinline__ void
take_ends(Acc &acc, const typename Acc::T *x, const reduce_task &task, int i, int n, int team,
          int lead, int64_t skip)
{
    constexpr int kFew = 4;
    for (; i < n; i += kFew * team) {
        typename Acc::T some[kFew];
        uint32_t ok = 0;
#pragma unroll
        for (int j = 0; j < kFew; j++) {
            const int number = i + j * team;
            some[j] = Acc::filler(task);
            if (number >= n) continue;
            some[j] = x[number < lead ? number : number + skip];
            ok |= 1u << j;
        }
        give(acc, some, ok, {task.first + i, team, 1, task.first + lead, skip}, task);
    }
}

// What an accumulator has put off, it does now: arg.cuh.
template <class Acc>
__device__ __forceinline__ void
settle(Acc &, const reduce_task &)
{
}

// A block draws a piece while it reads the one before; what its first thread has drawn it need not
// know until then.
__device__ __forceinline__ void
draw_ahead(share &s, const reduce_task &task)
{
    if (threadIdx.x > 0) return;
    s.ticket =
        s.pieces < WK_DRAWS - 1 ? (unsigned)task.parts + atomicAdd(s.draws, 1u) : UINT_MAX;
}

// The next piece of a block that draws them; -1: there is none. Every thread calls it.
__device__ __forceinline__ int64_t
next_piece(share &s, const reduce_task &task, int64_t pieces)
{
    const int k = s.pieces;
    if (threadIdx.x == 0) s.drawn[k] = s.ticket;
    __syncthreads(); // drawn before all read it
    const unsigned number = s.drawn[k];
    if (number >= pieces) return -1;
    s.pieces = k + 1;
    draw_ahead(s, task);
    return number;
}

// A thread's share of the units begin .. end - 1 of the output at x: of one run a part, of several
// whole ones; or elements by their stride. Where pieces are drawn, they are the first.
template <class Acc, bool kHot>
__device__ __forceinline__ void
walk(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
     int64_t begin, int64_t end, share &s)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T);
    const bool many = task.runs > 1, draws = kHot && s.draws;
    const int64_t thread = s.thread, team = task.team, chunk = task.part;
    const int64_t pieces = draws ? (task.n + chunk - 1) / chunk : 0;
    int64_t r = begin;
    do { // one loop for all, so that there is one copy of what it does
        const T *from = x;
        int64_t first = task.first, i = begin + thread, n = end, lead = end, skip = 0;
        if (task.vector) {
            const int64_t at = many ? r * task.run : draws ? 0 : begin;
            from += many ? spot_of(task.folded, task.where_folded, at).at : at;
            first += at;
            i = thread;
            lead = n = many ? task.run : draws ? task.n : end - begin;
            if constexpr (kHot) {
                constexpr int kTurn = Acc::kLongBatch / kPer;
                constexpr int kVectors = kTurn < Acc::kLong ? Acc::kLong : kTurn;
                const int ragged =
                    (int)(-reinterpret_cast<uintptr_t>(from) & (draws ? 127 : 15)) /
                    (int)sizeof(T);
                lead = ragged < n ? ragged : n;
                const int64_t vectors = (n - lead) / kPer, step = chunk / kPer;
                int64_t v = draws ? s.part * step : 0;
                const auto is_last = [&](int64_t b) {
                    return b <= vectors && vectors < b + step;
                };
                bool tail = !draws || is_last(v);
                const int64_t stop = v + step < vectors && draws ? v + step : vectors;
                take_vectors<Acc, kVectors, kTurn>(
                    acc, reinterpret_cast<const vector16<uint32_t> *>(from + lead), task,
                    first + lead, v, stop, thread, team, [&](int64_t *b, int64_t *e) {
                        const int64_t p = draws ? next_piece(s, task, pieces) : -1;
                        *b = p * step;
                        *e = *b + step < vectors ? *b + step : vectors;
                        tail |= p >= 0 && is_last(*b);
                        return p >= 0;
                    });
                // The first piece has the ragged head, the last the tail.
                const int64_t rest = tail ? n - lead - vectors * kPer : 0;
                skip = vectors * kPer;
                if (draws && s.part > 0) {
                    skip += lead;
                    lead = 0;
                }
                n = lead + rest;
            }
        } else if (kHot && task.folded.ndim <= 1 && mask == nullptr &&
                   !(task.planes == 2 && task.skip_nan)) {
            static_assert(WK_DRAW % (Acc::kLongBatch * kThreads * sizeof(T)) == 0,
                          "whole batches");
            int64_t b = begin, e = end, p = -1;
            n = i; // none are left
            do {
                const int64_t at = take_strided(acc, from, task, b + thread, e, team);
                if (at < e) { // of the last piece
                    i = at;
                    n = e;
                }
                if (draws) p = next_piece(s, task, pieces);
                b = p * chunk;
                e = b + chunk < task.n ? b + chunk : task.n;
            } while (p >= 0);
        }
        take_loose(acc, from, mask, task, first, i, n, team, lead, skip);
    } while (++r < (task.vector && many ? end : begin + 1));
}

// All pieces of a thread's share once more.
template <class Acc>
__device__ __forceinline__ void
walk_again(Acc &acc, const typename Acc::T *in, const reduce_task &task, share &s)
{
    const spot first = spot_of(task.kept, task.where_kept, s.output);
    const typename Acc::T *x = in + first.at;
    for (int k = 0; k < s.pieces; k++) {
        const units u = piece_of(task, x, s, k);
        walk<Acc, false>(acc, x, task.where ? task.where + first.mask : nullptr, task, u.begin,
                         u.end, s);
    }
}

} // namespace wk
