// visit.cuh -- the switches over dtypes around launches. (Within kernels: stencil/production/convert.cuh.)
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// numpy.bool: any byte but 0 is true, as in C.
struct truth {
    uint8_t byte;
    __host__ __device__ operator bool() const
    {
        return byte != 0;
    }
};

// Calls f(T{}) with the element type of dtype; f returns a wk_status.
template <typename F>
wk_status
visit(wk_dtype dtype, F &&f)
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
    case WK_F32: return f(float{});
    default: return f(double{});
    }
}

// 16 bytes that may lie at any multiple of 8.
struct two_words {
    uint64_t low, high;
};

// A build for some dtypes (WK_ONLY) has their sizes alone.
template <typename U, typename F>
wk_status
sized(F &&f)
{
    if constexpr (WK_ONLY_SIZES & sizeof(U))
        return f(U{});
    else
        return WK_EDEVICE;
}

// Calls f(U{}) with an unsigned integer of the element's size, 8 bytes at most: enough where bits only
// move, or the kernel is told what they mean.
template <typename F>
wk_status
visit_word(wk_dtype dtype, F &&f)
{
    switch (wk_itemsize[dtype]) {
    case 1: return sized<uint8_t>(f);
    case 2: return sized<uint16_t>(f);
    case 4: return sized<uint32_t>(f);
    default: return sized<uint64_t>(f);
    }
}

// The same for elements of any size.
template <typename F>
wk_status
visit_size(wk_dtype dtype, F &&f)
{
    return wk_itemsize[dtype] > 8 ? sized<two_words>(f) : visit_word(dtype, f);
}

} // namespace wk
