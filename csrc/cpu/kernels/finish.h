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

/* Sums in lanes: word k of output w is lane[k * stride + w * step]. */
typedef struct wk_words {
    const wk_word *lane;
    int64_t stride, step;
    int words, parts, integer; /* parts that count together lie side by side */
} wk_words;

enum { WK_BOUNDS = 256 };
/* Of the first `width` <= WK_BOUNDS outputs, of n elements each; both bounds NaN: none is known.
 * 0: of no output. */
int WK_ISA_NAME(wk_mean_bounds)(const wk_words *sum, int64_t n, wk_dtype dtype, int64_t width,
                                double *low, double *high);
int WK_ISA_NAME(wk_variance_bounds)(const wk_words *sum, const wk_words *squares, int64_t n,
                                    double ddof, int root, wk_dtype dtype, int64_t width,
                                    double *low, double *high);
int WK_ISA_NAME(wk_square_bounds)(const wk_words *squares, int64_t n, int root, wk_dtype dtype,
                                  int64_t width, double *low, double *high);

/* The sum, or the mean, rounded to a real dtype. */
double WK_ISA_NAME(wk_finish_exact)(const wk_exact *e, int64_t n, int divide, wk_dtype dtype);

/* A sum of products, which is not -0.0 where it is exactly zero. */
double WK_ISA_NAME(wk_finish_products)(const wk_exact *e, wk_dtype dtype);

/* 1: the call was for the norm of one run, or its squares, and has it. */
int WK_ISA_NAME(wk_norm_near)(wk_call *call);

/* Is there a NaN among n elements? */
int WK_ISA_NAME(wk_any_nan)(wk_dtype dtype, const void *x, int64_t n);
/* keep[i] = 0 where element i is. */
void WK_ISA_NAME(wk_drop_nan)(wk_dtype dtype, const void *x, int64_t n, uint8_t *restrict keep);

double WK_ISA_NAME(wk_real_of_key)(const void *key, wk_dtype dtype);
uint64_t WK_ISA_NAME(wk_integer_of_key)(const void *key, wk_dtype dtype);

#endif
