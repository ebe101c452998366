/* fp.c -- is the inexact flag what it should be? Asked once a process. */
#include "cpu/fp.h"

#include <stdatomic.h>
#include <stddef.h>

/* Through volatile memory, so that it is the chip that adds. */
static int
try_flag(void)
{
    volatile double one = 1, small = 0x1p-60, sum;
    const wk_fp_state state = wk_fp_begin();
    wk_flag_clear(NULL, NULL);
    sum = one + one;
    const int exact = wk_flag_held(NULL, NULL);
    sum = one + small;
    const int inexact = !wk_flag_held(NULL, NULL);
    wk_fp_end(state);
    return exact && inexact && sum == 1;
}

int
wk_flag_works(void)
{
    static atomic_int known = -1; /* a constant of this process once set */
    int works = atomic_load_explicit(&known, memory_order_relaxed);
    if (works >= 0) return works;
    works = try_flag();
    atomic_store_explicit(&known, works, memory_order_relaxed);
    return works;
}
