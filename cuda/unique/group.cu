// group / radix -- the places of elements by their keys, which are integers from 0 to groups - 1.
//
// In, out   keys[n] -> places[n], those of one key together and ascending; where each key's begin.
// How       a key above its place is one word of 64 bits. Those are sorted by the key's digits alone
//           (radix.cuh): the sort is stable, and places ascend already. Keys that are none of the groups'
//           go behind the last.
// Floor     two reads and a write of 8 bytes for each 8 bits of the number of groups.
#include "unique/radix.cuh"

namespace
{

constexpr int kThreads = 256;

__device__ __forceinline__ uint64_t
key_at(const void *keys, wk_dtype dtype, int64_t i)
{
    switch (dtype) {
    case WK_BOOL: return static_cast<const uint8_t *>(keys)[i] != 0;
    case WK_U8: return static_cast<const uint8_t *>(keys)[i];
    case WK_I8: return (uint64_t)(int64_t) static_cast<const int8_t *>(keys)[i];
    case WK_U16: return static_cast<const uint16_t *>(keys)[i];
    case WK_I16: return (uint64_t)(int64_t) static_cast<const int16_t *>(keys)[i];
    case WK_U32: return static_cast<const uint32_t *>(keys)[i];
    case WK_I32: return (uint64_t)(int64_t) static_cast<const int32_t *>(keys)[i];
    default: return static_cast<const uint64_t *>(keys)[i];
    }
}

__global__ void
make_words(const void *keys, wk_dtype dtype, wk_group_args a, int bits, uint64_t *words,
           unsigned long long *stray)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < a.n; i += step) {
        uint64_t key = key_at(keys, dtype, i);
        if (key >= (uint64_t)a.groups) {
            atomicMin(stray, (unsigned long long)i);
            key = (uint64_t)a.groups;
        }
        words[i] = key << bits | (uint64_t)i;
    }
}

// Where the words of each key begin.
__global__ void
find_groups(const uint64_t *words, wk_group_args a, int bits, int64_t *offsets)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t g = (int64_t)blockIdx.x * kThreads + threadIdx.x; g <= a.groups; g += step) {
        int64_t low = 0, high = a.n;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (words[middle] >> bits < (uint64_t)g)
                low = middle + 1;
            else
                high = middle;
        }
        offsets[g] = low;
    }
}

int
bits_of(uint64_t x)
{
    int bits = 0;
    for (; x; x >>= 1) bits++;
    return bits;
}

wk_status
sort_words(wk_call *call, uint64_t *words, uint64_t *other, int bits, int passes)
{
    using K = uint64_t;
    const int64_t n = call->args.group.n;
    const int64_t tiles = (n + wk::kSortTile<K> - 1) / wk::kSortTile<K>;
    const int64_t most = (int64_t)wk::processors(call) * wk::kSortBlocks;
    const auto grid = (unsigned)(tiles < most ? tiles : most);
    const wk::stretch s = {n, (tiles + grid - 1) / grid * wk::kSortTile<K>};
    void *block = nullptr;
    if (wk::allocate(call, wk::kDigits * (grid + 1) * (int64_t)sizeof(int64_t), &block) !=
        WK_OK)
        return call->error.status;
    auto *table = static_cast<int64_t *>(block);
    int64_t *totals = table + (int64_t)wk::kDigits * grid;
    wk::source<K, true> from = {words, wk::key_order<K>(WK_U64)};
    for (int pass = 0; pass < passes; pass++) {
        const int shift = bits + pass * wk::kDigitBits;
        if (wk::launch(call, grid, wk::kSortThreads, 0, wk::count_digits<K, true>, from, s,
                       shift, table) != WK_OK ||
            wk::launch(call, wk::kDigits / wk::kSortWarps, wk::kSortThreads, 0, wk::scan_digits,
                       table, (int)grid, totals) != WK_OK ||
            wk::launch(call, grid, wk::kSortThreads, 0, wk::deal_keys<K, true>, from, s, shift,
                       (const int64_t *)table, (const int64_t *)totals, other) != WK_OK)
            return call->error.status;
        from.in = other;
        other = words;
        words = const_cast<K *>(from.in);
    }
    return WK_OK;
}

} // namespace

WK_LAUNCHER(group, cuda, radix)
{
    const wk_group_args a = call->args.group;
    const int bits = bits_of(a.mask);
    const int passes = (bits_of((uint64_t)a.groups) + wk::kDigitBits - 1) / wk::kDigitBits;
    auto *sorted = static_cast<uint64_t *>(call->out[0].data);
    auto *stray = static_cast<unsigned long long *>(call->out[2].data);
    const void *keys = static_cast<const char *>(call->in.data) + call->in.first;
    void *spare = nullptr;
    WK_TRY(&call->error,
           cudaMemsetAsync(stray, 0xff, sizeof *stray, wk::session_of(call)->stream));
    if (a.n > 0) {
        if (wk::allocate(call, a.n * (int64_t)sizeof *sorted, &spare) != WK_OK)
            return call->error.status;
        auto *other = static_cast<uint64_t *>(spare);
        uint64_t *words =
            passes % 2 ? other : sorted; // so that the last pass writes the result
        if (wk::launch(call, wk::grid_for(call, a.n, kThreads), kThreads, 0, make_words, keys,
                       call->in.dtype, a, bits, words, stray) != WK_OK ||
            sort_words(call, words, passes % 2 ? sorted : other, bits, passes) != WK_OK)
            return call->error.status;
    }
    return wk::launch(call, wk::grid_for(call, a.groups + 1, kThreads), kThreads, 0,
                      find_groups, (const uint64_t *)sorted, a, bits,
                      static_cast<int64_t *>(call->out[1].data));
}
