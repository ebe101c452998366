/* unique_buckets_body.h -- keys of type K of large arrays: blocks of them are parted into buckets, and
 * each bucket, from all blocks, is sorted. No include guard. */

/* Where buckets begin: at keys of a sample. What it has more than once has a bucket of its own. */
static int
SORT(choose_bounds)(job *j)
{
    const int64_t n = j->buckets * SAMPLE;
    K *bounds = j->bounds;
    bounds[0] = (K)j->low;
    if (j->buckets == 1) return 0;
    K *some = malloc((size_t)(2 * n) * sizeof *some);
    if (some == NULL) return -1;
    j->kind->sample(j, some, n);
    SORT(sort)(some, n, some, some + n, 0, (K)-1, TRIES(n));
    for (int64_t d = 1; d < j->buckets; d++) {
        const K key = some[d * SAMPLE];
        bounds[d] = key == some[(d - 1) * SAMPLE] && key != (K)-1 ? (K)(key + 1) : key;
    }
    free(some);
    return 0;
}

/* The n keys that lie in a or in b, to a by buckets first .. last - 1; begins says where those do. */
static void
SORT(spread)(const job *j, const K *from, int64_t n, K *a, K *b, int64_t first, int64_t last,
             int32_t *begins)
{
    if (last - first == 1) {
        if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
        return;
    }
    const int64_t middle = (first + last) / 2;
    const int64_t below = SORT(part)(from, n, a, b, ((const K *)j->bounds)[middle]);
    begins[middle] = begins[first] + (int32_t)below;
    SORT(spread)(j, a, below, a, b + n - below, first, middle, begins);
    SORT(spread)(j, b, n - below, a + below, b, middle, last, begins);
}

static void
SORT(spread_task)(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    K *scratch = (K *)j->scratch + thread * j->room;
    for (int64_t b = begin; b < end; b++) {
        int32_t *begins = j->begins + b * (j->buckets + 1);
        const int64_t own = end_of(j, b) - b * GRAIN;
        K *keys = (K *)j->keys + b * GRAIN;
        j->kind->keys(j, b);
        begins[0] = 0;
        begins[j->buckets] = (int32_t)own;
        SORT(spread)(j, keys, own, keys, scratch, 0, j->buckets, begins);
    }
}

/* A bucket's keys from all blocks, to where they lie together. */
static K *
SORT(gather)(const job *j, int64_t d, K *to)
{
    const K *keys = j->keys;
    K *a = to;
    for (int64_t b = 0; b < blocks_of(j); b++) {
        const int32_t *piece = j->begins + b * (j->buckets + 1) + d;
        const int64_t n = piece[1] - piece[0];
        memcpy(a, keys + b * GRAIN + piece[0], (size_t)n * sizeof *a);
        a += n;
    }
    return to;
}

static void
SORT(bucket_task)(void *arg, int64_t begin, int64_t end, int thread)
{
    job *j = arg;
    const K *bounds = j->bounds;
    K *b = (K *)j->scratch + thread * j->room;
    for (int64_t d = begin; d < end; d++) {
        const int64_t at = j->places[d], n = j->places[d + 1] - at;
        const K low = bounds[d],
                high = d + 1 < j->buckets ? (K)(bounds[d + 1] - 1) : (K)j->high;
        if (n == 0) continue;
        if (low == high) {
            j->found[d] = write_runs(j, &low, 1, at);
            j->counts[at] = n;
            continue;
        }
        K *a = j->buckets == 1 ? j->keys : SORT(gather)(j, d, b + n);
        SORT(sort)(a, n, a, b, low, high, TRIES(n));
        j->found[d] = write_runs(j, a, n, at);
    }
}

#undef K
#undef SORT
