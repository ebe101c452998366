/* extreme_body.h -- the least (or the most) of one dtype, by keys. No include guard.
 * Expects what best_body.h does, and PLACE(a): where an accumulator keeps it. */
#include "best_body.h"

/* 1, or 2 where there is a NaN that counts. */
static int
FN(seen)(const A *lane, int64_t width, A nan)
{
    A some = 0;
    if (nan == (A)(WORST)) return 1;
    for (int64_t w = 0; w < width; w++) some |= lane[w] == nan;
    return some ? 2 : 1;
}

/* ---- columns, by keys ------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void
FN(take_keys)(A *restrict to, const T *const *row, int rows, int64_t width, A nan)
{
    for (int64_t w = 0; w < width; w++) {
        A best = to[w];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 2) {
            const A a = FN(key_or)(row[r][w], nan), b = FN(key_or)(row[r + 1][w], nan),
                    ab = OP(a, b);
            best = OP(ab, best);
        }
        to[w] = best;
    }
}

/* Inlined, it would not vectorise. */
#define KEYS(keys, nan)                                                                        \
    static __attribute__((noinline, unused)) void FN(keys)(A * to, const T *const *row,        \
                                                           int rows, int64_t width)            \
    {                                                                                          \
        if (rows == 2)                                                                         \
            FN(take_keys)(to, row, 2, width, nan);                                             \
        else if (rows == 4)                                                                    \
            FN(take_keys)(to, row, 4, width, nan);                                             \
        else                                                                                   \
            FN(take_keys)(to, row, WK_ROWS, width, nan);                                       \
    }
KEYS(keys, NAN_KEY)
KEYS(skipping_keys, WORST)
#undef KEYS

/* ---- columns, by the chip's comparisons ------------------------------------------------------ */

#ifdef U
enum { FN(NANS) = 1, FN(ZERO) = 2, FN(NOTHING) = 4 };

/* Of the first rows nothing is there yet; after the last ones keys go to the lanes, `none` where no value
 * is better than infinity. NaN are passed over: gives which of these there are. */
static inline __attribute__((always_inline)) U
FN(take_rows)(T *restrict there, A *restrict to, const T *const *row, int rows, int first,
              int last, int64_t width, A none)
{
    U nan = 0, zero = 0, nothing = 0;
    for (int64_t w = 0; w < width; w++) {
        T best = first ? WORST_VALUE : there[w];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 2) {
            const T a = row[r][w], b = row[r + 1][w];
            best = OP(a, best);
            best = OP(b, best);
            nan |= (U) - (U)__builtin_isunordered(a, b);
        }
        there[w] = best;
        if (last) {
            const A key = best == WORST_VALUE ? none : FN(key_of)(best);
            zero |= (U) - (U)(best == 0);
            nothing |= (U) - (U)(best == WORST_VALUE);
            to[w] = OP(key, to[w]);
        }
    }
    return (nan & FN(NANS)) | (zero & FN(ZERO)) | (nothing & FN(NOTHING));
}

static __attribute__((noinline)) U
FN(values)(T *there, A *to, const T *const *row, int rows, int first, int last, int64_t width,
           A none)
{
    if (first && last)
        return rows == 2   ? FN(take_rows)(there, to, row, 2, 1, 1, width, none)
               : rows == 4 ? FN(take_rows)(there, to, row, 4, 1, 1, width, none)
                           : FN(take_rows)(there, to, row, WK_ROWS, 1, 1, width, none);
    if (first) return FN(take_rows)(there, to, row, WK_ROWS, 1, 0, width, none);
    if (last) return FN(take_rows)(there, to, row, WK_ROWS, 0, 1, width, none);
    return FN(take_rows)(there, to, row, WK_ROWS, 0, 0, width, none);
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
FN(columns_or)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width,
               A nan)
{
    const T *row[WK_ROWS];
    int seen = 1;
    for (int64_t begin = 0; begin < width; begin += FN(SIDE)) {
        A *to = (A *)lanes + begin;
        const T *x = (const T *)from + begin;
        const int64_t some = width - begin < FN(SIDE) ? width - begin : FN(SIDE);
#ifdef U
        T there[FN(SIDE)];
        const int skips = nan == (A)(WORST);
        const A none = skips ? (A)(WORST) : FN(key_of)(WORST_VALUE);
        U odd = 0;
        for (int64_t i = 0, rows; i < n; i += rows) {
            rows = FN(rows_from)(row, x, offsets, i, n);
            odd |= FN(values)(there, to, row, (int)rows, i == 0, i + rows >= n, some, none);
        }
        if ((odd & (U)(FN(ZERO) | (skips ? FN(NOTHING) : FN(NANS)))) == 0) continue;
#endif
        for (int64_t i = 0, rows; i < n; i += rows) {
            rows = FN(rows_from)(row, x, offsets, i, n);
            if ((A)(NAN_KEY) != (A)(WORST) && nan != (A)(NAN_KEY))
                FN(skipping_keys)(to, row, (int)rows, some);
            else
                FN(keys)(to, row, (int)rows, some);
        }
        seen |= FN(seen)(to, some, nan);
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

/* Twice: NaN count, or do not. */
#define WAYS(rows, columns, run, best, nan)                                                    \
    static inline A FN(best)(const T *x, int64_t n)                                            \
    {                                                                                          \
        return FN(best_or)(x, n, nan);                                                         \
    }                                                                                          \
    static inline int FN(rows)(void *lanes, const void *from, const int64_t *offsets,          \
                               int64_t n, int64_t width)                                       \
    {                                                                                          \
        A *lane = lanes;                                                                       \
        for (int64_t w = 0; w < width; w++)                                                    \
            lane[w] = FN(best)((const T *)from + offsets[w], n);                               \
        return FN(seen)(lane, width, nan);                                                     \
    }                                                                                          \
    static inline int FN(columns)(void *lanes, const void *from, const int64_t *offsets,       \
                                  int64_t n, int64_t width)                                    \
    {                                                                                          \
        return FN(columns_or)(lanes, from, offsets, n, width, nan);                            \
    }                                                                                          \
    static inline void FN(run)(wk_acc * a, const void *x, int64_t n, int64_t index)            \
    {                                                                                          \
        const A key = FN(best)(x, n);                                                          \
        (void)index;                                                                           \
        FN(absorb)(a, &key, 1, 0);                                                             \
    }
WAYS(rows, columns, run, best_counting, NAN_KEY)
WAYS(skipping_rows, skipping_columns, skipping_run, best_skipping, WORST)
#undef WAYS

static void
FN(merge)(wk_acc *a, const wk_acc *b)
{
    FN(absorb)(a, &PLACE(b), 1, 0);
}
