/* histogram_uniform.c -- numpy.histogram's equal bins, in vectors.
 *
 * t = (x - first) * scale - 1/2 is computed in float64. Where csrc/bins.c says that NumPy's bin is
 * the one whose edges enclose x, it is the integer next to t unless t is about half way between
 * two: only there are the edges looked at. Else the bin is computed as NumPy does it, step by
 * step, and the edges are always looked at.
 * Source  numpy/lib/_histograms_impl.py */
#include "histogram.h"

#include <math.h>

enum { SOME = 64 }; /* elements of which those that must look at the edges are listed, if any */

/* The guess's own error is that of float64. A guard of 0 looks at the edges always. */
void
WK_ISA_NAME(wk_plan_uniform)(wk_binner *b)
{
    const wk_histogram_args *h = b->args;
    const double bins = (double)h->bins;
    b->low = wk_rounded(h->first, h->element);
    b->high = wk_rounded(h->last, h->element);
    b->guard = -1;
    if (h->by_edges) {
        b->scale = bins / h->width;
        const double ends = fmax(fabs(b->low), fabs(b->high));
        const double error = h->off + b->scale * ends * 0x1p-52 + bins * 0x1p-50;
        b->guard = error < 0.5 ? 0.5 - error : 0;
    }
    if (b->dtype < WK_F16) { /* asked of the integers */
        b->low = -INFINITY;
        b->high = INFINITY;
    }
}

/* The nearest integers, but for those outside, and how far off they are; 1: some are too far. */
static inline int
guess(const wk_binner *b, const double *x, int64_t n, int64_t *bin, double *off)
{
    const double low = b->low, high = b->high, first = b->args->first, scale = b->scale;
    const double top = (double)(b->bins - 1), guard = b->guard, magic = 0x1.8p52;
    const int64_t bins = b->bins, zero = (int64_t)wk_bits_f64(magic);
    int64_t far = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = (x[i] - first) * scale - 0.5;
        t = t > 0 ? t : 0;
        t = t < top ? t : top;
        const double s = t + magic;
        const int in = (x[i] >= low) & (x[i] <= high);
        const int64_t at = (int64_t)wk_bits_f64(s) - zero;
        bin[i] = in ? at : bins;
        off[i] = in ? fabs(t - (s - magic)) : 0;
        far |= -(int64_t)(off[i] > guard);
    }
    return far != 0;
}

/* wk_uniform_guess; a type that is not float32 is float64. */
static inline __attribute__((always_inline)) void
divide(const wk_binner *b, const double *x, int64_t n, int64_t *bin, double *off, int element32,
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
        off[i] = in ? 1 : 0;
    }
}

static void
divide_16(const wk_binner *b, const double *x, int64_t n, int64_t *bin, double *off)
{
    for (int64_t i = 0; i < n; i++) {
        const double v = x[i]; /* read once: another thread may write to it */
        const int in = v >= b->low && v <= b->high;
        bin[i] = in ? wk_uniform_guess(b->args, v) : b->bins;
        off[i] = in;
    }
}

static void
divide_any(const wk_binner *b, const double *x, int64_t n, int64_t *bin, double *off)
{
    const wk_dtype element = b->args->element, quotient = b->args->quotient;
    if (element < WK_F32 || quotient < WK_F32)
        divide_16(b, x, n, bin, off);
    else if (element == WK_F32 && quotient == WK_F32)
        divide(b, x, n, bin, off, 1, 1);
    else if (element == WK_F32)
        divide(b, x, n, bin, off, 1, 0);
    else if (quotient == WK_F32)
        divide(b, x, n, bin, off, 0, 1);
    else
        divide(b, x, n, bin, off, 0, 0);
}

/* bins_body.h's settle, of elements that are inside; no branch depends on them. */
static inline __attribute__((always_inline)) void
settle(const wk_binner *b, const double *x, const int32_t *list, int64_t n, int64_t *bin,
       int narrow)
{
    const float *edges32 = b->edges;
    const double *edges64 = b->edges;
    const int64_t last = b->bins - 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = list[i];
        int64_t k = bin[at];
        k -= x[at] < (narrow ? (double)edges32[k] : edges64[k]);
        k = k > 0 ? k : 0;
        k += x[at] >= (narrow ? (double)edges32[k + 1] : edges64[k + 1]);
        bin[at] = k < last ? k : last;
    }
}

void
WK_ISA_NAME(wk_uniform_bins)(const wk_binner *b, const double *x, int64_t n, int64_t *bin)
{
    const double guard = b->guard;
    double off[SOME];
    int32_t list[SOME + 1];
    for (; n > 0; n -= SOME, x += SOME, bin += SOME) {
        const int64_t some = n < SOME ? n : SOME;
        if (guard < 0)
            divide_any(b, x, some, bin, off);
        else if (!guess(b, x, some, bin, off))
            continue;
        int64_t far = 0;
        for (int32_t i = 0; i < some; i++) {
            list[far] = i;
            far += off[i] > (guard > 0 ? guard : 0);
        }
        if (b->edges_dtype == WK_F32)
            settle(b, x, list, far, bin, 1);
        else
            settle(b, x, list, far, bin, 0);
    }
}
