/* near.h -- results of exact parts without limbs: the double nearest, where it can be proved.
 *
 * A quotient or a root is found to about 100 bits as a double and a correction; if the double
 * nearest is the same over all that the error allows, it is the answer. Else limbs decide. */
#ifndef WARPKIT_NEAR_H
#define WARPKIT_NEAR_H

#include "num/exact.h"

#include <math.h>

typedef struct wk_near {
    double d;    /* nearest to the exact value                   */
    double rest; /* of the sign of the exact value less d; 0: is it */
    int known;
} wk_near;

typedef struct wk_pair { /* high + low, low at most half a unit of high */
    double high, low;
} wk_pair;

static inline wk_pair
wk_two_sum(double a, double b)
{
    const double s = a + b, other = s - a;
    return (wk_pair){s, (a - (s - other)) + (b - other)};
}

static inline wk_pair
wk_two_product(double a, double b)
{
    const double p = a * b;
    return (wk_pair){p, fma(a, b, -p)};
}

/* Neither overflows nor loses bits to subnormals in what follows. */
static inline int
wk_moderate(double x)
{
    const double m = fabs(x);
    return m > 0x1p-400 && m < 0x1p400;
}

/* q + c, of which c is known but for `slack`; with some to spare, or the sums below would round it off. */
static inline wk_near
wk_settle(double q, double c, double slack)
{
    if (slack > 0) slack += fabs(c) * 0x1p-50;
    wk_near near = {q + (c - slack), 0, 0};
    near.rest = (q - near.d) + c;
    near.known = near.d == q + (c + slack) && (slack == 0 || fabs(near.rest) > slack);
    return near;
}

/* x / d for a pair without error, d a whole number. */
static inline wk_near
wk_near_quotient(wk_pair x, double d)
{
    const double q = x.high / d;
    const double r = fma(-q, d, x.high);
    if (!wk_moderate(x.high) || !(d < 0x1p53)) return (wk_near){0, 0, 0};
    if (x.low == 0) return (wk_near){q, r, 1}; /* the chip rounds as it must */
    const double c = (r + x.low) / d;
    return wk_settle(q, c, fabs(c) * 0x1p-48);
}

/* The root of high + low, of which low is known but for `slack`. */
static inline wk_near
wk_near_root(wk_pair x, double slack)
{
    const double s = sqrt(x.high);
    const double r = fma(-s, s, x.high);
    if (!wk_moderate(x.high)) return (wk_near){0, 0, 0};
    if (slack == 0 && (x.low == 0 || r + x.low == 0)) return (wk_near){s, r + x.low, 1};
    const double c = (r + x.low) / (s + s);
    return wk_settle(s, c, fabs(c) * 0x1p-46 + slack / s + s * 0x1p-103);
}

/* The double nearest in a smaller format, when what is left out is only known by its sign. */
static inline double
wk_narrow(wk_near near, wk_dtype dtype)
{
    const wk_format f = wk_format_of(dtype);
    double x = near.d;
    if (dtype == WK_F64 || !(fabs(x) < wk_infinity(0)) || x == 0) return x;
    uint64_t b = wk_bits_f64(x);
    if (near.rest != 0 && !(b & 1)) /* odd, and so no tie */
        b = (near.rest > 0) == (x > 0) ? b + 1 : b - 1;
    x = wk_from_bits_f64(b);
    if (dtype == WK_F32) return (double)(float)x;
    int unit = (int)(b >> 52 & 2047) - 1023 - f.digits + 1;
    if (unit < f.least) unit = f.least;
    /* a sum with 1.5 2^(unit + 52) is rounded to a multiple of the unit */
    const double most = wk_power_of_two(f.most) * 2;
    if (fabs(x) >= most) return wk_infinity(x < 0);
    const double m = 1.5 * wk_power_of_two(unit + 52);
    const double r = (x + m) - m;
    if (fabs(r) >= most) return wk_infinity(x < 0);
    return copysign(r, x);
}

#endif
