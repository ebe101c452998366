// teams.cuh -- the production reduction: a team of threads folds one part of one output.
//
// In, out   any strides, any dtype, a mask or none -> one result, or several, per output.
// How       plan.cu gives each output a team of 1 to 256 threads, or several teams (parts) whose
//           records a second kernel folds. Neighbouring threads read neighbouring elements: of a row
//           16 bytes each, of columns one element of each column. What a thread keeps is an
//           accumulator (moments.cuh, extreme.cuh, ...); all take their elements in any order and
//           give the same bits.
// Better    than one shape for all: short rows, tall columns and one long line all run at the
//           memory's speed.
#pragma once
#include "reduce/slow.cuh"
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

// Vectors 0 .. n - 1, the team's threads side by side. Four at least are on their way together.
// Where fewer are left, the last one is taken for them again if that does no harm (kRepeats), else
// fillers are.
template <class Acc>
__device__ __forceinline__ void
take_vectors(Acc &acc, const vector16<uint32_t> *v, const reduce_task &task, int64_t first,
             int64_t n, int64_t thread, int64_t team)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T), kTurn = Acc::kBatch / kPer; // vectors of a batch
    constexpr int kVectors = kTurn < 4 ? 4 : kTurn;
    static_assert(kVectors % kTurn == 0, "whole batches");
    const bool packed = Acc::kPacked && !(task.skip_nan && is_half<T>);
    T fillers[kPer];
    for (int64_t i = thread; i < n && !acc.hopeless(); i += kVectors * team) {
        vector16<uint32_t> read[kVectors];
        int left = kVectors;
        if (i + (kVectors - 1) * team < n) {
#pragma unroll
            for (int j = 0; j < kVectors; j++) read[j] = v[i + j * team];
        } else {
            left = 0;
            for (int e = 0; e < kPer; e++) fillers[e] = Acc::filler(task);
#pragma unroll
            for (int j = 0; j < kVectors; j++) {
                const int64_t at = i + j * team;
                read[j] = v[at < n ? at : n - 1];
                if (!Acc::kRepeats && at >= n) memcpy(&read[j], fillers, 16);
                left += at < n;
            }
        }
#pragma unroll
        for (int t = 0; t < kVectors; t += kTurn) {
            const place at = {first + (i + t * team) * kPer, team * kPer, kPer};
            const int own = left - t;
            if (own <= 0) break;
            if constexpr (Acc::kPacked) {
                if (packed && (Acc::kRepeats || Acc::kPads || own >= kTurn)) {
                    uint32_t words[kTurn * 4]; // several elements in each
                    memcpy(words, &read[t], sizeof words);
                    acc.tally((own < kTurn ? own : kTurn) * kPer);
                    acc.add_packed(words, at, task);
                    continue;
                }
            }
            T all[Acc::kBatch];
            memcpy(all, &read[t], sizeof all);
            give(acc, all,
                 own < kTurn && !Acc::kRepeats ? (1u << own * kPer) - 1 : all_of<Acc::kBatch>,
                 at, task);
        }
    }
}

// Whole batches of elements `stride` apart; where this thread goes on.
template <class Acc>
__device__ __forceinline__ int64_t
take_strided(Acc &acc, const typename Acc::T *x, const reduce_task &task, int64_t i,
             int64_t end, int64_t team)
{
    for (; i + (Acc::kBatch - 1) * team < end && !acc.hopeless(); i += Acc::kBatch * team) {
        const typename Acc::T *from = x + i * task.stride;
        const int64_t step = team * task.stride;
        typename Acc::T all[Acc::kBatch];
#pragma unroll
        for (int j = 0; j < Acc::kBatch; j++) all[j] = from[j * step];
        give(acc, all, all_of<Acc::kBatch>, {task.first + i, team, 1}, task);
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

// A thread's share of the units begin .. end - 1 of the output at x: of one run a part, of several
// whole ones; or elements by their stride.
template <class Acc, bool kHot>
__device__ __forceinline__ void
walk(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
     int64_t begin, int64_t end, int64_t thread, int64_t team)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T);
    const bool many = task.runs > 1;
    int64_t r = begin;
    do { // one loop for all, so that there is one copy of what it does
        const T *from = x;
        int64_t first = task.first, i = begin + thread, n = end, lead = end, skip = 0;
        if (task.vector) {
            const int64_t at = many ? r * task.run : begin;
            from += many ? spot_of(task.folded, task.where_folded, at).at : at;
            first += at;
            i = thread;
            lead = n = many ? task.run : end - begin;
            if constexpr (kHot) {
                const int ragged =
                    (int)(-reinterpret_cast<uintptr_t>(from) & 15) / (int)sizeof(T);
                lead = ragged < n ? ragged : n;
                const int64_t vectors = (n - lead) / kPer;
                take_vectors(acc, reinterpret_cast<const vector16<uint32_t> *>(from + lead),
                             task, first + lead, vectors, thread, team);
                skip = vectors * kPer;
                n -= skip;
            }
        } else if (kHot && task.folded.ndim <= 1 && mask == nullptr &&
                   !(task.planes == 2 && task.skip_nan)) {
            i = take_strided(acc, from, task, i, n, team);
        }
        take_loose(acc, from, mask, task, first, i, n, team, lead, skip);
    } while (++r < (task.vector && many ? end : begin + 1));
}

template <class Acc>
union block_memory { // of joining teams, or of folding again
    // A word's threads side by side: no bank conflict.
    uint64_t words[Acc::Wide::kWords][kThreads / 2];
    slow_memory<typename Acc::Wide> slow;
};

// The accumulators of `team` threads, `apart` threads from each other, into the first one's. Every
// thread of the block calls it.
template <class Acc, class Memory>
__device__ __forceinline__ void
join_team(Acc &acc, Memory *memory, const reduce_task &task, int thread, int team, int apart)
{
    uint64_t words[Acc::kWords];
    const int tid = threadIdx.x, lane = tid % kWarp, warp = tid / kWarp;
    if (team == 1) return;
    if (apart > 1) { // columns: through shared memory, the upper half to the lower one
        for (int half = team / 2; half > 0; half /= 2) {
            if (thread >= half && thread < 2 * half) {
                acc.save(words);
                for (int w = 0; w < Acc::kWords; w++)
                    memory->words[w][tid - half * apart] = words[w];
            }
            __syncthreads(); // written before the lower half reads
            if (thread < half) {
                for (int w = 0; w < Acc::kWords; w++) words[w] = memory->words[w][tid];
                acc.merge(words);
            }
            __syncthreads(); // read before the next level writes
        }
        return;
    }
    const int warps = team / kWarp; // of a team; 0: several teams a warp
    acc.join_lanes(warps ? kWarp : team);
    if (warps <= 1) return;
    acc.save(words);
    for (int w = 0; w < Acc::kWords; w++)
        if (lane == 0) memory->words[w][warp] = words[w];
    __syncthreads(); // every warp's words are there before a team's first warp reads them
    if (warp % warps == 0) { // its lanes have one warp's words each; the others add nothing
        acc.start(task);
        acc.hope();
        if (lane < warps) {
            for (int w = 0; w < Acc::kWords; w++) words[w] = memory->words[w][warp + lane];
            acc.merge(words);
        }
        acc.join_lanes(warps);
    }
}

// Of a team's first thread; false: it must be folded again, or needs all limbs.
template <class Acc>
__device__ __forceinline__ bool
deliver(const Acc &acc, const reduce_task &task, int64_t output, int64_t part, bool records)
{
    constexpr int kRecord = Acc::Wide::kWords;
    if (records) {
        uint64_t words[kRecord];
        if (acc.failed()) return false;
        acc.save_wide(words);
        uint64_t *to = task.records + (output * task.parts + part) * kRecord;
        for (int w = 0; w < kRecord; w++) to[w] = words[w];
        return true;
    }
    if (!acc.finish(task, output)) return false;
    if (task.letter.slot) send_bytes(task.letter, task.out[0]);
    return true;
}

// Which part of which output a thread has a share of.
struct share {
    int64_t first_output, output, part, begin, end; // end of the units
    int thread, own;                                // in its team; which output of the block
    bool works;
};

template <class Acc>
__device__ __forceinline__ wish<typename Acc::Wide>
wish_of(const Acc &acc, bool again)
{
    wish<typename Acc::Wide> w;
    w.how = !again ? 0 : acc.failed() ? 1 : 2;
    acc.save_wide(w.words);
    return w;
}

// The block's share once more, where some of it has failed: with more bins, then by integers.
template <class Acc>
__device__ WK_NOINLINE void
fold_more(wish<Acc> mine, const share s, block_memory<Acc> *memory, const typename Acc::T *in,
          const reduce_task &task)
{
    const bool bins_help = !task.integers_only && !(mine.words[1] & kNotFinite);
    if (__syncthreads_or(mine.how == 1 && bins_help)) {
        Acc acc;
        acc.start(task);
        const spot first = s.works ? spot_of(task.kept, task.where_kept, s.output) : spot{0, 0};
        const uint8_t *mask = task.where ? task.where + first.mask : nullptr;
        if (s.works)
            walk<Acc, false>(acc, in + first.at, mask, task, s.begin, s.end, s.thread,
                             task.team);
        join_team(acc, memory, task, s.works ? s.thread : kThreads, task.team,
                  task.columns ? task.width : 1);
        if (mine.how == 1 && bins_help)
            mine = wish_of(acc, !deliver(acc, task, s.output, s.part, task.records));
    }
    if (__syncthreads_or(mine.how))
        fold_again<Acc>(mine, s.own, &memory->slow, in, task, s.first_output,
                        task.columns > 1 ? task.columns : 1, s.part, s.begin, s.end);
}

// Folds the records of outputs from first_output on, of as many as the block has teams of, and the
// state that earlier pieces left, into the next state or the results.
template <class Acc>
__device__ WK_NOINLINE void
fold_group(const reduce_task &task, int64_t first_output, int64_t end, int team,
           block_memory<Acc> *memory, int64_t words_step, int64_t state_step,
           const limbs_at from)
{
    const int tid = threadIdx.x, thread = tid % team, own = tid / team;
    const int64_t output = first_output + own;
    const bool works = output < end;
    uint64_t *state = nullptr;
    if (task.state && works) {
        const int64_t at = spot_of(task.places, task.where_kept, output).at;
        state = task.state + (task.output + at) * state_step;
    }
    Acc acc;
    acc.start(task);
    acc.hope();
    uint64_t words[Acc::kWords];
    for (int64_t p = thread; works && p < task.parts; p += team) {
        read_record(task.records + (output * task.parts + p) * words_step, words);
        acc.merge(words);
    }
    if (state && thread == 0) {
        for (int w = 0; w < Acc::kWords; w++) words[w] = state[w];
        acc.merge(words);
    }
    join_team(acc, memory, task, thread, team, 1);
    bool again = false;
    if (works && thread == 0) {
        if (state && !acc.failed() && !acc.needs_limbs()) {
            acc.save(words);
            for (int w = 0; w < Acc::kWords; w++) state[w] = words[w];
        } else {
            again = state || !acc.finish(task, output);
        }
        if (!again && !state && task.letter.slot) send_bytes(task.letter, task.out[0]);
    }
    if constexpr (Acc::kLimbs > 0)
        if (__syncthreads_or(again))
            fold_records<Acc>(wish_of(acc, again), own, &memory->slow, task, first_output,
                              kThreads / team, words_step, state, from);
    __syncthreads(); // the next outputs write the memory that these have read
}

// Has this block drawn the last of so many tickets? Then it sees what the others wrote before, and
// the counter is zero again.
__device__ __forceinline__ bool
draws_last(unsigned *ticket, unsigned tickets)
{
    __shared__ bool last;
    __threadfence(); // what this thread wrote is there for all blocks before the ticket is drawn
    __syncthreads(); // every thread's is
    if (threadIdx.x == 0) last = atomicInc(ticket, tickets - 1) == tickets - 1;
    __syncthreads(); // `last` is there for all threads
    return last;
}

// What a thread has of the records of s.output; false: more than Acc's bins.
template <class Acc>
__device__ __forceinline__ bool
take_records(Acc &acc, const reduce_task &task, const share &s, int team)
{
    constexpr int kRecord = Acc::Wide::kWords;
    bool quick = true;
    acc.hope();
#pragma unroll 1
    for (int64_t p = s.thread; s.works && p < task.parts; p += team) {
        uint64_t record[kRecord];
        read_record(task.records + (s.output * task.parts + p) * kRecord, record);
        if constexpr (Acc::kQuick) {
            uint64_t words[Acc::kWords];
            quick = Acc::narrow(record, words) && quick;
            acc.merge(words);
        } else {
            acc.merge(record);
        }
    }
    return quick;
}

template <class Acc>
__global__ void
__launch_bounds__(kThreads, Acc::kBlocks)
    reduce_teams(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using Wide = typename Acc::Wide;
    constexpr bool kInDoubt = Acc::kLimbs > 0;
    __shared__ block_memory<Wide> memory;
    const int tid = threadIdx.x, width = task.width;
    const int64_t groups = task.groups, units = task.runs > 1 ? task.runs : task.n;
    for (int64_t item = blockIdx.x; item < groups * task.parts; item += gridDim.x) {
        int team = task.team, apart = task.columns ? width : 1;
        share s;
        if (task.columns) {
            s.thread = (int)((unsigned)tid / (unsigned)width);
            s.own = tid - s.thread * width;
        } else { // a team is a power of two
            s.thread = tid & (team - 1);
            s.own = (tid - s.thread) >> (__ffs(team) - 1);
        }
        s.part = item;
        s.first_output = 0;
        if (groups > 1) s.first_output = split(&s.part, groups) * width;
        s.output = s.first_output + s.own;
        s.begin = s.part * task.part;
        s.end = s.begin + task.part < units ? s.begin + task.part : units;
        s.works = tid < width * team && s.output < task.outputs;
        const int64_t end =
            s.first_output + width < task.outputs ? s.first_output + width : task.outputs;
        Acc acc;
        acc.start(task);
        if (s.works) {
            const spot first = spot_of(task.kept, task.where_kept, s.output);
            walk<Acc, true>(acc, in + first.at, task.where ? task.where + first.mask : nullptr,
                            task, s.begin, s.end, s.thread, team);
        }
        // Once for elements; where this block is the last of a group's, again for its records. One
        // loop, so that what the end needs has been fetched by then.
        bool records = task.records;
        for (int64_t next = -1;;) {
            join_team(acc, &memory, task, s.works ? s.thread : kThreads, team, apart);
            bool again = false;
            if (s.works && s.thread == 0)
                again = !deliver(acc, task, s.output, s.part, records);
            if constexpr (kInDoubt) {
                if (__syncthreads_or(again)) {
                    if (next < 0)
                        fold_more<Wide>(wish_of(acc, again), s, &memory, in, task);
                    else
                        fold_group<Wide>(task, next - kThreads / team, end, team, &memory,
                                         Wide::kWords, 0,
                                         {task.limbs, Wide::kLimbs, task.own_limbs});
                }
            }
            if (task.tickets == nullptr) break;
            if (next < 0) {
                if (!draws_last(task.tickets + s.first_output / width, (unsigned)task.parts))
                    break;
                next = s.first_output;
                records = false;
                apart = team = 1;
                while (team < kThreads && team < task.parts) team *= 2;
                s.thread = tid % team;
            }
            bool quick = false;
            while (!quick && next < end) { // of as many outputs as the block has teams
                s.output = next + tid / team;
                s.works = s.output < end;
                next += kThreads / team;
                acc.start(task);
                if constexpr (!kInDoubt || Acc::kQuick) {
                    quick = take_records(acc, task, s, team);
                    // what the joining before has read may be written then
                    quick = !__syncthreads_or(!quick);
                }
                if constexpr (kInDoubt)
                    if (!quick)
                        fold_group<Wide>(task, next - kThreads / team, end, team, &memory,
                                         Wide::kWords, 0,
                                         {task.limbs, Wide::kLimbs, task.own_limbs});
            }
            if (!quick) break;
        }
        __syncthreads(); // the next part writes the memory that this one has read
    }
}

template <typename T, int C>
struct alignas(C * sizeof(T)) row_of {
    T x[C];
};

// Rows of C columns by one load each: the batch's are read together, 64 bytes a thread, the last one
// again where fewer are left.
template <class Acc, int C>
__device__ __forceinline__ void
take_columns(Acc (&acc)[C], const typename Acc::T *x, const reduce_task &task, int64_t begin,
             int64_t end, int64_t thread, int64_t team)
{
    using T = typename Acc::T;
    using R = row_of<T, C>;
    constexpr int kRows = 64 / (int)sizeof(R);
    for (int64_t i = begin + thread; i < end; i += kRows * team) {
        const T *from = x + i * task.stride;
        const int64_t step = team * task.stride;
        int left = kRows;
        R read[kRows];
        if (i + (kRows - 1) * team < end) {
#pragma unroll
            for (int j = 0; j < kRows; j++)
                read[j] = *reinterpret_cast<const R *>(from + j * step);
        } else {
            left = (int)((end - i + team - 1) / team);
#pragma unroll
            for (int j = 0; j < kRows; j++) {
                read[j] = *reinterpret_cast<const R *>(from + (j < left ? j : left - 1) * step);
#pragma unroll
                for (int c = 0; c < C; c++)
                    if (!Acc::kRepeats && j >= left) read[j].x[c] = Acc::filler(task);
            }
        }
        const uint32_t ok =
            Acc::kRepeats ? all_of<kRows> : (uint32_t)(((uint64_t)1 << left) - 1);
#pragma unroll
        for (int c = 0; c < C; c++) {
            T column[kRows];
#pragma unroll
            for (int j = 0; j < kRows; j++) column[j] = read[j].x[c];
            give(acc[c], column, ok, {task.first + i, team, 1}, task);
        }
    }
}

// As reduce_teams, of columns of which a thread has C.
template <class Acc, int C>
__global__ void
__launch_bounds__(kThreads, Acc::kBlocks)
    reduce_columns(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using Wide = typename Acc::Wide;
    __shared__ block_memory<Wide> memory;
    const int tid = threadIdx.x, width = task.width, team = task.team;
    share s;
    s.thread = (int)((unsigned)tid / (unsigned)width);
    s.own = tid - s.thread * width;
    for (int64_t item = blockIdx.x; item < task.groups * task.parts; item += gridDim.x) {
        s.part = item;
        const int64_t group = split(&s.part, task.groups), first = group * width * C;
        const int64_t end = first + width * C < task.outputs ? first + width * C : task.outputs;
        s.output = first + s.own * C;
        s.begin = s.part * task.part;
        s.end = s.begin + task.part < task.n ? s.begin + task.part : task.n;
        s.works = s.thread < team && s.output < end;
        Acc acc[C];
#pragma unroll
        for (int c = 0; c < C; c++) acc[c].start(task);
        if (s.works)
            take_columns(acc, in + spot_of(task.kept, task.where_kept, s.output).at, task,
                         s.begin, s.end, s.thread, team);
#pragma unroll
        for (int c = 0; c < C; c++) {
            s.first_output = first + c;
            join_team(acc[c], &memory, task, s.works ? s.thread : kThreads, team, width);
            bool again = false;
            if (s.works && s.thread == 0)
                again = !deliver(acc[c], task, s.output, s.part, task.records);
            if constexpr (Acc::kLimbs > 0)
                if (__syncthreads_or(again))
                    fold_more<Wide>(wish_of(acc[c], again), s, &memory, in, task);
            s.output++;
            __syncthreads(); // the next column writes the memory that this one has read
        }
        if (task.tickets && draws_last(task.tickets + group, (unsigned)task.parts)) {
            int folds = 1; // threads for an output's records
            while (folds < kThreads && folds < task.parts) folds *= 2;
            for (int64_t o = first; o < end; o += kThreads / folds)
                fold_group<Wide>(task, o, end, folds, &memory, Wide::kWords, 0,
                                 {task.limbs, Wide::kLimbs, task.own_limbs});
        }
        __syncthreads(); // the next part writes the memory that this one has read
    }
}

// The same of all outputs' records, by a launch of its own: those of pieces, and of other GPUs.
template <class Acc>
__global__ void
__launch_bounds__(kThreads)
    reduce_records(const reduce_task __grid_constant__ task, int64_t words_step,
                   int64_t state_step, const limbs_at from)
{
    __shared__ block_memory<Acc> memory;
    for (int64_t o = (int64_t)blockIdx.x * task.width; o < task.outputs;
         o += (int64_t)gridDim.x * task.width)
        fold_group<Acc>(task, o, task.outputs, task.team, &memory, words_step, state_step,
                        from);
}

} // namespace wk
