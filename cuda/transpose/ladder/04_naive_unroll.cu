// transpose / 04 naive_unroll -- load by column, store by row, four words a thread at once.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       a tile is four times as wide; a thread first loads its four words, 8 columns apart,
//           and only then stores them.
// Better    than 03_naive_col: four loads are on their way while a thread waits, and a block and
//           its index arithmetic serve four times as many bytes.
// Still bad each load still asks for 32 sectors. Four times as many on their way must also find
//           room in the L1 until their last word is used. On the chips where transposes were
//           first studied, blocks also got in each other's way: 05_diagonal.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeUnroll4Col.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kEach = 4;             // words of a thread
constexpr int kRows = 8;             // 256 threads: 8 warps hide latency
constexpr int kWide = kRows * kEach; // a row of a tile is a line of 128 bytes
constexpr int kHigh = 32;            // a warp writes 128 bytes of a row of the output

__global__ void
transpose_naive_unroll(const uint32_t *in, uint32_t *out,
                       const wk::tile_task __grid_constant__ task)
{
    const int x0 = threadIdx.y, y = threadIdx.x; // y along q, the rows of the output
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            uint32_t words[kEach];
#pragma unroll
            for (int k = 0; k < kEach; k++) {
                const int x = x0 + k * kRows;
                const bool inside = x < at.wide && y < at.high;
                words[k] = inside ? at.in[x * task.in_p + y * task.in_q] : 0;
            }
#pragma unroll
            for (int k = 0; k < kEach; k++) {
                const int x = x0 + k * kRows;
                if (x < at.wide && y < at.high) at.out[x * task.out_p + y] = words[k];
            }
        }
}

} // namespace

WK_LAUNCHER(transpose, cuda, naive_unroll)
{
    return wk::launch_tiles(call, kWide, kHigh, dim3(kHigh, kRows), 0, transpose_naive_unroll);
}
