// transpose / 11 smem_unroll_pad -- two tiles, eight words a thread, and a column of padding.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       rows are 65 words apart: an odd number again, as 33 was.
// Better    than 10_smem_unroll: a column's 32 words lie in 32 banks.
// Still bad a matrix less than 64 wide leaves half of a block idle, and a wide one could have more
//           words on their way: 12_smem_unroll_pad_dyn lets the launch choose.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeSmemUnrollPad.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kHigh = 32;        // rows of the tile: a warp writes one word of each
constexpr int kWide = 2 * kHigh; // two squares, side by side
constexpr int kRows = 8;         // 256 threads: 8 warps, of which others work while one waits
constexpr int kEach = kHigh * kWide / (kHigh * kRows); // words of a thread

__global__ void
transpose_smem_unroll_pad(const uint32_t *in, uint32_t *out,
                          const wk::tile_task __grid_constant__ task)
{
    __shared__ uint32_t tile[kHigh][kWide + 1];
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

WK_LAUNCHER(transpose, cuda, smem_unroll_pad)
{
    return wk::launch_tiles(call, kWide, kHigh, dim3(kHigh, kRows), 0,
                            transpose_smem_unroll_pad);
}
