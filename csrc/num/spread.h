/* num/spread.h -- n Q - S^2 of sums that lie in a few doubles each: of numbers far from zero, whose
 * variance is 2^-60 of Q or less, nothing of it is left in two doubles (float64 of mean 1e9 and spread 1).
 *
 * Each product is two doubles, and these are added to a chain of five: what a sum rounds off goes to the
 * next (Knuth). What the last one rounds off is the bound, and what lies behind the first three is added to
 * it. Exact, if that is zero. */
#ifndef WARPKIT_NUM_SPREAD_H
#define WARPKIT_NUM_SPREAD_H

#include "num/exact.h"

enum { WK_CHAIN = 5 };

typedef struct wk_chain {
    double s[WK_CHAIN], lost;
} wk_chain;

WK_FN void
wk_chain_add(wk_chain *c, double x)
{
    for (int k = 0; k < WK_CHAIN; k++) {
        const double sum = c->s[k] + x, back = sum - c->s[k];
        x = (c->s[k] - (sum - back)) + (x - back);
        c->s[k] = sum;
    }
    c->lost += fabs(x);
}

WK_FN void
wk_chain_add_product(wk_chain *c, double a, double b)
{
    const double p = a * b;
    if (p != 0) {
        wk_chain_add(c, p);
        wk_chain_add(c, fma(a, b, -p));
    }
    /* What is rounded off a tiny one may vanish, as all of it may. */
    if (a != 0 && b != 0 && fabs(p) < 0x1p-900) c->lost += 0x1p-1000;
}

/* Each becomes far less than the one before it; of what is exactly zero all are. */
WK_FN void
wk_chain_settle(wk_chain *c)
{
    WK_ROLLED
    for (int turn = 0; turn < 3; turn++) {
        for (int k = WK_CHAIN - 2; k >= 0; k--) {
            const double a = c->s[k], b = c->s[k + 1], both = a + b, back = both - a;
            c->s[k] = both;
            c->s[k + 1] = (a - (both - back)) + (b - back);
        }
    }
}

typedef struct wk_spread_sum {
    double s[3], lost; /* their sum, but for lost at most */
} wk_spread_sum;

/* Of `squares` doubles that add up to Q, and `parts` times `sums` that add up to a sum S each, n < 2^53;
 * Q lies within 2^-400 and 2^900. */
WK_COLD wk_spread_sum
wk_spread(double n, const double *square, int squares, const double *sum, int sums, int parts)
{
    wk_chain c = {{0, 0, 0, 0, 0}, 0};
    WK_ROLLED
    for (int i = 0; i < squares; i++) wk_chain_add_product(&c, n, square[i]);
    WK_ROLLED
    for (int p = 0; p < parts; p++, sum += sums) {
        WK_ROLLED
        for (int i = 0; i < sums; i++) {
            WK_ROLLED
            for (int j = i; j < sums; j++)
                wk_chain_add_product(&c, i == j ? -sum[i] : -2 * sum[i], sum[j]);
        }
    }
    wk_chain_settle(&c);
    for (int k = 3; k < WK_CHAIN; k++) c.lost += fabs(c.s[k]);
    const wk_spread_sum r = {{c.s[0], c.s[1], c.s[2]}, 2 * c.lost};
    return r;
}

#endif
