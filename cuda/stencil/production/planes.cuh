// stencil1d / planes -- an axis before a short one: pixels of 3 channels, the parts of complex numbers.
//
// In, out   [outer][n][inner], the planes [n][inner] without gaps -> [outer][outputs][inner].
// How       a block's part of a plane is one run of memory, halo and all, and comes to shared
//           memory by 16-byte accesses wherever it starts. A thread makes V outputs of one column,
//           which lie `inner` apart; V is odd, so that the threads of a warp meet few bank
//           conflicts. The results go back through shared memory as one run.
#pragma once
#include "stencil/production/lines.cuh"

namespace wk::stencil
{

template <typename P>
constexpr int kPlaces = sizeof(typename P::sum) == 4 ? 17
                        : std::is_same_v<P, single>  ? 9
                                                     : 13; // V
template <typename A>
constexpr int kAhead = 3; // X
template <typename P>
constexpr int kPlaneBlocks = std::is_same_v<P, single> ? 5 : 4; // of a multiprocessor

constexpr int kPlaneThreads = 256;

// The elements of a plane that a block reads, in shared memory from `lead` on so that groups are aligned:
// `count` of them, from row `first` on, maybe < 0.
template <typename P>
__device__ __forceinline__ void
fill_plane(const job &j, int64_t plane, int64_t first, int lead, int count,
           typename P::tile *tile, uint64_t *arrived)
{
    using T = typename P::tile;
    constexpr int E = P::E;
    const int64_t all = j.n * j.inner, base = first * j.inner - lead;
    const int end = (lead + count + E - 1) / E * E, tid = (int)threadIdx.x;
    const bool inside = base >= 0 && base + end <= all;
    if (P::copies && inside && j.bulk) {
        if (tid == 0) {
            bulk_start(arrived);
            bulk_expect(arrived, (uint32_t)(end * sizeof(T)));
            bulk_load(tile, static_cast<const T *>(j.in) + plane + base,
                      (uint32_t)(end * sizeof(T)), arrived);
        }
        __syncthreads(); // the barrier in shared memory is set up
        bulk_await(arrived);
        return;
    }
    // Groups from `low` to `high` lie in the plane; what is wanted around them comes one by one.
    const int high = all < base + end ? (int)(all - base < 0 ? 0 : all - base) / E * E : end;
    const int low = min(base < 0 ? (int)(-base + E - 1) / E * E : 0, high);
    const int step = (int)blockDim.x * E;
    P::reading(j.types, [&](auto zero) {
        using U = decltype(zero);
        const U *from = static_cast<const U *>(j.in) + plane + base;
        int at = low + tid * E;
        if constexpr (!P::copies) {
            fill_converted<P, kPlaces<P> / E + 1>(from + at, step, tile + at, step, high - at,
                                                  step, true);
        } else {
            for (; inside && at + 3 * step < end; at += 4 * step)
                fill<P, 4>(from + at, step, tile + at, step);
#pragma unroll 1
            for (; at < high; at += step) fill<P, 1>(from + at, 0, tile + at, 0);
        }
    });
#pragma unroll 1
    for (int i = tid; i < low + end - high; i += (int)blockDim.x) {
        const int e = i < low ? i : i - low + high, own = e - lead;
        if (own < 0 || own >= count) continue;
        const int row = own / (int)j.inner, column = own - row * (int)j.inner;
        const int64_t place = beyond(first + row, j.n, j.mode);
        if (place < 0)
            tile[e] = (T)j.cval[column & 1];
        else
            fill_one<P>(j.in, plane + place * j.inner + column, j.types, tile + e);
    }
    if constexpr (P::copies) await_copies();
}

// The block's results, which lie likewise: to[0] is the first.
template <int E, typename U>
__device__ __forceinline__ void
drain_plane(U *to, int lead, int count, const U *tile)
{
    const int end = lead + count, step = (int)blockDim.x * E;
    int at = (int)threadIdx.x * E;
    to += at - lead;
#pragma unroll 2
    for (; at < end; at += step, to += step) drain<E>(to, tile + at, lead - at, end - at);
}

template <typename P>
__global__ void
__launch_bounds__(kPlaneThreads, kPlaneBlocks<P>)
    stencil_planes(const job __grid_constant__ j,
                   const taps<typename P::sum> __grid_constant__ c)
{
    using A = typename P::sum;
    constexpr int V = kPlaces<P>, E = P::E;
    WK_DYNAMIC_SHARED(typename P::tile, tile);
    __shared__ uint64_t arrived;
    const unsigned outer = blockIdx.x / (unsigned)j.tiles;
    const int64_t first = (int64_t)(blockIdx.x - outer * (unsigned)j.tiles) * j.team;
    const int left = j.outputs - first < j.team ? (int)(j.outputs - first) : j.team;
    const int inner = (int)j.inner, tid = (int)threadIdx.x;
    const int64_t plane = outer * j.outer_step, begin = (first - j.before) * inner;
    const int64_t to = (outer * j.outputs + first) * inner;
    const int lead = (int)((j.in_lead + plane + begin) & (E - 1));
    fill_plane<P>(j, plane, first - j.before, lead, (left + j.count - 1) * inner, tile,
                  &arrived);
    __syncthreads(); // the tile is complete

    const int strip = tid / inner, column = tid - strip * inner;
    const bool works = strip * V < j.team;
    const int mine = works ? strip * V * inner + column : 0; // of the tile's elements
    A sum[1][V];
    sums_so_far<V, 1>(j, to + mine, 0, works ? left - strip * V : 0, sum);
    sum_columns<V, kAhead<A>, 1>(tile + lead + mine, inner, 0, j.count, c.c, sum);

    __syncthreads(); // every thread has read its window
    const int behind = (int)((j.lead + to) & (E - 1));
    if constexpr (!P::copies) keep_some(sum[0], 0, works ? left - strip * V : 0);
    P::converting(j.types, [&](auto zero) {
        using U = decltype(zero);
        U *results = reinterpret_cast<U *>(tile) + behind + mine, x[V];
        P::convert(sum[0], x);
        if (works)
#pragma unroll
            for (int i = 0; i < V; i++) results[i * inner] = x[i];
    });
    __syncthreads(); // the results are in the tile
    P::writing(j.types, [&](auto zero) {
        using U = decltype(zero);
        drain_plane<E>(static_cast<U *>(j.out) + to, behind, left * inner,
                       reinterpret_cast<const U *>(tile));
    });
}

// Elements of a block's tile, read ahead of a window included.
template <typename P>
int64_t
plane_tile(const job *j)
{
    const int64_t places = j->team + j->count + kPlaces<P> + 2 * kAhead<typename P::sum>;
    return places * j->inner + 2 * 4;
}

template <typename P>
wk_status
launch_planes(wk_call *call, job *j, const typename P::sum *c)
{
    using A = typename P::sum;
    constexpr int V = kPlaces<P>;
    taps<A> few;
    int strips = (int)std::max<int64_t>(1, kPlaneThreads / j->inner);
    strips = (int)std::min<int64_t>(strips, (j->outputs + V - 1) / V);
    j->team = strips * V;
    j->tiles = (j->outputs + j->team - 1) / j->team;
    const int threads = (int)((strips * j->inner + kWarp - 1) / kWarp * kWarp);
    memcpy(few.c, c, (size_t)j->count * sizeof(A));
    const int64_t results = (j->team * j->inner + P::E) * wk_itemsize[j->types.out];
    const int64_t elements = plane_tile<P>(j) * (int64_t)sizeof(typename P::tile);
    const auto bytes = (size_t)std::max(elements, results);
    if (grant(call, stencil_planes<P>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)(j->outer * j->tiles), (unsigned)threads, bytes,
                  stencil_planes<P>, *j, few);
}

} // namespace wk::stencil
