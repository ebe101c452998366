/* fold_min.c -- reduce "min". */
#define TABLE WK_ISA_NAME(wk_folds_min)
#define OP(a, b) ((a) < (b) ? (a) : (b))
#define EXTREME(T) TOP(T)
#define NAN_KEY(T) BOTTOM(T)
#include "fold_extreme.h"
