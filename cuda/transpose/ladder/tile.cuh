// tile.cuh -- what the rungs share: any permutation as a batch of matrices that are turned.
//
// p is the axis that is fastest in the input, q the one that is fastest in the output; all other
// axes number the matrices. A tile is a piece of one matrix, [y][x] with x along p as it is read,
// and [x][y] as it is written. Tiles along q, side by side in the output, are a strip. The grid
// goes along strips in x, over strips in y, and a block goes on in strides of the grid.
#pragma once
#include "copy/strided.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

#include <algorithm>
#include <cstdlib>

namespace wk
{

struct tile_task {
    layout others;              // the axes but p and q, by their input strides
    int64_t out_others[kAxes];  // and by their output strides
    int64_t in_p, in_q, out_p;  // strides, in words; that of q in the output is 1
    int64_t extent_p, extent_q; // of a matrix
    int tile_p, tile_q;         // of a tile
    int64_t tiles_p, tiles_q;   // of a matrix; tiles_q is the length of a strip
    int64_t strips;             // of all matrices
};

// in[x * in_p + y * in_q] belongs to out[x * out_p + y], for x < wide, y < high: less than a whole
// tile at the matrix's ends.
struct tile_place {
    const uint32_t *in;
    uint32_t *out;
    int wide, high;
};

__device__ __forceinline__ tile_place
tile_at(const tile_task &task, int64_t strip, int64_t column, const uint32_t *in, uint32_t *out)
{
    int64_t row = strip;
    if (task.others.ndim > 0) { // else there is one matrix, and nothing to divide
        int64_t rest = strip / task.tiles_p;
        row = strip % task.tiles_p;
        for (int d = 0; d < task.others.ndim; d++) {
            const int64_t i = rest % task.others.shape[d];
            rest /= task.others.shape[d];
            in += i * task.others.strides[d];
            out += i * task.out_others[d];
        }
    }
    const int64_t p = row * task.tile_p, q = column * task.tile_q;
    const int64_t wide = task.extent_p - p, high = task.extent_q - q;
    return {in + p * task.in_p + q * task.in_q, out + p * task.out_p + q,
            (int)(wide < task.tile_p ? wide : task.tile_p),
            (int)(high < task.tile_q ? high : task.tile_q)};
}

// The axis with the smallest step. One along which the address stays has none to coalesce, unless it
// is the output's own fastest: then reads are free, and only the writes count.
inline int
fastest_axis(const wk_array *a)
{
    int p = a->ndim - 1;
    for (int d = p - 1; d >= 0; d--)
        if (a->strides[d] != 0 && std::llabs(a->strides[d]) < std::llabs(a->strides[p])) p = d;
    return p;
}

// Of a matrix, along p and q: a launcher may choose its tile by them.
struct extents {
    int64_t p, q;
};

inline extents
matrix_of(const wk_array *a)
{
    if (a->ndim == 0) return {1, 1};
    return {a->shape[fastest_axis(a)], a->shape[a->ndim - 1]};
}

// False where one axis is fastest on both sides: then there is nothing to turn.
inline bool
plan_tiles(const wk_array *a, int tile_p, int tile_q, tile_task *task)
{
    const int p = fastest_axis(a), q = a->ndim - 1;
    if (p == q) return false;

    *task = {};
    task->strips = 1;
    int64_t step = 1; // in the output
    for (int d = q; d >= 0; d--) {
        if (d == p) task->out_p = step;
        if (d != p && d != q) {
            const int i = task->others.ndim++; // the innermost first
            task->others.shape[i] = a->shape[d];
            task->others.strides[i] = a->strides[d];
            task->out_others[i] = step;
            task->strips *= a->shape[d];
        }
        step *= a->shape[d];
    }
    task->in_p = a->strides[p];
    task->in_q = a->strides[q];
    task->extent_p = a->shape[p];
    task->extent_q = a->shape[q];
    task->tile_p = tile_p;
    task->tile_q = tile_q;
    task->tiles_p = (task->extent_p + tile_p - 1) / tile_p;
    task->tiles_q = (task->extent_q + tile_q - 1) / tile_q;
    task->strips *= task->tiles_p;
    return true;
}

// A block for every tile, at most as many as grid_for gives.
inline dim3
grid_of(const wk_call *call, const tile_task *task)
{
    constexpr int64_t high = 65535; // CUDA's limit of gridDim.y
    const int64_t most = grid_for(call, task->strips * task->tiles_q, 1);
    const int64_t y = std::min({task->strips, most, high});
    return dim3((unsigned)std::min(task->tiles_q, (most + y - 1) / y), (unsigned)y);
}

template <typename Kernel>
wk_status
launch_tiles(wk_call *call, int tile_p, int tile_q, dim3 block, size_t shared, Kernel *kernel)
{
    tile_task task;
    if (!plan_tiles(&call->in, tile_p, tile_q, &task))
        return pack(call, &call->in, call->out[0].data); // neighbours stay neighbours
    return launch(call, grid_of(call, &task), block, shared, kernel,
                  first_element<uint32_t>(&call->in), (uint32_t *)call->out[0].data, task);
}

} // namespace wk
