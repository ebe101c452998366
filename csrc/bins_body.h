/* bins_body.h -- which bin a value falls in, for edges of type E. No include guard.
 * Bins are half open, the last one closed; a value in no bin (NaN too) gets -1. */

#ifndef BINS_SEARCH_ONLY
/* numpy.histogram for equal bins, step by step (numpy/lib/_histograms_impl.py): the quotient
 * may be off by one at an edge, so the edges decide. x lies in the range that begins at first.
 * For float32 NumPy divides in float64 or float32, as the range was given; the edges make it
 * one. */
WK_FN int64_t
BINS(uniform_bin)(E x, const E *edges, int64_t bins, E first, double width)
{
    const double f = (double)(E)(x - first) / width * (double)bins;
    int64_t i = f < (double)bins ? (int64_t)f : bins - 1; /* NaN too, where width overflowed */
    if (x < edges[i]) i -= i > 0;
    if (i != bins - 1 && x >= edges[i + 1]) i += 1;
    return i;
}
#endif

/* The number of edges <= x, by halving, tells the bin for any increasing edges. */
WK_FN int64_t
BINS(edges_bin)(E x, const E *edges, int64_t bins)
{
    if (!(x >= edges[0] && x <= edges[bins])) return -1;
    int64_t low = 0; /* edges[low] <= x, and the answer is in [low, low + left) */
    for (int64_t left = bins; left > 1;) {
        const int64_t half = left / 2;
        low =
            edges[low + half] <= x ? low + half : low; /* a select: branches would be guesses */
        left -= half;
    }
    return low;
}

#undef E
#undef BINS
#undef BINS_SEARCH_ONLY
