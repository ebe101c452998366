// transpose / 12 smem_unroll_pad_dyn -- one, two or four tiles side by side, as the launch says.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       a block takes 32 rows, and of each as many words as the matrix has use for, up to 128.
//           Four loads a thread are unrolled; how often, the launch decides.
// Better    than 11_smem_unroll_pad: a narrow matrix leaves no half of a block idle, and a wide one
//           is read in lines of 512 bytes, with half as many barriers for the same bytes.
// Still bad the compiler does not know how many tiles there are: not all loads of a thread are on
//           their way at once. A word in 129 is padding; 13_swizzle needs none.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeSmemUnrollPadDyn.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kTile = 32; // a warp reads and writes whole rows of it
constexpr int kRows = 8;  // 256 threads: 8 warps, of which others work while one waits
constexpr int kEach = kTile / kRows;
constexpr int kMostTiles = 4; // 16.5 KiB, of which many blocks fit: it is not what limits them

__global__ void
transpose_smem_unroll_pad_dyn(const uint32_t *in, uint32_t *out,
                              const wk::tile_task __grid_constant__ task)
{
    const int wide = task.tile_p, pitch = wide + 1, lane = threadIdx.x, row = threadIdx.y;
    WK_DYNAMIC_SHARED(uint32_t, tile); // kTile x pitch words
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            for (int x = lane; x < wide; x += kTile) {
                uint32_t words[kEach];
#pragma unroll
                for (int k = 0; k < kEach; k++) {
                    const int y = row + k * kRows;
                    const bool inside = x < at.wide && y < at.high;
                    words[k] = inside ? at.in[x * task.in_p + y * task.in_q] : 0;
                }
#pragma unroll
                for (int k = 0; k < kEach; k++) tile[(row + k * kRows) * pitch + x] = words[k];
            }
            __syncthreads(); // the tile is full before its columns are read
            // Rows of the output, whose number is a multiple of four times kRows.
#pragma unroll 4
            for (int x = row; x < wide; x += kRows)
                if (x < at.wide && lane < at.high)
                    at.out[x * task.out_p + lane] = tile[lane * pitch + x];
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, smem_unroll_pad_dyn)
{
    const wk::extents matrix = wk::matrix_of(&call->in);
    int tiles = 1;
    while (tiles < kMostTiles && tiles * kTile < matrix.p) tiles *= 2;
    const int wide = tiles * kTile;
    return wk::launch_tiles(call, wide, kTile, dim3(kTile, kRows),
                            kTile * (wide + 1) * sizeof(uint32_t),
                            transpose_smem_unroll_pad_dyn);
}
