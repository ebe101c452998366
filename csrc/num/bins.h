/* num/bins.h -- the bin of an element, as NumPy's arithmetic has it. */
#ifndef WARPKIT_NUM_BINS_H
#define WARPKIT_NUM_BINS_H

#include "num/halves.h"

#define E float
#define BINS(name) wk_##name##_f32
#include "num/bins_body.h"
#define E double
#define BINS(name) wk_##name##_f64
#include "num/bins_body.h"
#define E int64_t
#define BINS(name) wk_##name##_i64
#define BINS_SEARCH_ONLY
#include "num/bins_body.h"
#define E uint64_t
#define BINS(name) wk_##name##_u64
#define BINS_SEARCH_ONLY
#include "num/bins_body.h"

/* numpy.histogram's arithmetic for equal bins, in the types in which NumPy does it; x lies in the
 * range. */
WK_FN int64_t
wk_uniform_guess(const wk_histogram_args *h, double x)
{
    const double bins = wk_rounded((double)h->bins, h->quotient);
    const double part =
        wk_rounded(wk_rounded(x - h->first, h->element) / h->width, h->quotient);
    const double f = wk_rounded(part * bins, h->quotient);
    return f < (double)h->bins ? (int64_t)f : h->bins - 1; /* NaN too, of an infinite width */
}

/* numpy.histogram's bin of an x in the range, whose element and edges are float64, ... */
WK_FN int64_t
wk_uniform_bin_f64(const wk_histogram_args *h, const double *edges, double x)
{
    return wk_settle_f64(x, edges, h->bins, wk_uniform_guess(h, x));
}

/* ... or smaller floats. */
WK_FN int64_t
wk_uniform_bin_f32(const wk_histogram_args *h, const float *edges, float x)
{
    return wk_settle_f32(x, edges, h->bins, wk_uniform_guess(h, (double)x));
}

#endif
