// task.cuh -- what the kernels of a reduction are told, and where its elements lie.
#pragma once
#include "exact.h"
#include "reduce.h"
#include "teams.h"
#include "prim/letter.cuh"
#include "reduce/elements.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

namespace wk
{

constexpr int kThreads = 256; // 8 warps: enough for the scheduler, small enough for the tail
constexpr int kResults = 12;
static_assert(kResults == WK_MAX_OUTS, "results of one pass");

struct reduce_task {
    // The input: kept axes, then folded ones; the mask's strides beside them.
    layout kept, folded;
    int64_t where_kept[kAxes], where_folded[kAxes];
    const uint8_t *where; // null: all elements count
    int64_t outputs, n;
    int64_t first; // index of the first element in the whole fold

    // The plan: a team of threads folds one part of one output.
    int team, width;     // threads of a team; outputs side by side in a block
    int columns;         // of a thread, neighbours those of neighbours; 0: no columns
    int64_t groups;      // of outputs that lie side by side
    int64_t parts, part; // of an output; units of each, or of each piece that is drawn
    unsigned *draws;     // pieces drawn of each group's outputs, zero; null: each part is one
    int64_t run, runs;   // a unit is an element, or one of several runs of contiguous ones
    bool vector;         // runs of stride 1 are read 16 bytes at a time
    bool aligned;        // all runs start and end at 16 bytes
    int64_t stride;      // of the last folded axis

    // Where it goes: records of parts, else the state of a piece, else the results.
    uint64_t *records, *limbs, *state;
    bool own_limbs;    // of each part, else of each output
    unsigned *tickets; // of groups of outputs, zero; null: another launch folds the records
    layout places;     // the pieces' outputs among the whole's, from `output` on
    int64_t output;
    void *out[kResults];
    uint8_t out_dtype[kResults], fold[kResults];
    int folds;
    wk_letter letter;

    int planes, flip; // flip: all ones for max, argmax
    bool skip_nan, has_initial, integers_only;
    wk_value initial;
    double ddof;
    uintptr_t in; // address of the first element

    // Where the imaginary part of a complex number lies from its real one, or the real one from
    // there: x is any element's address.
    template <typename T>
    __device__ int other_part(const T *x) const
    {
        return (reinterpret_cast<uintptr_t>(x) - in) / sizeof(T) % 2 ? -1 : 1;
    }
};

// Beside exact.h's flags: fold again; limbs belong to the record; the record has the many doubles.
enum { kFailed = 16, kHasLimbs = 32, kManyDoubles = 64 };

// What `width` neighbouring lanes hold, in the first of them.
template <class Acc>
__device__ __forceinline__ void
join_by_words(Acc &acc, int width)
{
    uint64_t words[Acc::kWords];
    for (int half = width / 2; half > 0; half /= 2) {
        acc.save(words);
        for (int w = 0; w < Acc::kWords; w++)
            words[w] = __shfl_down_sync(kAllLanes, words[w], half);
        acc.merge(words);
    }
}

// The same, by a call: the caller's stays in registers.
template <class Acc>
__device__ WK_NOINLINE Acc
joined_by_words(Acc acc, int width)
{
    join_by_words(acc, width);
    return acc;
}

// What all accumulators share that cannot fail: of integers, extremes and indices. Acc has `count`,
// save and merge.
template <class Acc>
struct never_fails {
    __device__ void hope() {}
    __device__ bool failed() const
    {
        return false;
    }
    __device__ bool hopeless() const
    {
        return false;
    }
    __device__ bool needs_limbs() const
    {
        return false;
    }
    __device__ void tally(int elements)
    {
        static_cast<Acc *>(this)->count += elements;
    }
    __device__ void join_lanes(int lanes)
    {
        join_by_words(static_cast<Acc &>(*this), lanes);
    }
    __device__ void save_wide(uint64_t *words) const
    {
        static_cast<const Acc *>(this)->save(words);
    }
};

// A bit for each of N elements.
template <int N>
constexpr uint32_t all_of = (uint32_t)(((uint64_t)1 << N) - 1);

// What another block may have written, from the L2: past a multiprocessor's own L1.
template <int N>
__device__ __forceinline__ void
read_record(const uint64_t *from, uint64_t (&words)[N])
{
#pragma unroll
    for (int w = 0; w < N; w++) words[w] = __ldcg(from + w);
}

// What a thread has a share of: some pieces of an output.
struct share {
    int64_t first_output, output, part;
    int thread, own; // in its team; which output of the block
    unsigned *draws; // pieces that all blocks have drawn; null: each has one
    unsigned *drawn; // by this block, after the first, which has the part's number
    unsigned ticket; // of its next
    int pieces;
    bool works;
};

struct units {
    int64_t begin, end;
};

// A share's k-th piece of the output at x. Where runs are read by vectors all but the first start
// with a line of the cache.
template <typename T>
__device__ __forceinline__ units
piece_of(const reduce_task &task, const T *x, const share &s, int k)
{
    const int64_t number = k ? (int64_t)s.drawn[k] : s.part;
    const int64_t all = task.runs > 1 ? task.runs : task.n;
    int64_t begin = number * task.part, end = begin + task.part;
    if (task.vector && task.runs == 1) {
        const int64_t lead = (int64_t)(-reinterpret_cast<uintptr_t>(x) & 127) / (int)sizeof(T);
        begin += number ? lead : 0;
        end += lead;
    }
    return {begin < all ? begin : all, end < all ? end : all};
}

// Which elements a batch holds: number j is the fold's first + j / group * jump + j % group, and
// `skip` more from `lead` on. Of whole vectors it says where they lie, and how many there are.
struct place {
    int64_t first, jump;
    int group;
    int64_t lead = INT64_MAX, skip = 0;
    const void *from = nullptr;
    int vectors = 0;

    __device__ int64_t operator()(int j) const
    {
        const int64_t at = first + j / group * jump + j % group;
        return at < lead ? at : at + skip;
    }
};

// Rest of a division where 32 bits do, which are three times as fast.
__device__ __forceinline__ int64_t
split(int64_t *index, int64_t extent)
{
    int64_t rest;
    if ((uint64_t)*index <= UINT32_MAX && (uint64_t)extent <= UINT32_MAX) {
        const uint32_t q = (uint32_t)*index / (uint32_t)extent;
        rest = (uint32_t)*index - q * (uint32_t)extent;
        *index = q;
    } else {
        rest = *index % extent;
        *index /= extent;
    }
    return rest;
}

struct spot {
    int64_t at, mask;
};

// Where the index-th element lies, and its mask.
__device__ WK_NOINLINE inline spot
spot_of_many(const layout &l, const int64_t *where, int64_t index)
{
    spot s = {0, 0};
    for (int d = l.ndim - 1; d >= 0; d--) {
        const int64_t at = d > 0 ? split(&index, l.shape[d]) : index;
        s.at += at * l.strides[d];
        s.mask += at * where[d];
    }
    return s;
}

// Divisions are long, and rarely needed.
__device__ __forceinline__ spot
spot_of(const layout &l, const int64_t *where, int64_t index)
{
    if (l.ndim == 0) return {0, 0};
    if (l.ndim == 1) return {index * l.strides[0], index * where[0]};
    return spot_of_many(l, where, index);
}

__device__ __forceinline__ bool
is_float_dtype(int dtype)
{
    return dtype >= WK_F16;
}

// A number in the dtype's bits.
__device__ inline void
store(void *out, int dtype, int64_t at, double x)
{
    switch (dtype) {
    case WK_F16:
        static_cast<uint16_t *>(out)[at] =
            x == x ? __half_as_ushort(__float2half_rn((float)x)) : (uint16_t)0x7e00;
        break; // x is one of its numbers already: no rounding takes place
    case WK_BF16:
        static_cast<uint16_t *>(out)[at] =
            (uint16_t)(wk_bits_f32(wk_one_nan_f32((float)x)) >> 16);
        break;
    case WK_F32:
    case WK_C64: static_cast<float *>(out)[at] = wk_one_nan_f32((float)x); break;
    default: static_cast<double *>(out)[at] = wk_one_nan_f64(x); break;
    }
}

// An integer, modulo the dtype's range; bool: is it nonzero.
__device__ inline void
store(void *out, int dtype, int64_t at, uint64_t x)
{
    switch (dtype) {
    case WK_BOOL: static_cast<uint8_t *>(out)[at] = x != 0; break;
    case WK_I8:
    case WK_U8: static_cast<uint8_t *>(out)[at] = (uint8_t)x; break;
    case WK_I16:
    case WK_U16: static_cast<uint16_t *>(out)[at] = (uint16_t)x; break;
    case WK_I32:
    case WK_U32: static_cast<uint32_t *>(out)[at] = (uint32_t)x; break;
    default: static_cast<uint64_t *>(out)[at] = x; break;
    }
}

// The one result, as it has been stored.
__device__ inline void
send_bytes(const wk_letter &letter, const void *result)
{
    if (letter.bytes == 1) send(letter, *static_cast<const uint8_t *>(result));
    if (letter.bytes == 2) send(letter, *static_cast<const uint16_t *>(result));
    if (letter.bytes == 4) send(letter, *static_cast<const uint32_t *>(result));
    if (letter.bytes == 8) send(letter, *static_cast<const uint64_t *>(result));
}

} // namespace wk
