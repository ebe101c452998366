// shared.cuh -- a block counts in shared memory: elements of two bytes or more, bins that fit.
//
// In, out   n elements in any order -> int64 counts[kept]; a counter of 32 bits a bin and block.
// How       an increment by the literal 1 whose old value nobody wants merges the lanes that ask for
//           one counter, so that equal values cost no more than different ones. What is left are
//           lanes that want several counters of one bank: values that are multiples of 32 would
//           all lie in one, so the bank is turned by a hash of the counter's row.
// Source    studied on an H100: 2 clocks a warp where all lanes agree or none share a bank, 3.7 at
//           random; a general add takes 32 where all agree.
#pragma once
#include "histogram/production/policies.cuh"
#include "histogram/production/ways.cuh"

namespace wk::histogram
{

// Where number n's counter lies: rows of 32, each turned. 2^32 / golden ratio.
__device__ __forceinline__ unsigned
turned(unsigned n)
{
    return n ^ (((n >> 5) * 0x9e3779b1u) >> 27);
}

__host__ __device__ constexpr int64_t
words_of(int64_t counters)
{
    return (counters + 31) / 32 * 32;
}

// What a kernel gets of edges by its arguments: where each lane has copies of its own, all of them, the call's and
// behind them the policy's own.
// H100, 100 bins: 3.5 us for up to 1,024 elements; with copies to the device, for us and for the caller,
// 5.6.
template <bool kSent>
struct sent_edges {
    alignas(8) unsigned char bytes[384 * 8]; // of any type
};

template <>
struct sent_edges<false> {
};

// The edges, kLanes copies of them side by side in shared memory; not copied: where they came from.
template <unsigned kLanes, typename P>
__device__ __forceinline__ auto
near_edges(const P &policy, const void *from, bool copied, unsigned *room)
{
    if constexpr (!requires_edges<P>) {
        return no_edges{};
    } else {
        using E = typename P::edge;
        const auto bins = (unsigned)policy.task.args.bins;
        auto *here = reinterpret_cast<E *>(room);
        const auto *there = static_cast<const E *>(from);
        for (unsigned i = threadIdx.x; copied && i <= bins; i += kThreads) {
            const E edge = policy.template near_edge<(kLanes > 1)>(from, i);
            for (unsigned k = 0; k < kLanes; k++) here[i * kLanes + (k + i) % kLanes] = edge;
        }
        if constexpr (P::always_near || kLanes > 1)
            return edges_at<E, kLanes>{here + threadIdx.x % kLanes, nullptr};
        else
            return edges_anywhere<E>{here, there, copied, bins};
    }
}

// Kept: bins, and one more if what is outside counts. Alone: no other block counts, ever. kLanes: with
// 32 each lane has counters of its own, in a bank that no other lane of the warp uses; then the edges
// come with the launch, and go to `given` if there is such.
template <typename P, int U, int kBlocks, unsigned kLanes>
__global__ void
__launch_bounds__(kThreads, kBlocks)
    histogram_shared(const input<typename P::element> __grid_constant__ in,
                     const P __grid_constant__ policy,
                     const sent_edges<(kLanes > 1)> __grid_constant__ sent, unsigned *given,
                     unsigned kept, bool copied, bool alone, unsigned long long *counts)
{
    using T = typename P::element;
    WK_DYNAMIC_SHARED(unsigned, mine);
    const auto bins = (unsigned)policy.task.args.bins;
    const auto words = (unsigned)words_of(bins + 1) * kLanes;
    const unsigned lane = threadIdx.x % kLanes;
    for (unsigned i = threadIdx.x; i < words; i += kThreads) mine[i] = 0;
    const void *from = policy.task.edges;
    if constexpr (kLanes > 1) from = sent.bytes + (owns_edges<P> ? (bins + 1) * 8 : 0);
    auto edges = near_edges<kLanes>(policy, from, copied, mine + words);
    __syncthreads(); // every counter is zero, every edge there, before the first element
    if constexpr (maps_buckets<P>) {
        if (policy.map.buckets) { // behind the edges
            auto *room = reinterpret_cast<unsigned *>(
                reinterpret_cast<typename P::edge *>(mine + words) + (bins + 1) * kLanes);
            make_buckets(policy.map, edges, policy.reached, room);
            edges.ranges = room;
        }
    }

    const auto add = [&](unsigned number) {
        atomicAdd(&mine[kLanes > 1 ? number * kLanes + lane : turned(number)], 1u);
    };
    const auto count = [&](uint4 v) {
        const elements<T> e = unpacked<T>(v);
        unsigned number[kEach<T>];
        policy.numbers(e.x, number, edges);
#pragma unroll
        for (int i = 0; i < kEach<T>; i++) add(number[i]);
    };
    if (kLanes > 1 && given && blockIdx.x == 0) {
        const unsigned all = (bins + 1) * (policy.task.edges_dtype == WK_F32 ? 1 : 2);
        for (unsigned i = threadIdx.x; i < all; i += kThreads)
            given[i] = reinterpret_cast<const unsigned *>(&sent)[i];
    }
    each_of_tiles<U, false>(in, blockIdx.x, gridDim.x, count);
    each_behind_tiles<U>(in, blockIdx.x, gridDim.x, count);
    each_of_ends(in, blockIdx.x, [&](T x) {
        const T one[1] = {x};
        unsigned number[1];
        policy.numbers(one, number, edges);
        add(number[0]);
    });
    __syncthreads(); // every element is counted before the counters are read

    for (unsigned b = threadIdx.x; b < kept; b += kThreads) {
        unsigned c = 0;
        if (kLanes > 1)
            for (unsigned k = 0; k < kLanes; k++) c += mine[b * kLanes + (k + b) % kLanes];
        else
            c = mine[turned(b)];
        if (alone)
            counts[b] = c;
        else if (c)
            atomicAdd(&counts[b], (unsigned long long)c);
    }
}

// A multiprocessor's shared memory is the most that a block may have and the KiB that each block takes.
// Alone: counts are not there yet; else they are zero or earlier pieces', and go on.
template <typename P, int U, int kBlocks, unsigned kLanes>
wk_status
launch_lanes(wk_call *call, P policy, const many_bins &m, bool fresh, bool copied,
             int64_t bytes)
{
    sent_edges<(kLanes > 1)> sent = {};
    unsigned *given = nullptr;
    if constexpr (kLanes > 1) {
        memcpy(sent.bytes, call->aux.host, (size_t)call->aux.bytes);
        if constexpr (owns_edges<P>) {
            using E = typename P::edge;
            auto *own = reinterpret_cast<E *>(sent.bytes + call->aux.bytes);
            for (unsigned i = 0; i <= m.bins; i++)
                own[i] = policy.template edge_at<E>(call->aux.host, i);
        }
        if (call->outs == 2) given = static_cast<unsigned *>(call->out[1].data);
    } else {
        if (edges_there(call) != WK_OK) return call->error.status;
        policy.task.edges = call->aux.data;
    }
    using T = typename P::element;
    const int64_t fit = bytes <= most_shared(call) / 2 - 1024 ? kBlocks : 1;
    unsigned grid = blocks_for(m.n, processors(call) * fit);
    while (m.n / grid >= kMostOfBlock) grid *= 2;
    const bool alone = fresh && grid == 1;
    const auto kernel = histogram_shared<P, U, kBlocks, kLanes>;
    if (fresh && !alone && clear_counts(call) != WK_OK) return call->error.status;
    if (grant(call, kernel, (size_t)bytes) != WK_OK) return call->error.status;
    return launch(call, grid, kThreads, (size_t)bytes, kernel, input_of<T>(m.in, m.n), policy,
                  sent, given, m.kept, copied, alone, m.counts);
}

// 32 copies of counters and edges may take so much: they are cleared, filled and added once a block.
constexpr int64_t kMostCopied = 96 << 10;

template <typename P, int U, int kBlocks>
wk_status
launch_shared(wk_call *call, const P &policy, const many_bins &m, bool fresh)
{
    const int64_t words = words_of((int64_t)m.bins + 1);
    if constexpr (requires_edges<P>) {
        const int64_t edges = ((int64_t)m.bins + 1) * (int64_t)sizeof(typename P::edge);
        const int64_t all = 32 * (words * 4 + edges);
        int64_t table = 0;
        if constexpr (maps_buckets<P>) table = policy.map.bytes();
        const int64_t sent = call->aux.bytes + (owns_edges<P> ? edges : 0);
        if (all <= kMostCopied && sent <= (int64_t)sizeof(sent_edges<true>))
            return launch_lanes<P, U, kBlocks, 32>(call, policy, m, fresh, true, all + table);
        const bool copied = m.bins <= kMostNear;
        return launch_lanes<P, U, kBlocks, 1>(call, policy, m, fresh, copied,
                                              words * 4 + (copied ? edges + table : 0));
    } else {
        return launch_lanes<P, U, kBlocks, 1>(call, policy, m, fresh, false, words * 4);
    }
}

} // namespace wk::histogram
