/* unique_sort_body.h -- keys of type K, in order: parted about pivots, down to what registers hold.
 * No include guard. */

#ifdef WK_SORTS_IN_VECTORS
#define LANES (ROW_BYTES / (int)sizeof(K))
#define WORDS ((int)sizeof(K) / 4) /* lanes of 32 bits a key */
#define LEAF (ROWS * LANES)

/* The smaller keys of two rows, and the larger. */
static inline __attribute__((always_inline)) void
SORT(compare)(wk_keys *a, wk_keys *b)
{
    const wk_keys x = *a, y = *b;
    *a = SORT(LOWER)(x, y);
    *b = SORT(UPPER)(x, y);
}

/* Columns ascend, up to run of them one after the other, and become such of twice as many. */
static inline __attribute__((always_inline)) void
SORT(merge)(wk_keys *x, int run)
{
#pragma GCC unroll 8
    for (int r = 0; r < ROWS / 2; r++) { /* with the neighbour from its end */
        const wk_keys a = x[r], b = exchange(x[ROWS - 1 - r], (2 * run - 1) * WORDS);
        const wk_keys low = SORT(LOWER)(a, b), high = SORT(UPPER)(a, b);
        x[r] = choose(low, high, run * WORDS);
        x[ROWS - 1 - r] = exchange(choose(high, low, run * WORDS), (2 * run - 1) * WORDS);
    }
#pragma GCC unroll 8
    for (int by = run / 2; by > 0; by /= 2)
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++) {
            const wk_keys y = exchange(x[r], by * WORDS);
            x[r] = choose(SORT(LOWER)(x[r], y), SORT(UPPER)(x[r], y), by * WORDS);
        }
#pragma GCC unroll 8
    for (int by = ROWS / 2; by > 0; by /= 2)
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
            if (!(r & by)) SORT(compare)(x + r, x + r + by);
}

/* At most LEAF keys, to a: Batcher's bitonic network of rows of registers. */
static void
SORT(leaf)(const K *from, K *a, int64_t n)
{
    K keys[LEAF] __attribute__((aligned(64)));
    wk_keys x[ROWS], y[ROWS];
    memcpy(keys, from, (size_t)n * sizeof *a);
    for (int64_t i = n; i < LEAF; i++) keys[i] = (K)-1;
    memcpy(x, keys, sizeof x);
#pragma GCC unroll 8
    for (int run = 1; run < ROWS; run *= 2) { /* each column */
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
            if (!(r & run)) SORT(compare)(x + r, x + (r ^ (2 * run - 1)));
#pragma GCC unroll 8
        for (int by = run / 2; by > 0; by /= 2)
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++)
                if (!(r & by)) SORT(compare)(x + r, x + r + by);
    }
#pragma GCC unroll 8
    for (int run = 1; run < LANES; run *= 2) SORT(merge)(x, run);
#pragma GCC unroll 8
    for (int left = ROWS; left > 1; left /= 2) { /* columns become rows */
#pragma GCC unroll 8
        for (int r = 0; r < ROWS / 2; r++)
            SORT(zip)(x[r], x[r + ROWS / 2], y + 2 * r, y + 2 * r + 1);
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++) x[r] = y[r];
    }
    memcpy(keys, x, sizeof x);
    memcpy(a, keys, (size_t)n * sizeof *a);
}
#else
#define LEAF 24

static void
SORT(leaf)(const K *from, K *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const K key = from[i];
        int64_t k = i;
        for (; k > 0 && a[k - 1] > key; k--) a[k] = a[k - 1];
        a[k] = key;
    }
}
#endif

/* Keys below the pivot to a, the others to b, one of which they come from; how many are below. Each
 * has room for n. */
static int64_t
SORT(part)(const K *from, int64_t n, K *a, K *b, K pivot)
{
    int64_t below = 0, above = 0, i = 0;
#ifdef WK_SORTS_IN_VECTORS
    SORT(wk_pack) x;
    const SORT(wk_pack) all = SORT(ALL)(pivot);
    const int64_t lanes = (int64_t)(sizeof x / sizeof *a);
    for (; i + lanes <= n; i += lanes) {
        memcpy(&x, from + i, sizeof x);
        below += SORT(split)(x, all, a + below, b + above);
        above = i + lanes - below;
    }
#endif
    for (; i < n; i++) { /* no branch that nobody predicts */
        const K key = from[i];
        const int less = key < pivot;
        a[below] = key;
        b[above] = key;
        below += less;
        above += 1 - less;
    }
    return below;
}

static inline K
SORT(middle)(K a, K b, K c)
{
    const K low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c < high ? c : high;
}

/* From low + 1 to high. The middle of these halves what keys may be, and is asked where keys that
 * were picked have not halved the keys. */
static K
SORT(pivot)(const K *a, int64_t n, K low, K high, int tries)
{
    const int64_t step = n / 9;
    K some[3], pivot;
    if (tries <= 0) return (K)(low + (high - low) / 2 + 1);
    for (int i = 0; i < 3; i++)
        some[i] = SORT(middle)(a[i * step], a[(3 + i) * step], a[(6 + i) * step]);
    pivot = SORT(middle)(some[0], some[1], some[2]);
    return pivot <= low ? (K)(low + 1) : pivot > high ? high : pivot;
}

/* The n keys that lie in a or in b, from low to high, to a in order. Those above a pivot stay in b
 * until they are parted themselves, and those below work behind them. */
static void
SORT(sort)(const K *from, int64_t n, K *a, K *b, K low, K high, int tries)
{
    while (n > LEAF && low < high) {
        if (n >= GRAIN && wk_interrupted()) return;
        const K pivot = SORT(pivot)(from, n, low, high, tries--);
        const int64_t below = SORT(part)(from, n, a, b, pivot);
        SORT(sort)(a, below, a, b + n - below, low, (K)(pivot - 1), tries);
        from = b;
        a += below;
        n -= below;
        low = pivot;
    }
    if (low < high)
        SORT(leaf)(from, a, n);
    else if (from != a)
        memcpy(a, from, (size_t)n * sizeof *a);
}

#undef LANES
#undef WORDS
#undef LEAF
