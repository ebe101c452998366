// simt.h -- CUDA's keywords, built-in variables, barriers and fences, for a host compiler.
#pragma once
#include "emu/asan.h"
#include "emu/vectors.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__ __attribute__((abi_tag("kernel"))) // by which symbols.cc knows them
#define __device__
#define __host__
#define __forceinline__                                                                        \
    inline // obeyed, it takes a third longer to compile, and is hardly faster
#define __launch_bounds__(...)
#define __grid_constant__ & // const T __grid_constant__ p: one p for all threads, as on a GPU
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#ifdef EMU_TRACE // symbols.cc knows them
#define __constant__ __attribute__((aligned(16), abi_tag("constant")))
#else
#define __constant__ __attribute__((aligned(16)))
#endif
// __noinline__ is left alone: the C++ library spells its own attributes with it.

// An operating system's thread runs one block at a time, so a block's shared array is a variable
// of that thread. AddressSanitizer guards no such variable, and none aligned above 32 bytes: in
// its build arrays are plain statics, and one thread runs all blocks.
#ifdef EMU_ASAN
#define __shared__ static __attribute__((aligned(16), abi_tag("shared")))
#elif defined EMU_RACES &&                                                                     \
    !defined __clang__ // g++ would look, a byte, whether some half2 are made
#define __shared__ thread_local __constinit __attribute__((aligned(128), abi_tag("shared")))
#else
#define __shared__ thread_local __attribute__((aligned(128), abi_tag("shared")))
#endif

// Dynamic shared memory lies in the runtime; cuda.cuh tells what stands here under nvcc, as for PTX.
#define WK_PTX(plain, ...) plain
#define WK_PTX_90(plain, ...) plain
#define WK_PTX_KEPT(plain, ...) plain
#define WK_DYNAMIC_SHARED(T, name) T *name = static_cast<T *>(emu::dynamic_shared())

// What a compiler may count on: in what memory a pointer points, too.
#define __builtin_assume(x) ((void)0)

// What users' own objects call is found from there (EMU_USER). Protected and hidden: calls within
// this library take no detour through the dynamic linker's tables. AddressSanitizer's build has other
// stacks than theirs, so that it exports nothing.
#if defined(EMU_USER)
#define EMU_API_BEGIN _Pragma("GCC visibility push(default)")
#elif defined(EMU_ASAN)
#define EMU_API_BEGIN _Pragma("GCC visibility push(hidden)")
#else
#define EMU_API_BEGIN _Pragma("GCC visibility push(protected)")
#endif
#define EMU_API_END _Pragma("GCC visibility pop")

namespace emu
{

// A place in a kernel's source. As a default argument here() is where the outer call stands.
struct site {
    const char *file;
    int line;
    static constexpr site here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
    {
        return {file, line};
    }
};

// Where a thread is in its block.
struct place {
    int lane, warp;
};

// Each thread runs on a stack of its own, which is aligned to its size. At its far end lies a page
// that must not be touched, and next to that stands whose stack it is.
#ifdef EMU_ASAN
constexpr size_t kStack = 256 * 1024; // red zones make frames several times larger
#else
constexpr size_t kStack = 64 * 1024;
#endif
constexpr size_t kGuard = 4096;

// The thread that runs now. A thread-local variable would cost a call at each use.
static __forceinline__ const place *
self()
{
    uintptr_t stack;
#if defined(__x86_64__)
    __asm__("mov %%rsp, %0" : "=r"(stack));
#else
    __asm__("mov %0, sp" : "=r"(stack));
#endif
    return *reinterpret_cast<const place **>((stack & ~(kStack - 1)) + kGuard);
}

enum class vote { count, all, any };
enum class scope { block, device, system };

EMU_API_BEGIN
void barrier(site at);
int barrier(vote how, int predicate, site at);
void grid_barrier(site at); // of a cooperative launch
bool in_grid();             // is this one?
void fence(scope reach);
void yield(); // lets the other threads of the block go first
void *dynamic_shared();
EMU_API_END

// The compiler must neither keep shared memory in registers across a call nor move stores over
// it. The calls below are opaque to it; this says the same to its analysis of whole programs.
static inline __attribute__((always_inline)) void
settle()
{
    __asm__ volatile("" ::: "memory");
}

} // namespace emu

EMU_API_BEGIN
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
EMU_API_END

static constexpr int warpSize = 32;

static inline void
__syncthreads(emu::site at = emu::site::here())
{
    emu::settle();
    emu::barrier(at);
    emu::settle();
}

static inline int
__syncthreads_count(int predicate, emu::site at = emu::site::here())
{
    emu::settle();
    const int result = emu::barrier(emu::vote::count, predicate, at);
    emu::settle();
    return result;
}

static inline int
__syncthreads_and(int predicate, emu::site at = emu::site::here())
{
    emu::settle();
    const int result = emu::barrier(emu::vote::all, predicate, at);
    emu::settle();
    return result;
}

static inline int
__syncthreads_or(int predicate, emu::site at = emu::site::here())
{
    emu::settle();
    const int result = emu::barrier(emu::vote::any, predicate, at);
    emu::settle();
    return result;
}

static inline void
__threadfence_block()
{
    emu::fence(emu::scope::block);
}

static inline void
__threadfence()
{
    emu::fence(emu::scope::device);
}

static inline void
__threadfence_system()
{
    emu::fence(emu::scope::system);
}

static inline void
__nanosleep(unsigned)
{
    emu::yield();
}
