// moments.cuh -- exact sums of floats and of their squares, in a thread.
//
// What is added is a batch. Where its exponents are no further apart than nearly all are, a batch of
// float32 is added in double, which is then exact; squares, and float64, are split by a bias
// (expansion.cuh): a few additions an element, and two or three doubles to add to the sum. Else the
// elements go there one by one. What does not fit the sum's doubles is found out here, and the part
// is folded again with more of them (kMany), then by integers (slow.cuh).
#pragma once
#include "reduce/expansion.cuh"
#include "reduce/task.cuh"

namespace wk
{

__device__ __forceinline__ float
size_of(float x)
{
    return fabsf(x);
}

__device__ __forceinline__ double
size_of(double x)
{
    return fabs(x);
}

// Twice the upper 32 bits but the sign, less one: in the order of magnitudes, zero the largest.
__device__ __forceinline__ uint32_t
key_of_size(float x)
{
    return wk_bits_f32(x) * 2u - 1u;
}

__device__ __forceinline__ uint32_t
key_of_size(double x)
{
    const uint64_t b = wk_bits_f64(x);
    return (uint32_t)(b >> 32) * 2u + ((uint32_t)b != 0) - 1u;
}

// How far a batch's magnitudes lie apart: their sum, and the key of the least that is not zero.
template <typename F>
struct batch_range {
    static constexpr int kDigits = sizeof(F) == 8 ? 20 : 23; // of the upper 32 bits
    static constexpr uint32_t kInfinite = sizeof(F) == 8 ? 0x7ff00000 : 0x7f800000;
    F magnitude;
    uint32_t least;

    // From the least to the sum.
    __device__ __forceinline__ bool within(uint32_t binades) const
    {
        const uint32_t high = sizeof(F) == 8 ? (uint32_t)(wk_bits_f64((double)magnitude) >> 32)
                                             : wk_bits_f32((float)magnitude);
        return high <= (least >> 1) + (binades << kDigits) && high < kInfinite;
    }
    __device__ __forceinline__ int exponent() const // the sum is below 2^(e + 1)
    {
        if constexpr (sizeof(F) == 8) return exponent_of(magnitude);
        return (int)(wk_bits_f32((float)magnitude) >> 23) - 127;
    }
    __device__ __forceinline__ bool squares_are_normal() const // of float64, all digits of them
    {
        return magnitude != 0 && least >= (uint32_t)(1023 - 480) << 21 && exponent() < 480;
    }
};

// Numbers whose magnitudes sum to less than 2^e.
__device__ __forceinline__ split_sum
split_below(int e)
{
    return split_sum(1.5 * power_of_two(e + 1));
}

template <typename E, bool kSum, bool kSquares, bool kMany>
struct moments {
    static constexpr bool kHasSum = kSum, kHasSquares = kSquares;
    using T = E;
    using F = value_t<E>;
    static constexpr bool kWide = std::is_same_v<F, double>, kHalf = is_half<E>,
                          kFloat16 = std::is_same_v<E, half16>;
    static constexpr int kBatch = kWide ? 8 : 16, kLongBatch = 2 * kBatch;
    // Doubles: for normal data; the many span all of float32, and 300 binades of float64.
    static constexpr int kS = kMany ? 7 : kFloat16 ? 2 : 3;
    static constexpr int kQ = kMany ? 7 : kFloat16 ? 2 : kWide ? 4 : 3;
    // Binades that a batch of 32 (of float64: 16) may span, and what is added plainly fit 53 bits:
    // elements or squares, or what is split off them. A sum of float16 always fits; squares of
    // halves have 16 or 22 digits.
    static constexpr uint32_t kPlain = kHalf ? 42 : 26, kPlainSquares = kFloat16 ? 15 : 18;
    static constexpr uint32_t kSplit = kWide ? 47 : kHalf ? 90 : 75;
    static constexpr uint32_t kSplitSquares = kWide ? 23 : kFloat16 ? 38 : kHalf ? 41 : 25;
    static constexpr int kOfSum = kSum ? kS : 0, kOfSquares = kSquares ? kQ : 0;
    static constexpr int kWords = 2 + kOfSum + kOfSquares;
    static constexpr int kSumLimbs = kSum ? (kWide ? WK_SUM_LIMBS : WK_SUM_LIMBS_SMALL) : 0;
    static constexpr int kSquareLimbs =
        kSquares ? (kWide ? WK_SQUARE_LIMBS : WK_SQUARE_LIMBS_SMALL) : 0;
    static constexpr int kLimbs = kSumLimbs + kSquareLimbs;
    static constexpr int kSumBase = kWide ? WK_SUM_BASE : WK_SUM_BASE_SMALL;
    static constexpr int kSquareBase = kWide ? WK_SQUARE_BASE : WK_SQUARE_BASE_SMALL;

    int64_t count;
    int flags;
    expansion<kS> sum;
    expansion<kQ> squares;

    static __device__ T filler(const reduce_task &)
    {
        if constexpr (kHalf)
            return T{0x8000};
        else
            return T(-0.0);
    }
    __device__ void start(const reduce_task &task)
    {
        count = 0;
        flags = task.integers_only ? kFailed : 0;
        sum.clear();
        squares.clear();
    }
    __device__ bool failed() const
    {
        return flags & kFailed;
    }
    template <int N>
    __device__ void add(const T (&elements)[N], uint32_t, const place &, const reduce_task &)
    {
        constexpr bool kRanged = kSquares || !kFloat16;
        F x[N];
        batch_range<F> range = {0, UINT32_MAX};
        double total = -0.0; // of the elements; of float64 it would be rounded
#pragma unroll
        for (int j = 0; j < N; j++) x[j] = value_of(elements[j]);
        if constexpr (kSum && !kWide) total = plain_sum(x);
        if constexpr (kRanged) range = range_of(x);
        const F probe = kSum && !kWide ? (F)(total - total) : range.magnitude - range.magnitude;
        if (probe != 0) { // infinite, not a number, or a sum of magnitudes that is
            leave_out(x);
            if constexpr (kSum && !kWide) total = plain_sum(x);
            if constexpr (kRanged) range = range_of(x);
        }
        rests rest;
        if constexpr (kSum && !kWide) {
            flags |= wk_bits_f64(total) == 1ull << 63 ? 0 : WK_NOT_MINUS_ZERO;
            if (kFloat16 || range.within(kPlain)) {
                rest.note(sum.put(total));
            } else if (range.within(kSplit)) {
                split_sum all = split_below(range.exponent() + 2);
#pragma unroll
                for (int j = 0; j < N; j++) all.add((double)x[j]);
                rest.note(sum.put(all.sum()));
                rest.note(sum.template put<1>(all.low));
            } else {
#pragma unroll
                for (int j = 0; j < N; j++) rest.note(sum.put((double)x[j]));
            }
        }
        if constexpr (kSum && kWide) {
            flags |= range.magnitude != 0 ? WK_NOT_MINUS_ZERO : 0;
            if (range.magnitude == 0) {
#pragma unroll
                for (int j = 0; j < N; j++)
                    flags |= wk_bits_f64(x[j]) >> 63 ? 0 : WK_NOT_MINUS_ZERO;
            } else if (range.within(kSplit) && range.exponent() < 1000) {
                split_sum all = split_below(range.exponent() + 2);
#pragma unroll
                for (int j = 0; j < N; j++) all.add(x[j]);
                rest.note(sum.put(all.sum()));
                rest.note(sum.template put<1>(all.low));
            } else {
#pragma unroll
                for (int j = 0; j < N; j++) rest.note(sum.put(x[j]));
            }
        }
        if constexpr (kSquares) add_squares(x, range, &rest);
        flags |= rest.any() ? kFailed : 0;
    }
    // -0.0 only if all are.
    template <int N>
    static __device__ __forceinline__ double plain_sum(const F (&x)[N])
    {
        double d[2] = {-0.0, -0.0};
#pragma unroll
        for (int j = 0; j < N; j++) d[j % 2] += (double)x[j];
        return d[0] + d[1];
    }
    template <int N>
    static __device__ __forceinline__ batch_range<F> range_of(const F (&x)[N])
    {
        F magnitude[2] = {0, 0};
        uint32_t least[2] = {UINT32_MAX, UINT32_MAX};
#pragma unroll
        for (int j = 0; j < N; j++) {
            const uint32_t key = key_of_size(x[j]);
            magnitude[j % 2] += size_of(x[j]);
            least[j % 2] = key < least[j % 2] ? key : least[j % 2];
        }
        return {magnitude[0] + magnitude[1], least[0] < least[1] ? least[0] : least[1]};
    }
    // What is no number is noted, and does not count.
    template <int N>
    __device__ __forceinline__ void leave_out(F (&x)[N])
    {
#pragma unroll
        for (int j = 0; j < N; j++) {
            if (x[j] - x[j] == 0) continue;
            flags |= x[j] != x[j] ? WK_HAS_NAN : x[j] < 0 ? WK_HAS_MINUS_INF : WK_HAS_INF;
            x[j] = F(-0.0);
        }
    }
    template <int N>
    __device__ __forceinline__ void add_squares(const F (&x)[N], const batch_range<F> &range,
                                                rests *rest)
    {
        const bool quick = range.within(kSplitSquares);
        const int e = 2 * range.exponent() + 3; // all squares together are below 2^e
        if (kHalf && range.within(kPlainSquares)) {
            double d[2] = {0, 0};
#pragma unroll
            for (int j = 0; j < N; j++)
                d[j % 2] = __fma_rn((double)x[j], (double)x[j], d[j % 2]);
            rest->note(squares.put(d[0] + d[1]));
        } else if (!kWide && quick) {
            split_sum all = split_below(e);
#pragma unroll
            for (int j = 0; j < N; j++) all.add_square((double)x[j]);
            rest->note(squares.put(all.sum()));
            rest->note(squares.template put<1>(all.low));
        } else if (kWide && quick && range.squares_are_normal()) {
            split_sum high = split_below(e), low = split_below(e - 53);
#pragma unroll
            for (int j = 0; j < N; j++) {
                const double v = (double)x[j], h = v * v;
                high.add(h);
                low.add(__fma_rn(v, v, -h));
            }
            rest->note(squares.put(high.sum()));
            rest->note(squares.template put<1>(high.low));
            rest->note(squares.template put<1>(low.sum()));
            rest->note(squares.template put<2>(low.low));
        } else {
#pragma unroll
            for (int j = 0; j < N; j++) {
                const double v = (double)x[j], h = v * v;
                rest->note(squares.put(h));
                if constexpr (kWide) {
                    rest->note(squares.template put<1>(__fma_rn(v, v, -h)));
                    if (fabs(v) < 0x1p-480) rest->note(v); // digits of its square may be lost
                }
            }
        }
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        words[1] = (uint64_t)(int64_t)flags;
        if constexpr (kSum) sum.save(words + 2);
        if constexpr (kSquares) squares.save(words + 2 + kOfSum);
    }
    __device__ void load(const uint64_t *words)
    {
        count = (int64_t)words[0];
        flags = (int)words[1];
        if constexpr (kSum) sum.load(words + 2);
        if constexpr (kSquares) squares.load(words + 2 + kOfSum);
    }
    __device__ void merge(const uint64_t *words)
    {
        rests rest;
        count += (int64_t)words[0];
        flags |= (int)words[1];
        if constexpr (kSum) sum.merge(words + 2, &rest);
        if constexpr (kSquares) squares.merge(words + 2 + kOfSum, &rest);
        flags |= rest.any() ? kFailed : 0;
    }

    // What neighbouring lanes hold, in the first of them. False: by merging; nothing is changed.
    __device__ bool join_lanes(int lanes)
    {
        expansion<kS> s = sum;
        expansion<kQ> q = squares;
        if constexpr (kSum)
            if (!join_by_levels(s.s, lanes)) return false;
        if constexpr (kSquares)
            if (!join_by_levels(q.s, lanes)) return false;
        sum = s;
        squares = q;
        for (int half = lanes / 2; half > 0; half /= 2) {
            count += __shfl_down_sync(kAllLanes, count, half);
            flags |= __shfl_down_sync(kAllLanes, flags, half);
        }
        return true;
    }

    // ---- the slow way: integers -----------------------------------------------------------

    // Adds a record's doubles to all limbs; from any thread.
    static __device__ WK_NOINLINE void add_words_to(const uint64_t *words,
                                                    unsigned long long *limbs)
    {
        for (int k = 0; k < kOfSum + kOfSquares; k++) {
            const uint64_t b = words[2 + k];
            const int field = (int)(b >> 52 & 2047), base = k < kOfSum ? kSumBase : kSquareBase;
            unsigned long long *to = limbs + (k < kOfSum ? 0 : kSumLimbs);
            int64_t m = (int64_t)((b & 0xfffffffffffffu) | (uint64_t)(field > 0) << 52);
            int at = (field > 0 ? field : 1) - 1075 - base;
            if (m == 0) continue;
            if (at < 0) m >>= -at, at = 0;
            const int i = at >> 5, shift = at & 31;
            if (b >> 63) m = -m;
            const uint64_t low = (uint64_t)m << shift;
            const int64_t high = shift ? m >> (64 - shift) : m >> 63;
            atomicAdd(to + i, low & 0xffffffffu);
            atomicAdd(to + i + 1, low >> 32);
            atomicAdd(to + i + 2, (unsigned long long)high);
        }
    }
    static __device__ void carry(int64_t *limbs)
    {
        const wk_limbs s = {limbs, kSumLimbs, kSumBase},
                       q = {limbs + kSumLimbs, kSquareLimbs, kSquareBase};
        if (kSum) wk_limbs_carry(&s);
        if (kSquares) wk_limbs_carry(&q);
    }
    // A record of which the doubles are in limbs now.
    static __device__ void forget_doubles(uint64_t *words)
    {
        words[1] = (words[1] & ~(uint64_t)kFailed) | kHasLimbs;
        for (int k = 0; k < kOfSum + kOfSquares; k++) words[2 + k] = 0;
    }

    // Adds one element to limbs that lie `step` apart.
    static __device__ int add_slow(int64_t *limbs, int step, double x)
    {
        const uint64_t b = wk_bits_f64(x);
        const int field = (int)(b >> 52 & 2047);
        if (field == 2047)
            return (b & 0xfffffffffffffu) ? WK_HAS_NAN
                   : b >> 63              ? WK_HAS_MINUS_INF
                                          : WK_HAS_INF;
        const uint64_t m = (b & 0xfffffffffffffu) | (uint64_t)(field > 0) << 52;
        const int e = (field > 0 ? field : 1) - 1075,
                  flag = b == 1ull << 63 ? 0 : WK_NOT_MINUS_ZERO;
        if (m == 0) return flag;
        if constexpr (kSum) add_piece(limbs, step, m, e - kSumBase, b >> 63);
        if constexpr (kSquares) {
            const uint64_t high = m >> 27, low = m & 0x7ffffff;
            int64_t *q = limbs + kSumLimbs * step;
            add_piece(q, step, low * low, 2 * e - kSquareBase, false);
            add_piece(q, step, 2 * high * low, 2 * e + 27 - kSquareBase, false);
            add_piece(q, step, high * high, 2 * e + 54 - kSquareBase, false);
        }
        return flag;
    }
    static __device__ WK_NOINLINE void add_piece(int64_t *limbs, int step, uint64_t m, int at,
                                                 bool negative)
    {
        if (m == 0) return;
        if (at < 0) { // of float32: the double has bits below its least unit, all zero
            m >>= -at;
            at = 0;
        }
        const int i = at >> 5, shift = at & 31;
        const uint64_t low = m << shift, high = shift ? m >> (64 - shift) : 0;
        const int64_t piece[3] = {(int64_t)(low & 0xffffffffu), (int64_t)(low >> 32),
                                  (int64_t)high};
        for (int k = 0; k < 3; k++)
            if (piece[k]) limbs[(i + k) * step] += negative ? -piece[k] : piece[k];
    }
};

} // namespace wk
