/* fold_extreme.h -- min and max: integers as they are, floats as ordered integers (scalar.h).
 * Expects TABLE, OP, EXTREME(T): the identity, and NAN_KEY(T): what NaN becomes, so that it
 * wins. */
#include "fold.h"

#define TOP(T) ((T)((T)-1 > (T)0 ? (T)-1 : (T)(((uint64_t)1 << (8 * sizeof(T) - 1)) - 1)))
#define BOTTOM(T) ((T)((T)-1 > (T)0 ? (T)0 : (T)(-TOP(T) - 1)))

#define LANE(T) T
#define TO_LANE(x) (x)
#define IDENTITY EXTREME(A)
#include "fold_ints.h"

#define T float
#define A int32_t
#define LOAD(x) wk_order_f32(x, NAN_KEY(int32_t))
#define FOLD(name) name##_f32
#include "reduce_body.h"
#define T double
#define A int64_t
#define LOAD(x) wk_order_f64(x, NAN_KEY(int64_t))
#define FOLD(name) name##_f64
#include "reduce_body.h"

static void
finish_8(const void *totals, int64_t count, int64_t n, void *out)
{
    (void)n;
    memcpy(out, totals, (size_t)count);
}

static void
finish_16(const void *totals, int64_t count, int64_t n, void *out)
{
    finish_8(totals, 2 * count, n, out);
}

static void
finish_32(const void *totals, int64_t count, int64_t n, void *out)
{
    finish_8(totals, 4 * count, n, out);
}

static void
finish_64(const void *totals, int64_t count, int64_t n, void *out)
{
    finish_8(totals, 8 * count, n, out);
}

static void
finish_f32(const void *totals, int64_t count, int64_t n, void *out)
{
    (void)n;
    const int32_t *t = totals;
    for (int64_t i = 0; i < count; i++) ((float *)out)[i] = wk_unorder_f32(t[i]);
}

static void
finish_f64(const void *totals, int64_t count, int64_t n, void *out)
{
    (void)n;
    const int64_t *t = totals;
    for (int64_t i = 0; i < count; i++) ((double *)out)[i] = wk_unorder_f64(t[i]);
}

const wk_folds TABLE[WK_DTYPES] = {
    [WK_BOOL] = FOLDS(bool, u8, finish_8),  [WK_I8] = FOLDS(i8, i8, finish_8),
    [WK_U8] = FOLDS(u8, u8, finish_8),      [WK_I16] = FOLDS(i16, i16, finish_16),
    [WK_U16] = FOLDS(u16, u16, finish_16),  [WK_I32] = FOLDS(i32, i32, finish_32),
    [WK_U32] = FOLDS(u32, u32, finish_32),  [WK_I64] = FOLDS(i64, i64, finish_64),
    [WK_U64] = FOLDS(u64, u64, finish_64),  [WK_F32] = FOLDS(f32, i32, finish_f32),
    [WK_F64] = FOLDS(f64, i64, finish_f64),
};
