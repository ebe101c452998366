/* tree_body.h -- products of one element type: T in memory, A in the lanes. No include guard.
 *   LOAD(x)  T to A      OP(a, b)  A      IDENTITY  OP(a, IDENTITY) has a's bits
 * FOLD(name) gives the functions' names. The tree is num/tree.h's. */

/* Lanes fold in halves; those past n hold the identity, so they may be left out. */
static A
FOLD(lanes)(A *lane, int64_t n)
{
    int half = WK_LANES / 2;
    while (half >= n && half > 1) half /= 2;
    for (; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] = OP(lane[l], lane[l + half]);
    return lane[0];
}

static void
FOLD(chunk)(const void *from, int64_t n, void *total)
{
    const T *x = from;
    A lane[WK_LANES];
    for (int l = 0; l < WK_LANES; l++) lane[l] = IDENTITY;
    int64_t i = 0;
    for (; i + WK_LANES <= n; i += WK_LANES)
        for (int l = 0; l < WK_LANES; l++) {
            const T v = x[i + l];
            lane[l] = OP(lane[l], LOAD(v));
        }
    for (int l = 0; i < n; i++, l++) {
        const T v = x[i];
        lane[l] = OP(lane[l], LOAD(v));
    }
    *(A *)total = FOLD(lanes)(lane, n);
}

/* `width` neighbouring columns at once: totals[w] folds x[offsets[i] + w] over i. Rows lie far
 * apart, where no hardware prefetcher follows, so each asks for one to come. */
static void
FOLD(columns)(const void *from, const int64_t *offsets, int64_t n, int64_t width, void *totals)
{
    const T *x = from;
    A lane[LANE_BYTES / sizeof(A)];
    const int64_t used = n < WK_LANES ? n : WK_LANES;
    for (int64_t i = 0; i < n; i++) {
        A *restrict to = lane + i % WK_LANES * width;
        const T *restrict row = x + offsets[i];
        if (i + WK_AHEAD < n)
            for (int64_t w = 0; w < width; w += 64 / (int64_t)sizeof(T))
                __builtin_prefetch(x + offsets[i + WK_AHEAD] + w);
        if (i < WK_LANES) /* a lane's first element: the identity would not change it */
            for (int64_t w = 0; w < width; w++) to[w] = LOAD(row[w]);
        else
            for (int64_t w = 0; w < width; w++) to[w] = OP(to[w], LOAD(row[w]));
    }
    for (int64_t half = WK_LANES / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half && l + half < used; l++) {
            A *restrict to = lane + l * width;
            const A *restrict other = lane + (l + half) * width;
            for (int64_t w = 0; w < width; w++) to[w] = OP(to[w], other[w]);
        }
    memcpy(totals, lane, (size_t)width * sizeof(A));
}

/* Elements that do not count: 1. */
static void
FOLD(fill)(void *to, int64_t n, const uint8_t *keep)
{
    T *x = to;
    const T one = ONE;
    for (int64_t i = 0; i < n; i++)
        if (!keep[i]) x[i] = one;
}

#undef T
#undef A
#undef OP
#undef IDENTITY
#undef ONE
#undef LOAD
#undef FOLD
