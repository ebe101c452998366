// integers.cuh -- sums of integers: modulo 2^64, counts, and exact moments in several words.
#pragma once
#include "reduce/accumulator.cuh"
#include "reduce/results.cuh"

namespace wk
{

// Columns of a thread: 8 bytes.
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

// Adds a number of 128 bits, or the lower half of it, to words of 64 bits, the lowest first.
template <int N>
__device__ __forceinline__ void
add_words(uint64_t (&to)[N], uint64_t low, uint64_t high)
{
    uint64_t carry = (to[0] += low) < low;
    if constexpr (N > 1) {
        const uint64_t next = high + carry;
        carry = next < carry;
        carry += (to[1] += next) < next;
#pragma unroll
        for (int i = 2; i < N; i++) carry = (to[i] += carry) < carry;
    }
}

// The sum, two's complement, and the squares where they are wanted, in as many words as 2^47 elements
// take.
template <typename E, bool kSquares = true>
struct int_moments {
    using T = std::conditional_t<std::is_same_v<E, truth>, uint8_t, E>;
    static constexpr bool kSigned = std::is_signed_v<T>;
    static constexpr int kSum = sizeof(T) <= 2 ? 1 : 2;
    static constexpr int kSquare = sizeof(T) == 1 ? 1 : sizeof(T) <= 4 ? 2 : 3;
    static constexpr int kWords = kSum + (kSquares ? kSquare : 0);
    uint64_t sum[kSum], squares[kSquare];

    __device__ void start()
    {
        for (int i = 0; i < kSum; i++) sum[i] = 0;
        for (int i = 0; i < kSquare; i++) squares[i] = 0;
    }
    __device__ __forceinline__ void add_sums(int64_t s, uint64_t q)
    {
        add_words(sum, (uint64_t)s, (uint64_t)(s >> 63));
        if constexpr (kSquares) add_words(squares, q, 0);
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
        add_sums(s, q);
    }
    template <int N>
    __device__ void add(const E (&elements)[N])
    {
        int64_t s = 0; // a batch fits, but of 64 bits
        uint64_t q = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            if constexpr (sizeof(T) <= 2) {
                const int32_t x = (int32_t)elements[j];
                s += x;
                q += (uint32_t)x * (uint32_t)x;
            } else if constexpr (sizeof(T) == 4) {
                const int64_t x = (int64_t)elements[j];
                s += x;
                if constexpr (kSquares) add_words(squares, (uint64_t)x * (uint64_t)x, 0);
            } else {
                const uint64_t x = (uint64_t)elements[j], sign = kSigned ? (int64_t)x >> 63 : 0;
                const uint64_t size = (x ^ sign) - sign; // its magnitude
                const unsigned __int128 square = (unsigned __int128)size * size;
                add_words(sum, x, sign);
                if constexpr (kSquares)
                    add_words(squares, (uint64_t)square, (uint64_t)(square >> 64));
            }
        }
        if constexpr (sizeof(T) <= 4) add_sums(s, q);
    }
    __device__ void save(uint64_t *words) const
    {
#pragma unroll
        for (int i = 0; i < kSum; i++) words[i] = sum[i];
#pragma unroll
        for (int i = kSum; i < kWords; i++) words[i] = squares[i - kSum];
    }
    __device__ void load(const uint64_t *words)
    {
#pragma unroll
        for (int i = 0; i < kSum; i++) sum[i] = words[i];
#pragma unroll
        for (int i = kSum; i < kWords; i++) squares[i - kSum] = words[i];
    }
    __device__ void merge(const uint64_t *words)
    {
        add_words(sum, words[0], kSum > 1 ? words[kSum - 1] : 0);
        if constexpr (kSquares)
            add_words(squares, words[kSum], kSquare > 1 ? words[kSum + (kSquare > 1)] : 0);
        if constexpr (kSquares && kSquare > 2) squares[2] += words[kSum + 2];
    }
    // As words of any integers'.
    __device__ void put_to(integer_outcome *o) const
    {
        o->sum[0] = sum[0];
        o->sum[1] = kSum > 1 ? sum[kSum - 1] : kSigned ? (uint64_t)((int64_t)sum[0] >> 63) : 0;
#pragma unroll
        for (int i = 0; i < 3; i++)
            o->squares[i] = kSquares && i < kSquare ? squares[i < kSquare ? i : 0] : 0;
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
    static constexpr int kWords = 2, kVectors = 4, kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
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
    __device__ void load(const uint64_t *words)
    {
        count = (int64_t)words[0];
        total = words[1];
    }
    __device__ void merge(const uint64_t *words)
    {
        if (words[0] == 0) return; // an empty state, all zeros
        count += (int64_t)words[0];
        total = kWhat == what::products ? total * words[1] : total + words[1];
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        if (task.plain) { // one integer, of all elements
            uint64_t x = total;
            if (task.fold[0] == WK_ANY) x = total != 0;
            if (task.fold[0] == WK_ALL) x = total == (uint64_t)task.n;
            store(task.out[0], task.out_dtype[0], output, x);
            return true;
        }
        const auto signed_total = (int64_t)total;
        if (task.folds == 1 && task.fold[0] == WK_MEAN && task.out_dtype[0] == WK_F64 &&
            count > 0 && (uint64_t)(signed_total + ((int64_t)1 << 53)) < (uint64_t)1 << 54) {
            static_cast<double *>(task.out[0])[output] =
                (double)signed_total / (double)count; // of two exact numbers, rounded once
            return true;
        }
        integer_outcome o = {};
        o.nonzeros = (int64_t)total;
        o.n = count;
        if constexpr (kWhat == what::products) {
            o.sum[0] = task.has_initial ? total * task.initial.u : total;
        } else {
            o.sum[0] = total;
            o.sum[1] = std::is_signed_v<T> ? (uint64_t)((int64_t)total >> 63) : 0;
        }
        finish_integers(o, task, output);
        return true;
    }
};

} // namespace wk
