// rows.cuh -- how warps read an array to look at neighbours: rows of 32 lanes with 16 bytes each, a
// stretch of rows a warp, several on their way at once.
//
// Rows begin where memory's 16 bytes do, so the first one may begin before the array, and the last
// one end behind it: those are read element by element.
#pragma once
#include "runtime/launch.cuh"
#include "unique/keys.cuh"

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

template <typename P>
constexpr int kPer = 16 / sizeof(typename P::element); // elements of a lane in a row

// A lane's elements of a row that begin at index i, packed; the ends of the array one by one.
template <typename E>
__device__ __forceinline__ uint4
load_row(const E *in, int64_t n, int64_t i)
{
    constexpr int kMine = 16 / sizeof(E);
    if (i >= 0 && i + kMine <= n) return *reinterpret_cast<const uint4 *>(in + i);
    uint4 packed = {};
    E x[kMine];
#pragma unroll
    for (int v = 0; v < kMine; v++) x[v] = i + v >= 0 && i + v < n ? in[i + v] : E{};
    memcpy(&packed, x, sizeof packed);
    return packed;
}

template <typename P>
__device__ __forceinline__ void
keys_of_row(const uint4 &packed, word_of<typename P::value> *keys)
{
    typename P::element x[kPer<P>];
    memcpy(x, &packed, sizeof packed);
#pragma unroll
    for (int v = 0; v < kPer<P>; v++) keys[v] = P::key(x[v]);
}

// Bit v: the lane's element i + v is a head. before is the key left of the row, then of the next.
template <typename P>
__device__ __forceinline__ unsigned
mark_heads(const word_of<typename P::value> *keys, int64_t i, int64_t end, int lane,
           word_of<typename P::value> *before)
{
    using K = word_of<typename P::value>;
    const K last = keys[kPer<P> - 1];
    const K left = __shfl_up_sync(kAllLanes, last, 1);
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < kPer<P>; v++) {
        const K other = v ? keys[v - 1] : lane ? left : *before;
        bits |= (unsigned)(keys[v] != other) << v;
    }
    *before = __shfl_sync(kAllLanes, last, kWarp - 1);
    const int64_t stop = i + kPer<P>;
    if (i <= 0 && stop > 0) bits = (bits | 1u << -i) & ~0u << -i; // the very first
    if (stop > end) bits &= i < end ? ~(~0u << (end - i)) : 0;
    return stop > 0 ? bits : 0;
}

// Calls f(bits, keys, i) for a lane's part of each row of the warp; the same trips for all lanes.
template <typename P, typename F>
__device__ __forceinline__ void
for_rows(const typename P::element *in, const rows &r, F &&f)
{
    using K = word_of<typename P::value>;
    constexpr int64_t wide = kPer<P> * kWarp;
    const int lane = threadIdx.x % kWarp;
    const int64_t w = (int64_t)blockIdx.x * kRunWarps + threadIdx.x / kWarp;
    const int64_t begin = w * r.per * wide - r.skip, stop = begin + r.per * wide;
    const int64_t end = stop < r.n ? stop : r.n;
    K before = begin > 0 && begin < r.n ? P::key(in[begin - 1]) : 0;
    for (int64_t at = begin; at < end; at += wide * kRowsAhead) {
        uint4 packed[kRowsAhead];
#pragma unroll
        for (int g = 0; g < kRowsAhead; g++)
            packed[g] = load_row(in, end, at + g * wide + lane * kPer<P>);
#pragma unroll
        for (int g = 0; g < kRowsAhead; g++) {
            const int64_t i = at + g * wide + lane * kPer<P>;
            K keys[kPer<P>];
            keys_of_row<P>(packed[g], keys);
            f(mark_heads<P>(keys, i, end, lane, &before), keys, i);
        }
    }
}

} // namespace wk
