// histogram / hot -- which values are frequent, from a sample; one block.
//
// In, out   up to 8,192 of n elements, spread over all of them -> hot_list.
// How       an open hash table counts the sample; what has 0.15 % of it or more is listed, at most 64
//           values. Then every warp tries multipliers until one hashes them to slots of their own.
// Why so    H100, 2^20 bins, Zipf: 257 GB/s of input without, 1,085 with it; two values by turns 42
//           and 2,524. It takes 10 us.
#include "histogram/production/hot.cuh"
#include "histogram/production/ways.cuh"

namespace wk::histogram
{

namespace
{

constexpr unsigned kMostSamples = 8192, kTable = 2 * kMostSamples;
constexpr int kTableShift = 32 - 14; // to kTable slots
constexpr int64_t kPerSample = 128;  // elements that stand behind one, at least
constexpr int kProbes = 16, kRounds = 64;
constexpr unsigned kMapWords = kHotSlots / 32;

struct workspace {
    unsigned tag[kTable], count[kTable], list[kMostHot];
    unsigned found, multiplier;
    unsigned maps[kThreads / kWarp][kMapWords]; // a warp's slots that are taken
};

template <typename T>
__device__ void
count_sample(workspace *w, const T *in, int64_t n, unsigned samples, unsigned first,
             unsigned bins)
{
    const int64_t width = n / samples;
    for (unsigned k = threadIdx.x; k < samples; k += kThreads) {
        const unsigned v = in[k * width + ((k * 0x9e3779b1u) >> 8) % width] - first;
        if (v >= bins) continue;
        unsigned h = (v * 0x85ebca6bu) >> kTableShift;
        for (int probe = 0; probe < kProbes; probe++, h = (h + 1) % kTable) {
            const unsigned t = atomicCAS(&w->tag[h], kNoValue, v);
            if (t != kNoValue && t != v) continue;
            atomicAdd(&w->count[h], 1u);
            break;
        }
    }
}

// Those that have `least` counts or more; with too many of them the bar is raised.
__device__ void
list_frequent(workspace *w, unsigned least)
{
    for (;; least *= 2) {
        for (unsigned i = threadIdx.x; i < kTable; i += kThreads) {
            if (w->count[i] < least) continue;
            const unsigned k = atomicAdd(&w->found, 1u);
            if (k < kMostHot) w->list[k] = w->tag[i];
        }
        __syncthreads(); // all have been listed
        const unsigned found = w->found;
        __syncthreads(); // all have read how many
        if (found <= kMostHot) return;
        if (threadIdx.x == 0) w->found = 0;
        __syncthreads(); // none is listed before the count is zero again
    }
}

// A multiplier whose hash gives each value a slot of its own; 0: none was found.
__device__ void
find_multiplier(workspace *w)
{
    const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    unsigned *map = w->maps[warp];
    for (unsigned round = 0; round < kRounds; round++) {
        const unsigned multiplier = ((round * 32 + warp) * 2 + 1) * 0x9e3779b1u;
        bool clash = false;
        map[lane] = 0;
        __syncwarp(); // the map is empty
        for (unsigned i = lane; i < w->found; i += kWarp) {
            const unsigned slot = (w->list[i] * multiplier) >> (32 - kHotBits);
            clash |= atomicOr(&map[slot / 32], 1u << slot % 32) >> slot % 32 & 1;
        }
        if (!__any_sync(kAllLanes, clash) && lane == 0)
            atomicCAS(&w->multiplier, 0u, multiplier);
        __syncthreads(); // all warps have tried
        const unsigned won = w->multiplier;
        __syncthreads(); // all have seen whether one won
        if (won) return;
    }
}

template <typename T>
__global__ void
__launch_bounds__(kThreads) histogram_sample(const T *in, int64_t n, unsigned samples,
                                             unsigned first, unsigned bins, hot_list *hot)
{
    WK_DYNAMIC_SHARED(workspace, w);
    static_assert(kMapWords == kWarp, "a word of the map a lane");
    for (unsigned i = threadIdx.x; i < kTable; i += kThreads) {
        w->tag[i] = kNoValue;
        w->count[i] = 0;
    }
    if (threadIdx.x == 0) w->found = w->multiplier = 0;
    __syncthreads(); // the table is empty before the sample is counted
    count_sample(w, in, n, samples, first, bins);
    __syncthreads(); // the sample is counted
    list_frequent(w, max(samples / 680, 3u));
    find_multiplier(w);
    if (threadIdx.x == 0) {
        hot->multiplier = w->multiplier;
        hot->found = w->multiplier ? w->found : 0;
    }
    if (threadIdx.x < w->found) hot->value[threadIdx.x] = w->list[threadIdx.x];
}

} // namespace

template <typename T>
wk_status
sample(wk_call *call, const T *in, int64_t n, unsigned first, unsigned bins, void **list)
{
    if (keep(call, sizeof(hot_list), list) != WK_OK) return call->error.status;
    const int64_t samples = n / kPerSample < kMostSamples ? n / kPerSample : kMostSamples;
    if (samples < kWarp) return clear(call, *list, sizeof(hot_list));
    if (grant(call, histogram_sample<T>, sizeof(workspace)) != WK_OK) return call->error.status;
    return launch(call, 1, kThreads, sizeof(workspace), histogram_sample<T>, in, n,
                  (unsigned)samples, first, bins, static_cast<hot_list *>(*list));
}

template wk_status sample(wk_call *, const uint16_t *, int64_t, unsigned, unsigned, void **);
template wk_status sample(wk_call *, const uint32_t *, int64_t, unsigned, unsigned, void **);

} // namespace wk::histogram
