/* exact_complex_body.h -- a complex number's parts, T each, as floats. No include guard.
 * A lane of theirs is two: the parts alternate. */

static int
FN(rows)(void *lanes, const void *x, const int64_t *offsets, int64_t n, int64_t width)
{
    return PART(rows_of)(lanes, x, offsets, n, width, 2);
}

static int
FN(columns)(void *lanes, const void *x, const int64_t *offsets, int64_t n, int64_t width)
{
    return PART(columns_of)(lanes, x, offsets, n, width, 2);
}

static void
FN(start)(void *lanes, int64_t stride)
{
    PART(start)(lanes, 2 * stride);
}

static void
FN(absorb)(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    for (int i = 0; i < 2; i++)
        commit(&a->sum[i], (const double *)lanes + 2 * w + i, 2 * stride);
}

static void
FN(run)(wk_acc *a, const void *from, int64_t n, int64_t index)
{
    enum { SOME = 512 };
    const T *x = from;
    const int64_t zero = 0;
    T real[SOME], imag[SOME];
    double lanes[2 * 8 * WK_PARTS];
    (void)index;
    if (a->sum[0].skip + a->sum[1].skip == 0 && PART(rows_of)(lanes, x, &zero, n, 1, 2)) {
        FN(absorb)(a, lanes, 8, 0);
        return;
    }
    for (int64_t i = 0; i < n; i += SOME) {
        const int64_t m = n - i < SOME ? n - i : SOME;
        for (int64_t k = 0; k < m; k++) {
            real[k] = x[2 * (i + k)];
            imag[k] = x[2 * (i + k) + 1];
        }
        PART(add)(&a->sum[0], real, m);
        PART(add)(&a->sum[1], imag, m);
    }
}

/* ---- squares: of both parts together ------------------------------------------------------ */

static int
FN(square_rows)(void *lanes, const void *x, const int64_t *offsets, int64_t n, int64_t width)
{
    return PART(square_rows_of)(lanes, x, offsets, n, width, 2);
}

static int
FN(square_columns)(void *lanes, const void *x, const int64_t *offsets, int64_t n, int64_t width)
{
    return PART(square_columns_of)(lanes, x, offsets, n, width, 2);
}

static void
FN(square_start)(void *lanes, int64_t stride)
{
    PART(square_start)(lanes, 2 * stride);
}

static void
FN(square_absorb)(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    for (int i = 0; i < 2; i++)
        commit(&a->squares, (const double *)lanes + 2 * w + i, 2 * stride);
}

static void
FN(square_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const T *middle = (const T *)x + n;
    (void)index;
    PART(square_add)(&a->squares, x, n); /* a block's elements at once, not its parts */
    PART(square_add)(&a->squares, middle, n);
}

#undef T
#undef PART
#undef FN
