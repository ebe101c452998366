// transpose / 09 smem_pad_dyn -- dynamic shared memory with rows one word further apart.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       the padding is a word more in the step from row to row, and a word a row more in the
//           bytes that the launch asks for.
// Better    than 08_smem_dyn: the columns of a tile of 32 x 32 lie in all the banks. The step of
//           smaller ones is odd too; a few lanes of a warp, from different columns, may meet.
// Still bad a thread moves one word, and then a block of 1024 threads waits for its slowest twice
//           over. 10_smem_unroll gives each of them more to do.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeSmemPadDyn.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kLeast = 8; // a row is a sector of 32 bytes: less would waste some of it
constexpr int kMost = 32;
constexpr int kThreads = kMost * kMost; // as many as a block can have
constexpr int kBlocks = 2;              // on a processor: while one waits, the other works

__global__ void
__launch_bounds__(kThreads, kBlocks)
    transpose_smem_pad_dyn(const uint32_t *in, uint32_t *out,
                           const wk::tile_task __grid_constant__ task)
{
    const int side = blockDim.x, x = threadIdx.x, y = threadIdx.y;
    WK_DYNAMIC_SHARED(uint32_t, tile); // side x (side + 1) words
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            if (x < at.wide && y < at.high)
                tile[y * (side + 1) + x] = at.in[x * task.in_p + y * task.in_q];
            __syncthreads(); // the tile is full before its columns are read
            if (y < at.wide && x < at.high)
                at.out[y * task.out_p + x] = tile[x * (side + 1) + y];
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

// The smallest that covers the shorter side of the matrix, if there is one.
int
side_for(const wk_call *call)
{
    const wk::extents matrix = wk::matrix_of(&call->in);
    int side = kLeast;
    while (side < kMost && side < matrix.p && side < matrix.q) side *= 2;
    return side;
}

} // namespace

WK_LAUNCHER(transpose, cuda, smem_pad_dyn)
{
    const int side = side_for(call);
    return wk::launch_tiles(call, side, side, dim3(side, side),
                            side * (side + 1) * sizeof(uint32_t), transpose_smem_pad_dyn);
}
