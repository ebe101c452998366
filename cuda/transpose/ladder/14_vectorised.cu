// transpose / 14 vectorised -- 16 bytes an access on both sides, turned in registers and in a tile.
//
// In, out   4-byte words, any strides and axes -> C-contiguous; tile.cuh makes matrices of them.
// How       a thread loads four words of each of four rows: four quads of 16 bytes. These 4 x 4
//           words it turns in registers, which gives quads along the output's rows. The quads go
//           to their rows through a tile of 64 x 64 words, swizzled: a warp's 16-byte accesses
//           are served 8 lanes at a time, and each 8 here touch all 32 banks, both ways.
// Better    than 13_swizzle: a quarter of the loads, stores and addresses for the same bytes, and
//           64 bytes a thread on their way.
// Still bad a quad must lie at a multiple of 16 bytes. Where the axes are longer by a word, or the
//           array starts at the wrong place, that side of the call goes word by word, four
//           accesses for the same sectors; so does the last quad of a row that ends inside it.
// Source    J. Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access"
//           (2013).
#include "transpose/ladder/tile.cuh"

namespace
{

constexpr int kQuad = 4;  // words of 16 bytes, the widest load that all GPUs have
constexpr int kSide = 16; // quads: a row is 256 bytes, and 16 x 16 threads hide latency
constexpr int kTile = kQuad * kSide; // words

// The first `count` of the four words, if there are so many; `whole`: four lie aligned, side by side.
__device__ __forceinline__ uint4
load_quad(const uint32_t *from, int64_t step, int count, bool whole)
{
    if (whole && count >= kQuad) return *reinterpret_cast<const uint4 *>(from);
    uint4 quad = {0, 0, 0, 0};
    if (count > 0) quad.x = from[0];
    if (count > 1) quad.y = from[step];
    if (count > 2) quad.z = from[2 * step];
    if (count > 3) quad.w = from[3 * step];
    return quad;
}

__device__ __forceinline__ void
store_quad(uint32_t *to, uint4 quad, int count, bool whole)
{
    if (whole && count >= kQuad) {
        *reinterpret_cast<uint4 *>(to) = quad;
        return;
    }
    if (count > 0) to[0] = quad.x;
    if (count > 1) to[1] = quad.y;
    if (count > 2) to[2] = quad.z;
    if (count > 3) to[3] = quad.w;
}

__global__ void
transpose_vectorised(const uint32_t *in, uint32_t *out,
                     const wk::tile_task __grid_constant__ task, bool whole_in, bool whole_out)
{
    __shared__ uint4 tile[kTile][kSide]; // quad c of row x is kept at c ^ x / 4
    const int a = threadIdx.x, b = threadIdx.y, x0 = a * kQuad, y0 = b * kQuad;
    for (int64_t strip = blockIdx.y; strip < task.strips; strip += gridDim.y)
        for (int64_t column = blockIdx.x; column < task.tiles_q; column += gridDim.x) {
            const wk::tile_place at = wk::tile_at(task, strip, column, in, out);
            uint4 v[kQuad];
#pragma unroll
            for (int j = 0; j < kQuad; j++)
                v[j] = load_quad(at.in + x0 * task.in_p + (y0 + j) * task.in_q, task.in_p,
                                 y0 + j < at.high ? at.wide - x0 : 0, whole_in);
            // Columns of the 4 x 4 words: the turn is in the names of the registers.
            tile[x0][b ^ a] = {v[0].x, v[1].x, v[2].x, v[3].x};
            tile[x0 + 1][b ^ a] = {v[0].y, v[1].y, v[2].y, v[3].y};
            tile[x0 + 2][b ^ a] = {v[0].z, v[1].z, v[2].z, v[3].z};
            tile[x0 + 3][b ^ a] = {v[0].w, v[1].w, v[2].w, v[3].w};
            __syncthreads(); // the tile is full before others read its rows
#pragma unroll
            for (int j = 0; j < kQuad; j++) {
                const int x = b + j * kSide;
                store_quad(at.out + x * task.out_p + x0, tile[x][a ^ x / kQuad],
                           x < at.wide ? at.high - x0 : 0, whole_out);
            }
            __syncthreads(); // all have read it before the next tile overwrites it
        }
}

// Do all rows of all matrices start at a multiple of 16 bytes?
bool
aligned(const void *first, int64_t row, const wk::tile_task &task, const int64_t *others)
{
    bool all = reinterpret_cast<uintptr_t>(first) % sizeof(uint4) == 0 && row % kQuad == 0;
    for (int d = 0; d < task.others.ndim; d++) all = all && others[d] % kQuad == 0;
    return all;
}

} // namespace

WK_LAUNCHER(transpose, cuda, vectorised)
{
    wk::tile_task task;
    const auto in = wk::first_element<uint32_t>(&call->in);
    const auto out = (uint32_t *)call->out[0].data;
    if (!wk::plan_tiles(&call->in, kTile, kTile, &task)) return wk::pack(call, &call->in, out);
    const bool whole_in = task.in_p == 1 && aligned(in, task.in_q, task, task.others.strides);
    const bool whole_out = aligned(out, task.out_p, task, task.out_others);
    return wk::launch(call, wk::grid_of(call, &task), dim3(kSide, kSide), 0,
                      transpose_vectorised, in, out, task, whole_in, whole_out);
}
