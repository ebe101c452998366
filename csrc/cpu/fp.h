/* fp.h -- the processor's floating-point state: known while a fold runs, restored after it.
 *
 * The sticky inexact flag is what makes exact sums cheap: additions between wk_flag_clear() and a
 * wk_flag_held() that gives 1 were all exact. Compilers know nothing of the flag, so what is
 * added must be loaded after the one and stored before the other: both are barriers to the memory
 * that they are given. (Unless they are given it, a local array is out of their reach.) */
#ifndef WARPKIT_FP_H
#define WARPKIT_FP_H

#include <stdint.h>

#if defined(__x86_64__)
typedef uint32_t wk_fp_state;
enum { WK_FP_PLAIN = 0x1f80, WK_FP_INEXACT = 0x20 }; /* to nearest, subnormals, no traps */

static inline wk_fp_state
wk_fp_get(void)
{
    uint32_t state;
    __asm__ volatile("stmxcsr %0" : "=m"(state) : : "memory");
    return state;
}

static inline void
wk_fp_end(wk_fp_state state)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(state) : "memory");
}

static inline void
wk_flag_clear(const void *terms, void *sums)
{
    const uint32_t plain = WK_FP_PLAIN;
    __asm__ volatile("ldmxcsr %0" : : "m"(plain), "r"(terms), "r"(sums) : "memory");
}

static inline int
wk_flag_held(const void *terms, void *sums)
{
    uint32_t state;
    __asm__ volatile("stmxcsr %0" : "=m"(state) : "r"(terms), "r"(sums) : "memory");
    return !(state & WK_FP_INEXACT);
}

/* Rounding to nearest, nothing flushed to zero, until wk_fp_end of what this gives. */
static inline wk_fp_state
wk_fp_begin(void)
{
    const wk_fp_state state = wk_fp_get();
    wk_fp_end(WK_FP_PLAIN);
    return state;
}

#elif defined(__aarch64__)
typedef struct wk_fp_state {
    uint64_t control, status;
} wk_fp_state;

static inline wk_fp_state
wk_fp_get(void)
{
    wk_fp_state state;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
                     : "=r"(state.control), "=r"(state.status)
                     :
                     : "memory");
    return state;
}

static inline void
wk_fp_end(wk_fp_state state)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
                     :
                     : "r"(state.control), "r"(state.status)
                     : "memory");
}

static inline void
wk_flag_clear(const void *terms, void *sums)
{
    __asm__ volatile("msr fpsr, xzr" : : "r"(terms), "r"(sums) : "memory");
}

static inline int
wk_flag_held(const void *terms, void *sums)
{
    uint64_t status;
    __asm__ volatile("mrs %0, fpsr" : "=r"(status) : "r"(terms), "r"(sums) : "memory");
    return !(status & 0x10);
}

static inline wk_fp_state
wk_fp_begin(void)
{
    const wk_fp_state state = wk_fp_get();
    wk_fp_end((wk_fp_state){0, 0});
    return state;
}

#else
#include <fenv.h>
typedef fenv_t wk_fp_state;

static inline wk_fp_state
wk_fp_begin(void)
{
    fenv_t state;
    fegetenv(&state);
    fesetenv(FE_DFL_ENV);
    return state;
}

static inline void
wk_fp_end(wk_fp_state state)
{
    fesetenv(&state);
}

static inline void
wk_flag_clear(const void *terms, void *sums)
{
    feclearexcept(FE_INEXACT);
    __asm__ volatile("" : : "r"(terms), "r"(sums) : "memory");
}

static inline int
wk_flag_held(const void *terms, void *sums)
{
    __asm__ volatile("" : : "r"(terms), "r"(sums) : "memory");
    return !fetestexcept(FE_INEXACT);
}
#endif

/* Does an inexact addition set the flag? Not under valgrind and some emulators. */
int wk_flag_works(void);

#endif
