// weights_elements.cuh -- elements and their weights, as weights_shared.cuh reads them: of types that
// the kernel knows, two vectors at a time, or of any others, one by one.
#pragma once
#include "histogram/production/weights_words.cuh"
#include "prim/memory.cuh"

namespace wk::weights
{

// The bins of elements, `bins` for none; what is frequent without a call.
template <typename T, int N>
__device__ __forceinline__ void
rows_of(const bins_task &b, const T (&x)[N], unsigned (&row)[N])
{
    const wk_histogram_args &h = b.args;
    const auto bins = (unsigned)h.bins;
    bool found = false;
    if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>; // negative ones lie beyond all bins
        constexpr U kNegative = (U)1 << (8 * sizeof(T) - 1);
        const U end = std::is_signed_v<T> && bins > kNegative ? kNegative : (U)bins;
        found = h.kind == WK_BINS_VALUES;
#pragma unroll
        for (int i = 0; i < N && found; i++) row[i] = (U)x[i] < end ? (unsigned)x[i] : bins;
    } else if (h.kind == WK_BINS_UNIFORM) {  // the guess of bins.h
        constexpr float kRound = 12582912.f; // 1.5 * 2^23: added to a float, leaves its integer
        const bool wide = sizeof(T) == 8 || b.edges_dtype == WK_F64;
        const float top = (float)(h.bins - 1), guard = h.guard[wide];
        found = true;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float off =
                wide ? (float)((double)x[i] - h.first) : (float)x[i] - (float)h.first;
            const float guess = fminf(fmaf(off, h.scale, -0.5f), top), r = guess + kRound;
            const bool inside = wide ? (double)x[i] >= h.first && (double)x[i] <= h.last
                                     : (float)x[i] >= (float)h.first &&
                                           (float)x[i] <= (float)h.last; // in the edges' type
            row[i] = inside ? (unsigned)__float_as_int(r) - 0x4b400000u : bins;
            found = found && (!inside || fabsf(guess - (r - kRound)) <= guard);
        }
    }
    if (found) return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int64_t bin = called_bin(b, x[i]);
        row[i] = bin < 0 ? bins : (unsigned)bin;
    }
}

// Elements and weights of types that the kernel knows, side by side.
template <typename T, typename W>
struct typed {
    static constexpr bool kTyped = true;
    static constexpr numbers kClass = sizeof(W) == 4 ? numbers::narrow : numbers::wide;
    static constexpr int kEach = 16 / (sizeof(T) < sizeof(W) ? sizeof(W) : sizeof(T));
    using in_type = T;
    using weight_type = W;

    template <typename E> // 16 bytes of the larger type
    using vector = std::conditional_t<sizeof(E) * kEach == 16, uint4, uint2>;

    template <typename E>
    static __device__ __forceinline__ void read(const E *at, E (&x)[kEach])
    {
        const auto v = read_once(reinterpret_cast<const vector<E> *>(at));
        static_assert(sizeof v == sizeof x);
        memcpy(x, &v, sizeof v);
    }

    static __device__ __forceinline__ T in_at(const weights_task &t, int64_t i)
    {
        return static_cast<const T *>(t.in)[i];
    }

    static __device__ __forceinline__ W weight_at(const weights_task &t, int64_t i)
    {
        return static_cast<const W *>(t.weights.data)[i];
    }

    static __device__ __forceinline__ void vectors_at(const void *in, const void *weights,
                                                      int64_t i, T (&x)[kEach], W (&w)[kEach])
    {
        read(static_cast<const T *>(in) + i, x);
        read(static_cast<const W *>(weights) + i, w);
    }

    static __device__ __forceinline__ void rows(const weights_task &t, const T (&x)[kEach],
                                                unsigned (&row)[kEach])
    {
        rows_of(t.bins, x, row);
    }

    static __device__ __forceinline__ auto cut(const weights_task &, W w)
    {
        return chip<kClass>::cut(w);
    }

    static __device__ __forceinline__ W number(const weights_task &, W w)
    {
        return w;
    }

    // Elements before those that vectors can take; -1: they never line up.
    static int lead(const weights_task &t)
    {
        const auto in = reinterpret_cast<uintptr_t>(t.in) + t.begin * sizeof(T);
        const auto w = reinterpret_cast<uintptr_t>(t.weights.data) + t.begin * sizeof(W);
        for (int i = 0; i < kEach; i++)
            if ((in + i * sizeof(T)) % sizeof(vector<T>) == 0 &&
                (w + i * sizeof(W)) % sizeof(vector<W>) == 0)
                return i;
        return -1;
    }
};

// Any others, as bits.
template <numbers kClass_>
struct untyped {
    static constexpr bool kTyped = false;
    static constexpr numbers kClass = kClass_;
    static constexpr int kEach = 2;
    using in_type = uint64_t;
    using weight_type = uint64_t;

    static __device__ __forceinline__ uint64_t in_at(const weights_task &t, int64_t i)
    {
        return bits_at(t.in, bytes_of(t.in_dtype), i);
    }

    static __device__ __forceinline__ uint64_t weight_at(const weights_task &t, int64_t i)
    {
        return bits_at(t.weights.data, bytes_of(t.weights.dtype), i * t.weights.step);
    }

    static __device__ __forceinline__ void vectors_at(const void *, const void *, int64_t,
                                                      uint64_t (&)[kEach], uint64_t (&)[kEach])
    {
    }

    static __device__ __forceinline__ void
    rows(const weights_task &t, const uint64_t (&x)[kEach], unsigned (&row)[kEach])
    {
        for (int j = 0; j < kEach; j++) {
            const int64_t bin = bin_of_bits(t.bins, t.in_dtype, x[j]);
            row[j] = (unsigned)(bin < 0 ? t.bins.args.bins : bin);
        }
    }

    static __device__ __forceinline__ auto cut(const weights_task &t, uint64_t w)
    {
        return chip<kClass>::cut(t.weights.dtype, w);
    }

    static __device__ __forceinline__ auto number(const weights_task &t, uint64_t w)
    {
        if constexpr (kClass == numbers::wide)
            return wk_from_bits_f64(w);
        else
            return narrow_of(t.weights.dtype, w);
    }

    static int lead(const weights_task &)
    {
        return -1;
    }
};

// Of float weights; those of the elements that come most have kernels of their own.
template <typename F>
wk_status
with_floats(const weights_task &t, numbers kind, F &&f)
{
    const auto with = [&](auto zero) {
        using T = decltype(zero);
        return t.weights.dtype == WK_F32 ? f(typed<T, float>{}) : f(typed<T, double>{});
    };
    const wk_dtype w = t.weights.dtype;
    const bool known = t.weights.step == 1 && (w == WK_F32 || w == WK_F64);
    if (known && t.in_dtype == WK_I32) return with(int32_t{});
    if (known && t.in_dtype == WK_I64) return with(int64_t{});
    if (known && t.in_dtype == WK_F32) return with(float{});
    if (known && t.in_dtype == WK_F64) return with(double{});
    return kind == numbers::wide ? f(untyped<numbers::wide>{}) : f(untyped<numbers::narrow>{});
}

template <typename F>
wk_status
with_elements(const weights_task &t, numbers kind, F &&f)
{
    return kind == numbers::whole ? f(untyped<numbers::whole>{}) : with_floats(t, kind, f);
}

} // namespace wk::weights
