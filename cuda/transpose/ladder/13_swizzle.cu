// transpose / 13 swizzle -- columns permuted by XOR with the row, instead of padding.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       word x of row y is kept at x ^ y. In one row that permutes the words, so a row still
//           lies in 32 banks. In one column, x fixed, y goes through 32 values, and so does the
//           bank, (x ^ y) mod 32.
// Better    than 11_smem_unroll_pad: no bank conflicts, and no word is left unused, so more
//           blocks may fit a processor. Rows start at a multiple of 16 bytes still, which
//           padding by one word spoils, and 14_vectorised needs.
// Still bad an XOR for each index; and 4 bytes a lane are a quarter of what one load can carry.
// Source    A. Kerr, "Developing CUDA Kernels to Push Tensor Cores to the Absolute Limit on NVIDIA
//           A100" (GTC 2020), permuted shared memory tiles.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kHigh = 32;        // rows of the tile: a warp writes one word of each
constexpr int kWide = 2 * kHigh; // two squares, side by side
constexpr int kRows = 8;         // 256 threads: 8 warps, of which others work while one waits
constexpr int kEach = kHigh * kWide / (kHigh * kRows); // words of a thread

__global__ void
transpose_swizzle(const uint32_t *in, uint32_t *out, const wk::tile_task __grid_constant__ task)
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
                tile[y][x ^ y] = words[k];
            }
            __syncthreads(); // the tile is full before its columns are read
#pragma unroll
            for (int k = 0; k < kEach; k++) {
                const int x = row + k * kRows;
                if (x < at.wide && lane < at.high)
                    at.out[x * task.out_p + lane] = tile[lane][x ^ lane];
            }
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, swizzle)
{
    return wk::launch_tiles(call, kWide, kHigh, dim3(kHigh, kRows), 0, transpose_swizzle);
}
