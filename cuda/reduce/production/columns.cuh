// columns.cuh -- columns side by side: neighbouring threads have neighbouring columns.
//
// A thread reads 8 or 16 bytes of each of its rows, of several columns where elements are small (by one
// load, where rows start so that it can), with up to 16 rows on their way; a block has `width` threads
// side by side and `height` below each other. Then what the threads of a column hold lies in shared
// memory, side by side; it is joined by halves, and each column finished, or left as a record for the
// block that ends last. Of many parts the last of each set joins the set's records, and the last of these
// what became of them: one block would join hundreds one after the other.
//
// A matrix of few columns that follow each other is read as one of `repeat` times as many and fewer
// rows: whole sectors, whatever its width. Where rows are few, or columns enough for all threads, a
// thread has whole ones: whole.cuh.
#pragma once
#include "reduce/production/whole.cuh"

namespace wk
{

// Columns of a thread that shares them: as many as its registers hold, and the memory that the block's
// results go through.
template <class Acc>
constexpr int
shared_columns()
{
    if constexpr (!Acc::kCertain)
        return Acc::kColumns;
    else
        return columns_of_thread<Acc>(true);
}

template <class Acc, int C>
struct column_memory {
    union {
        uint64_t words[Acc::kWords][kThreads * C]; // an output's neighbours side by side
        line_memory<Acc> line;
    };
    uint32_t marks[kThreads * C / kWarp]; // of columns: they take integers

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

// The records of parts `first`, first + step .., `count` of them, by a block: rows of `columns` entries, as
// many as there are threads for. How many there are.
template <class Acc, int C>
__device__ __forceinline__ int
load_records(const reduce_task &task, int64_t output, int columns, int first, int step,
             int count, column_memory<Acc, C> *memory)
{
    const int most = columns < kThreads ? kThreads / columns : 1,
              height = count < most ? count : most;
#pragma unroll 1
    for (int e = threadIdx.x; e < height * columns; e += kThreads) {
        const int q = e / columns;
        uint64_t words[Acc::kWords];
        Acc acc;
        acc.start(task);
#pragma unroll 1
        for (int k = q; k < count; k += height) {
            const int64_t part = first + k * step;
            read_words(task.records +
                           (part * task.outputs + output + e - q * columns) * Acc::kWords,
                       words);
            acc.merge(words);
        }
        memory->save(acc, e);
    }
    return height;
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

// The block's columns that are marked, by all of it.
template <class Acc, int C>
__device__ __forceinline__ void
leave_marked(const typename Acc::T *in, const reduce_task &task, int64_t first, int slots,
             int64_t begin, int64_t end, column_memory<Acc, C> *memory)
{
    if constexpr (!Acc::kCertain) {
#pragma unroll 1
        for (int c = 0; c < slots; c++)
            if (memory->marks[c / kWarp] >> c % kWarp & 1)
                column_exactly(in, task, first + c, begin, end, Acc::shape(),
                               memory->line.table.word, memory->line.table.work);
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
    acc.settle(task);
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

// Rows of a thread's column once more, over a power of two.
template <class Acc, int C>
__device__ __forceinline__ void
fold_scaled(Acc &acc, const typename Acc::T *in, const reduce_task &task, int64_t output,
            const columns_at<typename Acc::T, C> &from, int left)
{
    static_assert(!Acc::kWide || C == 1, "a thread has one");
    const spot at = spot_of(task.kept, task.where_kept, output);
    const int64_t begin = from.row[0], end = begin + (int64_t)left * from.rows;
    scaled_sums sums;
    sums.clear();
    const series own = {begin, end, from.rows, (int64_t)kScaledBatch * from.rows, kScaledBatch};
    add_scaled(in, task, at, own, Acc::shape(), &sums);
    acc.set(sums);
}

template <class Acc, int C = shared_columns<Acc>()>
__global__ void
__launch_bounds__(kThreads, Acc::kColumnBlocks)
    fold_columns(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    static_assert((C & (C - 1)) == 0 && sizeof(typename Acc::T) * C <= 16, "one load of a row");
    __shared__ column_memory<Acc, C> memory;
    WK_DYNAMIC_SHARED(unsigned char, shared);
    const int tid = threadIdx.x, width = task.width, height = task.height;
    const int down = tid / width, across = tid - down * width;
    const bool narrow = task.repeat > 1;
    const bool records = task.parts > 1 && (Acc::kCertain || !task.keeps);
    // A thread's lie side by side where they are one load, else so that threads' are.
    const int apart = task.aligned ? 1 : width, own = task.aligned ? across * C : across;
    const int64_t side = (int64_t)width * C; // of what the block reads of a row
    // Of narrow matrices the last rows that fill no thread's load are taken one by one.
    const int64_t tail = narrow ? task.n - task.n % C : task.n, all = tail * task.outputs;
    const int64_t all_rows = narrow ? (all + side - 1) / side : task.n;
    const int64_t parts = task.parts;
    bool known = true; // all of the thread's slots
    for (int64_t item = blockIdx.x; item < task.groups * parts; item += gridDim.x) {
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
        {
            Acc acc[C];
#pragma unroll
            for (int c = 0; c < C; c++) acc[c].start(task);
            if (down < height && (narrow || own < columns)) {
                columns_at<typename Acc::T, C> from;
                const int top = (int)begin + down;
                int64_t last = end;
                if (narrow) { // of the last row there may be a part
                    const int64_t own_rows = (all - own + side - 1) / side;
                    last = own_rows < end ? own_rows : end;
                    from.x = in + own + top * side;
                    from.pitch = height * side;
                } else {
                    from.x = in + column_at(task, first + own);
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
                const int left = ((int)last - top + height - 1) / height;
                int staged = 0;
                if constexpr (Acc::kStages)
                    if (task.staged) staged = fold_staged_rows(acc, from, task, left, shared);
                fold_rows_of_columns<Acc::kStages>(acc, from, task, left - staged, staged);
#pragma unroll
                for (int c = 0; c < C; c++) acc[c].settle(task);
                if constexpr (!Acc::kCertain)
                    if (acc[0].failed() && acc[0].may_scale(task))
                        fold_scaled(acc[0], in, task, narrow ? own % task.outputs : first + own,
                                    from, left);
            }
#pragma unroll
            for (int c = 0; c < C && down < height; c++)
                memory.save(acc[c], down * (int)side + own + c * apart);
        }
        __syncthreads(); // all words are there before columns are joined
        const bool ends = part == parts - 1;
        if (ends && tail < task.n) {
            for (int c = tid; c < task.outputs; c += kThreads)
                take_tail(in, task, tail, c, &memory);
            __syncthreads(); // the tails have been taken
        }
        int stride = narrow ? (int)task.outputs : (int)side, many = height * task.repeat;
        bool whole = !records, some = task.joins > 1 && task.join > 1; // are joined first
        while (true) { // then once more by the blocks that end last, of other parts' records
            join_columns(task, stride, many, &memory);
#pragma unroll 1
            for (int slot = tid; slot < (columns + kWarp - 1) / kWarp * kWarp;
                 slot += kThreads) {
                const bool fine = slot >= columns ||
                                  leave_column(task, first + slot, part, whole, slot, &memory);
                if constexpr (!Acc::kCertain) {
                    const uint32_t bits = __ballot_sync(kAllLanes, !fine);
                    if (tid % kWarp == 0) memory.marks[slot / kWarp] = bits;
                }
                known &= fine;
            }
            if (__syncthreads_or(!known)) { // also: all words have been read
                const int64_t from = begin * task.repeat, to = end * task.repeat;
                leave_marked(in, task, first, columns, from < tail ? from : tail,
                             ends        ? task.n
                             : to < tail ? to
                                         : tail,
                             &memory);
                known = true;
            }
            if (!records || whole || !task.tickets) break;
            unsigned *ticket = task.tickets + group;
            int from = 0, step = task.join, count = task.joins;
            if (some) {
                const int set = (int)part / task.join;
                ticket += task.groups + group * (task.joins - 1) + set;
                part = from = set * task.join;
                step = 1;
                count = (int)parts - from < task.join ? (int)parts - from : task.join;
            }
            const bool drew = tid < kWarp && warp_draws_last(ticket, (unsigned)count);
            if (!__syncthreads_or(drew)) break;
            whole = !some;
            some = false;
            stride = columns;
            many = load_records(task, first, columns, from, step, count, &memory);
            __syncthreads(); // all records are there before they are joined
        }
    }
}

} // namespace wk
