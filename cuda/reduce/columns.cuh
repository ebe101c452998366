// columns.cuh -- columns side by side: neighbouring threads have neighbouring columns.
//
// A thread reads 8 bytes of each of its rows, of several columns where elements are small (by one
// load, where rows start so that it can), with up to 16 rows on their way; a block has `width` threads
// side by side and `height` below each other. Then outputs go round: what the threads of a column hold
// lies in shared memory, side by side, and each thread joins one column, finishes it, or adds it to
// the words that the column's parts share.
#pragma once
#include "prim/turn.cuh"
#include "reduce/lines.cuh"

namespace wk
{

// A thread's elements of a row, in words.
template <typename T, int C>
struct alignas(C * sizeof(T) < 4 ? 4 : C * sizeof(T)) row_of {
    static constexpr bool kLoads = C * sizeof(T) >= 4; // else element by element
    static constexpr int kWords = kLoads ? C * (int)sizeof(T) / 4 : 1;
    uint32_t word[kWords];

    // The c-th one comes in.
    __device__ __forceinline__ void set(int c, T e)
    {
        if constexpr (sizeof(T) < 4) {
            constexpr int kBits = 8 * sizeof(T), kPer = 4 / (int)sizeof(T);
            uint32_t bits = 0;
            memcpy(&bits, &e, sizeof e);
            uint32_t &w = word[c / kPer];
            w = (w & ~(((1u << kBits) - 1) << c % kPer * kBits)) | bits << c % kPer * kBits;
        } else {
            memcpy(word + c * (int)sizeof(T) / 4, &e, sizeof e);
        }
    }
    __device__ __forceinline__ T get(int c) const
    {
        T e;
        if constexpr (sizeof(T) < 4) {
            constexpr int kBits = 8 * sizeof(T), kPer = 4 / (int)sizeof(T);
            const uint32_t bits = word[c / kPer] >> c % kPer * kBits;
            memcpy(&e, &bits, sizeof e);
        } else {
            memcpy(&e, word + c * (int)sizeof(T) / 4, sizeof e);
        }
        return e;
    }
};

template <class Acc, int C = Acc::kColumns>
struct column_memory {
    union {
        uint64_t words[Acc::kWords][kThreads * C]; // an output's neighbours side by side
        unsigned long long tables[Acc::kWords * kThreads * C];
        std::conditional_t<Acc::kCertain, word_memory<Acc>, line_memory<Acc>> line;
    };
    uint32_t marks[kThreads * C / kWarp]; // of columns
};

// N rows of C columns, the c-th column's elements; of bytes by words that are turned round.
template <int N, typename T, int C>
__device__ __forceinline__ void
column_of(const row_of<T, C> *rows, int c, T (&x)[N])
{
    if constexpr (sizeof(T) == 1 && C == 4) {
        uint32_t own[N / 4];
#pragma unroll
        for (int w = 0; w < N; w += 4) {
            uint32_t four[4];
#pragma unroll
            for (int j = 0; j < 4; j++) four[j] = rows[w + j].word[0];
            turn_words<4>(four);
            own[w / 4] = four[c]; // what is turned for the other columns too is computed once
        }
        memcpy(x, own, sizeof x);
    } else if constexpr (sizeof(T) == 2) { // pairs of rows
        uint32_t own[N / 2];
#pragma unroll
        for (int j = 0; j < N; j += 2)
            own[j / 2] = __byte_perm(rows[j].word[c / 2], rows[j + 1].word[c / 2],
                                     c % 2 ? 0x7632 : 0x5410);
        memcpy(x, own, sizeof x);
    } else {
#pragma unroll
        for (int j = 0; j < N; j++) x[j] = rows[j].get(c);
    }
}

// A thread's rows of its columns, begin .. end - 1 in steps; kRows are on their way together, and taken
// N at once. Columns that do not fit have failed.
template <int N, int kRows, class Acc, int C>
__device__ __forceinline__ void
fold_rows_of_columns(Acc (&acc)[C], const typename Acc::T *x, const int64_t (&offset)[C],
                     const reduce_task &task, int64_t begin, int64_t end, int step)
{
    using T = typename Acc::T;
    using R = row_of<T, C>;
    static_assert(kRows % N == 0, "whole batches");
    const int64_t pitch = step * task.stride;
    for (int64_t i = begin; i < end; i += kRows * step) {
        const T *from = x + i * task.stride;
        const int left =
            (int)((end - i + step - 1) / step < kRows ? (end - i + step - 1) / step : kRows);
        R read[kRows];
        if (left < kRows) {
#pragma unroll
            for (int j = 0; j < kRows; j++)
#pragma unroll
                for (int c = 0; c < C; c++) read[j].set(c, Acc::filler(task));
        }
        if (R::kLoads && task.aligned) {
#pragma unroll
            for (int j = 0; j < kRows; j++)
                if (j < left) read[j] = *reinterpret_cast<const R *>(from + j * pitch);
        } else {
#pragma unroll
            for (int j = 0; j < kRows; j++)
#pragma unroll
                for (int c = 0; c < C; c++)
                    if (j < left) read[j].set(c, from[j * pitch + offset[c]]);
        }
#pragma unroll
        for (int b = 0; b < kRows; b += N) {
            if (b >= left) break;
            const uint32_t ok = left - b >= N ? all_of<N> : (1u << (left - b)) - 1;
            const place at = {task.first + i + b * step, step, 1};
#pragma unroll
            for (int c = 0; c < C; c++) {
                T column[N];
                column_of(read + b, c, column);
                const bool fits = offer(acc[c], column, ok, at, task, alone{});
                if constexpr (!Acc::kCertain)
                    if (!fits) acc[c].flags |= Acc::kFailed;
            }
        }
    }
}

// The doubles of one thread to limbs that others add to as well.
template <int K>
__device__ __forceinline__ void
add_own_doubles(const few<K> &x, int base, unsigned long long *limb)
{
#pragma unroll 1
    for (int k = 0; k < K; k++) {
        uint64_t b = 0;
#pragma unroll
        for (int i = 0; i < K; i++) b = i == k ? wk_bits_f64(x.s[i]) : b;
        const int field = (int)(b >> 52 & 2047);
        uint64_t m = (b & 0xfffffffffffffu) | (uint64_t)(field > 0) << 52;
        if (m == 0) continue;
        int at = (field > 0 ? field : 1) - 1075 - base;
        if (at < 0) { // below the least unit all bits are zero
            m >>= -at;
            at = 0;
        }
        add_digits<1>(limb, m, at, b >> 63);
    }
}

// What a thread has of a column, to the words that its parts share.
template <class Acc>
__device__ __forceinline__ void
add_column(const Acc &acc, const reduce_task &task, int64_t output)
{
    const auto to = (unsigned long long *)shared_words(task, output, Acc::kTable);
    if constexpr (Acc::kHasSum) {
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++)
            add_own_doubles(acc.sum[p], Acc::kSumBase, to + Acc::kLimb + p * Acc::kSumLimbs);
    }
    if constexpr (Acc::kHasSquares)
        add_own_doubles(acc.squares, Acc::kSquareBase, to + Acc::kSquareLimb);
    add_word<Acc>(to, Acc::kFlags, (unsigned long long)acc.flags);
    add_word<Acc>(to, Acc::kCount, (unsigned long long)(unsigned)acc.count);
    add_rest(acc, to);
}

// A sum in limbs as a pair, by one thread.
__device__ WK_NOINLINE inline double_pair
pair_of_own_limbs(const unsigned long long *limb, int count, int base)
{
    int top = count - 1;
    while (top >= 0 && limb[top] == 0) top--;
    return pair_from(limb, top, base);
}

// The columns of a group, by the block that ends last: of the words that their parts share.
template <class Acc, int C = Acc::kColumns>
__device__ __forceinline__ void
finish_columns(const reduce_task &task, int64_t first, int columns,
               column_memory<Acc, C> *memory)
{
    const int tid = threadIdx.x;
    if constexpr (Acc::kCertain) {
        const int height = columns < kThreads ? kThreads / columns : 1, q = tid / columns;
        uint64_t words[Acc::kWords];
        for (int c0 = 0; c0 < columns; c0 += kThreads) { // more than one trip: height 1
            const int c = c0 + tid % (columns < kThreads ? columns : kThreads);
            const bool works = q < height && c < columns;
            Acc acc;
            acc.start(task);
            for (int64_t p = height > 1 ? q : 0; works && p < task.parts; p += height) {
                read_words(task.records + (p * task.outputs + first + c) * Acc::kWords, words);
                acc.merge(words);
            }
            acc.save(words);
            for (int w = 0; w < Acc::kWords; w++) memory->words[w][tid] = words[w];
            __syncthreads(); // all threads' words are there before a column's first one joins them
            if (works && (height == 1 || q == 0)) {
                for (int h = 1; h < height; h++) {
                    for (int w = 0; w < Acc::kWords; w++)
                        words[w] = memory->words[w][h * columns + tid];
                    acc.merge(words);
                }
                deliver(acc, task, first + c);
            }
            __syncthreads(); // the words have been read before they are written again
        }
    } else {
        constexpr int kRoom = (int)(sizeof memory->tables / 8) / Acc::kTable;
        uint64_t *shared = task.shared + first * Acc::kTable;
        for (int c0 = 0; c0 < columns; c0 += kRoom) {
            const int here = columns - c0 < kRoom ? columns - c0 : kRoom;
            uint64_t *from = shared + (int64_t)c0 * Acc::kTable;
            for (int w = tid; w < here * Acc::kTable; w += kThreads)
                memory->tables[w] = __ldcg(from + w);
            __syncthreads(); // the tables are whole before they are read
            for (int c = tid; c < here; c += kThreads) {
                const unsigned long long *word = memory->tables + c * Acc::kTable;
                auto o = outcome_but_sums<Acc>(word, task);
                if constexpr (Acc::kHasSum)
                    for (int p = 0; p < Acc::kPieces; p++)
                        o.sums.sum[p] =
                            pair_of_own_limbs(word + Acc::kLimb + p * Acc::kSumLimbs,
                                              Acc::kSumLimbs, Acc::kSumBase);
                if constexpr (Acc::kHasSquares)
                    o.sums.squares = pair_of_own_limbs(word + Acc::kSquareLimb,
                                                       Acc::kSquareLimbs, Acc::kSquareBase);
                if (Acc::finish(o, task, first + c0 + c))
                    send_result(task);
                else
                    atomicOr(&memory->marks[(c0 + c) / kWarp], 1u << (c0 + c) % kWarp);
            }
            __syncthreads(); // the tables have been read, and all marks are set
            for (int c = c0; c < c0 + here; c++) {
                if (!(memory->marks[c / kWarp] >> c % kWarp & 1)) continue;
                finish_words(&memory->line.table, task, first + c,
                             (unsigned long long *)shared + (int64_t)c * Acc::kTable, false);
                __syncthreads(); // the table has been read
            }
#pragma unroll 1
            for (int w = tid; w < here * Acc::kTable; w += kThreads) from[w] = 0;
        }
    }
}

// One column of the block, whose threads' words are in shared memory: joined, and finished or shared.
// False: it takes integers.
template <class Acc, int C = Acc::kColumns>
__device__ __forceinline__ bool
join_column(const reduce_task &task, int64_t output, int64_t part, int slot,
            const column_memory<Acc, C> *memory)
{
    Acc acc;
    uint64_t words[Acc::kWords];
    acc.start(task);
#pragma unroll 1
    for (int h = 0; h < task.height; h++) {
        for (int w = 0; w < Acc::kWords; w++)
            words[w] = memory->words[w][h * task.width * C + slot];
        acc.merge(words);
    }
    if constexpr (Acc::kCertain) {
        if (task.parts == 1) return deliver(acc, task, output);
        acc.save(words);
        uint64_t *to = task.records + (part * task.outputs + output) * Acc::kWords;
        for (int w = 0; w < Acc::kWords; w++) to[w] = words[w];
    } else {
        if (task.shared == nullptr) return deliver(acc, task, output);
        if (acc.failed()) return false;
        add_column(acc, task, output);
    }
    return true;
}

template <class Acc, int C = Acc::kColumns>
__global__ void
__launch_bounds__(kThreads, Acc::kColumnBlocks)
    fold_columns(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    constexpr int kFewRows = 4, kRows = sizeof(typename Acc::T) * C == 16 ? 8 : 16;
    __shared__ column_memory<Acc, C> memory;
    const int tid = threadIdx.x, width = task.width, height = task.height;
    const int lane = tid % kWarp, warp = tid / kWarp, down = tid / width,
              own = tid - down * width;
    const bool warps = height == 1; // of which each has columns of its own
    for (int64_t item = blockIdx.x; item < task.groups * task.parts; item += gridDim.x) {
        int64_t part = item;
        const int64_t group = task.parts > 1 ? split(&part, task.groups) : item;
        if (task.parts == 1) part = 0;
        const int64_t first = group * width * C, output = first + own * C;
        const int columns =
            (int)(task.outputs - first < width * C ? task.outputs - first : (int64_t)width * C);
        const int64_t rows = (task.n + task.parts - 1) / task.parts, begin = part * rows,
                      end = begin + rows < task.n ? begin + rows : task.n;
        {
            Acc acc[C];
#pragma unroll
            for (int c = 0; c < C; c++) acc[c].start(task);
            if (down < height && own * C < columns) {
                const int64_t at = spot_of(task.kept, task.where_kept, output).at;
                int64_t offset[C]; // of those that there are
#pragma unroll
                for (int c = 0; c < C; c++)
                    offset[c] = task.aligned || own * C + c >= columns
                                    ? 0
                                    : spot_of(task.kept, task.where_kept, output + c).at - at;
                if (task.n <= kFewRows)
                    fold_rows_of_columns<Acc::kSmall, kFewRows>(acc, in + at, offset, task,
                                                                begin + down, end, height);
                else
                    fold_rows_of_columns<kRows, kRows>(acc, in + at, offset, task, begin + down,
                                                       end, height);
            }
#pragma unroll
            for (int c = 0; c < C; c++) {
                uint64_t words[Acc::kWords];
                if constexpr (!Acc::kCertain)
                    if (task.integers_only) acc[c].flags |= Acc::kFailed;
                acc[c].save(words);
#pragma unroll
                for (int w = 0; w < Acc::kWords; w++) memory.words[w][tid * C + c] = words[w];
            }
        }
        if (warps)
            __syncwarp(); // a warp's lanes read what its lanes have written
        else
            __syncthreads(); // all words are there before columns are joined
        bool fits = true;
        int trips = 0;
#pragma unroll 1
        for (int slot = warps ? warp * C * kWarp + lane : tid; trips < (warps ? C : 1);
             slot += kWarp, trips++) {
            bool known = true;
            if (slot < columns && slot < (warps ? kThreads * C : width * C))
                known = join_column<Acc, C>(task, first + slot, part, slot, &memory);
            if constexpr (!Acc::kCertain) {
                const uint32_t bits = __ballot_sync(kAllLanes, !known);
                fits &= bits == 0;
                if (lane == 0) memory.marks[warps ? warp * C + trips : warp] = bits;
            }
        }
        if constexpr (!Acc::kCertain) {
            // Also: all words have been read, and all marks are set.
            if (__syncthreads_or(!fits)) {
                for (int c = 0; c < columns; c++)
                    if (memory.marks[c / kWarp] >> c % kWarp & 1)
                        fold_by_integers<Acc>(in, task, first + c, begin, end,
                                              &memory.line.table);
            }
        }
        if (task.parts > 1 && task.tickets &&
            draws_last(task.tickets + group, (unsigned)task.parts)) {
            for (int k = tid; k < kThreads * C / kWarp; k += kThreads) memory.marks[k] = 0;
            __syncthreads(); // no column is marked
            finish_columns<Acc, C>(task, first, columns, &memory);
        }
        __syncthreads(); // the next item writes the memory that this one has read
    }
}

} // namespace wk
