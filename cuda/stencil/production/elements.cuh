// elements.cuh -- how a stencil's elements come in and its sums go out.
//
// A policy says in what sums are added, what lies in shared memory, and how many elements E are read or
// written at once. raw: one type throughout. single: float32 data, float64 sums, SciPy's and so the
// default. Both copy elements to shared memory as they are, past the registers. mixed: dtypes known
// at run time, on both sides apart, converted on the way; a switch that all threads take alike.
// A group goes to and comes from 16-byte boundaries of shared memory.
#pragma once
#include "num/halves.h"
#include "prim/async.cuh"
#include "prim/memory.cuh"
#include "runtime/visit.cuh"

#include <type_traits>

namespace wk::stencil
{

template <typename A>
__device__ __forceinline__ A
fma_of(A a, A b, A c)
{
    if constexpr (sizeof(A) == 4)
        return __fmaf_rn(a, b, c);
    else
        return __fma_rn(a, b, c);
}

// 16 bytes of shared memory or of the array.
template <typename A>
struct vector_of;
template <>
struct vector_of<float> {
    using type = float4;
};
template <>
struct vector_of<double> {
    using type = double2;
};

template <typename A>
__device__ __forceinline__ void
unpack(float4 v, A *to)
{
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

__device__ __forceinline__ void
unpack(double2 v, double *to)
{
    to[0] = v.x, to[1] = v.y;
}

__device__ __forceinline__ float4
packed(const float *from)
{
    return make_float4(from[0], from[1], from[2], from[3]);
}

__device__ __forceinline__ double2
packed(const double *from)
{
    return make_double2(from[0], from[1]);
}

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

struct dtypes { // of the array and of the result
    int in, out;
};

// Data and results of type T, sums of type A.
template <typename T, typename A>
struct plain {
    using sum = A;
    using tile = T;
    static constexpr int E = 16 / sizeof(T);
    static constexpr bool copies = true; // elements need no change on the way to shared memory
    static __device__ __forceinline__ T load(const void *in, int64_t i, dtypes)
    {
        return static_cast<const T *>(in)[i];
    }
    // N groups, `step` apart in the array and `apart` in shared memory, both in elements.
    template <int N>
    static __device__ __forceinline__ void fill(const void *in, int64_t i, int64_t step, dtypes,
                                                T *to, int apart)
    {
#pragma unroll
        for (int k = 0; k < N; k++)
            copy_async<16>(to + k * apart, static_cast<const T *>(in) + i + k * step);
    }
    static __device__ __forceinline__ T narrow(A v)
    {
        if constexpr (sizeof(A) == 4)
            return only_nan(v);
        else
            return one_nan((T)v);
    }
    static __device__ __forceinline__ void store(void *out, int64_t i, dtypes, T v)
    {
        static_cast<T *>(out)[i] = v;
    }
    static __device__ __forceinline__ void store_group(void *out, int64_t i, dtypes,
                                                       const T *from)
    {
        using vector = typename vector_of<T>::type;
        *reinterpret_cast<vector *>(static_cast<T *>(out) + i) =
            *reinterpret_cast<const vector *>(from);
    }
};

template <typename T>
using raw = plain<T, T>;
using single = plain<float, double>;

struct half16 {
    uint16_t bits;
    __device__ operator float() const
    {
        return wk_f32_of_f16(bits);
    }
};

struct brain16 { // bfloat16
    uint16_t bits;
    __device__ operator float() const
    {
        return wk_f32_of_bf16(bits);
    }
};

// Calls f(T{}) with the element type, in a kernel: all threads go the same way.
template <typename F>
__device__ __forceinline__ void
with_type(int dtype, F &&f)
{
    switch (dtype) {
    case WK_BOOL: return f(truth{});
    case WK_I8: return f(int8_t{});
    case WK_U8: return f(uint8_t{});
    case WK_I16: return f(int16_t{});
    case WK_U16: return f(uint16_t{});
    case WK_I32: return f(int32_t{});
    case WK_U32: return f(uint32_t{});
    case WK_I64: return f(int64_t{});
    case WK_U64: return f(uint64_t{});
    case WK_F16: return f(half16{});
    case WK_BF16: return f(brain16{});
    case WK_F32: return f(float{});
    default: return f(double{});
    }
}

template <typename T>
__device__ __forceinline__ T
stored_as(double v)
{
    if constexpr (std::is_same_v<T, float>)
        return wk_one_nan_f32((float)v);
    else if constexpr (std::is_same_v<T, double>)
        return wk_one_nan_f64(v);
    else if constexpr (std::is_same_v<T, half16>)
        return T{wk_f16_of_f64(v)};
    else if constexpr (std::is_same_v<T, brain16>)
        return T{wk_bf16_of_f64(v)};
    else if constexpr (std::is_same_v<T, truth>)
        return T{wk_to_i64(v) != 0};
    else if constexpr (std::is_same_v<T, uint64_t>)
        return wk_to_u64(v);
    else
        return (T)wk_to_i64(v);
}

template <typename A, typename T>
__device__ __forceinline__ A
loaded(T x)
{
    if constexpr (std::is_same_v<T, truth>)
        return x ? A(1) : A(0);
    else if constexpr (std::is_same_v<T, half16> || std::is_same_v<T, brain16>)
        return (A)(float)x;
    else
        return (A)x;
}

template <typename A>
struct mixed {
    using sum = A;
    using tile = A;
    static constexpr int E = 4;
    static constexpr bool copies = false;
    static __device__ __forceinline__ A load(const void *in, int64_t i, dtypes d)
    {
        A v = 0;
        with_type(d.in, [&](auto zero) {
            using T = decltype(zero);
            v = loaded<A>(static_cast<const T *>(in)[i]);
        });
        return v;
    }
    // As plain's. The switch is around all of them: they are on their way together.
    template <int N>
    static __device__ __forceinline__ void fill(const void *in, int64_t i, int64_t step,
                                                dtypes d, A *to, int apart)
    {
        with_type(d.in, [&](auto zero) {
            using T = decltype(zero);
            struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) group {
                T e[4];
            } g[N];
#pragma unroll
            for (int k = 0; k < N; k++)
                g[k] =
                    *reinterpret_cast<const group *>(static_cast<const T *>(in) + i + k * step);
#pragma unroll
            for (int k = 0; k < N; k++)
                for (int e = 0; e < 4; e++) to[k * apart + e] = loaded<A>(g[k].e[e]);
        });
    }
    static __device__ __forceinline__ A narrow(A v)
    {
        return v;
    }
    static __device__ __forceinline__ void store(void *out, int64_t i, dtypes d, A v)
    {
        with_type(d.out, [&](auto zero) {
            using T = decltype(zero);
            static_cast<T *>(out)[i] = stored_as<T>(v);
        });
    }
    static __device__ __forceinline__ void store_group(void *out, int64_t i, dtypes d,
                                                       const A *v)
    {
        with_type(d.out, [&](auto zero) {
            using T = decltype(zero);
            struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) group {
                T e[4];
            } g;
            for (int e = 0; e < 4; e++) g.e[e] = stored_as<T>(v[e]);
            *reinterpret_cast<group *>(static_cast<T *>(out) + i) = g;
        });
    }
};

} // namespace wk::stencil
