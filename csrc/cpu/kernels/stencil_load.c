/* stencil_load.c -- elements of any dtype as what sums of stencil1d are made of, rounded once. */
#include "num/halves.h"
#include "stencil.h"

#define LOAD(name) TO_SUMS(OF(name))
#define VALUE(x) KIND(VALUE)(x)
#define VALUE_truth(x) ((x) != 0)
#define VALUE_int(x) (x)
#define VALUE_long(x) (x)
#define VALUE_f16(x) wk_f32_of_f16(x)
#define VALUE_bf16(x) wk_f32_of_bf16(x)
#define VALUE_f32(x) (x)
#define VALUE_f64(x) (x)

#define S double
#define TO_SUMS(name) WK_PASTE(name, to_f64)
#define BODY "stencil_load_body.h"
#include "each_real.h"
#undef S
#undef TO_SUMS
#define S float
#define TO_SUMS(name) WK_PASTE(name, to_f32)
#define BODY "stencil_load_body.h"
#include "each_real.h"

#define LOADS(way, to)                                                                         \
    {                                                                                          \
        [WK_BOOL] = way##_bool_##to, [WK_I8] = way##_i8_##to, [WK_U8] = way##_u8_##to,         \
        [WK_I16] = way##_i16_##to, [WK_U16] = way##_u16_##to, [WK_I32] = way##_i32_##to,       \
        [WK_U32] = way##_u32_##to, [WK_I64] = way##_i64_##to, [WK_U64] = way##_u64_##to,       \
        [WK_F16] = way##_f16_##to, [WK_BF16] = way##_bf16_##to, [WK_F32] = way##_f32_##to,     \
        [WK_F64] = way##_f64_##to                                                              \
    }
static wk_stencil_load *const loads_to_f64[WK_DTYPES] = LOADS(load, to_f64);
static wk_stencil_load *const loads_to_f32[WK_DTYPES] = LOADS(load, to_f32);
static wk_stencil_load *const twices_to_f64[WK_DTYPES] = LOADS(twice, to_f64);
static wk_stencil_load *const twices_to_f32[WK_DTYPES] = LOADS(twice, to_f32);

wk_stencil_load *
WK_ISA_NAME(wk_stencil_loader)(wk_dtype in, int to_double, int twice)
{
    if (in == WK_C64) in = WK_F32; /* their parts */
    if (in == WK_C128) in = WK_F64;
    if (to_double) return twice ? twices_to_f64[in] : loads_to_f64[in];
    return twice ? twices_to_f32[in] : loads_to_f32[in];
}
