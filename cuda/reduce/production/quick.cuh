// quick.cuh -- whole columns of floats in plain doubles, which tell nearly all of their results.
//
// In, out   rows that lie side by side, of any floats but complex128 -> sums, means, norms, variances.
// How       a thread reads 16 bytes of two rows, wherever these begin, and keeps a sum of each column, or of its
//           squares, in a double, of float64 in two, and what tells how exact that is. A result is stored if it is
//           proved: the sum is exact, or the bound of what was rounded off leaves no other. A bit for each
//           column that is not; accumulators take these (whole.cuh).
// Better    than accumulators at once, 4 bytes of 16 rows: nothing stands beside the loads, four blocks find room,
//           and longer pieces of rows are read. H100, input's share of a copy, by accumulators and so:
//           16 x n float16 sums .75 .86, norms .63 .80, variances .52 .78, float32 .86 .86, float64 .88 .89,
//           .73 .86, .60 .78; 33 x n, whose rows begin anywhere: float16 .55 .75, .48 .69, .34 .61, float32
//           .77 .77, float64 .88 .90, .80 .89, .68 .81. Four rows of halves at once are spilled: .77.
#pragma once
#include "reduce/production/results.cuh"

namespace wk
{

// How a thread's part of a row is read: by one load, by two and a shift, element by element.
enum class reads { kWhole, kShifted, kSingly };

template <int kWords>
struct alignas(4 * kWords) words_of_row {
    uint32_t w[kWords];
};

// Two vectors, and how many bytes into them what is asked for begins.
template <int kWords>
struct two_vectors {
    words_of_row<kWords> low, high;
    int over;
};

template <reads kHow, int kSize, int kWords>
__device__ __forceinline__ void
ask_for(const unsigned char *from, two_vectors<kWords> *v)
{
    using vector = words_of_row<kWords>;
    v->over = 0;
    if constexpr (kHow == reads::kWhole) {
        v->low = *reinterpret_cast<const vector *>(from);
    } else if constexpr (kHow == reads::kShifted) {
        v->over = (int)(reinterpret_cast<uintptr_t>(from) % sizeof(vector));
        const auto base = reinterpret_cast<const vector *>(from - v->over);
        v->low = base[0];
        v->high = base[1];
    } else {
#pragma unroll
        for (int i = 0; i < kWords; i++) {
            if constexpr (kSize >= 4) {
                v->low.w[i] = reinterpret_cast<const uint32_t *>(from)[i];
            } else if constexpr (kSize == 2) {
                const auto half = reinterpret_cast<const uint16_t *>(from) + 2 * i;
                v->low.w[i] = half[0] | (uint32_t)half[1] << 16;
            } else {
                const auto pair = [&](int at) {
                    return from[at] | (uint32_t)from[at + 1] << 8;
                };
                v->low.w[i] = pair(4 * i) | pair(4 * i + 2) << 16;
            }
        }
    }
}

template <reads kHow, int kSize, int kWords>
__device__ __forceinline__ words_of_row<kWords>
shifted(const two_vectors<kWords> &v)
{
    words_of_row<kWords> all = v.low;
    if constexpr (kHow == reads::kShifted) {
        uint32_t w[2 * kWords];
        memcpy(w, v.low.w, sizeof v.low);
        memcpy(w + kWords, v.high.w, sizeof v.high);
#pragma unroll
        for (int step = kWords / 2; step; step /= 2)
#pragma unroll
            for (int i = 0; i + step < 2 * kWords; i++)
                w[i] = v.over & 4 * step ? w[i + step] : w[i];
#pragma unroll
        for (int i = 0; i < kWords; i++)
            all.w[i] = kSize < 4 ? __funnelshift_r(w[i], w[i + 1], v.over % 4 * 8) : w[i];
    }
    return all;
}

// Threads of a warp with columns that their sums do not tell, of which the warp takes one after the other.
constexpr int kFewLanes = 4;

// The reading of them. Own keeps kWords words of a row, kColumns columns of elements T, of R each or of two, has
// kRows on their way, and take_row() and store().
template <class Own>
struct quick_rows {
    template <reads kHow>
    __device__ __forceinline__ void take_rows(const unsigned char *from, int64_t pitch,
                                              int rows, const reduce_task &task)
    {
        constexpr int kMore = kHow == reads::kSingly    ? 1
                              : kHow == reads::kShifted ? 2
                                                        : Own::kRows,
                      kSize = sizeof(typename Own::R);
        Own &own = static_cast<Own &>(*this);
#pragma unroll 1
        for (; rows >= kMore; rows -= kMore, from += kMore * pitch) {
            two_vectors<Own::kWords> read[kMore];
#pragma unroll
            for (int j = 0; j < kMore; j++) ask_for<kHow, kSize>(from + j * pitch, &read[j]);
#pragma unroll
            for (int j = 0; j < kMore; j++) own.take_row(shifted<kHow, kSize>(read[j]), task);
        }
#pragma unroll 1
        for (; rows > 0; rows--, from += pitch) {
            two_vectors<Own::kWords> read;
            ask_for<kHow, kSize>(from, &read);
            own.take_row(shifted<kHow, kSize>(read), task);
        }
    }
    // The first element of a column.
    template <typename T>
    static __device__ __forceinline__ const T *first_of(const T *in, const reduce_task &task,
                                                        int64_t column)
    {
        int64_t at = column;
        if (task.kept.ndim > 1) { // of two axes
            const uint32_t plane = task.inner.quotient((uint32_t)column);
            at += plane * (task.kept.strides[0] - task.inner.divisor);
        }
        return in + at;
    }
    // All rows of the columns from `column` on.
    template <typename T>
    __device__ __forceinline__ void take_all(const T *in, const reduce_task &task,
                                             int64_t column)
    {
        const auto from = reinterpret_cast<const unsigned char *>(first_of(in, task, column));
        const int64_t pitch = task.stride * (int64_t)sizeof(T);
        const int rows = (int)task.n;
        if ((reinterpret_cast<uintptr_t>(in) | (uintptr_t)pitch) % (4 * Own::kWords) == 0)
            take_rows<reads::kWhole>(from, pitch, rows, task);
        else if (column > 0 && column + 2 * Own::kColumns <= task.outputs)
            take_rows<reads::kShifted>(from, pitch, rows, task);
        else // what lies beside them may be nobody's
            take_rows<reads::kSingly>(from, pitch, rows, task);
    }
    // Numbers far from zero, or ties: column c of those from `column` on once more, by a thread, or by all of a warp.
    template <typename T>
    static __device__ __forceinline__ bool tell(const T *in, const reduce_task &task,
                                                int64_t column, int c, int lanes, bool stores)
    {
        const T *from = first_of(in, task, column) + c;
        if constexpr (std::is_same_v<T, double>) {
            const answer a = moment_of_wide_column(from, task.stride, task, lanes);
            return stores ? store_answer<WK_F64>(a, task, column + c) : a.known;
        } else {
            const near_answer a =
                moment_of_column(from, task.stride, Own::kDtype, task, false, lanes);
            return stores ? store_answer<Own::kDtype>(a, task, column + c) : a.known;
        }
    }
    // A bit for each of the columns from `column` on that has no result yet. All of the warp ask. One that is left is the
    // warp's, as a thread's rows come late: H200, norms of 150 x n float32, of which one in 2^19 is not told, 157 us
    // by a thread, and so 78.
    template <typename T>
    static __device__ __forceinline__ uint32_t fold(const T *in, const reduce_task &task,
                                                    int64_t column)
    {
        const bool all = column + Own::kColumns <= task.outputs;
        uint32_t left = column < task.outputs ? all_of<Own::kColumns> : 0;
        if (all) {
            Own own(task);
            own.take_all(in, task, column);
            left = own.store(task, column);
        }
        if constexpr (Own::kSquares && std::is_same_v<T, typename Own::R>) {
            const uint32_t lanes = __ballot_sync(kAllLanes, all && left);
            if (__popc(lanes) > kFewLanes) {
#pragma unroll 1
                for (uint32_t once_more = all ? left : 0; once_more;
                     once_more &= once_more - 1) {
                    const int c = __ffs((int)once_more) - 1;
                    left ^= (uint32_t)tell(in, task, column, c, 1, true) << c;
                }
                return left;
            }
#pragma unroll 1
            for (uint32_t others = lanes; others; others &= others - 1) {
                const int other = __ffs((int)others) - 1;
                const int64_t first = __shfl_sync(kAllLanes, column, other);
                const bool own = (int)threadIdx.x % kWarp == other;
#pragma unroll 1
                for (uint32_t once_more = __shfl_sync(kAllLanes, left, other); once_more;
                     once_more &= once_more - 1) {
                    const int c = __ffs((int)once_more) - 1;
                    const bool known = tell(in, task, first, c, kWarp, own);
                    if (own) left ^= (uint32_t)known << c;
                }
            }
        }
        return left;
    }
};

template <class Acc>
struct quick_columns : quick_rows<quick_columns<Acc>> {
    using R = typename Acc::R; // of a part
    static constexpr bool kSums = Acc::kHasSum, kSquares = Acc::kHasSquares;
    static constexpr bool kHalf = is_half<R>, kFloat16 = std::is_same_v<R, half16>;
    // Both sums of 16 bytes of halves would be spilled.
    static constexpr int kWords = kHalf && kSums && kSquares ? 2 : 4, kRows = 8 / kWords;
    static constexpr int kReals = 4 * kWords / (int)sizeof(R), kPieces = Acc::kPieces,
                         kColumns = kReals / kPieces;
    static constexpr int kAnswers =
        kSums ? kReals : kColumns; // complex norms have both parts' squares
    static constexpr int kDtype = Acc::kDtype;
    // A sum alone may be a tie, and has to be exact: magnitudes tell. That of 2^13 float16 always is.
    static constexpr bool kTells = !kSquares && !kFloat16;

    double sum[kSums ? kReals : 1], squares[kSquares ? kAnswers : 1];
    // Of halves two in a word; least: less one, zero being the largest.
    uint32_t most[kWords], least[kWords];

    // So many times the threads that the device holds are to have columns: else more threads, that read less each, wait
    // less. Of floats there is no such shape.
    static double least_waves(const reduce_task &)
    {
        return 0;
    }
    // Of more rows float16's sums might not be exact, and bounds too wide. Of few, sums of halves alone are faster so
    // than at once (floats.cuh): H100, 3 x n float16 .37 .52, norms of bfloat16 .30 .16.
    static bool asked(const reduce_task &task)
    {
        const int fold = task.fold[0];
        const bool some = kSquares ? is_moment(fold) : fold == WK_SUM || fold == WK_MEAN;
        return task.is_own() && some && task.n <= 1024 &&
               ((kHalf && !kSquares) || task.n > WK_FEW_ROWS);
    }
    __device__ __forceinline__ explicit quick_columns(const reduce_task &)
    {
#pragma unroll
        for (int r = 0; r < (kSums ? kReals : 1); r++) sum[r] = -0.0; // stays so if all are
#pragma unroll
        for (int i = 0; i < (kSquares ? kAnswers : 1); i++) squares[i] = 0;
#pragma unroll
        for (int w = 0; w < kWords; w++) most[w] = 0, least[w] = UINT32_MAX;
    }
    __device__ __forceinline__ void take(int r, R x)
    {
        const double v = (double)value_of(x);
        if constexpr (kSums) sum[r] += v;
        if constexpr (kSquares) {
            double &q = squares[kSums ? r : r / kPieces];
            q = __fma_rn(v, v, q);
        }
    }
    __device__ __forceinline__ void take_row(const words_of_row<kWords> &row,
                                             const reduce_task &)
    {
#pragma unroll
        for (int w = 0; w < kWords; w++) {
            const uint32_t x = row.w[w];
            if constexpr (kHalf) {
                take(2 * w, R{(uint16_t)x});
                take(2 * w + 1, R{(uint16_t)(x >> 16)});
            } else {
                take(w, wk_from_bits_f32(x));
            }
            if constexpr (kTells && kHalf) {
                const uint32_t size = x & 0x7fff7fff;
                most[w] = __vmaxu2(most[w], size);
                least[w] = __viaddmin_u16x2(size, UINT32_MAX, least[w]);
            } else if constexpr (kTells) {
                const uint32_t size = x & 0x7fffffff;
                most[w] = size > most[w] ? size : most[w];
                least[w] = size - 1 < least[w] ? size - 1 : least[w];
            }
        }
    }
    // The sum of n finite numbers is exact where the digits of all, and log2(n) more, are no more than a double's.
    __device__ __forceinline__ bool is_exact(int r, const reduce_task &task) const
    {
        if constexpr (!kTells) return true;
        constexpr int kDigits = kHalf ? 8 : 24, kShift = kHalf ? 7 : 23;
        const int spare = 53 - kDigits - (32 - __clz((int)task.n));
        uint32_t high = most[kHalf ? r / 2 : r], low = least[kHalf ? r / 2 : r];
        if constexpr (kHalf)
            high = high >> r % 2 * 16 & 0xffff, low = low >> r % 2 * 16 & 0xffff;
        return high >> kShift <= (low >> kShift) + (uint32_t)spare;
    }
    // A sum or a mean, of which all is known where the sum is exact: to what side of its double the quotient lies.
    __device__ __forceinline__ near_answer answer_of_sum(int r, const reduce_task &task,
                                                         const population &of) const
    {
        const double s = sum[r];
        double x = s, rest = 0;
        if (task.fold[0] == WK_MEAN) {
            x = s * of.inverse;
            rest = __fma_rn(-x, of.number, s);
            if (rest != 0) x += rest * of.inverse; // else it is exact, and -0.0 stays
            rest = __fma_rn(-x, of.number, s);
        }
        float f = (float)x;
        if constexpr (kHalf) {
            const double off = x - (double)f, side = off != 0 ? off : rest;
            const uint32_t b = wk_bits_f32(f);
            if (side != 0 && !(b & 1) && fabsf(f) < INFINITY)
                f = wk_from_bits_f32((side > 0) == (b >> 31 == 0) ? b + 1 : b - 1);
            if constexpr (!kFloat16) f = nearest_brain(f);
        } else {
            f = (float)round_to_odd(x, rest);
        }
        return {f, is_exact(r, task)};
    }
    __device__ __forceinline__ near_answer answer(int i, const reduce_task &task,
                                                  const population &of) const
    {
        const double all = kSquares ? squares[i] : sum[i];
        const int fold = task.fold[0];
        if (all - all != 0) { // infinities, which have no variance, or a NaN
            const bool nan = all != all || is_spread(fold);
            return {nan ? wk_from_bits_f32(0x7fc00000) : (float)all,
                    !(task.some && all != all)};
        }
        if constexpr (kSquares)
            return batch_sums<double, kDtype>(kSums ? sum[i] : 0, all,
                                              (of.number * kPieces + 3) * 0x1p-53)
                .moment(of, fold);
        else
            return answer_of_sum(i, task, of);
    }
    // The results that are known; a bit for each column that has another.
    __device__ __forceinline__ uint32_t store(const reduce_task &task, int64_t column) const
    {
        constexpr int kOf = kAnswers / kColumns; // a column's
        using stored = decltype(stored_float<kDtype>(0));
        struct alignas(kAnswers * sizeof(stored)) results {
            stored of[kAnswers];
        } own;
        const population of(task);
        uint32_t unknown = 0;
#pragma unroll
        for (int i = 0; i < kAnswers; i++) {
            const near_answer a = answer(i, task, of);
            own.of[i] = stored_float<kDtype>(a.value);
            if (kFloat16 && a.value != a.value) own.of[i] = 0x7e00; // one NaN
            unknown |= (uint32_t)!a.known << i / kOf;
        }
        stored *const to = static_cast<stored *>(task.out[0]) + column * kOf;
        if (unknown == 0 && reinterpret_cast<uintptr_t>(to) % sizeof own == 0) {
            *reinterpret_cast<results *>(to) = own;
            return 0;
        }
#pragma unroll
        for (int i = 0; i < kAnswers; i++)
            if (!(unknown >> i / kOf & 1)) to[i] = own.of[i];
        return unknown;
    }
};

// Columns of float64, whose sums are pairs of doubles. A sum alone may be a tie: what is rounded off its low one is
// kept. Of sums for a variance, and of squares, it is no more than n times a unit of the low one, and that no more than
// n units of all that is added.
template <class Acc>
struct quick_pairs : quick_rows<quick_pairs<Acc>> {
    using R = double;
    static constexpr bool kSums = Acc::kHasSum, kSquares = Acc::kHasSquares;
    static constexpr int kWords = 4, kRows = kSquares ? 2 : 4, kColumns = 2;

    double_pair sum[kColumns], squares[kColumns];
    uint64_t bits[kColumns]; // of all numbers but their signs

    static double least_waves(const reduce_task &)
    {
        return 0;
    }
    static bool asked(const reduce_task &task)
    {
        return quick_columns<Acc>::asked(task);
    }
    __device__ __forceinline__ explicit quick_pairs(const reduce_task &)
    {
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
            sum[c] = {-0.0, 0, 0}; // stays so if all are
            squares[c] = {0, 0, 0};
            bits[c] = 0;
        }
    }
    __device__ __forceinline__ void take_row(const words_of_row<kWords> &row,
                                             const reduce_task &)
    {
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
            const uint64_t b = (uint64_t)row.w[2 * c + 1] << 32 | row.w[2 * c];
            const double x = wk_from_bits_f64(b), square = x * x;
            double carry;
            if constexpr (kSums) {
                sum[c].high = two_sum(sum[c].high, x, &carry);
                double more = 0;
                if constexpr (kSquares)
                    sum[c].low += carry;
                else
                    sum[c].low = two_sum(sum[c].low, carry, &more);
                sum[c].lost += fabs(more);
            }
            if constexpr (kSquares) {
                squares[c].high = two_sum(squares[c].high, square, &carry);
                squares[c].low += carry + __fma_rn(x, x, -square);
                bits[c] |= b << 1;
            }
        }
    }
    __device__ __forceinline__ answer result(int c, const reduce_task &task,
                                             const population &of) const
    {
        const int fold = task.fold[0];
        const double off = (of.number + 4) * (of.number + 4) * 0x1p-106;
        double_pair s = sum[c], q = squares[c];
        if constexpr (kSquares) {
            if (bits[c] == 0 && (!is_spread(fold) || of.spread > 0)) return {0, true};
            if (!(q.high > 0x1p-400 && q.high < 0x1p800)) return {0, false};
            q.high = two_sum(q.high, q.low, &q.low);
            q.lost = q.high * off;
            s.lost = of.number * q.high; // which no partial sum's square exceeds
            s.lost *= rsqrt(s.lost) * off;
        }
        if (!kSquares && s.high == 0 && s.low == 0 && s.lost == 0) return {s.high, true};
        s.high = two_sum(s.high, s.low, &s.low);
        if constexpr (kSquares)
            return quick_wide<kSums>(s, q, of, fold);
        else
            return fold == WK_MEAN ? quick_mean(s, of.n, of.inverse, WK_F64)
                                   : rounded(s, WK_F64);
    }
    // The results that are known; a bit for each column that has another.
    __device__ __forceinline__ uint32_t store(const reduce_task &task, int64_t column) const
    {
        const population of(task);
        double *const to = static_cast<double *>(task.out[0]) + column;
        answer own[kColumns];
        uint32_t unknown = 0;
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
            own[c] = result(c, task, of);
            unknown |= (uint32_t)!own[c].known << c;
        }
        if (unknown == 0 && reinterpret_cast<uintptr_t>(to) % 16 == 0) {
            *reinterpret_cast<double2 *>(to) = make_double2(own[0].value, own[1].value);
            return 0;
        }
#pragma unroll
        for (int c = 0; c < kColumns; c++)
            if (own[c].known) to[c] = own[c].value;
        return unknown;
    }
};

} // namespace wk
