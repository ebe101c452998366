// unique_counts / radix -- keys are counted if there are few, else sorted by digits of 8 bits, and
// equal neighbours counted as runs.
//
// In, out   in[n] -> values[distinct] ascending, counts[distinct], and how many; any n >= 0.
// How       elements of 1 and 2 bytes, others whose keys lie within 65,536 of each other, and
//           integers from 0 to half their number are counted by key (counted.cuh). All else is
//           sorted from the lowest digit up (radix.cuh): a pass counts digits by block, scans that
//           table, and deals the keys out. One read before tells which digits differ at all
//           (survey.cuh); the host waits for it, and leaves out passes whose digit is the same
//           everywhere.
// Floor     two reads and a write of the keys for each digit that differs, then run_length's two
//           reads. A single-pass scan would save a read a pass, and wait for earlier blocks.
// Better    than a sort by comparison in memory, whose passes grow with log n.
// Source    D. Merrill, A. Grimshaw, "High Performance and Scalable Radix Sorting" (2011).
#include "runtime/layout.cuh"
#include "unique/counted.cuh"
#include "unique/radix.cuh"
#include "unique/runs.cuh"
#include "unique/survey.cuh"

namespace
{

// Counters there may be, all in all and for each element: more take longer than to sort.
constexpr unsigned long long kMostCounted = 1 << 24;
constexpr int64_t kCounted = 2; // elements a counter

// What all passes share.
struct passes {
    wk::stretch s;
    unsigned grid;
    int64_t *table, *totals;
};

template <typename K, bool kMade>
wk_status
launch_pass(wk_call *call, const passes &p, const wk::source<K, kMade> &from, int shift, K *out)
{
    if (wk::launch(call, p.grid, wk::kSortThreads, 0, wk::count_digits<K, kMade>, from, p.s,
                   shift, p.table) != WK_OK ||
        wk::launch(call, wk::kDigits / wk::kSortWarps, wk::kSortThreads, 0, wk::scan_digits,
                   p.table, (int)p.grid, p.totals) != WK_OK)
        return call->error.status;
    return wk::launch(call, p.grid, wk::kSortThreads, 0, wk::deal_keys<K, kMade>, from, p.s,
                      shift, (const int64_t *)p.table, (const int64_t *)p.totals, out);
}

template <typename K>
wk_status
prepare(wk_call *call, int64_t n, passes *p)
{
    const int64_t tiles = (n + wk::kSortTile<K> - 1) / wk::kSortTile<K>;
    const int64_t most = (int64_t)wk::processors(call) * wk::kSortBlocks;
    p->grid = (unsigned)(tiles < most ? tiles : most);
    p->s = {n, (tiles + p->grid - 1) / p->grid * wk::kSortTile<K>};
    void *table = nullptr;
    if (wk::allocate(call, wk::kDigits * (p->grid + 1) * (int64_t)sizeof(int64_t), &table) !=
        WK_OK)
        return call->error.status;
    p->table = (int64_t *)table;
    p->totals = p->table + (int64_t)wk::kDigits * p->grid;
    return WK_OK;
}

// Digits in which some keys differ, lowest first; then the runs of what lies sorted.
template <typename K>
wk_status
sort(wk_call *call, const wk::source<K, false> &elements, int64_t n, unsigned long long differ)
{
    passes p = {};
    void *keys[2];
    int to = 0;
    wk::source<K, true> from = {nullptr, elements.order}; // null: the elements themselves
    if (prepare<K>(call, n, &p) != WK_OK) return call->error.status;
    // Another stream may write to the elements after they were counted: then a block deals more keys
    // to a digit than it has places there, at most those of its stretch.
    const int64_t room = (n + p.s.per) * (int64_t)sizeof(K);
    for (void *&block : keys)
        if (wk::allocate(call, room, &block) != WK_OK) return call->error.status;
    for (int shift = 0; shift < 8 * (int)sizeof(K); shift += wk::kDigitBits) {
        if ((differ >> shift & (wk::kDigits - 1)) == 0) continue;
        K *out = (K *)keys[to];
        const wk_status status = from.in ? launch_pass(call, p, from, shift, out)
                                         : launch_pass(call, p, elements, shift, out);
        if (status) return status;
        from.in = out;
        to = 1 - to;
    }
    return wk::launch_runs(call, from, n);
}

// One or two bytes: as many counters as patterns.
template <typename K>
wk_status
find_short(wk_call *call, const wk::source<K, false> &from, int64_t n)
{
    constexpr int kPatterns = sizeof(K) == 1 ? 256 : 65536;
    const wk_dtype dtype = sizeof(K) == 1 ? WK_U8 : WK_U16;
    if (from.order.integers() && n >= wk::kManyElements)
        return wk::launch_values<K>(call, dtype, n, kPatterns,
                                    from.order.zero ? kPatterns / 2 : 0);
    return wk::launch_counted(call, from, n, (K)0, kPatterns);
}

template <typename K>
wk_status
find_long(wk_call *call, const wk::source<K, false> &from, int64_t n)
{
    if (n == 0) return wk::launch_runs(call, wk::source<K, true>{nullptr, from.order}, n);
    wk::findings found = {};
    if (wk::launch_survey(call, from, n, &found) != WK_OK) return call->error.status;
    const unsigned long long range = found.high - found.below;
    const K zero = from.order.zero;
    const unsigned long long most = found.high - zero; // wraps where there are negatives
    if (from.order.integers() && range >= wk::kFewValues && found.below - zero <= most &&
        most < kMostCounted && (int64_t)most < n / kCounted)
        return wk::launch_values<K>(call, call->in.dtype, n, (int64_t)most + 1, 0);
    if (range >= (unsigned long long)wk::kManyValues)
        return sort(call, from, n, found.clear & found.set);
    return wk::launch_counted(call, from, n, (K)found.below, (int)range + 1);
}

} // namespace

WK_LAUNCHER(unique_counts, cuda, radix)
{
    return wk::visit_word(call->in.dtype, [&](auto zero) {
        using K = decltype(zero);
        const wk::source<K, false> from = {wk::first_element<K>(&call->in),
                                           wk::key_order<K>(call->in.dtype)};
        if constexpr (sizeof(K) <= 2)
            return find_short(call, from, call->args.runs.n);
        else
            return find_long(call, from, call->args.runs.n);
    });
}
