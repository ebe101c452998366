// transpose / tiles -- a tile in shared memory, turned there; elements of every size.
//
// In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
// Better    than 06_smem: rows are 33 words apart, so a column's words lie in 32 banks.
// Still bad 4 bytes a lane are a quarter of what one load can carry; bytes fill a bank's word
//           only to a quarter, and rows of odd length start in the middle of a sector.
// Source    M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (2013), no bank conflicts.
#include "copy/strided.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"
#include "runtime/visit.cuh"

#include <cstdlib>

namespace
{

constexpr int kTile = 32; // a warp reads and writes whole tile rows
constexpr int kRows = 8;  // 256 threads, each moves 4 elements: loads in flight for each

struct tile_task {
    wk::layout others;              // the axes but p and q, by their input strides
    int64_t out_strides[wk::kAxes]; // of those
    int64_t in_p, in_q, out_p;      // out_q is 1
    int64_t extent_p, extent_q, tiles_p, tiles_q, tiles;
};

template <typename T>
__global__ void
transpose_tile(const T *in, T *out, const tile_task __grid_constant__ task)
{
    __shared__ T tile[kTile][kTile + 1];
    for (int64_t work = blockIdx.x; work < task.tiles; work += gridDim.x) {
        const int64_t q0 = work % task.tiles_q * kTile;
        const int64_t p0 = work / task.tiles_q % task.tiles_p * kTile;
        int64_t rest = work / task.tiles_q / task.tiles_p, from = 0, to = 0;
        for (int d = task.others.ndim - 1; d >= 0; d--) {
            from += rest % task.others.shape[d] * task.others.strides[d];
            to += rest % task.others.shape[d] * task.out_strides[d];
            rest /= task.others.shape[d];
        }
        for (int r = threadIdx.y; r < kTile; r += kRows) {
            const int64_t p = p0 + threadIdx.x, q = q0 + r;
            if (p < task.extent_p && q < task.extent_q)
                tile[r][threadIdx.x] = in[from + p * task.in_p + q * task.in_q];
        }
        __syncthreads(); // the tile is full before its columns are read
        for (int r = threadIdx.y; r < kTile; r += kRows) {
            const int64_t p = p0 + r, q = q0 + threadIdx.x;
            if (p < task.extent_p && q < task.extent_q)
                out[to + p * task.out_p + q] = tile[threadIdx.x][r];
        }
        __syncthreads(); // all have read it before the next tile overwrites it
    }
}

// False where one axis is fastest on both sides: then there is nothing to turn around.
bool
plan_tiles(const wk_array *a, tile_task *task)
{
    int p = a->ndim - 1;
    const int q = a->ndim - 1;
    for (int d = a->ndim - 1; d >= 0; d--)
        if (std::llabs(a->strides[d]) < std::llabs(a->strides[p])) p = d;
    if (p == q) return false;

    *task = {};
    int64_t step = 1;
    task->tiles = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        if (d == p) task->out_p = step;
        step *= a->shape[d];
    }
    for (int d = 0; d < a->ndim; d++) {
        step /= a->shape[d];
        if (d == p || d == q) continue;
        const int i = task->others.ndim++;
        task->others.shape[i] = a->shape[d];
        task->others.strides[i] = a->strides[d];
        task->out_strides[i] = step;
        task->tiles *= a->shape[d];
    }
    task->in_p = a->strides[p];
    task->in_q = a->strides[q];
    task->extent_p = a->shape[p];
    task->extent_q = a->shape[q];
    task->tiles_p = (task->extent_p + kTile - 1) / kTile;
    task->tiles_q = (task->extent_q + kTile - 1) / kTile;
    task->tiles *= task->tiles_p * task->tiles_q;
    return true;
}

} // namespace

extern "C" wk_status
wk_transpose_cuda_tiles(wk_call *call)
{
    tile_task task;
    if (!plan_tiles(&call->in, &task)) return wk::pack(call, &call->in, call->out[0].data);
    return wk::visit_size(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        return wk::launch(call, wk::grid_for(call, task.tiles, 1), dim3(kTile, kRows), 0,
                          transpose_tile<T>, wk::first_element<T>(&call->in),
                          (T *)call->out[0].data, task);
    });
}
