// transpose / tiles: units -- tiles with a short side, or of elements of 3, 6, 12 ... bytes: a unit
// an access.
//
// How       Lanes take the units of a tile as they lie, on the way in along the rows and on the way out
//           along the columns: rows of 2 elements keep a warp as busy as long ones. They count
//           instead of dividing: 14 instructions a unit and way, not 35. The pitch of the rows in shared memory is such that
//           the lanes of a warp meet different banks.
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

// A multiprocessor's blocks, so that one reads while another writes. H200, 2 to 32 columns or rows of 4
// bytes, 8 blocks and 4 units on their way: 86 to 95 % of a copy's rate; 6 and 4: 84 to 93; as
// many as there are with 8 units on their way: 76 to 85. 8 bytes: 6 blocks, 16 bytes: 4.
template <typename T>
constexpr int kBlocks = sizeof(T) <= 4   ? 8
                        : sizeof(T) == 8 ? 6
                                         : 4;

// A thread's next units into shared memory, all of them on their way at a time. kAll: each is there.
template <typename T, bool kGroups, bool kAll, int kBatch>
__device__ __forceinline__ void
read_batch(const turn_task &t, const char *in, int left, uint32_t columns, walker &at, T *tile)
{
    T x[kBatch];
    int near[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; b++) {
        const bool there = kAll || (left > b * kUnitThreads && at.element < columns);
        near[b] = there ? at.near : -1;
        if (there) x[b] = *reinterpret_cast<const T *>(in + at.far);
        walk_on<kGroups>(t.read, at);
    }
#pragma unroll
    for (int b = 0; b < kBatch; b++)
        if (kAll || near[b] >= 0) tile[near[b]] = x[b];
}

// In along the rows.
template <typename T, bool kGroups>
__device__ __forceinline__ void
read_tile(const turn_task &t, const char *in, int rows, int columns, T *tile)
{
    constexpr int kBatch = 4;
    int left = rows * t.tile_columns * t.group - (int)threadIdx.x;
    walker at = walk_from<kGroups>(t.read, threadIdx.x);
    if (columns == t.tile_columns)
        for (; left > (kBatch - 1) * kUnitThreads; left -= kBatch * kUnitThreads)
            read_batch<T, kGroups, true, kBatch>(t, in, left, columns, at, tile);
    for (; left > 0; left -= kBatch * kUnitThreads)
        read_batch<T, kGroups, false, kBatch>(t, in, left, columns, at, tile);
}

// Out along the columns.
template <typename T, bool kGroups, bool kAll>
__device__ __forceinline__ void
write_tile(const turn_task &t, char *out, uint32_t rows, int columns, const T *tile)
{
    int left = columns * t.tile_rows * t.group - (int)threadIdx.x;
    walker at = walk_from<kGroups>(t.write, threadIdx.x);
#pragma unroll 4
    for (; left > 0; left -= kUnitThreads) {
        if (kAll || at.element < rows) *reinterpret_cast<T *>(out + at.far) = tile[at.near];
        walk_on<kGroups>(t.write, at);
    }
}

template <typename T, bool kGroups>
__global__ void
__launch_bounds__(kUnitThreads, kBlocks<T>)
    transpose_units_tile(const turn_task __grid_constant__ t)
{
    WK_DYNAMIC_SHARED(T, tile);
    const turn_place at = place_of(t, blockIdx.x);
    const int64_t below = t.rows - at.row, right = t.columns - at.column;
    const int rows = below < t.tile_rows ? (int)below : t.tile_rows;
    const int columns = right < t.tile_columns ? (int)right : t.tile_columns;
    const char *in = t.in + at.others.in + at.row * t.row[0].in + at.column * t.step;
    char *out =
        t.out + at.others.out + at.column * t.column[0].out + at.row * t.group * (int)sizeof(T);
    read_tile<T, kGroups>(t, in, rows, columns, tile);
    __syncthreads(); // the tile is full before its columns are read
    if (rows == t.tile_rows)
        write_tile<T, kGroups, true>(t, out, rows, columns, tile);
    else
        write_tile<T, kGroups, false>(t, out, rows, columns, tile);
}

} // namespace

wk_status
transpose_units(wk_call *call, const wk_tiles *plan)
{
    return visit_unit(plan->unit, [&](auto zero) {
        using T = decltype(zero);
        const int64_t shared = plan->tile_rows * pitch_of(plan) * (int64_t)sizeof(T);
        return launch_turn(call, plan, kUnitThreads, shared,
                           plan->group == 1 ? transpose_units_tile<T, false>
                                            : transpose_units_tile<T, true>);
    });
}

} // namespace wk
