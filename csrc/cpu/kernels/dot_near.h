/* dot_near.h -- sums of products as two doubles, and a bound of what these lack. See dot.c. */
#ifndef WARPKIT_DOT_NEAR_H
#define WARPKIT_DOT_NEAR_H

#include "near.h"
#include "pairs.h"

/* s[0] + s[1] is a sum but for `lost`; or nothing is known of it. */
typedef struct near_sum {
    double s[2], lost;
    int unknown, power; /* products are below two to it, as far as is seen */
} near_sum;

enum { NO_POWER = -5000, MOST_POWER = 5000 };

/* All are below two to it. */
static inline int
power_of(wk_vd sizes)
{
    double most = 0;
    for (int k = 0; k < WK_VD; k++) most = sizes[k] > most ? sizes[k] : most;
    const int raw = (int)(wk_bits_f64(most) >> 52);
    if (most == 0) return NO_POWER;
    return raw == 2047 ? MOST_POWER : (raw > 0 ? raw : 1) - 1022;
}

static inline void
near_add(near_sum *sum, double high, double low)
{
    const wk_pair upper = wk_two_sum(sum->s[0], high), rest = wk_two_sum(sum->s[1], upper.low),
                  lower = wk_two_sum(rest.high, low);
    sum->s[0] = upper.high;
    sum->s[1] = lower.high;
    sum->lost += fabs(rest.low) + fabs(lower.low);
}

/* Of n products in so many lanes, the sum of whose magnitudes is `most` at most: each addition is off by a
 * 2^53rd of that at most. */
static inline void
near_lost(near_sum *sum, double most, int64_t n, int lanes)
{
    if (!(most < wk_infinity(0))) sum->unknown = 1;
    sum->lost += (double)(n / lanes + lanes + 8) * 0x1p-52 * most;
}

typedef struct near_dots {
    near_sum sum[2]; /* real and imaginary parts */
} near_dots;

#if WK_HAS_FMA
/* Of complex64, as they lie: products of like parts in one sum, of unlike ones in another, by turns those
 * that are added and those that may be subtracted. Magnitudes are no more than products of norms. */
static inline void
near_pairs(near_dots *d, const float *x, const float *y, int64_t n, int conjugate)
{
    enum { SETS = 2, EACH = WK_VD / 2, LANES = SETS * EACH };
    wk_vd like[SETS] = {{0}}, unlike[SETS] = {{0}}, xx[SETS] = {{0}}, yy[SETS] = {{0}};
    float rest[2][WK_VD] = {{0}};
    double each[4][WK_VD], sum[4][2] = {{0}}; /* of even and of odd lanes */
    int64_t i = 0;
#define ADD(k, a, b)                                                                           \
    {                                                                                          \
        const wk_vd u = wk_load_f32(a), v = wk_load_f32(b);                                    \
        like[k] = wk_fma(u, v, like[k]);                                                       \
        unlike[k] = wk_fma(u, SWAPPED(v), unlike[k]);                                          \
        xx[k] = wk_fma(u, u, xx[k]);                                                           \
        yy[k] = wk_fma(v, v, yy[k]);                                                           \
    }
    for (; i + LANES <= n; i += LANES)
#pragma GCC unroll 2
        for (int k = 0; k < SETS; k++) ADD(k, x + 2 * (i + k * EACH), y + 2 * (i + k * EACH));
    for (; i + EACH <= n; i += EACH) ADD(0, x + 2 * i, y + 2 * i);
    memcpy(rest[0], x + 2 * i, (size_t)(n - i) * 2 * sizeof *x);
    memcpy(rest[1], y + 2 * i, (size_t)(n - i) * 2 * sizeof *y);
    ADD(1, rest[0], rest[1]);
#undef ADD
    like[0] += like[1];
    unlike[0] += unlike[1];
    xx[0] += xx[1];
    yy[0] += yy[1];
    memcpy(each[0], like, sizeof each[0]);
    memcpy(each[1], unlike, sizeof each[1]);
    memcpy(each[2], xx, sizeof each[2]);
    memcpy(each[3], yy, sizeof each[3]);
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < WK_VD; l++) sum[k][l % 2] += each[k][l];
    for (int p = 0; p < 2; p++) { /* of conj(x) y other ones are subtracted */
        near_sum *to = &d->sum[p];
        const double odd = p == conjugate ? -sum[p][1] : sum[p][1],
                     most = sqrt(sum[2][0]) * sqrt(sum[3][p]) +
                            sqrt(sum[2][1]) * sqrt(sum[3][1 - p]);
        near_lost(to, most, n, LANES);
        near_add(to, sum[p][0], 0);
        near_add(to, odd, 0);
    }
}
#endif

#endif
