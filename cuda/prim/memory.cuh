// memory.cuh -- what has no name in CUDA C++, accesses with hints and one of bits, each with its plain form.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// Defines name(p), a read of 8 or 16 bytes by an instruction.
#define WK_VECTOR_READS(name, instruction)                                                     \
    __device__ __forceinline__ uint2 name(const uint2 *p)                                      \
    {                                                                                          \
        uint2 x;                                                                               \
        WK_PTX(x = *p, instruction ".v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(p)); \
        return x;                                                                              \
    }                                                                                          \
    __device__ __forceinline__ uint4 name(const uint4 *p)                                      \
    {                                                                                          \
        uint4 x;                                                                               \
        WK_PTX(x = *p, instruction ".v4.u32 {%0, %1, %2, %3}, [%4];"                           \
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)                                    \
               : "l"(p));                                                                      \
        return x;                                                                              \
    }

// A read of what nobody writes meanwhile, with the 256 bytes around it brought to the L2 cache: for
// rows that start anywhere, whose sectors at the ends two tiles share. H200, 16383 x 16381, share of a
// copy's rate with it and without: 1 byte 75 and 66 %, 2 bytes 79 and 72, 4 bytes 93 and 90.
WK_VECTOR_READS(read_ahead, "ld.global.nc.L2::256B")

__device__ __forceinline__ uint32_t
read_ahead(const uint32_t *p)
{
    uint32_t x;
    WK_PTX(x = *p, "ld.global.nc.L2::256B.u32 %0, [%1];" : "=r"(x) : "l"(p));
    return x;
}

// What nobody reads again: past the L1 cache.
WK_VECTOR_READS(read_once, "ld.global.nc.L1::no_allocate")

// The line of p is brought to the L2 cache, and nobody waits for it.
__device__ __forceinline__ void
bring_to_l2(const void *p)
{
    WK_PTX_KEPT((void)p, "prefetch.global.L2 [%0];" ::"l"(p));
}

// Counts to `last`, and then from zero: what it was. The thread's writes, and those it has seen, are there before, and
// what others wrote before they counted is seen behind.
__device__ __forceinline__ unsigned
count_between_fences(unsigned *counter, unsigned last)
{
    __threadfence();
    const unsigned counted = atomicInc(counter, last);
    __threadfence();
    return counted;
}

// The same by one instruction, of the order that this takes: those fences are of all orders. H200, from a block's last
// addition to its ticket, 16 and 64 blocks: 1,530 and 1,900 cycles with them, and so 1,330.
__device__ __forceinline__ unsigned
count_in_order(unsigned *counter, unsigned last)
{
    unsigned counted;
    WK_PTX_KEPT(counted = count_between_fences(counter, last),
                "atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                : "=r"(counted)
                : "l"(counter), "r"(last)
                : "memory");
    return counted;
}

// What others' atomics may change meanwhile, wherever it lies: a value that it has, or had.
__device__ __forceinline__ unsigned
peek(const unsigned *p)
{
    unsigned x;
    WK_PTX_KEPT(x = __atomic_load_n(p, __ATOMIC_RELAXED), "ld.relaxed.gpu.u32 %0, [%1];"
                : "=r"(x)
                : "l"(p));
    return x;
}

__device__ __forceinline__ unsigned long long
peek(const unsigned long long *p)
{
    unsigned long long x;
    WK_PTX_KEPT(x = __atomic_load_n(p, __ATOMIC_RELAXED), "ld.relaxed.gpu.u64 %0, [%1];"
                : "=l"(x)
                : "l"(p));
    return x;
}

// base + x * kBytes, and no more: left alone, the compiler adds x to other offsets of 32 bits before it
// multiplies. The transpose by boxes: 12 instructions for an element, both ways, where it would be 17.
template <int kBytes>
__device__ __forceinline__ char *
beyond(char *base, int x)
{
    char *p;
    WK_PTX(p = base + (int64_t)x * kBytes, "mad.wide.s32 %0, %1, %2, %3;"
           : "=l"(p)
           : "r"(x), "n"(kBytes), "l"(base));
    return p;
}

// Writes to global memory at addresses that come from there, of which the compiler knows nothing.
#define WK_WRITES(T, instruction, ...)                                                         \
    __device__ __forceinline__ void write_global(char *p, T x)                                 \
    {                                                                                          \
        WK_PTX_KEPT(*reinterpret_cast<T *>(p) = x, "st.global" instruction ::"l"(p),           \
                    __VA_ARGS__                                                                \
                    : "memory");                                                               \
    }

WK_WRITES(uint8_t, ".b8 [%0], %1;", "r"((uint32_t)x))
WK_WRITES(uint16_t, ".b16 [%0], %1;", "h"(x))
WK_WRITES(uint32_t, ".b32 [%0], %1;", "r"(x))
WK_WRITES(uint2, ".v2.b32 [%0], {%1, %2};", "r"(x.x), "r"(x.y))
WK_WRITES(uint4, ".v4.b32 [%0], {%1, %2, %3, %4};", "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w))

// wk_one_nan_f32 of what an addition or a multiplication gave: there the chip knows one NaN, 0x7fffffff,
// so that one comparison of integers does it, where two instructions compare floats and choose.
__device__ __forceinline__ float
only_nan(float x)
{
    int bits;
    WK_PTX(bits = (int)wk_bits_f32(wk_one_nan_f32(x)), "min.s32 %0, %1, 0x7fc00000;"
           : "=r"(bits)
           : "r"(__float_as_int(x)));
    return __int_as_float(bits);
}

} // namespace wk
