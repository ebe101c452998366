// transpose / 02 naive_row -- load by row, store by column.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       neighbouring threads read neighbours, along a row of the input. What they have then
//           belongs into one column of the output, so they write a whole row apart.
// Still bad the 32 words that a warp writes lie in 32 sectors of 32 bytes. All 32 must be sent to
//           the L2, an eighth full each; the rest of a sector comes from other warps, and if it
//           comes too late, the memory is written in part. 03_naive_col turns it round.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeNaiveRow.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kWide = 32; // a warp reads a whole row of its tile: 128 bytes
constexpr int kHigh = 8;  // the words of a sector of the output come from one block

__global__ void
transpose_naive_row(const uint32_t *in, uint32_t *out,
                    const wk::tile_task __grid_constant__ task)
{
    const int x = threadIdx.x, y = threadIdx.y; // x along p, the rows of the input
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            if (x < at.wide && y < at.high)
                at.out[x * task.out_p + y] = at.in[x * task.in_p + y * task.in_q];
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, naive_row)
{
    return wk::launch_tiles(call, kWide, kHigh, dim3(kWide, kHigh), 0, transpose_naive_row);
}
