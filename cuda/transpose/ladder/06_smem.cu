// transpose / 06 smem -- a tile in shared memory, turned there.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       a block reads a square tile along the rows of the input, and writes it along the rows
//           of the output. What turns is the index into shared memory, [y][x] and then [x][y]:
//           there an odd step costs no sectors.
// Better    than all before: reads and writes both coalesce, four whole sectors for a warp's 32
//           words. Each byte crosses once.
// Still bad shared memory has 32 banks, of words that follow each other. A column of this tile has
//           a step of 32 words: all of it lies in one bank, and a warp's 32 loads take 32 turns.
//           07_smem_pad mends that.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeSmem; M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (2013).
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kTile = 32;               // a warp reads and writes whole rows of it
constexpr int kThreads = kTile * kTile; // a word each, and as many as a block can have
constexpr int kBlocks = 2;              // on a processor: while one waits, the other works

__global__ void
__launch_bounds__(kThreads, kBlocks) transpose_smem(const uint32_t *in, uint32_t *out,
                                                    const wk::tile_task __grid_constant__ task)
{
    __shared__ uint32_t tile[kTile][kTile];
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

WK_LAUNCHER(transpose, cuda, smem)
{
    return wk::launch_tiles(call, kTile, kTile, dim3(kTile, kTile), 0, transpose_smem);
}
