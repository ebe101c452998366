/* bins.c -- how exactly a quick guess finds numpy.histogram's bin. */
#include "bins.h"
#include "scalar.h"

#include <math.h>

static double
epsilon(wk_dtype dtype) /* half an ulp of 1 */
{
    return dtype == WK_BF16  ? 0x1p-9
           : dtype == WK_F16 ? 0x1p-12
           : dtype == WK_F32 ? 0x1p-25
                             : 0x1p-54;
}

static double
least(wk_dtype dtype) /* the smallest number above zero */
{
    return dtype == WK_BF16  ? 0x1p-133
           : dtype == WK_F16 ? 0x1p-24
           : dtype == WK_F32 ? 0x1p-149
                             : 0x1p-1074;
}

/* Errors are in bins. An edge is off its place in exact arithmetic by its own rounding and that of
 * the ends, and by that of the step between them once a bin, which counts where the step is subnormal;
 * NumPy's quotient by that of the difference, the division and the product. */
void
wk_plan_bins(wk_histogram_args *h)
{
    const double bins = (double)h->bins, scale = bins / h->width;
    const double ends = fmax(fabs(h->first), fabs(h->last));
    const double edges =
        scale * (4 * ends * 2 * epsilon(h->element) + (2 + bins) * least(h->element));
    const double quotient =
        bins * 2 * (epsilon(h->element) + 3 * epsilon(h->quotient)) + scale * least(h->element);
    const int usual = scale > 1e-30 && scale < 1e30; /* and no infinity */
    h->by_edges = usual && edges + quotient < 0.9;
    h->scale = usual ? (float)scale : 0;
    for (int wide = 0; wide < 2; wide++) {
        const double x = scale * ends * (wide ? 0x1p-51 : 0x1p-22); /* the difference's */
        const double error = x + bins * 0x1p-21 + edges;
        h->guard[wide] = h->by_edges && error < 0.45 ? (float)(0.5 - error) : -1;
    }
}
