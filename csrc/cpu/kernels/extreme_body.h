/* extreme_body.h -- the least (or the most) of one dtype, by keys. No include guard.
 * Expects what best_body.h does, and PLACE(a): where an accumulator keeps it. */
#include "best_body.h"

/* 1, or 2 where there is a NaN. */
static int
FN(seen)(const A *lane, int64_t width)
{
    int nan = 0;
    for (int64_t w = 0; w < width; w++) nan |= lane[w] == (A)(NAN_KEY);
    return (A)(NAN_KEY) != (A)(WORST) && nan ? 2 : 1;
}

static int
FN(rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    A *lane = lanes;
    for (int64_t w = 0; w < width; w++) lane[w] = FN(best_of)((const T *)from + offsets[w], n);
    return FN(seen)(lane, width);
}

/* Inlined, it would not vectorise. */
static __attribute__((noinline)) void
FN(fold_wide)(FN(best) * s, const T *const *row, int64_t width)
{
    FN(fold)(s, row, WK_ROWS, width);
}

static __attribute__((noinline)) void
FN(fold_pair)(FN(best) * s, const T *const *row, int64_t width)
{
    FN(fold)(s, row, 2, width);
}

static int
FN(columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    A *restrict to = lanes;
    FN(best) s;
    for (int64_t begin = 0; begin < width; begin += FN(SIDE)) {
        const T *x = (const T *)from + begin;
        const int64_t some = width - begin < FN(SIDE) ? width - begin : FN(SIDE);
        FN(begin)(&s, x + offsets[0], some);
        for (int64_t i = 1, rows; i < n; i += rows) {
            const T *row[WK_ROWS];
            rows = n - i > 2 ? WK_ROWS : 2;
            for (int r = 0; r < rows; r++) row[r] = x + offsets[i + r < n ? i + r : n - 1];
            if (rows == 2)
                FN(fold_pair)(&s, row, some);
            else
                FN(fold_wide)(&s, row, some);
        }
        for (int64_t w = 0; w < some; w++) {
            const A key = FN(end)(&s, w);
            to[begin + w] = OP(key, to[begin + w]);
        }
    }
    return FN(seen)(to, width);
}

static void
FN(start)(void *lanes, int64_t stride)
{
    A *lane = lanes;
    for (int64_t w = 0; w < stride; w++) lane[w] = WORST;
}

static void
FN(absorb)(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    const A key = ((const A *)lanes)[w];
    A best;
    (void)stride;
    memcpy(&best, &PLACE(a), sizeof best);
    best = OP(key, best);
    memcpy(&PLACE(a), &best, sizeof best);
}

static void
FN(run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const A best = FN(best_of)(x, n);
    (void)index;
    FN(absorb)(a, &best, 1, 0);
}

static void
FN(merge)(wk_acc *a, const wk_acc *b)
{
    FN(absorb)(a, &PLACE(b), 1, 0);
}
