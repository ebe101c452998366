// transpose / tiles: chunks -- many small matrices, one after the other: a chunk of memory on one side
// is a chunk on the other, permuted inside.
//
// How       Some chunks cross to shared memory as they lie. A table, made once a block, says where in a
//           chunk each unit of the output comes from. A word in 33 is left out, so that the rows of
//           a matrix of 32 begin in different banks.
#include "transpose/tiles.cuh"

namespace wk
{

namespace
{

template <typename T>
constexpr int kBatch = sizeof(T) <= 4 ? 8 : 4; // units of a thread on their way

// Where a unit of a tile lies in shared memory.
template <typename T>
__device__ __forceinline__ uint32_t
padded(uint32_t unit)
{
    constexpr uint32_t kRow = 128 / sizeof(T), kSkip = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    return unit + unit / kRow * kSkip;
}

// Where the chunks begin.
__device__ __forceinline__ void
find_chunks(const turn_task &t, int64_t first, int chunks, int64_t *from)
{
    for (int c = threadIdx.x; c < chunks; c += kUnitThreads) {
        int64_t index = first + c, in = 0;
        for (int i = 0; i < t.other_axes; i++) {
            const int64_t extent = t.other[i].extent.by;
            const int64_t next = i + 1 < t.other_axes ? index / extent : 0;
            in += (index - next * extent) * t.other[i].in;
            index = next;
        }
        from[c] = in;
    }
}

// A thread's next units into shared memory, all of them on their way at a time. kAll: each is there.
template <typename T, bool kAll>
__device__ __forceinline__ void
read_batch(const turn_task &t, const int64_t *from, int u, int units, walker &in, T *tile)
{
    T x[kBatch<T>];
#pragma unroll
    for (int b = 0; b < kBatch<T>; b++) {
        if (kAll || u + b * kUnitThreads < units)
            x[b] = *reinterpret_cast<const T *>(t.in + from[in.near] + in.far);
        walk_on<false>(t.read, in);
    }
#pragma unroll
    for (int b = 0; b < kBatch<T>; b++)
        if (kAll || u + b * kUnitThreads < units) tile[padded<T>(u + b * kUnitThreads)] = x[b];
}

template <typename T>
__global__ void
__launch_bounds__(kUnitThreads) transpose_chunks_tile(const turn_task __grid_constant__ t)
{
    WK_DYNAMIC_SHARED(T, tile);
    __shared__ uint16_t source[WK_MAP];
    __shared__ int64_t from[WK_TABLE];
    for (int u = threadIdx.x; u < (int)t.rows; u += kUnitThreads)
        source[u] = (uint16_t)(along(t.row, t.row_axes, u).in / (int)sizeof(T));
    for (int64_t work = blockIdx.x; work * t.tile_columns < t.columns; work += gridDim.x) {
        const int64_t first = work * t.tile_columns, left = t.columns - first;
        const int chunks = left < t.tile_columns ? (int)left : t.tile_columns;
        const int units = chunks * (int)t.rows;
        find_chunks(t, first, chunks, from);
        __syncthreads(); // the tables are there before they are read
        walker in = walk_from<false>(t.read, threadIdx.x);
        for (int u = threadIdx.x; u < units; u += kUnitThreads * kBatch<T>)
            if (u + (kBatch<T> - 1) * kUnitThreads < units)
                read_batch<T, true>(t, from, u, units, in, tile);
            else
                read_batch<T, false>(t, from, u, units, in, tile);
        __syncthreads(); // the chunks are there before they are read
        T *out = reinterpret_cast<T *>(t.out) + first * t.rows;
        walker to = walk_from<false>(t.write, threadIdx.x);
#pragma unroll 4
        for (int u = threadIdx.x; u < units; u += kUnitThreads) {
            out[u] = tile[padded<T>(to.near + source[to.element])];
            walk_on<false>(t.write, to);
        }
        __syncthreads(); // all have read them before the next ones overwrite them
    }
}

} // namespace

wk_status
transpose_chunks(wk_call *call, const wk_tiles *plan)
{
    return visit_unit(plan->unit, [&](auto zero) {
        using T = decltype(zero);
        wk_tiles few = *plan;
        few.tiles = grid_for(call, plan->tiles, 1); // each makes the table once
        const int64_t units = plan->tile_columns * plan->rows, row = 128 / sizeof(T);
        return launch_turn(call, &few, kUnitThreads,
                           (units + units / row * 4) * (int64_t)sizeof(T),
                           transpose_chunks_tile<T>);
    });
}

} // namespace wk
