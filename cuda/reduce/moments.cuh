// moments.cuh -- exact sums of floats and of their squares, in a thread.
//
// A batch of float32 is first added in double, which is exact while its exponents span at most 27
// binades: one number goes through the bins; else its elements do, one by one. Squares of float32 are
// exact in double; those of float64 are two numbers, by a fused multiply-add. Where the bins lie, the
// first batch says, and a larger one moves them; all of float16 fits bins that never move. What does
// not fit is found out here, and the part is folded again with more bins (kMany), then by integers
// (slow.cuh).
#pragma once
#include "reduce/bins.cuh"
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

template <typename E, bool kSum, bool kSquares, bool kMany>
struct moments {
    static constexpr bool kHasSum = kSum, kHasSquares = kSquares;
    using T = E;
    using F = value_t<E>;
    static constexpr bool kWide = std::is_same_v<F, double>;
    static constexpr int kBatch = kWide ? 8 : 16, kLog = kWide ? 3 : 4;
    // Of float16 squares have units from 2^-48 on, and a batch of them is below 2^36.
    static constexpr bool kFixed = std::is_same_v<E, half16> && !kMany;
    static constexpr int kFixedSum = 20, kFixedSquares = 36;
    // Bins: for normal data; the many span all of float32, 240 binades of float64, 120 of squares.
    static constexpr int kS = kMany ? 7 : is_half<E> ? 2 : 3;
    static constexpr int kQ = kMany ? 7 : kFixed ? 2 : kWide ? 4 : 3;
    static constexpr int kRounds =
        kWide ? 4 : 6; // log2 of batches between looks at the windows
    // Binades from the least element to the sum of all magnitudes that a batch may span, and its
    // sum be exact in double all the same, or that of its squares.
    static constexpr uint32_t kSpan = std::is_same_v<E, brain16> ? 43 : 27;
    static constexpr uint32_t kSquareSpan = std::is_same_v<E, brain16> ? 18 : 15;
    static constexpr int kOfSum = kSum ? kS : 0, kOfSquares = kSquares ? kQ : 0;
    static constexpr int kWords = 2 + kOfSum + kOfSquares;
    static constexpr int kSumLimbs = kSum ? (kWide ? WK_SUM_LIMBS : WK_SUM_LIMBS_SMALL) : 0;
    static constexpr int kSquareLimbs =
        kSquares ? (kWide ? WK_SQUARE_LIMBS : WK_SQUARE_LIMBS_SMALL) : 0;
    static constexpr int kLimbs = kSumLimbs + kSquareLimbs;
    static constexpr int kSumBase = kWide ? WK_SUM_BASE : WK_SUM_BASE_SMALL;
    static constexpr int kSquareBase = kWide ? WK_SQUARE_BASE : WK_SQUARE_BASE_SMALL;

    int64_t count;
    int flags, left;
    F limit; // batches whose sum of magnitudes is below it fit the windows; 0: there was none yet
    bins<kS, kLog, kRounds> sum;
    bins<kQ, 4, kRounds> squares;

    static __device__ T filler(const reduce_task &)
    {
        if constexpr (is_half<T>)
            return T{0x8000};
        else
            return T(-0.0);
    }
    __device__ void start(const reduce_task &task)
    {
        count = 0;
        flags = task.integers_only ? kFailed : 0;
        left = 1 << kRounds;
        limit = 0;
        sum.clear(kFixed ? unit_for(kFixedSum) : sum.kLeast);
        squares.clear(kFixed ? unit_for(kFixedSquares) : squares.kLeast);
    }
    __device__ bool failed() const
    {
        return flags & kFailed;
    }
    // Of bins that take batches below 2^e until the next look.
    static __device__ int unit_for(int e)
    {
        return e + kRounds + 1 - 50;
    }
    // A call in the loop would keep the bins out of registers; the many are too many for that.
    template <class B>
    static __device__ checked<B> moved(const B &b, int e)
    {
        if constexpr (kMany)
            return rebased_elsewhere(b, e);
        else
            return rebased(b, e);
    }
    // Windows for batches whose magnitudes sum to less than 2^e.
    __device__ void widen(int e)
    {
        constexpr bool kLow = kSquares && kWide; // squares must neither overflow nor vanish
        const int e2 = kFixed ? kFixedSquares : 2 * e;
        constexpr int kLimit = kWide ? 1023 : 127;
        bool fits = e < (kLow ? 470 : 950) && (!kLow || e > -400);
        if (!kFixed && limit == 0) { // the first batch
            sum.clear(unit_for(e));
            squares.clear(unit_for(e2));
        } else {
            if constexpr (kSum) {
                const auto next = moved(sum, e + kRounds);
                sum = next.bins;
                fits = fits && next.fits;
            }
            if constexpr (kSquares) {
                const auto next = moved(squares, e2 + kRounds);
                squares = next.bins;
                fits = fits && next.fits;
            }
        }
        limit =
            (F)wk_from_bits_f64((uint64_t)(fits ? (e < kLimit ? e : kLimit) + 1023 : 0) << 52);
        left = 1 << kRounds;
        if (!fits) flags |= kFailed | (e > 1000 ? kNotFinite : 0);
    }
    static __device__ bool spans(uint32_t binades, F magnitude, uint32_t least)
    {
        return wk_bits_f32((float)magnitude) <= (least >> 1) + (binades << 23);
    }
    template <int N>
    __device__ void add(const T (&elements)[N], uint32_t, const place &, const reduce_task &)
    {
        F x[N], magnitude = 0, other = 0;
        uint32_t least = UINT32_MAX, least2 = UINT32_MAX;
#pragma unroll
        for (int j = 0; j < N; j++) x[j] = value_of(elements[j]);
        if constexpr (!kFixed || kSquares) {
#pragma unroll
            for (int j = 0; j < N; j++) {
                (j % 2 ? other : magnitude) += size_of(x[j]);
                if constexpr (!kWide && (kSum || is_half<E>)) {
                    const uint32_t key = wk_bits_f32(x[j]) * 2u - 1u; // zero: the largest
                    uint32_t &best = j % 2 ? least2 : least;
                    best = key < best ? key : best;
                }
            }
            magnitude += other;
            least = least2 < least ? least2 : least;
        }
        const bool fits = kFixed || magnitude < limit || magnitude == 0;
        if (!fits || (--left == 0 && (kFixed || limit != 0)))
            widen(kFixed ? kFixedSum // to spare: the magnitude's own rounding errors
                         : exponent_of((double)(fits ? limit : magnitude)) + (fits ? 0 : 2));
        rests rest;
        if constexpr (kSum && kWide) {
#pragma unroll
            for (int j = 0; j < N; j++) rest.note(sum.put(x[j]));
            flags |= magnitude != 0 ? WK_NOT_MINUS_ZERO : 0;
            if (magnitude == 0) {
#pragma unroll
                for (int j = 0; j < N; j++)
                    flags |= wk_bits_f64(x[j]) >> 63 ? 0 : WK_NOT_MINUS_ZERO;
            }
        }
        if constexpr (kSum && !kWide) {
            double d = -0.0, d2 = -0.0;
#pragma unroll
            for (int j = 0; j < N; j += 2) {
                d += (double)x[j];
                if (j + 1 < N) d2 += (double)x[j + 1];
            }
            d += d2; // -0.0 only if all are
            flags |= wk_bits_f64(d) == 1ull << 63 ? 0 : WK_NOT_MINUS_ZERO;
            // partial sums are multiples of the least unit: exact while few binades span all
            if (kFixed || spans(kSpan, magnitude, least)) {
                rest.note(sum.put(d));
            } else {
#pragma unroll
                for (int j = 0; j < N; j++) rest.note(sum.put((double)x[j]));
            }
        }
        if constexpr (kSquares) {
            // so are sums of squares, of halves, whose squares are short
            if (is_half<E> && spans(kSquareSpan, magnitude, least)) {
                double d = 0, d2 = 0;
#pragma unroll
                for (int j = 0; j < N; j++) {
                    double &one = j % 2 ? d2 : d;
                    one = __fma_rn((double)x[j], (double)x[j], one);
                }
                rest.note(squares.put(d + d2));
            } else {
#pragma unroll
                for (int j = 0; j < N; j++) {
                    const double v = (double)x[j], h = v * v;
                    rest.note(squares.put(h));
                    if constexpr (kWide) {
                        rest.note(squares.template put<1>(__fma_rn(v, v, -h)));
                        if (wk_bits_f64(h) >> 32 == 0) rest.note(v); // its square may be lost
                    }
                }
            }
        }
        flags |= rest.any() ? kFailed : 0;
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        words[1] = (uint64_t)(int64_t)flags;
#pragma unroll
        for (int k = 0; k < kOfSum; k++) words[2 + k] = wk_bits_f64(sum.part(k));
#pragma unroll
        for (int k = 0; k < kOfSquares; k++)
            words[2 + kOfSum + k] = wk_bits_f64(squares.part(k));
    }
    __device__ void merge(const uint64_t *words)
    {
        count += (int64_t)words[0];
        flags |= (int)words[1];
        if constexpr (kSum) {
            auto other = sum;
#pragma unroll
            for (int k = 0; k < kS; k++) other.s[k] = wk_from_bits_f64(words[2 + k]);
            const auto next = joined(sum, other);
            sum = next.bins;
            if (!next.fits) flags |= kFailed;
        }
        if constexpr (kSquares) {
            auto other = squares;
#pragma unroll
            for (int k = 0; k < kQ; k++) other.s[k] = wk_from_bits_f64(words[2 + kOfSum + k]);
            const auto next = joined(squares, other);
            squares = next.bins;
            if (!next.fits) flags |= kFailed;
        }
    }

    // The sums of `width` neighbouring lanes, in the first of them.
    __device__ void join_lanes(int width)
    {
        for (int half = width / 2; half > 0; half /= 2) {
            count += __shfl_down_sync(kAllLanes, count, half);
            flags |= __shfl_down_sync(kAllLanes, flags, half);
        }
        if constexpr (kSum) {
            const auto next = joined_lanes(sum, width);
            sum = next.bins;
            if (!next.fits) flags |= kFailed;
        }
        if constexpr (kSquares) {
            const auto next = joined_lanes(squares, width);
            squares = next.bins;
            if (!next.fits) flags |= kFailed;
        }
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
