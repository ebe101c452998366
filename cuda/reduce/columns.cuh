// columns.cuh -- columns side by side, several a thread: small elements by four bytes, floats by twos.
#pragma once
#include "reduce/join.cuh"

namespace wk
{

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
                fold_own<Wide>(task, o, end, folds, &memory);
        }
        __syncthreads(); // the next part writes the memory that this one has read
    }
}

} // namespace wk
