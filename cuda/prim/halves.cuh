// halves.cuh -- floats of 16 bits as elements, and what the chip computes with in their place.
#pragma once
#include "num/halves.h"
#include "runtime/visit.cuh"

#include <cuda_fp16.h>

#include <type_traits>

namespace wk
{

struct half16 {
    uint16_t bits;
};

struct brain16 { // bfloat16
    uint16_t bits;
};

template <typename T>
constexpr bool is_half = std::is_same_v<T, half16> || std::is_same_v<T, brain16>;

// The type that holds the element's value exactly and that the chip computes with.
__device__ __forceinline__ float
value_of(half16 x)
{
    return __half2float(__ushort_as_half(x.bits));
}

__device__ __forceinline__ float
value_of(brain16 x)
{
    return wk_f32_of_bf16(x.bits);
}

template <typename T>
__device__ __forceinline__ T
value_of(T x)
{
    return x;
}

template <typename T>
using value_t = std::conditional_t<is_half<T>, float, T>;

// visit, of all that has an order.
template <typename F>
wk_status
visit_real(wk_dtype dtype, F &&f)
{
    switch (dtype) {
    case WK_F16: return f(half16{});
    case WK_BF16: return f(brain16{});
    default: return visit(dtype, f);
    }
}

} // namespace wk
