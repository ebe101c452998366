// shares.cuh -- how segments are shared out to warps: to each as many elements as to any other, in which
// segments begin, go on and end. A segment counts for some elements besides its own: it takes time too.
#pragma once
#include "reduce/production/task.cuh"

namespace wk
{

// What a warp has of the segment that goes on behind its share.
struct segment_chain {
    int64_t output;  // below 0: there is none
    int64_t records; // the warp's, and those of so many warps behind it
};

struct segments {
    const int64_t *offsets;           // null: outputs have n elements each, one after another
    const unsigned long long *status; // of offsets: not all ones where they are no good
    int64_t outputs, n;               // n: of each; with offsets of all
    int64_t weight;                   // elements that a segment counts for beside its own
    int64_t warps;                    // that share them, by that count
    int team, most;        // threads that have a segment, of so many elements at most
    uint64_t *records;     // two of each warp: of what began before, of what goes on
    segment_chain *chains; // of each warp
    int64_t *again;        // outputs that integers tell
    unsigned *agains;

    __host__ __device__ __forceinline__ int64_t elements() const
    {
        return offsets ? n : outputs * n;
    }
};

wk_status with_segments(wk_call *call, wk_status (*fold)(wk_call *)); // segments.cu

// Begins and ends within the elements, whatever the offsets are.
struct stretch_of {
    int64_t begin = 0, end = 0;

    stretch_of() = default;
    __device__ __forceinline__ stretch_of(const segments &s, int64_t output)
        : begin(output * s.n), end(begin + s.n)
    {
        if (s.offsets == nullptr) return;
        begin = s.offsets[output];
        end = s.offsets[output + 1];
        begin = begin < 0 ? 0 : begin < s.n ? begin : s.n;
        end = end < begin ? begin : end < s.n ? end : s.n;
    }
};

// Where a segment's result goes: to a record, or, from kFirst on, to the output of that number from the
// share's first one on.
enum { kNowhere = -1, kBefore, kBehind, kFirst };

// The first segment that does not begin before a share's start.
__device__ __forceinline__ int64_t
first_of_share(const segments &s, int64_t from)
{
    if (s.offsets == nullptr) return (from + s.n + s.weight - 1) / (s.n + s.weight);
    int64_t low = 0, high = s.outputs;
    while (low < high) {
        const int64_t step = (high - low) / kWarp + 1,
                      at = low + (int64_t)(threadIdx.x % kWarp) * step;
        const bool before = at < high && s.offsets[at] + at * s.weight < from;
        const int some = __popc(__ballot_sync(kAllLanes, before));
        const int64_t end = low + some * step;
        if (some > 0) low = end - step + 1;
        if (end < high) high = end;
    }
    return low;
}

// Segments of a warp's share, one after another, by numbers of 32 bits: from its first one on, elements from
// where that begins.
struct segment_source {
    static constexpr int kBeyond = 1 << 30;
    const segments &s;
    int64_t first, origin;  // segment, and the element where the share begins
    int share, least, most; // what it counts for; elements before that, and from there on
    bool began;             // did the first one begin before?
    int next = 0;           // segment that no team has yet

    __device__ __forceinline__ segment_source(const segments &all, int64_t warp) : s(all)
    {
        const int64_t n = s.elements();
        const int64_t zero = s.offsets ? stretch_of(s, 0).begin : 0,
                      end = s.offsets ? stretch_of(s, s.outputs - 1).end : n;
        share = (int)((end - zero + s.outputs * s.weight + s.warps - 1) / s.warps);
        const int64_t from = zero + warp * share;
        first = first_of_share(s, from);
        began = first > 0;
        first -= began;
        origin = from - first * s.weight;
        least = origin < kBeyond ? -(int)origin : -kBeyond;
        most = n - origin < kBeyond ? (int)(n - origin) : kBeyond;
    }
    // As they are told, and perhaps change meanwhile.
    __device__ __forceinline__ void ask(int number, stretch_of *r) const
    {
        const int64_t output = first + number;
        if (s.offsets == nullptr) {
            r->begin = output * s.n;
            r->end = r->begin + s.n;
        } else if (output < s.outputs) {
            r->begin = s.offsets[output];
            r->end = s.offsets[output + 1];
        }
    }
    __device__ __forceinline__ int from_origin(int64_t element) const
    {
        const int64_t at = element - origin;
        return at < least ? least : at < most ? (int)at : most;
    }
    // Is it one of the share's? Then what it has of it, and where that goes; of nothing kNowhere.
    __device__ __forceinline__ bool has(int number, const stretch_of &r, int *begin, int *end,
                                        int *where) const
    {
        const int shift = number * (int)s.weight;
        const bool before = number == 0 && began;
        *begin = before ? 0 : from_origin(r.begin);
        *end = from_origin(r.end);
        if (first + number >= s.outputs || *begin + shift >= share) return false;
        *where = kFirst + number;
        if (*end + shift > share) {
            *where = kBehind;
            *end = share - shift;
        }
        if (*end < *begin) *end = *begin;
        if (before) *where = *begin < *end ? kBefore : kNowhere;
        return true;
    }
    // The warp's next one that is too long for a team; false: there is none.
    __device__ __forceinline__ bool ask_long(int *number, stretch_of *r)
    {
#pragma unroll 1
        for (;; next += kWarp) {
            const int own = next + (int)threadIdx.x % kWarp;
            int begin, end, where;
            ask(own, r);
            const bool ours = has(own, *r, &begin, &end, &where);
            const uint32_t longs =
                __ballot_sync(kAllLanes, ours && where != kNowhere && end - begin > s.most);
            if (longs) {
                const int lane = __ffs((int)longs) - 1;
                *number = next + lane;
                next += lane + 1;
                r->begin = __shfl_sync(kAllLanes, r->begin, lane);
                r->end = __shfl_sync(kAllLanes, r->end, lane);
                return true;
            }
            if (!__all_sync(kAllLanes, ours)) return false;
        }
    }
    // How many shares a segment lies in, of which this is the first.
    __device__ __forceinline__ int64_t shares_of(int number) const
    {
        const stretch_of r(s, first + number);
        const int64_t behind = r.end - origin + number * s.weight - share;
        return 1 + (behind + share - 1) / share;
    }
};

} // namespace wk
