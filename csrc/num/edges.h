/* num/edges.h -- the edges of bins as integers meet them: by how many integers lie below. */
#ifndef WARPKIT_NUM_EDGES_H
#define WARPKIT_NUM_EDGES_H

#include "num/bits.h"

/* The integers of so many bits, from the least one on. */
typedef struct wk_integers {
    int bits, is_signed;
} wk_integers;

WK_FN uint64_t
wk_least_of(wk_integers k)
{
    return k.is_signed ? 0 - ((uint64_t)1 << (k.bits - 1)) : 0;
}

/* Modulo 2^64, the least of them that as float64 is not below the edge, which is above 2^53 or below -2^53. */
WK_FN uint64_t
wk_integer_from(double edge, int is_signed)
{
    const uint64_t b = wk_bits_f64(edge);
    const double below = wk_from_bits_f64(edge < 0 ? b + 1 : b - 1);
    const uint64_t apart = (uint64_t)(edge - below);
    /* halfway, which is rounded to either */
    const uint64_t x =
        (is_signed ? (uint64_t)(int64_t)below : (uint64_t)below) + apart - apart / 2;
    return x + ((is_signed ? (double)(int64_t)x : (double)x) < edge);
}

/* How many are, as float64, below the edge; 0 where all are. */
WK_FN uint64_t
wk_below_f64(wk_integers k, double edge, int *all)
{
    const uint64_t low = wk_least_of(k), high = low + (UINT64_MAX >> (64 - k.bits));
    const double first = k.is_signed ? (double)(int64_t)low : 0,
                 last = k.is_signed ? (double)(int64_t)high : (double)high;
    *all = edge > last;
    if (*all || edge <= first) return 0;
    if (edge >= 0x1p53 || edge <= -0x1p53) return wk_integer_from(edge, k.is_signed) - low;
    const int64_t x = (int64_t)edge; /* towards zero */
    return (uint64_t)(x + ((double)x < edge)) - low;
}

/* The same of an int64, or where integers are not signed of an uint64. */
WK_FN uint64_t
wk_below_i64(wk_integers k, uint64_t edge, int edge_is_signed, int *all)
{
    const uint64_t low = wk_least_of(k), count = edge - low;
    const int negative = edge_is_signed && (int64_t)edge < 0;
    const int none = k.is_signed ? (int64_t)edge < (int64_t)low : negative;
    *all = !none && count > UINT64_MAX >> (64 - k.bits);
    return none || *all ? 0 : count;
}

/* How many are below edge i, or `up_to` it; 0 of all of them. */
WK_FN uint64_t
wk_below_edge(wk_integers k, const void *edges, wk_dtype dtype, int64_t i, int up_to, int *all)
{
    if (dtype == WK_F64) {
        const double edge = ((const double *)edges)[i];
        const uint64_t b = wk_bits_f64(edge);
        *all = 1;
        if (edge > 0x1p64) return 0;
        /* what is not above is below the next float64 */
        return wk_below_f64(k,
                            !up_to      ? edge
                            : edge == 0 ? 0x1p-1074
                                        : wk_from_bits_f64(edge < 0 ? b - 1 : b + 1),
                            all);
    }
    const uint64_t edge = ((const uint64_t *)edges)[i];
    const int is_signed = dtype == WK_I64;
    const uint64_t most = is_signed ? INT64_MAX : UINT64_MAX;
    *all = 1;
    if (up_to && edge == most) return 0;
    return wk_below_i64(k, edge + (up_to != 0), is_signed, all);
}

#endif
