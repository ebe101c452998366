// integers.cuh -- sums of integers: modulo 2^64, counts, and exact moments in several words.
#pragma once
#include "reduce/accumulator.cuh"
#include "reduce/finish.cuh"

namespace wk
{

// Elements that are taken at once of columns of few rows, and columns of a thread: 8 bytes.
template <typename T>
constexpr int small_of = sizeof(T) == 16 ? 2 : 4;
template <typename T>
constexpr int columns_of = sizeof(T) <= 2   ? 4
                           : sizeof(T) == 4 ? 2
                                            : 1;

// The upper bit of each byte that is not zero.
__device__ __forceinline__ uint32_t
nonzero_bytes(uint32_t word)
{
    return (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) & 0x80808080;
}

template <int N>
__device__ __forceinline__ int
count_bytes(const uint32_t (&words)[N])
{
    uint32_t sum = 0; // in units of 128
#pragma unroll
    for (int w = 0; w < N; w++) sum = __dp4a(nonzero_bytes(words[w]), 0x01010101u, sum);
    return (int)(sum >> 7);
}

// Adds a product, or a sum of them, to words of 64 bits, the lowest first.
template <int N>
__device__ __forceinline__ void
add_words(uint64_t (&to)[N], uint64_t low, uint64_t high)
{
    uint64_t carry = (to[0] += low) < low;
    const uint64_t next = high + carry;
    carry = next < carry;
    carry += (to[1] += next) < next;
#pragma unroll
    for (int i = 2; i < N; i++) carry = (to[i] += carry) < carry;
}

// The sum in 128 bits, two's complement; the squares, where they are wanted, in 192.
template <typename E, bool kSquares = true>
struct int_moments {
    using T = std::conditional_t<std::is_same_v<E, truth>, uint8_t, E>;
    static constexpr bool kSigned = std::is_signed_v<T>, kHasSum = true, kHasSquares = kSquares;
    uint64_t sum[2], squares[3];

    __device__ void start()
    {
        sum[0] = sum[1] = squares[0] = squares[1] = squares[2] = 0;
    }
    // Bytes, four in a word.
    template <int N>
    __device__ void add_packed(const uint32_t (&words)[N])
    {
        int32_t s = 0;
        uint32_t q = 0;
#pragma unroll
        for (int w = 0; w < N; w++) {
            uint32_t four = words[w];
            if constexpr (std::is_same_v<E, truth>) four = nonzero_bytes(four) >> 7;
            if constexpr (kSigned) {
                s = __dp4a((int)four, 0x01010101, s);
                q = (uint32_t)__dp4a((int)four, (int)four, (int)q);
            } else {
                s = (int32_t)__dp4a(four, 0x01010101u, (unsigned)s);
                q = __dp4a(four, four, q);
            }
        }
        add_words(sum, (uint64_t)(int64_t)s, (uint64_t)(int64_t)(s >> 31));
        if constexpr (kSquares) add_words(squares, q, 0);
    }
    template <int N>
    __device__ void add(const E (&elements)[N])
    {
        if constexpr (sizeof(T) <= 2) { // a batch fits a word
            int64_t s = 0;
            uint64_t q = 0;
#pragma unroll
            for (int j = 0; j < N; j++) {
                const int32_t x = (int32_t)elements[j];
                s += x;
                q += (uint32_t)x * (uint32_t)x;
            }
            add_words(sum, (uint64_t)s, (uint64_t)(s >> 63));
            if constexpr (kSquares) add_words(squares, q, 0);
        } else {
#pragma unroll
            for (int j = 0; j < N; j++) {
                const uint64_t x = (uint64_t)elements[j], sign = kSigned ? (int64_t)x >> 63 : 0;
                const uint64_t size = (x ^ sign) - sign; // its magnitude
                add_words(sum, x, sign);
                const unsigned __int128 square = (unsigned __int128)size * size;
                if constexpr (kSquares)
                    add_words(squares, (uint64_t)square,
                              sizeof(T) == 8 ? (uint64_t)(square >> 64) : 0);
            }
        }
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = sum[0];
        words[1] = sum[1];
        for (int i = 0; i < 3; i++) words[2 + i] = squares[i];
    }
    __device__ void merge(const uint64_t *words)
    {
        add_words(sum, words[0], words[1]);
        add_words(squares, words[2], words[3]);
        squares[2] += words[4];
    }
    // Words of an integer that is not negative, as two doubles.
    template <int N>
    static __device__ double_pair pair_of_words(const uint64_t (&words)[N])
    {
        uint64_t above = words[0] >> 53;
#pragma unroll
        for (int i = 1; i < N; i++) above |= words[i];
        if (above == 0) return {(double)words[0], 0, 0};
        double y[2 * N];
#pragma unroll
        for (int i = 0; i < 2 * N; i++) // the highest first
            y[2 * N - 1 - i] =
                (double)(uint32_t)(words[i / 2] >> 32 * (i % 2)) * power_of_two(32 * i);
        return pair_of(y);
    }
    // A result of a float dtype.
    __device__ double moment(int fold, int64_t n, double ddof, int dtype) const
    {
        sums_in_pairs<1> pairs;
        const bool negative = kSigned && (int64_t)sum[1] < 0;
        const uint64_t low = negative ? ~sum[0] + 1 : sum[0],
                       high = negative ? ~sum[1] + (low == 0) : sum[1], size[2] = {low, high};
        pairs.sum[0] = pair_of_words(size);
        pairs.squares = pair_of_words(squares);
        double_pair &s = pairs.sum[0];
        if (negative) s = {-s.high, -s.low, s.lost};
        answer a = {0, false};
        if (fold == WK_SUM)
            a = rounded(s, dtype);
        else if (fold == WK_MEAN)
            a = quick_mean(s, n, 1 / (double)n, dtype);
        else if (fold == WK_SUMSQ)
            a = rounded(pairs.squares, dtype);
        else
            a = quick(pairs, fold, n, ddof, 1 / ((double)n * ((double)n - ddof)), dtype);
        if (a.known) return a.value;
        return slow_moment(fold, n, ddof, dtype);
    }
    __device__ WK_NOINLINE double slow_moment(int fold, int64_t n, double ddof, int dtype) const
    {
        int64_t s[6] = {}, q[14] = {};
        wk_moments all = {{s, 6, 0}, {q, 9, 0}, WK_NOT_MINUS_ZERO, n};
        const bool negative = kSigned && (int64_t)sum[1] < 0;
        uint64_t low = sum[0], high = sum[1];
        if (negative) {
            low = ~low + 1;
            high = ~high + (low == 0);
        }
        const uint64_t words[5] = {low, high, squares[0], squares[1], squares[2]};
        for (int i = 0; i < 4; i++) {
            const int64_t limb = (int64_t)(words[i / 2] >> 32 * (i % 2) & 0xffffffffu);
            s[i] = negative ? -limb : limb;
        }
        for (int i = 0; i < 6; i++)
            q[i] = (int64_t)(words[2 + i / 2] >> 32 * (i % 2) & 0xffffffffu);
        const wk_format f = wk_format_of((wk_dtype)dtype);
        if (fold == WK_SUM || fold == WK_MEAN) return wk_finish_sum(&all, fold == WK_MEAN, f);
        if (fold == WK_SUMSQ || fold == WK_NORM)
            return wk_finish_squares(&all, fold == WK_NORM, f);
        return wk_finish_variance(&all, &all.sum, 1, ddof, fold == WK_STD, f);
    }
};

enum class what { values, nonzeros, products };

// One word: the sum of values, of how many are not zero, or the product.
template <typename E, what kWhat>
struct word : certain<word<E, kWhat>> {
    using T = E;
    static constexpr bool kPads = true;
    static constexpr bool kPacked =
        sizeof(T) == 1 ? kWhat != what::products
                       : sizeof(T) == 2 && kWhat == what::values && !is_half<T>;
    static constexpr int kWords = 2, kVectors = 8, kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T), kSmall = small_of<T>;
    static constexpr int kColumns = columns_of<T>, kBlocks = 3, kRowBlocks = 3,
                         kColumnBlocks = 2;
    using certain<word>::count;
    uint64_t total;

    static __device__ T filler(const reduce_task &)
    {
        if constexpr (kWhat == what::products) return T{1};
        return T{};
    }
    __device__ void start(const reduce_task &)
    {
        count = 0;
        total = kWhat == what::products;
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t, const place &, const reduce_task &)
    {
        using S =
            std::conditional_t<(sizeof(T) < 4), int32_t, uint64_t>; // a batch fits 32 bits
        if constexpr (kWhat == what::products) {
            // a word of 64 bits holds the product of so many elements, one of 32 of half of them
            constexpr int kMost = sizeof(T) <= 2 ? 8 / (int)sizeof(T) : 1,
                          kGroup = kMost < N ? kMost : N;
            using H = std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>;
            using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
#pragma unroll
            for (int j = 0; j < N; j += kGroup) {
                if constexpr (kGroup == 1) {
                    total *= (uint64_t)(int64_t)x[j];
                } else {
                    H low = 1, high = 1;
#pragma unroll
                    for (int i = 0; i < kGroup / 2; i++) {
                        low *= (H)x[j + i];
                        high *= (H)x[j + kGroup / 2 + i];
                    }
                    total *= (uint64_t)((W)low * (W)high);
                }
            }
        } else if constexpr (kWhat == what::nonzeros) {
            int nonzeros = 0;
#pragma unroll
            for (int j = 0; j < N; j++) nonzeros += is_nonzero(x[j]);
            total += (uint64_t)nonzeros;
        } else {
            S sum = 0;
#pragma unroll
            for (int j = 0; j < N; j++) sum += (S)x[j];
            total += (uint64_t)(int64_t)sum;
        }
    }
    template <int N>
    __device__ void add_packed(const uint32_t (&words)[N], const place &, const reduce_task &)
    {
        constexpr bool kSigned = std::is_signed_v<T>;
        int32_t sum = 0;
        if constexpr (kWhat == what::nonzeros || std::is_same_v<T, truth>) {
            sum = count_bytes(words);
        } else {
#pragma unroll
            for (int w = 0; w < N; w++) {
                if constexpr (sizeof(T) == 1 && kSigned)
                    sum = __dp4a((int)words[w], 0x01010101, sum);
                else if constexpr (sizeof(T) == 1)
                    sum = (int32_t)__dp4a(words[w], 0x01010101u, (unsigned)sum);
                else if constexpr (kSigned)
                    sum = __dp2a_lo((int)words[w], 0x0101, sum);
                else
                    sum = (int32_t)__dp2a_lo(words[w], 0x0101u, (unsigned)sum);
            }
        }
        total += (uint64_t)(int64_t)sum;
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        words[1] = total;
    }
    __device__ void merge(const uint64_t *words)
    {
        if (words[0] == 0) return; // an empty state, all zeros
        count += (int64_t)words[0];
        total = kWhat == what::products ? total * words[1] : total + words[1];
    }
    // A sum or a mean in float64. Not inlined: else each sum computes it too.
    static __device__ WK_NOINLINE double moment(uint64_t total, int64_t count, int fold,
                                                int dtype)
    {
        int_moments<E, false> m; // the word holds it: the launcher has seen to that
        m.start();
        m.sum[0] = total;
        m.sum[1] = std::is_signed_v<E> ? (uint64_t)((int64_t)total >> 63) : 0;
        return m.moment(fold, count, 0, dtype);
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        for (int i = 0; i < task.folds; i++) {
            uint64_t x = total;
            if (task.fold[i] == WK_MEAN || is_float_dtype(task.out_dtype[i])) {
                store(task.out[i], task.out_dtype[i], output,
                      moment(total, count, task.fold[i], task.out_dtype[i]));
                continue;
            }
            if (task.fold[i] == WK_ANY) x = total != 0;
            if (task.fold[i] == WK_ALL) x = total == (uint64_t)count;
            if (task.has_initial)
                x = kWhat == what::products ? x * task.initial.u : x + task.initial.u;
            store(task.out[i], task.out_dtype[i], output, x);
        }
        return true;
    }
};

} // namespace wk
