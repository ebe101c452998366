// stencil1d / columns -- an axis before a wide one: a thread makes V outputs of each of two columns.
//
// In, out   [outer][n][inner], rows of `inner` side by side -> [outer][outputs][inner].
// How       a block's tile is 64 columns wide, and with its halo lies in shared memory: neighbouring
//           lanes take neighbouring columns, on both sides and in the banks. A thread's two columns
//           lie 32 apart, so that also rows that start anywhere are written by whole warps.
#pragma once
#include "stencil/lines.cuh"

namespace wk::stencil
{

constexpr int kWide = 64; // columns of a tile
constexpr int kWarps = 8; // of a block, one below the other

template <typename A>
constexpr int kRows = sizeof(A) == 4 ? 16 : 8; // V: outputs of a thread and column
template <typename A>
constexpr int kRowsAhead = 4; // X

template <typename P>
__device__ __forceinline__ void
fill_columns(const job &j, int64_t plane, int64_t first, int rows, int64_t column,
             typename P::sum *tile, uint64_t *arrived)
{
    using A = typename P::sum;
    constexpr int E = P::E, kGroups = kWide / E;
    const int tid = (int)threadIdx.x;
    const bool whole = j.aligned && column + kWide <= j.inner;
    if (P::copies && j.bulk && whole) {
        if (tid == 0) bulk_start(arrived);
        __syncthreads(); // the barrier in shared memory is set up
        if (tid == 0) {
            int there = 0; // rows that are some place's
            for (int r = 0; r < rows; r++) there += beyond(first + r, j.n, j.mode) >= 0;
            bulk_expect(arrived, (uint32_t)(there * kWide * sizeof(A)));
        }
        if (tid < kWarp) {
            __syncwarp(); // bytes are expected before they come
            for (int r = tid; r < rows; r += kWarp) {
                const int64_t from = beyond(first + r, j.n, j.mode);
                if (from >= 0)
                    bulk_load(tile + r * kWide,
                              static_cast<const A *>(j.in) + plane + from * j.step + column,
                              kWide * sizeof(A), arrived);
                else
                    for (int i = 0; i < kWide; i++) tile[r * kWide + i] = (A)j.cval[i & 1];
            }
        }
        bulk_await(arrived);
        return;
    }
    if (whole) {
#pragma unroll 4
        for (int i = tid; i < rows * kGroups; i += kWarps * kWarp) {
            const int r = i / kGroups, at = i % kGroups * E;
            const int64_t from = beyond(first + r, j.n, j.mode);
            A *to = tile + r * kWide + at;
            const int64_t element = plane + from * j.step + column + at;
            if (from < 0) {
                for (int e = 0; e < E; e++) to[e] = (A)j.cval[e & 1];
            } else if constexpr (P::copies) {
                copy_async<16>(to, static_cast<const A *>(j.in) + element);
            } else {
                P::load_group(j.in, element, j.types, to);
            }
        }
    } else {
        const int lane = tid % kWarp;
#pragma unroll 4
        for (int r = tid / kWarp; r < rows; r += kWarps) {
            const int64_t from = beyond(first + r, j.n, j.mode);
            for (int at = lane; at < kWide && column + at < j.inner; at += kWarp) {
                A *to = tile + r * kWide + at;
                const int64_t element = plane + from * j.step + column + at;
                if (from < 0)
                    *to = (A)j.cval[at & 1];
                else if constexpr (P::copies)
                    copy_async<sizeof(A)>(to, static_cast<const A *>(j.in) + element);
                else
                    *to = P::load(j.in, element, j.types);
            }
        }
    }
    if constexpr (P::copies) await_copies();
}

template <typename P>
__global__ void
__launch_bounds__(kWarps *kWarp)
    stencil_columns(const job __grid_constant__ j,
                    const taps<typename P::sum> __grid_constant__ c)
{
    using A = typename P::sum;
    constexpr int V = kRows<A>, S = kWarps * V;
    WK_DYNAMIC_SHARED(A, tile);
    __shared__ uint64_t arrived;
    const int64_t block = blockIdx.x / j.strips;
    const int64_t column = (int64_t)(blockIdx.x - block * j.strips) * kWide;
    const int64_t outer = block / j.tiles, first = (block - outer * j.tiles) * S;
    const int64_t left = j.outputs - first;
    fill_columns<P>(j, outer * j.outer_step, first - j.before,
                    (int)(left < S ? left : S) + j.count - 1, column, tile, &arrived);
    __syncthreads(); // the tile is complete

    const int lane = (int)threadIdx.x % kWarp, mine = (int)threadIdx.x / kWarp * V;
    const int64_t to = (outer * j.outputs + first + mine) * j.inner + column + lane;
    const bool has[2] = {column + lane < j.inner, column + lane + kWarp < j.inner};
    A sum[2][V];
#pragma unroll
    for (int s = 0; s < 2; s++)
#pragma unroll
        for (int i = 0; i < V; i++) {
            sum[s][i] = 0;
            if (j.sums && has[s] && mine + i < left)
                sum[s][i] = static_cast<const A *>(j.sums)[to + i * j.inner + s * kWarp];
        }
    sum_columns<V, kRowsAhead<A>, 2>(tile + mine * kWide + lane, kWide, kWarp, j.count, c.c,
                                     sum);
#pragma unroll
    for (int i = 0; i < V; i++)
#pragma unroll
        for (int s = 0; s < 2; s++)
            if (has[s] && mine + i < left)
                P::store(j.out, to + i * j.inner + s * kWarp, j.types, sum[s][i]);
}

template <typename P>
wk_status
launch_columns(wk_call *call, job *j, const typename P::sum *c)
{
    using A = typename P::sum;
    constexpr int V = kRows<A>, S = kWarps * V, E = P::E;
    taps<A> few;
    j->tiles = (j->outputs + S - 1) / S;
    j->strips = (int)((j->inner + kWide - 1) / kWide);
    j->aligned = j->in_lead == 0 && j->step % E == 0 && j->outer_step % E == 0;
    memcpy(few.c, c, (size_t)j->count * sizeof(A));
    const int rows = S + j->count + V + 2 * kRowsAhead<A>;
    const auto bytes = (size_t)rows * kWide * sizeof(A);
    if (grant(call, stencil_columns<P>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)(j->outer * j->tiles * j->strips), kWarps * kWarp, bytes,
                  stencil_columns<P>, *j, few);
}

} // namespace wk::stencil
