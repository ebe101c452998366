// elements.cuh -- how a stencil's elements come in and its sums go out.
//
// A policy says in what sums are added, how many elements E are read or written at once, and of what
// dtypes they are. raw: one type throughout, so that elements may be copied to shared memory as they
// are. single: float32 data, float64 sums, SciPy's and so the default. any: dtypes known at run time,
// on both sides apart; a switch that all threads take alike.
#pragma once
#include "runtime/cuda.cuh"
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

__device__ __forceinline__ void
unpack(float4 v, float *to)
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

template <typename T>
struct raw {
    using sum = T;
    static constexpr int E = 16 / sizeof(T);
    static constexpr bool copies = true; // elements need no change
    static __device__ __forceinline__ T load(const void *in, int64_t i, dtypes)
    {
        return static_cast<const T *>(in)[i];
    }
    static __device__ __forceinline__ void load_group(const void *in, int64_t i, dtypes, T *to)
    {
        unpack(*reinterpret_cast<const typename vector_of<T>::type *>(
                   static_cast<const T *>(in) + i),
               to);
    }
    static __device__ __forceinline__ void store(void *out, int64_t i, dtypes, T v)
    {
        static_cast<T *>(out)[i] = one_nan(v);
    }
    static __device__ __forceinline__ void store_group(void *out, int64_t i, dtypes, const T *v)
    {
        T whole[E];
        for (int e = 0; e < E; e++) whole[e] = one_nan(v[e]);
        *reinterpret_cast<typename vector_of<T>::type *>(static_cast<T *>(out) + i) =
            packed(whole);
    }
};

struct single {
    using sum = double;
    static constexpr int E = 4;
    static constexpr bool copies = false;
    static __device__ __forceinline__ double load(const void *in, int64_t i, dtypes)
    {
        return static_cast<const float *>(in)[i];
    }
    static __device__ __forceinline__ void load_group(const void *in, int64_t i, dtypes,
                                                      double *to)
    {
        const float4 v = *reinterpret_cast<const float4 *>(static_cast<const float *>(in) + i);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    }
    static __device__ __forceinline__ void store(void *out, int64_t i, dtypes, double v)
    {
        static_cast<float *>(out)[i] = one_nan((float)v);
    }
    static __device__ __forceinline__ void store_group(void *out, int64_t i, dtypes,
                                                       const double *v)
    {
        float whole[E];
        for (int e = 0; e < E; e++) whole[e] = one_nan((float)v[e]);
        *reinterpret_cast<float4 *>(static_cast<float *>(out) + i) = packed(whole);
    }
};

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
struct any {
    using sum = A;
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
    static __device__ __forceinline__ void load_group(const void *in, int64_t i, dtypes d,
                                                      A *to)
    {
        with_type(d.in, [&](auto zero) {
            using T = decltype(zero);
            struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) group {
                T e[4];
            };
            const group g = *reinterpret_cast<const group *>(static_cast<const T *>(in) + i);
            for (int e = 0; e < 4; e++) to[e] = loaded<A>(g.e[e]);
        });
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
