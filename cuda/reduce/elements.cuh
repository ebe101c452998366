// elements.cuh -- element types that C++ has no name for, and what every accumulator asks of one.
#pragma once
#include "runtime/visit.cuh"

#include <cuda_fp16.h>

#include <type_traits>

namespace wk
{

struct half16 {
    uint16_t bits;
};

struct brain16 { // bfloat16
    uint16_t bits;
};

template <typename R>
struct complex {
    R re, im;
};

template <typename T>
constexpr bool is_half = std::is_same_v<T, half16> || std::is_same_v<T, brain16>;
template <typename T>
constexpr bool is_real = std::is_same_v<T, float> || std::is_same_v<T, double> || is_half<T>;
template <typename T>
constexpr bool is_complex =
    std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>;

// The type that holds the element's value exactly and that the chip computes with.
__device__ __forceinline__ float
value_of(half16 x)
{
    return __half2float(__ushort_as_half(x.bits));
}

__device__ __forceinline__ float
value_of(brain16 x)
{
    return wk_from_bits_f32((uint32_t)x.bits << 16);
}

template <typename T>
__device__ __forceinline__ T
value_of(T x)
{
    return x;
}

template <typename T>
using value_t = std::conditional_t<is_half<T>, float, T>;

template <typename T>
__device__ __forceinline__ bool
is_nan(T x)
{
    if constexpr (is_complex<T>)
        return x.re != x.re || x.im != x.im;
    else if constexpr (std::is_same_v<T, half16>)
        return (x.bits & 0x7fff) > 0x7c00;
    else if constexpr (std::is_same_v<T, brain16>)
        return (x.bits & 0x7fff) > 0x7f80;
    else if constexpr (is_real<T>)
        return x != x;
    else
        return false;
}

template <typename T>
__device__ __forceinline__ bool
is_nonzero(T x)
{
    if constexpr (is_complex<T>)
        return x.re != 0 || x.im != 0;
    else if constexpr (is_half<T>)
        return (x.bits & 0x7fff) != 0;
    else
        return x != 0;
}

} // namespace wk
