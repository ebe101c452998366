/* finish.h -- results, per instruction set: their proofs need a fast fma. */
#ifndef WARPKIT_FINISH_H
#define WARPKIT_FINISH_H

#include "cpu/gather.h"
#include "cpu/isa.h"
#include "cpu/reduction.h"
#include "keys.h"

void WK_ISA_NAME(wk_finish)(const wk_reduction *r, wk_acc *a, int64_t output);
void WK_ISA_NAME(wk_finish_lanes)(const wk_reduction *r, void *const *lanes, int64_t width,
                                  int64_t first, int64_t step);

enum { WK_BOUNDS = 256 };
/* Of WK_BOUNDS outputs at most, whose lanes begin here, or at `from`; a bound that is NaN: none is known.
 * 0: of no output. */
int WK_ISA_NAME(wk_mean_bounds)(const wk_reduction *r, const void *lanes, int64_t width,
                                int64_t stride, double *low, double *high);
int WK_ISA_NAME(wk_variance_bounds)(const wk_reduction *r, void *const *lanes, int64_t from,
                                    int64_t width, int64_t stride, double *low, double *high);

/* The sum, or the mean, rounded to a real dtype. */
double WK_ISA_NAME(wk_finish_exact)(const wk_exact *e, int64_t n, int divide, wk_dtype dtype);

double WK_ISA_NAME(wk_real_of_key)(const void *key, wk_dtype dtype);
uint64_t WK_ISA_NAME(wk_integer_of_key)(const void *key, wk_dtype dtype);

#endif
