/* num/lanes.h -- what a lane gets from others: CUDA's rules, and what absent lanes do to them.
 *
 * A warp's 32 lanes fall into segments of `width`. The last warp of a line may lack lanes: whoever
 * would read an absent one keeps its own value, and absent lanes count for nothing in all else.
 *
 * Source  NVIDIA, "CUDA C++ Programming Guide", warp shuffle functions; "PTX ISA", shfl.sync. */
#ifndef WARPKIT_NUM_LANES_H
#define WARPKIT_NUM_LANES_H

#include "num/bits.h"

/* The lane whose value `lane` gets of a shuffle, of `there` lanes. Operands of UP, DOWN and XOR
 * count modulo 32, as in the instruction; IDX and ROTATE modulo the width. */
WK_FN int
wk_source_lane(wk_lanes_kind kind, int lane, int operand, int width, int there)
{
    const int first = lane & ~(width - 1), last = first + width - 1;
    int source = lane;
    switch (kind) {
    case WK_LANES_UP: source = lane - (operand & 31); break;
    case WK_LANES_DOWN: source = lane + (operand & 31); break;
    case WK_LANES_XOR: source = lane ^ (operand & 31); break;
    case WK_LANES_ROTATE: source = first + ((lane + operand) & (width - 1)); break;
    default: source = first + (operand & (width - 1)); break;
    }
    if (kind == WK_LANES_UP && source < first) return lane;
    return source > last || source >= there ? lane : source;
}

/* The place of the offset-th set bit of mask from bit `base` on; __fns. */
WK_FN uint32_t
wk_find_nth_set(uint32_t mask, int base, int offset)
{
    if (offset == 0) return mask >> base & 1 ? (uint32_t)base : UINT32_MAX;
    for (int at = base; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
        if (mask >> at & 1) {
            offset += offset < 0 ? 1 : -1;
            if (offset == 0) return (uint32_t)at;
        }
    return UINT32_MAX;
}

/* min and max of floats: NaN wins, and -0.0 is less than 0.0, whichever is asked first. */
#define WK_EXTREMES(T, of, bits, sign)                                                         \
    WK_FN T wk_lesser_##of(T a, T b)                                                           \
    {                                                                                          \
        if (a != a || b != b) return wk_one_nan_##of(a != a ? a : b);                          \
        return a < b || (a == b && bits(a) >> sign) ? a : b;                                   \
    }                                                                                          \
    WK_FN T wk_greater_##of(T a, T b)                                                          \
    {                                                                                          \
        if (a != a || b != b) return wk_one_nan_##of(a != a ? a : b);                          \
        return a > b || (a == b && bits(b) >> sign) ? a : b;                                   \
    }
WK_EXTREMES(float, f32, wk_bits_f32, 31)
WK_EXTREMES(double, f64, wk_bits_f64, 63)
#undef WK_EXTREMES

#endif
