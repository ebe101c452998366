// teams.cuh -- the production reduction: a team of threads folds one part of one output.
//
// In, out   any strides, any dtype, a mask or none -> one result, or several, per output.
// How       teams.c gives each output a team of 1 to 256 threads, or several teams (parts) that draw
//           pieces of it, and whose records the block that ends last folds. Neighbouring threads
//           read neighbouring elements (take.cuh): of a row 16 bytes each, of columns one load of
//           each row. What a thread keeps is an accumulator (moments.cuh, extreme.cuh, ...); all
//           take their elements in any order and give the same bits.
// Better    than one shape for all: short rows, tall columns and one long line all run at the
//           memory's speed. One launch, as in 13_single_pass, and no float is rounded on the way.
#pragma once
#include "reduce/join.cuh"

namespace wk
{

template <class Acc>
__global__ void
__launch_bounds__(kThreads, Acc::kLongBlocks)
    reduce_teams(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using Wide = typename Acc::Wide;
    constexpr bool kInDoubt = Acc::kLimbs > 0;
    __shared__ block_memory<Wide> memory;
    const int tid = threadIdx.x, width = task.width;
    __shared__ unsigned drawn[WK_DRAWS]; // by the block, of the output's pieces
    const int64_t groups = task.groups;
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
        const int64_t group = groups > 1 ? split(&s.part, groups) : 0;
        s.first_output = group * width;
        s.output = s.first_output + s.own;
        s.drawn = drawn;
        s.pieces = 1;
        s.draws = task.draws ? task.draws + group : nullptr;
        if (s.draws) draw_ahead(s, task);
        s.works = tid < width * team && s.output < task.outputs;
        const int64_t end =
            s.first_output + width < task.outputs ? s.first_output + width : task.outputs;
        Acc acc;
        acc.start(task);
        if (s.works) {
            const spot first = spot_of(task.kept, task.where_kept, s.output);
            const typename Acc::T *x = in + first.at;
            const units u = piece_of(task, x, s, 0);
            walk<Acc, true>(acc, x, task.where ? task.where + first.mask : nullptr, task,
                            u.begin, u.end, s);
            settle(acc, task);
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
                        fold_own<Wide>(task, next - kThreads / team, end, team, &memory);
                }
            }
            if (task.tickets == nullptr) break;
            if (next < 0) {
                if (!draws_last(task.tickets + group, (unsigned)task.parts)) break;
                if (s.draws && tid == 0) *s.draws = 0;
                next = s.first_output;
                records = false;
                apart = 1;
                team = threads_for_records(task, end - next);
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
                        fold_own<Wide>(task, next - kThreads / team, end, team, &memory);
            }
            if (!quick) break;
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
