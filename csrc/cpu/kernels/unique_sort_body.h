/* unique_sort_body.h -- one bucket of keys of type K, in order. No include guard. */

static void
SORT(insert)(K *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const K key = a[i];
        int64_t k = i;
        for (; k > 0 && a[k - 1] > key; k--) a[k] = a[k - 1];
        a[k] = key;
    }
}

/* The last bits, of which the keys before them have all alike. */
static inline int
SORT(width)(const K *a, int64_t n)
{
    K all = (K)-1, any = 0;
    for (int64_t i = 0; i < n; i++) {
        all &= a[i];
        any |= a[i];
    }
    return all == any ? 0 : 64 - __builtin_clzll(all ^ any);
}

/* The n keys of a, in order, to b if there, else back to a; the other array is for work. Where its
 * loops begin in lines of 64 bytes is worth 4 %: no code before it shall move them. */
static __attribute__((aligned(64))) void
SORT(sort)(K *a, K *b, int64_t n, int there)
{
    int64_t ends[1 << SORT_BITS];
    const int width = SORT(width)(a, n);
    if (n <= LEAF || width == 0) {
        if (width) SORT(insert)(a, n);
        if (there) memcpy(b, a, (size_t)n * sizeof *a);
        return;
    }
    const int wanted = 62 - __builtin_clzll((uint64_t)n) - 1; /* buckets of 4 to 7 */
    const int most = wanted < SORT_BITS ? wanted : SORT_BITS,
              bits = width < most ? width : most;
    const int shift = width - bits, buckets = 1 << bits;
    const K mask = (K)(buckets - 1);
    memset(ends, 0, (size_t)buckets * sizeof *ends);
    for (int64_t i = 0; i < n; i++) ends[a[i] >> shift & mask]++;
    int64_t at = 0, largest = 0;
    for (int d = 0; d < buckets; d++) {
        const int64_t own = ends[d];
        largest = own > largest ? own : largest;
        ends[d] = at;
        at += own;
    }
    if (n >= GRAIN && wk_interrupted()) return;
    for (int64_t i = 0; i < n; i++) b[ends[a[i] >> shift & mask]++] = a[i];
    if (shift == 0 || largest <= LEAF) { /* all buckets are short: neighbours at most change */
        if (shift) SORT(insert)(b, n);
        if (!there) memcpy(a, b, (size_t)n * sizeof *a);
        return;
    }
    for (int d = 0; d < buckets; d++) {
        const int64_t begin = d ? ends[d - 1] : 0, own = ends[d] - begin;
        if (own) SORT(sort)(b + begin, a + begin, own, !there);
    }
}

static void
SORT(sort_task)(void *arg, int64_t begin, int64_t end, int thread)
{
    job *j = arg;
    K *keys = j->keys, *scratch = (K *)j->scratch + thread * j->room;
    for (int64_t d = begin; d < end; d++) {
        const int64_t at = j->buckets[d], own = j->buckets[d + 1] - at;
        K *large = own > j->room ? malloc((size_t)own * sizeof *large) : NULL;
        if (own <= j->room || large)
            SORT(sort)(keys + at, large ? large : scratch, own, 0);
        else
            atomic_store(&j->failed, 1);
        free(large);
    }
}

#undef K
#undef SORT
