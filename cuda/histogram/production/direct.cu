// histogram / direct -- adds in L2: few elements, or more bins than any table on the chip has.
//
// In, out   elements of any type, or uint32 numbers -> int64 counts; any bins.
// How       few elements: lanes with one bin find each other (match.any) and their leader adds, so
//           that equal values do not wait for each other in L2. Many: runs at once, frequent values
//           apart (hot.cuh), the rest one by one.
// Why so    H100: 86 G adds a second at random, 1.4 G to one address. Few: below 16 elements a bin it
//           takes less time than clearing and adding up tables.
#include "histogram/production/hot.cuh"
#include "histogram/production/ways.cuh"

namespace wk::histogram
{

namespace
{

constexpr int kWide = 256; // threads: few elements, so small blocks

// All lanes take as many trips, and those past the end have no bin.
template <typename B>
__global__ void
histogram_direct(const B *in, wk_dtype dtype, const bins_task __grid_constant__ task,
                 unsigned kept, unsigned long long *counts)
{
    const int64_t n = task.args.n, step = (int64_t)gridDim.x * kWide;
    const auto bins = (unsigned)task.args.bins;
    const unsigned lane = threadIdx.x % kWarp;
    for (int64_t first = (int64_t)blockIdx.x * kWide; first < n; first += step) {
        const int64_t i = first + threadIdx.x;
        int64_t bin = -1;
        if (i < n) bin = bin_of_bits(task, dtype, in[i]);
        const unsigned number = i >= n ? kept : bin < 0 ? bins : (unsigned)bin;
        const unsigned alike = __match_any_sync(kAllLanes, number);
        if (number < kept && lane == (unsigned)__ffs((int)alike) - 1)
            atomicAdd(&counts[number], (unsigned long long)__popc(alike));
    }
}

__global__ void
__launch_bounds__(kThreads, 2)
    histogram_runs(const input<uint32_t> __grid_constant__ in, unsigned bins, unsigned kept,
                   const hot_list *list, unsigned long long *counts)
{
    __shared__ unsigned words[kHotWords];
    hot_values hot;
    hot.start(words, 0, list);
    const auto many = [&](unsigned x, unsigned m) {
        const unsigned n = min(x, bins);
        unsigned counter;
        if (hot.find(words, n, &counter))
            atomicAdd(&words[counter], m);
        else if (n < kept)
            atomicAdd(&counts[n], (unsigned long long)m);
    };
    each_of_tiles<2, false>(in, blockIdx.x, gridDim.x, [&](uint4 v) {
        by_runs<uint32_t>(
            v,
            [&](const unsigned(&x)[4]) {
#pragma unroll
                for (int i = 0; i < 4; i++) many(x[i], 1);
            },
            many);
    });
    each_other<2>(in, blockIdx.x, gridDim.x, [&](uint32_t x) { many(x, 1); });
    __syncthreads(); // every element is counted before the counters are read
    hot.add_to(words, counts, kept);
}

} // namespace

wk_status
direct(wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    if (clear_counts(call) != WK_OK) return call->error.status;
    return visit_word(call->in.dtype, [&](auto zero) {
        using B = decltype(zero);
        return launch(call, grid_for(call, h->n, kWide), kWide, 0, histogram_direct<B>,
                      static_cast<const B *>(call->in.data), call->in.dtype, bins_of(call),
                      (unsigned)(h->bins + h->outside),
                      static_cast<unsigned long long *>(call->out[0].data));
    });
}

wk_status
runs(wk_call *call, const many_bins &m)
{
    unsigned grid = blocks_for(m.n, processors(call) * 2);
    while (m.n / grid >= kMostOfBlock) grid *= 2;
    const auto *in = static_cast<const uint32_t *>(m.in);
    if (sample(call, in, m.n, 0, m.bins, &m.kept_room->list) != WK_OK)
        return call->error.status;
    return launch(call, grid, kThreads, 0, histogram_runs, input_of<uint32_t>(in, m.n), m.bins,
                  m.kept, static_cast<const hot_list *>(m.kept_room->list), m.counts);
}

} // namespace wk::histogram
