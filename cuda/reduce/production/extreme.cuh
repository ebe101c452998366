// extreme.cuh -- the least and the largest, by keys that are ordered as integers (num/keys.h).
#pragma once
#include "num/keys.h"
#include "reduce/production/accumulator.cuh"
#include "reduce/production/integers.cuh"

#include <limits>

namespace wk
{

// The key: 32 bits where they do. NaN has two: it is below all and above all.
template <typename T>
using key_t = signed_t<T>;

// Of a NaN the key is above that of infinity, or below that of its negative: by its sign.
template <typename T>
__device__ __forceinline__ key_t<T>
key_of(T x)
{
    if constexpr (std::is_same_v<T, double>) {
        const int64_t b = (int64_t)wk_bits_f64(x);
        return b ^ ((b >> 63) & INT64_MAX);
    } else if constexpr (std::is_same_v<T, float>) {
        const int32_t b = (int32_t)wk_bits_f32(x);
        return b ^ ((b >> 31) & INT32_MAX);
    } else {
        const int32_t b = (int16_t)x.bits;
        return b ^ ((b >> 31) & INT16_MAX);
    }
}

// Two halves as keys: negative ones have all bits but the sign inverted.
__device__ __forceinline__ uint32_t
half_keys(uint32_t word)
{
    return word ^ (word >> 15 & 0x00010001) * 0x7fff;
}

// Turns elements of one or two bytes, several in a word, into keys.
template <typename T, int N>
__device__ __forceinline__ void
words_to_keys(uint32_t (&words)[N], const reduce_task &task)
{
    if (sizeof(T) == 2 && task.halves) {
#pragma unroll
        for (int w = 0; w < N; w++) words[w] = half_keys(words[w]);
    } else {
        words_to_signed<T>(words, task);
    }
}

template <typename T, int N>
__device__ __forceinline__ void
keys_of(const T (&x)[N], const reduce_task &task, key_t<T> (&keys)[N])
{
    if constexpr (is_real<T>) {
#pragma unroll
        for (int j = 0; j < N; j++) keys[j] = key_of(x[j]);
    } else if constexpr (sizeof(T) == 2) {
        uint32_t words[words_for<T, N>];
        pack(x, words);
        words_to_keys<T>(words, task);
        unpack<T>(words, keys);
    } else {
        to_signed(x, task, keys);
    }
}

template <typename T>
constexpr key_t<T> infinity_key = std::is_same_v<T, double>   ? (key_t<T>)0x7ff0000000000000
                                  : std::is_same_v<T, float>  ? (key_t<T>)0x7f800000
                                  : std::is_same_v<T, half16> ? (key_t<T>)0x7c00
                                                              : (key_t<T>)0x7f80;

// The number of a key, in double where it is a float.
template <typename T>
__device__ __forceinline__ auto
number_of(key_t<T> key)
{
    if constexpr (std::is_same_v<T, double>)
        return wk_unorder_f64(key);
    else if constexpr (std::is_same_v<T, float>)
        return (double)wk_unorder_f32(key);
    else if constexpr (is_half<T>)
        return (double)value_of(T{(uint16_t)(key ^ ((key >> 31) & INT16_MAX))});
    else
        return (uint64_t)(int64_t)key;
}

// The least and the largest key of elements of one or two bytes, several in a word.
struct key_range {
    int32_t least, most;
};

template <typename T, int N>
__device__ __forceinline__ key_range
range_of(const uint32_t (&keys)[N])
{
    constexpr bool kByte = sizeof(T) == 1;
    uint32_t low = 0x7fff7fff, high = 0x80008000;
#pragma unroll
    for (int w = 0; w < N; w += kByte ? 1 : 2) {
        uint32_t one = keys[w], two = keys[kByte ? w : w + 1];
        if constexpr (kByte) { // each byte as the upper one of 16 bits
            two = one & 0xff00ff00;
            one = one << 8 & 0xff00ff00;
        }
        low = __vimin3_s16x2(low, one, two);
        high = __vimax3_s16x2(high, one, two);
    }
    const auto key = [](uint32_t bits) { return (int16_t)bits >> (kByte ? 8 : 0); };
    const int32_t l0 = key(low), l1 = key(low >> 16), h0 = key(high), h1 = key(high >> 16);
    return {l0 < l1 ? l0 : l1, h0 > h1 ? h0 : h1};
}

template <typename K>
struct key_extremes {
    static constexpr int kWords = 2;
    static constexpr K kTop = std::numeric_limits<K>::max(),
                       kBottom = std::numeric_limits<K>::min();
    K least, most;

    __device__ void start()
    {
        least = kTop;
        most = kBottom;
    }
    __device__ __forceinline__ void take_range(K low, K high)
    {
        least = min(least, low);
        most = max(most, high);
    }
    template <int N>
    __device__ __forceinline__ void take_keys(const K (&keys)[N], uint32_t ok)
    {
        if (ok == all_of<N>) {
#pragma unroll
            for (int j = 0; j < N; j++) take_range(keys[j], keys[j]);
        } else {
#pragma unroll
            for (int j = 0; j < N; j++)
                if (ok >> j & 1) take_range(keys[j], keys[j]);
        }
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)least;
        words[1] = (uint64_t)most;
    }
    __device__ void load(const uint64_t *words)
    {
        least = (K)words[0];
        most = (K)words[1];
    }
    __device__ void merge(const uint64_t *words)
    {
        take_range((K)words[0], (K)words[1]);
    }
    // As words of which a larger one is further out, and zero is nothing (keys_of_rising).
    __device__ void save_rising(uint64_t *words) const
    {
        words[0] = (uint64_t)kTop - (uint64_t)least;
        words[1] = (uint64_t)most - (uint64_t)kBottom;
    }
};

// The bits of float16 or bfloat16 of a key, or of their NaN.
__device__ __forceinline__ int
half_of_key(int key, bool nan, int infinity)
{
    return nan ? (infinity | infinity >> 1) & 0x7fff : key ^ (key >> 31 & INT16_MAX);
}

template <typename T>
struct real_extremes : key_extremes<key_t<T>> {
    using K = key_t<T>;
    using key_extremes<K>::least, key_extremes<K>::most;

    // For floats, whose type needs no task.
    template <int N>
    __device__ void take_all(const T (&x)[N], uint32_t ok)
    {
        K keys[N];
#pragma unroll
        for (int j = 0; j < N; j++) keys[j] = key_of(x[j]);
        this->take_keys(keys, ok);
    }
    template <int N>
    __device__ void take_all(const T (&x)[N], uint32_t ok, const reduce_task &task)
    {
        K keys[N];
        keys_of(x, task, keys);
        this->take_keys(keys, ok);
    }
    // Takes keys of one or two bytes, several in a word.
    template <int W>
    __device__ void take_packed(const uint32_t (&words)[W], uint32_t ok)
    {
        constexpr int N = W * 4 / (int)sizeof(T);
        if (ok == all_of<N>) {
            const key_range range = range_of<T>(words);
            this->take_range(range.least, range.most);
        } else {
            int32_t keys[N];
            unpack<T>(words, keys);
            this->take_keys(keys, ok);
        }
    }
    // No key of an integer is above it.
    static __device__ __forceinline__ K infinity_of(const reduce_task &task)
    {
        if constexpr (is_real<T>)
            return infinity_key<T>;
        else if constexpr (sizeof(T) == 2)
            return task.infinity;
        else
            return key_extremes<K>::kTop;
    }
    // The least or the largest as an element.
    __device__ void store_one(bool largest, const reduce_task &task, int64_t output) const
    {
        const K key = largest ? most : least, infinity = infinity_of(task);
        const bool nan = least < ~infinity || most > infinity;
        void *out = task.out[0];
        if constexpr (std::is_same_v<T, double>) {
            static_cast<double *>(out)[output] = nan ? wk_nan() : wk_unorder_f64(key);
        } else if constexpr (std::is_same_v<T, float>) {
            static_cast<float *>(out)[output] =
                nan ? wk_from_bits_f32(0x7fc00000) : wk_unorder_f32(key);
        } else {
            T bits = (T)key ^ bias_of<T>(task);
            if (sizeof(T) == 2 && task.halves)
                bits = (T)half_of_key((int)key, nan, (int)infinity);
            static_cast<T *>(out)[output] = bits;
        }
    }
};

// As num/keys.h orders complex numbers; NaN in either part beats all, as in NumPy.
template <typename T>
struct complex_extremes {
    using R = decltype(T{}.re);
    static constexpr int kWords = 4;
    static constexpr R kTop = std::numeric_limits<R>::infinity();
    T least, most; // of those without NaN
    bool nan;

    __device__ void start()
    {
        least = {kTop, kTop};
        most = {-kTop, -kTop};
        nan = false;
    }
    static __device__ bool below(const T &a, const T &b)
    {
        if constexpr (sizeof(R) == 4)
            return wk_below_c64(a.re, a.im, b.re, b.im);
        else
            return wk_below_c128(a.re, a.im, b.re, b.im);
    }
    __device__ void take_ends(const T &low, const T &high)
    {
        if (below(low, least)) least = low;
        if (below(most, high)) most = high;
    }
    __device__ void take(T x)
    {
        nan = nan | is_nan(x);
        take_ends(x, x);
    }
    template <int N>
    __device__ void take_all(const T (&x)[N], uint32_t ok, const reduce_task &)
    {
        if (ok == all_of<N>) {
#pragma unroll
            for (int j = 0; j < N; j++) take(x[j]);
        } else {
#pragma unroll
            for (int j = 0; j < N; j++)
                if (ok >> j & 1) take(x[j]);
        }
    }
    // Bits in a word each; NaN in the first of the parts, if any.
    static __device__ uint64_t word_of(R x)
    {
        if constexpr (sizeof(R) == 4)
            return wk_bits_f32(x);
        else
            return wk_bits_f64(x);
    }
    static __device__ R part_of(uint64_t word)
    {
        if constexpr (sizeof(R) == 4)
            return wk_from_bits_f32((uint32_t)word);
        else
            return wk_from_bits_f64(word);
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = word_of(nan ? (R)wk_nan() : least.re);
        words[1] = word_of(least.im);
        words[2] = word_of(most.re);
        words[3] = word_of(most.im);
    }
    __device__ void load(const uint64_t *words)
    {
        start();
        merge(words);
    }
    __device__ void merge(const uint64_t *words)
    {
        const T low = {part_of(words[0]), part_of(words[1])};
        nan = nan | is_nan(low);
        take_ends(low, {part_of(words[2]), part_of(words[3])});
    }
    static __device__ void store_number(bool nan, const T &x, const reduce_task &task,
                                        int64_t output)
    {
        const R none = (R)wk_nan();
        static_cast<T *>(task.out[0])[output] = nan ? T{none, none} : x;
    }
    // The least or the largest as an element.
    __device__ void store_one(bool largest, const reduce_task &task, int64_t output) const
    {
        store_number(nan, largest ? most : least, task, output);
    }
    __device__ void finish(int fold, void *out, int dtype, int64_t output) const
    {
        const T x = fold == WK_MIN ? least : most;
        double re = (double)x.re, im = (double)x.im;
        if (fold == WK_PTP) re -= (double)least.re, im -= (double)least.im;
        store(out, dtype, 2 * output, nan ? wk_nan() : re);
        store(out, dtype, 2 * output + 1, nan ? wk_nan() : im);
    }
};

template <typename T>
using extremes_of = std::conditional_t<is_complex<T>, complex_extremes<T>, real_extremes<T>>;

// What finish_ends and finish_integers take: keys of floats, and values of integers.
template <typename T>
__device__ __forceinline__ void
values_of_keys(const real_extremes<T> &ends, const reduce_task &task, uint64_t *values)
{
    ends.save(values);
    if constexpr (!is_real<T>)
        for (int w = 0; w < 2; w++) values[w] += bias_of<T>(task);
}

template <typename E>
struct extremes : certain<extremes<E>> {
    using T = E;
    static constexpr bool kPacked = sizeof(T) <= 2, kHalves = true, kQuick = kPacked,
                          kAtOnce = is_complex<T>, kPairsAtOnce = kAtOnce;
    static constexpr int kWords = 1 + extremes_of<T>::kWords;
    static constexpr int kVectors = 4, kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kBlocks = 3, kRowBlocks = 3, kColumnBlocks = 2;
    using certain<extremes>::count;
    extremes_of<T> ends;

    static __device__ T filler(const reduce_task &)
    {
        return T{};
    }
    __device__ void start(const reduce_task &)
    {
        count = 0;
        ends.start();
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t ok, const place &, const reduce_task &task)
    {
        ends.take_all(x, ok, task);
    }
    template <int N>
    __device__ void add_packed(uint32_t (&words)[N], uint32_t ok, const place &,
                               const reduce_task &task)
    {
        words_to_keys<T>(words, task);
        ends.take_packed(words, ok);
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        ends.save(words + 1);
    }
    __device__ void load(const uint64_t *words)
    {
        count = (int64_t)words[0];
        ends.load(words + 1);
    }
    __device__ void merge(const uint64_t *words)
    {
        if (words[0] == 0) return; // an empty state, all zeros
        count += (int64_t)words[0];
        ends.merge(words + 1);
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        extremes_of<T> all = ends;
        if (task.is_own() && count > 0 && task.fold[0] != WK_PTP) {
            all.store_one(task.fold[0] == WK_MAX, task, output);
            return true;
        }
        if (task.has_initial) {
            T x[1];
            memcpy(x, task.initial.bytes, sizeof x);
            if (!(task.skip_nan && is_nan(x[0], task)))
                all.take_all(x, 1, task);
            else if (count == 0)
                nothing(&all);
        } else if (count == 0) { // of NaN alone, all of them left out
            nothing(&all);
        }
        uint64_t keys[2] = {};
        if constexpr (!is_complex<T>) values_of_keys(all, task, keys);
#pragma unroll 1
        for (int i = 0; i < task.folds; i++) {
            if constexpr (is_complex<T>)
                all.finish(task.fold[i], task.out[i], task.out_dtype[i], output);
            else
                finish_ends(task.fold[i], keys[0], keys[1], task.dtype, task, i, output);
        }
        return true;
    }
    // The least or the largest of a few complex numbers, one end alone; false: it is something else. The order of -x is
    // that of x, turned round. H200, 128 MiB, share of a copy by both ends and so, complex64, n x 2, n x 3: .43 .53, .53 .62.
    template <int N>
    static __device__ __forceinline__ bool
    finish_at_once(const T (&x)[N], const reduce_task &task, int64_t output)
    {
        if constexpr (is_complex<T> && N <= WK_FEW_ROWS) {
            if (!task.plain || task.skip_nan) return false;
            if (task.fold[0] == WK_PTP) {
                extremes_of<T> ends;
                ends.start();
#pragma unroll
                for (int j = 0; j < N; j++)
                    if (j < task.n) ends.take(x[j]);
                ends.finish(WK_PTP, task.out[0], task.out_dtype[0], output);
                return true;
            }
            const bool turns = task.fold[0] == WK_MAX;
            const auto turned = [&](const T &y) {
                return T{turns ? -y.re : y.re, turns ? -y.im : y.im};
            };
            T least = turned(x[0]);
            bool nan = is_nan(x[0]);
#pragma unroll
            for (int j = 1; j < N; j++) {
                if (j >= task.n) break;
                const T one = turned(x[j]);
                nan |= is_nan(one);
                if (extremes_of<T>::below(one, least)) least = one;
            }
            extremes_of<T>::store_number(nan, turned(least), task, output);
            return true;
        }
        return false;
    }
    __device__ void finish_by_call(const reduce_task &task, int64_t output) const
    {
        finish(task, output);
    }
    static __device__ void nothing(extremes_of<T> *all)
    {
        if constexpr (is_complex<T>)
            all->nan = true;
        else
            all->least = all->most = real_extremes<T>::kTop;
    }
};

} // namespace wk
