/* stencil_load.c -- elements of any dtype as what sums of stencil1d are made of, rounded once. */
#include "scalar.h"
#include "stencil.h"

#define S double
#define TO_SUMS(name) WK_PASTE(name, to_f64)
#include "stencil_load_types.h"
#undef S
#undef TO_SUMS
#define S float
#define TO_SUMS(name) WK_PASTE(name, to_f32)
#include "stencil_load_types.h"

wk_stencil_load *
WK_ISA_NAME(wk_stencil_loader)(wk_dtype in, int to_double, int twice)
{
    if (in == WK_C64) in = WK_F32; /* their parts */
    if (in == WK_C128) in = WK_F64;
    if (to_double) return twice ? twices_to_f64[in] : loads_to_f64[in];
    return twice ? twices_to_f32[in] : loads_to_f32[in];
}
