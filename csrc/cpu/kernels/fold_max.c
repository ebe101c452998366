/* fold_max.c -- reduce "max". */
#define TABLE WK_ISA_NAME(wk_folds_max)
#define OP(a, b) ((a) > (b) ? (a) : (b))
#define EXTREME(T) BOTTOM(T)
#define NAN_KEY(T) TOP(T)
#include "fold_extreme.h"
