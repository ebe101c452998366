// fields.cuh -- counters of a few bits, several to a word of shared memory; carries go to L2.
//
// In, out   numbers -> int64 counts; up to sixteen times the bins that whole words would hold.
// How       an add returns the word as it was, and so shows exactly whether the field was full: who
//           filled it takes the carry back out of the field above and sends 2^bits to the count in
//           L2. Frequent values would do that all the time: they are counted apart (hot.cuh), and
//           runs at once. At the end the blocks' tables are stored and summed by another kernel:
//           as many adds in L2 would take longer.
// Why so    L2 takes 86 G adds a second on an H100, a twentieth of what shared memory does.
//           Several fields with several multiprocessors that share were slower: examining the old
//           words is the cost.
#pragma once
#include "histogram/production/hot.cuh"
#include "histogram/production/shared.cuh"

namespace wk::histogram
{

// Row d of 32 bins lies in field d / rows of the words of row d % rows. With 16 bits the numbers are all
// values of two bytes, and no others.
template <int kBits, int kPerWord>
struct field_table {
    static constexpr unsigned kMost = (1u << kBits) - 1;
    static constexpr bool kHalves = kBits == 16;
    unsigned kept, rows, reciprocal; // of rows, 2^32 / rows rounded up
    unsigned long long *counts;

    __device__ __forceinline__ unsigned field_of(unsigned n) const
    {
        return kHalves ? n >> 15 : __umulhi(n / 32, reciprocal);
    }

    __device__ __forceinline__ unsigned word_of(unsigned n, unsigned field) const
    {
        return kHalves ? turned(n) & 0x7fff : turned(n) - field * rows * 32;
    }

    // The bin of a word's field.
    __device__ __forceinline__ unsigned bin_of_field(unsigned word, unsigned field) const
    {
        return turned((word / 32 + field * rows) * 32 + word % 32);
    }

    __device__ __forceinline__ void to_counts(unsigned n, uint64_t c) const
    {
        if (n < kept) atomicAdd(&counts[n], (unsigned long long)c);
    }

    // Rare: a carry ran on through full fields above, and back again by our subtraction. What both did
    // to each field is taken from its bin.
    WK_NOINLINE __device__ void ripple(unsigned word, unsigned field, unsigned old,
                                       unsigned add, unsigned old2) const
    {
        const unsigned new1 = old + add, new2 = old2 - (1u << (field + 1) * kBits);
#pragma unroll 1
        for (unsigned f = field + 1; f < kPerWord; f++) {
            const unsigned at = f * kBits;
            const int by = (int)(new1 >> at & kMost) - (int)(old >> at & kMost) +
                           (int)(new2 >> at & kMost) - (int)(old2 >> at & kMost);
            if (by) to_counts(bin_of_field(word, f), (uint64_t)(int64_t)-by);
        }
    }

    // The field of n overflowed when `add` came to `old`.
    __device__ __forceinline__ void carry(unsigned *mine, unsigned n, unsigned word,
                                          unsigned field, unsigned old, unsigned add) const
    {
        if (field + 1 < kPerWord) {
            const unsigned at = (field + 1) * kBits,
                           old2 = atomicAdd(&mine[word], 0u - (1u << at));
            if ((old >> at & kMost) == kMost || (old2 >> at & kMost) == 0)
                ripple(word, field, old, add, old2);
        }
        to_counts(n, 1u << kBits);
    }

    __device__ void add_many(unsigned *mine, unsigned n, unsigned m) const
    {
        if (m > kMost) to_counts(n, m & ~kMost);
        m &= kMost;
        if (m == 0) return;
        const unsigned field = field_of(n), add = m << field * kBits;
        const unsigned word = word_of(n, field), old = atomicAdd(&mine[word], add);
        if ((old >> field * kBits & kMost) + m > kMost) carry(mine, n, word, field, old, add);
    }
};

// Four numbers of a lane; with kHot the frequent ones apart. 32 words from `spare` on are for what
// counts elsewhere.
template <bool kHot, int kBits, int kPerWord>
__device__ __forceinline__ void
count_four(unsigned *mine, const field_table<kBits, kPerWord> &t, const hot_values &hot,
           unsigned spare, const unsigned (&n)[4])
{
    constexpr unsigned kMost = (1u << kBits) - 1;
    unsigned word[4], field[4], add[4], old[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        field[i] = t.field_of(n[i]);
        word[i] = t.word_of(n[i], field[i]);
        add[i] = t.kHalves ? field[i] * t.kMost + 1 : 1u << field[i] * kBits;
    }
    if constexpr (kHot) {
        bool found[4];
        hot.count(mine, spare, n, found);
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (found[i]) word[i] = spare + threadIdx.x % kWarp, add[i] = 0;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) old[i] = atomicAdd(&mine[word[i]], add[i]);
    if constexpr (field_table<kBits, kPerWord>::kHalves) { // mostly no field is even half full
        if (((old[0] | old[1] | old[2] | old[3]) & 0x80008000) == 0) return;
    } else {
        bool full = false;
#pragma unroll
        for (int i = 0; i < 4; i++) full |= add[i] && (~old[i] & add[i] * kMost) == 0;
        if (!full) return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (add[i] && (~old[i] & add[i] * kMost) == 0)
            t.carry(mine, n[i], word[i], field[i], old[i], add[i]);
}

template <typename T, int kBits, int kPerWord>
__global__ void
__launch_bounds__(kThreads, 1)
    histogram_fields(const input<T> __grid_constant__ in, unsigned bins, unsigned kept,
                     unsigned rows, unsigned reciprocal, const hot_list *list, uint4 *tables,
                     unsigned long long *counts)
{
    WK_DYNAMIC_SHARED(unsigned, mine);
    const unsigned words = rows * 32;
    const field_table<kBits, kPerWord> t = {kept, rows, reciprocal, counts};
    hot_values hot;
    for (unsigned i = threadIdx.x; i < words + 32; i += kThreads) mine[i] = 0;
    hot.start(mine, words + 32, list); // its barrier: every field is zero

    const auto number = [&](unsigned x) { return t.kHalves ? x : min(x, bins); };
    const auto many = [&](unsigned x, unsigned m) {
        const unsigned n = number(x);
        unsigned counter;
        if (hot.find(mine, n, &counter))
            atomicAdd(&mine[counter], m);
        else
            t.add_many(mine, n, m);
    };
    const auto each = [&](auto with_hot) {
        each_of_tiles<2, true>(in, blockIdx.x, gridDim.x, [&](uint4 v) {
            by_runs<T>(
                v,
                [&](const unsigned(&x)[4]) {
                    const unsigned n[4] = {number(x[0]), number(x[1]), number(x[2]),
                                           number(x[3])};
                    count_four<decltype(with_hot)::value>(mine, t, hot, words, n);
                },
                many);
        });
    };
    if (list->found)
        each(std::true_type{});
    else
        each(std::false_type{});
    each_other<2>(in, blockIdx.x, gridDim.x, [&](T x) { many(x, 1); });
    __syncthreads(); // every element is counted before the words are read

    hot.add_to(mine, counts, kept);
    const auto *from = reinterpret_cast<const uint4 *>(mine);
    for (unsigned i = threadIdx.x; i < words / 4; i += kThreads)
        tables[(int64_t)blockIdx.x * (words / 4) + i] = from[i];
}

// Adds the blocks' tables up, a thread a word.
template <int kBits, int kPerWord>
__global__ void
histogram_fields_sum(const unsigned *tables, unsigned blocks, unsigned kept, unsigned rows,
                     unsigned long long *counts)
{
    const field_table<kBits, kPerWord> t = {kept, rows, 0, counts};
    const unsigned words = rows * 32, w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words) return;
    unsigned sum[kPerWord] = {};
#pragma unroll 8
    for (unsigned b = 0; b < blocks; b++) {
        const unsigned x = tables[(int64_t)b * words + w];
#pragma unroll
        for (int f = 0; f < kPerWord; f++) sum[f] += x >> f * kBits & t.kMost;
    }
#pragma unroll
    for (int f = 0; f < kPerWord; f++) {
        const unsigned n = t.bin_of_field(w, (unsigned)f);
        if (sum[f] && n < kept) counts[n] += sum[f]; // each bin is one thread's
    }
}

// Rows of words for so many bins and, unless all values have one, a spare one; of a single row there is no
// reciprocal in 32 bits.
inline int64_t
field_rows(int64_t bins, int per_word)
{
    const int64_t all = bins + (per_word > 2);
    const int64_t rows = (words_of(all) / 32 + per_word - 1) / per_word;
    return rows < 2 ? 2 : rows;
}

inline int64_t
field_bytes(int64_t bins, int per_word)
{
    return (field_rows(bins, per_word) * 32 + 32 + kHotWords) * 4;
}

template <typename T, int kBits, int kPerWord>
wk_status
launch_fields(wk_call *call, const many_bins &m)
{
    const auto rows = (unsigned)field_rows(m.bins, kPerWord), words = rows * 32;
    const auto reciprocal = (unsigned)((((uint64_t)1 << 32) + rows - 1) / rows);
    const auto bytes = (size_t)field_bytes(m.bins, kPerWord);
    unsigned grid = blocks_for(m.n, processors(call));
    while (m.n / grid >= kMostOfBlock) grid *= 2;
    const auto kernel = histogram_fields<T, kBits, kPerWord>;
    const auto *in = static_cast<const T *>(m.in);
    room *r = m.kept_room;
    if (sample(call, in, m.n, 0, m.bins, &r->list) != WK_OK ||
        keep(call, (int64_t)grid * words * 4, &r->tables) != WK_OK ||
        grant(call, kernel, bytes) != WK_OK ||
        launch(call, grid, kThreads, bytes, kernel, input_of<T>(in, m.n), m.bins, m.kept, rows,
               reciprocal, static_cast<const hot_list *>(r->list),
               static_cast<uint4 *>(r->tables), m.counts) != WK_OK)
        return call->error.status;
    constexpr unsigned kWide = 128; // threads: few blocks, so small ones
    return launch(call, (words + kWide - 1) / kWide, kWide, 0,
                  histogram_fields_sum<kBits, kPerWord>,
                  static_cast<const unsigned *>(r->tables), grid, m.kept, rows, m.counts);
}

} // namespace wk::histogram
