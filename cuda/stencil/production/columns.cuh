// stencil1d / columns -- an axis before a wide one: a thread makes V outputs of each of two columns.
//
// In, out   [outer][n][inner], rows of `inner` side by side -> [outer][outputs][inner].
// How       a block's tile is 64 columns wide, and with its halo lies in shared memory: neighbouring
//           lanes take neighbouring columns, on both sides and in the banks. A thread's two columns
//           lie 32 apart, so that also rows that start anywhere are written by whole warps.
#pragma once
#include "stencil/production/lines.cuh"

namespace wk::stencil
{

// V outputs of each of C columns a thread, WARPS of them one below the other; so many BLOCKS on a
// multiprocessor; LINES: copied past the L1 cache, which long halos would only sweep.
template <int V_, int C_, int WARPS_, int BLOCKS_, bool LINES_>
struct shape {
    static constexpr int V = V_, C = C_, WARPS = WARPS_, BLOCKS = BLOCKS_, X = 4;
    static constexpr bool LINES = LINES_;
    static constexpr int WIDE = C * kWarp, ROWS = V * WARPS; // of a tile, its halo apart
};

// Rows first .. first + rows - 1 of a plane, which may lie beyond its ends, 64 columns of each.
template <typename P, typename S>
__device__ __forceinline__ void
fill_columns(const job &j, int64_t plane, int64_t first, int rows, typename P::tile *tile)
{
    using T = typename P::tile;
    constexpr int E = P::E, kWide = S::WIDE, kGroups = kWide / E;
    constexpr int kApart = S::WARPS * kWarp / kGroups;
    const int tid = (int)threadIdx.x, at = tid % kGroups * E;
    const bool inside = first >= 0 && first + rows <= j.n;
    int64_t element = plane + at + (first + tid / kGroups) * j.step;
    const int64_t apart = kApart * j.step;
    int r = tid / kGroups;
    if constexpr (!S::LINES || !P::copies)
        for (; inside && r + 3 * kApart < rows; r += 4 * kApart, element += 4 * apart)
            P::template fill<4>(j.in, element, apart, j.types, tile + r * kWide + at,
                                kApart * kWide);
#pragma unroll 4
    for (; r < rows; r += kApart, element += apart) {
        T *to = tile + r * kWide + at;
        if (!inside) {
            const int64_t from = beyond(first + r, j.n, j.mode);
            element = plane + at + from * j.step;
            if (from < 0) {
                for (int e = 0; e < E; e++) to[e] = (T)j.cval[e & 1];
                continue;
            }
        }
        if constexpr (P::copies && S::LINES)
            copy_async_line(to, static_cast<const T *>(j.in) + element);
        else
            P::template fill<1>(j.in, element, 0, j.types, to, 0);
    }
}

// Likewise, where rows start anywhere or the tile is not whole: `wide` columns of it are there.
template <typename P, typename S>
__device__ __forceinline__ void
fill_columns_by_element(const job &j, int64_t plane, int64_t first, int rows, int64_t wide,
                        typename P::tile *tile)
{
    using T = typename P::tile;
    constexpr int kWide = S::WIDE;
    const int lane = (int)threadIdx.x % kWarp;
    const bool inside = first >= 0 && first + rows <= j.n;
    int64_t element = plane + lane + (first + (int)threadIdx.x / kWarp) * j.step;
    const int64_t apart = S::WARPS * j.step;
#pragma unroll 4
    for (int r = (int)threadIdx.x / kWarp; r < rows; r += S::WARPS, element += apart) {
        const int64_t from = inside ? 0 : beyond(first + r, j.n, j.mode);
        if (!inside) element = plane + lane + from * j.step;
#pragma unroll
        for (int s = 0; s < kWide; s += kWarp) {
            T *to = tile + r * kWide + lane + s;
            if (lane + s >= wide) continue;
            if (from < 0)
                *to = (T)j.cval[lane & 1];
            else if constexpr (P::copies)
                copy_async<sizeof(T)>(to, static_cast<const T *>(j.in) + element + s);
            else
                *to = P::load(j.in, element + s, j.types);
        }
    }
}

template <typename P, typename S>
__global__ void
__launch_bounds__(S::WARPS *kWarp, S::BLOCKS)
    stencil_columns(const job __grid_constant__ j,
                    const taps<typename P::sum> __grid_constant__ c)
{
    using A = typename P::sum;
    constexpr int V = S::V, C = S::C, kWide = S::WIDE, kRows = S::ROWS;
    WK_DYNAMIC_SHARED(typename P::tile, tile);
    const unsigned block = blockIdx.x / (unsigned)j.strips, tiles = (unsigned)j.tiles;
    const int64_t column = (int64_t)(blockIdx.x - block * (unsigned)j.strips) * kWide;
    const int64_t outer = block / tiles, first = (int64_t)(block % tiles) * kRows;
    const int left = j.outputs - first < kRows ? (int)(j.outputs - first) : kRows;
    const int64_t plane = outer * j.outer_step + column, wide = j.inner - column;
    if (j.aligned && wide >= kWide)
        fill_columns<P, S>(j, plane, first - j.before, left + j.count - 1, tile);
    else
        fill_columns_by_element<P, S>(j, plane, first - j.before, left + j.count - 1, wide,
                                      tile);
    if constexpr (P::copies) await_copies();
    __syncthreads(); // the tile is complete

    const int lane = (int)threadIdx.x % kWarp, mine = (int)threadIdx.x / kWarp * V;
    const int64_t to = (outer * j.outputs + first + mine) * j.inner + column + lane;
    const bool all = lane + (C - 1) * kWarp < wide; // else the last column is missing
    A sum[C][V];
    sums_so_far<V, C>(j, to, all ? kWarp : 0, lane < wide ? left - mine : 0, sum);
    sum_columns<V, S::X, C>(tile + mine * kWide + lane, kWide, kWarp, j.count, c.c, sum);
#pragma unroll
    for (int i = 0; i < V; i++)
#pragma unroll
        for (int s = 0; s < C; s++)
            if (lane + s * kWarp < wide && mine + i < left)
                P::store(j.out, to + i * j.inner + s * kWarp, j.types, P::narrow(sum[s][i]));
}

template <typename P, typename S>
wk_status
launch_shape(wk_call *call, job *j, const typename P::sum *c)
{
    using A = typename P::sum;
    taps<A> few;
    j->tiles = (j->outputs + S::ROWS - 1) / S::ROWS;
    j->strips = (int)((j->inner + S::WIDE - 1) / S::WIDE);
    j->aligned = j->in_lead == 0 && j->step % P::E == 0 && j->outer_step % P::E == 0;
    memcpy(few.c, c, (size_t)j->count * sizeof(A));
    const int rows = S::ROWS + j->count + S::V + 2 * S::X;
    const auto bytes = (size_t)rows * S::WIDE * sizeof(typename P::tile);
    if (grant(call, stencil_columns<P, S>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)(j->outer * j->tiles * j->strips), S::WARPS * kWarp, bytes,
                  stencil_columns<P, S>, *j, few);
}

// H100, 8192 x 16384 along axis 0, share of the floor at radius 1, 4, 8, 16, 32, 64, 128:
//   float32  shape<8, 2, 8>   100  100  100   92   71   66   69
//            shape<8, 2, 4>   100  100  101
//            shape<16, 2, 4>                  97   70   67   64
//            shape<16, 2, 8>   98   98   97   95   73   71   76
//            shape<24, 1, 8>                  89   68   69   80
//   float64  shape<8, 2, 8>    99   99   99   96   82   74   58
//            shape<16, 1, 4>                       89   76   67
//            shape<16, 1, 8>                       79   75   83
//   float32 data, float64 sums, of which each element of a window is a conversion
//            shape<8, 2, 8>    90   83   77   66
//            shape<16, 1, 4>   96   92   85   78   74   79
// Rows of 16381, float32, at radius 1, 4, 8: shape<8, 2, 8> 92, 87, 80; shape<8, 2, 4> 83, 93, 88.
template <typename P>
wk_status
launch_columns(wk_call *call, job *j, const typename P::sum *c)
{
    if constexpr (sizeof(typename P::sum) == 4) {
        if (j->count <= 5) return launch_shape<P, shape<8, 2, 8, 3, false>>(call, j, c);
        if (j->count <= 17) return launch_shape<P, shape<8, 2, 4, 6, false>>(call, j, c);
        if (j->count <= 40) return launch_shape<P, shape<16, 2, 4, 6, false>>(call, j, c);
        if (j->count <= 200) return launch_shape<P, shape<16, 2, 8, 3, true>>(call, j, c);
        return launch_shape<P, shape<24, 1, 8, 3, true>>(call, j, c);
    } else {
        if (j->count <= 33 && !std::is_same_v<P, single>)
            return launch_shape<P, shape<8, 2, 8, 2, false>>(call, j, c);
        if (j->count <= 200) return launch_shape<P, shape<16, 1, 4, 5, true>>(call, j, c);
        return launch_shape<P, shape<16, 1, 8, 2, true>>(call, j, c);
    }
}

} // namespace wk::stencil
