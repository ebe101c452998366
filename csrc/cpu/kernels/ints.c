/* ints.c -- sums, products and sums of squares of bool and integers.
 *
 * Modulo 2^64, or exact in words of 32 bits: a word takes 2^28 elements before it must be
 * emptied into limbs. */
#include "cpu/isa.h"
#include "cpu/reduction.h"

static void
commit(wk_exact *e, const int64_t *lanes, int64_t stride, int64_t w)
{
    wk_word part[WK_PARTS];
    for (int k = 0; k < e->words; k++) part[k].i = lanes[k * stride + w];
    wk_exact_commit(e, part);
}

#define T uint8_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT int32_t
#define BITS 8
#define VALUE(x) ((x) != 0)
#define FN(name) name##_bool
#include "ints_body.h"
#define T int8_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT int32_t
#define BITS 8
#define VALUE(x) (x)
#define FN(name) name##_i8
#include "ints_body.h"
#define T uint8_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT int32_t
#define BITS 8
#define VALUE(x) (x)
#define FN(name) name##_u8
#include "ints_body.h"
#define T int16_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT int32_t
#define BITS 16
#define VALUE(x) (x)
#define FN(name) name##_i16
#include "ints_body.h"
#define T uint16_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT int32_t
#define BITS 16
#define VALUE(x) (x)
#define FN(name) name##_u16
#include "ints_body.h"
#define T int32_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT int64_t
#define BITS 32
#define VALUE(x) (x)
#define FN(name) name##_i32
#include "ints_body.h"
#define T uint32_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT int64_t
#define BITS 32
#define VALUE(x) (x)
#define FN(name) name##_u32
#include "ints_body.h"
#define T int64_t
#define WIDE int64_t
#define MAGNITUDE(v) ((v) < 0 ? -(uint64_t)(v) : (uint64_t)(v))
#define SHORT uint64_t
#define BITS 64
#define VALUE(x) (x)
#define FN(name) name##_i64
#include "ints_body.h"
#define T uint64_t
#define WIDE uint64_t
#define MAGNITUDE(v) (uint64_t)(v)
#define SHORT uint64_t
#define BITS 64
#define VALUE(x) (x)
#define FN(name) name##_u64
#include "ints_body.h"

/* ---- starts, merges, tables ----------------------------------------------------------------- */

static void
start_words(int64_t *lane, int64_t count, int64_t value)
{
    for (int64_t i = 0; i < count; i++) lane[i] = value;
}

static void
start_1(void *lanes, int64_t stride)
{
    start_words(lanes, stride, 0);
}

static void
start_2(void *lanes, int64_t stride)
{
    start_words(lanes, 2 * stride, 0);
}

static void
start_4(void *lanes, int64_t stride)
{
    start_words(lanes, 4 * stride, 0);
}

static void
start_product(void *lanes, int64_t stride)
{
    start_words(lanes, stride, 1);
}

static void
absorb_sum(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    commit(&a->sum[0], lanes, stride, w);
}

static void
absorb_squares(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    commit(&a->squares, lanes, stride, w);
}

static void
absorb_wrap(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    (void)stride;
    a->bits += ((const uint64_t *)lanes)[w];
}

static void
absorb_product(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    (void)stride;
    a->bits *= ((const uint64_t *)lanes)[w];
}

static void
merge_sum(wk_acc *a, const wk_acc *b)
{
    wk_exact_merge(&a->sum[0], &b->sum[0]);
}

static void
merge_squares(wk_acc *a, const wk_acc *b)
{
    wk_exact_merge(&a->squares, &b->squares);
}

static void
merge_wrap(wk_acc *a, const wk_acc *b)
{
    a->bits += b->bits;
}

static void
merge_product(wk_acc *a, const wk_acc *b)
{
    a->bits *= b->bits;
}

#define WRAP(t)                                                                                \
    {                                                                                          \
        1, 8, wrap_rows_##t, wrap_columns_##t, start_1, wrap_run_##t, absorb_wrap, merge_wrap  \
    }
#define PRODUCT(t)                                                                             \
    {                                                                                          \
        1, 8, product_rows_##t, product_columns_##t, start_product, product_run_##t,           \
            absorb_product, merge_product                                                      \
    }
/* The sum of up to 32 bits is the one modulo 2^64. */
#define SUM(t, way, n)                                                                         \
    {                                                                                          \
        n, 8, way##_rows_##t, way##_columns_##t, start_##n, sum_run_##t, absorb_sum, merge_sum \
    }
#define SQUARES(t, n)                                                                          \
    {                                                                                          \
        n, 8, square_rows_##t, square_columns_##t, start_##n, square_run_##t, absorb_squares,  \
            merge_squares                                                                      \
    }

const wk_folding WK_ISA_NAME(wk_folding_wrap)[WK_DTYPES] = {
    [WK_BOOL] = WRAP(bool), [WK_I8] = WRAP(i8),   [WK_U8] = WRAP(u8),
    [WK_I16] = WRAP(i16),   [WK_U16] = WRAP(u16), [WK_I32] = WRAP(i32),
    [WK_U32] = WRAP(u32),   [WK_I64] = WRAP(i64), [WK_U64] = WRAP(u64),
};

const wk_folding WK_ISA_NAME(wk_folding_product)[WK_DTYPES] = {
    [WK_BOOL] = PRODUCT(bool), [WK_I8] = PRODUCT(i8),   [WK_U8] = PRODUCT(u8),
    [WK_I16] = PRODUCT(i16),   [WK_U16] = PRODUCT(u16), [WK_I32] = PRODUCT(i32),
    [WK_U32] = PRODUCT(u32),   [WK_I64] = PRODUCT(i64), [WK_U64] = PRODUCT(u64),
};

const wk_folding WK_ISA_NAME(wk_folding_sum_int)[WK_DTYPES] = {
    [WK_BOOL] = SUM(bool, wrap, 1), [WK_I8] = SUM(i8, wrap, 1),   [WK_U8] = SUM(u8, wrap, 1),
    [WK_I16] = SUM(i16, wrap, 1),   [WK_U16] = SUM(u16, wrap, 1), [WK_I32] = SUM(i32, wrap, 1),
    [WK_U32] = SUM(u32, wrap, 1),   [WK_I64] = SUM(i64, sum, 2),  [WK_U64] = SUM(u64, sum, 2),
};

const wk_folding WK_ISA_NAME(wk_folding_squares_int)[WK_DTYPES] = {
    [WK_BOOL] = SQUARES(bool, 1), [WK_I8] = SQUARES(i8, 1),   [WK_U8] = SQUARES(u8, 1),
    [WK_I16] = SQUARES(i16, 1),   [WK_U16] = SQUARES(u16, 1), [WK_I32] = SQUARES(i32, 2),
    [WK_U32] = SQUARES(u32, 2),   [WK_I64] = SQUARES(i64, 4), [WK_U64] = SQUARES(u64, 4),
};
