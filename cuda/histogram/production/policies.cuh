// policies.cuh -- which of the bins, quickly: a policy gives the numbers of a vector's elements at
// once, `bins` for those in no bin. What it gives is bins.cuh's bin_of, to the bit.
//
//   by_value    the value is the bin
//   uniform     equal bins: one multiply-add in float32 guesses, and the edges are looked at only
//               near one of them (bins.h); of the difference to the first edge, which is computed
//               in float64 where float32 has not the element's digits, and exactly of integers
//   by_edges    any edges, and elements, as integers in their order: a table tells between which few an
//               element lies (buckets.cuh), the rest is by halving; without a table all
//   by_steps    equal bins so narrow that no guess will do: NumPy's own steps
#pragma once
#include "histogram/production/buckets.cuh"
#include "histogram/production/stream.cuh"
#include "histogram/production/ways.cuh"
#include "num/edges.h"

#include <cmath>

namespace wk::histogram
{

// Edges all in one memory, `kApart` from each other.
template <typename E, unsigned kApart>
struct edges_at {
    const E *at;
    const unsigned *ranges; // buckets.cuh; or NULL
    static constexpr unsigned apart = kApart;

    __device__ __forceinline__ E operator[](unsigned i) const
    {
        return at[i * kApart];
    }
};

// Edges in shared memory, or where they came from; behind the last bin nothing is above an element.
template <typename E>
struct edges_anywhere {
    const E *shared, *global;
    bool copied;
    unsigned bins;

    __device__ __forceinline__ E operator[](unsigned i) const
    {
        if (copied) return shared[i];
        return i < bins ? global[i] : (E)INFINITY;
    }
};

struct no_edges {
};

inline bool
is_signed(wk_dtype dtype)
{
    return dtype == WK_I16 || dtype == WK_I32 || dtype == WK_I64;
}

template <typename T>
struct by_value {
    using element = T;
    bins_task task;

    template <int N>
    __device__ __forceinline__ void numbers(const T (&x)[N], unsigned (&number)[N],
                                            const no_edges &) const
    {
        const auto bins = (unsigned)task.args.bins;
#pragma unroll
        for (int i = 0; i < N; i++) {
            if constexpr (sizeof(T) == 8)
                number[i] = (uint64_t)x[i] < (uint64_t)bins ? (unsigned)x[i] : bins;
            else // a negative number is a large one
                number[i] = min((unsigned)(int)x[i], bins);
        }
    }
};

// B: an element's bits; no kernel is worth a dtype here.
template <typename B>
struct by_steps {
    using element = B;
    bins_task task;
    wk_dtype dtype;

    template <int N>
    __device__ __forceinline__ void numbers(const B (&x)[N], unsigned (&number)[N],
                                            const no_edges &) const
    {
#pragma unroll 1
        for (int i = 0; i < N; i++) {
            const int64_t bin = bin_of_bits(task, dtype, x[i]);
            number[i] = (unsigned)(bin < 0 ? task.args.bins : bin);
        }
    }
};

template <typename P, typename = void>
constexpr bool requires_edges = false;
template <typename P>
constexpr bool requires_edges<P, std::void_t<typename P::edge>> = true;

// Are edges of another type than the call's?
template <typename P>
constexpr bool owns_edges = false;

template <typename P, typename = void>
constexpr bool maps_buckets = false;
template <typename P>
constexpr bool maps_buckets<P, std::void_t<decltype(std::declval<P>().map)>> = P::kMaps;

// An element as it is compared with edges; int32 and int64 may come as unsigned ones.
template <typename E, typename T>
__device__ __forceinline__ E
number_as(T x, bool is_signed)
{
    if constexpr (std::is_same_v<T, uint64_t> && std::is_floating_point_v<E>)
        return is_signed ? (E)(int64_t)x : (E)x;
    else if constexpr (std::is_same_v<T, uint32_t> && std::is_same_v<E, double>)
        // one conversion, as these take long
        return (double)(int)(is_signed ? x : x ^ 0x80000000u) + (is_signed ? 0 : 0x1p31);
    else
        return (E)value_of(x);
}

// Has the difference more digits than float32 would give it?
template <typename T, typename E>
constexpr bool is_wide = std::is_integral_v<T> || std::is_same_v<T, double> ||
                         (std::is_same_v<T, float> && std::is_same_v<E, double>);

// E: of the edges, float or double.
template <typename T, typename E>
struct uniform {
    static constexpr bool always_near = false;
    using element = T;
    using edge = E;
    bins_task task;
    bool is_signed = false; // are unsigned integers signed ones?

    // The guess, and whether x is in the range, which is not empty.
    __device__ __forceinline__ float guess(value_t<T> x, bool *inside) const
    {
        const wk_histogram_args &h = task.args;
        if constexpr (std::is_integral_v<T>) {
            using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
            const U up = (U)x - (U)h.low, most = (U)h.high - (U)h.low;
            *inside = up <= most;
            // a conversion from 64 bits takes four times as long
            const float d = most <= 0xffffffffu ? (float)(uint32_t)up : (float)up;
            return fmaf(d, h.scale, h.bias);
        } else {
            *inside = (E)x >= (E)h.first && (E)x <= (E)h.last;
            const float d =
                is_wide<T, E> ? (float)((double)x - h.first) : (float)x - (float)h.first;
            return fmaf(d, h.scale, -0.5f);
        }
    }

    // Edge i of those at `from`, as elements meet it.
    template <bool kMet>
    __device__ E near_edge(const void *from, unsigned i) const
    {
        if (i == (unsigned)task.args.bins)
            return (E)INFINITY; // nothing inside is above the last bin
        return static_cast<const E *>(from)[i];
    }

    template <int N, typename Edges>
    __device__ __forceinline__ void numbers(const T (&x)[N], unsigned (&number)[N],
                                            const Edges &e) const
    {
        constexpr float kRound = 12582912.f; // 1.5 * 2^23: added to a float, leaves its integer
        const wk_histogram_args &h = task.args;
        const auto bins = (unsigned)h.bins;
        const float top = (float)(h.bins - 1), guard = h.guard[is_wide<T, E>];
        bool near = false;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const value_t<T> v = value_of(x[i]);
            bool counts;
            // what is inside is in no bin beyond the first or the last
            const float t = fmaxf(fminf(guess(v, &counts), top), -guard), r = t + kRound;
            number[i] = counts ? (unsigned)__float_as_int(r) - 0x4b400000u : bins;
            near |= counts && !(fabsf(t - (r - kRound)) <= guard);
        }
        if (!near) return;
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (number[i] == bins) continue;
            const E v = number_as<E>(x[i], is_signed);
            const unsigned k = number[i]; // the first edge is not above what is inside
            // edges that are a result of the call may be written to by another stream
            number[i] = min(k - (v < e[k]) + (v >= e[k + 1]), bins);
        }
    }
};

// The least float that is not below x, and the largest that is not above.
__host__ __device__ inline float
float_up(double x)
{
    const auto f = (float)x;
    return (double)f < x ? nextafterf(f, INFINITY) : f;
}

__host__ __device__ inline float
float_down(double x)
{
    return -float_up(-x);
}

// What elements of type T are compared with edges as: float64 as it is; what float32 holds as such; integers as
// unsigned ones in their order, for one kernel of a size is faster than those for each pair of types were. H200, 256
// MiB, us of 8,000 edges, such and so: uint32 and edges of float64 246 113, of int64 189 110, int16 and int64 1,192 608.
template <typename T>
using edge_of = std::conditional_t<std::is_integral_v<T> && sizeof(T) == 2, float, T>;

// The call's edges, as elements meet them: not below, and the last one not above, the same elements.
struct met_edges {
    bins_task task;
    wk_dtype dtype; // of the elements
    wk_integers integers;
    unsigned reached; // edges, but for the last, that elements may reach; none: nothing counts

    explicit met_edges(const wk_call *call) : task(bins_of(call)), dtype(call->in.dtype)
    {
        const void *edges = call->aux.host;
        int all;
        reached = (unsigned)task.args.bins;
        integers = {8 * wk_itemsize[dtype], is_signed(dtype)};
        if (dtype >= WK_F16) return;
        if (below(edges, task.args.bins, 1, &all) == 0 && !all) reached = 0;
        while (reached && (below(edges, reached - 1, 0, &all), all)) reached--;
    }
    __host__ __device__ uint64_t below(const void *edges, int64_t i, int up_to, int *all) const
    {
        return wk_below_edge(integers, edges, task.edges_dtype, i, up_to, all);
    }
    template <typename E>
    __host__ __device__ E edge_at(const void *edges, int64_t i) const
    {
        const bool last = i == task.args.bins;
        int all;
        if (reached == 0) return (E)!last;
        if constexpr (std::is_floating_point_v<E>) {
            if (dtype >= WK_F16) {
                const double edge = static_cast<const double *>(edges)[i];
                return sizeof(E) == 8 ? (E)edge : (E)(last ? float_down(edge) : float_up(edge));
            }
            const auto count = (int64_t)below(edges, i, last, &all);
            return all ? (E)INFINITY : (E)(count - last + (int64_t)wk_least_of(integers));
        } else {
            return (E)(below(edges, i, last, &all) - last);
        }
    }
};

// T: float, double, or the bits of integers, or halves: one kernel for all of a size. Edges come as edge_of<T>.
template <typename T>
struct by_edges : met_edges {
    static constexpr bool always_near = true;
    static constexpr bool kMaps = sizeof(T) > 2; // the code of eight searches at a time is long
    using element = T;
    using edge = edge_of<T>;
    bucket_map map;

    explicit by_edges(const wk_call *call) : met_edges(call), map{} {}

    // Edge i of those at `from`; kMet: as they are met.
    template <bool kMet>
    __device__ __forceinline__ edge near_edge(const void *from, unsigned i) const
    {
        return kMet ? static_cast<const edge *>(from)[i]
                    : this->template edge_at<edge>(from, i);
    }
    template <int N>
    __device__ __forceinline__ void meet(const T (&x)[N], edge (&keys)[N]) const
    {
        const auto each = [&](auto of) {
#pragma unroll
            for (int i = 0; i < N; i++) keys[i] = of(x[i]);
        };
        if constexpr (std::is_floating_point_v<T>) {
            each([](T v) { return v; });
        } else if constexpr (sizeof(T) > 2) {
            const T least = (T)wk_least_of(integers);
            each([&](T v) { return (T)(v - least); });
        } else if (dtype == WK_F16) {
            each([](T v) { return value_of(half16{v}); });
        } else if (dtype == WK_BF16) {
            each([](T v) { return value_of(brain16{v}); });
        } else if (integers.is_signed) {
            each([](T v) { return (float)(int16_t)v; });
        } else {
            each([](T v) { return (float)v; });
        }
    }

    template <int N, typename Edges>
    __device__ __forceinline__ void numbers(const T (&x)[N], unsigned (&number)[N],
                                            const Edges &e) const
    {
        const auto bins = (unsigned)task.args.bins;
        const edge first = e[0], last = e[bins];
        edge keys[N];
        unsigned found[N];
        meet(x, keys);
        bool searched = false;
        if constexpr (kMaps) {
            searched = e.ranges != nullptr;
            if (searched) search_ranges(keys, found, first, e);
        }
        if (!searched) search_all(keys, found, e);
#pragma unroll
        for (int i = 0; i < N; i++)
            number[i] = keys[i] >= first && keys[i] <= last ? found[i] : bins;
    }

    template <int N, typename Edges>
    __device__ __forceinline__ void search_ranges(const edge (&keys)[N], unsigned (&found)[N],
                                                  edge first, const Edges &e) const
    {
        unsigned low[N], high[N];
        bool open = false;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const unsigned range = e.ranges[map.bucket(keys[i], first)];
            low[i] = range & 0xffff, high[i] = range >> 16;
            open |= low[i] < high[i];
        }
        while (open) { // seldom twice
            open = false;
#pragma unroll
            for (int i = 0; i < N; i++) { // what is found already stays: its middle is its end
                const unsigned middle = (low[i] + high[i]) / 2;
                const bool up = e[middle] <= keys[i] && low[i] < high[i];
                low[i] = up ? middle + 1 : low[i];
                high[i] = up ? high[i] : middle;
                open |= low[i] < high[i];
            }
        }
        for (int i = 0; i < N; i++) found[i] = max(low[i], 1u) - 1; // else edges did not rise
    }

    template <int N, typename Edges>
    __device__ __forceinline__ void search_all(const edge (&keys)[N], unsigned (&found)[N],
                                               const Edges &e) const
    {
        for (int i = 0; i < N; i++) found[i] = 0; // times apart
        for (unsigned left = reached;
             left > 1;) { // N searches side by side: each waits for itself
            const unsigned half = left / 2, step = half * e.apart;
#pragma unroll
            for (int i = 0; i < N; i++)
                if (e.at[found[i] + step] <= keys[i]) found[i] += step;
            left -= half;
        }
        for (int i = 0; i < N; i++) found[i] /= e.apart;
    }
};

template <typename T>
constexpr bool owns_edges<by_edges<T>> = !std::is_same_v<T, double>;

// Calls f(T{}) for elements of more than a byte.
template <typename F>
wk_status
visit_wide(wk_dtype dtype, F &&f)
{
    return visit_real(dtype, [&](auto zero) -> wk_status {
        if constexpr (sizeof(zero) == 1)
            return WK_OK;
        else
            return f(zero);
    });
}

// One kernel for int32 and uint32, and one for those of 64 bits.
template <typename T, bool = std::is_integral_v<T> && (sizeof(T) > 2)>
struct unsigned_if {
    using type = T;
};
template <typename T>
struct unsigned_if<T, true> {
    using type = std::make_unsigned_t<T>;
};

// Call f(policy) for the call's elements and bins, of each kind.
template <typename F>
wk_status
with_values(const wk_call *call, F &&f)
{
    return visit_wide(call->in.dtype, [&](auto zero) -> wk_status {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T>) // a negative one is large
            return f(by_value<typename unsigned_if<T>::type>{bins_of(call)});
        else
            return WK_OK; // the glue refuses them
    });
}

template <typename F>
wk_status
with_uniform(const wk_call *call, F &&f)
{
    const bins_task task = bins_of(call);
    const wk_dtype dtype = call->in.dtype;
    return visit_wide(dtype, [&](auto zero) -> wk_status {
        using T = decltype(zero);
        using B = std::conditional_t<sizeof(T) == 2, uint16_t,
                                     std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
        constexpr bool kNarrow = std::is_same_v<T, float> || is_half<T>;
        // No integer is in a range from 1 to 0 (_bins.py).
        const bool narrow = kNarrow && task.edges_dtype == WK_F32,
                   none = std::is_integral_v<T> && task.args.low == 1 && task.args.high == 0;
        if (none || task.args.guard[!narrow && is_wide<T, double>] < 0)
            return f(by_steps<B>{task, dtype});
        if constexpr (kNarrow)
            if (narrow) return f(uniform<T, float>{task});
        return f(uniform<typename unsigned_if<T>::type, double>{task, is_signed(dtype)});
    });
}

template <typename F>
wk_status
with_edges(const wk_call *call, F &&f)
{
    switch (call->in.dtype) {
    case WK_F32: return f(by_edges<float>(call));
    case WK_F64: return f(by_edges<double>(call));
    default: break;
    }
    switch (wk_itemsize[call->in.dtype]) {
    case 2: return f(by_edges<uint16_t>(call));
    case 4: return f(by_edges<uint32_t>(call));
    default: return f(by_edges<uint64_t>(call));
    }
}

} // namespace wk::histogram
