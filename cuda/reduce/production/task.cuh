// task.cuh -- what the kernels of a reduction are told, and where its elements and results lie.
#pragma once
#include "num/exact.h"
#include "prim/memory.cuh"
#include "reduce.h"
#include "reduce_grid.h"
#include "reduce/production/elements.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

namespace wk
{

constexpr int kThreads = WK_BLOCK, kWarps = kThreads / kWarp;
constexpr int kResults = 12;
static_assert(kResults == WK_MAX_OUTS, "results of one pass");

// Division of 32 bits by the same number again and again. Source: T. Granlund, P. Montgomery,
// "Division by invariant integers using multiplication" (1994), figure 4.1.
struct divide_by {
    uint32_t divisor, factor;
    int first, second; // shifts

    void set(uint32_t d)
    {
        int l = 0;
        while (((uint64_t)1 << l) < d) l++;
        divisor = d;
        factor = (uint32_t)(((((uint64_t)1 << l) - d) << 32) / d + 1);
        first = l < 1 ? l : 1;
        second = l > 1 ? l - 1 : 0;
    }
    __device__ __forceinline__ uint32_t quotient(uint32_t n) const
    {
        const uint32_t t = __umulhi(factor, n);
        return (t + ((n - t) >> first)) >> second;
    }
};

// It comes by lines of 64 bytes of the constant memory, each a miss, anew with each launch: .1 us of a small call's 3 to
// 5 (H200). So what is read together lies together. 24 bytes of the first line are not the task's: the last 8 of them are
// the kernel's first argument.
struct reduce_task {
    int64_t outputs, n;

    // The grid (reduce_grid.h).
    int64_t groups, parts;
    int team, reads; // lines: wk_reads

    // Lines.
    int64_t run, runs; // elements that lie side by side, and how many such runs an output has
    int64_t tiles;     // of a run, or of all
    const uint8_t *where; // null: all elements count
    divide_by turns;      // by the tiles that a team's warps take at once
    bool one_run;         // an output's elements lie side by side, and all of them count
    bool gathers;         // tiles come by way of shared memory (gather.cuh)
    bool along;           // single elements along one axis, which can be told by themselves
    // All.
    bool aligned; // all runs start and end at 16 bytes; columns of a thread are one load
    bool staged;  // rows of columns come by way of shared memory (whole.cuh)
    bool masked;  // a mask, or the other part of a complex number, says what counts
    bool skip_nan, has_initial, integers_only;
    bool counts; // not all elements count: NaN or a mask may leave some out
    bool plain;  // one result of all elements, of their dtype or an integer's; there are some
    bool some;   // the same, of real elements of which NaN or a mask leave some out
    bool in_double; // one result of all elements, a float64; there are some
    bool wraps;     // sums of integers, or of their squares, modulo 2^64, alone
    bool keeps;     // `shared` is the state of pieces: it stays
    bool sends;     // the one result goes to the mailbox, too

    int64_t stride; // of the last folded axis
    int64_t across; // few rows: elements between a thread's columns; 0: each is looked for
    int width, height, repeat;
    int together; // whole columns: groups of them that are told the quick way at first, else 1
    // Kernels are compiled for element sizes; these tell the dtypes of one size apart.
    uint64_t mask; // an element is zero where these bits are: all but the signs of floats
    uint64_t bias; // signs of unsigned elements, else 0: x ^ bias is ordered as if signed
    int bias_bits; // k, of an element's 2^k; 0: signed
    int infinity; // the bits of float16's or bfloat16's, else 0x7fff, which no magnitude exceeds
    int planes, flip; // flip: all ones for max, argmax

    double number, inverse; // n, and the inverse of it
    // Where it goes: to the words of each output that its parts, pieces or GPUs share, else to the
    // results.
    uint64_t *shared;  // parts: zero before and after; a piece's: the state
    unsigned *tickets; // of each group of outputs, zero before and after; null: nobody finishes
    int waiting;       // lines: of a warp, which are finished together
    bool truth, halves; // the elements are bool; float16 or bfloat16
    uint8_t dtype;      // of the elements
    uint8_t fold[kResults];
    int folds;
    void *out[kResults];

    uint8_t out_dtype[kResults];
    int join, joins; // so many parts' records are joined first, and then those of so many sets
    divide_by inner; // by a run's vectors; by a plane's columns, if there are several
    uint64_t *records;     // of each part, where these cannot be added up by atomics
    double inverse_spread; // of n (n - ddof)
    double spread;         // n (n - ddof), if that is an integer; else zero
    float near_number, near_inverse_spread;
    int64_t first; // index of the first element in the whole fold
    wk_mailbox mailbox;
    // The input: kept axes, then folded ones; the mask's strides beside them.
    layout kept, folded;
    int64_t where_kept[kAxes], where_folded[kAxes];
    layout places; // the pieces' outputs among the whole's, from `output` on
    int64_t output;
    wk_value initial;
    double ddof;
    uintptr_t in;       // address of the first element
    int64_t where_step; // the mask's, along the last folded axis
    int ahead; // lines: of which output the next block of this multiprocessor is; 0: none

    // Where the imaginary part of a complex number lies from its real one, or the real one from
    // there: x is any element's address.
    template <typename T>
    __device__ int other_part(const T *x) const
    {
        return (reinterpret_cast<uintptr_t>(x) - in) / sizeof(T) % 2 ? -1 : 1;
    }
    // One result in the elements' own dtype or an integer's, of all of them or of those that count.
    __host__ __device__ bool is_own() const
    {
        return plain || some;
    }
    // NaN in one part leaves both out.
    __host__ __device__ bool pairs() const
    {
        return planes == 2 && skip_nan;
    }
};
static_assert(offsetof(reduce_task, run) == 64 - 24 &&
                  offsetof(reduce_task, stride) == 128 - 24 &&
                  offsetof(reduce_task, number) == 192 - 24 &&
                  offsetof(reduce_task, out) + sizeof(void *) == 256 - 24,
              "where lines begin");

// Which elements a batch holds: of groups of 2^shift, number j is the fold's first + (j >> shift) * jump
// and what is left of j; of a row that was turned round, one group, `turn` further on, and from
// `turned` on from the start. Of whole vectors it says where they lie, and how many there are.
struct place {
    int64_t first, jump;
    int shift;
    const void *from = nullptr;
    int vectors = 0;
    int turn = 0, turned = 0;

    __device__ int64_t operator()(int j) const
    {
        const int64_t at =
            first + (int64_t)(j >> shift) * jump + (j & ((1 << shift) - 1)) + turn;
        return turn && at >= turned ? at - turned : at;
    }
    __device__ int64_t least() const // of all, or less
    {
        return turn ? 0 : first;
    }
    // Of a row that was turned round, the elements from its start, by bits.
    __device__ uint32_t behind() const
    {
        const int64_t before = turned - turn - first;
        return before <= 0 ? ~0u : before < 32 ? ~0u << before : 0;
    }
};

__host__ __device__ constexpr int
log2_of(int n) // a power of two
{
    return n > 1 ? 1 + log2_of(n / 2) : 0;
}

// A bit for each of N elements.
template <int N>
constexpr uint32_t all_of = (uint32_t)(((uint64_t)1 << N) - 1);

struct division {
    int64_t quotient, rest;
};

__device__ division divide_long(int64_t a, int64_t b); // results.cu

// Rest of a division where 32 bits do, which are three times as fast.
__device__ __forceinline__ int64_t
split(int64_t *index, int64_t extent)
{
    if ((uint64_t)*index <= UINT32_MAX && (uint64_t)extent <= UINT32_MAX) {
        const uint32_t a = (uint32_t)*index, q = a / (uint32_t)extent;
        *index = q;
        return a - q * (uint32_t)extent;
    }
    const division d = divide_long(*index, extent);
    *index = d.quotient;
    return d.rest;
}

struct spot {
    int64_t at, mask;
};

// Where the index-th element lies, and its mask; results.cu.
__device__ spot spot_of_many(const layout &l, const int64_t *where, int64_t index);

// Divisions are long, and rarely needed.
__device__ __forceinline__ spot
spot_of(const layout &l, const int64_t *where, int64_t index)
{
    if (l.ndim <= 1) return {index * l.strides[0], index * where[0]};
    return spot_of_many(l, where, index);
}

// The words of an output that parts share, or pieces and GPUs (results.cu).
__device__ uint64_t *kept_words(const reduce_task &task, int64_t output, int words);

__device__ __forceinline__ uint64_t *
shared_words(const reduce_task &task, int64_t output, int words)
{
    if (task.keeps) return kept_words(task, output, words);
    return task.shared + output * words;
}

// Has this warp drawn the last of so many tickets? Then it sees what the others wrote before, and the
// counter is zero again. Every lane asks; what others of its block wrote must lie behind a barrier.
__device__ __forceinline__ bool
warp_draws_last(unsigned *ticket, unsigned tickets)
{
    unsigned drawn = 0;
    __syncwarp(); // every lane's writes are there before the ticket is drawn
    if (threadIdx.x % kWarp == 0) drawn = count_in_order(ticket, tickets - 1);
    return __shfl_sync(kAllLanes, drawn, 0) == tickets - 1;
}

__host__ __device__ __forceinline__ bool
is_spread(int fold)
{
    return fold == WK_VAR || fold == WK_STD;
}

__host__ __device__ __forceinline__ bool
is_root(int fold)
{
    return fold == WK_NORM || fold == WK_STD;
}

// Of squares, or of what is made of them.
__host__ __device__ __forceinline__ bool
is_moment(int fold)
{
    return fold == WK_SUMSQ || is_spread(fold) || is_root(fold);
}

__device__ __forceinline__ bool
is_float_dtype(int dtype)
{
    return dtype >= WK_F16;
}

// The dtype's real format: complex results are real and imaginary parts.
__device__ __forceinline__ int
real_of(int dtype)
{
    return dtype == WK_C64 ? (int)WK_F32 : dtype == WK_C128 ? (int)WK_F64 : dtype;
}

// A number in the dtype's bits: it is one of its numbers already, or NaN.
template <int kDtype>
__device__ __forceinline__ void
store_as(void *out, int64_t at, double x)
{
    if constexpr (kDtype == WK_F16)
        static_cast<uint16_t *>(out)[at] =
            x == x ? __half_as_ushort(__float2half_rn((float)x)) : (uint16_t)0x7e00;
    else if constexpr (kDtype == WK_BF16)
        static_cast<uint16_t *>(out)[at] =
            (uint16_t)(wk_bits_f32(wk_one_nan_f32((float)x)) >> 16);
    else if constexpr (kDtype == WK_F32)
        static_cast<float *>(out)[at] = wk_one_nan_f32((float)x);
    else
        static_cast<double *>(out)[at] = wk_one_nan_f64(x);
}

// What is stored of a float, which is rounded to float16, but is one of bfloat16's numbers.
template <int kDtype>
__device__ __forceinline__ auto
stored_float(float x)
{
    if constexpr (kDtype == WK_F16)
        return (uint16_t)__half_as_ushort(__float2half_rn(x));
    else if constexpr (kDtype == WK_BF16)
        return (uint16_t)(wk_bits_f32(x) >> 16);
    else
        return x;
}

template <int kDtype>
__device__ __forceinline__ void
store_float(void *out, int64_t at, float x)
{
    const auto stored = stored_float<kDtype>(x);
    static_cast<std::remove_const_t<decltype(stored)> *>(out)[at] = stored;
}

__device__ __forceinline__ void
store(void *out, int dtype, int64_t at, double x)
{
    switch (dtype) {
    case WK_F16: return store_as<WK_F16>(out, at, x);
    case WK_BF16: return store_as<WK_BF16>(out, at, x);
    case WK_F32:
    case WK_C64: return store_as<WK_F32>(out, at, x);
    default: return store_as<WK_F64>(out, at, x);
    }
}

// An integer, modulo the dtype's range; bool: is it nonzero.
__device__ __forceinline__ void
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

// The one result, as it has been stored by this thread; results.cu.
__device__ void send_bytes(const wk_mailbox &mailbox, const void *result);

__device__ __forceinline__ void
send_result(const reduce_task &task)
{
    if (task.sends) send_bytes(task.mailbox, task.out[0]);
}

} // namespace wk
