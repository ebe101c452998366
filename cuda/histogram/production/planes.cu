// histogram / planes -- the low one or two bits of every count in shared memory, the rest in L2.
//
// In, out   uint32 numbers -> int64 counts; up to 32 bins a word of a block's shared memory.
// How       bit n of a plane is bit 0 (bit 1 in the second plane) of bin n's count: XOR adds one and
//           returns the word as it was, whose bit is the carry to the next plane, and from the last
//           one to L2. The last plane may cover the first bins alone: all of shared memory is used.
//           Frequent values and runs as in fields.cuh; the blocks' planes are stored, and summed 32
//           bins at once by adders of logic operations.
// Why so    H100, 2^20 bins, 1 GiB of int32: 1,433 GB/s uniform, 1,112 Zipf, 908 multiples of 32; a
//           study had 1,020 and 830 with one plane, and 270 with every element to L2.
// Source    H. Warren, "Hacker's Delight", on counting the bits of arrays by adders of words.
#include "histogram/production/hot.cuh"
#include "histogram/production/shared.cuh"

namespace wk::histogram
{

namespace
{

struct planes_task { // of numbers first ... first + bins; a number is `most` at most
    unsigned most, first, bins, kept;
    unsigned words, last; // of the first plane; of the second, its first words
    unsigned long long *counts;
};

__device__ __forceinline__ void
to_counts(const planes_task &t, unsigned n, uint64_t c)
{
    if (n < t.kept) atomicAdd(&t.counts[n], (unsigned long long)c);
}

// m of one bin.
__device__ __forceinline__ void
add_many(const planes_task &t, unsigned *planes, unsigned n, unsigned m)
{
    const unsigned bit = 1u << n % 32, word = n / 32;
    if (m & 1) {
        bool carry = atomicXor(&planes[word], bit) & bit;
        unsigned weight = 2;
        if (carry && word < t.last) {
            carry = atomicXor(&planes[t.words + word], bit) & bit;
            weight = 4;
        }
        m = (m & ~1u) + (carry ? weight : 0);
    }
    if (m) to_counts(t, n, m);
}

template <bool kHot>
__device__ __forceinline__ void
count_four(const planes_task &t, unsigned *planes, const hot_values &hot,
           const unsigned (&n)[4])
{
    unsigned word[4], bit[4], old[4];
    const unsigned spare = t.words + t.last;
    bool carry[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const bool here = n[i] < t.bins; // a bit that all lanes turned would be a queue
        word[i] = here ? n[i] / 32 : spare + threadIdx.x % kWarp;
        bit[i] = here ? 1u << n[i] % 32 : 0;
    }
    if constexpr (kHot) {
        bool found[4];
        hot.count(planes, spare, n, found);
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (found[i]) word[i] = spare + threadIdx.x % kWarp, bit[i] = 0;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) old[i] = atomicXor(&planes[word[i]], bit[i]);
#pragma unroll
    for (int i = 0; i < 4; i++) carry[i] = old[i] & bit[i];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        old[i] = bit[i];
        if (carry[i] && n[i] / 32 < t.last)
            old[i] = atomicXor(&planes[word[i] + t.words], bit[i]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (carry[i] && (old[i] & bit[i])) to_counts(t, n[i], n[i] / 32 < t.last ? 4 : 2);
}

__global__ void
__launch_bounds__(kThreads, 1)
    histogram_planes(const input<uint32_t> __grid_constant__ in,
                     const planes_task __grid_constant__ t, const hot_list *list, uint4 *tables)
{
    WK_DYNAMIC_SHARED(unsigned, mine);
    const unsigned total = t.words + t.last;
    hot_values hot;
    for (unsigned i = threadIdx.x; i < total + 32; i += kThreads) mine[i] = 0;
    hot.start(mine, total + 32, list); // its barrier: every bit is zero

    const auto number = [&](unsigned x) { return min(x, t.most) - t.first; };
    const auto many = [&](unsigned x, unsigned m) {
        const unsigned n = number(x);
        unsigned counter;
        if (n >= t.bins) return;
        if (hot.find(mine, n, &counter))
            atomicAdd(&mine[counter], m);
        else
            add_many(t, mine, n, m);
    };
    const auto each = [&](auto with_hot) {
        each_of_tiles<2, true>(in, blockIdx.x, gridDim.x, [&](uint4 v) {
            by_runs<uint32_t>(
                v,
                [&](const unsigned(&x)[4]) {
                    const unsigned n[4] = {number(x[0]), number(x[1]), number(x[2]),
                                           number(x[3])};
                    count_four<decltype(with_hot)::value>(t, mine, hot, n);
                },
                many);
        });
    };
    if (list->found)
        each(std::true_type{});
    else
        each(std::false_type{});
    each_other<2>(in, blockIdx.x, gridDim.x, [&](uint32_t x) { many(x, 1); });
    __syncthreads(); // every element is counted before the planes are read

    hot.add_to(mine, t.counts, t.kept);
    const auto *from = reinterpret_cast<const uint4 *>(mine);
    for (unsigned i = threadIdx.x; i < total / 4; i += kThreads)
        tables[(int64_t)blockIdx.x * (total / 4) + i] = from[i];
}

// Adds bits of weight 2^k to sliced sums, 32 of them at once.
template <int k, int kSlices>
__device__ __forceinline__ void
add_bits(unsigned (&sum)[kSlices], unsigned bits)
{
#pragma unroll
    for (int j = k; j < kSlices; j++) {
        const unsigned carry = sum[j] & bits;
        sum[j] ^= bits;
        bits = carry;
    }
}

// A warp takes 32 words of the planes, a lane each, from all blocks; then lane l turns bit l of all 32
// words' slices into counts, so that neighbours store neighbours.
template <int kSlices>
__global__ void
histogram_planes_sum(const unsigned *tables, unsigned blocks,
                     const planes_task __grid_constant__ t)
{
    const unsigned lane = threadIdx.x % kWarp, total = t.words + t.last;
    const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp * kWarp;
    const unsigned w = first + lane;
    unsigned sum[kSlices] = {};
#pragma unroll 4
    for (unsigned b = 0; b < blocks; b++) {
        const unsigned *from = tables + (int64_t)b * total;
        add_bits<0>(sum, w < t.words ? from[w] : 0);
        add_bits<1>(sum, w < t.last ? from[t.words + w] : 0);
    }
    for (unsigned i = 0; i < kWarp; i++) {
        const unsigned n = (first + i) * 32 + lane;
        unsigned c = 0;
#pragma unroll
        for (int j = 0; j < kSlices; j++)
            c |= (__shfl_sync(kAllLanes, sum[j], (int)i) >> lane & 1) << j;
        if (c && n < t.kept) t.counts[n] += c; // each bin is one lane's
    }
}

// Words of the first plane, and of both where shared memory holds them.
unsigned
plane_words(int64_t bins)
{
    return (unsigned)words_of((bins + 31) / 32);
}

int64_t
room_of(const wk_call *call)
{
    return (most_shared(call) / 4 - 32 - kHotWords) / 32 * 32;
}

// Numbers first ... first + bins.
wk_status
count_range(wk_call *call, const many_bins &m, unsigned first, unsigned bins)
{
    constexpr int kSlices = 12;                           // bits of a sum of all blocks
    constexpr unsigned kMostBlocks = (1u << kSlices) / 3; // each adds up to 3
    const unsigned words = plane_words(bins);
    const int64_t left = room_of(call) - words;
    const planes_task t = {
        m.bins,          first, bins, bins, words, left < words ? (unsigned)left : words,
        m.counts + first};
    const unsigned total = t.words + t.last;
    const size_t bytes = (total + 32 + kHotWords) * 4;
    unsigned grid = blocks_for(m.n, processors(call));
    if (grid > kMostBlocks) grid = kMostBlocks;
    room *r = m.kept_room;
    const auto *in = static_cast<const uint32_t *>(m.in);
    if (sample(call, in, m.n, first, bins, &r->list) != WK_OK ||
        keep(call, (int64_t)grid * total * 4, &r->tables) != WK_OK ||
        grant(call, histogram_planes, bytes) != WK_OK ||
        launch(call, grid, kThreads, bytes, histogram_planes, input_of<uint32_t>(in, m.n), t,
               static_cast<const hot_list *>(r->list),
               static_cast<uint4 *>(r->tables)) != WK_OK)
        return call->error.status;
    constexpr unsigned kWide = 128; // threads: few blocks, so small ones
    return launch(call, (words + kWide - 1) / kWide, kWide, 0, histogram_planes_sum<kSlices>,
                  static_cast<const unsigned *>(r->tables), grid, t);
}

// Bins of one reading of the input.
int64_t
bins_a_pass(const wk_call *call)
{
    return room_of(call) * 32;
}

} // namespace

bool
fits_planes(const wk_call *call, int64_t bins)
{
    constexpr int64_t kMostPasses = 12;
    return bins + 1 <= kMostPasses * bins_a_pass(call);
}

// More bins than a block has bits of are counted range by range: H100, 10^7
// uniform bins: 378 GB/s, and 81 in L2.
wk_status
planes(wk_call *call, const many_bins &m)
{
    const int64_t most = bins_a_pass(call), passes = (m.kept + most - 1) / most;
    const int64_t each = (m.kept + passes - 1) / passes;
    for (int64_t first = 0; first < m.kept; first += each)
        if (count_range(call, m, (unsigned)first,
                        (unsigned)(m.kept - first < each ? m.kept - first : each)) != WK_OK)
            return call->error.status;
    return WK_OK;
}

} // namespace wk::histogram
