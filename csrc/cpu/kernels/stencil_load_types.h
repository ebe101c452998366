/* stencil_load_types.h -- loads of every real dtype as the sums' type S, and the table of them. No
 * include guard. */
#define T uint8_t
#define VALUE(x) ((x) != 0)
#define LOAD(name) TO_SUMS(name##_bool)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T int8_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_i8)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T uint8_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_u8)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T int16_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_i16)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T uint16_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_u16)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T int32_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_i32)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T uint32_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_u32)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T int64_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_i64)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T uint64_t
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_u64)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T float
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_f32)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T double
#define VALUE(x) (x)
#define LOAD(name) TO_SUMS(name##_f64)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T uint16_t
#define VALUE(x) wk_f32_of_f16(x)
#define LOAD(name) TO_SUMS(name##_f16)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD
#define T uint16_t
#define VALUE(x) wk_f32_of_bf16(x)
#define LOAD(name) TO_SUMS(name##_bf16)
#include "stencil_load_body.h"
#undef T
#undef VALUE
#undef LOAD

static wk_stencil_load *const TO_SUMS(loads)[WK_DTYPES] = {
    [WK_BOOL] = TO_SUMS(load_bool), [WK_I8] = TO_SUMS(load_i8),   [WK_U8] = TO_SUMS(load_u8),
    [WK_I16] = TO_SUMS(load_i16),   [WK_U16] = TO_SUMS(load_u16), [WK_I32] = TO_SUMS(load_i32),
    [WK_U32] = TO_SUMS(load_u32),   [WK_I64] = TO_SUMS(load_i64), [WK_U64] = TO_SUMS(load_u64),
    [WK_F32] = TO_SUMS(load_f32),   [WK_F64] = TO_SUMS(load_f64), [WK_F16] = TO_SUMS(load_f16),
    [WK_BF16] = TO_SUMS(load_bf16),
};

static wk_stencil_load *const TO_SUMS(twices)[WK_DTYPES] = {
    [WK_BOOL] = TO_SUMS(twice_bool), [WK_I8] = TO_SUMS(twice_i8),
    [WK_U8] = TO_SUMS(twice_u8),     [WK_I16] = TO_SUMS(twice_i16),
    [WK_U16] = TO_SUMS(twice_u16),   [WK_I32] = TO_SUMS(twice_i32),
    [WK_U32] = TO_SUMS(twice_u32),   [WK_I64] = TO_SUMS(twice_i64),
    [WK_U64] = TO_SUMS(twice_u64),   [WK_F32] = TO_SUMS(twice_f32),
    [WK_F64] = TO_SUMS(twice_f64),   [WK_F16] = TO_SUMS(twice_f16),
    [WK_BF16] = TO_SUMS(twice_bf16),
};
