// transpose / tiles: rows -- one axis is the fastest on both sides: its runs are moved, those side by side
// that are neighbours in either array.
//
// How       A tile is a matrix of runs, or of pieces of long ones: those of a row follow each other in the
//           input, those of a column in the output. A block notes once where each begins on both
//           sides. Then a thread keeps a unit of a piece, of up to 16 bytes, and takes piece after piece,
//           some on their way at a time, so that short runs keep a warp as busy as long ones.
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

template <typename T>
constexpr int kBatch = sizeof(T) <= 4 ? 8 : 4; // units of a thread on their way

// Of a multiprocessor. H100, units of 4 bytes, the median share of a copy, tiles of 8 KiB: 6 .94, 8 .93,
// 5 .93, 4 .91; of 16 KiB .90, of 4 KiB .84.
constexpr int kBlocks = 6;
static_assert(kUnitThreads == WK_RUNS_THREADS, "as the plan has it");

struct alignas(16) piece_place {
    const char *in;
    char *out;
};

// The index-th piece of a column of runs, and the column of a tile. The last piece of a run ends where that
// does.
__device__ __forceinline__ piece_place
piece_at(const turn_task &t, const turn_place &tile, int row, int column, int unit)
{
    const offsets across = along(t.column, t.column_axes, tile.column + column);
    int64_t run = tile.row + row, first = 0;
    if (t.pieces.factor != 0) { // else as many runs as there are, beyond 2^31
        const uint32_t piece = (uint32_t)run;
        run = piece / t.pieces;
        first = (int64_t)(piece - (uint32_t)run * t.pieces.by) * t.group;
        if (piece + 1 == ((uint32_t)run + 1) * t.pieces.by) first -= t.excess;
    }
    const offsets down = along(t.row, t.row_axes, run);
    return {t.in + tile.others.in + across.in + down.in + first * t.step,
            t.out + tile.others.out + across.out + down.out + first * unit};
}

// A thread's next units, all of them on their way at a time. kAll: each is there.
template <typename T, bool kAll>
__device__ __forceinline__ void
move_batch(const piece_place *piece, int step, int left, int64_t in, int64_t out)
{
    T x[kBatch<T>];
#pragma unroll
    for (int b = 0; b < kBatch<T>; b++)
        if (kAll || b * step < left)
            x[b] = *reinterpret_cast<const T *>(piece[b * step].in + in);
#pragma unroll
    for (int b = 0; b < kBatch<T>; b++)
        if (kAll || b * step < left) *reinterpret_cast<T *>(piece[b * step].out + out) = x[b];
}

template <typename T>
__global__ void
__launch_bounds__(kUnitThreads, kBlocks)
    transpose_rows_tile(const turn_task __grid_constant__ t)
{
    __shared__ piece_place piece[WK_TABLE];
    const turn_place tile = place_of(t, blockIdx.x);
    const int64_t below = t.rows - tile.row, right = t.columns - tile.column;
    const int rows = below < t.tile_rows ? (int)below : t.tile_rows;
    const int columns = right < t.tile_columns ? (int)right : t.tile_columns;
    const int pieces = rows * columns;
    for (int i = threadIdx.x; i < pieces; i += kUnitThreads)
        piece[i] = piece_at(t, tile, i % rows, i / rows, (int)sizeof(T));
    __syncthreads(); // all know where the pieces are
    const int group = (int)(threadIdx.x / t.threads), step = t.groups;
    const int unit = (int)threadIdx.x - group * t.group;
    if (group >= step) return;
    const int64_t in = unit * t.step, out = unit * (int64_t)sizeof(T);
    constexpr int kMany = kBatch<T>;
    int i = group;
    for (; i + (kMany - 1) * step < pieces; i += kMany * step)
        move_batch<T, true>(piece + i, step, 0, in, out);
    if (i < pieces) move_batch<T, false>(piece + i, step, pieces - i, in, out);
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
