/* dispatch.c -- one launcher per CPU row, which picks the instruction set this processor has.
 * WARPKIT_ISA=base|avx2|avx512 asks for a smaller one; results are the same bits. */
#include "settings.h"
#include "cpu/isa.h"

#include <stdatomic.h>
#ifdef WK_X86
#include <cpuid.h>
#endif

/* A build for the processor that is here (WARPKIT_NATIVE) has its instruction set alone. */
#if defined WK_ISA
#define DECLARE(name) wk_launch WK_ISA_NAME(name);
#define CHOOSE(name) WK_ISA_NAME(name)
#elif defined WK_X86
#define DECLARE(name) wk_launch name##_base, name##_avx2, name##_avx512;
#define CHOOSE(name) (level() == 2 ? name##_avx512 : level() == 1 ? name##_avx2 : name##_base)
#else
#define DECLARE(name) wk_launch name##_base;
#define CHOOSE(name) name##_base
#endif

#define ROW_cpu(op, variant) DECLARE(wk_##op##_cpu_##variant)
#define ROW_cuda(op, variant)
#define ROW(op, backend, variant, dtypes, production, teaches) ROW_##backend(op, variant)
#include "kernels.def"
#undef ROW_cpu

#ifdef WK_ISA
#define TEXT_(word) #word
#define TEXT(word) TEXT_(word)

const char *
wk_isa(void)
{
    return TEXT(WK_ISA);
}

#else

static const char *const names[] = {"base", "avx2", "avx512"};

#ifdef WK_X86
static int
converts_halves(void) /* not all compilers' __builtin_cpu_supports knows "f16c" */
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

static int
best(void)
{
#ifdef WK_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && converts_halves())
        return 1;
#endif
    return 0;
}

static int
level(void)
{
    static atomic_int chosen = -1; /* a constant of this process once set */
    int now = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (now >= 0) return now;
    now = best();
    const int wanted = (int)wk_setting_value(WK_SET_ISA, now);
    if (wanted < now) now = wanted;
    atomic_store_explicit(&chosen, now, memory_order_relaxed);
    return now;
}

const char *
wk_isa(void)
{
    return names[level()];
}

#endif

#define ROW_cpu(op, variant)                                                                   \
    WK_LAUNCHER(op, cpu, variant)                                                              \
    {                                                                                          \
        return CHOOSE(wk_##op##_cpu_##variant)(call);                                          \
    }
#include "kernels.def"
