// accumulator.cuh -- the contract between what folds elements and the kernels that bring them.
//
// A kernel (lines.cuh, rows.cuh, columns.cuh) knows where elements lie, an accumulator what becomes of
// them. Each thread has one. An accumulator has
//
//   T                          the element's type; integers and halves are unsigned integers of
//                              their size, and the task says more
//   kCertain                   finish() always succeeds
//   kVectors, kTurn, kBatch    vectors of 16 bytes of a lane's tile, and how many of them, and of elements, take()
//                              gets at once; of two tiles twice as many, up to 32 elements
//   kAtOnce                    finish_at_once(x, task, output): results of all elements, without a
//                              state; false: that takes one. What is certain has finish_by_call() besides; kPairsAtOnce:
//                              of two elements by code of their own
//   kFewRows                   columns of a few rows are worth a kernel of their own
//   kByIndex                   it must know where elements lie
//   kHasSquares                it sums squares too
//   kStages                    rows of columns that threads share come by way of shared memory
//   kAnswersFirst              answer_at_once() gives kAnswers numbers of each output, of a thread's all before
//                              store_answers() stores the first; kOftenTies: of those that it does not
//                              tell finish_several() tells more than a state does
//   kQuick                     quick.cuh or quick_lanes.cuh tell whole columns without it
//   kColumns, kWide            likewise: columns of a thread that shares them; is it of
//                              float64? Then it may be scaled, or set() to sums that are (scaled.cu)
//   kBlocks, kRowBlocks, kColumnBlocks   of a multiprocessor, at least: of whole columns, of rows, of shared columns
//   filler(task)               what changes no result, or is left out by its bit
//   start(task)                nothing has been taken
//   take(x, ok, at, task)      the elements whose bits are set, which lie at `at`
//   settle(task)               what was put off is done
//   kWords, save, load, merge  what threads give each other
//   finish(task, output)       stores all results; false: integers tell (table.cuh)
//
// What is certain has `count` of elements besides, and a state of kWords for parts, pieces and GPUs:
// count 0 is an empty one. What is not has a table of words (table.cuh).
#pragma once
#include "reduce/production/task.cuh"
#include "reduce_grid.h"

namespace wk
{

template <class Acc>
constexpr bool keeps_contract =
    Acc::kVectors % Acc::kTurn == 0 &&
    Acc::kBatch * sizeof(typename Acc::T) == 16 * Acc::kTurn &&Acc::kBatch <= 32 &&
    Acc::kWords > 0 &&
    // which reduce_grid.c counts on
    Acc::kVectors * 16 * kWarp == WK_TILE_BYTES &&Acc::kBatch ==
        (sizeof(typename Acc::T) <= 2 ? 32 : 64 / (int)sizeof(typename Acc::T));

// Are segments folded by it, one fold at a time (segments.cuh)? Specialised where none asks for it.
template <class Acc>
constexpr bool folds_segments = true;

// Rows of a thread's columns that are on their way at once. Specialised where more would be spilled.
template <class Acc>
constexpr int most_rows = 16;

// Whose states are merged as this one's are, where that does not depend on the elements.
template <class Acc>
struct merged_by {
    using type = Acc;
};

// An element of two bytes may be a half.
template <typename T>
__device__ __forceinline__ bool
is_nan(T x, const reduce_task &task)
{
    if constexpr (std::is_same_v<T, uint16_t>)
        return (x & 0x7fff) > task.infinity;
    else
        return is_nan(x);
}

// Leaves NaN out where it is skipped.
template <class Acc, int N>
__device__ __forceinline__ void
leave_out(typename Acc::T (&x)[N], uint32_t *ok, const reduce_task &task)
{
    using T = typename Acc::T;
    if (!task.skip_nan) return;
    if constexpr (sizeof(T) == 2) { // two in a word, which is not taken apart else
        if constexpr (!is_half<T>)
            if (!Acc::kHalves) return;
        uint32_t words[(N + 1) / 2] = {};
        memcpy(words, x, sizeof x);
#pragma unroll
        for (int j = 0; j < N; j++) {
            const int shift = j % 2 * 16;
            if (!is_nan(T{(uint16_t)(words[j / 2] >> shift)}, task)) continue;
            *ok &= ~(1u << j);
            if constexpr (is_half<T>) // the others look at the bits of ok alone
                words[j / 2] = (words[j / 2] & ~(0xffffu << shift)) |
                               (uint32_t)Acc::filler(task).bits << shift;
        }
        if constexpr (is_half<T>) memcpy(x, words, sizeof x);
    } else {
#pragma unroll
        for (int j = 0; j < N; j++) {
            if (!is_nan(x[j])) continue;
            x[j] = Acc::filler(task);
            *ok &= ~(1u << j);
        }
    }
}

// What accumulators of integers, extremes and indices share. Acc has add(x, ok, at, task), and where
// kPacked add_packed(words, ok, at, task), which takes elements of one or two bytes, several in a word.
// kHalves: elements of two bytes may be halves.
template <class Acc>
struct certain {
    static constexpr bool kCertain = true, kByIndex = false, kAtOnce = false, kHalves = false,
                          kFewRows = true, kStages = false, kAnswersFirst = false,
                          kOftenTies = false, kQuick = false, kPairsAtOnce = false,
                          kHasSquares = false;
    int64_t count;

    template <int N, class T>
    __device__ __forceinline__ void take(const T (&x)[N], uint32_t ok, const place &at,
                                         const reduce_task &task)
    {
        Acc &own = static_cast<Acc &>(*this);
        count += __popc(ok);
        if constexpr (Acc::kPacked && N * sizeof(T) % 8 == 0) {
            uint32_t words[N * sizeof(T) / 4];
            memcpy(words, x, sizeof words);
            own.add_packed(words, ok, at, task);
        } else {
            own.add(x, ok, at, task);
        }
    }
    __device__ __forceinline__ void settle(const reduce_task &) {}
};

// What `lanes` neighbouring lanes hold, in the first `left` of them, if these take it.
template <class Acc>
__device__ __forceinline__ void
join_lanes(Acc &acc, int lanes, int left = 1, bool takes = true)
{
    uint64_t words[Acc::kWords];
#pragma unroll 1
    for (int half = lanes / 2; half >= left; half /= 2) {
        acc.save(words);
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++)
            words[w] = __shfl_down_sync(kAllLanes, words[w], half);
        if (takes) acc.merge(words);
    }
}

template <class Acc>
__device__ __forceinline__ void
save_words(const Acc &acc, uint64_t *to)
{
    uint64_t words[Acc::kWords];
    acc.save(words);
#pragma unroll
    for (int w = 0; w < Acc::kWords; w++) to[w] = words[w];
}

template <class Acc>
struct word_memory {
    uint64_t word[Acc::kWords][kWarps];
};

// What the first lanes of the block's warps hold, in its first thread. A barrier must follow before the memory is
// written again.
template <class Acc>
__device__ __forceinline__ void
join_warps(Acc &acc, word_memory<Acc> *memory)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    uint64_t words[Acc::kWords];
    acc.save(words);
#pragma unroll
    for (int w = 0; w < Acc::kWords; w++)
        if (lane == 0) memory->word[w][warp] = words[w];
    __syncthreads(); // every warp's words are there before the first thread reads them
    for (int k = 1; k < kWarps && threadIdx.x == 0; k++) {
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) words[w] = memory->word[w][k];
        acc.merge(words);
    }
}

// What another block may have written, from the L2: past a multiprocessor's own L1.
template <int N>
__device__ __forceinline__ void
read_words(const uint64_t *from, uint64_t (&words)[N])
{
#pragma unroll
    for (int w = 0; w < N; w++) words[w] = __ldcg(from + w);
}

// To the state of the output's pieces.
template <class Acc>
__device__ __forceinline__ void
add_to_state(Acc &acc, const reduce_task &task, int64_t output)
{
    uint64_t words[Acc::kWords], *state = shared_words(task, output, Acc::kWords);
    read_words(state, words);
    acc.merge(words);
    save_words(acc, state);
}

// Of a thread that has all of an output, or of its piece; kFew: of few elements. False: it cannot be told.
template <bool kFew = false, class Acc>
__device__ __forceinline__ bool
deliver(Acc &acc, const reduce_task &task, int64_t output)
{
    if constexpr (Acc::kCertain) {
        if (task.keeps) {
            add_to_state(acc, task, output);
            return true;
        }
    }
    if constexpr (kFew && Acc::kCertain && Acc::kAtOnce)
        acc.finish_by_call(task, output);
    else if (!acc.finish(task, output))
        return false;
    send_result(task);
    return true;
}

} // namespace wk
