// counted.cuh -- what has no more than 65,536 different keys, or few beside the elements there are, is
// counted by key, and not sorted.
//
// Integers that are not negative are counted as the histogram counts what are their own bins. Others:
// up to 8,192 values a block counts in shared memory, in as many copies of the table as fit (a warp's
// adds of a literal 1 are merged among lanes that want the same counter). Up to 65,536 a block of
// 1024 threads has counters of 16 bits, 128 KiB: lanes with the same key find each other by
// __match_any_sync, and one adds for all. An add that takes a counter past 2^15 takes 2^15 off
// again and adds them to the counter in global memory; a barrier every 2^15 elements sees to it that
// a counter is never past 2^16. Few elements are added to global memory at once.
#pragma once
#include "unique/rows.cuh"
#include "unique/scan.cuh"

WK_LAUNCHER(histogram, cuda, counters);

namespace wk
{

constexpr int kFewValues = 8192;           // 32 KiB of counters, ...
constexpr int kFewBlocks = 6;              // ... and so many blocks a multiprocessor of 228 KiB
constexpr int64_t kManyValues = 65536;     // 128 KiB of halves
constexpr int64_t kManyElements = 1 << 18; // fewer do not pay for clearing and reading halves
constexpr int kManyThreads = 1024;
constexpr unsigned kHalf = 1 << 15;

using counter = unsigned long long;

template <typename K>
struct counting {
    source<K, false> from;
    int64_t n;
    int skip; // elements between the 16 bytes' boundary and the first
    K low;
    int values;
    counter *table;
};

// Calls f(key - low, is there one?) for kPer elements a thread, from row on, which is the block's.
// Elements were read before, to find low and values, and another stream may have written to them
// since: what has no counter is left out. Of one and two bytes every key has one.
template <typename K, typename F>
__device__ __forceinline__ void
for_keys(const counting<K> &c, int64_t row, F &&f)
{
    const int64_t i = (row * blockDim.x + threadIdx.x) * kPer<K> - c.skip;
    K keys[kPer<K>];
    const uint4 packed = load_row(c.from.in, c.n, i);
    memcpy(keys, &packed, sizeof keys);
    c.from.make_keys(keys);
#pragma unroll
    for (int v = 0; v < kPer<K>; v++) {
        const auto key = (unsigned)(K)(keys[v] - c.low);
        const bool counted = sizeof(K) <= 2 || key < (unsigned)c.values;
        f(key, counted && i + v >= 0 && i + v < c.n);
    }
}

template <typename K>
__global__ void
__launch_bounds__(kRunThreads)
    count_few(const counting<K> __grid_constant__ c, int64_t rows, int copies)
{
    __shared__ unsigned counts[kFewValues];
    unsigned *mine = counts + threadIdx.x / kWarp % copies * c.values;
    for (int i = threadIdx.x; i < copies * c.values; i += kRunThreads) counts[i] = 0;
    __syncthreads(); // every counter is zero before the first add
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        for_keys(c, row, [&](unsigned key, bool there) {
            if (there) atomicAdd(&mine[key], 1u);
        });
    __syncthreads(); // every add is done before the counters are read
    for (int i = threadIdx.x; i < c.values; i += kRunThreads) {
        counter sum = 0;
        for (int k = 0; k < copies; k++) sum += counts[k * c.values + i];
        if (sum) atomicAdd(&c.table[i], sum);
    }
}

// Is this the first of the lanes with its key? And how many they are.
__device__ __forceinline__ bool
speaks(unsigned key, bool there, unsigned *lanes)
{
    const unsigned before = (1u << threadIdx.x % kWarp) - 1;
    const unsigned alike = __match_any_sync(kAllLanes, there ? key : ~0u);
    *lanes = __popc(alike);
    return there && (alike & before) == 0;
}

template <typename K>
__global__ void
__launch_bounds__(kRunThreads)
    count_directly(const counting<K> __grid_constant__ c, int64_t rows)
{
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        for_keys(c, row, [&](unsigned key, bool there) {
            unsigned lanes = 0;
            if (speaks(key, there, &lanes)) atomicAdd(&c.table[key], (counter)lanes);
        });
}

template <typename K>
__global__ void
__launch_bounds__(kManyThreads) count_many(const counting<K> __grid_constant__ c, int64_t rows)
{
    WK_DYNAMIC_SHARED(unsigned, halves);                        // two counters a word
    constexpr int kTogether = kHalf / (kManyThreads * kPer<K>); // rows between barriers
    for (int i = threadIdx.x; i < kManyValues / 2; i += kManyThreads) halves[i] = 0;
    for (int64_t row = (int64_t)blockIdx.x * kTogether; row < rows;
         row += (int64_t)gridDim.x * kTogether) { // the same trips for all threads
        __syncthreads(); // counters are zero, or less than 2^15, before 2^15 adds
        for (int r = 0; r < kTogether; r++)
            for_keys(c, row + r, [&](unsigned key, bool there) {
                unsigned lanes = 0;
                if (!speaks(key, there, &lanes)) return;
                const int shift = key % 2 * 16;
                const unsigned was = atomicAdd(&halves[key / 2], lanes << shift) >> shift;
                if ((was & 65535) >= kHalf || (was & 65535) + lanes < kHalf) return;
                atomicSub(&halves[key / 2], kHalf << shift);
                atomicAdd(&c.table[key], (counter)kHalf);
            });
    }
    __syncthreads(); // every add is done before the counters are read
    for (int i = threadIdx.x; i < c.values; i += kManyThreads) {
        const unsigned count = halves[i / 2] >> i % 2 * 16 & 65535;
        if (count) atomicAdd(&c.table[i], (counter)count);
    }
}

// Counters of values that follow each other: the i-th one's is number i ^ turn.
struct listing {
    const counter *table;
    int values;
    unsigned turn;

    __device__ __forceinline__ counter at(int i) const
    {
        return i < values ? table[(unsigned)i ^ turn] : 0;
    }
};

constexpr int kListed = 8192; // counters of a block
constexpr int kListWarps = kManyThreads / kWarp;

// How many of a warp's counters are not zero: of all lanes.
__device__ __forceinline__ int
count_listed(const listing &l, int begin)
{
    int own = 0;
    for (int i = begin; i < begin + kListed / kListWarps; i += kWarp)
        own += __popc(__ballot_sync(kAllLanes, l.at(i + threadIdx.x % kWarp) != 0));
    return own;
}

__device__ __forceinline__ int
first_listed() // of the warp's counters
{
    return (int)blockIdx.x * kListed + (int)threadIdx.x / kWarp * (kListed / kListWarps);
}

static __global__ void
__launch_bounds__(kManyThreads) sum_listed(const listing __grid_constant__ l, int *blocks)
{
    __shared__ int sums[kListWarps];
    int all = 0;
    const int own = count_listed(l, first_listed());
    sum_before_in_block<kListWarps>(threadIdx.x % kWarp == 0 ? own : 0, sums, &all);
    if (threadIdx.x == 0) blocks[blockIdx.x] = all;
}

// The values that occur, the first one's key being `low`: a warp takes rows of 32 counters and ranks by ballot. blocks: how many each
// block lists.
template <typename K>
__global__ void
__launch_bounds__(kManyThreads)
    list_values(const listing __grid_constant__ l, const key_order<K> __grid_constant__ order,
                K low, const int *blocks, K *out, int64_t *counts, int64_t *total)
{
    __shared__ int sums[kListWarps];
    const int lane = threadIdx.x % kWarp, begin = first_listed();
    int before = 0, own = 0, all = 0;
    for (unsigned b = threadIdx.x; b < blockIdx.x; b += kManyThreads) before += blocks[b];
    sum_before_in_block<kListWarps>(before, sums, &before);
    own = count_listed(l, begin);
    int slot = sum_before_in_block<kListWarps>(lane == 0 ? own : 0, sums, &all);
    slot = before + __shfl_sync(kAllLanes, slot, 0); // before the warp's first
    for (int i = begin; i < begin + kListed / kListWarps; i += kWarp) {
        const counter count = l.at(i + lane);
        const unsigned there = __ballot_sync(kAllLanes, count != 0);
        const int rank = slot + __popc(there & ((1u << lane) - 1));
        if (count) {
            out[rank] = order.element_of((K)(low + (K)(i + lane)));
            counts[rank] = (int64_t)count;
        }
        slot += __popc(there);
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) *total = before + all;
}

// What has been counted to the call's results.
template <typename K>
wk_status
launch_list(wk_call *call, const listing &l, K low)
{
    const auto blocks = (unsigned)((l.values + kListed - 1) / kListed);
    void *sums = nullptr;
    if (blocks > 1 &&
        (allocate(call, blocks * (int64_t)sizeof(int), &sums) != WK_OK ||
         launch(call, blocks, kManyThreads, 0, sum_listed, l, (int *)sums) != WK_OK))
        return call->error.status;
    return launch(call, blocks, kManyThreads, 0, list_values<K>, l,
                  key_order<K>(call->in.dtype), low, (const int *)sums, (K *)call->out[0].data,
                  (int64_t *)call->out[1].data, (int64_t *)call->out[2].data);
}

inline wk_status
allocate_table(wk_call *call, int64_t values, counter **table)
{
    void *block = nullptr;
    const wk_status status = allocate(call, values * (int64_t)sizeof(counter), &block);
    *table = (counter *)block;
    return status;
}

// Numbers below `values`, not negative, by the histogram's production row; turn as listing has it.
template <typename K>
wk_status
launch_values(wk_call *call, wk_dtype dtype, int64_t n, int64_t values, unsigned turn)
{
    counter *table = nullptr;
    if (allocate_table(call, values, &table) != WK_OK) return call->error.status;
    wk_call sub = *call;
    sub.op = WK_HISTOGRAM;
    sub.in.dtype = dtype;
    sub.aux.host = sub.aux.data = nullptr;
    sub.weights.ndim = -1;
    sub.outs = 1;
    sub.out[0].data = table;
    sub.out[0].bytes = values * (int64_t)sizeof(counter);
    sub.out[0].dtype = WK_I64;
    sub.out[0].ndim = 1;
    sub.out[0].shape[0] = values;
    sub.args.histogram = {};
    sub.args.histogram.kind = WK_BINS_VALUES;
    sub.args.histogram.n = n;
    sub.args.histogram.bins = values;
    if (wk_histogram_cuda_counters(&sub) != WK_OK) return wk_fail_as(&call->error, &sub.error);
    // The first in order is the least of all, or 0.
    const K low = turn ? (K)0 : key_order<K>(call->in.dtype).zero;
    return launch_list(call, {table, (int)values, turn}, low);
}

// Keys low .. low + values - 1 of n elements to the call's results.
template <typename K>
wk_status
launch_counted(wk_call *call, const source<K, false> &from, int64_t n, K low, int values)
{
    counter *table = nullptr;
    if (allocate_table(call, values, &table) != WK_OK ||
        clear(call, table, values * (int64_t)sizeof(counter)) != WK_OK)
        return call->error.status;
    const counting<K> c = {from, n,      (int)((uintptr_t)from.in % 16 / sizeof(K)),
                           low,  values, table};
    const bool few = values <= kFewValues;
    const int bytes = kManyValues / 2 * (int)sizeof(unsigned);
    const bool many = !few && n >= kManyElements && most_shared(call) >= bytes;
    const int64_t wide = (many ? kManyThreads : kRunThreads) * kPer<K>;
    const int64_t rows = (n + c.skip + wide - 1) / wide;
    const int64_t most = many ? processors(call) : (int64_t)processors(call) * kFewBlocks;
    const unsigned grid = (unsigned)(rows < 1 ? 1 : rows < most ? rows : most);
    wk_status status = WK_OK;
    if (few) {
        const int copies = kFewValues / values < kRunWarps ? kFewValues / values : kRunWarps;
        status = launch(call, grid, kRunThreads, 0, count_few<K>, c, rows, copies);
    } else if constexpr (sizeof(K) > 1) {
        if (many)
            WK_TRY(&call->error,
                   cudaFuncSetAttribute(count_many<K>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        status = many ? launch(call, grid, kManyThreads, bytes, count_many<K>, c, rows)
                      : launch(call, grid, kRunThreads, 0, count_directly<K>, c, rows);
    }
    if (status) return status;
    return launch_list(call, {table, values, 0}, low);
}

} // namespace wk
