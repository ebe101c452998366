// floats.cuh -- exact sums of floats, of complex numbers and of their squares, with extremes and
// counts beside them where these are asked for in the same pass.
//
// A thread keeps a few doubles of each sum (doubles.cuh). take() adds a batch to them and proves that
// nothing was rounded off; a batch that it cannot prove changes nothing, and goes to integers
// (wide.cuh). All that parts, pieces and GPUs share is one table of words: limbs of 24 bits in 64,
// limb i of weight 2^(24 i + base), to which integers are added in any order.
#pragma once
#include "reduce/extreme.cuh"
#include "reduce/finish.cuh"

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
    static constexpr bool kWide = sizeof(F) == 8;
    static constexpr int kDigits = kWide ? 20 : 23; // of the upper 32 bits
    static constexpr uint32_t kInfinite = kWide ? 0x7ff00000 : 0x7f800000;
    F magnitude;
    uint32_t least;

    template <int N>
    __device__ __forceinline__ explicit batch_range(const F (&x)[N])
    {
        F sum[2] = {0, 0};
        uint32_t low[2] = {UINT32_MAX, UINT32_MAX};
#pragma unroll
        for (int j = 0; j < N; j++) {
            const uint32_t key = key_of_size(x[j]);
            sum[j % 2] += size_of(x[j]);
            low[j % 2] = key < low[j % 2] ? key : low[j % 2];
        }
        magnitude = sum[0] + sum[1];
        least = low[0] < low[1] ? low[0] : low[1];
    }
    __device__ __forceinline__ uint32_t high() const
    {
        return kWide ? (uint32_t)(wk_bits_f64((double)magnitude) >> 32)
                     : wk_bits_f32((float)magnitude);
    }
    // From the least to the sum.
    __device__ __forceinline__ bool within(uint32_t binades) const
    {
        return high() <= (least >> 1) + (binades << kDigits) && high() < kInfinite;
    }
    // The sum is below 2^(e + 1).
    __device__ __forceinline__ int exponent() const
    {
        return (int)(high() >> kDigits) - (kWide ? 1023 : 127);
    }
    // All of them are far from the ends of float64: no bias overflows, and no digit is below the least.
    __device__ __forceinline__ bool central(int binades) const
    {
        return least >= (uint32_t)(1023 - binades) << 21 && exponent() < binades;
    }
};

template <typename E, int kParts, bool kSum, bool kSquares, bool kAll>
struct float_sums {
    using R = E; // of a part
    using T = std::conditional_t<kParts == 2, complex<E>, E>;
    using F = value_t<E>;
    static constexpr bool kCertain = false, kByIndex = false;
    static constexpr bool kHasSum = kSum, kHasSquares = kSquares, kEnds = kAll && kParts == 1;
    static constexpr int kPieces = kParts;
    static constexpr bool kWide = std::is_same_v<F, double>, kHalf = is_half<E>,
                          kFloat16 = std::is_same_v<E, half16>;
    // Doubles that hold nearly all of normal data.
    static constexpr int kS = kWide ? 3 : 2, kQ = kFloat16 ? 2 : kWide ? 4 : 3;
    // Binades that a batch of 32 (of float64: 16) may span, and what is added plainly fits 53 bits:
    // elements or squares, or what is cut off them at one bias; at two, kLevel more. A sum of
    // float16 always fits; squares of halves have 16 or 22 digits.
    static constexpr uint32_t kPlain = kHalf ? 42 : 26, kPlainSquares = kFloat16 ? 15 : 18;
    static constexpr uint32_t kCut = kWide ? 47 : kHalf ? 90 : 75;
    static constexpr uint32_t kCutSquares = kWide ? 23 : kFloat16 ? 38 : kHalf ? 41 : 25;

    // The words that are shared: how many elements (where not all count), flags, limbs of the sums
    // of each part and of the squares; keys of the least and the largest, how many are not zero.
    static constexpr int kSumBase = kWide ? -1074 : -149, kSquareBase = 2 * kSumBase;
    static constexpr int kSumLimbs = kSum ? (kWide ? 92 : 15) : 0;
    static constexpr int kSquareLimbs = kSquares ? (kWide ? 178 : 26) : 0;
    static constexpr int kCount = 0, kFlags = 1, kLimb = 2,
                         kSquareLimb = kLimb + kParts * kSumLimbs;
    static constexpr int kLimbs = kParts * kSumLimbs + kSquareLimbs, kRest = kLimb + kLimbs;
    static constexpr int kTable = kRest + (kEnds ? 3 : kAll ? 1 : 0), kNonzeros = kTable - 1;

    // What threads give each other.
    static constexpr int kOfSum = kSum ? kS : 0, kOfSquares = kSquares ? kQ : 0;
    static constexpr int kOfEnds = kEnds ? 2 : 0;
    static constexpr int kDoubles = kParts * kOfSum + kOfSquares;
    static constexpr int kWords = 1 + kDoubles + kOfEnds + (kAll ? 1 : 0);

    static constexpr int kVectors = 8, kTurn = 4, kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kSmall = sizeof(T) == 16 ? 2 : 4;
    static constexpr int kBlocks = 2, kColumnBlocks = 2;
    static constexpr int kRowBlocks = (kWide && kSquares) || kAll || kParts == 2 ? 2 : 3;
    static constexpr int kColumns = sizeof(T) > 4                ? 1 // of a thread
                                    : sizeof(T) == 4 || kSquares ? 2
                                                                 : 4;

    int count, flags; // count: of elements, where not all do
    few<kSum ? kS : 1> sum[kParts];
    few<kSquares ? kQ : 1> squares;
    extremes_of<R> ends;
    int64_t nonzeros;

    static __device__ __forceinline__ T filler(const reduce_task &)
    {
        if constexpr (kParts == 2)
            return {R(-0.0), R(-0.0)};
        else if constexpr (kHalf)
            return T{0x8000};
        else
            return T(-0.0);
    }
    __device__ __forceinline__ void start(const reduce_task &)
    {
        count = flags = 0;
#pragma unroll
        for (int p = 0; p < kParts; p++) sum[p].clear();
        squares.clear();
        ends.start();
        nonzeros = 0;
    }
    __device__ __forceinline__ bool failed() const
    {
        return flags & kFailed;
    }
    static __device__ __forceinline__ double initial_of(const reduce_task &task, int part,
                                                        int64_t output)
    {
        return task.initial.f64[kParts == 2 ? part : output % task.planes];
    }
    // A part's flag.
    static __device__ __forceinline__ int note(int part, int flag)
    {
        return part ? flag << kPartShift : flag;
    }

    // Takes the elements whose bits are set, the others being fillers. `vote` says whether all who
    // must agree fit.
    template <int N, class Vote>
    __device__ __forceinline__ bool take(const T (&elements)[N], uint32_t ok, const place &,
                                         const reduce_task &task, Vote vote)
    {
        float_sums next = *this;
        rests rest;
        bool fits = true;
        if constexpr (kParts == 2) {
            R x[2][N];
#pragma unroll
            for (int j = 0; j < N; j++) x[0][j] = elements[j].re, x[1][j] = elements[j].im;
            fits = next.template add<0>(x[0], &rest) && next.template add<1>(x[1], &rest);
        } else {
            fits = next.template add<0>(elements, &rest);
        }
        if (!vote(fits && !rest.any())) return false;
        if (task.counts) next.count += __popc(ok);
        next.take_rest(elements, ok);
        *this = next;
        return true;
    }
    template <int N>
    __device__ __forceinline__ void take_rest(const T (&x)[N], uint32_t ok)
    {
        if constexpr (kEnds) ends.take_all(x, ok);
        if constexpr (kAll) {
            int some = 0;
#pragma unroll
            for (int j = 0; j < N; j++) some += is_nonzero(x[j]);
            nonzeros += some;
        }
    }
    template <int part, int N>
    __device__ __forceinline__ bool add(const R (&elements)[N], rests *rest)
    {
        F x[N];
#pragma unroll
        for (int j = 0; j < N; j++) x[j] = value_of(elements[j]);
        if constexpr (kFloat16 && !kSquares) {
            return add_sum<part>(x, (const batch_range<F> *)nullptr, rest);
        } else {
            const batch_range<F> range(x);
            bool fits = true;
            if constexpr (kSum) fits = add_sum<part>(x, &range, rest);
            if constexpr (kSquares) fits = fits && add_squares(x, range, rest);
            return fits;
        }
    }
    template <int part, int N>
    __device__ __forceinline__ bool add_sum(const F (&x)[N], const batch_range<F> *range,
                                            rests *rest)
    {
        few<kS> &to = sum[part];
        if constexpr (!kWide) {
            double d[2] = {-0.0, -0.0}; // -0.0 only if all are
#pragma unroll
            for (int j = 0; j < N; j++) d[j % 2] += (double)x[j];
            const double total = d[0] + d[1];
            flags |= wk_bits_f64(total) == 1ull << 63 ? 0 : note(part, WK_NOT_MINUS_ZERO);
            if constexpr (kFloat16) {
                to.put(total, rest);
                return total - total == 0;
            } else {
                if (range->within(kPlain)) {
                    to.put(total, rest);
                    return true;
                }
            }
        } else {
            if (range->magnitude == 0) {
#pragma unroll
                for (int j = 0; j < N; j++)
                    flags |= wk_bits_f64(x[j]) >> 63 ? 0 : note(part, WK_NOT_MINUS_ZERO);
                return true;
            }
            flags |= note(part, WK_NOT_MINUS_ZERO);
            if (!range->central(kMostBinade)) return false;
        }
        if constexpr (!kFloat16) {
            if (range->within(kCut)) return cut_and_put<2>(x, range->exponent() + 2, &to, rest);
            if (range->within(kCut + kLevel))
                return cut_and_put<3>(x, range->exponent() + 2, &to, rest);
        }
        return false;
    }
    template <int M, int N>
    static __device__ __forceinline__ bool cut_and_put(const F (&x)[N], int e, few<kS> *to,
                                                       rests *rest)
    {
        cut_sum<M> all(e);
#pragma unroll
        for (int j = 0; j < N; j++) all.add((double)x[j]);
        all.template put_to<0>(to, rest);
        return true;
    }
    template <int N>
    __device__ __forceinline__ bool add_squares(const F (&x)[N], const batch_range<F> &range,
                                                rests *rest)
    {
        const int e = 2 * range.exponent() + 3; // all squares together are below 2^e
        if (kWide && range.magnitude == 0) return true;
        if (kWide && !range.central(kMostSquare)) return false;
        if (kHalf && range.within(kPlainSquares)) {
            double d[2] = {0, 0};
#pragma unroll
            for (int j = 0; j < N; j++)
                d[j % 2] = __fma_rn((double)x[j], (double)x[j], d[j % 2]);
            squares.put(d[0] + d[1], rest);
            return true;
        }
        if (range.within(kCutSquares)) return cut_squares<2>(x, e, rest);
        if (range.within(kCutSquares + kLevel / 2)) return cut_squares<3>(x, e, rest);
        return false;
    }
    template <int M, int N>
    __device__ __forceinline__ bool cut_squares(const F (&x)[N], int e, rests *rest)
    {
        cut_sum<M> all(e);
        if constexpr (kWide) {
            cut_sum<M> low(e - 53);
#pragma unroll
            for (int j = 0; j < N; j++) {
                const double v = (double)x[j], h = v * v;
                all.add(h);
                low.add(__fma_rn(v, v, -h));
            }
            all.template put_to<0>(&squares, rest);
            low.template put_to<1>(&squares, rest);
        } else {
#pragma unroll
            for (int j = 0; j < N; j++) all.add_square((double)x[j]);
            all.template put_to<0>(&squares, rest);
        }
        return true;
    }
    __device__ __forceinline__ void settle(const reduce_task &) {}

    // ---- between threads --------------------------------------------------------------------

    __device__ __forceinline__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)(uint32_t)count << 32 | (uint32_t)flags;
#pragma unroll
        for (int p = 0; p < kParts && kSum; p++) sum[p].save(words + 1 + p * kOfSum);
        if constexpr (kSquares) squares.save(words + 1 + kParts * kOfSum);
        if constexpr (kEnds) ends.save(words + 1 + kDoubles);
        if constexpr (kAll) words[kWords - 1] = (uint64_t)nonzeros;
    }
    __device__ __forceinline__ void merge(const uint64_t *words)
    {
        rests rest;
        count += (int)(words[0] >> 32);
        flags |= (int)(uint32_t)words[0];
#pragma unroll
        for (int p = 0; p < kParts && kSum; p++) sum[p].merge(words + 1 + p * kOfSum, &rest);
        if constexpr (kSquares) squares.merge(words + 1 + kParts * kOfSum, &rest);
        if constexpr (kEnds) ends.merge(words + 1 + kDoubles);
        if constexpr (kAll) nonzeros += (int64_t)words[kWords - 1];
        flags |= rest.any() ? kFailed : 0;
    }

    // ---- results ----------------------------------------------------------------------------

    struct outcome {
        sums_in_pairs<kParts> sums;
        extremes_of<R> ends;
        int64_t nonzeros, n;
        int flags;
    };
    __device__ __forceinline__ outcome result(const reduce_task &task) const
    {
        outcome o;
#pragma unroll
        for (int p = 0; p < kParts; p++) o.sums.sum[p] = pair_of(sum[p].s);
        o.sums.squares = pair_of(squares.s);
        o.ends = ends;
        o.nonzeros = nonzeros;
        o.n = task.counts ? count : task.n;
        o.flags = flags;
        return o;
    }
    // Of the results that are not sums; true if the fold was one.
    static __device__ __forceinline__ bool other(const outcome &o, const reduce_task &task,
                                                 int i, int64_t output)
    {
        const int fold = task.fold[i], dtype = task.out_dtype[i];
        if (kEnds && (fold == WK_MIN || fold == WK_MAX || fold == WK_PTP)) {
            extremes_of<R> all = o.ends;
            if (o.n == 0) extremes<R>::nothing(&all);
            all.finish(fold, task.out[i], dtype, output);
            return true;
        }
        if (fold != WK_ANY && fold != WK_ALL && fold != WK_COUNT_NONZERO) return false;
        store(task.out[i], dtype, output,
              fold == WK_ANY   ? (uint64_t)(o.nonzeros > 0)
              : fold == WK_ALL ? (uint64_t)(o.nonzeros == o.n)
                               : (uint64_t)o.nonzeros);
        return true;
    }
    static __device__ __forceinline__ answer sum_or_mean(const outcome &o,
                                                         const reduce_task &task,
                                                         int64_t output, int part, int fold,
                                                         int dtype)
    {
        double_pair s = o.sums.sum[part];
        bool minus = o.n > 0 && !(o.flags & note(part, WK_NOT_MINUS_ZERO));
        if (task.has_initial) { // one element more
            const double first = initial_of(task, part, output);
            minus = (minus || o.n == 0) && wk_bits_f64(first) == 1ull << 63;
            s.add(first);
        }
        if (s.is_zero() && (fold == WK_SUM || o.n > 0)) return {minus ? -0.0 : 0.0, true};
        if (fold == WK_SUM) return rounded(s, dtype);
        return quick_mean(s, o.n, task.counts ? 1 / (double)o.n : task.inverse, dtype);
    }
    // False: it takes exact integers.
    static __device__ __forceinline__ bool finish(const outcome &o, const reduce_task &task,
                                                  int64_t output)
    {
        if (o.flags & kDoubtful) return false;
#pragma unroll 1
        for (int i = 0; i < task.folds; i++) {
            const int fold = task.fold[i], dtype = real_of(task.out_dtype[i]);
            if (kAll && other(o, task, i, output)) continue;
            if (kSum && (fold == WK_SUM || fold == WK_MEAN)) {
#pragma unroll
                for (int p = 0; p < kParts; p++) {
                    const answer a = sum_or_mean(o, task, output, p, fold, dtype);
                    if (!a.known) return false;
                    store(task.out[i], dtype, kParts * output + p, a.value);
                }
                continue;
            }
            if constexpr (kSquares) {
                const double n = (double)o.n, inverse = task.counts ? 1 / (n * (n - task.ddof))
                                                                    : task.inverse_spread;
                const answer a = fold == WK_SUMSQ
                                     ? rounded(o.sums.squares, dtype)
                                     : quick(o.sums, fold, o.n, task.ddof, inverse, dtype);
                if (!a.known) return false;
                store(task.out[i], dtype, output, too_few(task, i, o.n) ? wk_nan() : a.value);
            }
        }
        return true;
    }
    // A sum or a mean in the elements' own dtype, of which there are many: no more than it takes.
    __device__ __forceinline__ bool finish_plain(const reduce_task &task, int64_t output) const
    {
        constexpr int kDtype = kWide                        ? (int)WK_F64
                               : kFloat16                   ? (int)WK_F16
                               : std::is_same_v<E, brain16> ? (int)WK_BF16
                                                            : (int)WK_F32;
        if (flags & kDoubtful) return false;
        const answer a = sum_or_mean(result(task), task, output, 0, task.fold[0], kDtype);
        if (a.known) store(task.out[0], kDtype, output, a.value);
        return a.known;
    }
    // Of an output that one thread has alone.
    __device__ __forceinline__ bool finish(const reduce_task &task, int64_t output) const
    {
        if constexpr (kSum && !kSquares && kParts == 1)
            if (task.plain) return finish_plain(task, output);
        return !failed() && finish(result(task), task, output);
    }

    static constexpr int kPartShift = 8;
    static constexpr int kFailed = 1 << 16; // fold again: something did not fit
    static constexpr int kOdd = WK_HAS_NAN | WK_HAS_INF | WK_HAS_MINUS_INF,
                         kDoubtful = kFailed | kOdd | kOdd << kPartShift;
    static constexpr int kMostBinade = 860, kMostSquare = 430;
};

} // namespace wk
