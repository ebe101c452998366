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
#include "histogram/policies.cuh"
#include "histogram/ways.cuh"

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

// Copies of the edges in shared memory, side by side: with 32 each lane reads its own, from banks that
// no other lane of its half warp wants; 0: they stay where they are.
template <typename P>
__device__ __forceinline__ auto
near_edges(const P &policy, unsigned copies, unsigned *room)
{
    if constexpr (!requires_edges<P>) {
        return no_edges{};
    } else {
        using E = typename P::edge;
        const bool doubles = policy.task.edges_dtype == WK_F64; // E may be float, for by_edges
        const auto bins = (unsigned)policy.task.args.bins;
        auto *here = reinterpret_cast<E *>(room);
        const auto *there = static_cast<const E *>(policy.task.edges);
        for (unsigned i = threadIdx.x; i < (bins + 1) * copies; i += kThreads) {
            const unsigned k = i / copies;
            if constexpr (std::is_same_v<E, float>) {
                const auto *wide = static_cast<const double *>(policy.task.edges);
                here[i] = !doubles ? there[k] : k < bins ? float_up(wide[k]) : float_down(wide[k]);
            } else {
                here[i] = there[k];
            }
        }
        if constexpr (!P::always_near)
            return edges_at<E>{copies ? here + threadIdx.x % copies : here, there, copies};
        else
            return edges_near<E>{here + threadIdx.x % copies, copies};
    }
}

// Kept: bins, and one more if what is outside counts. Alone: no other block counts, ever.
template <typename P, int U, int kBlocks>
__global__ void
__launch_bounds__(kThreads, kBlocks)
    histogram_shared(const input<typename P::element> __grid_constant__ in,
                     const P __grid_constant__ policy, unsigned kept, unsigned copies,
                     bool alone, unsigned long long *counts)
{
    using T = typename P::element;
    WK_DYNAMIC_SHARED(unsigned, mine);
    const auto bins = (unsigned)policy.task.args.bins;
    const auto words = (unsigned)words_of(bins + 1);
    for (unsigned i = threadIdx.x; i < words; i += kThreads) mine[i] = 0;
    const auto edges = near_edges(policy, copies, mine + words);
    __syncthreads(); // every counter is zero, every edge there, before the first element

    const auto count = [&](uint4 v) {
        const elements<T> e = unpacked<T>(v);
        unsigned number[kEach<T>];
        policy.numbers(e.x, number, edges);
#pragma unroll
        for (int i = 0; i < kEach<T>; i++) atomicAdd(&mine[turned(number[i])], 1u);
    };
    each_of_tiles<U, false>(in, blockIdx.x, gridDim.x, count);
    each_behind_tiles<U>(in, blockIdx.x, gridDim.x, count);
    each_of_ends(in, blockIdx.x, [&](T x) {
        const T one[1] = {x};
        unsigned number[1];
        policy.numbers(one, number, edges);
        atomicAdd(&mine[turned(number[0])], 1u);
    });
    __syncthreads(); // every element is counted before the counters are read

    for (unsigned b = threadIdx.x; b < kept; b += kThreads) {
        const unsigned c = mine[turned(b)];
        if (alone)
            counts[b] = c;
        else if (c)
            atomicAdd(&counts[b], (unsigned long long)c);
    }
}

// 32 copies of the edges may take so much: it is read once a block from L2.
constexpr int64_t kMostCopied = 64 << 10;

// A multiprocessor's shared memory is the most that a block may have and the KiB that each block takes.
// Alone: counts are not there yet; else they are zero or earlier pieces', and go on.
template <typename P, int U, int kBlocks>
wk_status
launch_shared(wk_call *call, const P &policy, const many_bins &m, bool fresh)
{
    using T = typename P::element;
    const int64_t most = most_shared(call);
    int64_t bytes = words_of((int64_t)m.bins + 1) * 4;
    unsigned copies = 0;
    if constexpr (requires_edges<P>) {
        const int64_t room = ((int64_t)m.bins + 1) * (int64_t)sizeof(typename P::edge);
        copies = room * 32 <= kMostCopied ? 32 : m.bins <= kMostNear ? 1 : 0;
        bytes += room * copies;
    }
    const int64_t fit = bytes <= most / 2 - 1024 ? kBlocks : 1;
    unsigned grid = blocks_for(m.n, processors(call) * fit);
    while (m.n / grid >= kMostOfBlock) grid *= 2;
    const bool alone = fresh && grid == 1;
    const auto kernel = histogram_shared<P, U, kBlocks>;
    if (fresh && !alone && clear_counts(call) != WK_OK) return call->error.status;
    if (grant(call, kernel, (size_t)bytes) != WK_OK) return call->error.status;
    return launch(call, grid, kThreads, (size_t)bytes, kernel, input_of<T>(m.in, m.n), policy,
                  m.kept, copies, alone, m.counts);
}

} // namespace wk::histogram
