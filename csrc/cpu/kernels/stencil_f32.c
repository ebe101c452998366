/* stencil_f32.c -- stencil1d's sums in float32: see stencil.c. */
#include "num/line.h"
#include "stencil.h"
#include "cpu/fp.h"
#include "num/bits.h"
#include "stencil_simd.h"

#define S float
#define V wk_vs
#define VL WK_VS
#define FMA FMA_F32
#define SWAP SWAP_F32
#define PAIR wk_pair_f32
#define ONE_NAN wk_one_nan_vs
#define SUMS(name) name##_f32
#include "stencil_sums_body.h"
#include "stencil_tasks_body.h"
