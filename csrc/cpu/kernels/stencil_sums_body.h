/* stencil_sums_body.h -- the sums of a stencil in registers, in type S by vectors V of VL. No
 * include guard. Each adds its products in the order of the coefficients, from +0.
 *
 * What is short of a vector at an end is summed again with what is before it; if there is nothing
 * before it, beyond the end: then x and y are scratch. */

WK_INLINE V
SUMS(vector)(const S *x)
{
    V v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* w x + sum, of coefficient t. */
WK_INLINE V
SUMS(add)(const S *taps, int64_t t, V x, V sum, const wk_stencil_kind kind)
{
    if (kind == WK_BY_REAL) return FMA(taps[t] - (V){0}, x, sum);
    if (kind == WK_TO_PAIR) return FMA(PAIR(taps + 2 * t), x, sum);
    sum = FMA(PAIR(taps + 4 * t), x, sum);
    return FMA(PAIR(taps + 4 * t + 2), SWAP(x), sum);
}

/* `many` vectors, y_next apart, of x, x_next apart; the elements that meet neighbouring coefficients
 * are step apart. */
WK_INLINE void
SUMS(line_block)(const S *x, int64_t x_next, int64_t step, const S *taps, int64_t count, S *y,
                 int64_t y_next, const int many, const wk_stencil_kind kind)
{
    V sum[8] = {{0}};
    for (int64_t t = 0; t < count; t++, x += step)
#pragma GCC unroll 8
        for (int v = 0; v < many; v++)
            sum[v] = SUMS(add)(taps, t, SUMS(vector)(x + v * x_next), sum[v], kind);
#pragma GCC unroll 8
    for (int v = 0; v < many; v++) {
        sum[v] = ONE_NAN(sum[v]);
        memcpy(y + v * y_next, &sum[v], sizeof sum[v]);
    }
}

WK_INLINE void
SUMS(line_of_kind)(const S *x, int64_t step, const S *taps, int64_t count, int64_t n, S *y,
                   const wk_stencil_kind kind)
{
    int64_t i = 0;
    for (; i + 8 * VL <= n; i += 8 * VL)
        SUMS(line_block)(x + i, VL, step, taps, count, y + i, VL, 8, kind);
    if (i + 4 * VL <= n) {
        SUMS(line_block)(x + i, VL, step, taps, count, y + i, VL, 4, kind);
        i += 4 * VL;
    }
    if (i + 2 * VL <= n) {
        SUMS(line_block)(x + i, VL, step, taps, count, y + i, VL, 2, kind);
        i += 2 * VL;
    }
    for (; i < n; i += VL) {
        if (i + VL > n && n >= VL) i = n - VL;
        SUMS(line_block)(x + i, VL, step, taps, count, y + i, VL, 1, kind);
    }
}

/* Lines too short to fill registers: the same vector of several of them. */
WK_INLINE void
SUMS(short_of_kind)(const S *x, int64_t pitch, int64_t step, const S *taps, int64_t count,
                    int64_t lines, int64_t n, S *y, const wk_stencil_kind kind)
{
    int64_t l = 0;
    for (; l + 8 <= lines; l += 8, x += 8 * pitch, y += 8 * n)
        for (int64_t i = 0; i < n; i += VL) {
            if (i + VL > n && n >= VL) i = n - VL;
            SUMS(line_block)(x + i, pitch, step, taps, count, y + i, n, 8, kind);
        }
    for (; l < lines; l++, x += pitch, y += n)
        SUMS(line_of_kind)(x, step, taps, count, n, y, kind);
}

static void
SUMS(short_lines)(const wk_stencil *j, const S *x, int64_t pitch, int64_t lines, int64_t n,
                  S *y)
{
    const int64_t step = j->inner, count = j->halo + 1;
    const S *taps = j->taps;
    if (j->kind == WK_BY_REAL)
        SUMS(short_of_kind)(x, pitch, step, taps, count, lines, n, y, WK_BY_REAL);
    else if (j->kind == WK_TO_PAIR)
        SUMS(short_of_kind)(x, pitch, step, taps, count, lines, n, y, WK_TO_PAIR);
    else
        SUMS(short_of_kind)(x, pitch, step, taps, count, lines, n, y, WK_BY_PAIR);
}

static void
SUMS(part_of_line)(const wk_stencil *j, const S *x, int64_t n, S *y)
{
    const int64_t step = j->inner, count = j->halo + 1;
    if (j->kind == WK_BY_REAL)
        SUMS(line_of_kind)(x, step, j->taps, count, n, y, WK_BY_REAL);
    else if (j->kind == WK_TO_PAIR)
        SUMS(line_of_kind)(x, step, j->taps, count, n, y, WK_TO_PAIR);
    else
        SUMS(line_of_kind)(x, step, j->taps, count, n, y, WK_BY_PAIR);
}

static void
SUMS(line)(const wk_stencil *j, const S *x, int64_t n, S *y)
{
    int64_t some = takes_long(j) ? 8 * VL : n;
    for (int64_t i = 0; i < n && (i == 0 || !wk_interrupted()); i += some) {
        if (n - i < 2 * some) some = n - i; /* no part is shorter than a vector */
        SUMS(part_of_line)(j, x + i, some, y + i);
    }
}

/* `many` vectors of `outputs` rows of y, pitch apart: row q is of rows[q] and those after it. Each
 * vector that is read serves all of them. count >= outputs - 1. */
WK_INLINE void
SUMS(column_block)(const S *const *rows, int64_t c, const S *taps, int64_t count, S *y,
                   int64_t pitch, const int outputs, const int many, const wk_stencil_kind kind)
{
    V sum[WK_STENCIL_ROWS][2] = {{{0}}};
#pragma GCC unroll 8
    for (int r = 0; r < outputs - 1; r++) /* rows that the first outputs alone use */
#pragma GCC unroll 8
        for (int q = 0; q <= r; q++)
#pragma GCC unroll 8
            for (int v = 0; v < many; v++)
                sum[q][v] =
                    SUMS(add)(taps, r - q, SUMS(vector)(rows[r] + c + v * VL), sum[q][v], kind);
    for (int64_t r = outputs - 1; r < count; r++)
#pragma GCC unroll 8
        for (int v = 0; v < many; v++) {
            const V x = SUMS(vector)(rows[r] + c + v * VL);
#pragma GCC unroll 8
            for (int q = 0; q < outputs; q++)
                sum[q][v] = SUMS(add)(taps, r - q, x, sum[q][v], kind);
        }
#pragma GCC unroll 8
    for (int r = 0; r < outputs - 1; r++) /* and the last */
#pragma GCC unroll 8
        for (int q = r + 1; q < outputs; q++)
#pragma GCC unroll 8
            for (int v = 0; v < many; v++)
                sum[q][v] =
                    SUMS(add)(taps, count + r - q, SUMS(vector)(rows[count + r] + c + v * VL),
                              sum[q][v], kind);
#pragma GCC unroll 8
    for (int q = 0; q < outputs; q++)
#pragma GCC unroll 8
        for (int v = 0; v < many; v++) {
            const V one = ONE_NAN(sum[q][v]);
            memcpy(y + q * pitch + v * VL, &one, sizeof one);
        }
}

WK_INLINE void
SUMS(columns_of_kind)(const S *const *rows, int64_t from, int64_t n, const S *taps,
                      int64_t count, S *y, int64_t pitch, const int outputs,
                      const wk_stencil_kind kind)
{
    int64_t c = 0;
    for (; c + 2 * VL <= n; c += 2 * VL)
        SUMS(column_block)(rows, from + c, taps, count, y + c, pitch, outputs, 2, kind);
    for (; c < n; c += VL) {
        if (c + VL > n && n >= VL) c = n - VL;
        SUMS(column_block)(rows, from + c, taps, count, y + c, pitch, outputs, 1, kind);
    }
}

static void
SUMS(part_of_columns)(const wk_stencil *j, const S *const *rows, int64_t from, int64_t n, S *y,
                      int64_t pitch)
{
    enum { ALL = WK_STENCIL_ROWS };
    const int64_t count = j->halo + 1;
    if (count < ALL - 1) {
        for (int q = 0; q < ALL; q++, rows++, y += pitch)
            if (j->kind == WK_BY_REAL)
                SUMS(columns_of_kind)(rows, from, n, j->taps, count, y, pitch, 1, WK_BY_REAL);
            else if (j->kind == WK_TO_PAIR)
                SUMS(columns_of_kind)(rows, from, n, j->taps, count, y, pitch, 1, WK_TO_PAIR);
            else
                SUMS(columns_of_kind)(rows, from, n, j->taps, count, y, pitch, 1, WK_BY_PAIR);
    } else if (j->kind == WK_BY_REAL) {
        SUMS(columns_of_kind)(rows, from, n, j->taps, count, y, pitch, ALL, WK_BY_REAL);
    } else if (j->kind == WK_TO_PAIR) {
        SUMS(columns_of_kind)(rows, from, n, j->taps, count, y, pitch, ALL, WK_TO_PAIR);
    } else {
        SUMS(columns_of_kind)(rows, from, n, j->taps, count, y, pitch, ALL, WK_BY_PAIR);
    }
}

/* WK_STENCIL_ROWS rows of y, from columns from ... of the rows that they need. */
static void
SUMS(columns)(const wk_stencil *j, const S *const *rows, int64_t from, int64_t n, S *y,
              int64_t pitch)
{
    int64_t some = takes_long(j) ? 2 * VL : n;
    for (int64_t c = 0; c < n && (c == 0 || !wk_interrupted()); c += some) {
        if (n - c < 2 * some) some = n - c;
        SUMS(part_of_columns)(j, rows, from + c, some, y + c, pitch);
    }
}
