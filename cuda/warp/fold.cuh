// fold.cuh -- two values made one, for a warp's reductions and scans.
#pragma once
#include "prim/halves.cuh"
#include "warp/lanes.cuh"

namespace wk::lanes
{

template <typename T>
__device__ __forceinline__ T
lesser(T a, T b)
{
    if constexpr (std::is_same_v<T, float>) return wk_lesser_f32(a, b);
    if constexpr (std::is_same_v<T, double>) return wk_lesser_f64(a, b);
    return a < b ? a : b;
}

template <typename T>
__device__ __forceinline__ T
greater(T a, T b)
{
    if constexpr (std::is_same_v<T, float>) return wk_greater_f32(a, b);
    if constexpr (std::is_same_v<T, double>) return wk_greater_f64(a, b);
    return a > b ? a : b;
}

// Integers wrap; a float's sum has one NaN only.
template <typename T>
__device__ __forceinline__ T
sum(T a, T b)
{
    if constexpr (std::is_same_v<T, float>)
        return wk_one_nan_f32(a + b);
    else if constexpr (std::is_same_v<T, double>)
        return wk_one_nan_f64(a + b);
    else
        return (T)((std::make_unsigned_t<T>)a + (std::make_unsigned_t<T>)b);
}

template <typename T>
__device__ __forceinline__ T
combine(wk_lanes_kind kind, T a, T b)
{
    switch (kind) {
    case WK_LANES_MIN: return lesser(a, b);
    case WK_LANES_MAX: return greater(a, b);
    case WK_LANES_SUM: return sum(a, b);
    default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (kind == WK_LANES_BIT_AND) return a & b;
        if (kind == WK_LANES_BIT_OR) return a | b;
        return a ^ b;
    }
    return a;
}

template <typename T>
constexpr bool kFloat = std::is_floating_point_v<T>;

template <typename T>
constexpr T kMost = kFloat<T> ? std::numeric_limits<T>::infinity()
                              : std::numeric_limits<T>::max();

template <typename T>
constexpr T kLeast = kFloat<T> ? -kMost<T> : std::numeric_limits<T>::min();

// What changes nothing: of floats' sums that is -0.0.
template <typename T>
__device__ __forceinline__ T
neutral(wk_lanes_kind kind)
{
    switch (kind) {
    case WK_LANES_MIN: return kMost<T>;
    case WK_LANES_MAX: return kLeast<T>;
    case WK_LANES_BIT_AND: return (T)-1;
    default: return kFloat<T> ? (T)-0.0 : (T)0;
    }
}

// What elements of type S are folded in: registers have 4 bytes, or 8.
template <typename S>
using wide = std::conditional_t<
    is_half<S>, float,
    std::conditional_t<
        (sizeof(S) < 4),
        std::conditional_t<std::is_same_v<S, uint8_t> || std::is_same_v<S, uint16_t>, uint32_t,
                           int32_t>,
        std::conditional_t<
            std::is_same_v<S, int64_t>, long long,
            std::conditional_t<std::is_same_v<S, uint64_t>, unsigned long long, S>>>>;

// An absent lane's changes nothing; a float's has one NaN only.
template <typename S>
__device__ __forceinline__ wide<S>
value(wk_lanes_kind kind, const S *in, int64_t i, bool own)
{
    if (!own) return neutral<wide<S>>(kind);
    if constexpr (std::is_same_v<wide<S>, float>)
        return wk_one_nan_f32(value_of(in[i]));
    else if constexpr (std::is_same_v<S, double>)
        return wk_one_nan_f64(in[i]);
    else
        return (wide<S>)in[i];
}

} // namespace wk::lanes
