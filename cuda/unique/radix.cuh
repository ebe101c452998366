// radix.cuh -- one pass of a sort by digits of 8 bits, lowest first: counted, placed, dealt out.
//
// A block owns the same stretch of keys in both kernels, so that it knows from the scanned table
// where each of its digits goes. In a tile a warp ranks its keys row by row: lanes that hold the same
// digit find each other by __match_any_sync, the first adds their number to the warp's count of the
// digit, and a key's rank is the count before plus the lanes to the left. Counts over warps, then over
// digits, make that the place in the tile; through shared memory keys go out in runs of one digit.
// Stable: rows, lanes, warps, tiles and blocks keep their order.
#pragma once
#include "runtime/launch.cuh"
#include "prim/keys.cuh"
#include "unique/scan.cuh"

namespace wk
{

// An 8-bit digit has as many values as a block has threads: between barriers each has one.
constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kSortThreads = kDigits;
constexpr int kSortWarps = kSortThreads / kWarp;
constexpr int kSortBlocks = 3; // a multiprocessor: for 4, of 64 registers a thread, keys spill
constexpr int kTileBytes = 16384; // of keys; with the counts of 8 warps 28 KiB

template <typename K>
constexpr int kSortRows = kTileBytes / sizeof(K) / kSortThreads; // keys of a thread in a tile
template <typename K>
constexpr int kSortTile = kSortRows<K> *kSortThreads;

struct stretch { // of keys, whole tiles but for the end
    int64_t n, per;
};

template <typename K>
__device__ __forceinline__ int
digit_of(K key, int shift)
{
    return (int)(key >> shift & (kDigits - 1));
}

// table[digit][block]: how many keys of a block's stretch have the digit.
template <typename K, bool kMade>
__global__ void
__launch_bounds__(kSortThreads) count_digits(const source<K, kMade> __grid_constant__ from,
                                             stretch s, int shift, int64_t *table)
{
    __shared__ unsigned counts[kSortWarps][kDigits]; // a table a warp: fewer adds meet
    const int t = threadIdx.x, w = t / kWarp;
    for (int i = 0; i < kSortWarps; i++) counts[i][t] = 0;
    __syncthreads(); // every count is zero before the first add
    const int64_t begin = blockIdx.x * s.per, stop = begin + s.per;
    const int64_t end = stop < s.n ? stop : s.n;
#pragma unroll 8
    for (int64_t i = begin + t; i < end; i += kSortThreads)
        atomicAdd(&counts[w][digit_of(from.key_at(i), shift)], 1u);
    __syncthreads(); // every add is done before the counts are read
    int64_t sum = 0;
    for (int i = 0; i < kSortWarps; i++) sum += counts[i][t];
    table[(int64_t)t * gridDim.x + blockIdx.x] = sum;
}

// Of each digit, a warp: how many there are in the blocks before, and in totals of all.
static __global__ void
__launch_bounds__(kSortThreads) scan_digits(int64_t *table, int blocks, int64_t *totals)
{
    const int lane = threadIdx.x % kWarp;
    const int digit = blockIdx.x * kSortWarps + threadIdx.x / kWarp;
    int64_t *row = table + (int64_t)digit * blocks, before = 0, total = 0;
    for (int b = 0; b < blocks; b += kWarp) { // the same trips for all lanes
        const int i = b + lane;
        const int64_t left = sum_before(i < blocks ? row[i] : 0, lane, &total);
        if (i < blocks) row[i] = before + left;
        before += total;
    }
    if (lane == 0) totals[digit] = before;
}

template <typename K>
struct sort_tile {
    K keys[kSortTile<K>];
    unsigned counts[kSortWarps][kDigits + 1]; // the last: of what lies behind the end
    int64_t to[kDigits];                      // where the tile's first key of a digit goes, ...
    int first[kDigits];                       // ... and where it is in the tile
    int64_t sums[kSortWarps];
    int sums_of_tile[kSortWarps];
};

// Ranks the thread's keys among the warp's, and leaves the warp's counts of digits.
template <typename K>
__device__ __forceinline__ void
rank_keys(const K *keys, int left, int shift, int lane, unsigned *counts, uint16_t *ranks)
{
    const unsigned before = (1u << lane) - 1;
#pragma unroll
    for (int r = 0; r < kSortRows<K>; r++) {
        const int digit = r * kWarp < left ? digit_of(keys[r], shift) : kDigits;
        const unsigned alike = __match_any_sync(kAllLanes, digit);
        const unsigned count = counts[digit];
        ranks[r] = (uint16_t)(count + __popc(alike & before));
        __syncwarp(); // all have read the count before one of them adds to it
        if ((alike & before) == 0) counts[digit] = count + __popc(alike);
        __syncwarp(); // it has been added before the next row reads it
    }
}

template <typename K, bool kMade>
__global__ void
__launch_bounds__(kSortThreads, kSortBlocks)
    deal_keys(const source<K, kMade> __grid_constant__ from, stretch s, int shift,
              const int64_t *table, const int64_t *totals, K *out)
{
    constexpr int kRows = kSortRows<K>;
    __shared__ sort_tile<K> tile;
    const int t = threadIdx.x, lane = t % kWarp, w = t / kWarp;
    int64_t all = 0;
    const int64_t smaller = sum_before_in_block<kSortWarps>(totals[t], tile.sums, &all);
    int64_t to = smaller + table[(int64_t)t * gridDim.x + blockIdx.x];
    const int64_t begin = blockIdx.x * s.per, stop = begin + s.per;
    const int64_t end = stop < s.n ? stop : s.n;
    for (int64_t at = begin; at < end; at += kSortTile<K>) { // the same trips for all threads
        const int here = end - at < kSortTile<K> ? (int)(end - at) : kSortTile<K>;
        const int left = here - w * kRows * kWarp - lane; // from the lane's first key on
        const K *mine = from.in + at + w * kRows * kWarp + lane;
        K keys[kRows];
        uint16_t ranks[kRows];
#pragma unroll
        for (int r = 0; r < kRows; r++) keys[r] = r * kWarp < left ? mine[r * kWarp] : (K)0;
        from.make_keys(keys);
        for (int i = lane; i <= kDigits; i += kWarp) tile.counts[w][i] = 0;
        __syncwarp(); // every count of the warp is zero before the first is read
        rank_keys(keys, left, shift, lane, tile.counts[w], ranks);
        __syncthreads(); // every warp's counts are there before they are added up
        unsigned own = 0;
        for (int i = 0; i < kSortWarps; i++) {
            const unsigned count = tile.counts[i][t];
            tile.counts[i][t] = own;
            own += count;
        }
        int all_digits = 0;
        const int first =
            sum_before_in_block<kSortWarps>((int)own, tile.sums_of_tile, &all_digits);
        tile.first[t] = first;
        tile.to[t] = to;
        to += own;
        __syncthreads(); // every digit's place is there before keys go to theirs
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            if (r * kWarp >= left) continue;
            const int digit = digit_of(keys[r], shift);
            tile.keys[tile.first[digit] + tile.counts[w][digit] + ranks[r]] = keys[r];
        }
        __syncthreads(); // every key is in its place before they go out
#pragma unroll 4
        for (int i = t; i < here; i += kSortThreads) {
            const K key = tile.keys[i];
            const int digit = digit_of(key, shift);
            out[tile.to[digit] + i - tile.first[digit]] = key;
        }
        __syncthreads(); // all have gone before the next tile's come
    }
}

} // namespace wk
