/* tree_body.h -- products of one element type: T in memory, A in the lanes. No include guard.
 *   LOAD(x)  T to A      OP(a, b)  A      IDENTITY  OP(a, IDENTITY) has a's bits
 *   PER      doubles of an A; LOAD_EACH(x), EACH_OP(a, b) the same of a vector of them
 * FOLD(name) gives the functions' names. The tree is num/tree.h's. */

enum { FOLD(SOME) = WK_VD / PER > 0 ? WK_VD / PER : 1 }; /* of a vector */

/* to[i] = OP(to[i], x[i]) */
static inline void
FOLD(multiply)(A *restrict to, const T *restrict x, int64_t n)
{
    int64_t i = 0;
    for (; i + FOLD(SOME) <= n; i += FOLD(SOME)) {
        wk_vd v;
        memcpy(&v, to + i, sizeof v);
        v = EACH_OP(v, LOAD_EACH(x + i));
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < n; i++) {
        const T v = x[i];
        to[i] = OP(to[i], LOAD(v));
    }
}

static inline void
FOLD(load)(A *restrict to, const T *restrict x, int64_t n)
{
    int64_t i = 0;
    for (; i + FOLD(SOME) <= n; i += FOLD(SOME)) {
        const wk_vd v = LOAD_EACH(x + i);
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < n; i++) {
        const T v = x[i];
        to[i] = LOAD(v);
    }
}

static inline void
FOLD(join)(A *restrict to, const A *restrict other, int64_t n)
{
    int64_t i = 0;
    for (; i + FOLD(SOME) <= n; i += FOLD(SOME)) {
        wk_vd v, w;
        memcpy(&v, to + i, sizeof v);
        memcpy(&w, other + i, sizeof w);
        v = EACH_OP(v, w);
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < n; i++) to[i] = OP(to[i], other[i]);
}

/* Lanes fold in halves; those past n hold the identity, so they may be left out. */
static A
FOLD(lanes)(A *lane, int64_t n)
{
    int half = WK_LANES / 2;
    while (half >= n && half > 1) half /= 2;
    for (; half > 0; half /= 2) FOLD(join)(lane, lane + half, half);
    return lane[0];
}

static void
FOLD(chunk)(const void *from, int64_t n, void *total)
{
    const T *x = from;
    A lane[WK_LANES];
    for (int l = 0; l < WK_LANES; l++) lane[l] = IDENTITY;
    int64_t i = 0;
    for (; i + WK_LANES <= n; i += WK_LANES) FOLD(multiply)(lane, x + i, WK_LANES);
    FOLD(multiply)(lane, x + i, n - i);
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
            FOLD(load)(to, row, width);
        else
            FOLD(multiply)(to, row, width);
    }
    for (int64_t half = WK_LANES / 2; half > 0; half /= 2)
        for (int64_t l = 0; l < half && l + half < used; l++)
            FOLD(join)(lane + l * width, lane + (l + half) * width, width);
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
#undef LOAD_EACH
#undef FOLD
