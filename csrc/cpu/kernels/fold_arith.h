/* fold_arith.h -- sum and prod: integers in 64 bits modulo 2^64, floats in double.
 * Expects TABLE, OP, INT_IDENTITY, FLOAT_IDENTITY, EMPTY (the fold of nothing). */
#include "fold.h"

#define LANE(T) uint64_t
#define TO_LANE(x) ((uint64_t)(int64_t)(x))
#define IDENTITY INT_IDENTITY
#include "fold_ints.h"
#undef IDENTITY

#define IDENTITY FLOAT_IDENTITY
#define A double
#define T float
#define LOAD(x) ((double)(x))
#define FOLD(name) name##_f32
#include "reduce_body.h"
#define A double
#define T double
#define LOAD(x) (x)
#define FOLD(name) name##_f64
#include "reduce_body.h"

static void
finish_int(const void *totals, int64_t count, int64_t n, void *out)
{
    (void)n;
    memcpy(out, totals, 8 * (size_t)count);
}

static void
finish_f32(const void *totals, int64_t count, int64_t n, void *out)
{
    const double *t = totals;
    for (int64_t i = 0; i < count; i++)
        ((float *)out)[i] = n ? wk_one_nan_f32((float)t[i]) : EMPTY;
}

static void
finish_f64(const void *totals, int64_t count, int64_t n, void *out)
{
    const double *t = totals;
    for (int64_t i = 0; i < count; i++) ((double *)out)[i] = n ? wk_one_nan_f64(t[i]) : EMPTY;
}

const wk_folds TABLE[WK_DTYPES] = {
    [WK_BOOL] = FOLDS(bool, u64, finish_int), [WK_I8] = FOLDS(i8, u64, finish_int),
    [WK_U8] = FOLDS(u8, u64, finish_int),     [WK_I16] = FOLDS(i16, u64, finish_int),
    [WK_U16] = FOLDS(u16, u64, finish_int),   [WK_I32] = FOLDS(i32, u64, finish_int),
    [WK_U32] = FOLDS(u32, u64, finish_int),   [WK_I64] = FOLDS(i64, u64, finish_int),
    [WK_U64] = FOLDS(u64, u64, finish_int),   [WK_F32] = FOLDS(f32, f64, finish_f32),
    [WK_F64] = FOLDS(f64, f64, finish_f64),
};
