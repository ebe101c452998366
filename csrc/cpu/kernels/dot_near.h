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

enum {
    NO_POWER = -5000,
    MOST_POWER = 5000,
    FIRST = 4, /* vectors */
    /* Bytes from which a line of either operand is asked for. ms of 4 million complex128, 1 and 2 threads: 9.0 4.4
     * without, 6.1 2.8 so; OpenBLAS 6.1 2.9. */
    ASKED = 1 << 12
};

/* What is `at` bytes from x, where a line begins: each is asked for once. */
static inline void
ask_ahead(const void *x, int64_t at)
{
    if (at % 64 == 0) __builtin_prefetch((const char *)x + at + ASKED);
}

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

/* Others are likely to be below, where the first ones are of these sizes; NO_POWER: all are to be looked at. What is
 * larger is met, and then all is done once more. */
static inline int
likely_power(wk_vd sizes)
{
    const int power = power_of(sizes);
    return power > -690 && power < 890 ? power + 3 : NO_POWER;
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
/* How large products are, and whether some are no zeros: also of 0 times infinity. */
typedef struct seen_sizes {
    wk_vd most;
    wk_vl some;
} seen_sizes;

static inline void
see_size(seen_sizes *s, wk_vd u, wk_vd v)
{
    const wk_vd p = u * v;
    s->most = wk_larger(p, s->most);
    s->some |= (wk_vl)((u != 0) & (v != 0)) | (wk_vl)(p != p);
}

static inline int
seen_some(const seen_sizes *s)
{
    int64_t any = 0;
    for (int k = 0; k < WK_VD; k++) any |= s->some[k];
    return any != 0;
}

/* A sum that begins with a bias, so that it is a multiple of a unit; what that rounds off is found but for its own
 * rounding, and added up beside it. */
typedef struct biased_sum {
    wk_vd upper, lower, most; /* most: the largest product, as multiples of the unit */
} biased_sum;

static inline biased_sum
biased_start(wk_vd bias)
{
    return (biased_sum){bias, wk_splat(0), wk_splat(0)};
}

static inline __attribute__((always_inline)) void
biased_add(biased_sum *s, wk_vd u, wk_vd v)
{
    const wk_vd next = wk_fma(u, v, s->upper), less = s->upper - next;
    s->lower += wk_fma(u, v, less);
    s->most = wk_larger(less, s->most);
    s->upper = next;
}

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
    for (; i + LANES <= n; i += LANES) {
        ask_ahead(x + 2 * i, 0);
        ask_ahead(y + 2 * i, 0);
#pragma GCC unroll 2
        for (int k = 0; k < SETS; k++) ADD(k, x + 2 * (i + k * EACH), y + 2 * (i + k * EACH));
    }
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

/* Of complex128, as they lie, likewise; but to biased sums: of like products [0], and of unlike ones [1]. */
enum {
    PAIR_SETS = 2,
    PAIRS = WK_VD / 2 /* numbers of a vector */,
    PAIR_LANES = PAIR_SETS * WK_VD
};

typedef struct wide_pairs {
    const double *x, *y;
    int64_t n, whole;      /* numbers, and those that fill vectors                           */
    double rest[2][WK_VD]; /* the others                                                     */
    int power[2], own[2]; /* of products, which are below two to it, as thought and as is met */
    int e[2];             /* and of their sum's magnitudes                                  */
    wk_vd bias[2];
    biased_sum sum[2][PAIR_SETS];
} wide_pairs;

/* 0: all products are zeros. */
static inline int
find_powers(wide_pairs *w)
{
    seen_sizes seen[2] = {{{0}, {0}}, {{0}, {0}}};
    for (int64_t i = 0; i <= w->whole; i += PAIRS) {
        const wk_vd u = wk_load_f64(i < w->whole ? w->x + 2 * i : w->rest[0]),
                    v = wk_load_f64(i < w->whole ? w->y + 2 * i : w->rest[1]);
        see_size(&seen[0], u, v);
        see_size(&seen[1], u, SWAPPED(v));
        if (i != FIRST * PAIRS) continue;
        for (int k = 0; k < 2; k++) w->power[k] = likely_power(seen[k].most);
        if (w->power[0] != NO_POWER && w->power[1] != NO_POWER) return 1;
    }
    for (int k = 0; k < 2; k++) w->power[k] = power_of(seen[k].most);
    for (int k = 0; k < 2; k++) /* too small to have all digits, or zeros but for the others */
        if (w->power[k] < -700)
            w->power[k] = w->power[1 - k] < -700 ? MOST_POWER : w->power[1 - k];
    return seen_some(&seen[0]) | seen_some(&seen[1]);
}

/* 0: some products were not below what was thought, and the powers are larger now. */
static inline int
add_wide_pairs(wide_pairs *w)
{
    biased_sum sum[2][PAIR_SETS];
    int64_t i = 0;
    int fine = 1;
    for (int p = 0; p < 2; p++) {
        w->e[p] = w->power[p] + 64 - __builtin_clzll((uint64_t)(2 * w->n));
        w->bias[p] = wk_splat(1.5 * wk_power_of_two(w->e[p] + 1));
        for (int k = 0; k < PAIR_SETS; k++) sum[p][k] = biased_start(w->bias[p]);
    }
#define BOTH(k, a, b)                                                                          \
    {                                                                                          \
        const wk_vd u = wk_load_f64(a), v = wk_load_f64(b);                                    \
        biased_add(&sum[0][k], u, v);                                                          \
        biased_add(&sum[1][k], u, SWAPPED(v));                                                 \
    }
    for (; i + 2 * PAIRS <= w->whole; i += 2 * PAIRS) {
        for (int at = 0; at < 4 * PAIRS * (int)sizeof(double); at += 64) {
            ask_ahead(w->x + 2 * i, at);
            ask_ahead(w->y + 2 * i, at);
        }
        BOTH(0, w->x + 2 * i, w->y + 2 * i);
        BOTH(1, w->x + 2 * (i + PAIRS), w->y + 2 * (i + PAIRS));
    }
    if (i < w->whole) BOTH(0, w->x + 2 * i, w->y + 2 * i);
    if (w->whole < w->n) BOTH(1, w->rest[0], w->rest[1]);
#undef BOTH
    memcpy(w->sum, sum, sizeof sum);
    for (int p = 0; p < 2; p++) {
        w->own[p] = power_of(wk_larger(sum[p][1].most, sum[p][0].most));
        if (w->own[p] <= w->power[p]) continue;
        w->power[p] = w->own[p] < MOST_POWER ? w->own[p] + 1 : w->own[p];
        fine = 0;
    }
    return fine;
}

static inline void
near_wide_pairs(near_dots *d, const double *x, const double *y, int64_t n, int conjugate)
{
    wide_pairs w = {.x = x, .y = y, .n = n, .whole = n - n % PAIRS};
    memcpy(w.rest[0], x + 2 * w.whole, (size_t)(n - w.whole) * 2 * sizeof *x);
    memcpy(w.rest[1], y + 2 * w.whole, (size_t)(n - w.whole) * 2 * sizeof *y);
    for (int p = 0; p < 2; p++) w.power[p] = d->sum[p].power;
    if ((w.power[0] == NO_POWER || w.power[1] == NO_POWER) && !find_powers(&w)) return;
    do {
        for (int p = 0; p < 2; p++) d->sum[p].unknown |= w.power[p] > 900;
        if (d->sum[0].unknown || d->sum[1].unknown) return;
    } while (!add_wide_pairs(&w));
    for (int p = 0; p < 2; p++) { /* of conj(x) y other ones are subtracted */
        near_sum *to = &d->sum[p];
        const biased_sum *sum = w.sum[p];
        const wk_vd high = (sum[0].upper - w.bias[p]) + (sum[1].upper - w.bias[p]),
                    low = sum[0].lower + sum[1].lower;
        const double pieces = (double)(2 * n / PAIR_LANES + 5);
        double all[2] = {0, 0};
        for (int k = 0; k < WK_VD; k++) {
            const int minus = k % 2 && p == conjugate;
            all[0] += minus ? -high[k] : high[k];
            all[1] += minus ? -low[k] : low[k];
        }
        to->power = w.own[p] < w.power[p] - 4 ? NO_POWER : w.power[p];
        to->lost +=
            PAIR_LANES * pieces * (pieces + PAIR_LANES + 1) * wk_power_of_two(w.e[p] - 104);
        near_add(to, all[0], all[1]);
    }
}
#endif

#endif
