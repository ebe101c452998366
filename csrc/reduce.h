/* reduce.h -- the families of reductions: what one pass over the data can give. */
#ifndef WARPKIT_REDUCE_H
#define WARPKIT_REDUCE_H

#include "warpkit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A family is an accumulator: what is kept while elements pass. All but TREE take them in any
 * order and give the same bits. The initial value, where there is one, is u of WRAP and PRODUCT,
 * f64[] (real, imaginary) of TREE, f64[output % planes] of SUM, an element in bytes of EXTREME; no
 * other family takes one. Of SUM and SQUARES complex arrays are real ones with one more axis. */
typedef enum {
    WK_FAMILY_COUNT,   /* any, all, count_nonzero: int64                                      */
    WK_FAMILY_WRAP,    /* sum of bool and integers, modulo 2^64                               */
    WK_FAMILY_PRODUCT, /* prod of bool and integers, modulo 2^64                              */
    WK_FAMILY_TREE,    /* prod of floats and complex, in double, by num/tree.h's tree         */
    WK_FAMILY_EXTREME, /* min, max, ptp: in the order of num/keys.h; complex: by (re, im)   */
    WK_FAMILY_ARG,     /* argmin, argmax: key and index; the first of equals                  */
    WK_FAMILY_SUM, /* sum, mean of floats: num/exact.h                                        */
    WK_FAMILY_SQUARES, /* sumsq, norm of floats                                               */
    WK_FAMILY_SUMMARY, /* any of sum, mean, sumsq, norm, var, std, min, max, ptp, any, all,
                          count_nonzero, several at once; of integers too. Of complex numbers
                          neither sum, mean nor extremes                                       */
    WK_FAMILIES
} wk_family;

/* The family that gives all these folds of elements of a dtype in one pass; -1: there is none. */
int wk_family_of(const wk_fold *folds, int count, wk_dtype dtype);

/* Does none of these folds ask for more than sums, of elements and of their squares? */
int wk_only_moments(const wk_fold *folds, int count);

/* A sum of real and imaginary parts that lie beside no other output's becomes one of complex numbers;
 * else the call stays as it is, and the answer is 0. */
int wk_pair_parts(wk_call *call);

/* The same of squares, whose parts are folded; a matrix of two columns will do. */
int wk_pair_squares(wk_call *call);

/* The dtype that NumPy gives a fold of this dtype, were dtype= not given. */
wk_dtype wk_fold_dtype(wk_fold fold, wk_dtype in);

int wk_is_unsigned(wk_dtype dtype); /* uint8 ... uint64 */
int wk_is_float(wk_dtype dtype);    /* float16 ... float64 */
int wk_is_complex(wk_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
