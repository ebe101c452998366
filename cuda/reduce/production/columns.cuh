// columns.cuh -- columns side by side: neighbouring threads have neighbouring columns.
//
// A thread reads 8 or 16 bytes of each of its rows, of several columns where elements are small (by one
// load, where rows start so that it can), with up to 16 rows on their way; a block has `width` threads
// side by side and `height` below each other. Then what the threads of a column hold lies in shared
// memory, side by side; it is joined by halves, and each column finished, or left as a record for the
// block that ends last.
//
// A matrix of few columns that follow each other is read as one of `repeat` times as many and fewer
// rows: whole sectors, whatever its width. Where rows are few, or columns enough for all threads, a
// thread has whole ones, and nothing is joined.
#pragma once
#include "prim/turn.cuh"
#include "reduce/production/lines.cuh"

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

// Columns of a thread, of few rows or of many: as many as its registers hold, and the memory that the
// block's results go through.
template <class Acc>
constexpr int
columns_of_thread(bool few)
{
    int most = 16 / (int)sizeof(typename Acc::T), c = 1;
    if constexpr (!Acc::kCertain)
        if (!few) return Acc::kColumns;
    if (most > 4) most = 4;
    if (most > 20 / Acc::kWords) most = 20 / Acc::kWords;
    while (2 * c <= most) c *= 2;
    return c;
}

template <class Acc, int C>
struct column_memory {
    union {
        uint64_t words[Acc::kWords][kThreads * C]; // an output's neighbours side by side
        line_memory<Acc> line;
    };
    uint32_t marks[WK_ITEMS][kThreads * C / kWarp]; // of an item's columns: they take integers

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
    int64_t pitch;     // from a row that is read to the next
    int64_t row[C];    // of the fold: what the first row has of each
    int rows;          // of the fold from one to the next
    int apart;         // columns

    // From `column` on; where there is none, another's place.
    __device__ __forceinline__ void find(const reduce_task &task, int64_t column, int64_t end,
                                         const T *in)
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

// N rows of a thread's columns, as far as there are so many left; a bit for each. In place of the others
// there are fillers.
template <int N, class Acc, int C>
__device__ __forceinline__ uint32_t
load_rows(row_of<typename Acc::T, C> (&read)[N], const typename Acc::T *x,
          const columns_at<typename Acc::T, C> &from, const reduce_task &task, int left)
{
    using R = row_of<typename Acc::T, C>;
    const bool at_once = R::kLoads && task.aligned;
    if (left >= N) { // without conditions, which would take half of the time
        if (at_once) {
#pragma unroll
            for (int j = 0; j < N; j++, x += from.pitch)
                read[j] = *reinterpret_cast<const R *>(x);
        } else {
#pragma unroll
            for (int j = 0; j < N; j++, x += from.pitch)
#pragma unroll
                for (int c = 0; c < C; c++) read[j].set(c, x[from.offset[c]]);
        }
        return all_of<N>;
    }
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int c = 0; c < C; c++) read[j].set(c, Acc::filler(task));
    if (at_once) {
#pragma unroll
        for (int j = 0; j < N; j++, x += from.pitch)
            if (j < left) read[j] = *reinterpret_cast<const R *>(x);
    } else {
#pragma unroll
        for (int j = 0; j < N; j++, x += from.pitch)
#pragma unroll
            for (int c = 0; c < C; c++)
                if (j < left) read[j].set(c, x[from.offset[c]]);
    }
    return left < N ? (1u << left) - 1 : all_of<N>;
}

// N rows from number i on, on their way together. Where they are all of the columns from `output` on
// (else -1) these may be stored without more: true.
template <int N, class Acc, int C>
__device__ __forceinline__ bool
take_rows(Acc (&acc)[C], const columns_at<typename Acc::T, C> &from, const reduce_task &task,
          int i, int left, int64_t output = -1)
{
    row_of<typename Acc::T, C> read[N];
    typename Acc::T column[N];
    const uint32_t ok = load_rows<N, Acc>(read, from.x + i * from.pitch, from, task, left);
    if constexpr (Acc::kAtOnce) {
        bool stored = output >= 0;
#pragma unroll
        for (int c = 0; c < C && output >= 0; c++) {
            column_of(read, c, column);
            const int64_t to = output + c * from.apart;
            if (to < task.outputs) stored &= Acc::finish_at_once(column, task, to);
        }
        if (stored) return true;
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        const place at = {task.first + (int64_t)i * from.rows + from.row[c], from.rows, 1};
        uint32_t some = ok;
        column_of(read, c, column);
        leave_out<Acc>(column, &some, task);
        acc[c].take(column, some, at, task);
    }
    return false;
}

// The records that the parts of a group have left, by the block that ends last: rows of `columns`
// entries, as many as there is memory for. How many there are.
template <class Acc, int C>
__device__ __forceinline__ int
load_records(const reduce_task &task, int64_t first, int columns, column_memory<Acc, C> *memory)
{
    const int most = kThreads * C / columns,
              height = task.parts < most ? (int)task.parts : most;
#pragma unroll 1
    for (int e = threadIdx.x; e < height * columns; e += kThreads) {
        const int q = e / columns;
        uint64_t words[Acc::kWords];
        Acc acc;
        acc.start(task);
#pragma unroll 1
        for (int64_t p = q; p < task.parts; p += height) {
            read_words(task.records +
                           (p * task.outputs + first + e - q * columns) * Acc::kWords,
                       words);
            acc.merge(words);
        }
        memory->save(acc, e);
    }
    return height;
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
leave_column(const reduce_task &task, int64_t output, int64_t part, bool whole, int slot,
             const column_memory<Acc, C> *memory)
{
    if (!whole) {
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
             int64_t begin, int64_t end, const uint32_t *marks, column_memory<Acc, C> *memory)
{
    if constexpr (!Acc::kCertain) {
#pragma unroll 1
        for (int c = 0; c < slots; c++)
            if (marks[c / kWarp] >> c % kWarp & 1)
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

// A thread's rows of its columns. kFew: there are no more than WK_FEW_ROWS. True: they are all of the
// columns from `output` on, and their results are stored.
template <bool kFew, class Acc, int C>
__device__ __forceinline__ bool
fold_rows_of_columns(Acc (&acc)[C], const columns_at<typename Acc::T, C> &from,
                     const reduce_task &task, int left, int64_t output)
{
    constexpr int kBytes = C * (int)sizeof(typename Acc::T),
                  kRows = kBytes > 8 ? 128 / kBytes : 16; // on their way together
    if constexpr (kFew) return take_rows<WK_FEW_ROWS>(acc, from, task, 0, left, output);
    const bool one = left <= kRows; // batch
    for (int i = 0; left > 0;) {
        if (left > kRows / 2 || one) {
            if (take_rows<kRows>(acc, from, task, i, left, one ? output : -1)) return true;
            i += kRows;
            left -= kRows;
        } else { // the last ones
            take_rows<WK_FEW_ROWS>(acc, from, task, i, left);
            i += WK_FEW_ROWS;
            left -= WK_FEW_ROWS;
        }
    }
    return false;
}

// Blocks of a multiprocessor where rows are few: H100, 3 x n, of a copy's rate with 3 and 4 float32 sums
// .74 .80, float16 .32 .39; float64 norms .54 .47, which spill.
template <class Acc>
constexpr int
few_blocks()
{
    if constexpr (!Acc::kCertain) return Acc::kHasSquares ? 3 : 4;
    return 4;
}

// kFew: few rows, and more blocks on a multiprocessor.
template <class Acc, bool kFew, int C = columns_of_thread<Acc>(kFew)>
__global__ void
__launch_bounds__(kThreads, kFew ? few_blocks<Acc>() : Acc::kColumnBlocks)
    fold_columns(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    static_assert((C & (C - 1)) == 0 && sizeof(typename Acc::T) * C <= 16, "one load of a row");
    __shared__ column_memory<Acc, C> memory;
    const int tid = threadIdx.x, width = kFew ? kThreads : task.width,
              height = kFew ? 1 : task.height;
    const int down = kFew ? 0 : tid / width, across = tid - down * width, lane = tid % kWarp;
    // A thread has all of its columns: nothing is joined, and no warp waits for another.
    const bool alone = kFew || height * task.repeat * task.parts == 1;
    const bool narrow = !kFew && task.repeat > 1;
    const bool records = !kFew && task.parts > 1 && (Acc::kCertain || !task.keeps);
    // A thread's lie side by side where they are one load, else so that threads' are.
    const int slots_of_warp = tid / kWarp * C * kWarp;
    const int apart = task.aligned ? 1 : alone ? kWarp : width;
    const int own = task.aligned ? across * C : alone ? slots_of_warp + lane : across;
    const int64_t side = (int64_t)width * C; // of what the block reads of a row
    // Of narrow matrices the last rows that fill no thread's load are taken one by one.
    const int64_t tail = narrow ? task.n - task.n % C : task.n, all = tail * task.outputs;
    const int64_t all_rows = narrow ? (all + side - 1) / side : task.n;
    const int64_t parts = kFew ? 1 : task.parts;
    int items = 0;
    bool known = true; // all of the thread's slots
    for (int64_t item = blockIdx.x; item < task.groups * parts; item += gridDim.x, items++) {
        int64_t part = item;
        const int64_t group = parts > 1 ? split(&part, task.groups) : item;
        if (parts == 1) part = 0;
        const int64_t first = narrow ? 0 : group * side;
        const int columns = (int)(task.outputs - first < side ? task.outputs - first : side);
        int64_t begin = 0, end = all_rows;
        if (parts > 1) {
            const int64_t rows = (all_rows + parts - 1) / parts;
            begin = part * rows;
            end = begin + rows < all_rows ? begin + rows : all_rows;
        }
        uint32_t *marks = memory.marks[alone ? items : 0], done = 0; // of lanes
        {
            bool stored =
                down >= height || (!narrow && own >= columns); // nothing is left to do
            Acc acc[C];
#pragma unroll
            for (int c = 0; c < C; c++) acc[c].start(task);
            if (!stored) {
                columns_at<typename Acc::T, C> from;
                const int top = (int)begin + down;
                int64_t last = end;
                if (narrow) { // of the last row there may be a part
                    const int64_t own_rows = (all - own + side - 1) / side;
                    last = own_rows < end ? own_rows : end;
                    from.x = in + own + top * side;
                    from.pitch = height * side;
                } else {
                    from.x = in + spot_of(task.kept, task.where_kept, first + own).at;
                    from.pitch = height * task.stride;
                }
                from.rows = height * task.repeat;
                from.apart = apart;
                from.find(task, first + own, first + columns, in);
                if (!narrow) from.x += top * task.stride;
#pragma unroll
                for (int c = 0; c < C; c++)
                    from.row[c] = (int64_t)top * task.repeat +
                                  (narrow ? (own + c) / (int)task.outputs : 0);
                const int left = alone ? (int)task.n : ((int)last - top + height - 1) / height;
                stored =
                    fold_rows_of_columns<kFew>(acc, from, task, left, alone ? first + own : -1);
            }
            if (alone) {
                done = __ballot_sync(kAllLanes, stored);
                if constexpr (!Acc::kCertain)
                    if (lane < C) marks[slots_of_warp / kWarp + lane] = 0;
                if (done == kAllLanes) continue;
            }
#pragma unroll
            for (int c = 0; c < C && down < height; c++)
                memory.save(acc[c], down * (int)side + own + c * apart);
        }
        if (alone)
            __syncwarp(); // a warp's lanes read what its lanes have written
        else
            __syncthreads(); // all words are there before columns are joined
        const bool ends = part == parts - 1;
        if (ends && tail < task.n) {
            for (int c = tid; c < task.outputs; c += kThreads)
                take_tail(in, task, tail, c, &memory);
            __syncthreads(); // the tails have been taken
        }
        int stride = narrow ? (int)task.outputs : (int)side, many = height * task.repeat;
        bool whole = !records;
        while (true) { // then once more by the block that ends last, of all parts' records
            join_columns(task, stride, many, &memory);
            const int slots =
                alone ? slots_of_warp + C * kWarp : (columns + kWarp - 1) / kWarp * kWarp;
#pragma unroll 1
            for (int slot = alone ? slots_of_warp + lane : tid; slot < slots;
                 slot += alone ? kWarp : kThreads) {
                const int owner = task.aligned ? slot / C % kWarp : lane;
                const bool fine = slot >= columns || (alone && done >> owner & 1) ||
                                  leave_column(task, first + slot, part, whole, slot, &memory);
                if constexpr (!Acc::kCertain) {
                    const uint32_t bits = __ballot_sync(kAllLanes, !fine);
                    if (lane == 0) marks[slot / kWarp] = bits;
                }
                known &= fine;
            }
            if (alone) {
                __syncwarp(); // the words have been read
                break;
            }
            if (__syncthreads_or(!known)) { // also: all words have been read
                const int64_t from = begin * task.repeat, to = end * task.repeat;
                leave_marked(in, task, first, columns, from < tail ? from : tail,
                             ends        ? task.n
                             : to < tail ? to
                                         : tail,
                             marks, &memory);
                known = true;
            }
            if (!records || whole || !task.tickets) break;
            whole = tid < kWarp && warp_draws_last(task.tickets + group, (unsigned)task.parts);
            whole = __syncthreads_or(whole);
            if (!whole) break;
            stride = columns;
            many = load_records(task, first, columns, &memory);
            __syncthreads(); // all records are there before they are joined
        }
    }
    if constexpr (!Acc::kCertain) {
        if (!alone || !__syncthreads_or(!known)) return; // also: all marks are set
        for (int k = 0; k < items; k++) {
            const int64_t first = (blockIdx.x + (int64_t)k * gridDim.x) * side;
            leave_marked(in, task, first, (int)side, 0, task.n, memory.marks[k], &memory);
        }
    }
}

} // namespace wk
