// transpose / 05 diagonal -- the tiles in another order: neighbouring blocks along the diagonal.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       03_naive_col, but for one line: the tile of a strip's column c lies c strips further,
//           and after the last strip of the matrix comes the first.
// Better    where memory is dealt out to its partitions by plain address: 256 bytes to each of
//           six or eight, in turn, on chips of 2008. If rows are a multiple of that round long,
//           all blocks that read down a column of tiles queue at one partition, while the others
//           have nothing to do: partition camping. Along a diagonal both reads and writes go to
//           all partitions.
// Still bad it mends nothing on chips since about 2010, which scatter addresses over their
//           channels by a hash: there a division a tile is what it costs, and neighbouring tiles
//           share neither rows nor columns. Loads are as strided as before: 06_smem.
// Source    G. Ruetsch, P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (2009), diagonal
//           block reordering; J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C
//           Programming" (2014), transposeDiagonalCol.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kWide = 8;  // words of a sector of the input: all are used by one block
constexpr int kHigh = 32; // a warp writes 128 bytes of a row of the output

// The strip of the same matrix that lies so many further.
__device__ int64_t
along_diagonal(const wk::tile_task &task, int64_t strip, int64_t column)
{
    const int64_t row = strip % task.tiles_p;
    return strip - row + (row + column) % task.tiles_p;
}

__global__ void
transpose_diagonal(const uint32_t *in, uint32_t *out,
                   const wk::tile_task __grid_constant__ task)
{
    const int x = threadIdx.y, y = threadIdx.x; // y along q, the rows of the output
    for (int64_t s = blockIdx.y; s < task.strips; s += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const int64_t strip = along_diagonal(task, s, column);
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            if (x < at.wide && y < at.high)
                at.out[x * task.out_p + y] = at.in[x * task.in_p + y * task.in_q];
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, diagonal)
{
    return wk::launch_tiles(call, kWide, kHigh, dim3(kHigh, kWide), 0, transpose_diagonal);
}
