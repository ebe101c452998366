// stencil1d / short -- lines so short that a tile of one leaves most threads idle: a block takes whole ones, without
// a halo.
//
// In, out   [outer][n][inner] -> [outer][outputs][inner], any real dtypes.
// How       what stands at each place of a line, beyond its ends too, is a table in shared memory, the same for all
//           lines, along which a thread's window slides; cval is one row more.
// Planes    of few elements without gaps: a block has many, which are one run of memory. In shared memory they lie
//           an odd number of elements apart, so that threads of neighbouring lines meet few bank conflicts. Sums go
//           back through shared memory, and become elements there, by groups.
// Strips    of 32 to 256 columns of any planes: a thread reads and writes one column alone.
#pragma once
#include "stencil/production/lines.cuh"

namespace wk::stencil
{

constexpr int kShortThreads = 256, kShortElements = 2048; // of a block
constexpr int kShortOutputs = 4, kShortAhead = 2;         // V, X
constexpr int kShortBlocks = 5;                           // of a multiprocessor
template <typename A>
constexpr int kShortGroups = kShortElements / mixed<A>::E / kShortThreads; // of a thread

// What sum_columns reads: elements of a line, by a table of their places.
template <typename A>
struct by_table {
    const A *line;
    const int *places;
    __device__ __forceinline__ A operator[](int i) const
    {
        return line[places[i]];
    }
    __device__ __forceinline__ by_table operator+(int i) const
    {
        return {line, places + i};
    }
    __device__ __forceinline__ void operator+=(int i)
    {
        places += i;
    }
};

// The table, whose rows are `pitch` apart; row n is cval's. By all threads of a block.
__device__ __forceinline__ void
fill_places(const job &j, int windows, int pitch, int *places)
{
    const int many = windows * kShortOutputs + j.count + kShortAhead;
    for (int i = threadIdx.x; i < many; i += kShortThreads) {
        const int last = (int)j.outputs + j.count - 2;
        const int64_t from = beyond(min(i, last) - j.before, j.n, j.mode);
        places[i] = (from < 0 ? (int)j.n : (int)from) * pitch;
    }
}

// i / d, both below 2^16, by a multiplication: (i + 1) / d less 1 / d at most, and that never exactly.
struct reciprocal {
    uint32_t factor;
    __device__ __forceinline__ explicit reciprocal(int d) : factor(0xffffffffu / (unsigned)d) {}
    __device__ __forceinline__ int of(int i) const
    {
        return (int)__umulhi((uint32_t)i + 1, factor);
    }
};

// ---- planes ------------------------------------------------------------------------------------

// `count` elements from place `from` on to planes of shared memory, j.pitch apart: whole groups, and then what
// stands around these.
template <typename A>
__device__ __forceinline__ void
fill_short(const job &j, int64_t from, int count, int plane, A *tile)
{
    using P = mixed<A>;
    constexpr int E = P::E, N = kShortGroups<A>;
    const int lead = (int)((j.in_lead + from) & (E - 1)), end = lead + count;
    const int low = min((lead + E - 1) / E * E, end), high = max(end / E * E, low);
    const int tid = (int)threadIdx.x, gap = j.pitch - plane;
    const reciprocal by_plane(plane);
    group<A, E> values[N];
    if (low < high)
        P::reading(j.types, [&](auto zero) {
            using G = group<decltype(zero), E>;
            const auto first = static_cast<const decltype(zero) *>(j.in) + from - lead + low;
            G g[N];
#pragma unroll
            for (int k = 0; k < N; k++) {
                const int at = (tid + k * kShortThreads) * E;
                g[k] = *reinterpret_cast<const G *>(first + (low + at < high ? at : 0));
            }
#pragma unroll
            for (int k = 0; k < N; k++) values[k] = loaded<A>(g[k]);
        });
#pragma unroll
    for (int k = 0; k < N; k++) {
        const int at = low + (tid + k * kShortThreads) * E;
        if (at >= high) break;
        const int over = by_plane.of(at - lead);
        int rest = at - lead - over * plane;
        A *to = tile + over * j.pitch + rest;
#pragma unroll
        for (int e = 0; e < E; e++, to++) {
            *to = values[k].e[e];
            if (++rest == plane) rest = 0, to += gap;
        }
    }
    if (tid >= low - lead + end - high) return;
    const int i = tid < low - lead ? tid : tid - low + high;
    fill_one<P>(j.in, from + i, j.types, tile + i + by_plane.of(i) * gap);
}

// Sums to the elements that they are, groups of them aligned alike on both sides: those from `lead` to `end`.
template <typename A, typename U>
__device__ __forceinline__ void
drain_short(U *to, int lead, int end, const A *sums)
{
    constexpr int E = mixed<A>::E;
#pragma unroll 1
    for (int at = (int)threadIdx.x * E; at < end; at += kShortThreads * E) {
        group<A, E> some = *reinterpret_cast<const group<A, E> *>(sums + at);
        group<U, E> x;
        keep_some(some.e, lead - at, end - at);
        convert_all(some.e, x.e);
        if (at >= lead && at + E <= end) {
            *reinterpret_cast<group<U, E> *>(to + at) = x;
            continue;
        }
#pragma unroll
        for (int e = 0; e < E; e++)
            if (at + e >= lead && at + e < end) to[at + e] = x.e[e];
    }
}

template <typename A>
__global__ void
__launch_bounds__(kShortThreads, kShortBlocks)
    stencil_short(const job __grid_constant__ j, const taps<A> __grid_constant__ c)
{
    using P = mixed<A>;
    constexpr int V = kShortOutputs, E = P::E;
    WK_DYNAMIC_SHARED(A, tile);
    const int outputs = (int)j.outputs, inner = (int)j.inner, tid = (int)threadIdx.x;
    const int plane = (int)j.n * inner, made = outputs * inner, windows = (outputs + V - 1) / V;
    const int64_t outer = (int64_t)blockIdx.x * j.team, to = outer * made;
    const int planes = (int)min((int64_t)j.team, j.outer - outer);
    const int lead = (int)((j.lead + to) & (E - 1));
    A *sums = tile + (j.team * j.pitch + E - 1) / E * E;
    int *places = reinterpret_cast<int *>(sums + j.team * made + E);
    fill_places(j, windows, inner, places);
    fill_short(j, outer * plane, planes * plane, plane, tile);
    const reciprocal by_inner(inner), by_plane(windows * inner);
    if (j.mode == WK_CONSTANT)
        for (int i = tid; i < planes * inner; i += kShortThreads) {
            const int over = by_inner.of(i), column = i - over * inner;
            tile[over * j.pitch + plane + column] = (A)j.cval[column & 1];
        }
    __syncthreads(); // the tile and the table are complete

#pragma unroll 1
    for (int i = tid; i < planes * windows * inner; i += kShortThreads) {
        const int over = by_plane.of(i), rest = i - over * windows * inner;
        const int window = by_inner.of(rest), column = rest - window * inner;
        const by_table<A> line = {tile + over * j.pitch + column, places + window * V};
        A sum[1][V] = {}, *own = sums + lead + over * made + window * V * inner + column;
        sum_columns<V, kShortAhead, 1>(line, 1, 0, j.count, c.c, sum);
#pragma unroll
        for (int v = 0; v < V; v++)
            if (window * V + v < outputs) own[v * inner] = sum[0][v];
    }
    __syncthreads(); // the sums are complete
    P::converting(j.types, [&](auto zero) {
        drain_short(static_cast<decltype(zero) *>(j.out) + to - lead, lead,
                    lead + planes * made, sums);
    });
}

// ---- strips ------------------------------------------------------------------------------------

// Columns of a block: as many as leave a thread at most 8 rows.
inline int
strip_of(int64_t rows)
{
    int columns = kShortThreads;
    while (columns > kWarp && columns * rows > kShortElements) columns /= 2;
    return columns;
}

template <typename A>
__global__ void
__launch_bounds__(kShortThreads, kShortBlocks)
    stencil_strips(const job __grid_constant__ j, const taps<A> __grid_constant__ c)
{
    using P = mixed<A>;
    constexpr int V = kShortOutputs, N = kShortElements / kShortThreads;
    WK_DYNAMIC_SHARED(A, tile);
    const int tid = (int)threadIdx.x, lane = tid & (j.team - 1), turn = kShortThreads / j.team;
    const int n = (int)j.n, outputs = (int)j.outputs, windows = (outputs + V - 1) / V;
    const unsigned outer = blockIdx.x / (unsigned)j.strips;
    const int64_t column = (int64_t)(blockIdx.x - outer * (unsigned)j.strips) * j.team + lane;
    const bool works = column < j.inner;
    int *places = reinterpret_cast<int *>(tile + (n + 1) * j.team);
    fill_places(j, windows, j.team, places);
    const int row = tid / j.team;
    A x[N];
    P::reading(j.types, [&](auto zero) {
        using U = decltype(zero);
        const U *from = static_cast<const U *>(j.in) + outer * j.outer_step + row * j.step +
                        (works ? column : 0);
        U own[N];
#pragma unroll
        for (int k = 0; k < N; k++, from += turn * j.step)
            own[k] = row + k * turn < n ? *from : U{};
#pragma unroll
        for (int k = 0; k < N; k++) x[k] = loaded<A>(own[k]);
    });
#pragma unroll
    for (int k = 0; k < N; k++)
        if (row + k * turn < n) tile[tid + k * kShortThreads] = x[k];
    if (row == 0) tile[n * j.team + lane] = (A)j.cval[column & 1];
    __syncthreads(); // the tile and the table are complete

#pragma unroll 1
    for (int window = row; window < windows; window += turn) {
        const by_table<A> line = {tile + lane, places + window * V};
        A sum[1][V] = {};
        sum_columns<V, kShortAhead, 1>(line, 1, 0, j.count, c.c, sum);
        const int left = works ? outputs - window * V : 0;
        keep_some(sum[0], 0, left);
        P::converting(j.types, [&](auto zero) {
            using U = decltype(zero);
            U made[V], *to = static_cast<U *>(j.out) +
                             (outer * j.outputs + window * V) * j.inner + column;
            P::convert(sum[0], made);
#pragma unroll
            for (int v = 0; v < V; v++)
                if (v < left) to[v * j.inner] = made[v];
        });
    }
}

// ---- both --------------------------------------------------------------------------------------

// Do planes fit, and lie side by side?
inline bool
in_planes(const job *j)
{
    return std::max(j->n, j->outputs) * j->inner <= kShortElements &&
           (j->n == 1 || j->step == j->inner) &&
           (j->outer == 1 || j->outer_step == j->n * j->inner);
}

// May a call go by either, with so many coefficients in one launch?
template <typename A>
bool
fits_short(const job *j, int64_t count)
{
    const int64_t rows = std::max(j->n, j->outputs);
    return count <= kTaps<A> &&
           (in_planes(j) || (j->inner >= kWarp && rows * kWarp <= kShortElements));
}

template <typename A>
wk_status
launch_short(wk_call *call, job *j, const A *c)
{
    constexpr int V = kShortOutputs, E = mixed<A>::E;
    const int64_t rows = std::max(j->n, j->outputs), made = j->outputs * j->inner;
    const int64_t places = (j->outputs + V - 1) / V * V + j->count + kShortAhead;
    const bool planes = in_planes(j);
    taps<A> few;
    memcpy(few.c, c, (size_t)j->count * sizeof(A));
    int64_t elements, blocks;
    if (planes) {
        j->pitch = (int)((j->n + (j->mode == WK_CONSTANT)) * j->inner) | 1;
        j->team = (int)(kShortElements / (rows * j->inner));
        elements = j->team * (j->pitch + made) + 2 * E;
        blocks = (j->outer + j->team - 1) / j->team;
    } else {
        j->team = strip_of(rows);
        j->strips = (int)((j->inner + j->team - 1) / j->team);
        elements = (j->n + 1) * j->team;
        blocks = j->outer * j->strips;
    }
    const auto kernel = planes ? stencil_short<A> : stencil_strips<A>;
    const auto bytes = (size_t)(elements * (int64_t)sizeof(A) + places * (int64_t)sizeof(int));
    if (grant(call, kernel, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)blocks, kShortThreads, bytes, kernel, *j, few);
}

} // namespace wk::stencil
