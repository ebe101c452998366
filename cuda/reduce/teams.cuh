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

template <int N>
constexpr uint32_t all_of = (uint32_t)(((uint64_t)1 << N) - 1);

// Whole batches of vectors 0 .. n - 1, the team's threads side by side; where this one goes on.
template <class Acc>
__device__ __forceinline__ int64_t
take_vectors(Acc &acc, const vector16<typename Acc::T> *v, const reduce_task &task,
             int64_t first, int64_t n, int64_t i, int64_t team)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T), kVectors = Acc::kBatch / kPer;
    for (; i + (kVectors - 1) * team < n && !acc.hopeless(); i += kVectors * team) {
        if constexpr (Acc::kPacked) { // several elements in a register
            const auto u = reinterpret_cast<const vector16<uint32_t> *>(v);
            vector16<uint32_t> read[kVectors];
            uint32_t words[kVectors * 4];
#pragma unroll
            for (int j = 0; j < kVectors; j++) read[j] = u[i + j * team];
#pragma unroll
            for (int j = 0; j < kVectors * 4; j++) words[j] = read[j / 4].x[j % 4];
            acc.tally(Acc::kBatch);
            acc.add_packed(words);
        } else {
            vector16<T> read[kVectors];
            T all[Acc::kBatch];
#pragma unroll
            for (int j = 0; j < kVectors; j++) read[j] = v[i + j * team];
#pragma unroll
            for (int j = 0; j < Acc::kBatch; j++) all[j] = read[j / kPer].x[j % kPer];
            give(acc, all, all_of<Acc::kBatch>, {first + i * kPer, team * kPer, kPer}, task);
        }
    }
    return i;
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

// Elements 0 .. n - 1 side by side.
template <class Acc, bool kHot>
__device__ __forceinline__ void
take_run(Acc &acc, const typename Acc::T *x, const reduce_task &task, int64_t first, int64_t n,
         int64_t thread, int64_t team)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T);
    if constexpr (kHot) {
        const int ragged =
            (int)((16 - (reinterpret_cast<uintptr_t>(x) & 15)) & 15) / (int)sizeof(T);
        const int64_t lead = ragged < n ? ragged : n, vectors = (n - lead) / kPer;
        const int64_t batch = team * (Acc::kBatch / kPer), whole = vectors / batch * batch;
        take_vectors(acc, reinterpret_cast<const vector16<T> *>(x + lead), task, first + lead,
                     whole, thread, team);
        take_loose(acc, x, nullptr, task, first, thread, n - whole * kPer, team, lead,
                   whole * kPer);
    } else {
        take_loose(acc, x, nullptr, task, first, thread, n, team, n, 0);
    }
}

// A thread's share of the units begin .. end - 1 of the output at x.
template <class Acc, bool kHot>
__device__ __forceinline__ void
walk(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
     int64_t begin, int64_t end, int64_t thread, int64_t team)
{
    if (task.vector) { // one run, of which a part is taken, or whole ones
        const bool many = task.runs > 1;
        for (int64_t r = begin; r < (many ? end : begin + 1); r++) {
            const int64_t at =
                many ? spot_of(task.folded, task.where_folded, r * task.run).at : begin;
            take_run<Acc, kHot>(acc, x + at, task, task.first + (many ? r * task.run : begin),
                                many ? task.run : end - begin, thread, team);
        }
        return;
    }
    int64_t i = begin + thread;
    if (kHot && task.folded.ndim <= 1 && mask == nullptr &&
        !(task.planes == 2 && task.skip_nan))
        i = take_strided(acc, x, task, i, end, team);
    take_loose(acc, x, mask, task, task.first, i, end, team, end, 0);
}

template <class Acc>
struct block_memory {
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
deliver(const Acc &acc, const reduce_task &task, int64_t output, int64_t part)
{
    constexpr int kRecord = Acc::Wide::kWords;
    if (task.records) {
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
            mine = wish_of(acc, !deliver(acc, task, s.output, s.part));
    }
    if (__syncthreads_or(mine.how))
        fold_again<Acc>(mine, s.own, &memory->slow, in, task, s.first_output, s.part, s.begin,
                        s.end);
}

template <class Acc>
__global__ void
__launch_bounds__(kThreads, Acc::kBlocks)
    reduce_teams(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using Wide = typename Acc::Wide;
    __shared__ block_memory<Wide> memory;
    const int tid = threadIdx.x, team = task.team, width = task.width;
    const int64_t groups = (task.outputs + width - 1) / width;
    const int64_t units = task.runs > 1 ? task.runs : task.n;
    share s;
    s.thread = task.columns ? tid / width : tid % team;
    s.own = task.columns ? tid % width : tid / team;
    for (int64_t item = blockIdx.x; item < groups * task.parts; item += gridDim.x) {
        s.part = item;
        s.first_output = split(&s.part, groups) * width;
        s.output = s.first_output + s.own;
        s.begin = s.part * task.part;
        s.end = s.begin + task.part < units ? s.begin + task.part : units;
        s.works = tid < width * team && s.output < task.outputs;
        Acc acc;
        acc.start(task);
        const spot first = s.works ? spot_of(task.kept, task.where_kept, s.output) : spot{0, 0};
        const uint8_t *mask = task.where ? task.where + first.mask : nullptr;
        if (s.works)
            walk<Acc, true>(acc, in + first.at, mask, task, s.begin, s.end, s.thread, team);
        join_team(acc, &memory, task, s.works ? s.thread : kThreads, team,
                  task.columns ? width : 1);
        bool again = false;
        if (s.works && s.thread == 0) again = !deliver(acc, task, s.output, s.part);
        if constexpr (Acc::kLimbs > 0)
            if (__syncthreads_or(again))
                fold_more<Wide>(wish_of(acc, again), s, &memory, in, task);
        __syncthreads(); // the next part writes the memory that this one has read
    }
}

// Folds an output's records, and the state that earlier pieces left, into the next state or the
// results.
template <class Acc>
__global__ void
__launch_bounds__(kThreads) reduce_records(const reduce_task __grid_constant__ task,
                                           const limbs_at from, int64_t state_step)
{
    __shared__ block_memory<Acc> memory;
    const int tid = threadIdx.x, team = task.team, thread = tid % team, own = tid / team;
    const int64_t words_step = task.stride; // words from one record to the next
    const int64_t groups = (task.outputs + task.width - 1) / task.width;
    for (int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
        const int64_t output = group * task.width + own;
        const bool works = output < task.outputs;
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
            const uint64_t *record = task.records + (output * task.parts + p) * words_step;
            for (int w = 0; w < Acc::kWords; w++) words[w] = record[w];
            acc.merge(words);
        }
        if (state && thread == 0) {
            for (int w = 0; w < Acc::kWords; w++) words[w] = state[w];
            acc.merge(words);
        }
        join_team(acc, &memory, task, thread, team, 1);
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
                fold_records<Acc>(wish_of(acc, again), own, &memory.slow, task,
                                  group * task.width, words_step, state, from);
        __syncthreads(); // the next outputs write the memory that these have read
    }
}

} // namespace wk
