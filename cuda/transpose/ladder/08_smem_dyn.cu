// transpose / 08 smem_dyn -- dynamic shared memory: the launch says how much, and how many threads.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       the array has no size of its own; its bytes are an argument of the launch, and so it has
//           one axis: row and column become an index by hand. A tile has sides of 8, 16 or 32.
// Better    than 07_smem_pad where the matrix is narrow: of three columns, a tile of 8 x 8 leaves
//           five idle, not 29, and many small blocks do not wait for each other.
// Still bad columns conflict as in 06_smem: 32 lanes share one bank, or 8 each of four banks if the
//           side is 16, or two each of 16 if it is 8. 09_smem_pad_dyn pads the rows.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           transposeSmemDyn.
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kLeast = 8; // a row is a sector of 32 bytes: less would waste some of it
constexpr int kMost = 32;
constexpr int kThreads = kMost * kMost; // as many as a block can have
constexpr int kBlocks = 2;              // on a processor: while one waits, the other works

__global__ void
__launch_bounds__(kThreads, kBlocks)
    transpose_smem_dyn(const uint32_t *in, uint32_t *out,
                       const wk::tile_task __grid_constant__ task)
{
    const int side = blockDim.x, x = threadIdx.x, y = threadIdx.y;
    WK_DYNAMIC_SHARED(uint32_t, tile); // side x side words
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            if (x < at.wide && y < at.high)
                tile[y * side + x] = at.in[x * task.in_p + y * task.in_q];
            __syncthreads(); // the tile is full before its columns are read
            if (y < at.wide && x < at.high) at.out[y * task.out_p + x] = tile[x * side + y];
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

WK_LAUNCHER(transpose, cuda, smem_dyn)
{
    const int side = side_for(call);
    return wk::launch_tiles(call, side, side, dim3(side, side), side * side * sizeof(uint32_t),
                            transpose_smem_dyn);
}
