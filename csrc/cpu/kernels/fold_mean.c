/* fold_mean.c -- reduce "mean": summed in double as numpy.mean does, divided once. */
#include "fold.h"

#define OP(a, b) ((a) + (b))
#define IDENTITY (-0.0)
#define LANE(T) double
#define TO_LANE(x) ((double)(x))
#include "fold_ints.h"

#define A double
#define T float
#define LOAD TO_LANE
#define FOLD(name) name##_f32
#include "reduce_body.h"
#define A double
#define T double
#define LOAD TO_LANE
#define FOLD(name) name##_f64
#include "reduce_body.h"

static void
finish_f32(const void *totals, int64_t count, int64_t n, void *out)
{
    const double *t = totals;
    for (int64_t i = 0; i < count; i++)
        ((float *)out)[i] = wk_one_nan_f32((float)(t[i] / (double)n));
}

static void
finish_f64(const void *totals, int64_t count, int64_t n, void *out)
{
    const double *t = totals;
    for (int64_t i = 0; i < count; i++) ((double *)out)[i] = wk_one_nan_f64(t[i] / (double)n);
}

const wk_folds WK_ISA_NAME(wk_folds_mean)[WK_DTYPES] = {
    [WK_BOOL] = FOLDS(bool, f64, finish_f64), [WK_I8] = FOLDS(i8, f64, finish_f64),
    [WK_U8] = FOLDS(u8, f64, finish_f64),     [WK_I16] = FOLDS(i16, f64, finish_f64),
    [WK_U16] = FOLDS(u16, f64, finish_f64),   [WK_I32] = FOLDS(i32, f64, finish_f64),
    [WK_U32] = FOLDS(u32, f64, finish_f64),   [WK_I64] = FOLDS(i64, f64, finish_f64),
    [WK_U64] = FOLDS(u64, f64, finish_f64),   [WK_F32] = FOLDS(f32, f64, finish_f32),
    [WK_F64] = FOLDS(f64, f64, finish_f64),
};
