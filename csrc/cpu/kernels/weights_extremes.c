/* weights_extremes.c -- the least or the largest weight of each bin, the place of the first of these, or whether
 * any or all are other than zero.
 *
 * How       every thread has a table of its own, of integers in the order of what is asked for
 *           (num/ordered.h); the largest of them all stays. Beside one may stand its place, all bits inverted,
 *           so that of equal ones the first is the largest.
 * Memory    MOST_BYTES for all threads; more bins are a single thread's. */
#include "cpu/threads.h"
#include "histogram.h"
#include "num/ordered.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRAIN = 1 << 15, /* elements handed out at once: 50 us or more */
    MOST_BYTES = 256 << 20
};

typedef struct job {
    wk_binner binner;
    wk_order_64 order;
    const char *in, *weights;
    int64_t item, weight; /* bytes of each                          */
    int64_t bins, row;    /* words of a table: of strays too        */
    int places;           /* tables are pairs of a key and a place  */
    wk_shares shares;
    uint64_t *tables; /* [threads][row], zero at first          */
    const wk_array *out;
} job;

/* n <= WK_BIN_BLOCK elements, as they lie. */
static void
load(const char *from, int64_t size, int64_t n, uint64_t *to)
{
    switch (size) {
    case 1:
        for (int64_t i = 0; i < n; i++) to[i] = ((const uint8_t *)from)[i];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) to[i] = ((const uint16_t *)from)[i];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) to[i] = ((const uint32_t *)from)[i];
        break;
    default: memcpy(to, from, (size_t)n * sizeof *to);
    }
}

static inline void
raise_pair(uint64_t *to, uint64_t key, uint64_t place)
{
    if (key < to[0] || (key == to[0] && place <= to[1])) return;
    to[0] = key;
    to[1] = place;
}

static void
raise_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_order_64 order = j->order;
    uint64_t *table = j->tables + wk_table_of(&j->shares, begin, thread) * j->row;
    int64_t bin[WK_BIN_BLOCK];
    uint64_t key[WK_BIN_BLOCK];
    for (int k = 1; begin < end && (k % 16 || !wk_interrupted()); begin += WK_BIN_BLOCK, k++) {
        const int64_t n = end - begin < WK_BIN_BLOCK ? end - begin : WK_BIN_BLOCK;
        wk_bins_of(&j->binner, j->in + begin * j->item, n, bin);
        load(j->weights + begin * j->weight, j->weight, n, key);
        for (int64_t i = 0; i < n; i++) key[i] = wk_order_key_64(&order, key[i]);
        if (j->places)
            for (int64_t i = 0; i < n; i++)
                raise_pair(table + 2 * bin[i], key[i], ~(uint64_t)(begin + i));
        else
            for (int64_t i = 0; i < n; i++)
                if (key[i] > table[bin[i]]) table[bin[i]] = key[i];
    }
}

static void
finish_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const int64_t item = wk_itemsize[j->out->dtype];
    (void)thread;
    for (int64_t b = begin; j->places && b < end; b++) {
        uint64_t most[2] = {0, 0};
        for (int64_t t = 0; t < j->shares.threads; t++) {
            const uint64_t *own = j->tables + t * j->row + 2 * b;
            raise_pair(most, own[0], own[1]);
        }
        ((int64_t *)j->out->data)[b] = (int64_t)~most[1]; /* -1: there is none */
    }
    for (int64_t b = begin; !j->places && b < end; b++) {
        uint64_t most = j->tables[b];
        for (int64_t t = 1; t < j->shares.threads; t++)
            if (j->tables[t * j->row + b] > most) most = j->tables[t * j->row + b];
        const uint64_t bits = wk_order_bits_64(&j->order, most);
        memcpy((char *)j->out->data + b * item, &bits, (size_t)item);
    }
}

wk_status
WK_ISA_NAME(wk_histogram_extremes)(wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    job j = {.bins = h->bins, .out = &call->out[0], .places = wk_is_place(h->fold)};
    j.row = (j.bins + 1) * (j.places ? 2 : 1);
    wk_status status = WK_ISA_NAME(wk_binner_start)(&j.binner, call, h->n);
    if (status != WK_OK) return status;
    j.order = wk_order_new_64(call->weights.dtype, h->fold);
    j.item = wk_itemsize[call->in.dtype];
    j.weight = wk_itemsize[call->weights.dtype];
    j.in = (const char *)call->in.data + call->in.first;
    j.weights = call->weights.data ? call->weights.data : call->weights.host; /* C-contiguous */
    const int64_t bytes = j.row * (int64_t)sizeof *j.tables;
    j.shares =
        wk_share_out(wk_thread_count(call->context), h->n, GRAIN, j.row, bytes, MOST_BYTES);
    j.tables = calloc((size_t)(j.shares.threads * j.row), sizeof *j.tables);
    if (j.tables == NULL) {
        status = WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %lld bytes for extremes",
                         (long long)(j.shares.threads * bytes));
    } else {
        wk_parallel(call->context, h->n, j.shares.grain, raise_task, &j);
        wk_parallel(call->context, j.bins, GRAIN, finish_task, &j);
    }
    free(j.tables);
    WK_ISA_NAME(wk_binner_end)(&j.binner);
    return status;
}
