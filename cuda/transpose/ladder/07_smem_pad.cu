// transpose / 07 smem_pad -- the same tile with one column more.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       the last column is never used; it only moves each row one bank on.
// Better    than 06_smem: a column has a step of 33 words, so its 32 words lie in 32 banks and
//           come at once. Rows do, as before.
// Still bad the tile's size is fixed when it is compiled: of a matrix with three columns a block
//           uses three of 32. 08_smem_dyn lets the launch choose.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeSmemPad; M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (2013).
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kTile = 32;               // a warp reads and writes whole rows of it
constexpr int kThreads = kTile * kTile; // a word each, and as many as a block can have
constexpr int kBlocks = 2;              // on a processor: while one waits, the other works

__global__ void
__launch_bounds__(kThreads, kBlocks)
    transpose_smem_pad(const uint32_t *in, uint32_t *out,
                       const wk::tile_task __grid_constant__ task)
{
    __shared__ uint32_t tile[kTile][kTile + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            if (x < at.wide && y < at.high) tile[y][x] = at.in[x * task.in_p + y * task.in_q];
            __syncthreads(); // the tile is full before its columns are read
            if (y < at.wide && x < at.high) at.out[y * task.out_p + x] = tile[x][y];
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, smem_pad)
{
    return wk::launch_tiles(call, kTile, kTile, dim3(kTile, kTile), 0, transpose_smem_pad);
}
