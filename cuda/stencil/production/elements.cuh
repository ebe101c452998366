// elements.cuh -- how a stencil's elements come in and its sums go out.
//
// A policy says in what sums are added, what elements lie in shared memory as, and how many of them, E, are
// read or written at once. raw: one type throughout. single: float32 data, float64 sums, SciPy's and so the
// default. Both copy elements to shared memory as they are, past the registers. mixed: dtypes known at run
// time, on both sides apart; elements are converted on the way to shared memory, sums before they go back
// there. A switch over dtypes stands around whole loops, and all threads take it alike.
// A group goes to and comes from 16-byte boundaries of shared memory.
#pragma once
#include "prim/async.cuh"
#include "prim/memory.cuh"
#include "stencil/production/convert.cuh"

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

struct dtypes { // of the array and of the result
    int in, out;
};

// ---- the policies --------------------------------------------------------------------------------

// Data and results of type T, sums of type A.
template <typename T, typename A>
struct plain {
    using sum = A;
    using tile = T;
    static constexpr int E = 16 / sizeof(T);
    static constexpr bool copies = true; // elements need no change on the way to shared memory
    template <typename F>
    static __device__ __forceinline__ void reading(dtypes, F &&f)
    {
        f(T{});
    }
    template <typename F>
    static __device__ __forceinline__ void converting(dtypes, F &&f)
    {
        f(T{});
    }
    template <typename F>
    static __device__ __forceinline__ void writing(dtypes, F &&f)
    {
        f(T{});
    }
    template <int N>
    static __device__ __forceinline__ void convert(const A (&from)[N], T (&to)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            if constexpr (sizeof(A) == 4)
                to[i] = only_nan(from[i]);
            else
                to[i] = one_nan((T)from[i]);
        }
    }
};

template <typename T>
using raw = plain<T, T>;
using single = plain<float, double>;

template <typename A>
struct mixed {
    using sum = A;
    using tile = A;
    static constexpr int E = 4;
    static constexpr bool copies = false;
    template <typename F>
    static __device__ __forceinline__ void reading(dtypes d, F &&f)
    {
        with_type(d.in, f);
    }
    template <typename F>
    static __device__ __forceinline__ void converting(dtypes d, F &&f)
    {
        with_type(d.out, f);
    }
    template <typename F>
    static __device__ __forceinline__ void writing(dtypes d, F &&f)
    {
        with_size(d.out, f);
    }
    template <typename U, int N>
    static __device__ __forceinline__ void convert(const A (&from)[N], U (&to)[N])
    {
        convert_all(from, to);
    }
};

// ---- their elements, alone and in groups ---------------------------------------------------------

// One element to shared memory; a switch of its own, as such elements are few.
template <typename P>
__device__ __forceinline__ void
fill_one(const void *in, int64_t i, dtypes types, typename P::tile *to)
{
    P::reading(types, [&](auto zero) {
        using U = decltype(zero);
        const U *from = static_cast<const U *>(in) + i;
        if constexpr (P::copies)
            copy_async<sizeof(U)>(to, from);
        else
            *to = loaded<typename P::tile>(*from);
    });
}

// N groups of E, `step` apart in the array and `apart` in shared memory, both in elements: all of them are
// on their way together. LINES: past the L1 cache.
template <typename P, int N, bool LINES = false>
__device__ __forceinline__ void
fill(const typename P::tile *from, int64_t step, typename P::tile *to, int apart)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        if constexpr (LINES)
            copy_async_line(to + k * apart, from + k * step);
        else
            copy_async<16>(to + k * apart, from + k * step);
}

// The same with a conversion, of all groups whose number, in `unit`s, is less than what is left: MOST are on
// their way before one is waited for; of elements of 4 bytes and more two, as those would fill the registers. Groups that start anywhere, or of
// which not all elements are there, are read element by element.
template <typename P, int MOST, typename U>
__device__ __forceinline__ void
fill_converted(const U *from, int64_t step, typename P::tile *to, int apart, int left, int unit,
               bool aligned, int there = P::E)
{
    using T = typename P::tile;
    constexpr int E = P::E;
    const auto store = [&](const group<U, E> &g, int k) {
        const group<T, E> values = loaded<T>(g); // of what is not there too: without a branch
        if (k * unit < left) *reinterpret_cast<group<T, E> *>(to + k * apart) = values;
    };
    if (aligned && there >= E) {
        constexpr int N = sizeof(U) <= 2 ? MOST : 2;
#pragma unroll 1
        for (; left > 0; left -= N * unit, from += N * step, to += N * apart) {
            group<U, E> g[N];
#pragma unroll
            for (int k = 0; k < N; k++)
                if (k * unit < left)
                    g[k] = *reinterpret_cast<const group<U, E> *>(from + k * step);
                else
                    g[k] = {};
#pragma unroll
            for (int k = 0; k < N; k++) store(g[k], k);
        }
        return;
    }
    constexpr int N = 2;
#pragma unroll 1
    for (; left > 0; left -= N * unit, from += N * step, to += N * apart) {
        group<U, E> g[N];
#pragma unroll
        for (int k = 0; k < N; k++)
#pragma unroll
            for (int e = 0; e < E; e++)
                g[k].e[e] = k * unit < left && e < there ? from[k * step + e] : U{};
#pragma unroll
        for (int k = 0; k < N; k++) store(g[k], k);
    }
}

// A group of results from shared memory, or elements low .. high - 1 of it, if it is not there whole.
template <int E, typename U>
__device__ __forceinline__ void
drain(U *to, const U *from, int low, int high)
{
    if (low <= 0 && high >= E) {
        *reinterpret_cast<group<U, E> *>(to) = *reinterpret_cast<const group<U, E> *>(from);
        return;
    }
#pragma unroll 1
    for (int e = max(low, 0); e < min(high, E); e++) to[e] = from[e];
}

} // namespace wk::stencil
