// cuda.cuh -- the one place that includes cuda_runtime.h; every kernel file includes this.
//
// For the emulated device it is emu/include/cuda_runtime.h, by the order of the include paths.
#pragma once
#include "num/bits.h"
#include <cuda_runtime.h>

// Dynamic shared memory, under one symbol: extern arrays of two types must not share a name.
// The emulated device's header has its own.
#ifndef WK_DYNAMIC_SHARED
#define WK_DYNAMIC_SHARED(T, name)                                                             \
    extern __shared__ __align__(16) unsigned char wk_dynamic_shared_[];                        \
    T *name = reinterpret_cast<T *>(wk_dynamic_shared_)
#endif

// An instruction that CUDA C++ has no name for, and the plain form that stands for it on the
// emulated device, whose header has its own. Used in prim alone.
#ifndef WK_PTX
#define WK_PTX(plain, ...) asm(__VA_ARGS__)
#endif

// One that the compiler neither leaves out nor takes for another.
#ifndef WK_PTX_KEPT
#define WK_PTX_KEPT(plain, ...) asm volatile(__VA_ARGS__)
#endif

// An instruction that chips have since compute capability 9.0. No launcher sends it to an older one.
#ifndef WK_PTX_90
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define WK_PTX_90(plain, ...) __trap()
#else
#define WK_PTX_90(plain, ...) WK_PTX(plain, __VA_ARGS__)
#endif
#endif

// What runs once a result is not copied into every kernel. (__noinline__ is no name for a macro of
// the emulated device's: libstdc++ has the word.)
#define WK_NOINLINE __attribute__((noinline))

// Dtypes that reductions are built for, a bit each, and the sizes of their elements: the lab builds a few, to
// trace a call.
#ifndef WK_ONLY
#define WK_ONLY ~0u
#define WK_ONLY_SIZES ~0u
#endif

// The only check of a CUDA call: records the first failure, with the call that failed, clears
// CUDA's own record of it, and returns. Out of memory is a kind of its own.
#define WK_TRY(error, expr)                                                                    \
    do {                                                                                       \
        const cudaError_t e_ = (expr);                                                         \
        if (e_ != cudaSuccess) return wk::failed(error, e_, #expr, __FILE__, __LINE__);        \
    } while (0)

namespace wk
{

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

wk_status failed(wk_error *error, cudaError_t code, const char *call, const char *file,
                 int line);

} // namespace wk
