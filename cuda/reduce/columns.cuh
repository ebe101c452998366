// columns.cuh -- columns side by side, of small elements several a thread: four bytes.
//
// A thread reads one word of each of its rows, and keeps an accumulator for each of its columns. Then
// outputs go round: all accumulators of a block lie in shared memory, side by side, and each thread
// joins those of one output, finishes it and goes on with the next.
#pragma once
#include "prim/turn.cuh"
#include "reduce/join.cuh"

namespace wk
{

template <typename T, int C>
struct alignas(C * sizeof(T)) row_of {
    T x[C];
};

// Words of rows of four bytes become words of columns: the c-th word of each C (rows) is column c's.
template <int C, int N>
__device__ __forceinline__ void
transpose_words(uint32_t (&words)[N])
{
#pragma unroll
    for (int w = 0; w < N; w += C) turn_words<C>(words + w);
}

// Rows of C columns by one load each, and what `next` goes on with. A batch's are read together, the
// first one again where fewer are left.
template <class Acc, int C, class Next>
__device__ __forceinline__ void
take_columns(Acc (&acc)[C], const typename Acc::T *x, const reduce_task &task, int64_t begin,
             int64_t end, int64_t thread, int64_t team, Next next)
{
    using T = typename Acc::T;
    using R = row_of<T, C>;
    constexpr bool kSmall = C > 1 && sizeof(R) == 4;
    constexpr int kFit = Acc::kColumnBytes / (int)sizeof(R), kRows = kFit < 32 ? kFit : 32;
    constexpr bool kPacked = Acc::kPacked && Acc::kPackedColumns;
    const bool packed = kPacked && !(task.skip_nan && is_half<T>);
    static_assert(WK_DRAW_ROWS % kRows == 0, "whole batches");
    do {
        for (int64_t i = begin + thread; i < end; i += kRows * team) {
            const T *from = x + i * task.stride;
            const int64_t step = team * task.stride;
            const place at = {task.first + i, team, 1};
            int left = 0;
            R read[kRows];
#pragma unroll
            for (int j = 0; j < kRows; j++) {
                const bool there = i + j * team < end;
                read[j] = *reinterpret_cast<const R *>(from + (there ? j * step : 0));
                left += there;
            }
            if (!Acc::kRepeats && left < kRows) {
#pragma unroll
                for (int j = 1; j < kRows; j++)
                    for (int c = 0; c < C; c++)
                        if (j >= left) read[j].x[c] = Acc::filler(task);
            }
            const uint32_t ok =
                Acc::kRepeats ? all_of<kRows> : (uint32_t)(((uint64_t)1 << left) - 1);
            if constexpr (kSmall) {
                uint32_t words[kRows];
                memcpy(words, read, sizeof words);
                transpose_words<C>(words);
#pragma unroll
                for (int c = 0; c < C; c++) {
                    uint32_t column[kRows / C];
#pragma unroll
                    for (int w = 0; w < kRows / C; w++) column[w] = words[w * C + c];
                    if constexpr (kPacked) {
                        static_assert(Acc::kRepeats || Acc::kPads, "fillers do no harm");
                        if (packed) {
                            acc[c].tally(left);
                            acc[c].add_packed(column, at, task);
                            continue;
                        }
                    }
                    T elements[kRows];
                    memcpy(elements, column, sizeof elements);
                    give(acc[c], elements, ok, at, task);
                }
            } else {
#pragma unroll
                for (int c = 0; c < C; c++) {
                    T column[kRows];
#pragma unroll
                    for (int j = 0; j < kRows; j++) column[j] = read[j].x[c];
                    give(acc[c], column, ok, at, task);
                }
            }
        }
    } while (next(&begin, &end));
}

// A part of the columns from `first` on once more: by more doubles, then by integers.
template <class Acc>
__device__ WK_NOINLINE void
fold_columns_again(const typename Acc::T *in, const reduce_task &task, int columns,
                   int64_t first, share s, block_memory<Acc> *memory)
{
    __syncthreads(); // what has been read of the memory may be written
    for (int c = 0; c < columns; c++) {
        s.first_output = first + c;
        s.output = s.first_output + s.own * columns;
        fold_share(s, columns, memory, in, task);
    }
}

// As reduce_teams, of columns of which a thread has C.
template <class Acc, int C>
__global__ void
__launch_bounds__(kThreads, Acc::kColumnBlocks)
    reduce_columns(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using Wide = typename Acc::Wide;
    constexpr int kSlots = kThreads * C;
    __shared__ union {
        block_memory<Wide> block;
        uint64_t words[Acc::kWords][kSlots]; // an output's neighbours side by side
    } memory;
    const int tid = threadIdx.x, width = task.width, team = task.team;
    const bool alone = team == 1 && task.records == nullptr; // warps wait for nobody
    bool doubt = false;
    __shared__ unsigned drawn[WK_DRAWS]; // by the block, of the outputs' pieces
    const int64_t pieces = task.draws ? (task.n + task.part - 1) / task.part : 0;
    share s;
    s.drawn = drawn;
    s.thread = (int)((unsigned)tid / (unsigned)width);
    s.own = tid - s.thread * width;
    const auto look = [&](int64_t item) { // what the item is
        s.part = item;
        int64_t group = 0;
        if (task.parts == 1)
            group = item, s.part = 0;
        else if (task.groups > 1)
            group = split(&s.part, task.groups);
        const int64_t first = group * width * C;
        s.output = first + s.own * C;
        s.works = s.thread < team && s.output < task.outputs;
        s.draws = task.draws ? task.draws + group : nullptr;
        s.pieces = 1;
        return group;
    };
    for (int64_t item = blockIdx.x; item < task.groups * task.parts; item += gridDim.x) {
        const int64_t group = look(item), first = group * width * C;
        const int64_t end = first + width * C < task.outputs ? first + width * C : task.outputs;
        if (s.draws) draw_ahead(s, task);
        {
            uint64_t words[Acc::kWords];
            Acc acc[C];
#pragma unroll
            for (int c = 0; c < C; c++) acc[c].start(task);
            const typename Acc::T *x = in;
            units rows = {0, 0};
            if (s.works) {
                x += spot_of(task.kept, task.where_kept, s.output).at;
                rows = piece_of(task, x, s, 0);
            }
            take_columns(
                acc, x, task, rows.begin, rows.end, s.thread, team,
                [&](int64_t *b, int64_t *e) {
                    if (!s.draws) return false;
                    const int64_t p = next_piece(s, task, pieces);
                    *b = p * task.part;
                    *e = !s.works ? *b : *b + task.part < task.n ? *b + task.part : task.n;
                    return p >= 0;
                });
            if (C == 1 && alone) {
                if (s.works && !acc[0].finish(task, s.output)) doubt = true;
                continue;
            }
#pragma unroll
            for (int c = 0; c < C; c++) {
                acc[c].save(words);
#pragma unroll
                for (int w = 0; w < Acc::kWords; w++)
                    if (tid < width * team) memory.words[w][tid * C + c] = words[w];
            }
        }
        if (alone)
            __syncwarp(); // what its lanes have written, a warp's lanes read
        else
            __syncthreads(); // all accumulators are there before they are joined
        const int lane = tid % kWarp, warp = tid / kWarp;
        bool again = false;
#pragma unroll 1
        for (int c = 0; c < C; c++) {
            // alone, of the warp's own threads
            const int slot = alone ? (warp * C + c) * kWarp + lane : c * kThreads + tid;
            if (slot >= width * C || first + slot >= end) break;
            Acc acc;
            acc.start(task);
            uint64_t words[Acc::kWords];
            for (int w = 0; w < Acc::kWords; w++) words[w] = memory.words[w][slot];
            acc.load(words);
#pragma unroll 1
            for (int t = 1; t < team; t++) {
                for (int w = 0; w < Acc::kWords; w++)
                    words[w] = memory.words[w][t * width * C + slot];
                acc.merge(words);
            }
            if (!deliver(acc, task, first + slot, s.part, task.records)) again = true;
        }
        doubt |= again;
        if (alone) {
            __syncwarp(); // read before the next is written
            continue;
        }
        if constexpr (Acc::kLimbs > 0)
            if (task.records && __syncthreads_or(again))
                fold_columns_again<Wide>(in, task, C, first, s, &memory.block);
        if (task.tickets && draws_last(task.tickets + group, (unsigned)task.parts)) {
            if (s.draws && tid == 0) *s.draws = 0;
            fold_ends<Acc>(task, first, end, &memory.block);
        }
        __syncthreads(); // the next part writes the memory that this one has read
    }
    if constexpr (Acc::kLimbs > 0) {
        if (task.records || !__syncthreads_or(doubt)) return;
        for (int64_t item = blockIdx.x; item < task.groups; item += gridDim.x) {
            const int64_t first = look(item) * width * C;
            fold_columns_again<Wide>(in, task, C, first, s, &memory.block);
        }
    }
}

} // namespace wk
