/* turn.h -- lines that lie one behind the other become lanes of vectors, and lines again. */
#ifndef WARPKIT_TURN_H
#define WARPKIT_TURN_H

#include "vector.h"

#if defined(__AVX512F__)
#define LOW(a, b) WK_PICK(a, b, wk_vl, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) WK_PICK(a, b, wk_vl, 4, 12, 5, 13, 6, 14, 7, 15)
#elif defined(__AVX__)
#define LOW(a, b) WK_PICK(a, b, wk_vl, 0, 4, 1, 5)
#define HIGH(a, b) WK_PICK(a, b, wk_vl, 2, 6, 3, 7)
#else
#define LOW(a, b) WK_PICK(a, b, wk_vl, 0, 2)
#define HIGH(a, b) WK_PICK(a, b, wk_vl, 1, 3)
#endif

/* Lines of a square become its columns; they are from[k * step], and then to[k * pitch]. */
static inline __attribute__((always_inline)) void
turn_square(const double *from, int64_t step, double *to, int64_t pitch)
{
    wk_vd v[WK_VD], w[WK_VD];
#pragma GCC unroll 8
    for (int k = 0; k < WK_VD; k++) v[k] = wk_load_f64(from + k * step);
#pragma GCC unroll 3
    for (int times = 1; times < WK_VD; times *= 2) {
#pragma GCC unroll 4
        for (int k = 0; k < WK_VD / 2; k++) {
            w[2 * k] = LOW(v[k], v[k + WK_VD / 2]);
            w[2 * k + 1] = HIGH(v[k], v[k + WK_VD / 2]);
        }
#pragma GCC unroll 8
        for (int k = 0; k < WK_VD; k++) v[k] = w[k];
    }
#pragma GCC unroll 8
    for (int k = 0; k < WK_VD; k++) memcpy(to + k * pitch, &v[k], sizeof v[k]);
}

/* WK_VD lines of n numbers, one behind the other, to t[n][WK_VD]. */
static inline void
turn(const double *x, int64_t n, double *t)
{
    for (int64_t i = 0; i < n; i += WK_VD) turn_square(x + i, n, t + i * WK_VD, WK_VD);
}

/* And back. What is written beyond a line's end is the next one's start, which is written later. */
static inline void
turn_back(const double *t, int64_t n, double *x)
{
    for (int64_t i = (n - 1) / WK_VD * WK_VD; i >= 0; i -= WK_VD)
        turn_square(t + i * WK_VD, WK_VD, x + i, n);
}

#endif
