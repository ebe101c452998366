// rows.cuh -- many short rows that follow each other in memory: a thread a row.
//
// A warp brings its 32 rows (16, 8 of longer ones) into shared memory, by vectors that lie side by
// side whatever the rows' length, and each lane takes a row of its own (2, 4 lanes one together):
// nothing is joined, and all lanes compute results. No barrier but the warp's. Rows of up to 64 bytes
// are read where they lie.
#pragma once
#include "reduce/lines.cuh"

namespace wk
{

// Bytes of a warp's rows, and what they take of shared memory.
__host__ __device__ inline int
bytes_of_rows(int64_t n, int item, int lanes)
{
    return (int)(n * item * (kWarp / lanes) + 15) / 16 * 16;
}

// Numbers first .. all - 1 of what lies side by side, to the warp's shared memory.
template <typename V>
__device__ __forceinline__ void
stage(const V *from, V *to, int first, int all)
{
    constexpr int kMore = 4; // on their way together
    for (int i = first + threadIdx.x % kWarp; i < all; i += kMore * kWarp) {
        V read[kMore];
#pragma unroll
        for (int j = 0; j < kMore; j++)
            if (i + j * kWarp < all) read[j] = from[i + j * kWarp];
#pragma unroll
        for (int j = 0; j < kMore; j++)
            if (i + j * kWarp < all) to[i + j * kWarp] = read[j];
    }
}

// What lies side by side, from the device's memory to the warp's: vectors, or elements where these
// do not start at 16 bytes.
template <typename T>
__device__ __forceinline__ void
stage_rows(const T *from, unsigned char *staged, int64_t elements, bool aligned)
{
    using V = vector16<uint32_t>;
    const int all = (int)elements, vectors = aligned ? all * (int)sizeof(T) / 16 : 0;
    stage(reinterpret_cast<const V *>(from), reinterpret_cast<V *>(staged), 0, vectors);
    stage(from, reinterpret_cast<T *>(staged), vectors * (16 / (int)sizeof(T)), all);
}

// A lane's share of a row, which `lanes` take together, by batches of kMore vectors or as many
// elements; of whole vectors it starts with number `turn`, another one in each lane, so that those of
// eight lanes lie in all banks.
template <class Acc, int kMore>
__device__ __forceinline__ bool
fold_row(Acc &acc, const typename Acc::T *row, const reduce_task &task, int turn, int part,
         int lanes)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T), N = kMore * kPer;
    const int n = (int)task.n, vectors = n / kPer, batches = (n + N - 1) / N;
    const bool whole = n % kPer == 0;
    bool fits = !task.integers_only || Acc::kCertain;
    for (int j = part; j < batches; j += lanes) {
        T x[N];
        uint32_t ok = all_of<N>;
        place at = {task.first + j * N, N, N};
        if (whole) {
            if ((j + 1) * kMore > vectors) ok = (1u << (vectors - j * kMore) * kPer) - 1;
#pragma unroll
            for (int v = 0; v < kMore; v++) {
                int b = j * kMore + v + turn;
                b -= b >= vectors ? vectors : 0;
                if (kMore > 1 && j * kMore + v >= vectors) {
#pragma unroll
                    for (int e = 0; e < kPer; e++) x[v * kPer + e] = Acc::filler(task);
                    continue;
                }
                const auto read = reinterpret_cast<const vector16<uint32_t> *>(row)[b];
                memcpy(x + v * kPer, &read, 16); // in registers: of memory it would go by bytes
            }
        } else {
            ok = 0;
#pragma unroll
            for (int e = 0; e < N; e++) {
                x[e] = Acc::filler(task);
                if (j * N + e >= n) continue;
                x[e] = row[j * N + e];
                ok |= 1u << e;
            }
        }
        if (whole && turn > 0 && Acc::kByIndex) { // where they lie now
            at.turn = turn * kPer;
            at.turned = n;
        }
        if (!offer(acc, x, ok, at, task, alone{})) fits = false;
    }
    return fits;
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
    unsigned char *staged = shared + warp * bytes_of_rows(task.n, sizeof(T), lanes);
    __shared__ uint32_t marks[Acc::kCertain ? 1 : kWarps][kWarp];
    // Two vectors or less are not worth a batch of four.
    constexpr int kMore = Acc::kTurn;
    const bool few = task.n * (int64_t)sizeof(T) <= 32;
    // Four vectors of a lane's own lie in sectors that are read whole, and come through the L1.
    const bool direct = task.aligned && task.n * (int64_t)sizeof(T) <= 64 &&
                        task.n * (int64_t)sizeof(T) % 16 == 0;
    const int vectors = (int)(task.n * (int64_t)sizeof(T) / 16);
    const int turn = lanes > 1 || vectors == 0 || direct
                         ? 0
                         : (vectors < 8 ? own * vectors / 8 : own) % vectors;
    int items = 0;
    bool fits = true;
    int64_t first = ((int64_t)blockIdx.x * kWarps + warp) * rows;
    const T *from = in + first * task.n;
    const int64_t step = (int64_t)gridDim.x * kWarps * rows, stride = step * task.n;
    for (int64_t item = blockIdx.x; item < task.groups;
         item += gridDim.x, items++, first += step, from += stride) {
        const int64_t left = task.outputs - first;
        const int here = left < 0 ? 0 : left < rows ? (int)left : rows;
        if (!direct) {
            stage_rows(from, staged, here * task.n, task.aligned);
            __syncwarp(); // a lane reads what others have staged
        }
        const T *rows_at = direct ? from : reinterpret_cast<const T *>(staged);
        Acc acc;
        acc.start(task);
        bool known = true;
        const bool works = own < here;
        if (works)
            known = few ? fold_row<Acc, 1>(acc, rows_at + own * task.n, task, turn, part, lanes)
                        : fold_row<Acc, kMore>(acc, rows_at + own * task.n, task, turn, part,
                                               lanes);
        acc.settle(task);
        if constexpr (!Acc::kCertain)
            if (!known) acc.flags |= Acc::kFailed;
        if (lanes > 1) join_lanes(acc, lanes);
        known = !works || part > 0 || deliver(acc, task, first + own);
        if constexpr (!Acc::kCertain) {
            const uint32_t bits = __ballot_sync(kAllLanes, !known);
            if (lane == 0) marks[warp][items] = bits;
            fits &= bits == 0;
        }
        __syncwarp(); // the rows have been read before the next are staged
    }
    if constexpr (!Acc::kCertain) {
        if (!__syncthreads_or(!fits)) return; // also: all marks are set, and all rows read
        fold_marked<Acc>(in, task, marks, items, lanes,
                         reinterpret_cast<table_memory<Acc> *>(shared));
    }
}

} // namespace wk
