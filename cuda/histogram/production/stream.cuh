// stream.cuh -- how a counting kernel reads its input: once, 16 bytes a load, from any address.
//
// A group of blocks takes tiles of blockDim.x * U vectors by turns; what does not fill a tile goes
// vector by vector, what does not fill a vector element by element.
#pragma once
#include "prim/halves.cuh"
#include "prim/memory.cuh"

#include <cstring>

namespace wk::histogram
{

constexpr int kThreads = 1024; // of a counting block: with half as many, loads wait for atomics

template <typename T>
constexpr int kEach = 16 / (int)sizeof(T); // elements of a vector

template <typename T>
struct input {
    const T *in;
    int64_t n;
    int64_t lead, vectors; // elements before the first 16-byte boundary, and vectors behind it
};

template <typename T>
input<T>
input_of(const void *data, int64_t n)
{
    const auto past = (int64_t)(reinterpret_cast<uintptr_t>(data) % 16);
    const int64_t lead = past ? (16 - past) / (int64_t)sizeof(T) : 0;
    input<T> in = {static_cast<const T *>(data), n, lead < n ? lead : n, 0};
    in.vectors = (n - in.lead) / kEach<T>;
    return in;
}

template <typename T>
struct elements {
    T x[kEach<T>];
};

template <typename T>
__device__ __forceinline__ elements<T>
unpacked(uint4 v)
{
    elements<T> e;
    memcpy(&e, &v, sizeof e);
    return e;
}

// Calls body(uint4) for the vectors of the group's tiles: all threads of a block alike, as many times.
// kAhead: the next tile is on its way while this one is counted.
template <int U, bool kAhead, typename T, typename F>
__device__ __forceinline__ void
each_of_tiles(const input<T> &in, unsigned group, unsigned groups, F &&body)
{
    const int64_t tile = (int64_t)kThreads * U, tiles = in.vectors / tile;
    const uint4 *p =
        reinterpret_cast<const uint4 *>(in.in + in.lead) + group * tile + threadIdx.x;
    uint4 now[U], next[U];
    if (kAhead && group < tiles) {
#pragma unroll
        for (int j = 0; j < U; j++) next[j] = read_once(p + j * kThreads);
    }
    for (int64_t t = group; t < tiles; t += groups, p += groups * tile) {
        __syncwarp(); // lanes that the body kept are waited for, else each part of the warp loads alone
#pragma unroll
        for (int j = 0; j < U; j++) now[j] = kAhead ? next[j] : read_once(p + j * kThreads);
        if (kAhead && t + groups < tiles) {
#pragma unroll
            for (int j = 0; j < U; j++) next[j] = read_once(p + groups * tile + j * kThreads);
        }
#pragma unroll
        for (int j = 0; j < U; j++) body(now[j]);
    }
}

// Calls body(uint4) for the vectors behind the last tile; some threads have none.
template <int U, typename T, typename F>
__device__ __forceinline__ void
each_behind_tiles(const input<T> &in, unsigned group, unsigned groups, F &&body)
{
    const int64_t tile = (int64_t)kThreads * U, step = (int64_t)groups * kThreads;
    const uint4 *p = reinterpret_cast<const uint4 *>(in.in + in.lead);
    int64_t i = in.vectors / tile * tile + (int64_t)group * kThreads + threadIdx.x;
    for (; i < in.vectors; i += step) body(read_once(p + i));
}

// Calls body(T) for the elements that fill no vector: fewer than two vectors', so one group does.
template <typename T, typename F>
__device__ __forceinline__ void
each_of_ends(const input<T> &in, unsigned group, F &&body)
{
    if (group != 0) return;
    const int64_t behind = in.lead + in.vectors * kEach<T>, i = threadIdx.x;
    if (i < in.lead) body(in.in[i]);
    if (i < in.n - behind) body(in.in[behind + i]);
}

// The same for kernels whose body is long: all that is behind the tiles, element by element.
template <int U, typename T, typename F>
__device__ __forceinline__ void
each_other(const input<T> &in, unsigned group, unsigned groups, F &&body)
{
    const int64_t tile = (int64_t)kThreads * U, step = (int64_t)groups * kThreads;
    const int64_t behind = in.lead + in.vectors / tile * tile * kEach<T>;
    for (int64_t i = (int64_t)group * kThreads + threadIdx.x; i < in.lead + in.n - behind;
         i += step)
        body(in.in[i < in.lead ? i : behind + i - in.lead]);
}

// Blocks, at most `most`, so that each has a tile of 2^14 elements or more: a block's counters are
// cleared and added once, which takes as long.
inline unsigned
blocks_for(int64_t n, int64_t most)
{
    const int64_t wanted = (n + (1 << 14) - 1) >> 14;
    return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

} // namespace wk::histogram
