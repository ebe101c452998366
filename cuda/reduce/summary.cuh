// summary.cuh -- many results of one pass: extremes, counts and moments together.
#pragma once
#include "reduce/extreme.cuh"
#include "reduce/finish.cuh"

namespace wk
{

// As numpy.nanvar has it: NaN, also where numpy.var is infinite.
__device__ __forceinline__ bool
too_few(const reduce_task &task, int i, int64_t n)
{
    return task.skip_nan && (task.fold[i] == WK_VAR || task.fold[i] == WK_STD) &&
           !((double)n - task.ddof > 0);
}

// Integers. Without kAll just the moments, without kSquares just their sum.
template <typename E, bool kAll, bool kSquares = true>
struct int_summary : never_fails<int_summary<E, kAll, kSquares>> {
    using T = E;
    static constexpr bool kPacked = sizeof(E) == 1, kRepeats = false, kPads = !kAll,
                          kQuick = false, kColumns = false, kTwoColumns = false;
    using Wide = int_summary;
    using X = extremes_of<E>;
    static constexpr int kBatch = batch_of<T>, kLongBatch = kBatch, kLong = 4,
                         kWords = 1 + 5 + (kAll ? 3 : 0), kLimbs = 0;
    int64_t count;
    int_moments<T, kSquares> sums;
    X ends;
    int64_t nonzeros;

    static constexpr int kBlocks = 3, kLongBlocks = 2; // of a multiprocessor, at least
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

// Floats: sums that may fail, as moments do.
template <typename E, bool kSum, bool kSquares, bool kAll, bool kMany = false>
struct float_summary {
    using T = E;
    static constexpr bool kPacked = false, kRepeats = false, kPads = false, kQuick = true,
                          kColumns = !kAll, kPackedColumns = true,
                          kTwoColumns = std::is_same_v<E, float> && !kSquares && !kAll;
    using M = moments<E, kSum, kSquares, kMany>;
    using Wide = float_summary<E, kSum, kSquares, kAll, true>;
    using X = extremes_of<T>;
    static constexpr int kBatch = M::kBatch, kLongBatch = kAll ? kBatch : M::kLongBatch;
    static constexpr int kLong = kAll ? 4 : 8, kWords = M::kWords + (kAll ? 3 : 0);
    static constexpr int kLimbs = M::kLimbs;
    M sums;
    X ends;
    int64_t nonzeros;

    static constexpr int kBlocks = kAll || kMany || kSquares ? 2 : 3, kLongBlocks = 2,
                         kColumnBlocks = 2, kColumnBytes = 128;
    __device__ void join_lanes(int lanes)
    {
        if (kMany || !sums.join_lanes(lanes)) {
            *this = joined_by_words(*this, lanes);
            return;
        }
        for (int half = lanes / 2; kAll && half > 0; half /= 2) {
            uint64_t words[X::kWords];
            ends.save(words);
            for (int w = 0; w < X::kWords; w++)
                words[w] = __shfl_down_sync(kAllLanes, words[w], half);
            ends.merge(words);
            nonzeros += __shfl_down_sync(kAllLanes, nonzeros, half);
        }
    }
    __device__ void hope() // records hold no failure
    {
        sums.flags = 0;
    }
    __device__ void tally(int elements)
    {
        sums.count += elements;
    }

    static __device__ T filler(const reduce_task &task)
    {
        return M::filler(task);
    }
    __device__ void start(const reduce_task &task)
    {
        sums.start(task);
        ends.start();
        nonzeros = 0;
    }
    __device__ bool failed() const // the sums must be folded again
    {
        return sums.failed();
    }
    __device__ bool needs_limbs() const
    {
        return sums.flags & kHasLimbs;
    }
    __device__ bool hopeless() const // nothing is gained by going on
    {
        return !kAll && sums.failed();
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t ok, const place &at, const reduce_task &task)
    {
        if (!kAll || !sums.failed()) sums.add(x, ok, at, task);
        if constexpr (kAll) {
            int some = 0;
#pragma unroll
            for (int j = 0; j < N; j++) some += is_nonzero(x[j]);
            nonzeros += some;
            ends.take_all(x, ok);
        }
    }
    __device__ void save(uint64_t *words) const
    {
        sums.save(words);
        if constexpr (kAll) {
            ends.save(words + M::kWords);
            words[M::kWords + 2] = (uint64_t)nonzeros;
        }
    }
    __device__ void load(const uint64_t *words) // of columns, where there are just sums
    {
        sums.load(words);
    }
    // As a record, which is that of the many doubles.
    __device__ void save_wide(uint64_t *words) const
    {
        uint64_t own[kWords];
        save(own);
        for (int w = 0; w < 2 + M::kOfSum; w++) words[w] = own[w];
        if (kMany) words[1] |= kManyDoubles;
        for (int w = M::kOfSum; w < Wide::M::kOfSum; w++) words[2 + w] = 0;
        for (int w = 0; w < Wide::M::kOfSquares; w++)
            words[2 + Wide::M::kOfSum + w] = w < M::kOfSquares ? own[2 + M::kOfSum + w] : 0;
        for (int w = 0; kAll && w < 3; w++) words[Wide::M::kWords + w] = own[M::kWords + w];
    }
    // Of a record, if it has no more than these doubles.
    static __device__ bool narrow(const uint64_t *record, uint64_t *words)
    {
        words[0] = record[0];
        words[1] = record[1];
        for (int k = 0; k < M::kOfSum; k++) words[2 + k] = record[2 + k];
        for (int k = 0; k < M::kOfSquares; k++)
            words[2 + M::kOfSum + k] = record[2 + Wide::M::kOfSum + k];
        for (int w = 0; kAll && w < 3; w++) words[M::kWords + w] = record[Wide::M::kWords + w];
        return !(record[1] & (kFailed | kHasLimbs | kManyDoubles));
    }
    __device__ void merge(const uint64_t *words)
    {
        if (words[0] == 0 && words[1] == 0) return; // an empty state, all zeros
        if constexpr (kAll) {
            if (words[0] != 0) ends.merge(words + M::kWords);
            nonzeros += (int64_t)words[M::kWords + 2];
        }
        sums.merge(words);
    }
    // Of the results that are not sums; true if the fold was one.
    __device__ bool other(const reduce_task &task, int i, int64_t output) const
    {
        const int fold = task.fold[i], dtype = task.out_dtype[i];
        if (fold == WK_MIN || fold == WK_MAX || fold == WK_PTP) {
            X all = ends;
            if (sums.count == 0) extremes<T>::nothing(&all);
            all.finish(fold, task.out[i], dtype, output);
            return true;
        }
        if (fold != WK_ANY && fold != WK_ALL && fold != WK_COUNT_NONZERO) return false;
        store(task.out[i], dtype, output,
              fold == WK_ANY   ? (uint64_t)(nonzeros > 0)
              : fold == WK_ALL ? (uint64_t)(nonzeros == sums.count)
                               : (uint64_t)nonzeros);
        return true;
    }
    // False: it takes all limbs.
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        if (sums.flags & (kFailed | kHasLimbs) || task.has_initial) return false;
        for (int i = 0; i < task.folds; i++) {
            double x = 0;
            if (kAll && other(task, i, output)) continue;
            if (!moment(sums, task.fold[i], task.ddof, task.out_dtype[i], &x)) return false;
            store(task.out[i], task.out_dtype[i], output,
                  too_few(task, i, sums.count) ? wk_nan() : x);
        }
        return true;
    }
    static __device__ int add_slow(int64_t *limbs, int step, T element)
    {
        return M::add_slow(limbs, step, (double)value_of(element));
    }
    static __device__ void add_words_to(const uint64_t *words, unsigned long long *limbs)
    {
        M::add_words_to(words, limbs);
    }
    static __device__ void carry(int64_t *limbs)
    {
        M::carry(limbs);
    }
    static __device__ void forget_doubles(uint64_t *words)
    {
        M::forget_doubles(words);
    }
    // By one thread, from a record and the sums' limbs, of which `work` is a copy to be used up.
    static __device__ void finish_limbs(const reduce_task &task, int64_t output,
                                        const uint64_t *words, const int64_t *limbs,
                                        int64_t *work)
    {
        float_summary all;
        all.start(task);
        if constexpr (kAll) {
            all.sums.count = (int64_t)words[0];
            all.ends.merge(words + M::kWords);
            all.nonzeros = (int64_t)words[M::kWords + 2];
        }
        for (int i = 0; i < task.folds; i++) {
            int flags = (int)words[1];
            int64_t n = (int64_t)words[0];
            if (kAll && all.other(task, i, output)) continue;
            for (int b = 0; b < kLimbs + 8; b++) work[b] = b < kLimbs ? limbs[b] : 0;
            if (kSum && task.has_initial) {
                flags |= M::add_slow(work, 1, task.initial.f64[output % task.planes]);
                n++;
            }
            const double x =
                moment_of_limbs<M>(work, flags, n, task.fold[i], task.ddof, task.out_dtype[i]);
            store(task.out[i], task.out_dtype[i], output, too_few(task, i, n) ? wk_nan() : x);
        }
    }
};

// Sums of complex numbers: of both parts, each for itself.
template <typename E, bool kMany = false>
struct complex_sum {
    using T = E;
    using R = decltype(T{}.re);
    using S = moments<R, true, false, kMany>;
    using Wide = complex_sum<E, true>;
    static constexpr bool kPacked = false, kRepeats = false, kPads = false, kQuick = true,
                          kColumns = false, kTwoColumns = false;
    static constexpr int kBatch = 64 / (int)sizeof(T), kLongBatch = 2 * kBatch, kLong = 8,
                         kBlocks = 2, kLongBlocks = 2; // of a multiprocessor, at least
    static constexpr int kS = S::kOfSum, kWords = 2 + 2 * kS, kLimbs = 2 * S::kLimbs;
    static constexpr int kImaginary = 16; // the flags of these parts stand so far up
    S re, im;                             // both count all elements

    static __device__ T filler(const reduce_task &)
    {
        return {R(-0.0), R(-0.0)};
    }
    __device__ void start(const reduce_task &task)
    {
        re.start(task);
        im.start(task);
    }
    __device__ void hope() // records hold no failure
    {
        re.flags = im.flags = 0;
    }
    __device__ bool failed() const
    {
        return re.failed() || im.failed();
    }
    __device__ bool hopeless() const
    {
        return failed();
    }
    __device__ bool needs_limbs() const
    {
        return re.flags & kHasLimbs;
    }
    __device__ void tally(int elements)
    {
        re.count += elements;
        im.count += elements;
    }
    __device__ void join_lanes(int lanes)
    {
        S a = re, b = im;
        if (!kMany && a.join_lanes(lanes) && b.join_lanes(lanes)) {
            re = a;
            im = b;
        } else {
            *this = joined_by_words(*this, lanes);
        }
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t ok, const place &at, const reduce_task &task)
    {
        R part[2][N];
#pragma unroll
        for (int j = 0; j < N; j++) {
            part[0][j] = x[j].re;
            part[1][j] = x[j].im;
        }
        re.add(part[0], ok, at, task);
        im.add(part[1], ok, at, task);
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)re.count;
        words[1] = (uint64_t)(re.flags | im.flags << kImaginary | (im.flags & kFailed));
        re.sum.save(words + 2);
        im.sum.save(words + 2 + kS);
    }
    __device__ void save_wide(uint64_t *words) const
    {
        uint64_t own[kWords];
        save(own);
        words[0] = own[0];
        words[1] = own[1] | (kMany ? kManyDoubles : 0);
        for (int k = 0; k < Wide::kS; k++) {
            words[2 + k] = k < kS ? own[2 + k] : 0;
            words[2 + Wide::kS + k] = k < kS ? own[2 + kS + k] : 0;
        }
    }
    static __device__ bool narrow(const uint64_t *record, uint64_t *words)
    {
        words[0] = record[0];
        words[1] = record[1];
        for (int k = 0; k < kS; k++) {
            words[2 + k] = record[2 + k];
            words[2 + kS + k] = record[2 + Wide::kS + k];
        }
        return !(record[1] & (kFailed | kHasLimbs | kManyDoubles));
    }
    __device__ void merge(const uint64_t *words)
    {
        rests a, b;
        const int flags = (int)words[1];
        re.count += (int64_t)words[0];
        im.count += (int64_t)words[0];
        re.flags |= flags & ((1 << kImaginary) - 1);
        im.flags |= flags >> kImaginary;
        re.sum.merge(words + 2, &a);
        im.sum.merge(words + 2 + kS, &b);
        re.flags |= a.any() || b.any() ? kFailed : 0;
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        if (failed() || needs_limbs() || task.has_initial) return false;
        for (int i = 0; i < task.folds; i++) {
            double x = 0, y = 0;
            const int fold = task.fold[i], dtype = task.out_dtype[i];
            if (!moment(re, fold, 0, dtype, &x) || !moment(im, fold, 0, dtype, &y))
                return false;
            store(task.out[i], dtype, 2 * output, x);
            store(task.out[i], dtype, 2 * output + 1, y);
        }
        return true;
    }
    static __device__ int add_slow(int64_t *limbs, int step, T x)
    {
        return S::add_slow(limbs, step, (double)x.re) |
               S::add_slow(limbs + S::kLimbs * step, step, (double)x.im) << kImaginary;
    }
    static __device__ void add_words_to(const uint64_t *words, unsigned long long *limbs)
    {
        S::add_words_to(words, limbs);
        S::add_words_to(words + kS, limbs + S::kLimbs); // from its third word on
    }
    static __device__ void carry(int64_t *limbs)
    {
        S::carry(limbs);
        S::carry(limbs + S::kLimbs);
    }
    static __device__ void forget_doubles(uint64_t *words)
    {
        words[1] = (words[1] & ~(uint64_t)kFailed) | kHasLimbs;
        for (int w = 2; w < kWords; w++) words[w] = 0;
    }
    static __device__ void finish_limbs(const reduce_task &task, int64_t output,
                                        const uint64_t *words, const int64_t *limbs,
                                        int64_t *work)
    {
        for (int i = 0; i < 2 * task.folds; i++) {
            const int p = i % 2, fold = task.fold[i / 2], dtype = task.out_dtype[i / 2];
            int flags = (int)words[1] >> (p ? kImaginary : 0) & ((1 << kImaginary) - 1);
            int64_t n = (int64_t)words[0];
            for (int b = 0; b < S::kLimbs + 8; b++)
                work[b] = b < S::kLimbs ? limbs[p * S::kLimbs + b] : 0;
            if (task.has_initial) {
                flags |= S::add_slow(work, 1, task.initial.f64[p]);
                n++;
            }
            store(task.out[i / 2], dtype, 2 * output + p,
                  moment_of_limbs<S>(work, flags, n, fold, 0, dtype));
        }
    }
};

// Complex numbers: sums of both parts, for the variance, and one of their squares. Never quick: by
// all limbs.
template <typename E, bool kMany = false>
struct complex_summary {
    using T = E;
    using R = decltype(T{}.re);
    using S = moments<R, true, false, kMany>;
    using Q = moments<R, false, true, kMany>;
    using Wide = complex_summary<E, true>;
    static constexpr bool kPacked = false, kRepeats = false, kPads = false, kQuick = false,
                          kColumns = false, kTwoColumns = false;
    static constexpr int kBatch = 8, kLongBatch = 8, kLong = 4, kBlocks = 2, kLongBlocks = 2;
    static constexpr int kS = S::kOfSum, kQ = Q::kOfSquares;
    static constexpr int kWords = 3 + 2 * kS + kQ; // count, flags, nonzeros
    static constexpr int kSumLimbs = S::kLimbs, kLimbs = 2 * S::kLimbs + Q::kLimbs;
    S re, im;
    Q squares;
    int64_t count, nonzeros;

    static __device__ T filler(const reduce_task &)
    {
        return {R(-0.0), R(-0.0)};
    }
    __device__ void start(const reduce_task &task)
    {
        count = nonzeros = 0;
        re.start(task);
        im.start(task);
        squares.start(task);
    }
    __device__ void hope() // records hold no failure
    {
        re.flags = im.flags = squares.flags = 0;
    }
    __device__ int flags() const
    {
        return re.flags | im.flags | squares.flags;
    }
    __device__ bool failed() const
    {
        return flags() & kFailed;
    }
    __device__ bool hopeless() const
    {
        return false; // nonzeros go on being counted
    }
    __device__ bool needs_limbs() const
    {
        return true;
    }
    __device__ void tally(int elements)
    {
        count += elements;
    }
    __device__ void join_lanes(int lanes)
    {
        join_by_words(*this, lanes);
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t ok, const place &at, const reduce_task &task)
    {
        R part[2][N];
#pragma unroll
        for (int j = 0; j < N; j++) {
            part[0][j] = x[j].re;
            part[1][j] = x[j].im;
            nonzeros += is_nonzero(x[j]);
        }
        if (failed()) return;
        re.add(part[0], ok, at, task);
        im.add(part[1], ok, at, task);
        squares.add(part[0], ok, at, task);
        squares.add(part[1], ok, at, task);
    }
    __device__ void save(uint64_t *words) const
    {
        uint64_t own[2 + 7];
        words[0] = (uint64_t)count;
        words[1] = (uint64_t)flags();
        words[2] = (uint64_t)nonzeros;
        re.save(own);
        for (int k = 0; k < kS; k++) words[3 + k] = own[2 + k];
        im.save(own);
        for (int k = 0; k < kS; k++) words[3 + kS + k] = own[2 + k];
        squares.save(own);
        for (int k = 0; k < kQ; k++) words[3 + 2 * kS + k] = own[2 + k];
    }
    __device__ void save_wide(uint64_t *words) const
    {
        uint64_t own[kWords];
        save(own);
        for (int w = 0; w < Wide::kWords; w++) words[w] = w < 3 ? own[w] : 0;
        for (int k = 0; k < kS; k++) {
            words[3 + k] = own[3 + k];
            words[3 + Wide::kS + k] = own[3 + kS + k];
        }
        for (int k = 0; k < kQ; k++) words[3 + 2 * Wide::kS + k] = own[3 + 2 * kS + k];
    }
    __device__ void merge(const uint64_t *words)
    {
        uint64_t other[2 + 7] = {0, words[1]};
        if (words[0] == 0 && words[1] == 0) return; // an empty state, all zeros
        count += (int64_t)words[0];
        nonzeros += (int64_t)words[2];
        for (int k = 0; k < kS; k++) other[2 + k] = words[3 + k];
        re.merge(other);
        for (int k = 0; k < kS; k++) other[2 + k] = words[3 + kS + k];
        im.merge(other);
        for (int k = 0; k < kQ; k++) other[2 + k] = words[3 + 2 * kS + k];
        squares.merge(other);
    }
    __device__ bool finish(const reduce_task &, int64_t) const
    {
        return false;
    }

    static __device__ int add_slow(int64_t *limbs, int step, T x)
    {
        int64_t *q = limbs + 2 * kSumLimbs * step;
        const int flags = S::add_slow(limbs, step, (double)x.re) |
                          S::add_slow(limbs + kSumLimbs * step, step, (double)x.im);
        Q::add_slow(q, step, (double)x.re);
        Q::add_slow(q, step, (double)x.im);
        return flags;
    }
    static __device__ void add_words_to(const uint64_t *words, unsigned long long *limbs)
    {
        uint64_t own[2 + 7];
        for (int k = 0; k < kS; k++) own[2 + k] = words[3 + k];
        S::add_words_to(own, limbs);
        for (int k = 0; k < kS; k++) own[2 + k] = words[3 + kS + k];
        S::add_words_to(own, limbs + kSumLimbs);
        for (int k = 0; k < kQ; k++) own[2 + k] = words[3 + 2 * kS + k];
        Q::add_words_to(own, limbs + 2 * kSumLimbs);
    }
    static __device__ void carry(int64_t *limbs)
    {
        S::carry(limbs);
        S::carry(limbs + kSumLimbs);
        Q::carry(limbs + 2 * kSumLimbs);
    }
    static __device__ void forget_doubles(uint64_t *words)
    {
        words[1] = (words[1] & ~(uint64_t)kFailed) | kHasLimbs;
        for (int w = 3; w < kWords; w++) words[w] = 0;
    }
    static __device__ void finish_limbs(const reduce_task &task, int64_t output,
                                        const uint64_t *words, const int64_t *limbs,
                                        int64_t *work)
    {
        const int64_t n = (int64_t)words[0], nonzeros = (int64_t)words[2];
        for (int i = 0; i < task.folds; i++) {
            const int fold = task.fold[i], dtype = task.out_dtype[i];
            for (int b = 0; b < kLimbs + 8; b++) work[b] = b < kLimbs ? limbs[b] : 0;
            const wk_limbs sums[2] = {{work, kSumLimbs, S::kSumBase},
                                      {work + kSumLimbs, kSumLimbs, S::kSumBase}};
            wk_moments all = {
                sums[0], {work + 2 * kSumLimbs, Q::kLimbs, Q::kSquareBase}, (int)words[1], n};
            const wk_format f = wk_format_of((wk_dtype)real_of(dtype));
            if (fold == WK_ANY || fold == WK_ALL || fold == WK_COUNT_NONZERO) {
                store(task.out[i], dtype, output,
                      fold == WK_ANY   ? (uint64_t)(nonzeros > 0)
                      : fold == WK_ALL ? (uint64_t)(nonzeros == n)
                                       : (uint64_t)nonzeros);
            } else {
                const double x =
                    fold == WK_SUMSQ || fold == WK_NORM
                        ? wk_finish_squares(&all, fold == WK_NORM, f)
                        : wk_finish_variance(&all, sums, 2, task.ddof, fold == WK_STD, f);
                store(task.out[i], dtype, output, too_few(task, i, n) ? wk_nan() : x);
            }
        }
    }
};

} // namespace wk
