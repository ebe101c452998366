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

// Rows low .. high - 1 of a tile, which lie in their plane; its row 0 is, or would be, at `plane`. `wide`
// columns of it are there.
template <typename P, typename S>
__device__ __forceinline__ void
fill_columns(const job &j, int64_t plane, int low, int high, int64_t wide,
             typename P::tile *tile)
{
    constexpr int E = P::E, kWide = S::WIDE, kGroups = kWide / E;
    constexpr int kApart = S::WARPS * kWarp / kGroups;
    const int tid = (int)threadIdx.x, at = tid % kGroups * E;
    P::reading(j.types, [&](auto zero) {
        using U = decltype(zero);
        int r = low + tid / kGroups;
        const int64_t apart = kApart * j.step;
        const U *from = static_cast<const U *>(j.in) + plane + at + r * j.step;
        if constexpr (!P::copies) {
            constexpr int kMost = 5; // 64 rows, or half of 128, and what a short halo has
            const int there = (int)min(wide, (int64_t)kWide) - at;
            fill_converted<P, kMost>(from, apart, tile + r * kWide + at, kApart * kWide,
                                     high - r, kApart, j.aligned, there);
        } else {
            for (; r + 3 * kApart < high; r += 4 * kApart, from += 4 * apart)
                fill<P, 4, S::LINES>(from, apart, tile + r * kWide + at, kApart * kWide);
#pragma unroll 1
            for (; r < high; r += kApart, from += apart)
                fill<P, 1, S::LINES>(from, 0, tile + r * kWide + at, 0);
        }
    });
}

// The same where rows start anywhere or the tile is not whole, and nothing is converted.
template <typename P, typename S>
__device__ __forceinline__ void
copy_columns_by_element(const job &j, int64_t plane, int low, int high, int64_t wide,
                        typename P::tile *tile)
{
    using T = typename P::tile;
    constexpr int kWide = S::WIDE;
    const int lane = (int)threadIdx.x % kWarp;
    const int64_t apart = S::WARPS * j.step;
    int r = low + (int)threadIdx.x / kWarp;
    const T *from = static_cast<const T *>(j.in) + plane + lane + r * j.step;
#pragma unroll 4
    for (; r < high; r += S::WARPS, from += apart)
#pragma unroll
        for (int s = 0; s < kWide; s += kWarp)
            if (lane + s < wide) copy_async<sizeof(T)>(tile + r * kWide + lane + s, from + s);
}

// The other rows, which stand beyond the ends of the plane that starts at `plane`.
template <typename P, typename S>
__device__ __forceinline__ void
fill_ends(const job &j, int64_t plane, int64_t first, int low, int high, int rows, int64_t wide,
          typename P::tile *tile)
{
    constexpr int kWide = S::WIDE;
    const int lane = (int)threadIdx.x % kWarp;
#pragma unroll 1
    for (int i = (int)threadIdx.x / kWarp; i < low + rows - high; i += S::WARPS) {
        const int r = i < low ? i : i - low + high;
        const int64_t from = beyond(first + r, j.n, j.mode);
#pragma unroll 1
        for (int s = lane; s < kWide && s < wide; s += kWarp) {
            auto *to = tile + r * kWide + s;
            if (from < 0)
                *to = (typename P::tile)j.cval[s & 1];
            else
                fill_one<P>(j.in, plane + from * j.step + s, j.types, to);
        }
    }
}

// The block's results from shared memory: `left` rows, of which `wide` columns are there.
template <typename P, typename S, typename U>
__device__ __forceinline__ void
drain_columns(const job &j, U *out, int left, int64_t wide, const U *tile)
{
    constexpr int E = P::E, kWide = S::WIDE, kGroups = kWide / E;
    const int tid = (int)threadIdx.x;
    if (j.lead == 0 && j.inner % E == 0 && wide >= kWide) {
        constexpr int kApart = S::WARPS * kWarp / kGroups;
        const int at = tid % kGroups * E;
        int r = tid / kGroups;
        out += r * j.inner + at;
#pragma unroll 2
        for (; r < left; r += kApart, out += kApart * j.inner)
            drain<E>(out, tile + r * kWide + at, 0, E);
        return;
    }
    const int lane = tid % kWarp;
    int r = tid / kWarp;
    out += r * j.inner + lane;
#pragma unroll 2
    for (; r < left; r += S::WARPS, out += S::WARPS * j.inner)
#pragma unroll
        for (int s = 0; s < kWide; s += kWarp)
            if (lane + s < wide) out[s] = tile[r * kWide + lane + s];
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
    const int64_t start = first - j.before; // place of the tile's first row
    const int rows = left + j.count - 1;
    const int high = (int)max((int64_t)0, min(j.n - start, (int64_t)rows));
    const int low = (int)min(max((int64_t)0, -start), (int64_t)high);
    if (!P::copies || (j.aligned && wide >= kWide))
        fill_columns<P, S>(j, plane + start * j.step, low, high, wide, tile);
    else
        copy_columns_by_element<P, S>(j, plane + start * j.step, low, high, wide, tile);
    if (low > 0 || high < rows) fill_ends<P, S>(j, plane, start, low, high, rows, wide, tile);
    if constexpr (P::copies) await_copies();
    __syncthreads(); // the tile is complete

    const int lane = (int)threadIdx.x % kWarp, mine = (int)threadIdx.x / kWarp * V;
    const int64_t to = (outer * j.outputs + first) * j.inner + column;
    const int64_t own = to + mine * j.inner + lane;
    const bool all = lane + (C - 1) * kWarp < wide; // else the last column is missing
    A sum[C][V];
    sums_so_far<V, C>(j, own, all ? kWarp : 0, lane < wide ? left - mine : 0, sum);
    sum_columns<V, S::X, C>(tile + mine * kWide + lane, kWide, kWarp, j.count, c.c, sum);
    if constexpr (P::copies) {
        auto out = static_cast<typename P::tile *>(j.out) + own;
        typename P::tile x[C][V];
#pragma unroll
        for (int s = 0; s < C; s++) P::convert(sum[s], x[s]);
#pragma unroll
        for (int i = 0; i < V; i++)
#pragma unroll
            for (int s = 0; s < C; s++)
                if (lane + s * kWarp < wide && mine + i < left)
                    out[i * j.inner + s * kWarp] = x[s][i];
    } else {
        __syncthreads(); // every thread has read its window
        A all[C * V];
#pragma unroll
        for (int s = 0; s < C; s++) {
            keep_some(sum[s], 0, lane + s * kWarp < wide ? left - mine : 0);
#pragma unroll
            for (int i = 0; i < V; i++) all[s * V + i] = sum[s][i];
        }
        P::converting(j.types, [&](auto zero) {
            using U = decltype(zero);
            U *results = reinterpret_cast<U *>(tile) + mine * kWide + lane, x[C * V];
            P::convert(all, x);
#pragma unroll
            for (int k = 0; k < C * V; k++) results[k % V * kWide + k / V * kWarp] = x[k];
        });
        __syncthreads(); // the results are in the tile
        P::writing(j.types, [&](auto zero) {
            using U = decltype(zero);
            drain_columns<P, S>(j, static_cast<U *>(j.out) + to, left, wide,
                                reinterpret_cast<const U *>(tile));
        });
    }
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
    const auto bytes = std::max((size_t)rows * S::WIDE * sizeof(typename P::tile),
                                (size_t)S::ROWS * S::WIDE * wk_itemsize[j->types.out]);
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
// Of a copy's rate with conversions, radius 1, 8, 32, of uint8; of float16; of int32:
//   float32 sums  shape<16, 2, 4, 6>  49 39 18   74 65 34   95 90 57
//                 shape<16, 2, 8, 3>  48 39 21   70 59 36   92 82 55
//                 shape<8, 2, 8, 4>   48 37 18   78 64 35   97 87 60
//                 shape<16, 1, 8, 4>  46 36 19   77 63 33   89 72 59
//   float64 sums  shape<16, 1, 8, 3>  32 27 13   56 47 25   69 64 51
//                 shape<8, 2, 4, 5>   32 22 10   55 41 18   85 75 34
//                 shape<8, 2, 8, 2>   27 21 12   46 39 21   61 52 39
//                 shape<8, 1, 8, 4>   28 23 11   47 40 21   71 60 43
template <typename P>
wk_status
launch_columns(wk_call *call, job *j, const typename P::sum *c)
{
    if constexpr (!P::copies) {
        if constexpr (sizeof(typename P::sum) == 4)
            return launch_shape<P, shape<16, 2, 4, 6, false>>(call, j, c);
        else if (j->count <= 9)
            return launch_shape<P, shape<8, 2, 4, 5, false>>(call, j, c);
        else
            return launch_shape<P, shape<16, 1, 8, 3, false>>(call, j, c);
    } else if constexpr (sizeof(typename P::sum) == 4) {
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
