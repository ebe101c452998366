// histogram / weights, one short number a bin in shared memory: where it begins, and how many
// multiprocessors share the bins; weights_near.cuh tells the story.
#include "histogram/weights_near.cuh"

#include <algorithm>

namespace wk::weights
{

namespace
{

constexpr int kSamples = 4096;
constexpr int kMostShift = 4; // 16 that read the same tiles: a fifth of the memory's rate
constexpr int kMostCopies = 8;
constexpr int64_t kMostRows = 4; // an element: words of more take longer to clear and to read

// Where most of the sample's weights begin within a number's reach: one block.
template <numbers kClass>
__global__ void
near_place(const weights_task __grid_constant__ t, int *low)
{
    using form = near_form<kClass>;
    constexpr int kPlaces = 2048; // a power of two from kBits on
    __shared__ int count[form::kBits];
    __shared__ unsigned best;
    for (int p = threadIdx.x; p < form::kBits; p += kBlock) count[p] = 0;
    if (threadIdx.x == 0) best = 0;
    __syncthreads(); // every count is zero before the first add
    const int64_t n = t.end - t.begin, samples = n < kSamples ? n : kSamples;
    for (int64_t k = threadIdx.x; k < samples; k += kBlock) {
        const int64_t i = t.begin + (int64_t)((double)n / (double)samples * (double)k);
        const auto s = size_of(untyped<kClass>::number(t, untyped<kClass>::weight_at(t, i)));
        if (s.size) atomicAdd(&count[s.at], 1);
    }
    __syncthreads(); // every weight is counted before the counts are read
    for (int p = threadIdx.x; p < form::kBits; p += kBlock) {
        unsigned sum = 0;
        for (int k = p; k < form::kBits && k < p + form::kReach; k++) sum += count[k];
        atomicMax(&best, sum * kPlaces + p);
    }
    __syncthreads(); // every place is compared before the best is read
    if (threadIdx.x == 0) *low = (int)(best % kPlaces);
}

int64_t
rows_each(int64_t rows, int shift) // of a part, in whole lines
{
    const int64_t lines = (rows + 31) / 32;
    return ((lines + (1 << shift) - 1) >> shift) * 32;
}

int64_t
room_of(const wk_call *call, numbers kind) // rows of a part at most
{
    const int words = kind == numbers::wide ? near_form<numbers::wide>::kWords
                                            : near_form<numbers::narrow>::kWords;
    return most_shared(call) / (int)sizeof(unsigned) / words;
}

// How the bins are shared, and how many blocks there are.
near_plan
plan_of(const wk_call *call, numbers kind, int64_t rows)
{
    const int64_t room = room_of(call, kind);
    near_plan plan = {};
    while (rows_each(rows, plan.shift) > room) plan.shift++;
    plan.words = (int)rows_each(rows, plan.shift);
    plan.copies = (int)std::min<int64_t>(room / plan.words, kMostCopies);
    plan.groups = std::max(processors(call) >> plan.shift, 1);
    return plan;
}

} // namespace

bool
fits_near(const wk_call *call, numbers kind, int64_t rows, int64_t n)
{
    return kind != numbers::whole && n >= rows / kMostRows &&
           rows_each(rows, kMostShift) <= room_of(call, kind);
}

int64_t
bytes_near(const wk_call *call, numbers kind, int64_t rows)
{
    const near_plan plan = plan_of(call, kind, rows);
    const int64_t blocks = (int64_t)plan.groups << plan.shift;
    return blocks * plan.words * (kind == numbers::wide ? 2 : 1) * (int64_t)sizeof(long long);
}

wk_status
add_near(wk_call *call, numbers kind, const weights_task &t, int *low)
{
    near_plan plan = plan_of(call, kind, t.rows);
    plan.low = low;
    plan.tables = static_cast<long long *>(t.tables);
    return with_elements(t, kind, [&](auto s) -> wk_status {
        constexpr numbers kClass = decltype(s)::kClass;
        if constexpr (kClass == numbers::whole) {
            return WK_OK; // none come here
        } else {
            const wk_status status = launch(call, 1, kBlock, 0, near_place<kClass>, t, low);
            return status ? status : launch_near<decltype(s)>(call, t, plan);
        }
    });
}

} // namespace wk::weights
