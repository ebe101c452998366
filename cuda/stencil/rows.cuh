// stencil1d / rows -- the last axis: a thread makes V neighbouring outputs from a window of registers.
//
// In, out   lines side by side in memory, in [outer][n] -> out [outer][outputs].
// How       a block's tile of the line, with its halo, comes to shared memory by 16-byte accesses; each
//           thread then takes its window from there, V = K x 16 bytes with K odd, so that threads meet
//           no bank conflicts without padding. Coefficients are a kernel parameter: every fused
//           multiply-add takes its own from constant memory, which costs no instruction. The
//           results go back through the tile. Lines that are short share a block.
//           Positions count from a 16-byte boundary of the output before each line's start, so
//           that lines of any length are read and written by whole vectors.
// Source    studies of register windows: P. Micikevicius (2009); A. Vizitiu et al. (2014).
#pragma once
#include "stencil/lines.cuh"

namespace wk::stencil
{

// Outputs of a thread, and slots that the window has more. H100, float32, share of the peak rate of
// multiply-adds at radius 64: 76 % with a window that slides, 85 % used in place, 92 % with bulk copies;
// 20, 28 and 36 outputs 90, 92 and 91 %.
template <typename A>
constexpr int kRun = sizeof(A) == 4 ? 28 : 18;

template <typename A>
constexpr int kVector = 16 / (int)sizeof(A);

constexpr int kRowThreads = 128;

// Where a segment lies: a tile of one line.
struct segment {
    int64_t line,
        first; // first: position of the tile's first output, a multiple of E and maybe < 0
};

template <typename P>
__device__ __forceinline__ segment
segment_of(const job &j, int which)
{
    constexpr int V = kRun<typename P::sum>;
    segment s;
    const int64_t at = (int64_t)blockIdx.x * j.strips + which;
    s.line = j.tiles == 1 ? at : at / j.tiles;
    const int64_t start = (at - s.line * j.tiles) * (j.team * V);
    s.first = start - ((j.lead + s.line * j.outputs) & (P::E - 1));
    return s;
}

// Vector v of a segment's tile: whole where it lies inside of the line, else by element.
template <typename P>
__device__ __forceinline__ void
fill_vector(const job &j, const segment &s, int v, typename P::sum *tile)
{
    using A = typename P::sum;
    constexpr int E = P::E;
    const int64_t line = s.line * j.outer_step,
                  at = s.first - j.before - j.skip + (int64_t)v * E;
    A *to = tile + v * E;
    if (at >= j.outputs + j.count - 1 - j.before) return; // no output wants them
    if (j.aligned && at >= 0 && at + E <= j.n) {
        if constexpr (P::copies)
            copy_async<16>(to, static_cast<const A *>(j.in) + line + at);
        else
            P::load_group(j.in, line + at, j.types, to);
        return;
    }
#pragma unroll 1
    for (int e = 0; e < E; e++) {
        const int64_t from = beyond(at + e, j.n, j.mode);
        if (from < 0)
            to[e] = (A)j.cval[0];
        else if constexpr (P::copies)
            copy_async<sizeof(A)>(to + e, static_cast<const A *>(j.in) + line + from);
        else
            to[e] = P::load(j.in, line + from, j.types);
    }
}

// All segments' tiles. Nobody else reads a segment's, but for the block's barrier behind this.
template <typename P>
__device__ __forceinline__ void
fill_rows(const job &j, typename P::sum *tile, uint64_t *arrived)
{
    using A = typename P::sum;
    constexpr int E = P::E, V = kRun<A>;
    const int vectors = (j.team * V + j.skip + j.count - 1 + E - 1) / E, tid = (int)threadIdx.x;
    if (j.strips > 1) { // short lines
        for (int i = tid; i < j.strips * vectors; i += (int)blockDim.x) {
            const int which = i / vectors;
            const segment s = segment_of<P>(j, which);
            if (s.line < j.outer)
                fill_vector<P>(j, s, i - which * vectors, tile + which * j.pitch);
        }
        if constexpr (P::copies) await_copies();
        return;
    }
    const segment s = segment_of<P>(j, 0);
    const int64_t begin = s.first - j.before - j.skip, line = s.line * j.outer_step;
    const bool inside = j.aligned && begin >= 0 && begin + vectors * E <= j.n;
    if (!inside) {
        for (int v = tid; v < vectors; v += (int)blockDim.x) fill_vector<P>(j, s, v, tile);
        if constexpr (P::copies) await_copies();
    } else if constexpr (P::copies) {
        const A *from = static_cast<const A *>(j.in) + line + begin;
        if (j.bulk) {
            if (tid == 0) {
                bulk_start(arrived);
                bulk_expect(arrived, (uint32_t)vectors * 16);
                bulk_load(tile, from, (uint32_t)vectors * 16, arrived);
            }
            __syncthreads(); // the barrier in shared memory is set up
            bulk_await(arrived);
        } else {
#pragma unroll 4
            for (int v = tid; v < vectors; v += (int)blockDim.x)
                copy_async<16>(tile + v * E, from + v * E);
            await_copies();
        }
    } else {
#pragma unroll 4
        for (int v = tid; v < vectors; v += (int)blockDim.x)
            P::load_group(j.in, line + begin + v * E, j.types, tile + v * E);
    }
}

// The window of registers over a run of shared memory; `first` coefficients' places lie before the
// window's first vector is whole.
template <typename A>
__device__ __forceinline__ void
sum_run(const A *run, int first, int count, const A *c, A (&sum)[kRun<A>])
{
    constexpr int E = kVector<A>, V = kRun<A>, W = V + E;
    using vector = typename vector_of<A>::type;
    const vector *next = reinterpret_cast<const vector *>(run);
    A window[W];
    const int end = first + count; // coefficient t is c[t] for t = first .. end - 1
    int t = 0;
#pragma unroll
    for (int k = 0; k < W / E; k++) unpack(*next++, &window[k * E]);
    if (first) {
#pragma unroll
        for (int k = 1; k < E; k++)
            if (k >= first && k < end) one_tap<A, V, W>(sum, window, k, c[k]);
        t = E; // start again one vector on
        next = reinterpret_cast<const vector *>(run) + 1;
#pragma unroll
        for (int k = 0; k < W / E; k++) unpack(*next++, &window[k * E]);
    }
    for (; t + W <= end; t += W) {
#pragma unroll
        for (int q = 0; q < W; q += E) {
#pragma unroll
            for (int k = 0; k < E; k++) one_tap<A, V, W>(sum, window, q + k, c[t + q + k]);
            unpack(*next++, &window[q]);
        }
    }
#pragma unroll
    for (int q = 0; q < W; q++) {
        if (t + q >= end) break;
        one_tap<A, V, W>(sum, window, q, c[t + q]);
        if (q % E == E - 1 && q + 1 < W) unpack(*next++, &window[q - E + 1]);
    }
}

// A warp's results from shared memory to the line: it reads back what it wrote.
template <typename P>
__device__ __forceinline__ void
drain_rows(const job &j, const typename P::sum *tile)
{
    constexpr int E = P::E, V = kRun<typename P::sum>;
    const int lane = (int)threadIdx.x % kWarp, begin = ((int)threadIdx.x - lane) * V;
    const int run = j.team * V; // of a segment
#pragma unroll 1
    for (int at = begin + lane * E; at < begin + kWarp * V; at += kWarp * E) {
        const int which = j.strips > 1 ? at / run : 0;
        const segment s = segment_of<P>(j, which);
        const int64_t i = s.first + at - which * run, to = s.line * j.outputs + i;
        if (which >= j.strips || at - which * run >= run || s.line >= j.outer) continue;
        if (i >= 0 && i + E <= j.outputs) {
            P::store_group(j.out, to, j.types, tile + at);
        } else {
#pragma unroll 1
            for (int e = 0; e < E; e++)
                if (i + e >= 0 && i + e < j.outputs)
                    P::store(j.out, to + e, j.types, tile[at + e]);
        }
    }
}

template <typename P>
__global__ void __launch_bounds__(256)
    stencil_rows(const job __grid_constant__ j, const taps<typename P::sum> __grid_constant__ c)
{
    using A = typename P::sum;
    constexpr int V = kRun<A>, E = kVector<A>;
    WK_DYNAMIC_SHARED(A, tile);
    __shared__ uint64_t arrived;
    fill_rows<P>(j, tile, &arrived);
    __syncthreads(); // the tiles are complete

    const int tid = (int)threadIdx.x;
    int which = j.strips > 1 ? tid / j.team : 0, mine = tid - which * j.team;
    if (which >= j.strips || mine >= j.team) which = mine = 0; // left over: computes in vain
    A sum[V];
#pragma unroll
    for (int i = 0; i < V; i++) sum[i] = 0;
    const segment s = segment_of<P>(j, which);
    if (j.sums && s.line < j.outer) {
        const int64_t at = s.first + mine * V;
#pragma unroll
        for (int i = 0; i < V; i++)
            if (at + i >= 0 && at + i < j.outputs)
                sum[i] = static_cast<const A *>(j.sums)[s.line * j.outputs + at + i];
    }
    sum_run<A>(tile + which * j.pitch + mine * V + j.skip / E * E, j.skip % E, j.count, c.c,
               sum);

    __syncthreads(); // every thread has read its window
    using vector = typename vector_of<A>::type;
    const bool whole = P::copies && j.bulk && s.first >= 0 && s.first + j.team * V <= j.outputs;
#pragma unroll
    for (int i = 0; i < V && whole; i++) sum[i] = one_nan(sum[i]);
#pragma unroll
    for (int k = 0; k < V / E; k++)
        *reinterpret_cast<vector *>(tile + tid * V + k * E) = packed(&sum[k * E]);
    if (whole) { // bulk: one segment a block
        bulk_publish();
        __syncthreads(); // the results are in the tile
        if (tid == 0)
            bulk_store(static_cast<A *>(j.out) + s.line * j.outputs + s.first, tile,
                       (uint32_t)(j.team * V * sizeof(A)));
    } else {
        __syncwarp(); // a warp reads back only what it wrote
        drain_rows<P>(j, tile);
    }
}

// ---- the launch --------------------------------------------------------------------------------

// From so many coefficients on bulk copies gain: below, a tile that starts anywhere costs them more.
constexpr int kBulkTaps = 48;

template <typename P>
wk_status
launch_rows(wk_call *call, job *j, const typename P::sum *c)
{
    using A = typename P::sum;
    constexpr int V = kRun<A>, E = P::E, even = V % E ? 2 : 1;
    taps<A> few;
    const int64_t reach = j->outputs + E - 1; // with the lead
    const int64_t teams = (reach + V - 1) / V;
    j->skip = (int)((j->in_lead - j->lead - j->before) & (E - 1));
    j->aligned = j->outer == 1 || (j->outer_step - j->outputs) % E == 0;
    if (!j->aligned) j->skip = 0;
    j->tiles = (teams + kRowThreads - 1) / kRowThreads;
    j->team = (int)((teams + j->tiles - 1) / j->tiles + even - 1) / even * even;
    j->strips = j->tiles > 1 ? 1 : std::max(1, kRowThreads / j->team);
    const int line = 128 / (int)sizeof(A); // so that segments' banks go on where one ends
    const int halo = j->skip + j->count + 3 * kVector<A>; // a window is read somewhat ahead
    const auto shared_of = [&](int strips) {
        const int threads = (strips * j->team + kWarp - 1) / kWarp * kWarp;
        return (int64_t)std::max(strips * j->pitch, threads * V) * (int)sizeof(A);
    };
    j->pitch = j->team * V + (halo + line - 1) / line * line;
    while (j->strips > 1 && shared_of(j->strips) > kMostShared / 2) j->strips--;
    if (j->strips > j->outer) j->strips = (int)j->outer;
    const int threads = (j->strips * j->team + kWarp - 1) / kWarp * kWarp;
    j->bulk = j->bulk && P::copies && j->strips == 1 && j->aligned && j->count >= kBulkTaps;
    memcpy(few.c + j->skip % kVector<A>, c, (size_t)j->count * sizeof(A));
    const int64_t blocks = (j->outer * j->tiles + j->strips - 1) / j->strips;
    const auto bytes = (size_t)shared_of(j->strips);
    if (grant(call, stencil_rows<P>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)blocks, (unsigned)threads, bytes, stencil_rows<P>, *j, few);
}

} // namespace wk::stencil
