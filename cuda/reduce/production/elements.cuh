// elements.cuh -- element types that C++ has no name for, and what every accumulator asks of one.
#pragma once
#include "prim/halves.cuh"

namespace wk
{

template <typename R>
struct complex {
    R re, im;
};

template <typename T>
constexpr bool is_real = std::is_same_v<T, float> || std::is_same_v<T, double> || is_half<T>;
template <typename T>
constexpr bool is_complex =
    std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>;

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

// A number of a dtype of real ones.
__device__ __forceinline__ double
real_at(const void *x, int dtype, int64_t at)
{
    switch (dtype) {
    case WK_F16: return (double)value_of(static_cast<const half16 *>(x)[at]);
    case WK_BF16: return (double)value_of(static_cast<const brain16 *>(x)[at]);
    case WK_F32: return (double)static_cast<const float *>(x)[at];
    default: return static_cast<const double *>(x)[at];
    }
}

} // namespace wk
