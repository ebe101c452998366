/* exact_slow.c -- bins that hang from the block's largest element; below them, integers.
 *
 * Bin k starts at M = 1.5 2^(unit + 52): s + x then rounds x to a multiple of its unit, and what
 * was cut off is exact and goes to the next bin. The last bin takes the rest as it is.
 *
 * Why the windows hold: 1024 elements below 2^(top + 1) are at most 128 a lane, so a bin moves by
 * less than 2^(top + 8) <= 2^(unit + 50) and stays in M's binade. Rests are at most half a unit,
 * which is the same again with top = unit - 2. The last bin's elements are at most half of the
 * unit above, 1024 of them 2^(unit + 9), multiples of 2^(unit - 44): 53 bits. */
#include "exact_slow.h"
#include "vector.h"

enum {
    FALL = 42, /* from the largest exponent to the first unit */
    STEP = 44, /* from one unit to the next                   */
    BINS = 4,
    SETS = 4,
    MOST = 1000 /* exponents beyond leave no room for M */
};

wk_range
WK_ISA_NAME(wk_range_of)(const double *x, int64_t n)
{
    int64_t most = 0, least = INT64_MAX;
    for (int64_t i = 0; i < n; i++) {
        int64_t b;
        memcpy(&b, x + i, sizeof b);
        b &= INT64_MAX;
        const int64_t some = b ? b : INT64_MAX;
        most = b > most ? b : most;
        least = some < least ? some : least;
    }
    return (wk_range){(uint64_t)most, most ? (uint64_t)least : 0};
}

static inline double
power(int e)
{
    return wk_from_bits_f64((uint64_t)(e + 1023) << 52);
}

static inline __attribute__((always_inline)) void
take(wk_vd (*s)[SETS], int set, wk_vd v, int bins)
{
    for (int k = 0; k < bins - 1; k++) {
        const wk_vd t = s[k][set] + v;
        v -= t - s[k][set];
        s[k][set] = t;
    }
    s[bins - 1][set] += v;
}

static inline __attribute__((always_inline)) void
add_bins(wk_exact *e, const double *x, int64_t n, int top, int bins)
{
    wk_vd s[BINS][SETS], start[BINS];
    for (int k = 0; k < bins; k++) {
        const double m = k < bins - 1 ? 1.5 * power(top - FALL - k * STEP + 52) : 0.0;
        start[k] = wk_splat(m);
        for (int j = 0; j < SETS; j++) s[k][j] = start[k];
    }
    int64_t i = 0;
    for (; i + SETS * WK_VD <= n; i += SETS * WK_VD)
        for (int j = 0; j < SETS; j++) take(s, j, wk_load_f64(x + i + j * WK_VD), bins);
    for (; i < n; i++) {
        double some[WK_VD] = {x[i]};
        take(s, 0, wk_load_f64(some), bins);
    }
    for (int k = 0; k < bins; k++) {
        double sum = 0, one[WK_VD];
        for (int j = 0; j < SETS; j++) {
            const wk_vd v = s[k][j] - start[k];
            memcpy(one, &v, sizeof v);
            for (int l = 0; l < WK_VD; l++) sum += one[l];
        }
        if (sum != 0) wk_exact_add(e, sum);
    }
}

void
WK_ISA_NAME(wk_exact_slow)(wk_exact *e, const double *x, int64_t n, int digits)
{
    const wk_range range = WK_ISA_NAME(wk_range_of)(x, n);
    const int raw = (int)(range.most >> 52), top = raw - 1023;
    int low = (int)(range.least >> 52) - 1023 - (digits - 1);
    if (low < -1074) low = -1074;
    if (range.most && raw < 2047 && top > -MOST && top < MOST - 40) {
        e->flags |= WK_NOT_MINUS_ZERO;
        const int depth = top - FALL - STEP - low; /* below what two bins reach */
        if (depth <= 0) {
            add_bins(e, x, n, top, 2);
            return;
        }
        if (depth <= STEP) {
            add_bins(e, x, n, top, 3);
            return;
        }
        if (depth <= 2 * STEP) {
            add_bins(e, x, n, top, 4);
            return;
        }
    }
    for (int64_t i = 0; i < n; i++) wk_exact_add(e, x[i]);
}
