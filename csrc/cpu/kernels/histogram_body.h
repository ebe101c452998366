/* histogram_body.h -- counting elements of type T, whose bins are computed in E (float or
 * double, BINS_OF(name) the functions of bins_body.h). No include guard.
 *   INSIDE(x, j)  does x lie within the range? */

/* The bin of x, or `bins` for none: the slot behind the last. */
static inline int64_t
COUNT(bin)(const job *j, T x)
{
    const int64_t bins = j->bins;
    int64_t b = -1;
    switch (j->kind) {
    case WK_BINS_VALUES: b = (uint64_t)x < (uint64_t)bins ? (int64_t)x : -1; break;
    case WK_BINS_UNIFORM:
        if (INSIDE(x, j)) {
            const E *edges = j->edges;
            b = BINS_OF(uniform_bin)(j->args, edges, (E)x);
        }
        break;
    case WK_BINS_EDGES:
        b = j->edges_dtype == WK_I64   ? wk_edges_bin_i64((int64_t)x, j->edges, bins)
            : j->edges_dtype == WK_U64 ? wk_edges_bin_u64((uint64_t)x, j->edges, bins)
                                       : wk_edges_bin_f64((double)x, j->edges, bins);
        break;
    }
    return b < 0 ? bins : b;
}

#ifndef BIN_ONLY
static void
COUNT(each)(const job *shared, const void *from, int64_t n, int64_t *counts)
{
    const job j = *shared; /* a copy, which the stores to counts cannot change */
    const T *x = from;
    for (int64_t i = 0; i < n; i++) counts[COUNT(bin)(&j, x[i])]++;
}

#ifndef NO_VALUES
static void
COUNT(values)(const job *j, const void *from, int64_t n, int64_t *counts)
{
    const T *x = from;
    const uint64_t bins = (uint64_t)j->bins, table = j->tables_each > 1 ? bins + 1 : 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t v = (uint64_t)x[i];
        counts[(uint64_t)i % TABLES * table + (v < bins ? v : bins)]++;
    }
}
#endif

/* uniform_bin for a few bins: a first guess in vectors, then the edges' say. Any guess within
 * one bin gives uniform_bin's answer, so a product does for the quotient, in E's precision. */
static void
COUNT(few)(const job *shared, const void *from, int64_t n, int64_t *counts)
{
    const job j = *shared;
    const T *x = from;
    const E *edges = j.edges;
    const int64_t bins = j.bins;
    const E first = (E)j.first, factor = (E)((double)bins / j.width), top = (E)(bins - 1);
    int32_t guess[BLOCK];
    for (; n > 0; n -= BLOCK, x += BLOCK) {
        const int64_t count = n < BLOCK ? n : BLOCK;
        for (int64_t i = 0; i < count; i++) {
            E f = ((E)x[i] - first) * factor;
            f = f < top ? f : top;
            guess[i] = (int32_t)(f > 0 ? f : 0);
        }
        for (int64_t i = 0; i < count; i++) {
            const E v = (E)x[i];
            int64_t b = guess[i];
            b -= (v < edges[b]) & (b > 0);
            b += (v >= edges[b + 1]) & (b != bins - 1);
            b = INSIDE(x[i], &j) ? b : bins;
            counts[i % TABLES * (bins + 1) + b]++;
        }
    }
}
#endif

#undef T
#undef E
#undef COUNT
#undef INSIDE
#undef BINS_OF
#undef BIN_ONLY
#undef NO_VALUES
