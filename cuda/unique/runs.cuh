// runs.cuh -- runs of equal neighbours in two launches: counted, then written.
//
// A head differs from what is left of it: the lane's own element, its left neighbour's by a shuffle,
// the row's before (rows.cuh). Lanes rank their heads by a scan of popcounts and pass value and
// place through shared memory, so that whole lines are stored. A head writes how long the run before
// it was; that needs only what is to the left, so no block waits for another: it adds up what the
// first launch left of all before it.
#pragma once
#include "unique/rows.cuh"
#include "unique/scan.cuh"

namespace wk
{

struct heads { // of a range: how many, and where the last one is; -1: there is none
    int64_t count, last;
};

// Of all lanes, in each of them.
__device__ __forceinline__ heads
join_lanes(heads h)
{
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
        const int64_t last = __shfl_xor_sync(kAllLanes, h.last, step);
        h.count += __shfl_xor_sync(kAllLanes, h.count, step);
        h.last = last > h.last ? last : h.last;
    }
    return h;
}

__device__ __forceinline__ heads
join(heads a, heads b)
{
    return {a.count + b.count, b.last > a.last ? b.last : a.last};
}

template <typename K, bool kMade>
__global__ void
__launch_bounds__(kRunThreads, kRunBlocks)
    count_heads(const source<K, kMade> __grid_constant__ from, rows r, heads *warps,
                heads *blocks)
{
    __shared__ heads mine[kRunWarps];
    const int w = threadIdx.x / kWarp;
    heads own = {0, -1};
    for_rows(from, r, [&](unsigned bits, const K *, int64_t i) {
        own.count += __popc(bits);
        if (bits) own.last = i + 31 - __clz((int)bits);
    });
    own = join_lanes(own);
    if (threadIdx.x % kWarp == 0) mine[w] = warps[blockIdx.x * kRunWarps + w] = own;
    __syncthreads(); // every warp's heads are there before they are joined
    if (threadIdx.x != 0) return;
    for (int i = 1; i < kRunWarps; i++) own = join(own, mine[i]);
    blocks[blockIdx.x] = own;
}

// What stands before this warp: in blocks before, and in warps of its own block.
__device__ __forceinline__ heads
heads_before(const heads *warps, const heads *blocks, heads *mine)
{
    const int w = threadIdx.x / kWarp;
    heads h = {0, -1};
    for (unsigned b = threadIdx.x; b < blockIdx.x; b += kRunThreads) h = join(h, blocks[b]);
    h = join_lanes(h);
    if (threadIdx.x % kWarp == 0) mine[w] = h;
    __syncthreads(); // every warp's share is there before it is joined
    for (int i = 0; i < kRunWarps; i++) h = i == w ? h : join(h, mine[i]);
    for (int i = 0; i < w; i++) h = join(h, warps[blockIdx.x * kRunWarps + i]);
    return h;
}

template <typename K, bool kMade>
__global__ void
__launch_bounds__(kRunThreads, kRunBlocks)
    write_heads(const source<K, kMade> __grid_constant__ from, rows r, const heads *warps,
                const heads *blocks, K *values, int64_t *counts, int64_t *total)
{
    __shared__ heads shares[kRunWarps];
    __shared__ K found[kRunWarps][kWarp * kPer<K>];         // keys of a row's heads ...
    __shared__ uint16_t places[kRunWarps][kWarp * kPer<K>]; // ... and where they are in it
    const int lane = threadIdx.x % kWarp, w = threadIdx.x / kWarp;
    heads left = heads_before(warps, blocks, shares);
    for_rows(from, r, [&](unsigned bits, const K *keys, int64_t i) {
        int own = 0;
        int slot = sum_before(__popc(bits), lane, &own);
        if (own == 0) return; // of no lane: inside a run
#pragma unroll
        for (int v = 0; v < kPer<K>; v++) {
            if (!(bits >> v & 1)) continue;
            found[w][slot] = keys[v];
            places[w][slot++] = (uint16_t)(lane * kPer<K> + v);
        }
        __syncwarp(); // all heads are there before they are stored
        const int64_t row = i - lane * kPer<K>;
        for (int s = lane; s < own; s += kWarp) {
            const int64_t before = s ? row + places[w][s - 1] : left.last;
            values[left.count + s] = from.element_of_one(found[w][s]);
            if (left.count + s > 0) counts[left.count + s - 1] = row + places[w][s] - before;
        }
        left = {left.count + own, row + places[w][own - 1]};
        __syncwarp(); // all were read before the next row's come
    });
    if (lane != 0 || w != kRunWarps - 1 || blockIdx.x != gridDim.x - 1) return;
    *total = left.count; // the last warp has seen all
    if (left.count) counts[left.count - 1] = r.n - left.last;
}

// Runs of n elements to the call's results.
template <typename K, bool kMade>
wk_status
launch_runs(wk_call *call, const source<K, kMade> &from, int64_t n)
{
    constexpr int64_t wide = kPer<K> * kWarp;
    rows r = {n, (int)((uintptr_t)from.in % 16 / sizeof(K)), 0};
    const int64_t all = (n + r.skip + wide - 1) / wide;
    const int64_t enough = (all + kRunWarps * kRowsAhead - 1) / (kRunWarps * kRowsAhead);
    const int64_t most = (int64_t)processors(call) * kRunBlocks;
    const unsigned grid = (unsigned)(enough < 1 ? 1 : enough < most ? enough : most);
    r.per = (all + grid * kRunWarps - 1) / (grid * kRunWarps);
    void *table = nullptr;
    if (allocate(call, grid * (kRunWarps + 1) * (int64_t)sizeof(heads), &table) != WK_OK)
        return call->error.status;
    heads *warps = (heads *)table, *blocks = warps + grid * kRunWarps;
    if (launch(call, grid, kRunThreads, 0, count_heads<K, kMade>, from, r, warps, blocks) !=
        WK_OK)
        return call->error.status;
    return launch(call, grid, kRunThreads, 0, write_heads<K, kMade>, from, r, warps, blocks,
                  (K *)call->out[0].data, (int64_t *)call->out[1].data,
                  (int64_t *)call->out[2].data);
}

} // namespace wk
