// floats.cuh -- sums of floats, of complex numbers and of their squares, with extremes and counts
// beside them where these are asked for in the same pass.
//
// A thread keeps a few doubles and a bound of each sum (doubles.cuh). A batch of float32 or of halves
// is added up plainly where its magnitudes lie so close together that nothing is rounded, which is
// nearly always; else, and of float64, it is cut in two at a bias. Infinities and NaN are flags. Nothing
// fails but elements too large for any of this, which integers take (table.cuh).
#pragma once
#include "reduce/production/extreme.cuh"
#include "reduce/production/results.cuh"

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

// Of the two 16 bits of a word.
__device__ __forceinline__ uint32_t
larger_half(uint32_t w)
{
    return w >> 16 > (w & 0xffff) ? w >> 16 : w & 0xffff;
}

__device__ __forceinline__ uint32_t
lesser_half(uint32_t w)
{
    return w >> 16 < (w & 0xffff) ? w >> 16 : w & 0xffff;
}

// How far a batch's magnitudes lie apart: their sum, and the key of the least that is not zero.
template <typename F>
struct batch_range {
    static constexpr bool kWide = sizeof(F) == 8;
    static constexpr int kDigits = kWide ? 20 : 23; // of the upper 32 bits
    static constexpr uint32_t kInfinite = kWide ? 0x7ff00000 : 0x7f800000;
    F magnitude;
    uint32_t least;

    // kSome: a float64 that is less than 2^-1042 is zero.
    template <bool kSome = false, int N>
    __device__ __forceinline__ void find(const F (&x)[N])
    {
        F sum[2] = {0, 0};
        uint32_t low[2] = {UINT32_MAX, UINT32_MAX};
#pragma unroll
        for (int j = 0; j < N; j++) {
            uint32_t key = key_of_size(x[j]);
            if constexpr (kSome && kWide) key = (uint32_t)(wk_bits_f64(x[j]) >> 32) * 2u - 1u;
            sum[j % 2] = j < 2 ? size_of(x[j]) : sum[j % 2] + size_of(x[j]);
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
    __device__ __forceinline__ bool finite() const
    {
        return high() < kInfinite;
    }
    // From the least to the sum.
    __device__ __forceinline__ bool within(uint32_t binades) const
    {
        return high() <= (least >> 1) + (binades << kDigits) && finite();
    }
    // The sum is below 2^e. That of 32 finite float32 may be infinite, which has one binade.
    __device__ __forceinline__ int exponent() const
    {
        const int e = (int)(high() >> kDigits) - (kWide ? 1022 : 126);
        return e + (!kWide && !finite() ? 5 : 0);
    }
};

// Sums of float64 over 2^kLargeShift, or another power, of elements that were folded once more.
struct scaled_sums {
    few<3> sum[2];
    few<4> squares;
    int flags, count;

    __device__ __forceinline__ void clear()
    {
        sum[0].clear();
        sum[1].clear();
        squares.clear();
        flags = count = 0;
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
    static constexpr bool kAtOnce = !kAll || kParts == 1, kFewRows = true;
    // Where much is done with an element. H200, share of a copy without and with it, 16384 x n along axis 0: norms
    // of float16 .53 .62, bfloat16 .55 .65, float64 .85 .91, complex128 .74 .85, variances of float32 .72 .77,
    // float64 .71 .79, complex64 .69 .78, sums of float16 .66 .75; but norms of float32 .90 .88, sums .91 .91,
    // float64 .97 .96.
    static constexpr bool kStages = (kHalf || (kSquares && (kSum || kWide))) && !kEnds;
    // Not of halves' variances, which may call a function each: H200, 3 x n float16, .10 of a copy's rate for .15.
    static constexpr bool kAnswersFirst = !kAll && !(kHalf && kSum && kSquares);
    // Plain doubles tell the results of whole columns, nearly always (quick.cuh).
    static constexpr bool kQuick = !kAll && !(kWide && kParts == 2);
    // Variances of two or three float32.
    static constexpr bool kOftenTies = kAnswersFirst && kSum && kSquares && !kWide;
    // Binades that a batch of 32 (of float64: 16) may span, and what is added plainly fits 53 bits:
    // elements or squares, or what is cut off them. A sum of float16 always fits; squares of halves
    // have 16 or 22 digits.
    static constexpr uint32_t kPlain = kHalf ? 42 : 26, kPlainSquares = kFloat16 ? 15 : 18;
    static constexpr uint32_t kCut = kHalf ? 90 : 75;
    static constexpr uint32_t kCutSquares = kFloat16 ? 38 : kHalf ? 41 : 25;
    // Doubles that hold all of normal data.
    static constexpr int kS = kWide ? 3 : 2, kQ = kFloat16 ? 2 : kWide ? 4 : 3;
    static __host__ __device__ constexpr table_shape shape()
    {
        return shape_of(kWide, kSum ? kParts : 0, kSquares, kEnds, kAll);
    }

    // What threads give each other.
    static constexpr int kOfSum = kSum ? kParts * (kS + 1) : 0;
    static constexpr int kOfSquares = kSquares ? kQ + 1 : 0;
    static constexpr int kOfEnds = kEnds ? 2 : 0;
    static constexpr int kWords = 1 + kOfSum + kOfSquares + kOfEnds + (kAll ? 1 : 0);

    static constexpr int kVectors = 4, kTurn = 4, kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kBlocks = kAll || (kWide && kSquares) ? 2 : 3, kColumnBlocks = 2;
    static constexpr int kRowBlocks = (kWide && kSquares) || kAll || kParts == 2 ? 2 : 3;
    static constexpr int kColumns = sizeof(T) > 4                ? 1 // of a thread
                                    : sizeof(T) == 4 || kSquares ? 2
                                                                 : 4;

    int count, flags; // count: of elements, where not all do
    few<kSum ? kS : 1> sum[kParts];
    few<kSquares ? kQ : 1> squares;
    // Of squares of float64: what is not among these yet, in how many batches. Two sums' would be spilled, and sums alone
    // gain nothing. H200, 256 MiB, us with each batch put to the doubles and so: norms of float64 flat, 16,384 rows, n x
    // 33, n x 16: 74.4 80.8 134 140, 71.5 76.3 110 118; variances 88.5 109 179 193, 78.0 101 137 153; norms of complex128
    // 74.2 80.6 141 128, 71.3 76.6 118 109; (min, max, mean, std) 130 214, 124 208; but norms of 1 KiB 6.24, 6.52.
    static constexpr bool kMany = kWide && kSquares && (kParts == 1 || !kSum);
    batches<kSum, kSquares, kMany> pending;
    int room;
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
    __device__ __forceinline__ void start(const reduce_task &task)
    {
        count = 0;
        flags = task.integers_only ? WK_TOO_LARGE : 0;
        clear_sums();
        room = kMany && !task.keeps ? 3 : 0;
        pending.left = 0;
        ends.start();
        nonzeros = 0;
    }
    __device__ __forceinline__ void clear_sums()
    {
#pragma unroll
        for (int p = 0; p < kParts; p++) sum[p].clear();
        squares.clear();
    }
    // Elements were too large for doubles.
    __device__ __forceinline__ bool failed() const
    {
        return flags & WK_TOO_LARGE;
    }
    // Then they may be folded over 2^kLargeShift: what pieces and GPUs share has lost nothing.
    static __device__ __forceinline__ bool may_scale(const reduce_task &task)
    {
        return kWide && !task.keeps && !task.integers_only;
    }
    __device__ __forceinline__ bool is_scaled() const
    {
        return kWide && (flags & WK_SCALED);
    }
    __device__ __forceinline__ void scale()
    {
        if (is_scaled()) return;
#pragma unroll
        for (int p = 0; p < kParts; p++) sum[p].scale();
        squares.scale();
        squares.scale();
        flags |= WK_SCALED;
    }
    __device__ __forceinline__ void set(const scaled_sums &all)
    {
        if constexpr (kSum && kWide)
#pragma unroll
            for (int p = 0; p < kParts; p++) sum[p] = all.sum[p];
        if constexpr (kSquares && kWide) squares = all.squares;
        flags = all.flags | WK_SCALED;
        count = all.count;
    }
    __device__ __forceinline__ bool exact() const
    {
        double lost = kSquares ? squares.lost : 0;
#pragma unroll
        for (int p = 0; p < kParts && kSum; p++) lost += sum[p].lost;
        return lost == 0 && !failed();
    }

    // Takes the elements whose bits are set, the others being fillers.
    template <int N>
    __device__ __forceinline__ void take(const T (&elements)[N], uint32_t ok, const place &,
                                         const reduce_task &task)
    {
        if constexpr (kParts == 2) {
            R x[2][N];
#pragma unroll
            for (int j = 0; j < N; j++) x[0][j] = elements[j].re, x[1][j] = elements[j].im;
            add<0>(x[0]);
            add<1>(x[1]);
        } else {
            add<0>(elements);
        }
        take_rest(elements, ok, task);
    }
    template <int N>
    __device__ __forceinline__ void take_rest(const T (&x)[N], uint32_t ok,
                                              const reduce_task &task)
    {
        if (task.counts) count += __popc(ok);
        if constexpr (kEnds) ends.take_all(x, ok);
        if constexpr (kAll) {
            int some = 0;
#pragma unroll
            for (int j = 0; j < N; j++) some += is_nonzero(x[j]);
            nonzeros += some;
        }
    }
    // Elements whose halves stay two in a word until they are asked for: as registers of their own they
    // would be put together and taken apart over and over.
    template <int N>
    struct packed {
        std::conditional_t<kHalf, uint32_t, R> x[kHalf ? (N + 1) / 2 : N];

        __device__ __forceinline__ explicit packed(const R (&elements)[N])
        {
            if constexpr (kHalf && N % 2) x[N / 2] = 0;
            memcpy(x, elements, sizeof elements);
        }
        __device__ __forceinline__ F operator[](int j) const
        {
            if constexpr (kHalf)
                return value_of(R{(uint16_t)(x[j / 2] >> j % 2 * 16)});
            else
                return x[j];
        }
        template <int M>
        __device__ __forceinline__ void drop() // the first ones
        {
#pragma unroll
            for (int w = 0; w < (N - M) / 2; w++) x[w] = x[M / 2 + w];
        }
    };
    template <int part, int N>
    __device__ __forceinline__ void add(const R (&elements)[N])
    {
        // Registers; and little code for what is rarely met. H200, sums along axis 0 of 16384 x n with 16 at once and so:
        // float16 .66 .81 of a copy, bfloat16 .73 .81; but norms .70 .69, .74 .70.
        constexpr int kOnce = kSquares ? 16 : 8, M = kHalf && N % kOnce == 0 ? kOnce : N;
        if constexpr (kHalf && !kSquares && N % 2 == 0) {
            double total;
            if (sum_of_halves(elements, &total)) {
                flags |= wk_bits_f64(total) == 1ull << 63 ? 0 : note(part, WK_NOT_MINUS_ZERO);
                sum[part].put(total);
                return;
            }
        }
        if constexpr (kHalf && kSquares && !kSum && N % 2 == 0) {
            double total;
            if (squares_of_halves(elements, &total)) {
                squares.put(total);
                return;
            }
        }
        packed<N> some(elements);
#pragma unroll 1
        for (int done = 0; done < N; done += M) {
            F x[M];
#pragma unroll
            for (int j = 0; j < M; j++) x[j] = some[j];
            add_values(part, x);
            if constexpr (M < N) some.template drop<M>();
        }
    }
    template <int N>
    __device__ __forceinline__ void add_values(int part, F (&x)[N])
    {
        batch_range<F> range;
#pragma unroll 1 // rarely twice
        for (bool again = false;; again = true) {
            range.find(x);
            if (again || (range.finite() && !(kWide && range.exponent() > kMost))) break;
            set_apart(part, x);
        }
        if constexpr (kMany) {
            add_batch(part, x, range, pending);
        } else if constexpr (kWide) {
            batches<kSum, kSquares, false> own;
            add_batch(part, x, range, own);
        } else {
            if constexpr (kSum) add_floats(part, x, range);
            if constexpr (kSquares) add_squared_floats(x, range);
        }
    }
    // Infinities, NaN, and what is too large, of which sums are told by flags.
    template <int N>
    __device__ __forceinline__ void set_apart(int part, F (&x)[N])
    {
        F least = 0, most = 0; // fmin, fmax pass over NaN
        bool nan = false, large = false;
#pragma unroll
        for (int j = 0; j < N; j++) {
            nan |= x[j] != x[j];
            if constexpr (kWide) {
                const double size = fabs(x[j]);
                large |= size >= wk_power_of_two(kMost - 5) && size < INFINITY;
                least = x[j] < least ? x[j] : least;
                most = x[j] > most ? x[j] : most;
                if (!(size < wk_power_of_two(kMost - 5))) x[j] = 0;
            } else {
                least = fminf(least, x[j]);
                most = fmaxf(most, x[j]);
                if (!(fabsf(x[j]) < INFINITY)) x[j] = 0;
            }
        }
        int odd = nan ? WK_HAS_NAN : 0;
        odd |= most == (F)INFINITY ? WK_HAS_INF : 0;
        odd |= least == -(F)INFINITY ? WK_HAS_MINUS_INF : 0;
        if (odd) flags |= note(part, odd | WK_NOT_MINUS_ZERO);
        if (large) flags |= WK_TOO_LARGE;
    }
    template <int N>
    static __device__ __forceinline__ double plain_sum(const F (&x)[N])
    {
        double d[2] = {-0.0, -0.0}; // -0.0 only if all are
#pragma unroll
        for (int j = 0; j < N; j++) d[j % 2] += (double)x[j];
        return d[0] + d[1];
    }
    template <int N>
    static __device__ __forceinline__ double plain_squares(const F (&x)[N])
    {
        double d[2] = {0, 0};
#pragma unroll
        for (int j = 0; j < N; j++) d[j % 2] = __fma_rn((double)x[j], (double)x[j], d[j % 2]);
        return d[0] + d[1];
    }
    // The sum of finite halves, exact: float16 has 11 digits within 41 binades. Of bfloat16, two in a word,
    // of 8 digits, float32 holds the sum of two within 15 binades, and double that of all. Of normal
    // numbers 94 warps in 100 lie within them, and 38 within the 11 that hold the sum of 32 (computed).
    template <int N>
    static __device__ __forceinline__ bool sum_of_halves(const R (&elements)[N], double *total)
    {
        if constexpr (kFloat16 && N % 2) {
            const packed<N> some(elements);
            F x[N];
#pragma unroll
            for (int j = 0; j < N; j++) x[j] = some[j];
            *total = plain_sum(x);
            return *total - *total == 0;
        } else if constexpr (kFloat16) { // every other one by its place, as below
            uint32_t w[N / 2], most = 0;
            double low = -0.0, high = -0.0; // -0.0 only if all are
            memcpy(w, elements, sizeof w);
#pragma unroll
            for (int j = 0; j < N / 2; j++) {
                const uint32_t size = w[j] & 0x7fffffff,
                               place = (uint32_t)((int)w[j] >> 6) & 0x81fffc00;
                most = size > most ? size : most;
                low += (double)value_of(R{(uint16_t)w[j]});
                high += wk_from_bits_f64((uint64_t)place << 32);
            }
            *total = low + high * 0x1p1008;
            return most < 0x7c000000 && low - low == 0;
        } else {
            uint32_t w[N / 2], most = 0, least = UINT32_MAX;
            double d[2] = {-0.0, -0.0};
            memcpy(w, elements, sizeof w);
#pragma unroll
            for (int j = 0; j < N / 2; j++) {
                const uint32_t size = w[j] & 0x7fff7fff;
                most = __vmaxu2(most, size);
                least =
                    __viaddmin_u16x2(size, UINT32_MAX, least); // less one: zero is the largest
                d[j % 2] += (double)(wk_from_bits_f32(w[j] << 16) +
                                     wk_from_bits_f32(w[j] & 0xffff0000));
            }
            *total = d[0] + d[1];
            most = larger_half(most);
            least = lesser_half(least);
            return most < 0x7f00 && most <= least + (15 << 7); // no two of them overflow
        }
    }
    // The sum of squares of finite halves, two in a word, exact where double has the digits of all. Every other half becomes
    // a double by its place in one and a power of two, which is subnormal with it: conversions were what squares of
    // halves waited for (ncu: 1.05 instructions of that unit an element).
    template <int N>
    static __device__ __forceinline__ bool squares_of_halves(const R (&elements)[N],
                                                             double *total)
    {
        constexpr int kDigits = kFloat16 ? 10 : 7, kUp = 20 - kDigits,
                      kBinades = (53 - 2 * (kDigits + 1) - log2_of(2 * N - 1)) / 2;
        constexpr double kScale = kFloat16 ? 0x1p1008 : 0x1p896;
        uint32_t w[N / 2], most = 0, least = UINT32_MAX;
        double d[4] = {0, 0, 0, 0};
        memcpy(w, elements, sizeof w);
#pragma unroll
        for (int j = 0; j < N / 2; j++) {
            const uint32_t size = w[j] & 0x7fff7fff;
            most = __vmaxu2(most, size);
            least = __viaddmin_u16x2(size, UINT32_MAX, least); // less one
            const double low = (double)value_of(R{(uint16_t)w[j]}),
                         high = wk_from_bits_f64((uint64_t)(size >> (16 - kUp) & 0x7fffu << kUp)
                                                 << 32) *
                                kScale;
            d[j % 2] = __fma_rn(low, low, d[j % 2]);
            d[2 + j % 2] = __fma_rn(high, high, d[2 + j % 2]);
        }
        *total = (d[0] + d[1]) + (d[2] + d[3]);
        most = larger_half(most);
        least = lesser_half(least);
        return most < (kFloat16 ? 0x7c00 : 0x7f80) &&
               most >> kDigits <= ((least + 1) >> kDigits) + kBinades;
    }
    template <int N>
    __device__ __forceinline__ void add_floats(int part, const F (&x)[N],
                                               const batch_range<F> &range)
    {
        const double total = plain_sum(x);
        flags |= wk_bits_f64(total) == 1ull << 63 ? 0 : note(part, WK_NOT_MINUS_ZERO);
        if (range.within(kPlain)) {
            sum[part].put(total);
            return;
        }
        add_in_two(part, x, range);
    }
    template <int N>
    __device__ __forceinline__ void add_batch(int part, const F (&x)[N],
                                              const batch_range<F> &range,
                                              batches<kSum, kSquares, kMany> &own)
    {
        static_assert(N <= 16, "what is lost counts on it");
        if (range.magnitude == 0) {
#pragma unroll
            for (int j = 0; j < N && kSum; j++)
                flags |= signbit(x[j]) ? 0 : note(part, WK_NOT_MINUS_ZERO);
            return;
        }
        if (kSum) flags |= note(part, WK_NOT_MINUS_ZERO);
        if (kSquares && range.exponent() > own.kMostSquare) {
            flags |= WK_TOO_LARGE;
            return;
        }
        own.prepare(range.exponent(), range.least, room);
        if constexpr (kMany) {
#pragma unroll
            for (int j = 0; j < N; j++) {
                if constexpr (kSum) own.all.add(x[j]);
                own.add_square(x[j]);
            }
            if (own.full()) own.template put<false>(sum, &squares, room);
        } else {
#pragma unroll
            for (int j = 0; j < N && kSum; j++) own.all.add(x[j]);
            if constexpr (kSum) own.template put_sum<false>(&sum[part], room);
#pragma unroll
            for (int j = 0; j < N && kSquares; j++) own.add_square(x[j]);
            if constexpr (kSquares) own.template put_squares<false>(&squares, room);
        }
    }
    // Of 32 numbers no more is lost than 2^(e - 94).
    template <int N>
    __device__ __forceinline__ void add_in_two(int part, const F (&x)[N],
                                               const batch_range<F> &range)
    {
        const int e = range.exponent();
        cut_sum all(e + 1);
#pragma unroll
        for (int j = 0; j < N; j++) all.add((double)x[j]);
        all.put_to(&sum[part], e + 1);
        if (!range.within(kCut)) sum[part].lost += wk_power_of_two(e > -900 ? e - 90 : -990);
    }
    template <int N>
    __device__ __forceinline__ void add_squared_floats(const F (&x)[N],
                                                       const batch_range<F> &range)
    {
        if (kHalf && range.within(kPlainSquares)) {
            squares.put(plain_squares(x));
            return;
        }
        const int e = 2 * range.exponent(); // all squares together are below 2^e
        cut_sum all(e + 1);
#pragma unroll
        for (int j = 0; j < N; j++) all.add_square((double)x[j]);
        all.put_to(&squares, e + 1);
        if (!range.within(kCutSquares)) squares.lost += wk_power_of_two(e - 90);
    }
    __device__ __forceinline__ void settle(const reduce_task &)
    {
        if constexpr (kMany) pending.close(sum, &squares, room);
    }

    // ---- between threads --------------------------------------------------------------------

    __device__ __forceinline__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)(uint32_t)count << 32 | (uint32_t)flags;
#pragma unroll
        for (int p = 0; p < kParts && kSum; p++) sum[p].save(words + 1 + p * (kS + 1));
        if constexpr (kSquares) squares.save(words + 1 + kOfSum);
        if constexpr (kEnds) ends.save(words + 1 + kOfSum + kOfSquares);
        if constexpr (kAll) words[kWords - 1] = (uint64_t)nonzeros;
    }
    __device__ __forceinline__ void load(const uint64_t *words)
    {
        count = (int)(words[0] >> 32);
        flags = (int)(uint32_t)words[0];
#pragma unroll
        for (int p = 0; p < kParts && kSum; p++) sum[p].load(words + 1 + p * (kS + 1));
        if constexpr (kSquares) squares.load(words + 1 + kOfSum);
        if constexpr (kEnds) ends.load(words + 1 + kOfSum + kOfSquares);
        if constexpr (kAll) nonzeros = (int64_t)words[kWords - 1];
    }
    __device__ __forceinline__ void merge(const uint64_t *others)
    {
        uint64_t words[kWords];
#pragma unroll
        for (int w = 0; w < kWords; w++) words[w] = others[w];
        if (kWide && ((flags ^ (int)(uint32_t)words[0]) & WK_SCALED)) { // one of them is
            float_sums other;
            other.load(words);
            other.scale();
            other.save(words);
            scale();
        }
        count += (int)(words[0] >> 32);
        flags |= (int)(uint32_t)words[0];
#pragma unroll
        for (int p = 0; p < kParts && kSum; p++) sum[p].merge(words + 1 + p * (kS + 1));
        if constexpr (kSquares) squares.merge(words + 1 + kOfSum);
        if constexpr (kEnds) ends.merge(words + 1 + kOfSum + kOfSquares);
        if constexpr (kAll) nonzeros += (int64_t)words[kWords - 1];
    }

    // ---- results ----------------------------------------------------------------------------

    __device__ __forceinline__ float_outcome result(const reduce_task &task) const
    {
        float_outcome o;
        if constexpr (kSum && kSquares && kWide) {
            o.in_three = true;
            o.all_squares = three_of(squares);
            o.squares = pair_of_three(o.all_squares);
#pragma unroll
            for (int p = 0; p < kParts; p++) {
                o.sums[p] = three_of(sum[p]);
                o.sum[p] = pair_of_three(o.sums[p]);
            }
        } else {
#pragma unroll
            for (int p = 0; p < kParts && kSum; p++) o.sum[p] = pair_of(sum[p]);
            if constexpr (kSquares) o.squares = pair_of(squares);
        }
        if constexpr (kEnds) ends.save(o.ends);
        o.nonzeros = nonzeros;
        o.n = task.counts ? count : task.n;
        o.flags = flags;
        if (is_scaled()) {
            o.shift[0] = o.shift[1] = kLargeShift;
            o.square_shift = 2 * kLargeShift;
        }
        return o;
    }
    // Results of an output that is one batch, or a filler's, as numbers: of so many parts.
    using answer_t = std::conditional_t<kWide, answer, near_answer>;
    static constexpr int kAnswers = kParts == 2 && kSum ? 2 : 1;

    template <int N>
    static __device__ __forceinline__ void answer_at_once(const T (&elements)[N],
                                                          const reduce_task &task,
                                                          answer_t (&answers)[kAnswers])
    {
        if constexpr (kAnswers == 2) {
            R x[2][N];
#pragma unroll
            for (int j = 0; j < N; j++) x[0][j] = elements[j].re, x[1][j] = elements[j].im;
            answers[0] = answer_of(x[0], task);
            answers[1] = answer_of(x[1], task);
        } else {
            R x[kParts * N];
            memcpy(x, elements, sizeof x);
            answers[0] = answer_of(x, task);
        }
    }
    // All results. False: it takes an accumulator.
    template <int N>
    static __device__ __forceinline__ bool
    finish_at_once(const T (&elements)[N], const reduce_task &task, int64_t output)
    {
        if (task.integers_only) return false;
        if constexpr (!kAll) {
            if (task.is_own()) {
                answer_t a[kAnswers];
                answer_at_once(elements, task, a);
                if (store_answers(a, task, output)) return true;
            }
        } else if constexpr (!kWide && kParts == 1) {
            if (finish_each(elements, task, output)) return true;
        }
        return finish_several(elements, task, output);
    }
    // Up to four, whose squares are asked for, by a function for all kernels.
    template <int N>
    static __device__ __forceinline__ bool
    finish_several(const T (&elements)[N], const reduce_task &task, int64_t output)
    {
        if constexpr (kSquares && kParts == 1) {
            if (task.n > kFew || task.counts || task.has_initial || task.keeps ||
                task.integers_only)
                return false;
            const packed<N> some(elements);
            double x[kFew];
#pragma unroll
            for (int j = 0; j < kFew; j++) x[j] = j < N ? (double)some[j < N ? j : 0] : -0.0;
            return finish_few(x[0], x[1], x[2], x[3], task, output);
        }
        return false;
    }
    static __device__ __forceinline__ bool
    store_answers(const answer_t (&a)[kAnswers], const reduce_task &task, int64_t output)
    {
        if (kAnswers == 2 && !a[kAnswers - 1].known) return false;
        if (!store_answer<kDtype>(a[0], task, kAnswers * output)) return false;
        return kAnswers < 2 || store_answer<kDtype>(a[kAnswers - 1], task, 2 * output + 1);
    }
    // Of a batch of one part's elements, or of both parts' where squares alone are added.
    template <int N>
    static __device__ __forceinline__ answer_t answer_of(const R (&elements)[N],
                                                         const reduce_task &task)
    {
        const population of(task);
        const int fold = task.fold[0];
        if constexpr (kWide && kSquares) {
            if constexpr (N <= kParts * kFew)
                return answer_of_few<kParts, kSum>(elements, task);
            else
                return {0, false};
        } else if constexpr (kWide) {
            bool minus;
            const double_pair p = sum_of(elements, &minus);
            answer a = {minus ? -0.0 : 0.0, true};
            if (!p.is_zero())
                a = fold == WK_MEAN ? quick_mean(p, of.n, of.inverse, kDtype)
                                    : rounded(p, kDtype);
            return {a.value, a.known && fabs(p.high) < 0x1p1000};
        } else if constexpr (kFloat16 && !kSquares) {
            double s;
            const bool finite = sum_of_halves(elements, &s);
            const near_answer a = near_sum<kDtype>({s, 0, 0}, fold == WK_MEAN, of);
            return {a.value, a.known && finite};
        } else {
            const packed<N> some(elements);
            batch_range<F> range;
            F x[N];
#pragma unroll
            for (int j = 0; j < N; j++) x[j] = some[j];
            if constexpr (!kSquares) { // exact, and -0.0 where all are
                const double s = plain_sum(x);
                range.find(x);
                near_answer a = {(float)s, true};
                if (kDtype != WK_F32 || fold == WK_MEAN)
                    a = near_sum<kDtype>({s, 0, 0}, fold == WK_MEAN, of);
                return {a.value, a.known && range.within(kPlain)};
            } else {
                if (!is_moment(fold)) return {0, false};
                const bool two = N > 1 && N <= kFew && kSum && is_spread(fold) && task.n == 2;
                near_answer a = {0, false};
                bool more = kHalf; // may others tell it?
                if (two) {
                    a = spread_of_two((double)x[0], (double)x[N > 1], task, of);
                } else if constexpr (kHalf) {
                    const batch_sums<float, kDtype> sums(x);
                    a = sums.moment(of, fold);
                    more = sums.in_range() || sums.squares == 0;
                } else {
                    a = batch_sums<double, kDtype>(x).moment(of, fold);
                }
                if (more && !a.known) {
                    uint16_t copy[N]; // in memory, only here
                    memcpy(copy, some.x, sizeof copy);
                    a = moment_of_column(copy, 1, kDtype, task, two, 1);
                }
                return a;
            }
        }
    }
    // The variance or its root of two numbers, from their distance: nothing is cancelled, and what is exact,
    // as it mostly is, may be a tie.
    static __device__ __forceinline__ near_answer spread_of_two(double x, double y,
                                                                const reduce_task &task,
                                                                const population &of)
    {
        double rest;
        const double apart = fabs(two_sum(x, -y, &rest)), square = apart * apart;
        const bool root = task.fold[0] == WK_STD;
        const bool exact = of.spread == 4 && rest == 0 && __fma_rn(apart, apart, -square) == 0;
        double v = root ? apart * 0.5 : square * 0.25;
        if (of.spread != 4) {
            v = square * of.inverse_spread;
            if (root && square > 0) v *= rsqrt(v);
        }
        near_answer a = settled_near<kDtype>(v, exact ? 0 : v * 0x1p-46);
        a.known &= of.spread > 0 && square < 0x1p200 && (exact || square > 0x1p-200);
        return a;
    }
    // Of two numbers: half of their distance, often a tie.
    static __device__ __forceinline__ near_answer half_of_difference(double x, double y)
    {
        double low;
        const double high = fabs(two_sum(x, -y, &low)); // -0.0 and 0.0 too
        return settled_near<kDtype>(high / 2, fabs(low) / 2);
    }
    // Several results of a batch, as far as its sums tell them: those of floats, or else exact ones.
    template <int N>
    static __device__ __forceinline__ bool finish_each(const R (&elements)[N],
                                                       const reduce_task &task, int64_t at)
    {
        const packed<N> some(elements);
        const population of(task);
        const bool half = N > 1 && task.n == 2 && task.spread == 4; // a root is of a distance
        F x[N];
        real_extremes<R> ends;
        if (task.counts || task.has_initial || task.keeps) return false;
        ends.start();
#pragma unroll
        for (int j = 0; j < N; j++) {
            x[j] = some[j];
            const key_t<R> key = key_of(elements[j]);
            if (j < task.n) ends.take_range(key, key);
        }
        batch_range<F> range;
        range.find(x);
        if (!range.finite()) return false;
        double_pair sum = {plain_sum(x), 0, 0};
        if (!range.within(kPlain)) sum.lost = (double)range.magnitude * 0x1p-48;
        const batch_sums<std::conditional_t<kHalf, float, double>, kDtype> near(x);
        return store_each(ends, task, at, [&](int fold) {
            if (half && fold == WK_STD)
                return half_of_difference((double)x[0], (double)x[N > 1]);
            if (fold != WK_SUM && fold != WK_MEAN) {
                const near_answer a = near.moment(of, fold);
                if (!kHalf || a.known) return a;
                const double q = plain_squares(x);
                return quick_plain<kDtype>(sum, {q, 0, q * 0x1p-48}, of, fold);
            }
            if (sum.is_zero()) return near_answer{(float)sum.high, true};
            return near_sum<kDtype>(sum, fold == WK_MEAN, of);
        });
    }
    // The ends, and what result(fold) tells of the others. False: not all are known.
    template <typename G>
    static __device__ __forceinline__ bool store_each(const real_extremes<R> &ends,
                                                      const reduce_task &task, int64_t at,
                                                      const G &result)
    {
#pragma unroll 1
        for (int i = 0; i < task.folds; i++) {
            const int fold = task.fold[i];
            near_answer a = {0, false};
            if (task.out_dtype[i] != kDtype) return false;
            if (fold == WK_MIN || fold == WK_MAX)
                a = {(float)number_of<R>(fold == WK_MIN ? ends.least : ends.most), true};
            else if (is_moment(fold) || fold == WK_SUM || fold == WK_MEAN)
                a = result(fold);
            if (!a.known) return false;
            store_float<kDtype>(task.out[i], at, a.value);
        }
        return true;
    }
    // One result in the elements' own dtype. False: it takes all of finish_floats.
    static __device__ __forceinline__ bool finish_own(const double_pair (&sum)[kParts],
                                                      const double_pair &squares, int flags,
                                                      const reduce_task &task,
                                                      const population &of, int64_t output)
    {
        if (!task.is_own() || (flags & WK_SCALED)) return false;
        if constexpr (kParts == 1 && !kAll && !kSquares)
            return finish_plain<kDtype>(sum[0], flags, task, of, output);
        else if constexpr (kParts == 1 && !kAll)
            return finish_one<kDtype, kSum>(sum[0], squares, flags, task, of, output);
        else if constexpr (kParts == 2 && !kSum)
            return finish_one<kDtype, false>(sum[0], squares, flags | flags >> WK_PART_SHIFT,
                                             task, of, output);
        else if constexpr (kParts == 2 && !kSquares)
            return finish_plain<kDtype>(sum[0], flags, task, of, 2 * output) &&
                   finish_plain<kDtype>(sum[1], flags >> WK_PART_SHIFT | (flags & WK_TOO_LARGE),
                                        task, of, 2 * output + 1);
        else
            return false;
    }
    // Of an output that one thread has alone; a spread of none depends on ddof. False: integers tell.
    __device__ __forceinline__ bool finish(const reduce_task &task, int64_t output) const
    {
        if (task.some && count == 0 && !is_spread(task.fold[0])) {
            store_as<kDtype>(task.out[0], output, task.fold[0] == WK_MEAN ? wk_nan() : 0.);
            return true;
        }
        if (task.is_own() && !(task.counts && count == 0)) {
            double_pair s[kParts];
#pragma unroll
            for (int p = 0; p < kParts; p++) s[p] = pair_of(sum[p]);
            const population of = task.counts ? population_of(count, task) : population(task);
            if (finish_own(s, pair_of(squares), flags, task, of, output)) return true;
        }
        return finish_floats(result(task), task, output);
    }

    static constexpr int kDtype = kWide                        ? (int)WK_F64
                                  : kFloat16                   ? (int)WK_F16
                                  : std::is_same_v<E, brain16> ? (int)WK_BF16
                                                               : (int)WK_F32;
    static constexpr int kMost = 900; // binades, of float64
};

template <typename E>
constexpr bool folds_segments<float_sums<E, 1, true, true, true>> = false;

// H200, 16384 x n, axis 0: with 16 rows 157 us, with 8 124.
template <>
constexpr int most_rows<float_sums<double, 1, true, true, true>> = 8;

} // namespace wk
