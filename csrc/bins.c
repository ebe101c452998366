/* bins.c -- how exactly a quick guess finds numpy.histogram's bin. */
#include "bins.h"
#include "num/halves.h"

#include <math.h>

static double
roundoff(wk_dtype dtype) /* relative, of one rounding */
{
    return dtype == WK_BF16  ? 0x1p-8
           : dtype == WK_F16 ? 0x1p-11
           : dtype == WK_F32 ? 0x1p-24
                             : 0x1p-53;
}

static double
least(wk_dtype dtype) /* the smallest number above zero */
{
    return dtype == WK_BF16  ? 0x1p-133
           : dtype == WK_F16 ? 0x1p-24
           : dtype == WK_F32 ? 0x1p-149
                             : 0x1p-1074;
}

/* And computing with it is exact? */
static int
is_integer(double x)
{
    return floor(x) == x && fabs(x) < 0x1p52;
}

/* Errors are in bins. An edge is off its place in exact arithmetic by its own rounding and that of
 * the ends, and by those of the step between them and of its multiples; a subnormal step's counts once
 * a bin. NumPy's quotient by that of the difference, the division and the product. */
void
wk_plan_bins(wk_histogram_args *h)
{
    h->first = wk_rounded(h->first, h->element); /* as NumPy compares with them */
    h->last = wk_rounded(h->last, h->element);
    const double bins = (double)h->bins, scale = bins / h->width;
    const double ends = fmax(fabs(h->first), fabs(h->last));
    h->off = bins * 4 * roundoff(h->element) +
             scale * (2 * ends * roundoff(h->element) + (2 + bins) * least(h->element));
    const double quotient =
        bins * (roundoff(h->element) + 3 * roundoff(h->quotient)) + scale * least(h->element);
    const int usual = scale > 1e-30 && scale < 1e30; /* and no infinity */
    h->by_edges = usual && h->off + quotient < 0.9;
    h->scale = usual ? (float)scale : 0;
    const double low = h->first < 0 ? (double)(int64_t)h->low : (double)h->low;
    const int on_integers =
        is_integer(h->first) && is_integer(h->last) && is_integer((h->last - h->first) / bins);
    h->bias = usual ? (float)((low - h->first + (on_integers ? 0.5 : 0)) * scale - 0.5) : 0;
    for (int wide = 0; wide < 2; wide++) {
        const double ends_error = scale * ends * (wide ? 0x1p-52 : 0x1p-23);
        const double error = ends_error + bins * 0x1p-22 + h->off; /* four roundings at most */
        h->guard[wide] = h->by_edges && error < 0.45 ? (float)(0.5 - error) : -1;
    }
}

/* Four of them, for each comparison waits for the one before. */
#define HIGHEST(bits)                                                                          \
    static uint64_t highest_##bits(const char *from, int64_t n, int64_t step)                  \
    {                                                                                          \
        const uint##bits##_t *x = (const uint##bits##_t *)from;                                \
        uint##bits##_t high[4] = {0};                                                          \
        int64_t i = 0;                                                                         \
        for (; i + 4 <= n; i += 4)                                                             \
            for (int k = 0; k < 4; k++)                                                        \
                high[k] = x[(i + k) * step] > high[k] ? x[(i + k) * step] : high[k];           \
        for (; i < n; i++) high[0] = x[i * step] > high[0] ? x[i * step] : high[0];            \
        for (int k = 1; k < 4; k++) high[0] = high[k] > high[0] ? high[k] : high[0];           \
        return high[0];                                                                        \
    }
HIGHEST(8)
HIGHEST(16)
HIGHEST(32)
HIGHEST(64)

int64_t
wk_values_of(const wk_array *a)
{
    static uint64_t (*const highest[])(const char *, int64_t, int64_t) = {
        [1] = highest_8,
        [2] = highest_16,
        [4] = highest_32,
        [8] = highest_64,
    };
    const int item = wk_itemsize[a->dtype];
    if (a->shape[0] == 0) return 0;
    uint64_t high = highest[item]((const char *)a->host + a->first, a->shape[0], a->strides[0]);
    if (a->dtype == WK_BOOL) high = high != 0; /* any byte but 0 is true */
    const int is_signed = a->dtype == WK_I8 || a->dtype == WK_I16 || a->dtype == WK_I32;
    const uint64_t end = is_signed ? (uint64_t)1 << (8 * item - 1) : INT64_MAX;
    return high < end ? (int64_t)high + 1 : -1;
}
