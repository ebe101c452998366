/* exact_slow.c -- bins that hang from the block's largest element; below them, integers.
 *
 * Bin k starts at M = 1.5 2^(unit + 52): s + x then rounds x to a multiple of its unit, and what
 * was cut off is exact and goes to the next bin. The last bin takes the rest as it is.
 *
 * Why the windows hold: 1024 elements below 2^(top + 1) are at most 512 a lane, so a bin moves by
 * less than 2^(top + 10) <= 2^(unit + 51) and stays in M's binade. Rests are at most half a unit,
 * which is the same again with top = unit - 2. The last bin's elements are at most half of the
 * unit above, 1024 of them 2^(unit + 9), multiples of 2^(unit - 43): 52 bits. */
#include "exact_slow.h"
#include "vector.h"

enum {
    FALL = 41,  /* from the largest exponent to the first unit               */
    STEP = 43,  /* from one unit to the next                                 */
    BINS = 8,   /* more cost as much as limbs do                             */
    SETS = 4,   /* of few bins, so that no addition waits for the one before */
    MOST = 1000 /* exponents beyond leave no room for M                      */
};

/* Of upper halves: 32 bits are compared by the chip where 64 are not. */
wk_range
WK_ISA_NAME(wk_range_of)(const double *x, int64_t n)
{
    int32_t most = 0, least = INT32_MAX;
    for (int64_t i = 0; i < n; i++) {
        uint64_t b;
        memcpy(&b, x + i, sizeof b);
        const int32_t high = (int32_t)(b >> 32) & INT32_MAX, low = (int32_t)b;
        const int32_t some = high | (-(int32_t)((high | low) == 0) & INT32_MAX);
        most = high > most ? high : most;
        least = some < least ? some : least;
    }
    return (wk_range){(uint64_t)most << 32, most ? (uint64_t)least << 32 : 0};
}

static inline __attribute__((always_inline)) void
take(wk_vd (*s)[SETS], int set, wk_vd v, int bins)
{
#pragma GCC unroll 8
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
    const int sets = bins <= 2 ? SETS : bins <= 4 ? SETS / 2 : 1;
    wk_vd s[BINS][SETS], start[BINS];
#pragma GCC unroll 8
    for (int k = 0; k < bins; k++) {
        const double m = k < bins - 1 ? 1.5 * wk_power_of_two(top - FALL - k * STEP + 52) : 0.0;
        start[k] = wk_splat(m);
#pragma GCC unroll 4
        for (int j = 0; j < sets; j++) s[k][j] = start[k];
    }
    int64_t i = 0;
    for (; i + sets * WK_VD <= n; i += sets * WK_VD)
#pragma GCC unroll 4
        for (int j = 0; j < sets; j++) take(s, j, wk_load_f64(x + i + j * WK_VD), bins);
    for (; i < n; i += WK_VD) {
        double some[WK_VD] = {0};
        for (int k = 0; k < WK_VD && i + k < n; k++) some[k] = x[i + k];
        take(s, 0, wk_load_f64(some), bins);
    }
#pragma GCC unroll 8
    for (int k = 0; k < bins; k++) {
        double sum = 0, one[WK_VD];
#pragma GCC unroll 4
        for (int j = 0; j < sets; j++) {
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
        const int depth = top - FALL - low; /* below the first unit */
        switch (depth <= STEP ? 2 : (depth + STEP - 1) / STEP + 1) {
        case 2: add_bins(e, x, n, top, 2); return;
        case 3: add_bins(e, x, n, top, 3); return;
        case 4: add_bins(e, x, n, top, 4); return;
        case 5: add_bins(e, x, n, top, 5); return;
        case 6: add_bins(e, x, n, top, 6); return;
        case 7: add_bins(e, x, n, top, 7); return;
        case 8: add_bins(e, x, n, top, 8); return;
        default: break;
        }
    }
    wk_exact_add_each(e, x, n);
}
