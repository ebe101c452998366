// rows.cuh -- how warps read an array to look at neighbours: rows of 32 lanes with 16 bytes each, a
// stretch of rows a warp, several on their way at once.
//
// Rows begin where memory's 16 bytes do, so the first one may begin before the array, and the last
// one end behind it: those are read element by element.
#pragma once
#include "runtime/launch.cuh"
#include "prim/keys.cuh"

#include <cstring>

namespace wk
{

constexpr int kRunThreads = 256;
constexpr int kRunWarps = kRunThreads / kWarp;
constexpr int kRowsAhead = 4; // rows a warp has on their way: 2 KiB, 64 KiB a multiprocessor
constexpr int kRunBlocks = 4; // a multiprocessor: 64 registers a thread; all ranges are alike

struct rows {
    int64_t n;
    int skip;    // elements between the 16 bytes' boundary and the first
    int64_t per; // rows of a warp
};

template <typename K>
constexpr int kPer = 16 / sizeof(K); // elements of a lane in a row

// A lane's elements of a row that begin at index i, packed; the ends of the array one by one.
template <typename K>
__device__ __forceinline__ uint4
load_row(const K *in, int64_t n, int64_t i)
{
    if (i >= 0 && i + kPer<K> <= n) return *reinterpret_cast<const uint4 *>(in + i);
    uint4 packed = {};
    K x[kPer<K>];
#pragma unroll
    for (int v = 0; v < kPer<K>; v++) x[v] = i + v >= 0 && i + v < n ? in[i + v] : (K)0;
    memcpy(&packed, x, sizeof packed);
    return packed;
}

// Bit v: the lane's element i + v is a head. before is the key left of the row, then of the next.
template <typename K>
__device__ __forceinline__ unsigned
mark_heads(const K *keys, int64_t i, int64_t end, int lane, K *before)
{
    const K last = keys[kPer<K> - 1];
    const K left = __shfl_up_sync(kAllLanes, last, 1);
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < kPer<K>; v++) {
        const K other = v ? keys[v - 1] : lane ? left : *before;
        bits |= (unsigned)(keys[v] != other) << v;
    }
    *before = __shfl_sync(kAllLanes, last, kWarp - 1);
    const int64_t stop = i + kPer<K>;
    if (i <= 0 && stop > 0) bits = (bits | 1u << -i) & ~0u << -i; // the very first
    if (stop > end) bits &= i < end ? ~(~0u << (end - i)) : 0;
    return stop > 0 ? bits : 0;
}

// Calls f(bits, keys, i) for a lane's part of each row of the warp; the same trips for all lanes.
template <typename K, bool kMade, typename F>
__device__ __forceinline__ void
for_rows(const source<K, kMade> &from, const rows &r, F &&f)
{
    constexpr int64_t wide = kPer<K> * kWarp;
    const int lane = threadIdx.x % kWarp;
    const int64_t w = (int64_t)blockIdx.x * kRunWarps + threadIdx.x / kWarp;
    const int64_t begin = w * r.per * wide - r.skip, stop = begin + r.per * wide;
    const int64_t end = stop < r.n ? stop : r.n;
    K before = begin > 0 && begin < r.n ? from.one_at(begin - 1) : 0;
    for (int64_t at = begin; at < end; at += wide * kRowsAhead) {
        uint4 packed[kRowsAhead];
#pragma unroll
        for (int g = 0; g < kRowsAhead; g++)
            packed[g] = load_row(from.in, end, at + g * wide + lane * kPer<K>);
#pragma unroll
        for (int g = 0; g < kRowsAhead; g++) {
            const int64_t i = at + g * wide + lane * kPer<K>;
            K keys[kPer<K>];
            memcpy(keys, &packed[g], sizeof keys);
            from.unify(keys);
            f(mark_heads(keys, i, end, lane, &before), keys, i);
        }
    }
}

} // namespace wk
