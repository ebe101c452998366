// columns.cuh -- columns side by side: neighbouring threads have neighbouring columns.
//
// A thread reads 8 bytes of each of its rows, of several columns where elements are small (by one
// load, where rows start so that it can), with up to 16 rows on their way; a block has `width` threads
// side by side and `height` below each other. Then what the threads of a column hold lies in shared
// memory, side by side; it is joined by halves, and each column finished, or left as a record for the
// block that ends last.
//
// A matrix of few columns that follow each other is read as one of `repeat` times as many and fewer
// rows: whole sectors, whatever its width. Of few rows a thread has all, and nothing is joined.
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
        line_memory<Acc> line;
    };
    uint32_t marks[kThreads * C / kWarp]; // of columns

    __device__ __forceinline__ void save(const uint64_t (&from)[Acc::kWords], int at)
    {
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) words[w][at] = from[w];
    }
    __device__ __forceinline__ void save(const Acc &acc, int at)
    {
        uint64_t own[Acc::kWords];
        acc.save(own);
        save(own, at);
    }
    __device__ __forceinline__ void load(uint64_t (&to)[Acc::kWords], int at) const
    {
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) to[w] = words[w][at];
    }
    __device__ __forceinline__ Acc load(const reduce_task &task, int at) const
    {
        uint64_t own[Acc::kWords];
        Acc acc;
        acc.start(task);
        load(own, at);
        acc.load(own);
        return acc;
    }
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

// Where a thread's columns lie in their first row, or in the only one that they are read from.
template <typename T, int C>
struct columns_at {
    const T *x;
    int64_t offset[C]; // from there, of those that there are
    int64_t pitch;     // from row to row
    int64_t row[C];    // of the fold: what the first row has of each
    int rows;          // of the fold in each that is read

    // Columns that are `apart`, from `column` on; where there is none, another's place.
    __device__ __forceinline__ void find(const reduce_task &task, int64_t column, int apart,
                                         int64_t end, const T *in)
    {
#pragma unroll
        for (int c = 0; c < C; c++) {
            const int64_t own = column + c * apart;
            offset[c] = c;
            if (!task.aligned)
                offset[c] =
                    own < end ? spot_of(task.kept, task.where_kept, own).at - (x - in) : 0;
        }
    }
};

// N rows of a thread's columns from row i on, in steps, as far as they are below `end`; a bit for each.
template <int N, class Acc, int C>
__device__ __forceinline__ uint32_t
load_rows(row_of<typename Acc::T, C> (&read)[N], const columns_at<typename Acc::T, C> &from,
          const reduce_task &task, int i, int end, int step)
{
    using R = row_of<typename Acc::T, C>;
    const int64_t pitch = step * from.pitch;
    const typename Acc::T *x = from.x + i * from.pitch;
    uint32_t ok = all_of<N>;
    if (i + (N - 1) * step >= end) {
        ok = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            ok |= (uint32_t)(i + j * step < end) << j;
#pragma unroll
            for (int c = 0; c < C; c++) read[j].set(c, Acc::filler(task));
        }
    }
    if (R::kLoads && task.aligned) {
#pragma unroll
        for (int j = 0; j < N; j++)
            if (ok >> j & 1) read[j] = *reinterpret_cast<const R *>(x + j * pitch);
    } else {
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
            for (int c = 0; c < C; c++)
                if (ok >> j & 1) read[j].set(c, x[j * pitch + from.offset[c]]);
    }
    return ok;
}

// A thread's rows of its columns, begin .. end - 1 in steps; N are on their way together.
template <int N, class Acc, int C>
__device__ __forceinline__ void
fold_rows_of_columns(Acc (&acc)[C], const columns_at<typename Acc::T, C> &from,
                     const reduce_task &task, int begin, int end, int step)
{
    using T = typename Acc::T;
    for (int i = begin; i < end; i += N * step) {
        row_of<T, C> read[N];
        const uint32_t ok = load_rows<N, Acc>(read, from, task, i, end, step);
#pragma unroll
        for (int c = 0; c < C; c++) {
            const place at = {task.first + (int64_t)i * from.rows + from.row[c],
                              (int64_t)step * from.rows, 1};
            T column[N];
            uint32_t some = ok;
            column_of(read, c, column);
            leave_out<Acc>(column, &some, task);
            acc[c].take(column, some, at, task);
        }
    }
}

// The columns of a group, by the block that ends last: of the records that their parts have left.
template <class Acc, int C = Acc::kColumns>
__device__ __forceinline__ void
finish_columns(const typename Acc::T *in, const reduce_task &task, int64_t first, int columns,
               column_memory<Acc, C> *memory)
{
    const int tid = threadIdx.x;
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
        memory->save(acc, tid);
        __syncthreads(); // all threads' words are there before a column's first one joins them
        bool known = true;
        if (works && (height == 1 || q == 0)) {
            for (int h = 1; h < height; h++) {
                memory->load(words, h * columns + tid);
                acc.merge(words);
            }
            known = deliver(acc, task, first + c);
        }
        const uint32_t bits = __ballot_sync(kAllLanes, !known);
        if (tid % kWarp == 0) memory->marks[tid / kWarp] = bits;
        // Also: the words have been read before they are written again.
        if (!__syncthreads_or(!known)) continue;
        if constexpr (!Acc::kCertain) {
            table_memory<Acc> *table = &memory->line.table;
            for (int k = 0; k < kThreads; k++)
                if (memory->marks[k / kWarp] >> k % kWarp & 1)
                    finish_exactly(in, task, first + c0 + k, Acc::shape(), table->word,
                                   table->work);
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
        double x[4];
        if constexpr (Acc::kHasSum) {
#pragma unroll
            for (int p = 0; p < Acc::kPieces; p++) {
#pragma unroll
                for (int k = 0; k < Acc::kS; k++) x[k] = acc.sum[p].s[k];
                add_own_doubles(x, Acc::kS, kShape.sum_base, to + kShape.sum_at(p));
            }
        }
        if constexpr (Acc::kHasSquares) {
#pragma unroll
            for (int k = 0; k < Acc::kQ; k++) x[k] = acc.squares.s[k];
            add_own_doubles(x, Acc::kQ, kShape.square_base(), to + kShape.square_at());
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

// A column, or the block's part of it, by integers, by the whole block.
template <class Acc>
__device__ __forceinline__ void
column_exactly(const typename Acc::T *in, const reduce_task &task, int64_t output,
               int64_t begin, int64_t end, table_memory<Acc> *table)
{
    if (!task.keeps) {
        finish_exactly(in, task, output, Acc::shape(), table->word, table->work);
        return;
    }
    clear_table(table);
    __syncthreads(); // all is zero before anything is added
    add_output_exactly(in, task, output, begin, end, Acc::shape(), table->word);
    __syncthreads(); // the table is whole
    if (threadIdx.x < kWarp)
        share_table(table,
                    (unsigned long long *)shared_words(task, output, Acc::shape().words()));
    __syncthreads(); // the table has been read
}

// A column whose words are in shared memory: finished, shared, or left as a part's record. False: it
// takes integers.
template <class Acc, int C>
__device__ __forceinline__ bool
leave_column(const reduce_task &task, int64_t output, int64_t part, int slot,
             const column_memory<Acc, C> *memory)
{
    if (task.parts > 1 && (Acc::kCertain || !task.keeps)) {
        uint64_t words[Acc::kWords],
            *to = task.records + (part * task.outputs + output) * Acc::kWords;
        memory->load(words, slot);
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) to[w] = words[w];
        return true;
    }
    Acc acc = memory->load(task, slot);
    if constexpr (!Acc::kCertain)
        if (task.keeps) return share_column(acc, task, output);
    return deliver(acc, task, output);
}

// The block's columns whose words take integers, by all of it; `known` says so of each thread's slot.
template <class Acc, int C>
__device__ __forceinline__ void
leave_marked(const typename Acc::T *in, const reduce_task &task, int64_t first, int slots,
             int64_t begin, int64_t end, column_memory<Acc, C> *memory)
{
    if constexpr (!Acc::kCertain) {
#pragma unroll 1
        for (int c = 0; c < slots; c++)
            if (memory->marks[c / kWarp] >> c % kWarp & 1)
                column_exactly<Acc>(in, task, first + c, begin, end, &memory->line.table);
    }
}

// Rows from `row` on of a column, to its thread's entry.
template <class Acc, int C>
__device__ __forceinline__ void
take_tail(const typename Acc::T *in, const reduce_task &task, int64_t row, int column,
          column_memory<Acc, C> *memory)
{
    Acc acc = memory->load(task, column);
#pragma unroll 1
    for (; row < task.n; row++) {
        typename Acc::T x[1] = {in[row * task.outputs + column]};
        uint32_t ok = 1;
        leave_out<Acc>(x, &ok, task);
        acc.take(x, ok, {task.first + row, 0, 1}, task);
    }
    memory->save(acc, column);
}

// Entries of `stride` columns, `many` of each, become one of each: by halves, by the whole block.
template <class Acc, int C>
__device__ __forceinline__ void
join_columns(const reduce_task &task, int stride, int many, column_memory<Acc, C> *memory)
{
#pragma unroll 1
    while (many > 1) {
        const int half = (many + 1) / 2;
#pragma unroll 1
        for (int e = threadIdx.x; e < (many - half) * stride; e += kThreads) {
            uint64_t words[Acc::kWords];
            Acc acc = memory->load(task, e);
            memory->load(words, e + half * stride);
            acc.merge(words);
            memory->save(acc, e);
        }
        __syncthreads(); // this half is there before the next is joined
        many = half;
    }
}

template <class Acc, int C = Acc::kColumns>
__global__ void
__launch_bounds__(kThreads, Acc::kColumnBlocks)
    fold_columns(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    constexpr int kRows = sizeof(typename Acc::T) * C == 16 ? 8 : 16; // on their way together
    __shared__ column_memory<Acc, C> memory;
    const int tid = threadIdx.x, width = task.width, height = task.height;
    const int down = tid / width, lane = tid % kWarp, warp_slots = tid / kWarp * C * kWarp;
    const bool alone = height * task.repeat == 1; // a thread has all of its columns
    // These lie side by side where they are one load, else so that threads' are.
    const int apart = task.aligned ? 1 : alone ? kWarp : width;
    const int own = task.aligned ? (tid - down * width) * C
                    : alone      ? warp_slots + lane
                                 : tid - down * width;
    const bool narrow = task.repeat > 1;
    const int64_t side = (int64_t)width * C; // of what the block reads of a row
    // Of narrow matrices the last rows that fill no thread's load are taken one by one.
    const int64_t whole = narrow ? (task.n - task.n % C) * task.outputs : 0;
    const int64_t all_rows = narrow ? (whole + side - 1) / side : task.n;
    for (int64_t item = blockIdx.x; item < task.groups * task.parts; item += gridDim.x) {
        int64_t part = item;
        const int64_t group = task.parts > 1 ? split(&part, task.groups) : item;
        if (task.parts == 1) part = 0;
        const int64_t first = narrow ? 0 : group * side;
        const int columns = (int)(task.outputs - first < side ? task.outputs - first : side);
        const int64_t rows = (all_rows + task.parts - 1) / task.parts, begin = part * rows,
                      end = begin + rows < all_rows ? begin + rows : all_rows;
        {
            Acc acc[C];
#pragma unroll
            for (int c = 0; c < C; c++) acc[c].start(task);
            if (down < height && (narrow || own < columns)) {
                columns_at<typename Acc::T, C> from;
                int64_t last = end;
                if (narrow) { // of the last row there may be a part
                    const int64_t own_rows = (whole - own + side - 1) / side;
                    last = own_rows < end ? own_rows : end;
                    from.x = in + own;
                    from.pitch = side;
                } else {
                    from.x = in + spot_of(task.kept, task.where_kept, first + own).at;
                    from.pitch = task.stride;
                }
                from.rows = task.repeat;
#pragma unroll
                for (int c = 0; c < C; c++)
                    from.row[c] = narrow ? (own + c) / (int)task.outputs : 0;
                from.find(task, first + own, apart, first + columns, in);
                fold_rows_of_columns<kRows>(acc, from, task, (int)begin + down, (int)last,
                                            height);
            }
#pragma unroll
            for (int c = 0; c < C && down < height; c++)
                memory.save(acc[c], down * (int)side + own + c * apart);
        }
        if (alone) {
            __syncwarp(); // a warp's lanes read what its lanes have written
        } else {
            __syncthreads(); // all words are there before columns are joined
            if (narrow && part == 0 && task.n % C > 0) {
                for (int c = tid; c < task.outputs; c += kThreads)
                    take_tail(in, task, task.n - task.n % C, c, &memory);
                __syncthreads(); // the tails have been taken
            }
            join_columns(task, narrow ? (int)task.outputs : (int)side, height * task.repeat,
                         &memory);
        }
        bool known = true;
        const int slots =
            alone ? warp_slots + C * kWarp : (columns + kWarp - 1) / kWarp * kWarp;
#pragma unroll 1
        for (int slot = alone ? warp_slots + lane : tid; slot < slots;
             slot += alone ? kWarp : kThreads) {
            const bool fine =
                slot >= columns || leave_column(task, first + slot, part, slot, &memory);
            if constexpr (!Acc::kCertain) {
                const uint32_t bits = __ballot_sync(kAllLanes, !fine);
                if (lane == 0) memory.marks[slot / kWarp] = bits;
            }
            known &= fine;
        }
        if (Acc::kCertain && alone && task.parts == 1)
            __syncwarp();                  // the words have been read
        else if (__syncthreads_or(!known)) // also: all words have been read
            leave_marked(in, task, first, columns, begin * task.repeat,
                         end * task.repeat < task.n ? end * task.repeat : task.n, &memory);
        if (task.parts > 1 && task.tickets) {
            bool last =
                tid < kWarp && warp_draws_last(task.tickets + group, (unsigned)task.parts);
            last = __syncthreads_or(last);
            if (last) finish_columns<Acc, C>(in, task, first, columns, &memory);
        }
    }
}

// Columns that a thread folds where they have few rows: as many as its registers hold.
template <class Acc>
constexpr int
few_columns()
{
    int most = 16 / (int)sizeof(typename Acc::T), c = 1;
    if (!Acc::kCertain) return Acc::kColumns;
    if (most > 4) most = 4;
    if (most > 20 / Acc::kWords) most = 20 / Acc::kWords; // shared memory
    while (2 * c <= most) c *= 2;
    return c;
}

template <class Acc, int C = few_columns<Acc>()>
__global__ void
__launch_bounds__(kThreads, Acc::kCertain ? 4 : 3)
    fold_few_rows(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using T = typename Acc::T;
    __shared__ column_memory<Acc, C> memory;
    const int tid = threadIdx.x, lane = tid % kWarp, slots = tid / kWarp * C * kWarp;
    const int apart = task.aligned ? 1 : kWarp, own = task.aligned ? lane * C : lane;
    for (int64_t item = blockIdx.x; item < task.groups; item += gridDim.x) {
        const int64_t first = item * kThreads * C, output = first + slots + own;
        T column[C][WK_FEW_ROWS];
        uint32_t ok = 0;
        bool stored = true; // without more
        {
            row_of<T, C> read[WK_FEW_ROWS];
            columns_at<T, C> from;
            const bool works = output < task.outputs;
            from.x = in + (works ? spot_of(task.kept, task.where_kept, output).at : 0);
            from.pitch = task.stride;
            from.find(task, output, apart, task.outputs, in);
            ok = load_rows<WK_FEW_ROWS, Acc>(read, from, task, 0, works ? (int)task.n : 0, 1);
#pragma unroll
            for (int c = 0; c < C; c++) {
                column_of(read, c, column[c]);
                const int64_t to = output + c * apart;
                if constexpr (Acc::kAtOnce)
                    if (to < task.outputs) stored &= Acc::finish_at_once(column[c], task, to);
            }
        }
        if constexpr (Acc::kAtOnce)
            if (__syncthreads_and(stored)) continue;
        {
            Acc acc[C];
#pragma unroll
            for (int c = 0; c < C; c++) {
                const place at = {task.first, 1, 1};
                uint32_t some = ok;
                acc[c].start(task);
                leave_out<Acc>(column[c], &some, task);
                acc[c].take(column[c], some, at, task);
            }
#pragma unroll
            for (int c = 0; c < C; c++) memory.save(acc[c], slots + own + c * apart);
        }
        __syncwarp(); // a warp's lanes read what its lanes have written
        bool known = true;
#pragma unroll 1
        for (int trip = 0; trip < C; trip++) { // results side by side
            const int slot = slots + trip * kWarp + lane;
            const bool fine = first + slot >= task.outputs ||
                              leave_column(task, first + slot, 0, slot, &memory);
            if constexpr (!Acc::kCertain) {
                const uint32_t bits = __ballot_sync(kAllLanes, !fine);
                if (lane == 0) memory.marks[slots / kWarp + trip] = bits;
            }
            known &= fine;
        }
        if constexpr (Acc::kCertain)
            __syncwarp();                  // the words have been read
        else if (__syncthreads_or(!known)) // also: all words have been read
            leave_marked(in, task, first, kThreads * C, 0, task.n, &memory);
    }
}

} // namespace wk
