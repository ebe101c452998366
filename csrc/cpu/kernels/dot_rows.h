/* dot_rows.h -- short rows of dot.c. */
#ifndef WARPKIT_DOT_ROWS_H
#define WARPKIT_DOT_ROWS_H

#include "cpu/isa.h"
#include "warpkit.h"

enum { WK_DOT_SHORT = 64 }; /* products of a short row, at most */

/* The sums of products of some rows, no more than a vector has doubles, of real floats: to out[at], ...
 * Gives bits of those that are not known. */
unsigned WK_ISA_NAME(wk_dot_rows)(wk_dtype dtype, const void *x, const void *y, int64_t n,
                                  int64_t rows, void *out, int64_t at);

#endif
