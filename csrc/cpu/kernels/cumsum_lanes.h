/* cumsum_lanes.h -- prefixes of rows of lanes, each lane by itself. See cumsum.c. */
#ifndef WARPKIT_CUMSUM_LANES_H
#define WARPKIT_CUMSUM_LANES_H

#include "cpu/reduction.h"
#include "turn.h"

#include <math.h>

enum { PARTS = 3 }; /* of a sum, at most: doubles */

/* less: how much less the exact sum is, +0.0 if nothing. So what lies below sums of nothing but -0.0
 * stays -0.0, if it was. */
static inline __attribute__((always_inline)) wk_vd
two_sum(wk_vd a, wk_vd b, wk_vd *less)
{
    const wk_vd s = a + b, other = s - a;
    *less = ((s - other) - a) + (other - b);
    return s;
}

/* The last sums alone, or prefixes: of less digits than doubles odd where some is left. */
typedef enum kind { SUMS, NARROW, WIDE } kind;

/* So many mostly do: sums of less digits are mostly doubles. */
static int
first_parts(kind kind)
{
    return kind == NARROW ? 1 : 2;
}

/* The prefix c, as a double; where it is not known open becomes so. */
static inline __attribute__((always_inline)) wk_vd
round_prefix(const wk_vd *c, int parts, kind kind, wk_vl *open)
{
    wk_vd less, w = {0};
    if (parts == 1) return c[0];
    wk_vd h = two_sum(c[0], c[1], &less);
    if (parts == 3) {
        const wk_vd t = two_sum(-less, c[2], &w);
        h = two_sum(h, t, &less);
    }
    const wk_vd off = wk_size_of(w), spare = wk_size_of(less) * 0x1p-50;
    const wk_vd e = off + (wk_vd)((wk_vl)spare & (off > 0)); /* less + off may round it off */
    if (kind == NARROW) {
        const wk_vl some = less != 0, towards_0 = ~((wk_vl)h ^ (wk_vl)less) >> 63;
        if (parts == 3) *open |= (e != 0) & (wk_size_of(less) <= e);
        h = (wk_vd)(((wk_vl)h + (towards_0 & some)) | (some & 1));
    } else if (parts == 3) {
        const wk_vd below = h - (less + e), above = h - (less - e);
        *open |= below != above;
        h = below;
    }
    return h;
}

/* In place, rows of lanes, `step` apart, added to sum; lanes of what is given are not 0 where something
 * was lost. */
static inline __attribute__((always_inline)) wk_vl
scan_rows(double *t, int64_t rows, int64_t step, wk_vd *sum, int parts, kind kind)
{
    wk_vd c[PARTS] = {sum[0], sum[1], sum[2]};
    wk_vl open = {0};
    for (int64_t i = 0; i < rows; i++) {
        wk_vd x = wk_load_f64(t + i * step), less;
#pragma GCC unroll 3
        for (int k = 0; k < parts; k++) {
            c[k] = two_sum(c[k], x, &less);
            x = -less;
        }
        open |= (wk_vl)less;
        if (kind == SUMS) continue;
        const wk_vd h = round_prefix(c, parts, kind, &open);
        memcpy(t + i * step, &h, sizeof h);
    }
    for (int k = 0; k < PARTS; k++) sum[k] = c[k];
    return open;
}

static wk_vl
scan_lanes(double *t, int64_t rows, int64_t step, wk_vd *sum, int parts, kind kind)
{
    if (kind == SUMS)
        return parts == 1   ? scan_rows(t, rows, step, sum, 1, SUMS)
               : parts == 2 ? scan_rows(t, rows, step, sum, 2, SUMS)
                            : scan_rows(t, rows, step, sum, 3, SUMS);
    if (parts == 1) return scan_rows(t, rows, step, sum, 1, kind);
    if (kind == NARROW)
        return parts == 2 ? scan_rows(t, rows, step, sum, 2, NARROW)
                          : scan_rows(t, rows, step, sum, 3, NARROW);
    return parts == 2 ? scan_rows(t, rows, step, sum, 2, WIDE)
                      : scan_rows(t, rows, step, sum, 3, WIDE);
}

static void
start_lanes(wk_vd *sum)
{
    for (int k = 0; k < PARTS; k++) sum[k] = wk_splat(-0.0);
}

static int
any(wk_vl v)
{
    int64_t some = 0;
    for (int k = 0; k < WK_VD; k++) some |= v[k];
    return some != 0;
}

/* ---- stretches of one series ------------------------------------------------------------------ */

/* What stands before a block: three doubles, if they are all of it. */
typedef struct carry {
    double c[PARTS];
    int known;
} carry;

/* Adds x to three doubles; what is left of it. Zeros have signs as two_sum's of vectors. */
static double
put(double *c, double x)
{
    for (int k = 0; k < PARTS; k++) {
        const double s = c[k] + x, other = s - c[k];
        x = -(((s - other) - c[k]) + (other - x));
        c[k] = s;
    }
    return x;
}

/* c[0] is -0.0 if there are none but such. */
static carry
carry_of(const wk_exact *e)
{
    carry c = {.c = {e->flags & WK_NOT_MINUS_ZERO ? 0.0 : -0.0, -0.0, -0.0}};
    if (e->flags & WK_IS_ODD) return c;
    double left = fabs(put(c.c, e->part[0].f));
    if (e->part[1].f != 0) left += fabs(put(c.c, e->part[1].f)); /* it may be 0.0 */
    if (e->used) {
        int64_t room[WK_SUM_LIMBS];
        wk_limbs limbs = {room, WK_SUM_LIMBS, WK_SUM_BASE};
        memcpy(room, e->limbs.limb, sizeof room);
        const double sign = wk_limbs_magnitude(&limbs) ? -1 : 1;
        int top = WK_SUM_LIMBS - 1;
        while (top > 0 && room[top] == 0) top--;
        const int e2 =
            32 * top + WK_SUM_BASE; /* of the uppermost; its numbers are all doubles */
        if (e2 > 900 || (room[top] && e2 < -800)) return c;
        for (int i = top; i >= 0 && i > top - 6; i--) {
            const int e1 = 32 * i + WK_SUM_BASE;
            if (room[i] == 0) continue;
            left += fabs(put(c.c, sign * (double)room[i] * wk_power_of_two(e1)));
        }
        for (int i = top - 6; i >= 0; i--) left += room[i] != 0;
    }
    c.known = left == 0;
    return c;
}

/* Lanes are stretches of one series, each behind the other; 0: that takes more parts. */
static int
scan_stretches(double *t, int64_t rows, int64_t step, carry *c, int parts, kind kind)
{
    wk_vd sum[PARTS], from[PARTS];
    double each[PARTS][WK_VD], before[PARTS][WK_VD], left = 0, more = 0;
    start_lanes(sum);
    if (any(scan_lanes(t, rows, step, sum, parts, SUMS))) return 0;
    memcpy(each, sum, sizeof each);
    for (int l = 0; l < WK_VD; l++) {
        for (int k = 0; k < PARTS; k++) before[k][l] = c->c[k];
        for (int k = parts; k < PARTS; k++) more += fabs(c->c[k]);
        for (int k = 0; k < parts; k++) left += fabs(put(c->c, each[k][l]));
    }
    memcpy(from, before, sizeof before);
    if (left != 0 || more != 0) return 0;
    return !any(scan_lanes(t, rows, step, from, parts, kind));
}

#endif
