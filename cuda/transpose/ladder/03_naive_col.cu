// transpose / 03 naive_col -- load by column, store by row.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       the same one line, but neighbouring threads write neighbours, along a row of the
//           output; they read a row of the input apart.
// Better    than 02_naive_row: a load that needs 4 bytes brings a sector of 32 into the L1, and
//           seven other warps of the block find theirs there. The L1 does so little for stores:
//           it passes them on, sector by sector.
// Still bad a warp's load still asks for 32 sectors instead of four, and a thread waits for its
//           one word with nothing else to do. 04_naive_unroll waits for four at once.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeNaiveCol.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kWide = 8;  // words of a sector of the input: all are used by one block
constexpr int kHigh = 32; // a warp writes 128 bytes of a row of the output

__global__ void
transpose_naive_col(const uint32_t *in, uint32_t *out,
                    const wk::tile_task __grid_constant__ task)
{
    const int x = threadIdx.y, y = threadIdx.x; // y along q, the rows of the output
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            if (x < at.wide && y < at.high)
                at.out[x * task.out_p + y] = at.in[x * task.in_p + y * task.in_q];
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, naive_col)
{
    return wk::launch_tiles(call, kWide, kHigh, dim3(kHigh, kWide), 0, transpose_naive_col);
}
