// clock.cuh -- what a kernel needs to time its own accesses: a clock, and a compiler that leaves them be.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// Whoever reads memory after this reads it again, and what was written before is there.
__device__ __forceinline__ void
access_again()
{
    WK_PTX((void)0, "" ::: "memory");
}

// x is needed here: its load is not left out, and has ended.
__device__ __forceinline__ void
need(uint32_t x)
{
    WK_PTX((void)x, "" ::"r"(x));
}

__device__ __forceinline__ void
need(uint64_t x)
{
    WK_PTX((void)x, "" ::"l"(x));
}

} // namespace wk
