// fold.cuh -- the five folds as types: T in memory, A in a lane, R the result.
#pragma once
#include "runtime/visit.cuh"

#include <limits>
#include <type_traits>

namespace wk
{

template <typename T>
constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, double>;

__device__ __forceinline__ float
one_nan(float x)
{
    return wk_one_nan_f32(x);
}

__device__ __forceinline__ double
one_nan(double x)
{
    return wk_one_nan_f64(x);
}

// sum, prod: integers modulo 2^64, floats in double.
template <typename E, bool kProduct>
struct arith {
    using T = E;
    using A = std::conditional_t<is_float<T>, double, uint64_t>;
    using R = std::conditional_t<is_float<T>, T, uint64_t>;

    static __device__ A identity()
    {
        if constexpr (kProduct) return 1;
        return is_float<T> ? (A)-0.0 : A(0); // the sum of -0.0 alone is -0.0
    }
    static __device__ A load(T x)
    {
        if constexpr (is_float<T>)
            return (double)x;
        else
            return (uint64_t)(int64_t)x;
    }
    static __device__ A op(A a, A b)
    {
        if constexpr (kProduct)
            return a * b;
        else
            return a + b;
    }
    static __device__ R finish(A a, int64_t n)
    {
        if (n == 0) return kProduct ? 1 : 0;
        if constexpr (is_float<T>)
            return one_nan((T)a);
        else
            return a;
    }
};

template <typename T>
using sum = arith<T, false>;
template <typename T>
using prod = arith<T, true>;

// mean: summed in double whatever the element, divided once.
template <typename E>
struct mean {
    using T = E;
    using A = double;
    using R = std::conditional_t<std::is_same_v<T, float>, float, double>;

    static __device__ A identity()
    {
        return -0.0;
    }
    static __device__ A load(T x)
    {
        return (double)x;
    }
    static __device__ A op(A a, A b)
    {
        return a + b;
    }
    static __device__ R finish(A a, int64_t n)
    {
        return one_nan((R)(a / (double)n));
    }
};

// The lanes' type of min and max: the ordered integer of a float, 32 bits for narrower ones.
template <typename T>
using order_t = std::conditional_t<
    std::is_same_v<T, double>, int64_t,
    std::conditional_t<(sizeof(T) == 8), T,
                       std::conditional_t<std::is_same_v<T, uint32_t>, uint32_t, int32_t>>>;

template <typename E, bool kMax>
struct extreme {
    using T = E;
    using A = order_t<T>;
    using R = std::conditional_t<std::is_same_v<T, truth>, uint8_t, T>;
    using limits = std::numeric_limits<A>;
    static constexpr A kTop = limits::max(), kBottom = limits::min();
    static constexpr A kLoses = kMax ? kBottom : kTop, kWins = kMax ? kTop : kBottom;

    static __device__ A identity()
    {
        return kLoses;
    }
    static __device__ A load(T x)
    {
        if constexpr (std::is_same_v<T, float>)
            return wk_order_f32(x, kWins);
        else if constexpr (std::is_same_v<T, double>)
            return wk_order_f64(x, kWins);
        else
            return (A)x;
    }
    static __device__ A op(A a, A b)
    {
        return (kMax ? a > b : a < b) ? a : b;
    }
    static __device__ R finish(A a, int64_t)
    {
        if constexpr (std::is_same_v<T, float>)
            return wk_unorder_f32(a);
        else if constexpr (std::is_same_v<T, double>)
            return wk_unorder_f64(a);
        else
            return (R)a;
    }
};

template <typename T>
using smallest = extreme<T, false>;
template <typename T>
using largest = extreme<T, true>;

// The same fold over totals: what is in memory is a lane's value already.
template <class F>
struct again : F {
    using T = typename F::A;
    static __device__ typename F::A load(T x)
    {
        return x;
    }
};

} // namespace wk
