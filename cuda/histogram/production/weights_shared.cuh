// weights_shared.cuh -- sums of weights in shared memory, where a few words a bin fit.
//
// In, out   weights[n] -> limbs[limbs of a row][rows], one 64-bit add a limb, row and block.
// How       a bin has signed 32-bit words 4 bits apart, so that a piece of 28 bits is one add; the
//           old value that it returns shows an overflow, which moves 1 or -1 to the word 32 bits
//           up. Copies by lane thin out equal bins: equal addresses in a warp wait for each other.
//           Bins are an odd number of words apart, which spreads them over the banks. The next
//           loads are on their way while this tile is added: nothing else hides the adds' waiting.
// Window    where there is no room for the words of all exponents, a sample of the weights tells
//           which to keep. A piece outside of them goes to its limb at once: slow, and as exact.
// H100      1 GiB of int32 in 256 bins and float32 weights, from three copies of all words on: 2,730
//           to 2,760 GB/s on uniform, sorted, and half equal bins; a copy 2,910.
#pragma once
#include "histogram/production/weights_elements.cuh"

namespace wk::weights
{

constexpr int kBlock = 1024; // threads: one block a multiprocessor has all of its shared memory

// Tiles of kBlock * kEach elements, in which those that vectors take come first, and all others element
// by element.
struct tiles {
    int64_t lead, vectored, all; // elements: before the vectors, of them, and of all tiles
    const void *in, *weights;    // of the first vector
};

template <typename S>
struct elements {
    typename S::in_type x[S::kEach];
    typename S::weight_type w[S::kEach];
};

// The tiles' elements from number `at` on. Past the end: one whose weight is zero, which changes no sum.
template <typename S>
__device__ __forceinline__ void
fetch(const weights_task &t, const tiles &s, int64_t at, elements<S> *e)
{
    constexpr int kEach = S::kEach;
    if (at < s.vectored) {
        S::vectors_at(s.in, s.weights, at, e->x, e->w);
        return;
    }
    const int64_t first = at - s.vectored - (int)threadIdx.x * (kEach - 1);
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const int64_t other = first + j * kBlock;
        const int64_t i = t.begin + other + (other < s.lead ? 0 : s.vectored);
        e->x[j] = i < t.end ? S::in_at(t, i) : typename S::in_type{};
        e->w[j] = i < t.end ? S::weight_at(t, i) : typename S::weight_type{};
    }
}

// The block's words to the limbs: bins side by side, as the limbs lie.
template <numbers kClass>
__device__ __forceinline__ void
flush(const weights_task &t, const window &w, const int *words)
{
    constexpr int kPer = chip<kClass>::kPer, kBits = layout<kClass>::kLimbBits / kPer;
    const int rows = (int)t.rows, places = (w.words + chip<kClass>::kUp) / kPer;
    const int copy = ((int)t.bins.args.bins + 1) * w.pitch;
    for (int i = threadIdx.x; i < rows * places; i += kBlock) {
        const int *own = words + i % rows * w.pitch + i / rows * kPer;
        long long sum = 0;
        for (int c = 0; c < w.copies; c++, own += copy)
            for (int j = 0; j < kPer; j++) sum += own[j] * (1ll << kBits * j);
        if (sum) atomicAdd(&t.limbs[w.low / kPer * t.rows + i], (unsigned long long)sum);
    }
}

template <typename S>
__global__ void
__launch_bounds__(kBlock)
    weights_shared(const weights_task __grid_constant__ t, const tiles __grid_constant__ s,
                   const window __grid_constant__ given, const window *planned)
{
    WK_DYNAMIC_SHARED(int, words);
    const window w = planned ? *planned : given;
    const int copy = ((int)t.bins.args.bins + 1) * w.pitch; // and a row of what is in no bin
    for (int i = threadIdx.x; i < copy * w.copies; i += kBlock) words[i] = 0;
    __syncthreads(); // every word is zero before the first add

    int *own = words + (int)threadIdx.x % kWarp % w.copies * copy;
    elements<S> next;
    bool strays = false;
    const int64_t step = (int64_t)gridDim.x * kBlock * S::kEach;
    int64_t at = ((int64_t)blockIdx.x * kBlock + threadIdx.x) * S::kEach;
    if (at < s.all) fetch<S>(t, s, at, &next);
    while (at < s.all) {
        const elements<S> e = next;
        at += step;
        __syncwarp(); // lanes that overflowed are waited for, else each part of the warp loads alone
        if (at < s.all) fetch<S>(t, s, at, &next);
        unsigned row[S::kEach];
        short_pieces<chip<S::kClass>::kPieces> p[S::kEach];
        int flags = 0;
        S::rows(t, e.x, row);
#pragma unroll
        for (int j = 0; j < S::kEach; j++) strays |= row[j] == (unsigned)t.bins.args.bins;
#pragma unroll
        for (int j = 0; j < S::kEach; j++) {
            p[j] = S::cut(t, e.w[j]);
            flags |= p[j].flags;
        }
        if (flags) {
#pragma unroll
            for (int j = 0; j < S::kEach; j++)
                if (p[j].flags && row[j] < t.rows)
                    atomicOr(&t.flags[row[j]], (unsigned)p[j].flags);
        }
        add_words<S::kClass>(t, w, own, row, p);
    }
    if (strays && t.stray) atomicOr(t.stray, 1u);
    __syncthreads(); // every add is done before the words are read
    flush<S::kClass>(t, w, words);
}

// ---- the launch -----------------------------------------------------------------------------------

struct shared_plan {
    window given;          // without a sample
    const window *planned; // or null
};

template <typename S>
tiles
tiles_of(const weights_task &t)
{
    constexpr int kTile = kBlock * S::kEach;
    const int64_t n = t.end - t.begin;
    const int lead = S::lead(t);
    tiles s = {};
    if (lead >= 0 && n > lead) {
        s.lead = lead;
        s.vectored = (n - lead) / kTile * kTile;
        s.in = static_cast<const typename S::in_type *>(t.in) + t.begin + lead;
        s.weights =
            static_cast<const typename S::weight_type *>(t.weights.data) + t.begin + lead;
    }
    s.all = (n + kTile - 1) / kTile * kTile;
    return s;
}

template <typename S>
wk_status
launch_shared(wk_call *call, const weights_task &t, const shared_plan &plan)
{
    const tiles s = tiles_of<S>(t);
    const window &g = plan.given;
    const auto rows = (size_t)call->args.histogram.bins + 1;
    const size_t bytes =
        plan.planned ? (size_t)most_shared(call) : rows * g.pitch * g.copies * sizeof(int);
    if (grant(call, weights_shared<S>, bytes) != WK_OK) return call->error.status;
    const int64_t wanted = s.all / (kBlock * S::kEach), most = processors(call);
    return launch(call, (unsigned)(wanted < most ? wanted : most), kBlock, bytes,
                  weights_shared<S>, t, s, plan.given, plan.planned);
}

// Are there words enough for so many bins?
bool fits_shared(const wk_call *call, numbers kind);

// Of a column: which words blocks keep, and how many copies; the sample and the window are the
// device's.
wk_status plan_shared(wk_call *call, numbers kind, const weights_task &t, span *sample,
                      window *planned, shared_plan *plan);
wk_status add_shared(wk_call *call, numbers kind, const weights_task &t,
                     const shared_plan &plan);

} // namespace wk::weights
