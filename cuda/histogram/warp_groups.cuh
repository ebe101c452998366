// warp_groups.cuh -- groups of 32 elements, a warp each: their bits, where runs begin, whose slots.
//
// Elements are words of their size; T only says what the words mean. What an element is compared and
// listed by are its bits: equal where values are, so that -0.0 is 0.0, and all NaN are one.
#pragma once
#include "prim/halves.cuh"
#include "runtime/launch.cuh"

namespace wk::groups
{

template <typename T>
using word = std::conditional_t<
    sizeof(T) == 1, unsigned char,
    std::conditional_t<sizeof(T) == 2, unsigned short,
                       std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>>;

// What lanes exchange: 32 or 64 bits.
template <typename T>
using bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <typename T>
constexpr bool is_float = is_half<T> || std::is_floating_point_v<T>;

template <typename T>
constexpr bits<T> sign = (bits<T>)1 << (8 * sizeof(T) - 1);

// Of floats: 1 in each bit of the exponent.
template <typename T>
constexpr bits<T> infinity = is_half<T>       ? (std::is_same_v<T, half16> ? 0x7c00u : 0x7f80u)
                             : sizeof(T) == 4 ? (bits<T>)0x7f800000u
                                              : (bits<T>)0x7ff0000000000000ull;

template <typename T>
__device__ __forceinline__ bits<T>
bits_of(word<T> x)
{
    if constexpr (std::is_same_v<T, truth>) return x != 0;
    if constexpr (is_float<T>) {
        constexpr bits<T> last = infinity<T> & (~infinity<T> + 1); // bit of the exponent
        const bits<T> size = x & (sign<T> - 1);
        if (size > infinity<T>) return infinity<T> | last >> 1; // the quiet NaN
        return size == 0 ? 0 : x;
    }
    return x;
}

// Ascending with the values, NaN last: unsigned, and of floats never all ones.
template <typename T>
__device__ __forceinline__ bits<T>
key_of(bits<T> x)
{
    constexpr bits<T> all = sign<T> | (sign<T> - 1);
    if constexpr (is_float<T>) return x ^ (x & sign<T> ? all : sign<T>);
    return std::is_signed_v<T> ? x ^ sign<T> : x;
}

template <typename T>
__device__ __forceinline__ bits<T>
bits_of_key(bits<T> key)
{
    constexpr bits<T> all = sign<T> | (sign<T> - 1);
    if constexpr (is_float<T>) return key ^ (key & sign<T> ? sign<T> : all);
    return std::is_signed_v<T> ? key ^ sign<T> : key;
}

// Every lane writes one slot, heads in their order to the front, the others their zero behind: a line
// whose words are permuted costs no more than one that is written in order.
__device__ __forceinline__ int
slot_of(unsigned heads, int lane)
{
    const int rank = __popc(heads & ((1u << lane) - 1));
    return heads >> lane & 1 ? rank : __popc(heads) + lane - rank;
}

// ---- of the rungs: a warp takes one group after the other, a lane one element of each ----------

constexpr int kThreads = 256; // 8 warps hide latency

template <typename T>
struct task {
    const word<T> *in;
    int64_t n;
    word<T> *values;
    int32_t *counts, *totals;
};

// This lane's part of a group.
template <typename T>
struct member {
    int64_t at;   // of the group's first element, and of its first slot
    int count;    // elements that the group has: the last one may be short
    bits<T> mine; // 0 behind the end
};

template <typename T>
__device__ __forceinline__ member<T>
member_of(const task<T> &t, int64_t group, int lane)
{
    const int64_t at = group * kWarp, left = t.n - at;
    const int count = left < kWarp ? (int)left : kWarp;
    return {at, count, lane < count ? bits_of<T>(t.in[at + lane]) : 0};
}

// The lanes whose left neighbour has another value: each begins a run.
template <typename T>
__device__ __forceinline__ unsigned
heads_of(const member<T> &m, int lane)
{
    const bits<T> left = __shfl_up_sync(kAllLanes, m.mine, 1);
    return __ballot_sync(kAllLanes, lane < m.count && (lane == 0 || m.mine != left));
}

// The slot-th run, which begins at lane `begin`, ends where the next slot's begins.
template <typename T>
__device__ __forceinline__ void
write_run(const task<T> &t, int64_t group, const member<T> &m, unsigned heads, int slot,
          int begin)
{
    const int total = __popc(heads);
    const bits<T> value = __shfl_sync(kAllLanes, m.mine, begin);
    const int next = __shfl_down_sync(kAllLanes, begin, 1);
    const int end = slot + 1 < total ? next : m.count;
    t.values[m.at + slot] = (word<T>)(slot < total ? value : 0);
    t.counts[m.at + slot] = slot < total ? end - begin : 0;
    if (slot == 0) t.totals[group] = total;
}

inline wk_status
check_sorted(wk_call *call, const char *variant)
{
    if (call->args.warp_histogram.sorted) return WK_OK;
    return WK_FAIL(&call->error, WK_EVALUE,
                   "variant '%s' of warp_histogram does not sort; it needs assume_sorted=True",
                   variant);
}

// Calls f(T{}) with a type whose values are equal where the dtype's are.
template <typename F>
wk_status
visit_bits(wk_dtype dtype, F &&f)
{
    switch (dtype) {
    case WK_I8:
    case WK_U8: return f(uint8_t{});
    case WK_I16:
    case WK_U16: return f(uint16_t{});
    case WK_I32:
    case WK_U32: return f(uint32_t{});
    case WK_I64:
    case WK_U64: return f(uint64_t{});
    case WK_BOOL: return f(truth{});
    case WK_F16: return f(half16{});
    case WK_BF16: return f(brain16{});
    case WK_F32: return f(float{});
    default: return f(double{});
    }
}

template <typename T>
task<T>
task_of(const wk_call *call)
{
    return {(const word<T> *)call->in.data, call->args.warp_histogram.n,
            (word<T> *)call->out[0].data, (int32_t *)call->out[1].data,
            (int32_t *)call->out[2].data};
}

template <typename T>
wk_status
launch_rung(wk_call *call, void (*kernel)(const task<T> __grid_constant__))
{
    const unsigned grid = grid_for(call, call->args.warp_histogram.n, kThreads);
    return launch(call, grid, kThreads, 0, kernel, task_of<T>(call));
}

} // namespace wk::groups
