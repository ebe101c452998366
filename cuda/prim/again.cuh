// again.cuh -- accesses to shared memory that happen as often as they are written, for kernels that time them.
#pragma once
#include "prim/async.cuh"

namespace wk
{

__device__ __forceinline__ uint32_t
load_again(const uint32_t *p)
{
    uint32_t x;
    WK_PTX_KEPT(x = *p, "ld.volatile.shared.b32 %0, [%1];" : "=r"(x) : "r"(WK_SHARED(p)));
    return x;
}

__device__ __forceinline__ uint64_t
load_again(const uint64_t *p)
{
    uint64_t x;
    WK_PTX_KEPT(x = *p, "ld.volatile.shared.b64 %0, [%1];" : "=l"(x) : "r"(WK_SHARED(p)));
    return x;
}

__device__ __forceinline__ void
store_again(uint32_t *p, uint32_t x)
{
    WK_PTX_KEPT(*p = x, "st.volatile.shared.b32 [%0], %1;" ::"r"(WK_SHARED(p)), "r"(x)
                : "memory");
}

__device__ __forceinline__ void
store_again(uint64_t *p, uint64_t x)
{
    WK_PTX_KEPT(*p = x, "st.volatile.shared.b64 [%0], %1;" ::"r"(WK_SHARED(p)), "l"(x)
                : "memory");
}

} // namespace wk
