// rows.cuh -- many short rows that follow each other in memory: a thread a row.
//
// A warp brings its 32 rows (16, 8 of longer ones, several times 32 of very short ones) into shared
// memory, by vectors that lie side by side whatever the rows' length, and each lane takes a row of its
// own (2, 4 lanes one together): nothing is joined, and all lanes compute results. No barrier but the
// warp's. While they do so the next rows are on their way, past the registers.
#pragma once
#include "prim/async.cuh"
#include "reduce/production/lines.cuh"

namespace wk
{

// Bytes of a warp's rows in shared memory, where they begin as far behind 16 bytes as they do in the device's.
__host__ __device__ inline int
bytes_of_rows(int64_t n, int item, int rows, bool aligned)
{
    return (int)(n * item * rows + 15) / 16 * 16 + (aligned ? 0 : 16);
}

// How many times it has that: twice where three blocks find room then, with 9 KB a warp. H100, share of a
// copy, in place of once and by way of registers: n x 16 float32 sums .73 .91, n x 3 .60 .78; n x 3 float64
// maxima .79 .95, n x 33 int64 sums .85 .96. Through the L1 the first would have .81.
__host__ __device__ inline int
stages_of_rows(int bytes)
{
    return 2 * bytes <= 9 << 10 ? 2 : 1;
}

// Asks for what lies side by side, from the device's memory to the warp's, and returns where it will be: vectors, and at
// their ends elements; elements alone of rows that are to be whole vectors and are not. Small ones are there on return. One
// group of copies. H200, 256 MiB, us by elements and so: sums of uint8 n x 1073 355 78; from addresses that 16 does not
// divide n x 264 363 78, of float16 n x 132 223 107, of float32 n x 66 144 83.
template <typename T>
__device__ __forceinline__ const T *
stage_rows(const T *from, unsigned char *staged, int elements, bool whole)
{
    constexpr int kPer = 16 / (int)sizeof(T);
    const int lane = threadIdx.x % kWarp, off = (int)(reinterpret_cast<uintptr_t>(from) & 15),
              before = (-off & 15) / (int)sizeof(T);
    const bool again = whole && off && sizeof(T) >= 4;
    const int lead = again || before > elements ? elements : before,
              vectors = (elements - lead) / kPer, ends = elements - vectors * kPer;
    T *to = reinterpret_cast<T *>(staged + (again ? 0 : off));
    for (int i = lane; i < vectors; i += kWarp)
        copy_async_line(to + lead + i * kPer, from + lead + i * kPer);
    for (int i = lane; i < ends; i += kWarp) {
        const int e = i < lead ? i : i + vectors * kPer;
        if constexpr (sizeof(T) >= 4)
            copy_async<(int)sizeof(T)>(to + e, from + e);
        else
            to[e] = from[e];
    }
    commit_copies();
    return to;
}

// K elements of a row from number j on, and fillers behind its end; a bit for each element.
template <class Acc, int K>
__device__ __forceinline__ uint32_t
read_few(typename Acc::T (&x)[K], const typename Acc::T *row, int j, int n,
         const reduce_task &task)
{
    uint32_t ok = 0;
#pragma unroll
    for (int e = 0; e < K; e++) {
        x[e] = Acc::filler(task);
        if (j + e >= n) continue;
        x[e] = row[j + e];
        ok |= 1u << e;
    }
    return ok;
}

// The same, by words if elements are small and all of them are there, wherever they begin.
template <class Acc, int K>
__device__ __forceinline__ uint32_t
read_some(typename Acc::T (&x)[K], const typename Acc::T *row, int j, int n,
          const reduce_task &task)
{
    constexpr int kWords = (int)sizeof x / 4;
    if (sizeof *row >= 4 || sizeof x < 16) return read_few<Acc>(x, row, j, n, task);
    uint32_t words[kWords], ok = all_of<K>; // not by bytes where ways meet
    if (j + K <= n) {
        const auto at = reinterpret_cast<uintptr_t>(row + j);
        const auto *from = reinterpret_cast<const uint32_t *>(at & ~(uintptr_t)3);
        const unsigned shift = at % 4 * 8;
        uint32_t next = from[0];
#pragma unroll
        for (int w = 0; w < kWords; w++) {
            const uint32_t own = next;
            next = from[w + 1 < kWords || shift ? w + 1 : w];
            words[w] = __funnelshift_r(own, next, shift);
        }
    } else {
        ok = read_few<Acc>(x, row, j, n, task);
        memcpy(words, x, sizeof x);
    }
    memcpy(x, words, sizeof x);
    return ok;
}

// How a row is read: so many elements at a time, of some vectors, or few where it has no whole ones.
template <typename T>
struct row_batch {
    static constexpr int kPer = 16 / (int)sizeof(T), kMore = kPer == 1 ? 4 : 2;
    static constexpr int kElements = kMore * kPer <= 16 ? kMore * kPer : kPer;
    static constexpr int kFewer = kElements < 8 ? kElements : 8;
};

// So many elements at most are told at once. H200, 128 MiB, share of a copy by a state and so, n x 9 and n x 16: sums of
// float32 .36 .60, .58 .75, norms .29 .55, .46 .73, variances .24 .55, .40 .70; n x 5 and n x 8, sums of float64 .35
// .58, .50 .71, complex64 .27 .53, .39 .68.
template <class Acc>
__host__ __device__ constexpr int
most_at_once()
{
    using batch = row_batch<typename Acc::T>;
    if constexpr (!Acc::kCertain)
        if (batch::kPer <= 4 && !(Acc::kWide && Acc::kHasSquares)) return 4 * batch::kPer;
    return batch::kElements;
}

// Some vectors of a row, from element j on, of a row that begins with its vector number `turn`; fillers where
// there is none. A bit for each element.
template <class Acc, int K>
__device__ __forceinline__ uint32_t
read_vectors(typename Acc::T (&x)[K], const typename Acc::T *row, int j, int vectors, int turn,
             const reduce_task &task)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T);
    T rest[kPer];
    vector16<uint32_t> read[K / kPer], filler;
    uint32_t ok = 0;
#pragma unroll
    for (int e = 0; e < kPer; e++) rest[e] = Acc::filler(task);
    memcpy(&filler, rest, 16);
#pragma unroll
    for (int v = 0; v < K / kPer; v++) {
        int b = j / kPer + v + turn;
        b -= b >= vectors ? vectors : 0;
        const bool there = K == kPer || j / kPer + v < vectors;
        read[v] = filler;
        if (there) read[v] = reinterpret_cast<const vector16<uint32_t> *>(row)[b];
        if (there) ok |= all_of<kPer> << v * kPer;
    }
    memcpy(x, read, sizeof x); // in registers: of memory it would go by bytes
    return ok;
}

// Is each row whole vectors, where it is staged?
template <class Acc>
__device__ __forceinline__ bool
in_vectors(const reduce_task &task)
{
    using T = typename Acc::T;
    return (int)task.n % row_batch<T>::kPer == 0 && (sizeof(T) >= 4 || task.aligned);
}

// All of a row, as its result. False: that takes an accumulator.
template <class Acc>
__device__ __forceinline__ bool
row_at_once(const typename Acc::T *row, const reduce_task &task, int turn, int64_t output)
{
    using batch = row_batch<typename Acc::T>;
    constexpr int kMost = most_at_once<Acc>();
    const int n = (int)task.n;
    if constexpr (kMost > batch::kElements) {
        if (n > batch::kElements) {
            typename Acc::T x[kMost];
            if (in_vectors<Acc>(task))
                read_vectors<Acc>(x, row, 0, n / batch::kPer, turn, task);
            else
                read_few<Acc>(x, row, 0, n, task);
            return Acc::finish_at_once(x, task, output);
        }
    }
    if (in_vectors<Acc>(task)) {
        typename Acc::T x[batch::kElements];
        read_vectors<Acc>(x, row, 0, n / batch::kPer, turn, task);
        return Acc::finish_at_once(x, task, output);
    }
    if (batch::kFewer < batch::kElements && n <= batch::kFewer) {
        typename Acc::T x[batch::kFewer];
        read_few<Acc>(x, row, 0, n, task);
        return Acc::finish_at_once(x, task, output);
    }
    typename Acc::T x[batch::kElements];
    read_few<Acc>(x, row, 0, n, task);
    return Acc::finish_at_once(x, task, output);
}

// A lane's share of a row, which `lanes` take together: whole vectors, some at a time, from number `turn`
// on, another one in each lane, so that those of eight lanes lie in all banks; or a few elements at a
// time.
template <class Acc>
__device__ __forceinline__ void
fold_row(Acc &acc, const typename Acc::T *row, const reduce_task &task, int turn, int part,
         int lanes)
{
    using batch = row_batch<typename Acc::T>;
    constexpr int N = batch::kElements, K = batch::kFewer;
    const int n = (int)task.n;
    if (in_vectors<Acc>(task)) {
#pragma unroll 1
        for (int j = part * N; j < n; j += N * lanes) {
            typename Acc::T x[N];
            uint32_t ok = read_vectors<Acc>(x, row, j, n / batch::kPer, turn, task);
            place at = {task.first + j, 0, log2_of(N)};
            if (turn > 0 && Acc::kByIndex) { // where they lie now
                at.turn = turn * batch::kPer;
                at.turned = n;
            }
            leave_out<Acc>(x, &ok, task);
            acc.take(x, ok, at, task);
        }
        return;
    }
    const auto fold = [&](auto size) {
        constexpr int M = decltype(size)::value;
#pragma unroll 1
        for (int j = part * M; j < n; j += M * lanes) {
            typename Acc::T x[M];
            uint32_t ok = read_some<Acc>(x, row, j, n, task);
            leave_out<Acc>(x, &ok, task);
            acc.take(x, ok, {task.first + j, 0, log2_of(M)}, task);
        }
    };
    // Halves are 8 % faster so, too, and their kernels a quarter larger.
    if (sizeof(typename Acc::T) == 1 && n > K)
        fold(std::integral_constant<int, N>{});
    else
        fold(std::integral_constant<int, K>{});
}

template <class Acc>
__global__ void
__launch_bounds__(kThreads, Acc::kRowBlocks)
    fold_rows(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    using T = typename Acc::T;
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    WK_DYNAMIC_SHARED(unsigned char, shared);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int lanes = task.width, rows = kWarp / lanes, own = lane / lanes, part = lane % lanes;
    const int vectors = (int)task.n * (int)sizeof(T) / 16; // of a row
    const bool whole = in_vectors<Acc>(task);
    const int bytes = bytes_of_rows(task.n, sizeof(T), rows * task.height, task.aligned),
              stages = stages_of_rows(bytes);
    unsigned char *staged = shared + warp * stages * bytes;
    __shared__ uint32_t marks[Acc::kCertain ? 1 : kWarps][kWarp];
    const int turn =
        lanes > 1 || vectors == 0 ? 0 : (vectors < 8 ? own * vectors / 8 : own) % vectors;
    int items = 0, stage = 0;
    bool fine = true;
    const int64_t many = (int64_t)rows * task.height, step = (int64_t)gridDim.x * kWarps * many;
    int64_t first = ((int64_t)blockIdx.x * kWarps + warp) * many;
    const auto rows_from = [&](int64_t row) { // how many there are
        const int64_t left = task.outputs - row;
        return left < 0 ? 0 : left < many ? (int)left : (int)many;
    };
    const auto ask = [&](int64_t row, int to) {
        return stage_rows(in + row * task.n, staged + to * bytes, rows_from(row) * (int)task.n,
                          whole);
    };
    const T *there = ask(first, 0);
    for (int64_t item = blockIdx.x; item < task.groups; item += gridDim.x, first += step) {
        const int here = rows_from(first);
        const T *from = there;
        if (stages > 1) {
            stage ^= 1;
            there = ask(first + step, stage);
            await_groups_but<1>();
        } else {
            await_copies();
        }
        __syncwarp(); // a lane reads what others have staged
#pragma unroll 1
        for (int row = own; row < many; row += rows, items++) {
            const T *elements = from + row * (int)task.n;
            const int64_t output = first + row;
            bool known = row >= here;
            if constexpr (Acc::kAtOnce && !Acc::kByIndex) // vectors may be turned
                if (!known && lanes == 1 && task.n <= most_at_once<Acc>())
                    known = row_at_once<Acc>(elements, task, turn, output);
            if (lanes > 1 || !known) {
                const bool works = row < here;
                Acc acc;
                acc.start(task);
                if (works) fold_row(acc, elements, task, turn, part, lanes);
                acc.settle(task);
                if (lanes > 1) join_lanes(acc, lanes);
                known = !works || part > 0 || deliver(acc, task, output);
            }
            if constexpr (!Acc::kCertain) {
                const uint32_t bits = __ballot_sync(kAllLanes, !known);
                if (lane == 0) marks[warp][items] = bits;
                fine &= bits == 0;
            }
        }
        __syncwarp(); // the rows have been read before others are staged there
        if (stages == 1) there = ask(first + step, 0);
    }
    if constexpr (!Acc::kCertain) {
        if (!__syncthreads_or(!fine)) return; // also: all marks are set, and all rows read
        auto *table = reinterpret_cast<table_memory<Acc> *>(shared);
        finish_marked(in, task, marks, items, lanes, task.height, Acc::shape(), Acc::kWide,
                      table->word, table->work);
    }
}

} // namespace wk
