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
#include "stencil/production/lines.cuh"

namespace wk::stencil
{

// V: outputs of a thread, an odd number of 16-byte vectors of the tile. H100, float32, share of the
// peak rate of multiply-adds at radius 64: 76 % with a window that slides, 85 % used in place, 92 % with
// bulk copies; 20, 28 and 36 outputs 87, 92 and 87 %. float64 sums of float32 data: 12 are the
// faster where memory binds, 20 where multiply-adds do.
template <typename P>
constexpr int kRun = sizeof(typename P::sum) == 4 ? 28 : 18;
constexpr int kShortRun = 12, kLongRun = 20;
constexpr int kShortTaps = 40;

template <typename T>
constexpr int kVector = 16 / (int)sizeof(T);

constexpr int kRowThreads = 128;
constexpr int kFewTaps = 40;
constexpr int64_t kShort = 48 << 10; // bytes of a block's tiles of short lines

// A thread's place: it belongs to the team of a segment, a tile of one line.
struct place {
    int64_t line,
        first;       // first: position of the tile's first output; a group's start, maybe < 0
    int which, mine; // segment of the block; thread of the team
    bool works;      // else it is left over
};

template <typename P, int V>
__device__ __forceinline__ place
place_of(const job &j)
{
    place p;
    int64_t start = 0;
    p.which = 0;
    p.mine = (int)threadIdx.x;
    if (j.strips == 1) {
        const unsigned line = blockIdx.x / (unsigned)j.tiles;
        p.line = line;
        start = (int64_t)(blockIdx.x - line * (unsigned)j.tiles) * (j.team * V);
    } else {
        p.which = p.mine / j.team;
        p.mine -= p.which * j.team;
        p.line = (int64_t)blockIdx.x * j.strips + p.which; // among all segments
        if (j.tiles > 1) {                                 // then there are fewer than 2^32
            const unsigned at = (unsigned)p.line, line = at / (unsigned)j.tiles;
            p.line = line;
            start = (int64_t)(at - line * (unsigned)j.tiles) * (j.team * V);
        }
    }
    p.works = p.which < j.strips && p.mine < j.team && p.line < j.outer;
    p.first = start - ((j.lead + p.line * j.outputs) & (P::E - 1));
    return p;
}

// Of a run of memory or of a tile: what part of [0, all) lies in [0, n), if 0 stands for `begin`.
struct part {
    int low, high;
};

__device__ __forceinline__ part
part_of(int64_t begin, int64_t n, int all)
{
    const int64_t left = n - begin;
    const int high = left < 0 ? 0 : left < all ? (int)left : all;
    return {begin >= 0 ? 0 : -begin < all ? (int)-begin : all, high};
}

// A segment's tile, by its team. Nobody reads it before the block's barrier behind this.
template <typename P, int V>
__device__ __forceinline__ void
fill_rows(const job &j, const place &p, typename P::tile *tile, uint64_t *arrived)
{
    using T = typename P::tile;
    constexpr int E = P::E;
    const int64_t begin = p.first - j.before - j.skip, line = p.line * j.outer_step;
    const int all = (j.team * V + j.skip + j.count - 1 + E - 1) / E * E, step = j.team * E;
    const part in = part_of(begin, j.n, all);
    const bool inside = j.aligned && in.low == 0 && in.high == all;
    if (P::copies && j.bulk && inside) { // one segment a block
        if (p.mine == 0) {
            bulk_start(arrived);
            bulk_expect(arrived, (uint32_t)(all * sizeof(T)));
            bulk_load(tile, static_cast<const T *>(j.in) + line + begin,
                      (uint32_t)(all * sizeof(T)), arrived);
        }
        __syncthreads(); // the barrier in shared memory is set up
        bulk_await(arrived);
        return;
    }
    // Groups from `low` to `high` lie in the line; what is around them comes element by element.
    const int wanted = part_of(begin, j.outputs + j.count - 1 - j.before, all).high;
    const bool groups = j.aligned || !P::copies;
    const int high = groups ? in.high / E * E : 0;
    const int low = min(groups ? (in.low + E - 1) / E * E : 0, high), last = min(high, wanted);
    if (!p.works) return;
    P::reading(j.types, [&](auto zero) {
        using U = decltype(zero);
        const U *from = static_cast<const U *>(j.in) + line + begin;
        int at = low + p.mine * E;
        if constexpr (!P::copies) {
            fill_converted<P, V / E + 1>(from + at, step, tile + at, step, last - at, step,
                                         j.aligned);
        } else {
            if (inside) {
                fill<P, V / E>(from + at, step, tile + at, step);
                at += V / E * step;
            }
#pragma unroll 1
            for (; at < last; at += step) fill<P, 1>(from + at, 0, tile + at, 0);
        }
    });
#pragma unroll 1
    for (int i = p.mine; i < low + wanted - high; i += j.team) {
        const int e = i < low ? i : i - low + high;
        const int64_t place = beyond(begin + e, j.n, j.mode);
        if (place < 0)
            tile[e] = (T)j.cval[0];
        else
            fill_one<P>(j.in, line + place, j.types, tile + e);
    }
    if constexpr (P::copies) await_copies();
}

// The window of registers over a run of shared memory; `first` coefficients' places lie before the
// window's first vector is whole.
template <int V, typename T, typename A>
__device__ __forceinline__ void
sum_run(const T *run, int first, int count, const A *c, A (&sum)[V])
{
    constexpr int E = kVector<T>, W = V + E;
    using vector = typename vector_of<T>::type;
    const vector *next = reinterpret_cast<const vector *>(run);
    A window[W];
    const int end = first + count; // coefficient t is c[t] for t = first .. end - 1
    int t = 0;
    if (first) { // loads of its own, or two windows would be alive at once
#pragma unroll
        for (int k = 0; k < W / E; k++) unpack(*next++, &window[k * E]);
#pragma unroll
        for (int k = 1; k < E; k++)
            if (k >= first && k < end) one_tap<A, V, W>(sum, window, k, c[k]);
        t = E; // start again one vector on
        next = reinterpret_cast<const vector *>(run) + 1;
    }
#pragma unroll
    for (int k = 0; k < W / E; k++) unpack(*next++, &window[k * E]);
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

// A team's results, of `run` places in shared memory, to its line.
template <typename P, typename U>
__device__ __forceinline__ void
drain_rows(const job &j, const place &p, int run, const U *results)
{
    constexpr int E = P::E;
    const int step = j.team * E;
    const part out = part_of(p.first, j.outputs, run);
    if (!p.works) return;
    int at = p.mine * E;
    const U *from = results + at;
    U *to = static_cast<U *>(j.out) + p.line * j.outputs + p.first + at;
#pragma unroll 1
    for (; at < out.high; at += step, to += step, from += step)
        drain<E>(to, from, out.low - at, out.high - at);
}

// Blocks on a multiprocessor, as many as registers for the window allow.
template <typename A, int V>
constexpr int kRowBlocks = sizeof(A) == 4   ? 7
                           : V == kShortRun ? 7
                           : V == kLongRun  ? 4
                                            : 5;

template <typename P, int V>
__global__ void
__launch_bounds__(kRowThreads, kRowBlocks<typename P::sum, V>)
    stencil_rows(const job __grid_constant__ j, const taps<typename P::sum> __grid_constant__ c)
{
    using A = typename P::sum;
    using T = typename P::tile;
    constexpr int E = kVector<T>;
    WK_DYNAMIC_SHARED(T, tiles);
    __shared__ uint64_t arrived;
    const place p = place_of<P, V>(j);
    const T *own = tiles + (p.works ? p.which * j.pitch + p.mine * V : 0); // else: in vain
    fill_rows<P, V>(j, p, tiles + p.which * j.pitch, &arrived);
    __syncthreads(); // the tiles are complete

    A sum[V];
#pragma unroll
    for (int i = 0; i < V; i++) sum[i] = 0;
    if (j.sums && p.works) {
        const int64_t at = p.first + p.mine * V;
        const part has = part_of(at, j.outputs, V);
        const A *from = static_cast<const A *>(j.sums) + p.line * j.outputs + at + has.low;
#pragma unroll
        for (int i = 0; i < V; i++) { // what is no output gets another's
            sum[i] = has.low < has.high ? *from : A(0);
            from += i >= has.low && i + 1 < has.high;
        }
    }
    sum_run<V>(own + j.skip / E * E, j.skip % E, j.count, c.c, sum);

    __syncthreads(); // every thread has read its window
    if constexpr (!P::copies) {
        const part has = part_of(p.first + p.mine * V, j.outputs, V);
        keep_some(sum, has.low, p.works ? has.high : 0);
    }
    P::converting(j.types, [&](auto zero) {
        using U = decltype(zero);
        U x[V];
        P::convert(sum, x);
        store_run(reinterpret_cast<U *>(tiles) + (int)threadIdx.x * V, x);
    });
    const bool whole = P::copies && j.bulk && p.first >= 0 && p.first + j.team * V <= j.outputs;
    if (whole) bulk_publish();
    __syncthreads(); // the results are there
    if (!whole) {
        P::writing(j.types, [&](auto zero) {
            const auto all = reinterpret_cast<const decltype(zero) *>(tiles);
            drain_rows<P>(j, p, j.team * V, all + ((int)threadIdx.x - p.mine) * V);
        });
    } else if (threadIdx.x == 0) { // bulk: one segment a block
        bulk_store(static_cast<T *>(j.out) + p.line * j.outputs + p.first, tiles,
                   (uint32_t)(j.team * V * sizeof(T)));
    }
}

// ---- the launch --------------------------------------------------------------------------------

// From so many coefficients on bulk copies gain: below, a tile that starts anywhere costs them more.
// H100, share of the floor at radius 24 and 32: float32 96 and 87 %, without 91 and 74;
// float64 90 and 96 %, without 99.
template <typename T>
constexpr int kBulkTaps = sizeof(T) == 4 ? 48 : 90;

// Tiles of a line, and segments of a block, for lines of `reach` places: the largest tiles, whose halos are
// read least, unless many coefficients make lanes that are left over dearer. In multiply-adds an
// element of a tile costs about 4, of a line's ends, which come one by one, 25.
template <int V>
void
cut_lines(job *j, int64_t reach, int even)
{
    const int64_t runs = (reach + V - 1) / V, least = (runs + kRowThreads - 1) / kRowThreads;
    const bool cuts = j->count >= kFewTaps && least <= 8 && j->outer < (int64_t)1 << 28;
    const int64_t most = cuts ? least + 6 : least;
    double best = 0;
    for (int64_t tiles = least; tiles <= most; tiles++) {
        const int team = (int)(((runs + tiles - 1) / tiles + even - 1) / even * even);
        const int strips = std::max(1, kRowThreads / team);
        const double lanes = (strips * team + kWarp - 1) / kWarp * kWarp;
        const double cost =
            (double)tiles * (V * lanes / strips * j->count + 4 * V * team + 25.0 * j->count);
        if (best > 0 && !(cost < best)) continue;
        best = cost;
        j->tiles = tiles, j->team = team, j->strips = strips;
    }
}

template <typename P, int V>
wk_status
launch_run(wk_call *call, job *j, const typename P::sum *c)
{
    using A = typename P::sum;
    using T = typename P::tile;
    constexpr int E = P::E, even = V % E ? 2 : 1, item = sizeof(T);
    const int result = wk_itemsize[j->types.out];
    taps<A> few;
    j->skip = (int)((j->in_lead - j->lead - j->before) & (E - 1));
    j->aligned = j->outer == 1 || (j->outer_step - j->outputs) % E == 0;
    if (!j->aligned) j->skip = 0;
    cut_lines<V>(j, j->outputs + E - 1, even); // with the lead
    const int line = 128 / item;               // so that segments' banks go on where one ends
    const int halo = j->skip + j->count + 3 * kVector<T>; // a window is read somewhat ahead
    const auto shared_of = [&](int strips) {
        const int threads = (strips * j->team + kWarp - 1) / kWarp * kWarp;
        return (int64_t)std::max(strips * j->pitch * item, threads * V * result);
    };
    j->pitch = j->team * V + (halo + line - 1) / line * line;
    while (j->strips > 1 && shared_of(j->strips) > kShort) j->strips--;
    if (j->strips > j->outer * j->tiles) j->strips = (int)(j->outer * j->tiles);
    const int threads = (j->strips * j->team + kWarp - 1) / kWarp * kWarp;
    j->bulk = j->bulk && P::copies && j->strips == 1 && j->aligned && j->count >= kBulkTaps<T>;
    memcpy(few.c + j->skip % kVector<T>, c, (size_t)j->count * sizeof(A));
    const int64_t blocks = (j->outer * j->tiles + j->strips - 1) / j->strips;
    const auto bytes = (size_t)shared_of(j->strips);
    if (grant(call, stencil_rows<P, V>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)blocks, (unsigned)threads, bytes, stencil_rows<P, V>, *j,
                  few);
}

template <typename P>
wk_status
launch_rows(wk_call *call, job *j, const typename P::sum *c)
{
    if constexpr (std::is_same_v<P, single>)
        return j->count <= kShortTaps ? launch_run<P, kShortRun>(call, j, c)
                                      : launch_run<P, kLongRun>(call, j, c);
    else
        return launch_run<P, kRun<P>>(call, j, c);
}

} // namespace wk::stencil
