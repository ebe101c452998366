/* stencil_f64.c -- stencil1d's sums in float64: see stencil.c. */
#include "num/line.h"
#include "stencil.h"
#include "cpu/fp.h"
#include "num/bits.h"
#include "stencil_simd.h"

#define S double
#define V wk_vd
#define VL WK_VD
#define FMA FMA_F64
#define SWAP SWAP_F64
#define PAIR wk_pair_f64
#define ONE_NAN wk_one_nan_vd
#define SUMS(name) name##_f64
#include "stencil_sums_body.h"
#include "stencil_tasks_body.h"
