/* histogram_bins_body.h -- elements of type T on their way to bins. No include guard.
 *   VALUE(x)  of an element: an integer or a float
 *   WIDE      integers: int64_t or uint64_t, as T has a sign or none; floats: not defined */

#ifdef WIDE
/* As unsigned numbers those below zero are beyond all bins. */
static void
OF(values)(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const T *x = from;
    const uint64_t bins = (uint64_t)b->bins;
    for (int64_t i = 0; i < n; i++) bin[i] = (int64_t)(WIDE)VALUE(x[i]);
    wk_read_once(bin);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t v = (uint64_t)bin[i];
        bin[i] = (int64_t)(v < bins ? v : bins);
    }
}

/* Integers beyond 2^53 are rounded as doubles, so whether they are counted is asked before: NaN is
 * in no bin. */
static void
OF(uniform)(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const T *x = from;
    const WIDE low = (WIDE)b->args->low, high = (WIDE)b->args->high;
    double v[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n; i++) {
        const WIDE w = (WIDE)VALUE(x[i]);
        v[i] = (w >= low) & (w <= high) ? (double)VALUE(x[i]) : (double)NAN;
    }
    WK_ISA_NAME(wk_uniform_bins)(b, v, n, bin);
}

static void
OF(by_i64)(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const T *x = from;
    int64_t v[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n; i++) v[i] = (int64_t)VALUE(x[i]);
    WK_ISA_NAME(wk_edges_bins_i64)(b, v, n, bin);
}

static void
OF(by_u64)(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const T *x = from;
    uint64_t v[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n; i++) v[i] = (uint64_t)VALUE(x[i]);
    WK_ISA_NAME(wk_edges_bins_u64)(b, v, n, bin);
}
#else
static void
OF(uniform)(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const T *x = from;
    double v[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n; i++) v[i] = (double)VALUE(x[i]);
    WK_ISA_NAME(wk_uniform_bins)(b, v, n, bin);
}
#endif

static void
OF(by_f64)(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const T *x = from;
    double v[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n; i++) v[i] = (double)VALUE(x[i]);
    WK_ISA_NAME(wk_edges_bins_f64)(b, v, n, bin);
}

#undef T
#undef VALUE
#undef WIDE
#undef OF
