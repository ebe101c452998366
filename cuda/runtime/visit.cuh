// visit.cuh -- the only switches over dtypes in the CUDA code.
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

// Calls f(U{}) with an unsigned integer of the element's size, 8 bytes at most: enough where bits only
// move, or the kernel is told what they mean.
template <typename F>
wk_status
visit_word(wk_dtype dtype, F &&f)
{
    switch (wk_itemsize[dtype]) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
    }
}

// The same for elements of any size.
template <typename F>
wk_status
visit_size(wk_dtype dtype, F &&f)
{
    return wk_itemsize[dtype] > 8 ? f(two_words{}) : visit_word(dtype, f);
}

} // namespace wk
