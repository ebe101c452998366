/* bins.h -- the plan of equal bins; in the core. */
#ifndef WARPKIT_BINS_H
#define WARPKIT_BINS_H

#include "warpkit.h"

/* Of UNIFORM bins, from bins, first, last, width, element and quotient:
 *   by_edges  NumPy's bin of x is the one whose edges enclose x: its quotient is off by less than
 *             one bin, and by that much it looks at the edges
 *   off       how far an edge may be from where exact arithmetic has it, in bins
 *   scale     bins / width. A guess from t = (x - first) * scale - 1/2, in float32, is the integer
 *             next to it, and NumPy's bin, where |t - that integer| <= guard
 *   guard     of x - first computed in float32 [0] and in float64 [1]. Further off the integer the
 *             guess may be off by one, and the edges tell; -1: this says nothing, divide as NumPy
 *             does (wk_uniform_bin)
 *   bias      of integers t = (x - low) * scale + bias, whose difference is exact. Where the edges are
 *             integers too, it is that of x + 1/2, which is in x's bin, and on no edge */
void wk_plan_bins(wk_histogram_args *args);

/* How many values there may be in bins by value: one more than the largest of integers on one axis in
 * the host's memory; -1: one is negative, or too large. */
int64_t wk_values_of(const wk_array *a);

#endif
