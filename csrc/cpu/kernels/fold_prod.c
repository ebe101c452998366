/* fold_prod.c -- reduce "prod". */
#define TABLE WK_ISA_NAME(wk_folds_prod)
#define OP(a, b) ((a) * (b))
#define INT_IDENTITY 1
#define FLOAT_IDENTITY 1.0
#define EMPTY 1
#include "fold_arith.h"
