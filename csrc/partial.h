/* partial.h -- what a reduction needs for its results beside extremes and counts of its own: how many
 * elements counted, and exact sums of them, as words of 64 bits that may be added to others' of the same
 * kind in any order. They are the same on every device.
 *
 *   2 words       how many elements: the lower 32 bits, and the others
 *   4 of floats   is there a NaN, inf, -inf, any number but -0.0: 1 or 0
 *   the sum       limbs of num/exact.h, carried; of complex numbers those of each part
 *   the squares   likewise
 *
 * Of integers the limbs begin at 2^0. All but the last limb of a number are less than 2^32, so that 2^31
 * parts' are added without a carry. On the CPU a call that is a piece (wk_part) writes these words to its
 * state, [outputs] in the order of the results, beside its results; one that finishes reads them. */
#ifndef WARPKIT_PARTIAL_H
#define WARPKIT_PARTIAL_H

#include "num/exact.h"
#include "reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WK_COUNT_WORDS = 2, WK_FLAG_WORDS = 4 };

typedef struct wk_form { /* of an output's words */
    int flags;           /* 0 or WK_FLAG_WORDS                                                */
    int sums, sum_limbs, square_limbs; /* of a sum, and of the squares, if they are there   */
    int sum_skip, square_skip;         /* of num/exact.h's limbs so many are left out       */
    int sum_base, square_base;         /* exponents of the first that is kept               */
    int words;
} wk_form;

/* Of these folds of elements of a dtype; of an integer sum modulo 2^64 there are no limbs. */
wk_form wk_form_of(const wk_fold *folds, int count, wk_dtype dtype);

/* Of weights of a real float dtype: a sum, no squares. */
wk_form wk_form_of_weights(wk_dtype dtype);

typedef struct wk_exact_sums { /* of an output: limbs of the form's, each with 4 more behind */
    int64_t n;
    int flags;
    int64_t sum[2][WK_SUM_LIMBS + 4], squares[WK_SQUARE_LIMBS + 4];
} wk_exact_sums;

/* Zeroes what the form has, and the limbs of a number: 0, 1 a sum, 2 the squares. */
void wk_exact_sums_start(const wk_form *form, wk_exact_sums *s);
wk_limbs wk_exact_sums_limbs(const wk_form *form, wk_exact_sums *s, int number);

/* Carries them, then writes the words. */
void wk_form_save(const wk_form *form, wk_exact_sums *s, int64_t *words);
void wk_form_load(const wk_form *form, const int64_t *words, wk_exact_sums *s);

/* The words of all outputs from a GPU's states (wk_part) of the call, which lie on the host, with so
 * many words each; -1: no states are of that size. */
int wk_words_of_states(const wk_call *call, const uint64_t *states, int64_t size,
                       int64_t *words);

/* The same of sums of weights, of one column of real ones: [limbs][rows], then the flags. */
int wk_words_of_weights(wk_dtype weights, const uint64_t *states, int64_t rows, int64_t size,
                        int64_t step, int64_t *words);

#ifdef __cplusplus
}
#endif

#endif
