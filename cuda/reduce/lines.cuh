// lines.cuh -- many lines that each lie side by side, short enough for a part of a warp: nothing but
// loads, the accumulator and the result. Warps wait for nobody. If any line of a block does not
// settle, the block folds all of its lines once more.
#pragma once
#include "reduce/join.cuh"

namespace wk
{

// By more doubles, then by integers.
template <class Acc>
__device__ WK_NOINLINE void
fold_lines_again(const typename Acc::T *in, const reduce_task &task, block_memory<Acc> *memory)
{
    const int team = task.team;
    share s;
    s.thread = (int)threadIdx.x & (team - 1);
    s.own = (int)threadIdx.x >> (__ffs(team) - 1);
    s.part = 0;
    s.pieces = 1;
    s.draws = nullptr;
    for (int64_t item = blockIdx.x; item < task.groups; item += gridDim.x) {
        s.first_output = item * task.width;
        s.output = s.first_output + s.own;
        s.works = s.output < task.outputs;
        fold_share(s, 1, memory, in, task);
    }
}

template <class Acc>
__global__ void
__launch_bounds__(kThreads, Acc::kBlocks)
    reduce_lines(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T), kTurn = Acc::kBatch / kPer;
    const int team = task.team, thread = (int)threadIdx.x & (team - 1), n = (int)task.n;
    const int own = (int)threadIdx.x >> (__ffs(team) - 1);
    const int64_t stride = task.kept.ndim ? task.kept.strides[0] : 0;
    bool doubt = false;
    for (int64_t item = blockIdx.x; item < task.groups; item += gridDim.x) {
        const int64_t line = item * task.width + own;
        const bool works = line < task.outputs;
        Acc acc;
        acc.start(task);
        if (works) {
            const T *x = in + line * stride;
            int lead = 0;
            if (!task.aligned) {
                const int ragged = (int)(-reinterpret_cast<uintptr_t>(x) & 15) / (int)sizeof(T);
                lead = ragged < n ? ragged : n;
            }
            const int vectors = (n - lead) / kPer;
            take_vectors < Acc, kTurn<4 ? 4 : kTurn, kTurn>(
                                    acc, reinterpret_cast<const vector16<uint32_t> *>(x + lead),
                                    task, task.first + lead, 0, vectors, thread, team,
                                    [](int *, int *) { return false; });
            if (!task.aligned)
                take_ends(acc, x, task, thread, n - vectors * kPer, team, lead, vectors * kPer);
            settle(acc, task);
        }
        // All lanes of a warp have come here. Not by levels: a call in the loop costs registers.
        if (team > 1) join_by_words(acc, team);
        if (!works || thread > 0) continue;
        if (!acc.finish(task, line))
            doubt = true;
        else if (task.letter.slot)
            send_bytes(task.letter, task.out[0]);
    }
    if constexpr (Acc::kLimbs > 0) {
        using Wide = typename Acc::Wide;
        __shared__ block_memory<Wide> memory;
        if (__syncthreads_or(doubt)) fold_lines_again<Wide>(in, task, &memory);
    }
}

} // namespace wk
