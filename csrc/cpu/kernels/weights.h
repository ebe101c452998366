/* weights.h -- weights as pieces: integers whose sums are exact; see weights.c. */
#ifndef WARPKIT_WEIGHTS_H
#define WARPKIT_WEIGHTS_H

#include "histogram.h"
#include "partial.h"

enum {
    WK_PIECES = 4,     /* words of a bin that are added to in vectors            */
    WK_MODERATE = 1000 /* exponents of which the powers of two are all doubles */
};

/* A weight is the sum over k of piece[k] 2^(least + k step); so is a bin's sum of its words. */
typedef struct wk_pieces {
    wk_dtype dtype;  /* of the weights                                                        */
    int part, parts; /* complex: 0, the real parts, or 1; of 2                                */
    int words, step, least;
    int split; /* floats: each weight is cut into all its words; else it is put where it belongs */
    int special; /* there may be NaN and infinities                                           */
} wk_pieces;

/* What was seen of the weights: bits of the largest and of the least magnitude but 0, as doubles. */
typedef struct wk_spread {
    uint64_t most, least;
    int special;
} wk_spread;

/* Of n <= WK_BIN_BLOCK weights, from the start + first. */
void WK_ISA_NAME(wk_weights_spread)(wk_dtype dtype, int part, const void *w, int64_t first,
                                    int64_t n, wk_spread *spread);
void WK_ISA_NAME(wk_weights_load)(wk_dtype dtype, int part, const void *w, int64_t first,
                                  int64_t n, double *x);
/* Integers, of one to three words. */
void WK_ISA_NAME(wk_weights_integers)(const wk_pieces *p, const void *w, int64_t first,
                                      int64_t n, int64_t (*piece)[WK_BIN_BLOCK]);
/* x goes on to a whole vector. */
void WK_ISA_NAME(wk_weights_split)(const wk_pieces *p, const double *x, int64_t n,
                                   int64_t (*piece)[WK_BIN_BLOCK]);
/* Adds finite x where it belongs in the words of its bin. */
void WK_ISA_NAME(wk_weights_scatter)(const wk_pieces *p, const double *x, const int64_t *bin,
                                     int64_t n, int64_t *sums);

/* A bin's sum, and WK_HAS_... of what it does not hold, into element `at`; complex: its part. count: of
 * its elements, by which the sum is divided; NULL: it is not. */
void WK_ISA_NAME(wk_weights_store)(const wk_pieces *p, const int64_t *word, int flags,
                                   const int64_t *count, const wk_array *out, int64_t at);

/* The sums of n bins, whose words lie side by side, rounded to a real dtype. Gives 0: of none; 2: some
 * are not known, which are NaN; else 1. */
int WK_ISA_NAME(wk_weights_round)(const wk_pieces *p, const int64_t *word, int64_t n,
                                  wk_dtype dtype, double *x);

/* The words of partial.h of floats: of element `at`, or of its part. */
void WK_ISA_NAME(wk_weights_keep)(const wk_pieces *p, const int64_t *word, int flags,
                                  int64_t *to, int64_t at);

#endif
