/* extreme_body.h -- the least (or the most) of one dtype, by keys. No include guard.
 * Expects what best_body.h does, and PLACE(a): where an accumulator keeps it. */
#include "best_body.h"

/* 1, or 2 where there is a NaN. */
static int
FN(seen)(const A *lane, int64_t width)
{
    A nan = 0;
    if ((A)(NAN_KEY) == (A)(WORST)) return 1;
    for (int64_t w = 0; w < width; w++) nan |= lane[w] == (A)(NAN_KEY);
    return nan ? 2 : 1;
}

static int
FN(rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    A *lane = lanes;
    for (int64_t w = 0; w < width; w++) lane[w] = FN(best_of)((const T *)from + offsets[w], n);
    return FN(seen)(lane, width);
}

/* ---- columns, by keys ------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void
FN(take_keys)(A *restrict to, const T *const *row, int rows, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        A best = to[w];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 2) {
            const A a = FN(key_of)(row[r][w]), b = FN(key_of)(row[r + 1][w]), ab = OP(a, b);
            best = OP(ab, best);
        }
        to[w] = best;
    }
}

/* Inlined, it would not vectorise. */
static __attribute__((noinline)) void
FN(keys)(A *to, const T *const *row, int rows, int64_t width)
{
    if (rows == 2)
        FN(take_keys)(to, row, 2, width);
    else if (rows == 4)
        FN(take_keys)(to, row, 4, width);
    else
        FN(take_keys)(to, row, WK_ROWS, width);
}

/* ---- columns, by the chip's comparisons ------------------------------------------------------ */

#ifdef U
/* Of the first rows nothing is there yet; after the last ones keys go to the lanes. Gives what is not
 * 0 where keys must tell. */
static inline __attribute__((always_inline)) U
FN(take_rows)(T *restrict there, A *restrict to, const T *const *row, int rows, int first,
              int last, int64_t width)
{
    U odd = 0;
    for (int64_t w = 0; w < width; w++) {
        T best = first ? row[0][w] : there[w];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 2) {
            const T a = row[r][w], b = row[r + 1][w], ab = OP(a, b);
            best = OP(ab, best);
            odd |= (U) - (U)__builtin_isunordered(a, b);
        }
        there[w] = best;
        if (last) {
            const A key = FN(key_of)(best);
            odd |= (U) - (U)(best == 0);
            to[w] = OP(key, to[w]);
        }
    }
    return odd;
}

static __attribute__((noinline)) U
FN(values)(T *there, A *to, const T *const *row, int rows, int first, int last, int64_t width)
{
    if (first && last)
        return rows == 2   ? FN(take_rows)(there, to, row, 2, 1, 1, width)
               : rows == 4 ? FN(take_rows)(there, to, row, 4, 1, 1, width)
                           : FN(take_rows)(there, to, row, WK_ROWS, 1, 1, width);
    if (first) return FN(take_rows)(there, to, row, WK_ROWS, 1, 0, width);
    if (last) return FN(take_rows)(there, to, row, WK_ROWS, 0, 1, width);
    return FN(take_rows)(there, to, row, WK_ROWS, 0, 0, width);
}
#endif

/* ---- columns ----------------------------------------------------------------------------------- */

/* Rows from the i-th on, as many as are folded at once: the last one may be more than once among them. */
static inline int
FN(rows_from)(const T **row, const T *x, const int64_t *offsets, int64_t i, int64_t n)
{
    const int rows = n - i > 4 || i > 0 ? WK_ROWS : n - i > 2 ? 4 : 2;
    for (int r = 0; r < rows; r++) row[r] = x + offsets[i + r < n ? i + r : n - 1];
    return rows;
}

static int
FN(columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    const T *row[WK_ROWS];
    int seen = 1;
    for (int64_t begin = 0; begin < width; begin += FN(SIDE)) {
        A *to = (A *)lanes + begin;
        const T *x = (const T *)from + begin;
        const int64_t some = width - begin < FN(SIDE) ? width - begin : FN(SIDE);
#ifdef U
        T there[FN(SIDE)];
        U odd = 0;
        for (int64_t i = 0, rows; i < n; i += rows) {
            rows = FN(rows_from)(row, x, offsets, i, n);
            odd |= FN(values)(there, to, row, (int)rows, i == 0, i + rows >= n, some);
        }
        if (odd == 0) continue;
#endif
        for (int64_t i = 0, rows; i < n; i += rows) {
            rows = FN(rows_from)(row, x, offsets, i, n);
            FN(keys)(to, row, (int)rows, some);
        }
        seen |= FN(seen)(to, some);
    }
    return seen > 1 ? 2 : 1;
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
