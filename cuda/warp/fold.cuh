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

// Elements as T, in which they are folded: registers have 4 bytes, or 8. A float's has one NaN only.
template <typename T>
struct source {
    const void *at;
    wk_dtype dtype;

    template <typename S>
    __device__ __forceinline__ S element(int64_t i) const
    {
        return static_cast<const S *>(at)[i];
    }
    __device__ __forceinline__ T operator[](int64_t i) const
    {
        if constexpr (std::is_same_v<T, float>) {
            if (dtype == WK_F16) return wk_one_nan_f32(value_of(element<half16>(i)));
            if (dtype == WK_BF16) return wk_one_nan_f32(value_of(element<brain16>(i)));
            return wk_one_nan_f32(element<float>(i));
        } else if constexpr (std::is_same_v<T, double>) {
            return wk_one_nan_f64(element<double>(i));
        } else if constexpr (sizeof(T) == 4) {
            switch (dtype) {
            case WK_BOOL: return element<truth>(i);
            case WK_I8: return (T)element<int8_t>(i);
            case WK_U8: return element<uint8_t>(i);
            case WK_I16: return (T)element<int16_t>(i);
            case WK_U16: return element<uint16_t>(i);
            default: return element<T>(i);
            }
        } else {
            return element<T>(i);
        }
    }
};

// An absent lane's changes nothing.
template <typename T>
__device__ __forceinline__ T
value(wk_lanes_kind kind, const source<T> &in, int64_t i, bool own)
{
    return own ? in[i] : neutral<T>(kind);
}

// Calls f(T{}) with the type that elements are folded in.
template <typename F>
wk_status
visit_folded(wk_dtype dtype, F &&f)
{
    switch (dtype) {
    case WK_BOOL:
    case WK_I8:
    case WK_I16:
    case WK_I32: return f(int32_t{});
    case WK_U8:
    case WK_U16:
    case WK_U32: return f(uint32_t{});
    case WK_I64: return f((long long)0);
    case WK_U64: return f((unsigned long long)0);
    case WK_F64: return f(double{});
    default: return f(float{});
    }
}

template <typename T, typename... P>
wk_status
launch_fold(wk_call *call, void (*kernel)(P...))
{
    const source<T> in = {first_element<char>(&call->in), call->in.dtype};
    return launch_lanes(call, kernel, in, static_cast<T *>(call->out[0].data));
}

} // namespace wk::lanes
