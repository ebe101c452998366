// quick_lanes.cuh -- whole columns of one or two bytes, in lanes of 16 bits.
//
// In, out   rows that lie side by side, of one or two bytes -> extremes, any, all; of one byte -> where extremes are,
//           sums, counts, means, the norm of bool.
// How       a thread reads 16 bytes of two rows, as quick.cuh does, and keeps the largest key of each column, or its
//           sum: pairs of columns in a word, so that a packed instruction takes two elements. An index stands
//           below its key, that of the first row the largest. Results of 8 bytes go by shared memory: 32
//           threads store 32 that lie together.
// Better    than an accumulator a column, 4 bytes of 16 rows. H100, input's share of a copy, so and so: 16 x n and 33 x
//           n, any of bytes .46 .89, .47 .80, maxima .83 .89, .51 .80, of 3 x n .20 .65; indices .22 .65, .28
//           .65, sums .42 .64, .46 .64 (.67 and .81 are all that results of 8 bytes leave). Stored by each
//           thread, indices of 16 x n have .24.
#pragma once
#include "reduce/production/quick.cuh"
#include "reduce/production/extreme.cuh"

namespace wk
{

// Columns of one or two bytes: of each the largest key, or a sum, in 16 bits. What is asked for decides what is the
// largest; an index stands below its key.
template <class Acc>
struct quick_lanes : quick_rows<quick_lanes<Acc>> {
    using R = typename Acc::T;
    static constexpr bool kByte = sizeof(R) == 1, kIndex = Acc::kByIndex,
                          kTruth = std::is_same_v<Acc, word<R, what::nonzeros>>,
                          kValues = std::is_same_v<Acc, word<R, what::values>>,
                          kSums = kTruth || kValues;
    static constexpr int kWords = 4, kRows = 2, kColumns = 16 / (int)sizeof(R);
    static constexpr int kLanes = kColumns / 2; // pairs of columns

    uint32_t most[kLanes],
        least[kByte ? 1 : kLanes]; // or sums; least: of halves, which may be NaN
    uint32_t turn, index;

    // What a warp's columns have, side by side.
    using stage = uint16_t[kWarp * kColumns];

    // Are results 8 bytes, by way of a stage?
    static __device__ __forceinline__ bool long_results(const reduce_task &task)
    {
        return kByte && (kIndex || kValues ||
                         (kTruth && task.fold[0] != WK_ANY && task.fold[0] != WK_ALL));
    }
    // H100, by others and so: maxima of int16, 50 and 100 x n .85 .81, .82 .63; of int8 .54 .80, .61 .62. Of 16 rows of
    // int8, 2^17 columns: maxima 3.9 us 5.0, sums 4.4 6.7, indices 6.8 6.3; 2^20: indices 29 10.
    static double least_waves(const reduce_task &task)
    {
        return !kByte && task.n > 16 ? 3 : 0.3;
    }
    static bool asked(const reduce_task &task)
    {
        const int fold = task.fold[0], out = task.out_dtype[0];
        const bool whole = out == WK_I64 || out == WK_U64;
        if (!task.plain && !task.in_double) return false;
        if (kIndex) return kByte && whole && task.n <= 256;
        if (kValues)
            return task.n <= 256 &&
                   ((fold == WK_SUM && whole) || (fold == WK_MEAN && task.in_double));
        if (kTruth && (fold == WK_ANY || fold == WK_ALL)) return task.n < 1 << 16;
        if (kTruth)
            return kByte && task.n < 1 << 16 &&
                   (((fold == WK_SUM || fold == WK_COUNT_NONZERO) && whole) ||
                    (fold == WK_MEAN && task.in_double) || fold == WK_NORM);
        return fold != WK_PTP;
    }
    __device__ __forceinline__ explicit quick_lanes(const reduce_task &task)
    {
        const int fold = task.fold[0];
        turn = fold == WK_MIN || fold == WK_ARGMIN ? ~0u : 0;
        if (kSums || (!task.bias && !task.truth)) turn ^= kByte ? 0x80808080 : 0x80008000;
        index = kIndex ? 0xff : 0;
#pragma unroll
        for (uint32_t &k : most) k = 0;
#pragma unroll
        for (uint32_t &k : least) k = ~0u;
    }
    __device__ __forceinline__ void take_row(const words_of_row<kWords> &row,
                                             const reduce_task &task)
    {
        uint32_t words[kWords];
        memcpy(words, row.w, sizeof words);
        if constexpr (kTruth) {
#pragma unroll
            for (uint32_t &w : words) {
                w &= (uint32_t)task.mask;
                w = kByte ? nonzero_bytes(w) >> 7 : nonzero_halves(w) >> 15;
            }
        } else if constexpr (kValues) {
            words_to_signed<R>(words, task);
        } else if (kByte ? task.truth : task.halves) {
            words_to_keys<R>(words, task);
        }
#pragma unroll
        for (int w = 0; w < kWords; w++) {
            const uint32_t x = kTruth ? words[w] : words[w] ^ turn;
            if constexpr (kSums && kByte) {
                most[2 * w] += x & 0x00ff00ff;
                most[2 * w + 1] += x >> 8 & 0x00ff00ff;
            } else if constexpr (kSums) {
                most[w] += x;
            } else if constexpr (kByte) {
                most[2 * w] = __vmaxu2(most[2 * w], __byte_perm(x, index, 0x2404));
                most[2 * w + 1] = __vmaxu2(most[2 * w + 1], __byte_perm(x, index, 0x3414));
            } else {
                most[w] = __vmaxu2(most[w], x);
                if (task.halves) least[w] = __viaddmin_u16x2(x, 0, least[w]);
            }
        }
        if constexpr (kIndex) index--;
    }
    // What there is of a column, in 16 bits.
    __device__ __forceinline__ uint32_t lane_of(const uint32_t *lanes, int c) const
    {
        return kByte ? lanes[c / 4 * 2 + c % 2] >> c / 2 % 2 * 16 & 0xffff
                     : lanes[c / 2] >> c % 2 * 16 & 0xffff;
    }
    // An element, or whether any, or all, are not zero.
    __device__ __forceinline__ auto result(int c, const reduce_task &task) const
    {
        const uint32_t all = lane_of(most, c);
        if constexpr (kSums) {
            return (uint8_t)(task.fold[0] == WK_ALL ? all == (uint32_t)task.n : all != 0);
        } else {
            R bits = (R)((kByte ? all >> 8 : all) ^ turn);
            if constexpr (!kByte) {
                if (task.halves) {
                    const auto own = (int16_t)bits, other = (int16_t)(lane_of(least, c) ^ turn);
                    const bool nan = own > task.infinity || own < ~task.infinity ||
                                     other > task.infinity || other < ~task.infinity;
                    bits = (R)half_of_key(own, nan, task.infinity);
                }
            }
            return bits;
        }
    }
    __device__ __forceinline__ void store(const reduce_task &task, int64_t column) const
    {
        using stored = decltype(result(0, task));
        struct alignas(kColumns * sizeof(stored)) results {
            stored of[kColumns];
        } own;
        stored *const to = static_cast<stored *>(task.out[0]) + column;
#pragma unroll
        for (int c = 0; c < kColumns; c++) own.of[c] = result(c, task);
        if (reinterpret_cast<uintptr_t>(to) % sizeof own == 0)
            *reinterpret_cast<results *>(to) = own;
        else
#pragma unroll
            for (int c = 0; c < kColumns; c++) to[c] = own.of[c];
    }
    // An index, a sum, a count, a mean or, of bool, a norm, of what there is of a column.
    static __device__ __forceinline__ void store_long(int lane, const reduce_task &task,
                                                      int64_t column)
    {
        if constexpr (kIndex) {
            static_cast<int64_t *>(task.out[0])[column] = 0xff - (lane & 0xff);
        } else {
            const int sum = kTruth || task.bias ? lane : lane - 128 * (int)task.n;
            double *const to = static_cast<double *>(task.out[0]) + column;
            if (task.fold[0] == WK_MEAN)
                *to = quotient((double)sum, task.number, task.inverse);
            else if (kTruth && task.fold[0] == WK_NORM)
                *to = root_of_small((uint32_t)sum);
            else
                static_cast<int64_t *>(task.out[0])[column] = sum;
        }
    }
    // A warp's columns from `base` on, of those before `end`.
    static __device__ __forceinline__ void fold_warp(const R *in, const reduce_task &task,
                                                     int64_t base, int64_t end, stage &to)
    {
        const int lane = threadIdx.x % kWarp;
        const int64_t column = base + lane * kColumns;
        quick_lanes own(task);
        if (column < end) own.take_all(in, task, column);
        if (!long_results(task)) {
            if constexpr (!kIndex && !kValues)
                if (column < end) own.store(task, column);
            return;
        }
#pragma unroll
        for (int c = 0; c < kColumns; c++)
            to[lane * kColumns + c] = (uint16_t)own.lane_of(own.most, c);
        __syncwarp(); // all lanes' are there
#pragma unroll 1
        for (int c = lane; c < kWarp * kColumns && base + c < end; c += kWarp)
            store_long(to[c], task, base + c);
        __syncwarp(); // they have been read
    }
};

template <class Acc>
using quick_of = std::conditional_t<Acc::kCertain, quick_lanes<Acc>,
                                    std::conditional_t<std::is_same_v<typename Acc::T, double>,
                                                       quick_pairs<Acc>, quick_columns<Acc>>>;

} // namespace wk
