// stencil1d / planes -- an axis before a short one: pixels of 3 channels, the parts of complex numbers.
//
// In, out   [outer][n][inner], the planes [n][inner] without gaps -> [outer][outputs][inner].
// How       a block's part of a plane is one run of memory, halo and all, and comes to shared
//           memory by 16-byte accesses wherever it starts. A thread makes V outputs of one column,
//           which lie `inner` apart; V is odd, so that the threads of a warp meet few bank
//           conflicts. The results go back through shared memory as one run.
#pragma once
#include "stencil/lines.cuh"

namespace wk::stencil
{

template <typename A>
constexpr int kPlaces = sizeof(A) == 4 ? 17 : 9; // V
template <typename A>
constexpr int kAhead = 3; // X

constexpr int kPlaneThreads = 256;

// A run of memory that a block reads or writes: positions count from the plane's first element.
struct extent {
    int64_t begin, end; // that are wanted
    int lead;           // elements in front, so that groups are aligned
};

template <typename P>
__device__ __forceinline__ void
fill_plane(const job &j, int64_t plane, const extent &run, typename P::sum *tile,
           uint64_t *arrived)
{
    using A = typename P::sum;
    constexpr int E = P::E;
    const int64_t all = j.n * j.inner, base = run.begin - run.lead;
    const int vectors = (int)((run.end - base + E - 1) / E), tid = (int)threadIdx.x;
    const bool inside = base >= 0 && base + (int64_t)vectors * E <= all;
    if (P::copies && inside && j.bulk) {
        if (tid == 0) {
            bulk_start(arrived);
            bulk_expect(arrived, (uint32_t)vectors * 16);
            bulk_load(tile, static_cast<const A *>(j.in) + plane + base, (uint32_t)vectors * 16,
                      arrived);
        }
        __syncthreads(); // the barrier in shared memory is set up
        bulk_await(arrived);
        return;
    }
#pragma unroll 4
    for (int v = tid; v < vectors; v += (int)blockDim.x) {
        const int64_t at = base + (int64_t)v * E;
        A *to = tile + v * E;
        if (inside || (at >= 0 && at + E <= all)) {
            if constexpr (P::copies)
                copy_async<16>(to, static_cast<const A *>(j.in) + plane + at);
            else
                P::load_group(j.in, plane + at, j.types, to);
            continue;
        }
#pragma unroll 1
        for (int e = 0; e < E; e++) {
            const int64_t i = at + e - run.begin; // below 0: in front of what is wanted
            if (i < 0 || at + e >= run.end) continue;
            const int64_t row = i / j.inner, column = i - row * j.inner;
            const int64_t from = beyond(run.begin / j.inner + row, j.n, j.mode);
            if (from < 0)
                to[e] = (A)j.cval[column & 1];
            else
                to[e] = P::load(j.in, plane + from * j.inner + column, j.types);
        }
    }
    if constexpr (P::copies) await_copies();
}

template <typename P>
__device__ __forceinline__ void
drain_plane(const job &j, int64_t plane, const extent &run, const typename P::sum *tile)
{
    using A = typename P::sum;
    constexpr int E = P::E;
    const int64_t base = run.begin - run.lead;
    const int vectors = (int)((run.end - base + E - 1) / E);
#pragma unroll 2
    for (int v = (int)threadIdx.x; v < vectors; v += (int)blockDim.x) {
        const int64_t at = base + (int64_t)v * E;
        if (at >= run.begin && at + E <= run.end) {
            A group[E];
#pragma unroll
            for (int e = 0; e < E; e++) group[e] = tile[v * E + e];
            P::store_group(j.out, plane + at, j.types, group);
        } else {
#pragma unroll 1
            for (int e = 0; e < E; e++)
                if (at + e >= run.begin && at + e < run.end)
                    P::store(j.out, plane + at + e, j.types, tile[v * E + e]);
        }
    }
}

template <typename P>
__global__ void
__launch_bounds__(kPlaneThreads) stencil_planes(const job __grid_constant__ j,
                                                const taps<typename P::sum> __grid_constant__ c)
{
    using A = typename P::sum;
    constexpr int V = kPlaces<A>, E = P::E;
    WK_DYNAMIC_SHARED(A, tile);
    __shared__ uint64_t arrived;
    const int64_t outer = blockIdx.x / j.tiles, first = (blockIdx.x - outer * j.tiles) * j.team;
    const int64_t last = first + j.team < j.outputs ? first + j.team : j.outputs;
    const int64_t plane = outer * j.outer_step, to = outer * j.outputs * j.inner;
    extent run = {(first - j.before) * j.inner, (last - j.before + j.count - 1) * j.inner, 0};
    run.lead = (int)((j.in_lead + plane + run.begin) & (E - 1));
    fill_plane<P>(j, plane, run, tile, &arrived);
    __syncthreads(); // the tile is complete

    const int inner = (int)j.inner, tid = (int)threadIdx.x;
    const int strip = tid / inner, column = tid - strip * inner;
    const bool works = strip * V < j.team;
    const int mine = works ? strip * V * inner + column : 0; // of the tile's places
    A sum[1][V];
#pragma unroll
    for (int i = 0; i < V; i++) {
        sum[0][i] = 0;
        if (j.sums && works && first + strip * V + i < last)
            sum[0][i] = static_cast<const A *>(j.sums)[to + first * inner + mine + i * inner];
    }
    sum_columns<V, kAhead<A>, 1>(tile + run.lead + mine, inner, 0, j.count, c.c, sum);

    __syncthreads(); // every thread has read its window
    run = {first * inner, last * inner, 0};
    run.lead = (int)((j.lead + to + run.begin) & (E - 1));
#pragma unroll
    for (int i = 0; i < V && works; i++) tile[run.lead + mine + i * inner] = sum[0][i];
    __syncthreads(); // the results are in the tile
    drain_plane<P>(j, to, run, tile);
}

// Elements of a block's tile, read ahead of a window included.
template <typename A>
int64_t
plane_tile(const job *j)
{
    const int64_t places = j->team + j->count + kPlaces<A> + 2 * kAhead<A>;
    return places * j->inner + 2 * 4;
}

template <typename P>
wk_status
launch_planes(wk_call *call, job *j, const typename P::sum *c)
{
    using A = typename P::sum;
    constexpr int V = kPlaces<A>;
    taps<A> few;
    int strips = (int)std::max<int64_t>(1, kPlaneThreads / j->inner);
    strips = (int)std::min<int64_t>(strips, (j->outputs + V - 1) / V);
    j->team = strips * V;
    j->tiles = (j->outputs + j->team - 1) / j->team;
    const int threads = (int)((strips * j->inner + kWarp - 1) / kWarp * kWarp);
    memcpy(few.c, c, (size_t)j->count * sizeof(A));
    const auto bytes = (size_t)(plane_tile<A>(j) * (int64_t)sizeof(A));
    if (grant(call, stencil_planes<P>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)(j->outer * j->tiles), (unsigned)threads, bytes,
                  stencil_planes<P>, *j, few);
}

} // namespace wk::stencil
