/* cumsum_lanes.h -- prefixes of rows of lanes, each lane by itself. See cumsum.c. */
#ifndef WARPKIT_CUMSUM_LANES_H
#define WARPKIT_CUMSUM_LANES_H

#include "cpu/reduction.h"
#include "turn.h"

#include <math.h>
#include <stddef.h>

/* Doubles of a sum: mostly; at most, of many series at once; at most. Where each of them takes 44 bits,
 * those are all that there can be. */
enum { FEW = 3, AT_ONCE = 12, PARTS = 48 };

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

static int
more_parts(int parts)
{
    return parts < FEW ? parts + 1 : parts + 3 < PARTS ? parts + 3 : PARTS;
}

static int
more_at_once(int parts)
{
    return parts == 1 ? 2 : parts == 2 ? AT_ONCE / 2 : AT_ONCE;
}

/* x, which is off by something of w's sign and less than a unit: rounded to odd. */
static inline __attribute__((always_inline)) wk_vd
make_odd(wk_vd x, wk_vd w)
{
    const wk_vl some = w != 0, towards_0 = ((wk_vl)x ^ (wk_vl)w) >> 63;
    return (wk_vd)(((wk_vl)x + (towards_0 & some)) | (some & 1));
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

/* Likewise, of many parts.
 *
 * A sweep from the last part up leaves h and a rest e of each addition; one over those t and rests of its
 * own. The prefix is h + t + w + r, where w is the sum of these as it is rounded: by fewer than PARTS
 * additions, each of which is off by 2^-53 of all sizes at most. So |r| < err, also where sizes are rounded,
 * or err is: below 2^-1022 no addition is.
 * Then h + t, and t + w, are made pairs, so that w is half of t's unit at most.
 *   err < |w|  what is below t is of w's sign, and less than a unit. Made odd towards it, t lies between the
 *              same two doubles that are even as t + w + r does, or is that if there is nothing.
 *              Where t <= 2^-50 h, all z at which h + z is rounded to another double are even: the middles
 *              between two, some half units of h. So h + t is rounded as the prefix is. Of less digits h is
 *              made odd once more.
 *   else       all from h + t - |w| - err to h + t + |w| + err must be rounded alike; of less digits be of one
 *              side of h. Ties are such that no part tells of what is below them: hardly any. */
static inline __attribute__((always_inline)) wk_vd
round_parts(const wk_vd *c, int parts, kind kind, wk_vl *open)
{
    wk_vd e[PARTS], less, h = c[parts - 1];
    for (int k = parts - 2; k >= 0; k--) {
        h = two_sum(c[k], h, &less);
        e[k] = -less;
    }
    wk_vd t = e[parts - 2], w = wk_splat(-0.0), sizes = {0};
    for (int k = parts - 3; k >= 0; k--) {
        t = two_sum(e[k], t, &less);
        w -= less;
        sizes += wk_size_of(less);
    }
    h = two_sum(h, t, &less);
    t = two_sum(-less, w, &less);
    w = -less;
    const wk_vd err = sizes * 0x1p-47, size = wk_size_of(t), off = wk_size_of(w) + err;
    const wk_vl unsure = (err != 0) & (err >= wk_size_of(w));
    *open |= ~(size <= wk_size_of(h) * 0x1p-50);
    if (kind == NARROW) {
        *open |= unsure & (off >= size);
        h = two_sum(h, make_odd(t, w), &less);
        return make_odd(h, -less);
    }
    const wk_vd all = off + (off + size) * 0x1p-50; /* and what is rounded here */
    const wk_vd below = h + (t - all), above = h + (t + all);
    *open |= unsure & (below != above);
    h += make_odd(t, w);
    return (wk_vd)(((wk_vl)below & unsure) | ((wk_vl)h & ~unsure));
}

/* In place, rows of lanes, `step` apart, added to sum; lanes of what is given are not 0 where something
 * was lost. */
static inline __attribute__((always_inline)) wk_vl
scan_rows(double *t, int64_t rows, int64_t step, wk_vd *sum, int parts, kind kind)
{
    wk_vd c[FEW];
    wk_vl open = {0};
    for (int k = 0; k < parts; k++) c[k] = sum[k];
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
    for (int k = 0; k < parts; k++) sum[k] = c[k];
    return open;
}

/* Likewise; so many parts that they stay in memory. */
static __attribute__((noinline)) wk_vl
scan_parts(double *t, int64_t rows, int64_t step, wk_vd *c, int parts, kind kind)
{
    wk_vl open = {0};
    if (parts <= FEW) __builtin_unreachable();
    for (int64_t i = 0; i < rows; i++) {
        wk_vd x = wk_load_f64(t + i * step), less;
        for (int k = 0; k < parts; k++) {
            c[k] = two_sum(c[k], x, &less);
            x = -less;
        }
        open |= (wk_vl)less;
        if (kind == SUMS) continue;
        const wk_vd h = round_parts(c, parts, kind, &open);
        memcpy(t + i * step, &h, sizeof h);
    }
    return open;
}

static wk_vl
scan_few(double *t, int64_t rows, int64_t step, wk_vd *sum, int parts, kind kind)
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

static inline wk_vl
scan_lanes(double *t, int64_t rows, int64_t step, wk_vd *sum, int parts, kind kind)
{
    return parts > FEW ? scan_parts(t, rows, step, sum, parts, kind)
                       : scan_few(t, rows, step, sum, parts, kind);
}

static inline void
start_lanes(wk_vd *sum, int parts)
{
    for (int k = 0; k < parts; k++) sum[k] = wk_splat(-0.0);
}

static int
any(wk_vl v)
{
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) != 0;
#elif defined(__AVX__)
    return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#else
    int64_t some = 0;
    for (int k = 0; k < WK_VD; k++) some |= v[k];
    return some != 0;
#endif
}

/* How many are not 0. */
static int
lanes_of(wk_vl v)
{
    int many = 0;
    for (int k = 0; k < WK_VD; k++) many += v[k] != 0;
    return many;
}

/* ---- stretches of one series ------------------------------------------------------------------ */

/* What stands before a block: doubles, if they are all of it. */
typedef struct carry {
    int known, used; /* so many: FEW at least; further ones are -0.0 */
    double c[PARTS];
} carry;

static inline void
copy_carry(carry *to, const carry *from)
{
    memcpy(to, from, offsetof(carry, c) + FEW * sizeof *from->c); /* as most have */
    for (int k = FEW; k < from->used; k++) to->c[k] = from->c[k];
}

/* Where the last doubles of all series have become 0, not as many need be tried. */
static int
fewer_parts(int parts, carry *c, int64_t series)
{
    int most = FEW;
    for (int64_t p = 0; p < series; p++) {
        while (c[p].used > FEW && c[p].c[c[p].used - 1] == 0) c[p].used--;
        most = c[p].used > most ? c[p].used : most;
    }
    return most < parts - FEW ? most : parts;
}

static inline double
put_one(double *c, double x)
{
    const double s = *c + x, other = s - *c, less = ((s - other) - *c) + (other - x);
    *c = s;
    return -less;
}

/* Adds x to few; what is left of it. Zeros have signs as two_sum's of vectors. */
static inline __attribute__((always_inline)) double
put_few(double *c, double x)
{
#pragma GCC unroll 3
    for (int k = 0; k < FEW; k++) x = put_one(&c[k], x);
    return x;
}

/* Adds x; 0, or there is no room for what is left of it, or that is no number. */
static double
put(carry *to, double x)
{
    int k = FEW;
    x = put_few(to->c, x);
    for (; x != 0 && k < to->used; k++) x = put_one(&to->c[k], x);
    if (x == 0 || k == PARTS) return x;
    to->c[to->used++] = x;
    return x - x;
}

/* e NULL: nothing. c[0] is -0.0 if there are none but such. */
static void
take_carry(carry *c, const wk_exact *e)
{
    c->known = e == NULL;
    c->used = FEW;
    for (int k = 0; k < FEW; k++) c->c[k] = -0.0;
    if (e == NULL) return;
    if (e->flags & WK_NOT_MINUS_ZERO) c->c[0] = 0.0;
    if (e->flags & WK_IS_ODD) return;
    double left = fabs(put(c, e->part[0].f));
    if (e->part[1].f != 0) left += fabs(put(c, e->part[1].f)); /* it may be 0.0 */
    if (e->used) {
        int64_t room[WK_SUM_LIMBS];
        wk_limbs limbs = {room, WK_SUM_LIMBS, WK_SUM_BASE};
        memcpy(room, e->limbs.limb, sizeof room);
        const double sign = wk_limbs_magnitude(&limbs) ? -1 : 1;
        int top = WK_SUM_LIMBS - 1;
        while (top > 0 && room[top] == 0) top--;
        if (32 * top + WK_SUM_BASE > 880) return; /* less are doubles, as all elements are */
        for (int i = top; i >= 0; i--) {
            const double unit = wk_power_of_two(32 * i + WK_SUM_BASE + 100);
            if (room[i]) left += fabs(put(c, sign * (double)room[i] * unit * 0x1p-100));
        }
    }
    c->known = left == 0;
}

/* Of prefixes. LOST: they take more parts. OPEN: perhaps, or it is not known how they are rounded.
 * NO_NUMBERS: some are infinite, or no number. */
typedef enum outcome { DONE, LOST, OPEN, NO_NUMBERS } outcome;

/* From lanes' sums what stands before each of them; 0: that takes more parts. */
static inline int
join_few(const wk_vd *sum, carry *to, int parts, wk_vd *before)
{
    double c[FEW], left = 0,
                   more = 0; /* c in registers: each addition waits for the last one */
    if (to->used > FEW) return 0;
    memcpy(c, to->c, sizeof c);
    for (int l = 0; l < WK_VD; l++) {
#pragma GCC unroll 3
        for (int k = 0; k < FEW; k++) before[k][l] = c[k];
#pragma GCC unroll 3
        for (int k = 1; k < FEW; k++) more += k < parts ? 0 : fabs(c[k]);
#pragma GCC unroll 3
        for (int k = 0; k < FEW; k++)
            if (k < parts) left += fabs(put_few(c, sum[k][l]));
    }
    memcpy(to->c, c, sizeof c);
    return left == 0 && more == 0;
}

static inline int
join_many(const wk_vd *sum, carry *to, int parts, wk_vd *before)
{
    double left = 0;
    for (int l = 0; l < WK_VD; l++) {
        if (to->used > parts) return 0;
        for (int k = 0; k < parts; k++) before[k][l] = k < to->used ? to->c[k] : -0.0;
        for (int k = 0; k < parts; k++) left += fabs(put(to, sum[k][l]));
    }
    return left == 0;
}

/* Lanes are stretches of one series, each behind the other. */
static inline __attribute__((always_inline)) outcome
scan_each(double *t, int64_t rows, int64_t step, carry *c, int parts, kind kind, wk_vd *sum,
          wk_vd *from, int few)
{
    start_lanes(sum, parts);
    if (any(scan_lanes(t, rows, step, sum, parts, SUMS)))
        return any(sum[0] - sum[0] != 0) ? NO_NUMBERS : LOST;
    if (!(few ? join_few(sum, c, parts, from) : join_many(sum, c, parts, from))) return LOST;
    return any(scan_lanes(t, rows, step, from, parts, kind)) ? OPEN : DONE;
}

static __attribute__((noinline)) outcome
scan_with_many(double *t, int64_t rows, int64_t step, carry *c, int parts, kind kind)
{
    wk_vd sum[PARTS], from[PARTS];
    return scan_each(t, rows, step, c, parts, kind, sum, from, 0);
}

static outcome
scan_stretches(double *t, int64_t rows, int64_t step, carry *c, int parts, kind kind)
{
    wk_vd sum[FEW], from[FEW];
    if (parts > FEW) return scan_with_many(t, rows, step, c, parts, kind);
    return scan_each(t, rows, step, c, parts, kind, sum, from, 1);
}

#endif
