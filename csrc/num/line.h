/* num/line.h -- the line beyond its ends. */
#ifndef WARPKIT_NUM_LINE_H
#define WARPKIT_NUM_LINE_H

#include "num/bits.h"

/* The index of the element that stands at i, or -1 for cval. scipy.ndimage's modes; any i,
 * any n >= 1, also lines shorter than the halo. */
WK_FN int64_t
wk_extend(int64_t i, int64_t n, wk_mode mode)
{
    if (i >= 0 && i < n) return i;
    if (mode == WK_CONSTANT) return -1;
    if (mode == WK_NEAREST || (mode == WK_MIRROR && n == 1)) return i < 0 ? 0 : n - 1;

    const int64_t period = mode == WK_WRAP ? n : mode == WK_REFLECT ? 2 * n : 2 * n - 2;
    int64_t p = i % period;
    if (p < 0) p += period;
    if (p < n) return p;
    return mode == WK_REFLECT ? period - 1 - p : period - p;
}

#endif
