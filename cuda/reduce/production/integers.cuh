// integers.cuh -- sums of integers: modulo 2^64, counts, and exact moments in several words.
#pragma once
#include "reduce/production/accumulator.cuh"
#include "reduce/production/results.cuh"

namespace wk
{

// The type of signed elements: unsigned elements become signed ones when half of their range is taken
// off, and results get it back.
template <typename T>
using signed_t = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

template <typename T>
constexpr int bits_of = 8 * (int)sizeof(T);

// What is taken off: 2^(bits - 1), or 0 where the dtype is signed. This element becomes zero.
template <typename T>
__device__ __forceinline__ T
bias_of(const reduce_task &task)
{
    if constexpr (sizeof(T) == 8)
        return task.bias & ~(uint64_t)UINT32_MAX;
    else
        return (T)task.bias;
}

// The upper bit of each byte, or half, that is not zero.
__device__ __forceinline__ uint32_t
nonzero_bytes(uint32_t word)
{
    return (((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) & 0x80808080;
}

__device__ __forceinline__ uint32_t
nonzero_halves(uint32_t word)
{
    return (((word & 0x7fff7fff) + 0x7fff7fff) | word) & 0x80008000;
}

// Makes elements of one or two bytes, several in a word, signed.
template <typename T, int N>
__device__ __forceinline__ void
words_to_signed(uint32_t (&words)[N], const reduce_task &task)
{
    if (sizeof(T) == 1 && task.truth) {
#pragma unroll
        for (int w = 0; w < N; w++) words[w] = nonzero_bytes(words[w]) >> 7;
        return;
    }
#pragma unroll
    for (int w = 0; w < N; w++) words[w] ^= (uint32_t)task.bias;
}

template <typename T, int N>
constexpr int words_for = (N * (int)sizeof(T) + 3) / 4;

template <typename T, int N>
__device__ __forceinline__ void
pack(const T (&x)[N], uint32_t (&words)[words_for<T, N>])
{
    words[words_for<T, N> - 1] = 0; // the elements may end inside it
    memcpy(words, x, sizeof x);
}

// Signed elements from their words, by shifts: a copy through bytes would give each one a register.
template <typename T, int N>
__device__ __forceinline__ void
unpack(const uint32_t (&words)[words_for<T, N>], int32_t (&y)[N])
{
    constexpr int kPer = 4 / (int)sizeof(T);
#pragma unroll
    for (int j = 0; j < N; j++)
        y[j] = (std::make_signed_t<T>)(words[j / kPer] >> j % kPer * bits_of<T>);
}

template <typename T, int N>
__device__ __forceinline__ void
to_signed(const T (&x)[N], const reduce_task &task, signed_t<T> (&y)[N])
{
    if constexpr (sizeof(T) <= 2) {
        uint32_t words[words_for<T, N>];
        pack(x, words);
        words_to_signed<T>(words, task);
        unpack<T>(words, y);
    } else {
#pragma unroll
        for (int j = 0; j < N; j++) y[j] = (signed_t<T>)(x[j] ^ bias_of<T>(task));
    }
}

// How many elements of one or two bytes are not zero.
template <typename T, int N>
__device__ __forceinline__ int
count_packed(const uint32_t (&words)[N], const reduce_task &task)
{
    uint32_t sum = 0; // in units of the upper bit
#pragma unroll
    for (int w = 0; w < N; w++) {
        if constexpr (sizeof(T) == 1) {
            sum = __dp4a(nonzero_bytes(words[w]), 0x01010101u, sum);
        } else {
            sum = __dp2a_lo(nonzero_halves(words[w] & (uint32_t)task.mask), 0x0101u, sum);
        }
    }
    return (int)(sum >> (bits_of<T> - 1));
}

template <typename T>
__device__ __forceinline__ bool
is_nonzero(T x, const reduce_task &task)
{
    if constexpr (std::is_same_v<T, two_words>)
        return ((x.low | x.high) & task.mask) != 0;
    else
        return (x & (T)task.mask) != 0;
}

template <typename T, int N>
__device__ __forceinline__ int
count_nonzero(const T (&x)[N], const reduce_task &task)
{
    int nonzeros = 0;
#pragma unroll
    for (int j = 0; j < N; j++) nonzeros += is_nonzero(x[j], task);
    return nonzeros;
}

// The sum of elements of type S, of one or two bytes, several in a word.
template <typename S, int N>
__device__ __forceinline__ int32_t
sum_packed(const uint32_t (&words)[N])
{
    using H = std::conditional_t<std::is_signed_v<S>, int32_t, uint32_t>;
    H sum = 0;
#pragma unroll
    for (int w = 0; w < N; w++)
        sum = sizeof(S) == 1 ? __dp4a((H)words[w], (H)0x01010101, sum)
                             : __dp2a_lo((H)words[w], (H)0x0101, sum);
    return (int32_t)sum;
}

// Calls f with a zero of the dtype's own type: T, or the signed type of its size.
template <typename T, typename F>
__device__ __forceinline__ void
with_sign(const reduce_task &task, F &&f)
{
    if (task.bias)
        f(T{});
    else
        f(std::make_signed_t<T>{});
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

// The sum of signed elements, and their squares where they are wanted, in as many words as 2^47 of them
// take.
template <typename T, bool kSquares = true>
struct int_moments {
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
    // Elements of one or two bytes, several in a word.
    template <int N>
    __device__ void add_packed(const uint32_t (&words)[N])
    {
        uint64_t q = 0;
        if constexpr (sizeof(T) == 1) {
            int32_t few = 0;
#pragma unroll
            for (int w = 0; w < N; w++) few = __dp4a((int)words[w], (int)words[w], few);
            q = (uint32_t)few;
        } else {
#pragma unroll
            for (int w = 0; w < N; w++) {
                const int32_t low = (int16_t)words[w], high = (int32_t)words[w] >> 16;
                q += (uint32_t)(low * low);
                q += (uint32_t)(high * high);
            }
        }
        add_sums(sum_packed<std::make_signed_t<T>>(words), q);
    }
    template <int N>
    __device__ void add(const signed_t<T> (&elements)[N])
    {
        int64_t s = 0; // a batch fits, but of 64 bits
        uint64_t q = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            const signed_t<T> x = elements[j];
            if constexpr (sizeof(T) <= 2) {
                s += x;
                q += (uint32_t)(x * x);
            } else if constexpr (sizeof(T) == 4) {
                s += x;
                if constexpr (kSquares) add_words(squares, (uint64_t)((int64_t)x * x), 0);
            } else {
                const auto sign = (uint64_t)(x >> 63);
                const uint64_t size = ((uint64_t)x ^ sign) - sign; // its magnitude
                const unsigned __int128 square = (unsigned __int128)size * size;
                add_words(sum, (uint64_t)x, sign);
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
    __device__ __forceinline__ void put_to(integer_outcome *o, const reduce_task &task) const
    {
        o->bias = task.bias_bits;
        o->sum[0] = sum[0];
        o->sum[1] = kSum > 1 ? sum[kSum - 1] : (uint64_t)((int64_t)sum[0] >> 63);
#pragma unroll
        for (int i = 0; i < 3; i++)
            o->squares[i] = kSquares && i < kSquare ? squares[i < kSquare ? i : 0] : 0;
    }
};

// ---- a few integers, in doubles -----------------------------------------------------------------

__device__ __forceinline__ double
double_of(uint32_t x) // an addition, which is faster than a conversion
{
    return wk_from_bits_f64((uint64_t)0x433 << 52 | x) - 0x1p52;
}

// Rounded; what was rounded off is in `rest`.
__device__ __forceinline__ double
double_of(uint64_t x, double *rest)
{
    const double high = double_of((uint32_t)(x >> 32)) * 0x1p32, low = double_of((uint32_t)x),
                 sum = high + low;
    *rest = low - (sum - high);
    return sum;
}

// The mean of what was made signed. False: it takes more.
template <int N>
__device__ __forceinline__ bool
finish_mean_of_few(const int64_t (&y)[N], const reduce_task &task, int64_t output)
{
    int64_t high = task.bias ? task.n << 31 : 0, low = 0;
#pragma unroll
    for (int j = 0; j < N; j++) {
        high += y[j] >> 32;
        low += (uint32_t)y[j];
    }
    double_pair p = {0, 0, 0};
    p.high = two_sum((double)high * 0x1p32, (double)low, &p.low);
    const answer a = quick_mean(p, task.n, task.inverse, WK_F64);
    if (a.known) static_cast<double *>(task.out[0])[output] = a.value;
    return a.known;
}

// The same of integers of one or two bytes.
template <typename T, int N>
__device__ __forceinline__ bool
finish_mean_of_small(const int32_t (&y)[N], const reduce_task &task, int64_t output)
{
    int32_t sum = task.bias ? (int32_t)task.n << (bits_of<T> - 1) : 0;
#pragma unroll
    for (int j = 0; j < N; j++) sum += y[j];
    static_cast<double *>(task.out[0])[output] =
        quotient((double)sum, (double)task.n, task.inverse);
    return true;
}

// The root of an integer below 2^20, rounded: two of Newton's steps from float32's. For each of them, and from each
// start within 33 ulps of that, it is what IEEE's is (all were tried); the chip's is within two.
__device__ __forceinline__ double
root_of_small(uint32_t x)
{
    const double all = double_of(x);
    const float start = rsqrtf(fmaxf((float)x, 1.0f));
    const double first = all * start, half = 0.5 * (double)start, rest = fma(-half, first, 0.5),
                 root = fma(first, rest, first);
    return fma(fma(-root, root, all), fma(half, rest, half), root);
}

// The norm of up to four elements of a byte, which fillers follow.
template <typename T>
__device__ __forceinline__ void
finish_norm_of_bytes(uint32_t word, const reduce_task &task, int64_t output)
{
    uint32_t words[1] = {word};
    words_to_signed<T>(words, task);
    const auto four = (int)words[0];
    int all = __dp4a(four, four, 0);
    if (task.bias) // (x + 128)^2 of each
        all += 256 * __dp4a(four, 0x01010101, 0) + ((int)task.n << 14);
    static_cast<double *>(task.out[0])[output] = root_of_small((uint32_t)all);
}

// The norm, the variance or its root of what was made signed, by half of T's range. False: it takes more.
template <typename T, int N, typename S>
__device__ __forceinline__ bool
finish_squares_of_integers(const S (&y)[N], const reduce_task &task, int64_t output)
{
    const int fold = task.fold[0], n = (int)task.n;
    const bool spread = is_spread(fold);
    if (!(spread ? task.spread > 0 : fold == WK_NORM)) return false;
    using U = std::make_unsigned_t<S>;
    const auto size = [&](int j) {
        const U x = (U)y[j], all = task.bias ? x + bias_of<T>(task) : y[j] < 0 ? -x : x;
        return j < n ? all : (U)0;
    };
    const auto apart = [&](int i, int j) {
        const U a = (U)y[i], b = (U)y[j];
        return y[i] < y[j] ? b - a : a - b;
    };
    if (fold == WK_STD && n == 2 && task.spread == 4) { // half of the distance
        static_cast<double *>(task.out[0])[output] = (double)apart(0, N > 1) / 2;
        return true;
    }
    const auto finish = [&](const double_pair &squares) {
        return store_answer<WK_F64>(answer_of_squares(squares, spread, task), task, output);
    };
    if constexpr (sizeof(T) <= 2) { // all is exact, and what follows the n elements zero
        using W = std::conditional_t<sizeof(T) == 1, int32_t, int64_t>;
        const W bias = bias_of<T>(task);
        W sum = 0, all = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            sum += y[j];
            all += (uint32_t)(y[j] * y[j]);
        }
        all = spread ? n * all - sum * sum : all + bias * (2 * sum + n * bias);
        double x = double_of((uint32_t)all);
        if constexpr (sizeof(T) == 2) x += double_of((uint32_t)(all >> 32)) * 0x1p32;
        if (fold == WK_STD) return finish({x, 0, 0});
        if (spread)
            x = quotient(x, task.spread, task.inverse_spread);
        else // of zero a root takes three times as long, and of the lanes beside it
            x = all ? sqrt(all ? x : 1) : 0;
        static_cast<double *>(task.out[0])[output] = x;
        return true;
    } else if constexpr (sizeof(T) == 4) {
        uint64_t all[2] = {};
        const auto add = [&](U x) { add_words(all, (uint64_t)x * x, 0); };
        each_of_few<N>(
            n, spread, [&](int j) { add(size(j)); }, [&](int i, int j) { add(apart(i, j)); });
        const double low = double_of((uint32_t)all[0]),
                     high = double_of((uint32_t)(all[0] >> 32)) * 0x1p32 +
                            (double)(int)all[1] * 0x1p64,
                     sum = high + low;
        return finish({sum, low - (sum - high), 0});
    } else {
        square_sum all;
        const auto add = [&](U x) {
            double rest;
            const double near = double_of(x, &rest);
            all.add(near, rest);
        };
        each_of_few<N>(
            n, spread, [&](int j) { add(size(j)); }, [&](int i, int j) { add(apart(i, j)); });
        return finish(pair_of(all, false));
    }
}

// The mean of integers of which some do not count. False: it has another dtype, or takes more; results.cu.
__device__ bool finish_mean_of_some(int64_t sum, int64_t count, const reduce_task &task,
                                    int64_t output);

// The sum of integers, and their mean. False: that is not what is asked for; results.cu.
__device__ bool finish_sum_and_mean(uint64_t sum, double mean, const reduce_task &task,
                                    int64_t output);

enum class what { values, nonzeros, products };

// One word: the sum of values, the count of those that are not zero, or the product. The sum and the
// product of bool are counts.
template <typename E, what kWhat>
struct word : certain<word<E, kWhat>> {
    using T = E;
    static constexpr bool kPacked = sizeof(T) <= 2 && kWhat != what::products,
                          kQuick = kPacked && (sizeof(T) == 1 || kWhat == what::nonzeros);
    static constexpr int kWords = 2, kVectors = 4, kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kBlocks = 3, kRowBlocks = 3, kColumnBlocks = 2;
    using certain<word>::count;
    uint64_t total;

    static __device__ T filler(const reduce_task &)
    {
        if constexpr (kWhat == what::products)
            return 1;
        else
            return T{};
    }
    __device__ void start(const reduce_task &)
    {
        count = 0;
        total = kWhat == what::products;
    }
    template <typename S, int N> // S: the dtype's own type
    __device__ void multiply(const T (&x)[N])
    {
        using H = std::conditional_t<std::is_signed_v<S>, int32_t, uint32_t>;
        using W = std::conditional_t<std::is_signed_v<S>, int64_t, uint64_t>;
        // a word of 64 bits holds the product of so many elements, one of 32 of half of them
        constexpr int kMost = 8 / (int)sizeof(T), kGroup = kMost < N ? kMost : N;
#pragma unroll
        for (int j = 0; j < N; j += kGroup) {
            H low = 1, high = 1;
#pragma unroll
            for (int i = 0; i < kGroup; i++) (i < kGroup / 2 ? low : high) *= (H)(S)x[j + i];
            total *= (uint64_t)((W)low * (W)high);
        }
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t, const place &, const reduce_task &task)
    {
        if constexpr (kWhat == what::products && sizeof(T) <= 2) {
            with_sign<T>(task, [&](auto sign) { multiply<decltype(sign)>(x); });
        } else if constexpr (kWhat == what::products && sizeof(T) == 4) {
            const int32_t sign = task.bias ? 0 : -1;
#pragma unroll
            for (int j = 0; j < N; j++)
                total *= (uint64_t)(uint32_t)((int32_t)x[j] >> 31 & sign) << 32 | x[j];
        } else if constexpr (sizeof(T) == 8 && kWhat != what::nonzeros) {
#pragma unroll
            for (int j = 0; j < N; j++)
                total = kWhat == what::products ? total * x[j] : total + x[j];
        } else if constexpr (kWhat == what::nonzeros) {
            total += (uint64_t)count_nonzero(x, task);
        } else {
            with_sign<T>(task, [&](auto sign) {
                using S = decltype(sign);
                // a batch fits 32 bits
                std::conditional_t<(sizeof(T) < 4), int32_t, int64_t> sum = 0;
#pragma unroll
                for (int j = 0; j < N; j++) sum += (S)x[j];
                total += (uint64_t)(int64_t)sum;
            });
        }
    }
    template <int N>
    __device__ void add_packed(const uint32_t (&words)[N], uint32_t, const place &,
                               const reduce_task &task)
    {
        if constexpr (kWhat == what::nonzeros) {
            total += (uint64_t)count_packed<T>(words, task);
        } else {
            with_sign<T>(task, [&](auto sign) {
                total += (uint64_t)(int64_t)sum_packed<decltype(sign)>(words);
            });
        }
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
        uint64_t all = total;
        if constexpr (kWhat == what::nonzeros)
            if (task.fold[0] == WK_PROD) // of bool
                all = total == (uint64_t)count;
        if (task.is_own()) { // one integer
            uint64_t x = all;
            if (task.fold[0] == WK_ANY) x = all != 0;
            if (task.fold[0] == WK_ALL) x = all == (uint64_t)count;
            store(task.out[0], task.out_dtype[0], output, x);
            return true;
        }
        if constexpr (kWhat == what::nonzeros) {
            if (task.in_double && task.fold[0] == WK_NORM) { // of bool
                static_cast<double *>(task.out[0])[output] = sqrt((double)(int64_t)all);
                return true;
            }
            if (task.folds > 1 && finish_counts(task, output)) return true;
        }
        if (!task.counts && all + ((uint64_t)1 << 53) < (uint64_t)1 << 54) {
            const double mean = quotient((double)(int64_t)all, (double)task.n, task.inverse);
            if (task.in_double && task.fold[0] == WK_MEAN) {
                static_cast<double *>(task.out[0])[output] = mean;
                return true;
            }
            if (task.folds == 2 && finish_sum_and_mean(all, mean, task, output)) return true;
        }
        if (task.counts && task.folds == 1 && task.fold[0] == WK_MEAN &&
            finish_mean_of_some((int64_t)all, count, task, output))
            return true;
        finish_more(all, total, count, task, output);
        return true;
    }
    // Several results, if all of them are counts.
    __device__ __forceinline__ bool finish_counts(const reduce_task &task, int64_t output) const
    {
        bool known = true;
#pragma unroll 1
        for (int i = 0; i < task.folds; i++) {
            const int fold = task.fold[i];
            uint64_t x = total;
            if (fold == WK_ANY)
                x = total != 0;
            else if (fold == WK_ALL)
                x = total == (uint64_t)count;
            else if (fold != WK_COUNT_NONZERO)
                known = false;
            if (known) store(task.out[i], task.out_dtype[i], output, x);
        }
        return known;
    }
    // What takes more, once for all kernels of a file.
    static __device__ WK_NOINLINE void finish_more(uint64_t all, uint64_t total, int64_t count,
                                                   const reduce_task &task, int64_t output)
    {
        const auto signed_all = (int64_t)all;
        if (kWhat == what::nonzeros && task.fold[0] == WK_NORM) { // of bool
            store(task.out[0], task.out_dtype[0], output, sqrt((double)signed_all));
            return;
        }
        integer_outcome o = {};
        o.nonzeros = (int64_t)total;
        o.n = count;
        o.sum[0] = all;
        o.sum[1] =
            (uint64_t)(signed_all >> 63); // sums of 8-byte elements have no float results here
        if (task.fold[0] == WK_PROD && task.has_initial) o.sum[0] *= task.initial.u;
        finish_integers(o, task, output);
    }
};

template <typename E>
constexpr bool folds_segments<word<E, what::products>> = false;

template <typename E, what kWhat>
struct merged_by<word<E, kWhat>> {
    using type = word<uint64_t, kWhat>;
};

} // namespace wk
