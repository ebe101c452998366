// summary.cuh -- many results of one pass over integers: extremes, counts and moments together.
#pragma once
#include "reduce/production/extreme.cuh"

namespace wk
{

// Those results of integers that are the least or the largest.
__device__ void finish_extremes(uint64_t least, uint64_t most, const reduce_task &task,
                                int64_t output);

// The others of n integers, from words in registers: of the arguments twelve are. False: what takes more has
// not been stored. Not wide: n times the squares' sum fits 128 bits.
__device__ bool finish_moments(uint64_t sum, uint64_t sum_high, uint64_t squares,
                               uint64_t squares_high, uint64_t, const reduce_task &task,
                               int64_t output, int64_t n);
__device__ bool finish_wide_moments(uint64_t sum, uint64_t sum_high, uint64_t squares,
                                    uint64_t squares_high, uint64_t squares_top,
                                    const reduce_task &task, int64_t output, int64_t n);

// Integers. Without kAll just the moments, without kSquares just their sum.
template <typename E, bool kAll, bool kSquares = true>
struct int_summary : certain<int_summary<E, kAll, kSquares>> {
    using T = E;
    static constexpr bool kPacked = sizeof(T) <= 2, kAtOnce = !kAll, kFewRows = !kAll,
                          kHasSquares = kSquares;
    using M = int_moments<T, kSquares>;
    static constexpr int kWords = 1 + M::kWords + (kAll ? 3 : 0), kVectors = 4,
                         kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kBlocks = 2, kRowBlocks = 2, kColumnBlocks = 2;
    using certain<int_summary>::count;
    M sums;
    real_extremes<T> ends;
    int64_t nonzeros;

    static __device__ T filler(const reduce_task &task)
    {
        return bias_of<T>(task); // zero as a signed one
    }
    __device__ void start(const reduce_task &)
    {
        count = nonzeros = 0;
        sums.start();
        ends.start();
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t ok, const place &, const reduce_task &task)
    {
        signed_t<T> y[N];
        to_signed(x, task, y);
        sums.add(y);
        if constexpr (kAll) {
            nonzeros += count_nonzero(x, task) - fillers(all_of<N> & ~ok, task);
            ends.take_keys(y, ok);
        }
    }
    template <int W>
    __device__ void add_packed(uint32_t (&words)[W], uint32_t ok, const place &,
                               const reduce_task &task)
    {
        if constexpr (kAll)
            nonzeros += count_packed<T>(words, task) -
                        fillers(all_of<W * 4 / (int)sizeof(T)> & ~ok, task);
        words_to_signed<T>(words, task);
        sums.add_packed(words);
        if constexpr (kAll) ends.take_packed(words, ok);
    }
    // How many of these fillers are not zero.
    static __device__ int fillers(uint32_t bits, const reduce_task &task)
    {
        return task.bias ? __popc(bits) : 0;
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        sums.save(words + 1);
        if constexpr (kAll) {
            ends.save(words + 1 + M::kWords);
            words[kWords - 1] = (uint64_t)nonzeros;
        }
    }
    __device__ void load(const uint64_t *words)
    {
        count = (int64_t)words[0];
        sums.load(words + 1);
        if constexpr (kAll) {
            ends.load(words + 1 + M::kWords);
            nonzeros = (int64_t)words[kWords - 1];
        }
    }
    __device__ void merge(const uint64_t *words)
    {
        if (words[0] == 0) return; // an empty state, all zeros
        count += (int64_t)words[0];
        sums.merge(words + 1);
        if constexpr (kAll) {
            ends.merge(words + 1 + M::kWords);
            nonzeros += (int64_t)words[kWords - 1];
        }
    }
    // One float64 result of elements that fillers follow, as far as these are few, or sums that wrap. False: it takes
    // an accumulator.
    template <int N>
    static __device__ __forceinline__ bool
    finish_at_once(const T (&x)[N], const reduce_task &task, int64_t output)
    {
        if constexpr (kSquares)
            if (!task.in_double) return task.wraps && store_wrapped_of(x, task, output);
        if (!task.in_double) return false;
        if constexpr (kSquares && sizeof(T) == 1 && N >= kFew) {
            if (task.fold[0] == WK_NORM) {
                uint32_t word;
                memcpy(&word, x, sizeof word);
                if (task.n <= kFew) finish_norm_of_bytes<T>(word, task, output);
                return task.n <= kFew;
            }
        }
        signed_t<T> y[N];
        to_signed(x, task, y);
        if (task.fold[0] == WK_MEAN) {
            if constexpr (sizeof(T) == 8) return finish_mean_of_few(y, task, output);
            if constexpr (sizeof(T) < 4) return finish_mean_of_small<T>(y, task, output);
        } else if constexpr (kSquares) {
            constexpr int M = N < kFew ? N : kFew;
            signed_t<T> few[M];
#pragma unroll
            for (int j = 0; j < M; j++) few[j] = y[j];
            return task.n <= M && finish_squares_of_integers<T>(few, task, output);
        }
        return false;
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        constexpr auto finish_words = sizeof(T) == 8 ? finish_wide_moments : finish_moments;
        integer_outcome o = outcome(task);
        if constexpr (!kAll) {
            if (finish_short(o, task, output)) return true;
            if (task.wraps) {
                finish_wrapped(o.sum[0], o.squares[0], o.n, task, output);
                return true;
            }
        }
        if constexpr (kAll) {
            values_of_keys(ends, task, o.ends);
            finish_extremes(o.ends[0], o.ends[1], task, output);
        }
        if (!finish_words(o.sum[0], o.sum[1], o.squares[0], o.squares[1], o.squares[2], task,
                          output, count)) {
            const integer_outcome there = o; // in memory, only here
            finish_integers(there, task, output);
        }
        return true;
    }
    // Sums and sums of squares, modulo 2^64.
    static __device__ __forceinline__ void
    store_wrapped(uint64_t sum, uint64_t squares, const reduce_task &task, int64_t output)
    {
#pragma unroll 1
        for (int i = 0; i < task.folds; i++)
            store(task.out[i], task.out_dtype[i], output,
                  task.fold[i] == WK_SUM ? sum : squares);
    }
    // Of n elements, by a function: the others are an eighth slower where they have its code.
    static __device__ WK_NOINLINE void finish_wrapped(uint64_t sum, uint64_t squares,
                                                      int64_t count, const reduce_task &task,
                                                      int64_t output)
    {
        const int bias = task.bias_bits;
        const uint64_t n = (uint64_t)count << bias;
        if (bias)
            store_wrapped(sum + n, squares + ((2 * sum + n) << bias), task, output);
        else
            store_wrapped(sum, squares, task, output);
    }
    // The same of up to four elements. False: there are more.
    template <int N>
    static __device__ __forceinline__ bool
    store_wrapped_of(const T (&x)[N], const reduce_task &task, int64_t output)
    {
        using W = std::conditional_t<(sizeof(T) > 2), uint64_t, uint32_t>; // holds a square
        constexpr int M = N < kFew ? N : kFew;
        signed_t<T> y[M];
        T few[M];
        uint64_t sum = 0, squares = 0;
        if (task.n > M || task.counts) return false;
#pragma unroll
        for (int j = 0; j < M; j++) few[j] = x[j];
        to_signed(few, task, y);
#pragma unroll
        for (int j = 0; j < M; j++) {
            const W v = j < task.n ? (W)y[j] + (W)bias_of<T>(task) : 0;
            sum += (uint64_t)(std::make_signed_t<W>)v;
            squares += (uint64_t)(W)(v * v);
        }
        store_wrapped(sum, squares, task, output);
        return true;
    }
    // What is not finished at once, which is rare, by what takes few registers: a kernel has no fewer than what it
    // calls. H100, n x 2 along axis 1, 256 MiB: variances of int8 1,090 us so 789, means of int64 192, 144.
    __device__ void finish_by_call(const reduce_task &task, int64_t output) const
    {
        const integer_outcome o = outcome(task);
        finish_integers(o, task, output);
    }
    __device__ __forceinline__ integer_outcome outcome(const reduce_task &task) const
    {
        integer_outcome o;
        o.n = count;
        o.nonzeros = kAll ? nonzeros : 0;
        sums.put_to(&o, task);
        return o;
    }
};

template <typename E, bool kSquares>
constexpr bool folds_segments<int_summary<E, true, kSquares>> = false;

} // namespace wk
