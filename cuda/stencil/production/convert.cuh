// convert.cuh -- a stencil's elements as what they are added in, and sums as elements: the bits of num/bits.h and
// num/halves.h, by the chip's own conversions where those give them, and groups of elements at once.
#pragma once
#include "num/bits.h"
#include "num/halves.h"
#include "prim/halves.cuh"

#include <cstring>
#include <cuda_bf16.h>

namespace wk::stencil
{

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

template <typename A, typename T>
__device__ __forceinline__ A
loaded(T x)
{
    if constexpr (std::is_same_v<T, truth>)
        return x ? A(1) : A(0);
    else
        return (A)value_of(x);
}

template <typename T, typename A>
__device__ __forceinline__ T
stored_as(A v)
{
    if constexpr (std::is_same_v<T, half16>)
        return T{wk_f16_of_f64(v)};
    else if constexpr (std::is_same_v<T, brain16>)
        return T{wk_bf16_of_f64(v)};
    else if constexpr (std::is_same_v<T, truth>)
        return T{!(fabs(v) < A(1))};
    else if constexpr (std::is_same_v<T, uint64_t>)
        return wk_to_u64(v);
    else if constexpr (std::is_integral_v<T>)
        return (T)wk_to_i64(v);
    else
        return one_nan((T)v);
}

// Where the chip's own conversion has the same bits.
template <typename T, typename A>
__device__ __forceinline__ bool
converts(A v)
{
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 4)
        return fabs(v) < A(0x1p31);
    else
        return !is_half<T> || v == v;
}

template <typename T, typename A>
__device__ __forceinline__ T
converted(A v)
{
    if constexpr (std::is_same_v<T, half16> && sizeof(A) == 4)
        return T{__half_as_ushort(__float2half_rn(v))};
    else if constexpr (std::is_same_v<T, half16>)
        return T{__half_as_ushort(__double2half(v))};
    else if constexpr (std::is_same_v<T, brain16> && sizeof(A) == 4)
        return T{__bfloat16_as_ushort(__float2bfloat16_rn(v))};
    else if constexpr (std::is_same_v<T, brain16>)
        return T{__bfloat16_as_ushort(__double2bfloat16(v))};
    else if constexpr (std::is_integral_v<T> && sizeof(T) <= 4)
        return (T)(int32_t)v;
    else
        return stored_as<T>(v);
}

// N sums that are not all so, one after the other.
template <typename T, typename A>
__device__ WK_NOINLINE void
convert_each(const A *from, T *to, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) to[i] = stored_as<T>(from[i]);
}

template <typename T, typename A, int N>
__device__ __forceinline__ void
convert_all(const A (&from)[N], T (&to)[N])
{
    bool all = true;
#pragma unroll
    for (int i = 0; i < N; i++) all &= converts<T>(from[i]);
    if (all) {
#pragma unroll
        for (int i = 0; i < N; i++) to[i] = converted<T>(from[i]);
        return;
    }
    A sums[N]; // arrays in memory, where the others lie in registers
    T some[N];
    for (int i = 0; i < N; i++) sums[i] = from[i];
    convert_each(sums, some, N);
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = some[i];
}

// Sums of places that are no outputs, which may be anything, must not be what takes all of the others long.
template <typename A, int N>
__device__ __forceinline__ void
keep_some(A (&sum)[N], int low, int high)
{
    if (low <= 0 && high >= N) return;
#pragma unroll
    for (int i = 0; i < N; i++)
        if (i < low || i >= high) sum[i] = 0;
}

// E elements that lie side by side.
template <typename T, int E>
struct alignas(sizeof(T) * E < 16 ? sizeof(T) * E : 16) group {
    T e[E];
};

// N elements of a thread, beside its neighbours', by the widest accesses that all of them allow.
template <typename T, int N>
__device__ __forceinline__ void
store_run(T *to, const T (&x)[N])
{
    constexpr int kBytes = N * (int)sizeof(T), kLow = kBytes & -kBytes;
    constexpr int E = (kLow < 16 ? kLow : 16) / (int)sizeof(T);
#pragma unroll
    for (int i = 0; i < N; i += E) {
        group<T, E> g;
#pragma unroll
        for (int e = 0; e < E; e++) g.e[e] = x[i + e];
        *reinterpret_cast<group<T, E> *>(to + i) = g;
    }
}

// Integers of 1 and 2 bytes become the low bits of a number whose last place is 1: an addition, where a
// multiprocessor does 16 conversions a cycle.
template <typename A, typename T, int E>
__device__ __forceinline__ group<A, E>
loaded(const group<T, E> &from)
{
    group<A, E> to;
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
        constexpr int kBytes = sizeof(T);
        constexpr bool kSigned = std::is_signed_v<T>;
        constexpr uint32_t kFlip = !kSigned ? 0 : kBytes == 1 ? 0x80808080u : 0x80008000u;
        constexpr A kLess = kSigned ? A(1 << (8 * kBytes - 1)) : A(0);
        uint32_t words[E * kBytes / 4];
        memcpy(words, &from, sizeof words);
#pragma unroll
        for (int e = 0; e < E; e++) {
            const uint32_t word = words[e * kBytes / 4] ^ kFlip;
            const unsigned first = (unsigned)(e * kBytes % 4);
            const unsigned own = kBytes == 1 ? first | 0x40 : first | (first + 1) << 4;
            if constexpr (sizeof(A) == 4)
                to.e[e] = __uint_as_float(__byte_perm(word, 0x4b000000, 0x7400 | own)) -
                          (0x1p23f + kLess);
            else
                to.e[e] = wk_from_bits_f64((uint64_t)0x43300000 << 32 |
                                           __byte_perm(word, 0, 0x4400 | own)) -
                          (0x1p52 + kLess);
        }
    } else {
#pragma unroll
        for (int e = 0; e < E; e++) to.e[e] = loaded<A>(from.e[e]);
    }
    return to;
}

// Calls f(T{}) with the element type, in a kernel: all threads go the same way. It is called around
// whole loops: what is in f is there for each dtype.
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

// The same with an unsigned integer of its size, where elements are moved alone.
template <typename F>
__device__ __forceinline__ void
with_size(int dtype, F &&f)
{
    switch (dtype) {
    case WK_BOOL:
    case WK_I8:
    case WK_U8: return f(uint8_t{});
    case WK_I16:
    case WK_U16:
    case WK_F16:
    case WK_BF16: return f(uint16_t{});
    case WK_I32:
    case WK_U32:
    case WK_F32: return f(uint32_t{});
    default: return f(uint64_t{});
    }
}

} // namespace wk::stencil
