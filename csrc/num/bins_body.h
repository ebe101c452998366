/* num/bins_body.h -- bins by edges of type E, in increasing order. No include guard. */

#ifndef BINS_SEARCH_ONLY
/* A guess put right by at most one bin, as numpy.histogram does it (numpy/lib/_histograms_impl.py);
 * x lies within the edges. */
WK_FN int64_t
BINS(settle)(E x, const E *edges, int64_t bins, int64_t i)
{
    if (x < edges[i]) i -= i > 0;
    if (i != bins - 1 && x >= edges[i + 1]) i += 1;
    return i;
}
#endif

/* The number of edges <= x, by halving, tells the bin; -1: x is in none. */
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
