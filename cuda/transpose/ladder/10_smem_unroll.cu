// transpose / 10 smem_unroll -- two tiles side by side, and eight words a thread.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       a block of 32 x 8 threads takes a tile of 64 x 32 words: each thread loads eight of
//           them before it stores the first. The tile is no longer square, so its rows are
//           read by 32 lanes in two halves, and there are 64 rows to write.
// Better    than 09_smem_pad_dyn: eight loads are on their way for each thread, and the index
//           arithmetic and the two barriers serve eight words instead of one. 256 threads that
//           wait at a barrier leave the processor to other blocks; 1024 are half of all.
// Still bad the rows are 64 words apart: a column lies in one bank again. 11_smem_unroll_pad.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeSmemUnroll.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kHigh = 32;        // rows of the tile: a warp writes one word of each
constexpr int kWide = 2 * kHigh; // two squares, side by side
constexpr int kRows = 8;         // 256 threads: 8 warps, of which others work while one waits
constexpr int kEach = kHigh * kWide / (kHigh * kRows); // words of a thread

__global__ void
transpose_smem_unroll(const uint32_t *in, uint32_t *out,
                      const wk::tile_task __grid_constant__ task)
{
    __shared__ uint32_t tile[kHigh][kWide];
    const int lane = threadIdx.x, row = threadIdx.y;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            uint32_t words[kEach];
#pragma unroll
            for (int k = 0; k < kEach; k++) {
                const int x = lane + k % 2 * kHigh, y = row + k / 2 * kRows;
                const bool inside = x < at.wide && y < at.high;
                words[k] = inside ? at.in[x * task.in_p + y * task.in_q] : 0;
            }
#pragma unroll
            for (int k = 0; k < kEach; k++) {
                const int x = lane + k % 2 * kHigh, y = row + k / 2 * kRows;
                tile[y][x] = words[k];
            }
            __syncthreads(); // the tile is full before its columns are read
#pragma unroll
            for (int k = 0; k < kEach; k++) {
                const int x = row + k * kRows;
                if (x < at.wide && lane < at.high)
                    at.out[x * task.out_p + lane] = tile[lane][x];
            }
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, smem_unroll)
{
    return wk::launch_tiles(call, kWide, kHigh, dim3(kHigh, kRows), 0, transpose_smem_unroll);
}
