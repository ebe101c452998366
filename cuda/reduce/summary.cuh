// summary.cuh -- many results of one pass over integers: extremes, counts and moments together.
#pragma once
#include "reduce/extreme.cuh"

namespace wk
{

// Integers. Without kAll just the moments, without kSquares just their sum.
template <typename E, bool kAll, bool kSquares = true>
struct int_summary : certain<int_summary<E, kAll, kSquares>> {
    using T = E;
    static constexpr bool kPacked = sizeof(E) == 1, kPads = !kAll;
    using X = extremes_of<E>;
    using M = int_moments<T, kSquares>;
    static constexpr int kWords = 1 + M::kWords + (kAll ? 3 : 0), kVectors = 4,
                         kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kColumns = sizeof(T) == 8           ? 1
                                    : kAll || sizeof(T) == 4 ? 2
                                                             : 4,
                         kBlocks = 2, kRowBlocks = 2, kColumnBlocks = 2;
    using certain<int_summary>::count;
    M sums;
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
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        integer_outcome o;
        sums.put_to(&o);
        if constexpr (kAll) ends.save(o.ends);
        o.nonzeros = kAll ? nonzeros : 0;
        o.n = count;
        finish_integers(o, task, output);
        return true;
    }
};

} // namespace wk
