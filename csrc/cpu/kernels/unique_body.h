/* unique_body.h -- what meets the elements, of type U, whose keys are of type K. No include guard.
 *   KEY(x)  element to key, in the same order */

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

static void
UNIQUE(count)(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const U *x = j->in;
    const K low = (K)j->low;
    const int64_t next = j->copies > 1 ? j->values : 0; /* neighbours count in tables apart */
    int64_t *a = j->tables + thread * j->copies * j->values;
    int64_t *b = a + next, *c = b + next, *d = c + next;
    const int64_t stop = end_of(j, end - 1);
    int64_t i = begin * GRAIN;
    j->used[thread] = 1;
    for (; i + COPIES <= stop; i += COPIES) {
        a[(K)(KEY(x[i]) - low)]++;
        b[(K)(KEY(x[i + 1]) - low)]++;
        c[(K)(KEY(x[i + 2]) - low)]++;
        d[(K)(KEY(x[i + 3]) - low)]++;
    }
    for (; i < stop; i++) a[(K)(KEY(x[i]) - low)]++;
}

static void
UNIQUE(digits)(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const U *x = j->in;
    const K low = (K)j->low;
    const int shift = j->shift;
    for (int64_t b = begin; b < end; b++) {
        int64_t *counts = j->starts + (b << j->bits);
        const int64_t stop = end_of(j, b);
        for (int64_t i = b * GRAIN; i < stop; i++) counts[(K)(KEY(x[i]) - low) >> shift]++;
    }
}

/* Each key to its bucket, after those of the blocks before. */
static void
UNIQUE(deal)(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const U *x = j->in;
    K *keys = j->keys;
    const K low = (K)j->low;
    const int shift = j->shift;
    for (int64_t b = begin; b < end; b++) {
        int64_t *to = j->starts + (b << j->bits);
        const int64_t stop = end_of(j, b);
        for (int64_t i = b * GRAIN; i < stop; i++) {
            const K key = (K)KEY(x[i]);
            keys[to[(K)(key - low) >> shift]++] = key;
        }
    }
}

#undef U
#undef K
#undef KEY
#undef UNIQUE
