// transpose / tiles: chunks -- many small matrices, one after the other: a chunk of memory on one side
// is a chunk on the other, permuted inside.
//
// How       Some chunks cross to shared memory as they lie. A table, made once a block, says where in a
//           chunk each unit of the output comes from. After each 128 bytes of the tile some are left
//           out, so that the rows of a matrix of 32 words begin in different banks.
//           Where the elements of a chunk are apart in the input there is nothing to cross as it
//           lies: they are read by the table, and their sectors come from the cache.
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

template <typename T>
constexpr int kBatch = sizeof(T) <= 4 ? 8 : 4; // units of a thread on their way

// Where a unit of a tile lies in shared memory.
template <typename T>
__host__ __device__ __forceinline__ uint32_t
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
            const int64_t extent = t.other[i].length;
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

// Elements that are apart, straight to where they belong.
template <typename T>
__device__ __forceinline__ void
read_apart(const turn_task &t, const int32_t *source, const int64_t *from, int units, walker in,
           T *out)
{
#pragma unroll 4
    for (int u = threadIdx.x; u < units; u += kUnitThreads) {
        out[u] = *reinterpret_cast<const T *>(t.in + from[in.near] + source[in.element]);
        walk_on<false>(t.read, in);
    }
}

template <typename T>
__global__ void
__launch_bounds__(kUnitThreads) transpose_chunks_tile(const turn_task __grid_constant__ t)
{
    WK_DYNAMIC_SHARED(T, tile);
    __shared__ int32_t source[WK_MAP]; // bytes
    __shared__ int64_t from[WK_TABLE];
    for (int u = threadIdx.x; u < (int)t.rows; u += kUnitThreads)
        source[u] = (int32_t)along(t.row, t.row_axes, u).in;
    for (int64_t work = blockIdx.x; work * t.tile_columns < t.columns; work += gridDim.x) {
        const int64_t first = work * t.tile_columns, left = t.columns - first;
        const int chunks = left < t.tile_columns ? (int)left : t.tile_columns;
        const int units = chunks * (int)t.rows;
        find_chunks(t, first, chunks, from);
        __syncthreads(); // the tables are there before they are read
        T *out = reinterpret_cast<T *>(t.out) + first * t.rows;
        walker in = walk_from<false>(t.read, threadIdx.x);
        if (t.step == 0)
            read_apart<T>(t, source, from, units, in, out);
        else
            for (int u = threadIdx.x; u < units; u += kUnitThreads * kBatch<T>)
                if (u + (kBatch<T> - 1) * kUnitThreads < units)
                    read_batch<T, true>(t, from, u, units, in, tile);
                else
                    read_batch<T, false>(t, from, u, units, in, tile);
        __syncthreads(); // the chunks are there before they are read
        walker to = walk_from<false>(t.write, threadIdx.x);
        if (t.step != 0)
#pragma unroll 4
            for (int u = threadIdx.x; u < units; u += kUnitThreads) {
                out[u] = tile[padded<T>(to.near + source[to.element] / (int)sizeof(T))];
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
        const auto units = (uint32_t)(plan->tile_columns * plan->rows);
        const int64_t shared = plan->step ? padded<T>(units) * (int64_t)sizeof(T) : 0;
        return launch_turn(call, &few, kUnitThreads, shared, transpose_chunks_tile<T>);
    });
}

} // namespace wk
