// stretches.cuh -- elements that lie side by side, of one array or of two, as a team of threads reads them:
// tile by tile, of which one is on its way, past the registers, while the one before it is taken.
#pragma once
#include "prim/async.cuh"
#include "reduce/production/lines.cuh"

namespace wk
{

// Does the accumulator take products? Then it has take(x, y, task).
template <class Acc, class = void>
constexpr bool takes_pairs = false;
template <class Acc>
constexpr bool takes_pairs<Acc, std::void_t<decltype(Acc::kPairs)>> = true;

// A tile of a team's stretch. Its threads' elements are vectors of 16 bytes, of which those at both ends have
// elements that are others'; or single ones, where these are nobody's, or where the vectors of two arrays do
// not line up. The first tile begins with a line of the cache: a sector that two reads share is read
// twice.
template <typename T>
struct stretch_tile {
    const T *at;  // the thread's first element
    int where;    // what comes of it goes; below 0: there is none
    int left;     // elements from the team's first one to the end
    short before; // others' elements before the thread's; a whole vector of them is not read
    bool vectors;
};

template <class Acc>
struct stretch_reader {
    using T = typename Acc::T;
    using tile = stretch_tile<T>;
    using vector = vector16<uint32_t>;
    static constexpr bool kPairs = takes_pairs<Acc>;
    static constexpr int N = Acc::kBatch, kPer = 16 / (int)sizeof(T), kVectors = N / kPer;
    static constexpr int kArrays = kPairs ? 2 : 1, kBytes = kArrays * N * (int)sizeof(T);
    const T *x, *end; // of all elements
    int64_t other;    // bytes from an element to its factor
    vector *staged;   // the thread's first one
    int lane, lanes;

    __device__ __forceinline__ stretch_reader(const T *from, const T *factors, int64_t all,
                                              vector *memory, int team)
        : x(from), end(from + all), other(0), staged(memory)
    {
        if (kPairs)
            other = reinterpret_cast<const char *>(factors) - reinterpret_cast<const char *>(x);
        set_team(team);
    }
    __device__ __forceinline__ void set_team(int team)
    {
        lanes = team;
        lane = (int)threadIdx.x & (team - 1);
    }
    // Elements behind an address that is a multiple of so many bytes.
    static __device__ __forceinline__ int behind(const T *p, int bytes = 16)
    {
        return (int)(reinterpret_cast<uintptr_t>(p) & (bytes - 1)) / (int)sizeof(T);
    }
    // A team of fewer than a warp would need more tiles for it: sums of 500 float32 2 % slower.
    __device__ __forceinline__ int behind_line(const T *p) const
    {
        return behind(p, !kPairs && lanes < kWarp ? 16 : lanes < 8 ? 16 * lanes : 128);
    }
    __device__ __forceinline__ const T *factor(const T *p) const
    {
        return reinterpret_cast<const T *>(reinterpret_cast<const unsigned char *>(p) + other);
    }
    __device__ __forceinline__ vector *slot(int stage, int array, int k) const
    {
        return staged + ((stage * kArrays + array) * kVectors + k) * kThreads;
    }
    __device__ __forceinline__ tile first(const T *from, int64_t elements, int where) const
    {
        const int tail = (kPer - behind(from + elements)) % kPer;
        bool vectors = from - x >= behind(from) && end - from >= elements + tail;
        if constexpr (kPairs) vectors = vectors && other % 16 == 0;
        if constexpr (sizeof(T) == 16) // of doubles
            vectors = vectors && reinterpret_cast<uintptr_t>(from) % 16 == 0;
        if (!vectors) return {from + lane, where, (int)elements, 0, false};
        const int lead = behind_line(from), own = lead - lane * kPer,
                  before = own < 0 ? 0 : own;
        return {from - lead + lane * kPer, where, (int)elements + lead,
                (short)(before < kPer ? before : kPer), true};
    }
    // Others' elements before the team's first one.
    __device__ __forceinline__ int lead_of(const tile &t, const T *from) const
    {
        return t.vectors ? behind_line(from) : 0;
    }
    __device__ __forceinline__ bool is_last(const tile &t) const
    {
        return t.left <= N * lanes;
    }
    __device__ __forceinline__ tile next(const tile &t) const
    {
        return {t.at + N * lanes, t.where, t.left - N * lanes, 0, t.vectors};
    }
    // Elements to the end from the thread's first one.
    __device__ __forceinline__ int own_left(const tile &t) const
    {
        return t.left - lane * (t.vectors ? kPer : 1);
    }
    // Asks for the vectors: one group of copies.
    __device__ __forceinline__ void ask(const tile &t, int stage) const
    {
        if (t.where >= 0 && t.vectors) {
            const int step = lanes * kPer, left = t.left - lane * kPer;
            const T *at = t.at;
#pragma unroll
            for (int k = 0; k < kVectors; k++, at += step) {
                if (k * step >= left || (k == 0 && t.before == kPer)) continue;
                copy_async_line(slot(stage, 0, k), at);
                if constexpr (kPairs) copy_async_line(slot(stage, 1, k), factor(at));
            }
        }
        commit_copies();
    }
    // Elements as they lie, in words: as bytes of their own they would take a register each.
    static constexpr int kWords = N * (int)sizeof(T) / 4;
    struct batch {
        uint32_t word[kWords];

        __device__ __forceinline__ void fetch(const vector *slots)
        {
#pragma unroll
            for (int k = 0; k < kVectors; k++) {
                const vector v = slots[k * kThreads];
#pragma unroll
                for (int w = 0; w < 4; w++) word[4 * k + w] = v.x[w];
            }
        }
        __device__ __forceinline__ void set(int j, T e)
        {
            if constexpr (sizeof(T) < 4) {
                uint32_t own = 0;
                memcpy(&own, &e, sizeof e);
                constexpr int kIn = 4 / (int)sizeof(T);
                word[j / kIn] |= own << j % kIn * 8 * (int)sizeof(T);
            } else {
                memcpy(word + j * (sizeof e / 4), &e, sizeof e);
            }
        }
        // Fillers where no bit is set.
        __device__ __forceinline__ void mask(uint32_t ok, T filler)
        {
            T some[16 / sizeof(T)];
            uint32_t four[4];
#pragma unroll
            for (int e = 0; e < 16 / (int)sizeof(T); e++) some[e] = filler;
            memcpy(four, some, sizeof four);
#pragma unroll
            for (int w = 0; w < kWords; w++) {
                uint32_t own = ok >> w * 4 / sizeof(T), bits = own & 1 ? ~0u : 0;
                if constexpr (sizeof(T) == 2)
                    bits = (own & 1 ? 0xffff : 0) | (own & 2 ? 0xffff0000 : 0);
                if constexpr (sizeof(T) == 1) bits = ((own & 15) * 0x204081 & 0x1010101) * 0xff;
                word[w] = (word[w] & bits) | (four[w % 4] & ~bits);
            }
        }
    };
    // What has come; fillers for what is others'.
    __device__ __forceinline__ uint32_t read(const tile &t, int stage, const reduce_task &task,
                                             batch (&own)[kArrays]) const
    {
        const int step = lanes * kPer, left = own_left(t);
        uint32_t ok = 0;
        if (t.vectors) {
#pragma unroll
            for (int a = 0; a < kArrays; a++) own[a].fetch(slot(stage, a, 0));
            if (t.before == 0 && left >= (kVectors - 1) * step + kPer) return all_of<N>;
#pragma unroll
            for (int k = 0; k < kVectors; k++) {
                const int some = left - k * step < kPer ? left - k * step : kPer;
                ok |= some > 0 ? ((1u << some) - 1) << k * kPer : 0;
            }
            ok &= ~0u << t.before;
        } else {
#pragma unroll
            for (int a = 0; a < kArrays; a++)
#pragma unroll
                for (int w = 0; w < kWords; w++) own[a].word[w] = 0;
#pragma unroll
            for (int j = 0; j < N; j++) {
                if (j * lanes >= left) continue;
                own[0].set(j, t.at[j * lanes]);
                if constexpr (kPairs) own[1].set(j, factor(t.at)[j * lanes]);
                ok |= 1u << j;
            }
        }
#pragma unroll
        for (int a = 0; a < kArrays; a++) own[a].mask(ok, Acc::filler(task));
        return ok;
    }
    __device__ __forceinline__ void take(Acc &acc, const tile &t, int stage,
                                         const reduce_task &task) const
    {
        batch own[kArrays];
        uint32_t ok = read(t, stage, task, own);
        T a[N];
        memcpy(a, own[0].word, sizeof a);
        if constexpr (kPairs) {
            T b[N];
            memcpy(b, own[1].word, sizeof b);
            acc.take(a, b, task);
        } else {
            const place at = {t.at - x, t.vectors ? lanes * kPer : lanes,
                              t.vectors ? log2_of(kPer) : 0};
            leave_out<Acc>(a, &ok, task);
            if (ok) acc.take(a, ok, at, task);
        }
    }
};

} // namespace wk
