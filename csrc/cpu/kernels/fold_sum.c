/* fold_sum.c -- reduce "sum". The identity is -0.0: the sum of -0.0 alone is -0.0. */
#define TABLE WK_ISA_NAME(wk_folds_sum)
#define OP(a, b) ((a) + (b))
#define INT_IDENTITY 0
#define FLOAT_IDENTITY (-0.0)
#define EMPTY 0
#include "fold_arith.h"
