// stencil1d / short -- lines so short that a block takes many planes [n][inner] at once, without a halo.
//
// In, out   [outer][n][inner], without gaps -> [outer][outputs][inner], any real dtypes.
// How       a block's planes are one run of memory; in shared memory they lie an odd number of elements apart,
//           so that threads of neighbouring lines meet few bank conflicts. What stands at each place of a line,
//           beyond its ends too, is a table there, the same for all lines, along which a thread's window slides;
//           cval is one row more of each plane. Results go back through shared memory as one run.
#pragma once
#include "stencil/production/planes.cuh"

namespace wk::stencil
{

constexpr int kShortThreads = 256, kShortElements = 2048; // of a block
template <typename A>
constexpr int kShortGroups = kShortElements / mixed<A>::E / kShortThreads; // a thread's
constexpr int kShortOutputs = 4, kShortAhead = 2;                          // V, X
constexpr int kShortBlocks = 5; // of a multiprocessor

// Is a call of this kind, its coefficients one launch's?
template <typename A>
bool
fits_short(const wk_stencil_args *a, const job *j)
{
    return a->taps <= kTaps<A> && std::max(a->n, a->outputs) * a->inner <= kShortElements &&
           (a->outer == 1 || j->outer_step == a->n * a->inner);
}

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

// i / d, both below 2^16, by a multiplication: (i + 1) / d less 1 / d at most, and that never exactly.
struct divisor {
    uint32_t factor;
    __device__ __forceinline__ explicit divisor(int d) : factor(0xffffffffu / (unsigned)d) {}
    __device__ __forceinline__ int of(int i) const
    {
        return (int)__umulhi((uint32_t)i + 1, factor);
    }
};

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
    const int outputs = (int)j.outputs, inner = (int)j.inner, n = (int)j.n;
    const int plane = n * inner, made = outputs * inner, tid = (int)threadIdx.x;
    const int strips = (outputs + V - 1) / V;
    const int64_t outer = (int64_t)blockIdx.x * j.team;
    const int planes = (int)min((int64_t)j.team, j.outer - outer);
    const int64_t to = outer * made;
    const int lead = (int)((j.lead + to) & (E - 1));
    A *results = tile + (j.team * j.pitch + E - 1) / E * E;
    int *places = reinterpret_cast<int *>(results + j.team * made + E);
    for (int i = tid; i < strips * V + j.count + kShortAhead; i += kShortThreads) {
        const int64_t from = beyond(min(i, outputs + j.count - 2) - j.before, n, j.mode);
        places[i] = (from < 0 ? n : (int)from) * inner;
    }
    const int64_t from = outer * plane;
    const int since = (int)((j.in_lead + from) & (E - 1)), end = since + planes * plane;
    const int low = min((since + E - 1) / E * E, end), high = max(end / E * E, low);
    group<A, E> values[kShortGroups<A>];
    if (low < high)
        P::reading(j.types, [&](auto zero) {
            using G = group<decltype(zero), E>;
            const auto first = static_cast<const decltype(zero) *>(j.in) + from - since + low;
            G g[kShortGroups<A>];
#pragma unroll
            for (int k = 0; k < kShortGroups<A>; k++) {
                const int at = (tid + k * kShortThreads) * E;
                g[k] = *reinterpret_cast<const G *>(first + (low + at < high ? at : 0));
            }
#pragma unroll
            for (int k = 0; k < kShortGroups<A>; k++) values[k] = loaded<A>(g[k]);
        });
    const divisor by_plane(plane);
#pragma unroll
    for (int k = 0; k < kShortGroups<A>; k++) {
        const int at = low + (tid + k * kShortThreads) * E;
        if (at >= high) break;
        int over = by_plane.of(at - since), rest = at - since - over * plane;
        A *to = tile + over * j.pitch + rest;
#pragma unroll
        for (int e = 0; e < E; e++, to++) {
            *to = values[k].e[e];
            if (++rest == plane) rest = 0, to += j.pitch - plane;
        }
    }
    if (tid < low - since + end - high) { // what stands around the groups
        const int i = tid < low - since ? tid : tid - low + high;
        const int over = by_plane.of(i);
        fill_one<P>(j.in, from + i, j.types, tile + i + over * (j.pitch - plane));
    }
    const divisor by_inner(inner), by_strips(strips * inner);
    if (j.mode == WK_CONSTANT)
        for (int i = tid; i < planes * inner; i += kShortThreads) {
            const int over = by_inner.of(i), column = i - over * inner;
            tile[over * j.pitch + plane + column] = (A)j.cval[column & 1];
        }
    __syncthreads(); // the tile and the table are complete

#pragma unroll 1
    for (int i = tid; i < planes * strips * inner; i += kShortThreads) {
        const int over = by_strips.of(i), rest = i - over * strips * inner;
        const int strip = by_inner.of(rest), column = rest - strip * inner;
        const by_table<A> line = {tile + over * j.pitch + column, places + strip * V};
        A sum[1][V] = {}, *own = results + lead + over * made + strip * V * inner + column;
        sum_columns<V, kShortAhead, 1>(line, 1, 0, j.count, c.c, sum);
#pragma unroll
        for (int v = 0; v < V; v++)
            if (strip * V + v < outputs) own[v * inner] = sum[0][v];
    }
    __syncthreads(); // the sums are complete
    P::converting(j.types, [&](auto zero) {
        drain_short(static_cast<decltype(zero) *>(j.out) + to - lead, lead,
                    lead + planes * made, results);
    });
}

template <typename A>
wk_status
launch_short(wk_call *call, job *j, const A *c)
{
    taps<A> few;
    memcpy(few.c, c, (size_t)j->count * sizeof(A));
    const int64_t plane = j->n * j->inner, made = j->outputs * j->inner;
    const int64_t padded = plane + (j->mode == WK_CONSTANT ? j->inner : 0);
    j->pitch = (int)(padded | 1);
    j->team = (int)(kShortElements / std::max(plane, made));
    const int64_t places = (j->outputs + kShortOutputs - 1) / kShortOutputs * kShortOutputs +
                           j->count + kShortAhead;
    const auto bytes =
        (size_t)((j->team * (j->pitch + made) + 2 * mixed<A>::E) * (int64_t)sizeof(A) +
                 places * (int64_t)sizeof(int));
    if (grant(call, stencil_short<A>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)((j->outer + j->team - 1) / j->team), kShortThreads, bytes,
                  stencil_short<A>, *j, few);
}

} // namespace wk::stencil
