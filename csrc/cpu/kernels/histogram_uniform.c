/* histogram_uniform.c -- numpy.histogram's equal bins, in vectors.
 *
 * t = (x - first) * scale - 1/2 is computed in float64. Where csrc/bins.c says that NumPy's bin is
 * the one whose edges enclose x, it is the integer next to t unless t is about half way between
 * two: only there are the edges looked at. Else the bin is computed as NumPy does it, step by
 * step, and the edges are always looked at.
 * Source  numpy/lib/_histograms_impl.py */
#include "histogram.h"

#include <math.h>

enum { SOME = 64 }; /* elements that look at the edges together, if one of them must */

/* The guess's own error is that of float64; guard[1] allows for that of float32, bins 2^-21, as
 * well. What float32 rounded off guard[1] itself is below 2^-25. */
void
WK_ISA_NAME(wk_plan_uniform)(wk_binner *b)
{
    const wk_histogram_args *h = b->args;
    const double bins = (double)h->bins;
    b->low = wk_rounded(h->first, h->element);
    b->high = wk_rounded(h->last, h->element);
    if (b->dtype < WK_F16) { /* asked of the integers */
        b->low = -INFINITY;
        b->high = INFINITY;
    }
    b->guard = -1;
    if (!(h->guard[1] > 0)) return;
    const double rest = 0.5 - (double)h->guard[1] - bins * 0x1p-21;
    const double error = (rest > 0 ? rest : 0) + bins * 0x1p-50 + 0x1p-25;
    b->scale = bins / h->width;
    /* more than one in four groups looks at the edges: then all do, without a branch */
    b->guard = error * 2 * SOME > 0.25 ? 0 : 0.5 - error;
}

/* The nearest integers, but for those outside; 1: for one of them the edges must tell. */
static inline int
guess(const wk_binner *b, const double *x, int64_t n, int64_t *bin)
{
    const double low = b->low, high = b->high, first = b->args->first, scale = b->scale;
    const double top = (double)(b->bins - 1), guard = b->guard, magic = 0x1.8p52;
    const int64_t bins = b->bins, zero = (int64_t)wk_bits_f64(magic);
    int64_t near = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = (x[i] - first) * scale - 0.5;
        t = t > 0 ? t : 0;
        t = t < top ? t : top;
        const double s = t + magic, off = fabs(t - (s - magic));
        const int in = (x[i] >= low) & (x[i] <= high);
        const int64_t at = (int64_t)wk_bits_f64(s) - zero;
        bin[i] = in ? at : bins;
        near |= -(int64_t)(off > guard);
    }
    return near != 0;
}

/* wk_uniform_guess; a type that is not float32 is float64. */
static inline __attribute__((always_inline)) void
divide(const wk_binner *b, const double *x, int64_t n, int64_t *bin, int element32,
       int quotient32)
{
    const wk_histogram_args *h = b->args;
    const double low = b->low, high = b->high, first = h->first, width = h->width;
    const double count = (double)b->bins, some = wk_rounded(count, h->quotient);
    const int64_t bins = b->bins;
    for (int64_t i = 0; i < n; i++) {
        double f = x[i] - first;
        if (element32) f = (double)(float)f;
        f = f / width;
        if (quotient32) f = (double)(float)f;
        f = f * some;
        if (quotient32) f = (double)(float)f;
        const int in = (x[i] >= low) & (x[i] <= high);
        const int below = f < count;
        f = in & below & (f > 0) ? f : 0; /* a difference just below zero is cut to it */
        bin[i] = in ? below ? (int64_t)f : bins - 1 : bins;
    }
}

static void
divide_16(const wk_binner *b, const double *x, int64_t n, int64_t *bin)
{
    for (int64_t i = 0; i < n; i++)
        bin[i] = x[i] >= b->low && x[i] <= b->high ? wk_uniform_guess(b->args, x[i]) : b->bins;
}

static void
divide_any(const wk_binner *b, const double *x, int64_t n, int64_t *bin)
{
    const wk_dtype element = b->args->element, quotient = b->args->quotient;
    if (element < WK_F32 || quotient < WK_F32)
        divide_16(b, x, n, bin);
    else if (element == WK_F32 && quotient == WK_F32)
        divide(b, x, n, bin, 1, 1);
    else if (element == WK_F32)
        divide(b, x, n, bin, 1, 0);
    else if (quotient == WK_F32)
        divide(b, x, n, bin, 0, 1);
    else
        divide(b, x, n, bin, 0, 0);
}

/* bins_body.h's settle, without a branch. */
static void
settle_f32(const wk_binner *b, const double *x, int64_t n, int64_t *bin)
{
    const float *edges = b->edges;
    const int64_t bins = b->bins;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = bin[i];
        int64_t k = at < bins ? at : bins - 1;
        k -= (x[i] < (double)edges[k]) & (k > 0);
        k += (x[i] >= (double)edges[k + 1]) & (k != bins - 1);
        bin[i] = at < bins ? k : bins;
    }
}

static void
settle_f64(const wk_binner *b, const double *x, int64_t n, int64_t *bin)
{
    const double *edges = b->edges;
    const int64_t bins = b->bins;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = bin[i];
        int64_t k = at < bins ? at : bins - 1;
        k -= (x[i] < edges[k]) & (k > 0);
        k += (x[i] >= edges[k + 1]) & (k != bins - 1);
        bin[i] = at < bins ? k : bins;
    }
}

void
WK_ISA_NAME(wk_uniform_bins)(const wk_binner *b, const double *x, int64_t n, int64_t *bin)
{
    for (int64_t i = 0; i < n; i += SOME) {
        const int64_t count = n - i < SOME ? n - i : SOME;
        int look = 1;
        if (b->guard < 0)
            divide_any(b, x + i, count, bin + i);
        else
            look = guess(b, x + i, count, bin + i);
        if (!look) continue;
        if (b->edges_dtype == WK_F32)
            settle_f32(b, x + i, count, bin + i);
        else
            settle_f64(b, x + i, count, bin + i);
    }
}
