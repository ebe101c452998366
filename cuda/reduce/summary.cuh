// summary.cuh -- many results of one pass over integers: extremes, counts and moments together.
#pragma once
#include "reduce/extreme.cuh"
#include "reduce/finish.cuh"

namespace wk
{

// Integers. Without kAll just the moments, without kSquares just their sum.
template <typename E, bool kAll, bool kSquares = true>
struct int_summary : certain<int_summary<E, kAll, kSquares>> {
    using T = E;
    static constexpr bool kPacked = sizeof(E) == 1, kPads = !kAll;
    using X = extremes_of<E>;
    static constexpr int kWords = 1 + 5 + (kAll ? 3 : 0), kVectors = 8,
                         kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T), kSmall = small_of<T>;
    static constexpr int kColumns = 1, kBlocks = 2, kRowBlocks = 2, kColumnBlocks = 2;
    using certain<int_summary>::count;
    int_moments<T, kSquares> sums;
    X ends;
    int64_t nonzeros;

    static __device__ T filler(const reduce_task &)
    {
        return T{};
    }
    __device__ void start(const reduce_task &)
    {
        count = nonzeros = 0;
        sums.start();
        ends.start();
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t ok, const place &, const reduce_task &)
    {
        sums.add(x);
        if constexpr (kAll) {
            int some = 0;
#pragma unroll
            for (int j = 0; j < N; j++) some += is_nonzero(x[j]);
            nonzeros += some;
            ends.take_all(x, ok);
        }
    }
    template <int N>
    __device__ void add_packed(const uint32_t (&words)[N], const place &, const reduce_task &)
    {
        sums.add_packed(words);
        if constexpr (kAll) {
            ends.take_packed(words);
            nonzeros += count_bytes(words);
        }
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        sums.save(words + 1);
        if constexpr (kAll) {
            ends.save(words + 6);
            words[8] = (uint64_t)nonzeros;
        }
    }
    __device__ void merge(const uint64_t *words)
    {
        if (words[0] == 0) return; // an empty state, all zeros
        count += (int64_t)words[0];
        sums.merge(words + 1);
        if constexpr (kAll) {
            ends.merge(words + 6);
            nonzeros += (int64_t)words[8];
        }
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        for (int i = 0; i < task.folds; i++) {
            const int fold = task.fold[i], dtype = task.out_dtype[i];
            void *out = task.out[i];
            if (fold == WK_MIN || fold == WK_MAX || fold == WK_PTP)
                ends.finish(fold, out, dtype, output);
            else if (fold == WK_ANY || fold == WK_ALL || fold == WK_COUNT_NONZERO)
                store(out, dtype, output,
                      fold == WK_ANY   ? (uint64_t)(nonzeros > 0)
                      : fold == WK_ALL ? (uint64_t)(nonzeros == count)
                                       : (uint64_t)nonzeros);
            else if (is_float_dtype(dtype))
                store(out, dtype, output, sums.moment(fold, count, task.ddof, dtype));
            else
                store(out, dtype, output, fold == WK_SUM ? sums.sum[0] : sums.squares[0]);
        }
        return true;
    }
};

} // namespace wk
