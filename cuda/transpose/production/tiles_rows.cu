// transpose / tiles: rows -- one axis is the fastest on both sides: its runs are moved, side by side.
//
// How       Runs are taken in units of up to 16 bytes, as long as their length and place allow; lanes take
//           the units of a tile as they lie in the output, so that short runs keep a warp as busy
//           as long ones.
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

template <typename T>
constexpr int kBatch = sizeof(T) <= 4 ? 8 : 4; // units of a thread on their way

// A thread's next units, all of them on their way at a time. kAll: each is there.
template <typename T, bool kAll>
__device__ __forceinline__ void
move_batch(const turn_task &t, const int64_t *from, char *out, int left, uint32_t columns,
           walker &in, walker &to)
{
    T x[kBatch<T>];
#pragma unroll
    for (int b = 0; b < kBatch<T>; b++) {
        if (kAll || (left > b * kUnitThreads && in.element < columns))
            x[b] = *reinterpret_cast<const T *>(t.in + from[in.near] + in.far);
        walk_on<false>(t.read, in);
    }
#pragma unroll
    for (int b = 0; b < kBatch<T>; b++) {
        if (kAll || (left > b * kUnitThreads && to.element < columns))
            *reinterpret_cast<T *>(out + to.far) = x[b];
        walk_on<false>(t.write, to);
    }
}

template <typename T>
__global__ void
__launch_bounds__(kUnitThreads) transpose_rows_tile(const turn_task __grid_constant__ t)
{
    __shared__ int64_t from[WK_TABLE];
    const turn_place at = place_of(t, blockIdx.x);
    const int64_t below = t.rows - at.row, right = t.columns - at.column;
    const int rows = below < t.tile_rows ? (int)below : t.tile_rows;
    const uint32_t columns = right < t.tile_columns ? (uint32_t)right : t.tile_columns;
    for (int r = threadIdx.x; r < rows; r += kUnitThreads)
        from[r] = at.others.in + along(t.row, t.row_axes, at.row + r).in + at.column * t.step;
    __syncthreads(); // the rows' places are there before they are read
    char *out = t.out + at.others.out + (at.row * t.columns + at.column) * (int64_t)sizeof(T);
    walker in = walk_from<false>(t.read, threadIdx.x),
           to = walk_from<false>(t.write, threadIdx.x);
    int left = rows * t.tile_columns - (int)threadIdx.x;
    if ((int)columns == t.tile_columns)
        for (; left > (kBatch<T> - 1) * kUnitThreads; left -= kBatch<T> * kUnitThreads)
            move_batch<T, true>(t, from, out, left, columns, in, to);
    for (; left > 0; left -= kBatch<T> * kUnitThreads)
        move_batch<T, false>(t, from, out, left, columns, in, to);
}

} // namespace

wk_status
transpose_rows(wk_call *call, const wk_tiles *plan)
{
    return visit_unit(plan->unit, [&](auto zero) {
        return launch_turn(call, plan, kUnitThreads, 0, transpose_rows_tile<decltype(zero)>);
    });
}

} // namespace wk
