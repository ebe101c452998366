/* histogram_edges_body.h -- bins by edges of type E. No include guard. */

/* bins[i] holds a cell's start. Of the 2^steps - 1 edges from there, how many are <= x? More than the
 * cell has does no harm: they are larger. */
static inline __attribute__((always_inline)) void
EDGES(halve)(const wk_binner *b, const E *x, int64_t n, int64_t *bin, int steps)
{
    const E *edges = b->guide.edges;
    const int64_t last = b->bins - 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = bin[i];
        for (int step = steps - 1; step >= 0; step--) {
            const int64_t half = (int64_t)1 << step;
            at += edges[at + half - 1] <= x[i] ? half : 0;
        }
        at = at - 1 < last ? at - 1 : last;
        bin[i] = at;
    }
}

void
WK_ISA_NAME(EDGES(wk_edges_bins))(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const E *x = from, *edges = b->edges;
    const int64_t bins = b->bins;
    const wk_guide *g = &b->guide;
    const E low = edges[0], high = edges[bins];
    if (g->cells == 0) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = EDGES(wk_edges_bin)(x[i], edges, bins);
            bin[i] = at < 0 ? bins : at;
        }
        return;
    }
    E inside[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n; i++) {
        const E v = x[i]; /* read once: another thread may write to it */
        inside[i] = (v >= low) & (v <= high) ? v : low;
    }
    if (g->by_bits)
        for (int64_t i = 0; i < n; i++) bin[i] = g->start[cell_by_bits(g, (double)inside[i])];
    else
        for (int64_t i = 0; i < n; i++) bin[i] = g->start[cell_by_width(g, (double)inside[i])];
    switch (g->steps) {
    case 1: EDGES(halve)(b, inside, n, bin, 1); break;
    case 2: EDGES(halve)(b, inside, n, bin, 2); break;
    case 3: EDGES(halve)(b, inside, n, bin, 3); break;
    default: EDGES(halve)(b, inside, n, bin, g->steps); break;
    }
    for (int64_t i = 0; i < n; i++) bin[i] = (x[i] >= low) & (x[i] <= high) ? bin[i] : bins;
}

#undef E
#undef EDGES
