// join.cuh -- what the threads of a team hold becomes a result or a record; what has failed is folded
// again; and the block that ends last folds the records.
#pragma once
#include "reduce/slow.cuh"
#include "reduce/take.cuh"

namespace wk
{

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

template <class Acc>
__device__ __forceinline__ wish<typename Acc::Wide>
wish_of(const Acc &acc, bool again)
{
    wish<typename Acc::Wide> w;
    w.how = !again ? 0 : acc.failed() ? 1 : 2;
    acc.save_wide(w.words);
    return w;
}

// The block's share once more, all of it, of outputs `apart` from each other: with more doubles, then
// by integers.
template <class Acc>
__device__ WK_NOINLINE void
fold_share(share s, int apart, block_memory<Acc> *memory, const typename Acc::T *in,
           const reduce_task &task)
{
    Acc acc;
    acc.start(task);
    if (s.works) walk_again(acc, in, task, s);
    join_team(acc, memory, task, s.works ? s.thread : kThreads, task.team,
              task.columns ? task.width : 1);
    const bool again =
        s.works && s.thread == 0 && !deliver(acc, task, s.output, s.part, task.records);
    if (__syncthreads_or(again))
        fold_again<Acc>(wish_of(acc, again), s, apart, &memory->slow, in, task);
}

// The block's share once more, where some of it has failed: with more doubles, then by integers.
template <class Acc>
__device__ WK_NOINLINE void
fold_more(wish<Acc> mine, share s, block_memory<Acc> *memory, const typename Acc::T *in,
          const reduce_task &task)
{
    const bool more_help = !task.integers_only;
    if (__syncthreads_or(mine.how == 1 && more_help)) {
        Acc acc;
        acc.start(task);
        if (s.works) walk_again(acc, in, task, s);
        join_team(acc, memory, task, s.works ? s.thread : kThreads, task.team,
                  task.columns ? task.width : 1);
        if (mine.how == 1 && more_help)
            mine = wish_of(acc, !deliver(acc, task, s.output, s.part, task.records));
    }
    if (__syncthreads_or(mine.how))
        fold_again<Acc>(mine, s, task.columns > 1 ? task.columns : 1, &memory->slow, in, task);
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

// So many threads fold an output's records, so that as few outputs as can be wait for others.
__device__ __forceinline__ int
threads_for_records(const reduce_task &task, int64_t outputs)
{
    int team = 1;
    while (2 * team * outputs <= kThreads && team < task.parts) team *= 2;
    return team;
}

// The same of the records of this launch.
template <class Acc>
__device__ __forceinline__ void
fold_own(const reduce_task &task, int64_t first_output, int64_t end, int team,
         block_memory<Acc> *memory)
{
    fold_group<Acc>(task, first_output, end, team, memory, Acc::kWords, 0,
                    {task.limbs, Acc::kLimbs, task.own_limbs});
}

// What a thread has of the records of s.output; false: more than Acc's doubles.
template <class Acc>
__device__ __forceinline__ bool
take_records(Acc &acc, const reduce_task &task, const share &s, int team)
{
    constexpr int kRecord = Acc::Wide::kWords;
    bool quick = true;
    acc.hope();
#pragma unroll 2
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

// The records of a group's outputs, by the block that ends last: quickly, or by all there is.
template <class Acc>
__device__ __forceinline__ void
fold_ends(const reduce_task &task, int64_t first_output, int64_t end,
          block_memory<typename Acc::Wide> *memory)
{
    using Wide = typename Acc::Wide;
    const int team = threads_for_records(task, end - first_output);
    share s = {};
    s.thread = (int)threadIdx.x % team;
    for (int64_t o = first_output; o < end; o += kThreads / team) {
        s.output = o + (int)threadIdx.x / team;
        s.works = s.output < end;
        Acc acc;
        acc.start(task);
        bool again = !take_records(acc, task, s, team);
        if (Acc::kLimbs == 0 || !__syncthreads_or(again)) {
            join_team(acc, memory, task, s.thread, team, 1);
            again = s.works && s.thread == 0 && !deliver(acc, task, s.output, 0, false);
        }
        if constexpr (Acc::kLimbs > 0)
            if (__syncthreads_or(again)) fold_own<Wide>(task, o, end, team, memory);
        __syncthreads(); // the next outputs write the memory that these have read
    }
}

} // namespace wk
