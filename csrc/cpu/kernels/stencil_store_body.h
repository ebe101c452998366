/* stencil_store_body.h -- float64 to elements of type T: VECTOR stores as many as a register holds and
 * says whether it could, ONE stores any. No include guard. */

static void
STORE(store)(const void *from, int64_t n, void *to)
{
    const double *restrict x = from;
    T *restrict y = to;
    int64_t i = 0;
    for (; i + WK_VD <= n; i += WK_VD) {
        if (VECTOR(wk_load_f64(x + i), y + i)) continue;
        for (int v = 0; v < WK_VD; v++) y[i + v] = (T)ONE(x[i + v]);
    }
    for (; i < n; i++) y[i] = (T)ONE(x[i]);
}

#undef T
#undef VECTOR
#undef ONE
#undef STORE
