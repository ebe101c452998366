// histogram / weights, one short number a bin in shared memory: where it begins, and how many
// multiprocessors share the bins; weights_near.cuh tells the story.
#include "histogram/production/weights_near.cuh"

#include <algorithm>

namespace wk::weights
{

namespace
{

constexpr int kSamples = 4096;
constexpr int kMostShift = 2; // 4 that read the same tiles: with 16, 162 GB/s, in L2 391
constexpr int kMostCopies = 8;

// Where most of the sample's weights begin within a number's reach: one block.
template <numbers kClass>
__global__ void
near_place(const weights_task __grid_constant__ t, int *low)
{
    using form = near_form<kClass>;
    constexpr int kPlaces = 2048; // a power of two beyond kLast
    __shared__ int count[form::kLast + form::kReach];
    __shared__ unsigned best;
    for (int p = threadIdx.x; p < form::kLast + form::kReach; p += kBlock) count[p] = 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads(); // every count is zero before the first add
    const int64_t n = t.end - t.begin;
    const int samples = n < kSamples ? (int)n : kSamples;
    uint64_t bits[kSamples / kBlock] = {}; // all on their way together; zeros do not count
#pragma unroll
    for (int j = 0; j < kSamples / kBlock; j++) {
        const int k = j * kBlock + threadIdx.x;
        const auto i = (int64_t)((double)n / (double)samples * (double)k);
        if (k < samples) bits[j] = untyped<kClass>::weight_at(t, t.begin + i);
    }
#pragma unroll
    for (int j = 0; j < kSamples / kBlock; j++) {
        const auto s = size_of(untyped<kClass>::number(t, bits[j]));
        if (s.size) atomicAdd(&count[s.at], 1);
    }
    __syncthreads(); // every weight is counted before the counts are read
    for (int p = threadIdx.x; p <= form::kLast; p += kBlock) {
        unsigned sum = 0;
        for (int k = p; k < p + form::kReach; k++) sum += count[k];
        atomicMax(&best, sum * kPlaces + p);
    }
    __syncthreads(); // every place is compared before the best is read
    if (threadIdx.x > 0) return;
    const int p = (int)(best % kPlaces);
    int as_good = 0; // places below it: the middle one leaves room on both sides
    while (as_good < p && as_good < form::kReach &&
           count[p - as_good - 1] == count[p - as_good - 1 + form::kReach])
        as_good++;
    *low = p - as_good / 2;
}

int64_t
rows_each(int64_t rows, int shift) // of a part, in whole lines
{
    const int64_t lines = (rows + 31) / 32;
    return ((lines + (1 << shift) - 1) >> shift) * 32;
}

int64_t
room_of(const wk_call *call) // words
{
    return most_shared(call) / (int)sizeof(unsigned);
}

int64_t
most_rows(const wk_call *call) // of a part
{
    return (room_of(call) - kNearTurn) / kNearWords;
}

// How the bins are shared, and how many blocks there are.
near_plan
plan_of(const wk_call *call, int64_t rows)
{
    near_plan plan = {};
    while (rows_each(rows, plan.shift) > most_rows(call)) plan.shift++;
    plan.words = (int)rows_each(rows, plan.shift);
    plan.copies = (int)std::min<int64_t>(room_of(call) / plan.copy(), kMostCopies);
    plan.groups = std::max(processors(call) >> plan.shift, 1);
    return plan;
}

} // namespace

// H100: tables of 132 blocks, cleared, stored and added, take as long as adds in L2 of 64 elements a
// row: of 10^6 in 29,000 rows, 4 * 10^6 in 65,536.
bool
fits_near(const wk_call *call, numbers kind, int64_t rows, int64_t n)
{
    return kind != numbers::whole && n >= rows * processors(call) / 2 &&
           rows_each(rows, kMostShift) <= most_rows(call);
}

int64_t
most_near(const wk_call *call, int64_t rows)
{
    return plan_of(call, rows).groups * kNearMost;
}

wk_status
allocate_tables(wk_call *call, weights_task *t)
{
    const near_plan plan = plan_of(call, t->rows);
    const int64_t longs = ((int64_t)plan.groups << plan.shift) * plan.words * kNearLongs;
    void *tables = nullptr;
    const wk_status status = allocate(call, longs * (int64_t)sizeof *t->tables, &tables);
    t->tables = static_cast<long long *>(tables);
    return status;
}

wk_status
add_near(wk_call *call, numbers kind, const weights_task &t, int *low)
{
    near_plan plan = plan_of(call, t.rows);
    plan.low = low;
    return with_floats(t, kind, [&](auto s) {
        using S = decltype(s);
        const wk_status status = launch(call, 1, kBlock, 0, near_place<S::kClass>, t, low);
        if (status) return status;
        if constexpr (S::kTyped)
            if (plan.shift == 0) return launch_near<S, false>(call, t, plan);
        return launch_near<S, true>(call, t, plan); // of one part, too: their code is long
    });
}

} // namespace wk::weights
