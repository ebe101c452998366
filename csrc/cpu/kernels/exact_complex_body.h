/* exact_complex_body.h -- a complex number's parts, T each, as floats. No include guard. */

static void
FN(run)(wk_acc *a, const void *from, int64_t n, int64_t index)
{
    enum { SOME = 512 };
    const T *x = from;
    T real[SOME], imag[SOME];
    (void)index;
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
