// keys.cuh -- elements as unsigned keys of their size, in the order of numpy.unique: NaN are one key, the
// last, and -0.0 and 0.0 are one.
#pragma once
#include "num/keys.h"
#include "prim/halves.cuh"

namespace wk
{

template <int kBytes>
struct word_of_bytes;
template <>
struct word_of_bytes<1> {
    using type = uint8_t;
};
template <>
struct word_of_bytes<2> {
    using type = uint16_t;
};
template <>
struct word_of_bytes<4> {
    using type = uint32_t;
};
template <>
struct word_of_bytes<8> {
    using type = uint64_t;
};
template <typename T>
using word_of = typename word_of_bytes<sizeof(T)>::type;

constexpr uint16_t kInfF16 = 0x7c00, kInfBf16 = 0x7f80;

template <typename T>
__device__ __forceinline__ word_of<T>
to_key(T x)
{
    using K = word_of<T>;
    if constexpr (std::is_same_v<T, float>)
        return wk_sort_key_f32(x);
    else if constexpr (std::is_same_v<T, double>)
        return wk_sort_key_f64(x);
    else if constexpr (std::is_same_v<T, half16>)
        return wk_sort_key_16(x.bits, kInfF16);
    else if constexpr (std::is_same_v<T, brain16>)
        return wk_sort_key_16(x.bits, kInfBf16);
    else if constexpr (std::is_same_v<T, truth>)
        return x ? 1 : 0;
    else if constexpr (std::is_signed_v<T>)
        return (K)((K)x ^ (K)((K)1 << (8 * sizeof(K) - 1)));
    else
        return x;
}

template <typename T>
__device__ __forceinline__ T
from_key(word_of<T> key)
{
    using K = word_of<T>;
    if constexpr (std::is_same_v<T, float>)
        return wk_from_sort_key_f32(key);
    else if constexpr (std::is_same_v<T, double>)
        return wk_from_sort_key_f64(key);
    else if constexpr (std::is_same_v<T, half16>)
        return half16{wk_from_sort_key_16(key, kInfF16)};
    else if constexpr (std::is_same_v<T, brain16>)
        return brain16{wk_from_sort_key_16(key, kInfBf16)};
    else if constexpr (std::is_same_v<T, truth>)
        return truth{(uint8_t)key};
    else if constexpr (std::is_signed_v<T>)
        return (T)(K)(key ^ (K)((K)1 << (8 * sizeof(K) - 1)));
    else
        return (T)key;
}

// An integer's 0; also for the host, which cannot call to_key.
template <typename T>
constexpr word_of<T> kZeroKey = std::is_signed_v<T>
                                    ? (word_of<T>)((word_of<T>)1 << (8 * sizeof(T) - 1))
                                    : (word_of<T>)0;

// What kernels read: elements, ...
template <typename T>
struct elements_of {
    using element = T;
    using value = T;
    __device__ static __forceinline__ word_of<T> key(T x)
    {
        return to_key(x);
    }
};

// ... or keys that were made of them.
template <typename T>
struct keys_of {
    using element = word_of<T>;
    using value = T;
    __device__ static __forceinline__ word_of<T> key(word_of<T> x)
    {
        return x;
    }
};

} // namespace wk
