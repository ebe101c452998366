/* isa.h -- every file in cpu/kernels is compiled once per instruction set; names get its
 * suffix. */
#ifndef WARPKIT_ISA_H
#define WARPKIT_ISA_H

#define WK_PASTE_(a, b) a##_##b
#define WK_PASTE(a, b) WK_PASTE_(a, b)
#define WK_ISA_NAME(name)                                                                      \
    WK_PASTE(name, WK_ISA) /* WK_ISA: base, avx2 or avx512, by the build */

/* The launcher of a CPU row, of one instruction set; dispatch.c has the row's. */
#define WK_CPU_LAUNCHER(op, variant)                                                           \
    wk_status WK_ISA_NAME(wk_##op##_cpu_##variant)(wk_call * call)

/* What is stored there is what is loaded from there. An array of the caller's, to which another thread
 * may write, is else read twice where a number is compared and then used: so gcc does for avx2. */
static inline void
wk_read_once(const void *stored)
{
    __asm__ volatile("" : : "r"(stored) : "memory");
}

/* Of two vectors' elements, counted on from the first one's to the second one's, those named; `mask`: a
 * vector of integers as wide. */
#if defined(__clang__) || __GNUC__ >= 12
#define WK_PICK(a, b, mask, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define WK_PICK(a, b, mask, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif

/* The instruction set chosen at load: "base", "avx2" or "avx512". */
const char *wk_isa(void);

#endif
