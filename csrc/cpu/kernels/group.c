/* group / cpu counting -- the places of elements by their keys: counted, then dealt out.
 *
 * In, out   keys[n] -> places[n], those of one key together and ascending; where each key's begin.
 * How       threads have a stretch each, and a count of each key; sums over keys, then over stretches,
 *           tell where each stretch's places of a key go. */
#include "cpu/isa.h"
#include "cpu/threads.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 1 << 16,        /* elements of a stretch: 50 us  */
    MOST_BYTES = 256 << 20, /* of all counts                 */
    BLOCK = 512
};

typedef struct job {
    const void *keys;
    wk_dtype dtype;
    int64_t n, groups, each; /* elements of a stretch                       */
    int64_t *counts;         /* [stretches][groups + 1]: of the last, strays */
    int64_t *stray;          /* [stretches]: the first; n: none             */
    int64_t *places;
} job;

#define READ(E)                                                                                \
    for (int64_t i = 0; i < n; i++) to[i] = (uint64_t)((const E *)j->keys)[begin + i];         \
    break

static void
read_keys(const job *j, int64_t begin, int64_t n, uint64_t *to)
{
    const uint64_t groups = (uint64_t)j->groups;
    switch (j->dtype) {
    case WK_BOOL:
        for (int64_t i = 0; i < n; i++) to[i] = ((const uint8_t *)j->keys)[begin + i] != 0;
        break;
    case WK_I8: READ(int8_t);
    case WK_U8: READ(uint8_t);
    case WK_I16: READ(int16_t);
    case WK_U16: READ(uint16_t);
    case WK_I32: READ(int32_t);
    case WK_U32: READ(uint32_t);
    default: READ(uint64_t);
    }
    wk_read_once(to);
    for (int64_t i = 0; i < n; i++) to[i] = to[i] < groups ? to[i] : groups;
}

/* Asked before each block, of which a stretch has very many. */
static int
to_stop(int64_t i)
{
    return i / BLOCK % 16 == 15 && wk_interrupted();
}

static void
count_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    uint64_t keys[BLOCK];
    (void)thread;
    for (int64_t t = begin; t < end; t++) {
        int64_t *counts = j->counts + t * (j->groups + 1);
        const int64_t last = (t + 1) * j->each < j->n ? (t + 1) * j->each : j->n;
        j->stray[t] = j->n;
        for (int64_t i = t * j->each, m; i < last && !to_stop(i); i += m) {
            m = last - i < BLOCK ? last - i : BLOCK;
            read_keys(j, i, m, keys);
            const int64_t strays = counts[j->groups];
            for (int64_t k = 0; k < m; k++) counts[keys[k]]++;
            if (strays || counts[j->groups] == 0) continue;
            int64_t k = 0;
            while (keys[k] < (uint64_t)j->groups) k++;
            j->stray[t] = i + k;
        }
    }
}

static void
deal_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    uint64_t keys[BLOCK];
    (void)thread;
    for (int64_t t = begin; t < end; t++) {
        int64_t *next = j->counts + t * (j->groups + 1);
        const int64_t last = (t + 1) * j->each < j->n ? (t + 1) * j->each : j->n;
        for (int64_t i = t * j->each, m; i < last && !to_stop(i); i += m) {
            m = last - i < BLOCK ? last - i : BLOCK;
            read_keys(j, i, m, keys);
            for (int64_t k = 0; k < m; k++) {
                const int64_t at = next[keys[k]]++;
                if (at < j->n) j->places[at] = i + k; /* else the keys have changed meanwhile */
            }
        }
    }
}

WK_CPU_LAUNCHER(group, counting)
{
    const wk_group_args *a = &call->args.group;
    int64_t *offsets = call->out[1].data, *stray = call->out[2].data, sum = 0;
    job j = {.dtype = call->in.dtype, .n = a->n, .groups = a->groups};
    j.keys = (const char *)call->in.data + call->in.first;
    j.places = call->out[0].data;
    const int64_t row = a->groups + 1;
    int64_t stretches = wk_thread_count(call->context);
    if (stretches > a->n / LEAST) stretches = a->n / LEAST;
    if (stretches > a->n / row) stretches = a->n / row;
    if (stretches * row * 8 > MOST_BYTES) stretches = MOST_BYTES / (row * 8);
    if (stretches < 1) stretches = 1;
    j.each = (a->n + stretches - 1) / stretches;
    j.counts = calloc((size_t)(stretches * (row + 1)), sizeof *j.counts);
    if (j.counts == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate counts of %lld groups",
                       (long long)a->groups);
    j.stray = j.counts + stretches * row;
    wk_parallel(call->context, stretches, 1, count_task, &j);
    if (!wk_interrupted()) {
        for (int64_t g = 0; g < row; g++) {
            offsets[g] = sum; /* the last: where strays begin */
            for (int64_t t = 0; t < stretches; t++) {
                const int64_t count = j.counts[t * row + g];
                j.counts[t * row + g] = sum;
                sum += count;
            }
        }
        memset(j.places, 0, (size_t)a->n * sizeof *j.places); /* all of which are indices */
        *stray = -1;
        for (int64_t t = 0; t < stretches && *stray < 0; t++)
            if (j.stray[t] < a->n) *stray = j.stray[t];
        wk_parallel(call->context, stretches, 1, deal_task, &j);
    }
    free(j.counts);
    return WK_OK;
}
