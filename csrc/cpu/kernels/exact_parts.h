/* exact_parts.h -- a double in two halves, in bins, and a range in which products of both are exact. */
#ifndef WARPKIT_EXACT_PARTS_H
#define WARPKIT_EXACT_PARTS_H

#include "exact_slow.h"
#include "vector.h"

#define HIGH ((int64_t)0xfffffffff8000000) /* sign, exponent and 26 digits */

/* a is v to the nearest 26 digits; the rest, of 26 digits too, may be of either sign. */
static inline __attribute__((always_inline)) void
halves(wk_vd v, wk_vd *a, wk_vd *b)
{
    *a = (wk_vd)(((wk_vl)v + ((int64_t)1 << 26)) & HIGH);
    *b = v - *a;
}

/* What of rest is a multiple of a bin's unit goes to the bin. */
static inline __attribute__((always_inline)) void
cut(wk_vd *bin, wk_vd *rest)
{
    const wk_vd t = *bin + *rest;
    *rest -= t - *bin;
    *bin = t;
}

/* Halves whose products are no subnormals, and do not overflow. */
static inline int
moderate(wk_range range)
{
    return range.most < (uint64_t)(1023 + 500) << 52 && range.least >= (uint64_t)(1023 - 450)
                                                                           << 52;
}

#endif
