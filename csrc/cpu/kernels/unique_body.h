/* unique_body.h -- what meets the elements, of type U, whose keys are of type K. No include guard.
 *   KEY(x)      element to key, in the same order
 *   IN_VECTORS  defined where a key takes several operations
 * Elements are read again after what was found of them, and another thread may write to them
 * meanwhile: their keys may be any, and meet no memory beyond a table. */

/* Of one byte every key has a counter. */
#define ALL_COUNTED (sizeof(U) == 1)

/* Extreme keys of blocks begin .. end - 1. */
static void
UNIQUE(ends)(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const U *x = j->in;
    for (int64_t b = begin; b < end; b++) {
        const int64_t stop = end_of(j, b);
        K low = (K)-1, high = 0;
        for (int64_t i = b * GRAIN; i < stop; i++) {
            const K key = (K)KEY(x[i]);
            low = key < low ? key : low;
            high = key > high ? key : high;
        }
        j->ends[b] = (struct ends){low, high};
    }
}

#ifdef IN_VECTORS
static void
UNIQUE(count)(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const U *x = j->in;
    const K low = (K)j->low;
    const uint32_t last = (uint32_t)(j->range - 1);
    const int64_t stop = end_of(j, end - 1);
    uint32_t at[SOME];
    j->used[thread] = 1;
    for (int64_t i = begin * GRAIN, n; i < stop; i += n) {
        n = stop - i < SOME ? stop - i : SOME;
        for (int64_t k = 0; k < n; k++) {
            const uint32_t v = (uint32_t)(K)(KEY(x[i + k]) - low);
            at[k] = v < last ? v : last;
        }
        tally(j, thread, at, n);
    }
}
#else
static void
UNIQUE(count)(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const U *x = j->in;
    const K low = (K)j->low, values = (K)j->range;
    const int64_t next = j->copies > 1 ? j->range : 0; /* neighbours count in tables apart */
    int64_t *a = j->tables + thread * j->copies * j->range;
    int64_t *b = a + next, *c = b + next, *d = c + next;
    const int64_t stop = end_of(j, end - 1);
    int64_t i = begin * GRAIN;
    j->used[thread] = 1;
    for (; i + COPIES <= stop; i += COPIES) {
        const K k0 = (K)(KEY(x[i]) - low), k1 = (K)(KEY(x[i + 1]) - low);
        const K k2 = (K)(KEY(x[i + 2]) - low), k3 = (K)(KEY(x[i + 3]) - low);
        if (ALL_COUNTED || k0 < values) a[k0]++;
        if (ALL_COUNTED || k1 < values) b[k1]++;
        if (ALL_COUNTED || k2 < values) c[k2]++;
        if (ALL_COUNTED || k3 < values) d[k3]++;
    }
    for (; i < stop; i++) {
        const K key = (K)(KEY(x[i]) - low);
        if (ALL_COUNTED || key < values) a[key]++;
    }
}
#endif

/* Of a block, to where they are sorted. */
static void
UNIQUE(keys)(const job *j, int64_t block)
{
    const int64_t stop = end_of(j, block);
    const U *x = j->in;
    K *keys = j->keys;
    for (int64_t i = block * GRAIN; i < stop; i++) keys[i] = (K)KEY(x[i]);
}

/* Of elements all over the array. */
static void
UNIQUE(sample)(const job *j, void *to, int64_t n)
{
    const U *x = j->in;
    K *keys = to;
    for (int64_t i = 0; i < n; i++) keys[i] = (K)KEY(x[place_of(j, i)]);
}

#undef U
#undef K
#undef KEY
#undef IN_VECTORS
#undef ALL_COUNTED
#undef UNIQUE
