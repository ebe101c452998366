/* dispatch.c -- one launcher per CPU row, which picks the instruction set this processor has.
 * WARPKIT_ISA=base|avx2|avx512 asks for a smaller one; results are the same bits. */
#include "settings.h"
#include "cpu/isa.h"

#include <stdatomic.h>
#ifdef WK_X86
#include <cpuid.h>
#endif

#define ROW_cpu(op, variant)                                                                   \
    wk_launch wk_##op##_cpu_##variant##_base, wk_##op##_cpu_##variant##_avx2,                  \
        wk_##op##_cpu_##variant##_avx512;
#define ROW_cuda(op, variant)
#define ROW(op, backend, variant, dtypes, production, teaches) ROW_##backend(op, variant)
#include "kernels.def"
#undef ROW_cpu

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

#ifdef WK_X86
#define CHOOSE(base, avx2, avx512) (level() == 2 ? avx512 : level() == 1 ? avx2 : base)
#else
#define CHOOSE(base, avx2, avx512) base
#endif

#define ROW_cpu(op, variant)                                                                   \
    WK_LAUNCHER(op, cpu, variant)                                                              \
    {                                                                                          \
        return CHOOSE(wk_##op##_cpu_##variant##_base, wk_##op##_cpu_##variant##_avx2,          \
                      wk_##op##_cpu_##variant##_avx512)(call);                                 \
    }
#include "kernels.def"
