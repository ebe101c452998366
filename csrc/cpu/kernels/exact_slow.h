/* exact_slow.h -- exact sums of doubles that no plain addition can give. */
#ifndef WARPKIT_EXACT_SLOW_H
#define WARPKIT_EXACT_SLOW_H

#include "cpu/isa.h"
#include "cpu/reduction.h"

enum { WK_SLOW = 1024 /* elements at once; the windows below are made for so many */ };

/* Exponents of the largest and the least magnitude but 0, and what is in the upper half beside; 0:
 * there is none, or none that is not tiny. */
typedef struct wk_range {
    uint64_t most, least;
} wk_range;

wk_range WK_ISA_NAME(wk_range_of)(const double *x, int64_t n) __attribute__((pure));

/* n <= WK_SLOW doubles of so many digits. */
void WK_ISA_NAME(wk_exact_slow)(wk_exact *e, const double *x, int64_t n, int digits);

#endif
