/* warp_histogram_body.h -- groups of 32 elements of type T, sorted as keys of type K. No guard.
 *   KEY(x)  element to key, in the same order      VALUE(k)  back */

/* A key of each of TOGETHER groups, in one register: compilers did not see that in a loop. */
#define TOGETHER ((int)(VECTOR / sizeof(K)))
typedef K WARPS(keys) __attribute__((vector_size(VECTOR)));

static void
WARPS(sort)(WARPS(keys) * keys)
{
    for (int size = 2; size <= 32; size *= 2)
        for (int step = size / 2; step > 0; step /= 2)
            for (int i = 0; i < 32; i++) {
                const int k = i ^ step;
                if (k < i) continue;
                const WARPS(keys) a = keys[i], b = keys[k];
                const WARPS(keys) swap = (WARPS(keys))(i & size ? a < b : b < a) & (a ^ b);
                keys[i] = a ^ swap;
                keys[k] = b ^ swap;
            }
}

/* The runs of equal keys among the first n of 32 ascending ones. */
static int32_t
WARPS(runs)(const WARPS(keys) * keys, int w, int n, T *values, int32_t *counts)
{
    K found[32], last = 0;
    int32_t ends[33] = {0}, total = 0;
    for (int i = 0; i < n; i++) { /* stores only: a run's end moves on until the next begins */
        const K key = keys[i][w];
        total += (i == 0) | (key != last);
        found[total - 1] = last = key;
        ends[total] = i + 1;
    }
    for (int i = 0; i < 32; i++) {
        counts[i] = i < total ? ends[i + 1] - ends[i] : 0;
        values[i] = i < total ? (T)VALUE(found[i]) : (T)0;
    }
    return total;
}

static void
WARPS(task)(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const T *x = j->in;
    T *values = j->values;
    WARPS(keys) keys[32];
    for (int64_t first = begin; first < end; first += TOGETHER) {
        const int warps = end - first < TOGETHER ? (int)(end - first) : TOGETHER;
        const int64_t left = j->n - first * 32;
        for (int w = 0; w < TOGETHER; w++)
            for (int i = 0; i < 32; i++) /* what lies beyond the end sorts last */
                keys[i][w] =
                    w < warps && w * 32 + i < left ? (K)KEY(x[(first + w) * 32 + i]) : (K)-1;
        if (!j->sorted) WARPS(sort)(keys);
        for (int w = 0; w < warps; w++) {
            const int n = left - w * 32 < 32 ? (int)(left - w * 32) : 32;
            const int64_t at = first + w;
            j->totals[at] = WARPS(runs)(keys, w, n, values + at * 32, j->counts + at * 32);
        }
    }
}

#undef TOGETHER
