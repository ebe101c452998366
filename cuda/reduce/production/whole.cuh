// whole.cuh -- columns side by side that a thread has whole: rows are few, or columns enough for all
// threads.
//
// A thread reads 4 bytes of each of its rows, or an element if that is longer, of few rows up to 16; of
// several columns where elements are small (by one load, where rows start so that it can), with up to 16
// rows on their way. Nothing is joined, and no warp waits for another before all are done. Results of few
// rows may need no accumulator, and those of few digits seldom do (quick.cuh, quick_lanes.cuh): these are told first.
#pragma once
#include "prim/async.cuh"
#include "prim/turn.cuh"
#include "reduce/production/lines.cuh"
#include "reduce/production/quick_lanes.cuh"

#include <algorithm>

namespace wk
{

// A thread's elements of a row, in words.
template <typename T, int C>
struct alignas(std::clamp<size_t>(C * sizeof(T), 4, 16)) row_of {
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
            const uint32_t others = C > 1 ? w & ~(((1u << kBits) - 1) << c % kPer * kBits) : 0;
            w = others | bits << c % kPer * kBits;
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

// Columns of a thread that has them whole, and of one that has few rows of each: as many as its
// registers hold, and 16 bytes.
template <class Acc>
constexpr int
columns_of_thread(bool few)
{
    constexpr int kItem = (int)sizeof(typename Acc::T);
    int most = few ? 16 / kItem : 4 / kItem, c = 1;
    if (most > 4) most = 4;
    if (most > 20 / Acc::kWords) most = 20 / Acc::kWords;
    while (2 * c <= most) c *= 2;
    return c;
}

// Of few rows that are told at once, of which an accumulator has one column alone: of 8 bytes four, as a thread's way
// to its columns takes as long as two of them. H200, 256 MiB, us by two and so, with that way made shorter too, 3 x n,
// 2 x n, n x 2: means of float64 115 98, 149 123, 148 126, of int64 100 90, 131 104, 125 106; argmax of float64 98 87,
// 127 98, 109 99; but norms 107 114, 139 141, 134 144, and by two 103.
template <class Acc>
constexpr int
columns_of_few()
{
    using T = typename Acc::T;
    if (!Acc::kFewRows) return columns_of_thread<Acc>(false);
    const bool more = Acc::kAtOnce && !Acc::kHasSquares && !is_complex<T> && sizeof(T) == 8;
    return more ? 4 : columns_of_thread<Acc>(true);
}

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

// Where a column begins; of planes without a division.
__device__ __forceinline__ int64_t
column_at(const reduce_task &task, int64_t output)
{
    const int64_t *strides = task.kept.strides;
    if (task.inner.divisor == 0) return spot_of(task.kept, task.where_kept, output).at;
    const uint32_t plane = task.inner.quotient((uint32_t)output),
                   inner = (uint32_t)output - plane * task.inner.divisor;
    return plane * strides[0] + inner * strides[1];
}

// Where a thread's columns lie in their first row, or in the only one that they are read from.
template <typename T, int C>
struct columns_at {
    const T *x;
    int64_t offset[C];  // from there, of those that there are
    int64_t pitch;      // from a row that is read to the next
    int64_t row[C];     // of the fold: what the first row has of each
    int rows;           // of the fold from one to the next
    int apart;          // columns
    bool dense = false; // by a number that the compiler knows

    // All of the columns from `output` on, or of those of them that there are. kFew: where nothing else takes long
    // it is worth a way of its own.
    template <bool kFew>
    __device__ __forceinline__ void to(const T *in, const reduce_task &task, int64_t output,
                                       int step)
    {
        x = in + column_at(task, output);
        pitch = task.stride;
        rows = 1;
        apart = step;
        if (!kFew || task.across == 0 || output + (C - 1) * apart >= task.outputs) {
            find(task, output, task.outputs, in);
            return;
        }
        dense = C > 1 && task.across == kWarp;
#pragma unroll
        for (int c = 0; c < C; c++) offset[c] = c * task.across;
    }
    // From `column` on; where there is none, another's place.
    __device__ __forceinline__ void find(const reduce_task &task, int64_t column, int64_t end,
                                         const T *in)
    {
#pragma unroll
        for (int c = 0; c < C; c++) {
            const int64_t own = column + c * apart;
            offset[c] = c;
            if (task.aligned) continue;
            offset[c] = own < end ? c * apart * task.kept.strides[0] : 0;
            if (task.kept.ndim > 1 && own < end) offset[c] = column_at(task, own) - (x - in);
        }
    }
};

// N rows of a thread's columns, as far as there are so many left; a bit for each. In place of the others
// there are fillers.
template <int N, class Acc, int C>
__device__ __forceinline__ uint32_t
load_rows(row_of<typename Acc::T, C> (&read)[N], const typename Acc::T *x,
          const columns_at<typename Acc::T, C> &from, const reduce_task &task, int left)
{
    using T = typename Acc::T;
    using R = row_of<T, C>;
    const auto at_once = [](R &row, const T *from) {
        row = *reinterpret_cast<const R *>(from);
    };
    const auto one_by_one = [](R &row, const auto &place) {
#pragma unroll
        for (int c = 0; c < C; c++) row.set(c, *place(c));
    };
    const auto load = [&](bool whole) {
        const auto each = [&](const auto &row) {
#pragma unroll
            for (int j = 0; j < N; j++, x += from.pitch)
                if (whole || j < left) row(read[j], x);
        };
        if constexpr (R::kLoads && C == 1) {
            each(at_once);
        } else {
            if (R::kLoads && task.aligned)
                each(at_once);
            else if (from.dense)
                each([&](R &row, const T *first) {
                    one_by_one(row, [&](int c) { return first + c * kWarp; });
                });
            else
                each([&](R &row, const T *first) {
                    one_by_one(row, [&](int c) { return first + from.offset[c]; });
                });
        }
    };
    if (left >= N) { // without conditions, which would take half of the time
        load(true);
        return all_of<N>;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int c = 0; c < C; c++) read[j].set(c, Acc::filler(task));
    load(false);
    return (1u << left) - 1;
}

// These rows of a thread's columns, of which the first is number i, to their accumulators. leave(c, x, ok): what of the
// c-th column does not count.
template <int N, class Acc, int C, typename Leave>
__device__ __forceinline__ void
take_rows(Acc (&acc)[C], const row_of<typename Acc::T, C> (&read)[N],
          const columns_at<typename Acc::T, C> &from, const reduce_task &task, int i,
          uint32_t ok, const Leave &leave)
{
#pragma unroll
    for (int c = 0; c < C; c++) {
        typename Acc::T column[N];
        const place at = {task.first + (int64_t)i * from.rows + from.row[c], from.rows, 0};
        uint32_t some = ok;
        column_of(read, c, column);
        leave(c, column, &some);
        leave_out<Acc>(column, &some, task);
        acc[c].take(column, some, at, task);
    }
}

struct all_count {
    template <typename X>
    __device__ __forceinline__ void operator()(int, X &, uint32_t *) const
    {
    }
};

// Rows of a thread's columns from number i on, on their way together.
template <int N, class Acc, int C>
__device__ __forceinline__ void
read_rows(Acc (&acc)[C], const columns_at<typename Acc::T, C> &from, const reduce_task &task,
          int i, int left)
{
    row_of<typename Acc::T, C> read[N];
    const uint32_t ok = load_rows<N, Acc>(read, from.x + i * from.pitch, from, task, left);
    take_rows(acc, read, from, task, i, ok, all_count{});
}

// Such elements of an output in its first rows leave fillers behind.
template <class Acc, int N>
__device__ __forceinline__ void
leave_out_masked(typename Acc::T (&x)[N], uint32_t *ok, const typename Acc::T *in,
                 const reduce_task &task, int64_t output)
{
    if (!task.masked || output >= task.outputs) return;
    const spot at = spot_of(task.kept, task.where_kept, output);
    in += at.at;
#pragma unroll
    for (int j = 0; j < N; j++, in += task.stride) {
        if (!(*ok >> j & 1)) continue;
        bool counts = !task.where || task.where[at.mask + j * task.where_step];
        if constexpr (std::is_floating_point_v<typename Acc::T>)
            if (task.pairs()) counts = counts && !is_nan(in[task.other_part(in)]);
        if (counts) continue;
        x[j] = Acc::filler(task);
        *ok &= ~(1u << j);
    }
}

// So many rows are on their way together.
template <class Acc, int C>
constexpr int rows_at_once = C * sizeof(typename Acc::T) > 8
                                 ? 128 / (C * (int)sizeof(typename Acc::T))
                                 : most_rows<Acc>;

// Whole batches of a thread's rows, of which the next one is on its way to shared memory, past the registers,
// while one is taken. A thread reads what it has asked for, and nothing else. How many rows they had.
template <class Acc, int C>
__device__ __forceinline__ int
fold_staged_rows(Acc (&acc)[C], const columns_at<typename Acc::T, C> &from,
                 const reduce_task &task, int left, unsigned char *shared)
{
    using R = row_of<typename Acc::T, C>;
    constexpr int N = rows_at_once<Acc, C>;
    const int batches = left / N;
    const typename Acc::T *next = from.x;
    R *own = reinterpret_cast<R *>(shared) + threadIdx.x; // a row of all threads side by side
    const auto ask = [&](int batch) {
        if (batch < batches)
#pragma unroll
            for (int j = 0; j < N; j++, next += from.pitch)
                copy_async<(int)sizeof(R)>(own + (batch % 2 * N + j) * kThreads, next);
        commit_copies();
    };
    ask(0);
#pragma unroll 1
    for (int b = 0; b < batches; b++) {
        R read[N];
        ask(b + 1);
        await_groups_but<1>();
#pragma unroll
        for (int j = 0; j < N; j++) read[j] = own[(b % 2 * N + j) * kThreads];
        take_rows(acc, read, from, task, b * N, all_of<N>, all_count{});
    }
    return batches * N;
}

// Bytes of two batches of a block.
template <class Acc, int C>
__host__ __device__ constexpr size_t
bytes_of_staged_rows()
{
    return 2 * rows_at_once<Acc, C> * kThreads * sizeof(row_of<typename Acc::T, C>);
}

// A thread's rows of its columns from number i on; kLess: with less code, where these are few. Others on their
// way in registers while these are taken would be spilled: H100, 16384 x n float32, .61 of a copy's rate in place
// of .89.
template <bool kLess = false, class Acc, int C>
__device__ __forceinline__ void
fold_rows_of_columns(Acc (&acc)[C], const columns_at<typename Acc::T, C> &from,
                     const reduce_task &task, int left, int i = 0)
{
    constexpr int N = rows_at_once<Acc, C>;
    const bool one = kLess || left <= N; // batch
    while (left > 0) {
        if (left > N / 2 || one) {
            read_rows<N>(acc, from, task, i, left);
            i += N;
            left -= N;
        } else { // the last ones
            read_rows<WK_FEW_ROWS>(acc, from, task, i, left);
            i += WK_FEW_ROWS;
            left -= WK_FEW_ROWS;
        }
    }
}

// What a thread has of a column, to the words that its pieces share. False: sums take integers.
template <class Acc>
__device__ __forceinline__ bool
share_column(const Acc &acc, const reduce_task &task, int64_t output)
{
    constexpr table_shape kShape = Acc::shape();
    const auto to = (unsigned long long *)shared_words(task, output, kShape.words());
    const bool exact = acc.exact();
    if (exact) {
        struct {
            double s[4];
        } x; // a plain array would be one with others of its type, which it would keep in memory
        if constexpr (Acc::kHasSum) {
#pragma unroll
            for (int p = 0; p < Acc::kPieces; p++) {
#pragma unroll
                for (int k = 0; k < Acc::kS; k++) x.s[k] = acc.sum[p].s[k];
                add_own_doubles(x.s, Acc::kS, kShape.sum_base, to + kShape.sum_at(p));
            }
        }
        if constexpr (Acc::kHasSquares) {
#pragma unroll
            for (int k = 0; k < Acc::kQ; k++) x.s[k] = acc.squares.s[k];
            add_own_doubles(x.s, Acc::kQ, kShape.square_base(), to + kShape.square_at());
        }
        add_word(kShape, to, kFlags, (unsigned)acc.flags);
        add_word(kShape, to, kCount, (unsigned)acc.count);
    }
    if constexpr (Acc::kEnds) {
        uint64_t words[2];
        acc.ends.save_rising(words);
        for (int w = 0; w < 2; w++) add_word(kShape, to, kShape.ends_at() + w, words[w]);
    }
    if constexpr (kShape.all)
        add_word(kShape, to, kShape.all_at(), (unsigned long long)acc.nonzeros);
    return exact;
}

// The same of one in memory, once for all kernels of a file: not of fold_columns, where a call costs float16's sums
// of three columns an eighth (H200, .66 of a copy .58).
template <class Acc>
__device__ WK_NOINLINE bool
share_by_call(const Acc &acc, const reduce_task &task, int64_t output)
{
    return share_column(acc, task, output);
}

// Blocks of a multiprocessor. More leave each too few registers, and what these spill goes to the
// memory too: H100, of a copy's rate with 4 blocks and 3, 16 x n float32 sums .76 .90, float64 .87 .92,
// 33 x n float64 .71 .88. Plain doubles, which tell results first, need few (quick.cuh): float16 sums .86 .79, 33 x n
// .75 .68; what is left to accumulators then is spilled, and takes up to a third longer.
template <class Acc>
constexpr int
whole_blocks(bool few)
{
    if (Acc::kQuick && !few) return 4;
    bool small = few && Acc::kBlocks > 2;
    if constexpr (Acc::kCertain) {
        small |= (Acc::kBlocks > 2 || (few && Acc::kAtOnce)) && sizeof(typename Acc::T) <= 4;
    } else {
        small &= (!Acc::kHasSquares || (Acc::kHalf && !Acc::kHasSum)) &&
                 (Acc::kWide || Acc::kPieces == 1);
        if (few && Acc::kWide && !Acc::kHasSum && Acc::kPieces == 1)
            return 4; // H200, n x 2 float64: norms with one register more 158 us, with four blocks 131
        if (few && !small && Acc::kWide && Acc::kAnswersFirst)
            return 3; // else squares have two
    }
    return small ? 4 : Acc::kBlocks;
}

// All rows of a thread's columns from `output` on: each is finished that is not stored. A bit for each
// that takes integers. kMasks: not all elements may count.
template <class Acc, bool kFew, int C, bool kMasks>
__device__ __forceinline__ uint32_t
fold_whole(const typename Acc::T *in, const reduce_task &task, int64_t output, int apart,
           uint32_t stored)
{
    columns_at<typename Acc::T, C> from;
    uint32_t unknown = 0;
    Acc acc[C];
    from.template to<kFew>(in, task, output, apart);
#pragma unroll
    for (int c = 0; c < C; c++) {
        from.row[c] = 0;
        acc[c].start(task);
        stored |= (uint32_t)(output + c * apart >= task.outputs) << c;
    }
    if constexpr (kFew) {
        row_of<typename Acc::T, C> read[WK_FEW_ROWS];
        const uint32_t ok = load_rows<WK_FEW_ROWS, Acc>(read, from.x, from, task, (int)task.n);
        take_rows(acc, read, from, task, 0, ok,
                  [&](int c, typename Acc::T(&x)[WK_FEW_ROWS], uint32_t *some) {
                      if (kMasks) leave_out_masked<Acc>(x, some, in, task, output + c * apart);
                  });
    } else {
        fold_rows_of_columns<Acc::kQuick>(acc, from, task, (int)task.n);
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        bool known = stored >> c & 1;
        acc[c].settle(task);
        if constexpr (!Acc::kCertain)
            if (!known && task.keeps) {
                const Acc own = acc[c]; // in memory, only here
                known = share_by_call(own, task, output + c * apart);
            }
        if (!known && (Acc::kCertain || !task.keeps))
            known = deliver<kFew>(acc[c], task, output + c * apart);
        unknown |= (uint32_t)!known << c;
    }
    return unknown;
}

// Those of a few rows that were not stored at once: rarely, so that the code is less, one by one.
template <class Acc, int C>
__device__ __forceinline__ uint32_t
fold_each(const typename Acc::T *in, const reduce_task &task, int64_t output, int apart,
          uint32_t stored)
{
    uint32_t unknown = 0;
#pragma unroll 1
    for (int c = 0; c < C; c++) {
        const int64_t to = output + c * apart;
        if ((stored >> c & 1) || to >= task.outputs) continue;
        if constexpr (Acc::kOftenTies) {
            row_of<typename Acc::T, 1> read[WK_FEW_ROWS];
            columns_at<typename Acc::T, 1> from;
            typename Acc::T column[WK_FEW_ROWS];
            from.template to<false>(in, task, to, apart);
            load_rows<WK_FEW_ROWS, Acc>(read, from.x, from, task, (int)task.n);
            column_of(read, 0, column);
            if (Acc::finish_several(column, task, to)) continue;
        }
        unknown |= fold_whole<Acc, true, 1, true>(in, task, to, apart, 0) << c;
    }
    return unknown;
}

// All columns of a thread that are not stored; of few rows that are masked one by one: of 2 x n bytes all are a fifth
// slower where they may be.
template <class Acc, bool kFew, int C>
__device__ __forceinline__ uint32_t
fold_others(const typename Acc::T *in, const reduce_task &task, int64_t output, int apart,
            uint32_t stored)
{
    if constexpr (kFew && C > 1)
        if (task.masked) return fold_each<Acc, C>(in, task, output, apart, stored);
    return fold_whole<Acc, kFew, C, (kFew && C == 1)>(in, task, output, apart, stored);
}

// The same where all rows are one batch, which may take no accumulator if all elements count. A bit for each that is
// stored, or not there; none of what is masked.
template <class Acc, int N, int C>
__device__ __forceinline__ uint32_t
finish_whole(const typename Acc::T *in, const reduce_task &task, int64_t output, int apart)
{
    row_of<typename Acc::T, C> read[N];
    columns_at<typename Acc::T, C> from;
    uint32_t stored = 0;
    if (N <= WK_FEW_ROWS && task.masked) return 0;
    from.template to<N <= WK_FEW_ROWS>(in, task, output, apart);
    load_rows<N, Acc>(read, from.x, from, task, (int)task.n);
    if constexpr (Acc::kAnswersFirst) { // of all columns, before any is stored
        if (task.is_own() && !task.integers_only) {
            typename Acc::answer_t a[C][Acc::kAnswers];
#pragma unroll
            for (int c = 0; c < C; c++) {
                typename Acc::T column[N];
                column_of(read, c, column);
                Acc::answer_at_once(column, task, a[c]);
            }
#pragma unroll
            for (int c = 0; c < C; c++) {
                const int64_t to = output + c * apart;
                stored |= (uint32_t)(to >= task.outputs || Acc::store_answers(a[c], task, to))
                          << c;
            }
            return stored;
        }
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        typename Acc::T column[N];
        const int64_t to = output + c * apart;
        column_of(read, c, column);
        stored |= (uint32_t)(to >= task.outputs || Acc::finish_at_once(column, task, to)) << c;
    }
    return stored;
}

template <class Acc, int C>
struct whole_memory {
    table_memory<Acc> table;
    // A bit for each of an item's columns: it takes integers.
    uint32_t marks[WK_ITEMS + WK_TOGETHER][kWarps][C];
};

// What plain doubles leave of the block's items that are taken together: a bit for each column of a thread of
// theirs.
template <class Acc, int C, bool kQuick>
struct columns_left {
    static constexpr int kTogether = 1;
};

template <class Acc, int C>
struct columns_left<Acc, C, true> {
    using quick = quick_of<Acc>;
    static constexpr int kTogether = quick::kColumns / C;
    static_assert(kTogether > 1 && kTogether <= WK_TOGETHER);
    uint8_t bits[WK_ITEMS / kTogether + 1][kThreads];

    // False: nothing is left in the block.
    __device__ __forceinline__ bool find(const typename Acc::T *in, const reduce_task &task)
    {
        uint32_t left = 0;
        bool some = false, others = false;
        int item = 0;
#pragma unroll 1
        for (int64_t group = blockIdx.x; group * kTogether < task.groups;
             group += gridDim.x, item++) {
            const int64_t column = (group * kThreads + threadIdx.x) * quick::kColumns;
            if (!others) left = quick::fold(in, task, column);
            bits[item][threadIdx.x] = (uint8_t)left;
            some |= left != 0;
            others = __all_sync(kAllLanes, left == all_of<quick::kColumns>); // and will be
        }
        return __syncthreads_or(some);
    }
    // A bit for each of a thread's columns that has its result, `column` being the first of them in the item.
    __device__ __forceinline__ uint32_t stored(int item, int column, int apart) const
    {
        uint32_t all = 0;
#pragma unroll
        for (int c = 0; c < C; c++) {
            const int own = column + c * apart;
            all |= (~bits[item][own / quick::kColumns] >> own % quick::kColumns & 1u) << c;
        }
        return all;
    }
};

// The columns of a block's items that are marked, of which the first in a warp is first_of(item, warp, c): over
// a power of two, or by the whole block as integers.
template <class Acc, int C, typename First>
__device__ __forceinline__ void
finish_columns(const typename Acc::T *in, const reduce_task &task, int items,
               const First &first_of, whole_memory<Acc, C> *memory)
{
    if (Acc::kWide && !task.keeps) {
#pragma unroll 1
        for (int k = 0; k < items * C; k++) {
            const int c = k % C;
            finish_mark(in, task, &memory->marks[k / C][threadIdx.x / kWarp][c],
                        first_of(k / C, threadIdx.x / kWarp, c), 1, task.aligned ? C : 1,
                        Acc::shape());
        }
        __syncthreads(); // the marks that are left are set
    }
#pragma unroll 1
    for (int k = 0; k < items * kWarps * C; k++) {
        const int c = k % C, item = k / C / kWarps;
        const int64_t first = first_of(item, k / C % kWarps, c);
        for (uint32_t left = memory->marks[item][k / C % kWarps][c]; left; left &= left - 1) {
            const int other = __ffs((int)left) - 1;
            const int64_t own = first + other * (task.aligned ? C : 1);
            column_exactly(in, task, own, 0, task.n, Acc::shape(), memory->table.word,
                           memory->table.work);
        }
    }
}

// kFew: there are no more than WK_FEW_ROWS. What takes integers is marked, and left to the whole block.
template <class Acc, bool kFew,
          int C = kFew ? columns_of_few<Acc>() : columns_of_thread<Acc>(false)>
__global__ void
__launch_bounds__(kThreads, whole_blocks<Acc>(kFew))
    fold_whole_columns(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    static_assert((C & (C - 1)) == 0 && (kFew || sizeof(typename Acc::T) * C <= 16));
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    // A thread's lie side by side where they are one load, else so that threads' are.
    const int apart = task.aligned ? 1 : kWarp,
              own = warp * C * kWarp + (task.aligned ? lane * C : lane);
    if constexpr (Acc::kCertain) {
        const int64_t step = (int64_t)gridDim.x * kThreads * C;
        int64_t first = 0; // of those that are left
        if constexpr (Acc::kQuick && !kFew) {
            using quick = quick_of<Acc>;
            constexpr int kSide = kWarp * quick::kColumns;
            __shared__ typename quick::stage stages[kWarps];
            if (task.together > 1) {
                first = task.outputs - task.outputs % quick::kColumns;
                for (int64_t base = ((int64_t)blockIdx.x * kWarps + warp) * kSide; base < first;
                     base += (int64_t)gridDim.x * kWarps * kSide)
                    quick::fold_warp(in, task, base, first, stages[warp]);
            }
        }
        for (int64_t output = first + (int64_t)blockIdx.x * kThreads * C + own;
             output < task.outputs; output += step) {
            if constexpr (Acc::kAtOnce && kFew) {
                constexpr int N = Acc::kPairsAtOnce ? 2 : WK_FEW_ROWS;
                const uint32_t stored =
                    task.n <= N ? finish_whole<Acc, N, C>(in, task, output, apart)
                                : finish_whole<Acc, WK_FEW_ROWS, C>(in, task, output, apart);
                if (stored != all_of<C>) fold_each<Acc, C>(in, task, output, apart, stored);
            } else {
                fold_others<Acc, kFew, C>(in, task, output, apart, 0);
            }
        }
    } else {
        constexpr int N = kFew ? WK_FEW_ROWS : rows_at_once<Acc, C>;
        constexpr bool kQuick = Acc::kQuick && !kFew;
        __shared__ whole_memory<Acc, C> memory;
        __shared__ columns_left<Acc, C, kQuick> left;
        const int together = kQuick ? task.together : 1; // items
        bool fine = true;
        if constexpr (kQuick)
            if (together > 1 && !left.find(in, task)) return;
        const auto group_of = [&](int item) {
            return (blockIdx.x + (int64_t)(item / together) * gridDim.x) * together +
                   item % together;
        };
#pragma unroll 1
        for (int k = lane; k < (WK_ITEMS + WK_TOGETHER) * C; k += kWarp)
            memory.marks[k / C][warp][k % C] = 0;
        __syncwarp(); // the warp's marks are clear
        int items = 0;
        for (int64_t group = group_of(0); group < task.groups; group = group_of(++items)) {
            const int64_t output = group * kThreads * C + own;
            uint32_t stored = output < task.outputs ? 0 : all_of<C>, unknown = 0;
            if constexpr (kQuick) {
                if (together > 1)
                    stored |= left.stored(items / together,
                                          items % together * kThreads * C + own, apart);
            } else if constexpr (Acc::kAtOnce) {
                if (task.n <= N && stored == 0)
                    stored = finish_whole<Acc, N, C>(in, task, output, apart);
            }
            if constexpr (Acc::kAtOnce && kFew) {
                if (stored != all_of<C>)
                    unknown = fold_each<Acc, C>(in, task, output, apart, stored);
            } else if (stored != all_of<C>) {
                unknown = fold_others<Acc, kFew, C>(in, task, output, apart, stored);
            }
            if (!__any_sync(kAllLanes, unknown)) continue;
            fine = false;
#pragma unroll
            for (int c = 0; c < C; c++) {
                const uint32_t bits = __ballot_sync(kAllLanes, unknown >> c & 1);
                if (lane == 0) memory.marks[items][warp][c] = bits;
            }
        }
        if (!__syncthreads_or(!fine)) return; // also: all marks are set
        const auto first_of = [&](int item, int of_warp, int c) {
            return (group_of(item) * kWarps + of_warp) * C * kWarp +
                   (task.aligned ? c : c * kWarp);
        };
        finish_columns<Acc, C>(in, task, items, first_of, &memory);
    }
}

} // namespace wk
