// histogram / split -- two multiprocessors share the bins, and both read every element.
//
// In, out   uint32 numbers -> int64 counts; bins for twice a block's shared memory.
// How       rows of 32 bins belong to the two blocks of a pair by turns, so that sorted data keeps
//           both busy. What is the other's counts in a spare word: increments of one word merge, so
//           that costs nothing, while a branch around the add would cost as much as the add.
// Why so    the pair's second read of a tile comes from L2: H100, 2,690 GB/s of uniform int32; a study
//           read 2,760 with two that share, 2,370 with three; fields.cu is faster from three on.
#include "histogram/production/shared.cuh"

namespace wk::histogram
{

namespace
{

constexpr unsigned kShare = 2;

// kClamp: what is in no bin counts too. The block's own rows are every second one: row r is its r / 2.
template <bool kClamp>
__global__ void
__launch_bounds__(kThreads, 1)
    histogram_split(const input<uint32_t> __grid_constant__ in, unsigned bins, unsigned kept,
                    unsigned words, unsigned long long *counts)
{
    WK_DYNAMIC_SHARED(unsigned, mine);
    const unsigned part = blockIdx.x % kShare, group = blockIdx.x / kShare,
                   groups = gridDim.x / kShare;
    for (unsigned i = threadIdx.x; i <= words; i += kThreads) mine[i] = 0;
    __syncthreads(); // every counter is zero before the first add

    const auto one = [&](unsigned x) {
        const unsigned n = kClamp ? min(x, bins) : x, row = n / 32;
        const unsigned at = turned(row / kShare * 32 + n % 32);
        const bool counts_here = row % kShare == part && (kClamp || n < bins);
        atomicAdd(&mine[counts_here ? at : words], 1u);
    };
    each_of_tiles<4, true>(in, group, groups, [&](uint4 v) {
        one(v.x);
        one(v.y);
        one(v.z);
        one(v.w);
    });
    each_other<4>(in, group, groups, one);
    __syncthreads(); // every element is counted before the counters are read

    for (unsigned w = threadIdx.x; w < words; w += kThreads) {
        const unsigned n = (w / 32 * kShare + part) * 32 + w % 32, c = mine[turned(w)];
        if (c && n < kept) atomicAdd(&counts[n], (unsigned long long)c);
    }
}

int64_t
words_each(int64_t bins) // and a spare one
{
    return words_of(words_of(bins + 1) / kShare);
}

} // namespace

bool
fits_split(const wk_call *call, int64_t bins)
{
    return processors(call) >= (int)kShare && (words_each(bins) + 1) * 4 <= most_shared(call);
}

wk_status
split(wk_call *call, const many_bins &m)
{
    const int64_t words = words_each(m.bins), bytes = (words + 1) * 4;
    unsigned groups = blocks_for(m.n, processors(call) / kShare);
    while (m.n / groups >= kMostOfBlock) groups *= 2;
    const auto kernel = m.kept > m.bins ? histogram_split<true> : histogram_split<false>;
    if (grant(call, kernel, (size_t)bytes) != WK_OK) return call->error.status;
    return launch(call, groups * kShare, kThreads, (size_t)bytes, kernel,
                  input_of<uint32_t>(m.in, m.n), m.bins, m.kept, (unsigned)words, m.counts);
}

} // namespace wk::histogram
