/* histogram / cpu private -- every thread counts in its own tables; they are added at last.
 *
 * In, out   n elements in any order, edges or none -> int64 counts[bins]; with weights, their sums
 *           (weights.c).
 * Better    than atomics: no thread waits for another, and counts need no lock.
 * How       up to 8 tables a thread: an increment that waits for the store of the one before it
 *           (equal neighbours) costs 6 cycles, and tables take turns. Bytes, and 16 bits where
 *           bins are dear, are counted by pattern, and each pattern is put in its bin once.
 * Memory    32-bit counters. Tables take turns while all of a thread's fit its caches, and only
 *           where adding them up is little beside counting; what MOST_BYTES does not hold is
 *           counted by fewer threads, and by one in the result itself.
 * Source    numpy.histogram for the arithmetic (histogram_uniform.c). */
#include "histogram.h"
#include "cpu/fp.h"
#include "cpu/threads.h"

#include <stdlib.h>

enum {
    GRAIN = 1 << 14,        /* elements handed out at once: 10 us or more                   */
    MOST_TABLES = 8,        /* 8 increments in turn hide the 6 cycles of one                */
    NEAR_BYTES = 1 << 15,   /* of a thread's tables: a first-level cache                    */
    FAR_BYTES = 1 << 18,    /* 2 tables in a second-level cache still beat one              */
    ON_STACK = 4096,        /* counters that need no allocation                             */
    MOST_BYTES = 256 << 20, /* tables of all threads                                        */
    SPARSE = 4,             /* elements a bin below which the result is counted in directly */
};
static const int64_t PASS = (int64_t)1 << 31; /* elements that a 32-bit counter takes */

typedef struct job {
    wk_binner binner;
    const char *in;
    int64_t item;
    int patterns;          /* elements are counted by pattern                          */
    int64_t slots, stride; /* counters of a table, and the same rounded up             */
    int64_t tables;        /* of a thread                                              */
    wk_shares shares;
    uint32_t *counts; /* [threads][tables][stride]; NULL: in the result                */
    char *used;       /* [threads]                                                     */
    int64_t *out, bins, outs;
} job;

/* ---- counting ----------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
tally(uint32_t *counts, int64_t stride, const int64_t *bin, int64_t n, int tables)
{
    int64_t i = 0;
    for (; i + tables <= n; i += tables)
#pragma GCC unroll 8
        for (int k = 0; k < tables; k++) counts[k * stride + bin[i + k]]++;
    for (; i < n; i++) counts[bin[i]]++;
}

static inline __attribute__((always_inline)) void
tally_u8(uint32_t *counts, int64_t stride, const uint8_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + MOST_TABLES <= n; i += MOST_TABLES) {
        uint64_t eight; /* one load */
        memcpy(&eight, x + i, sizeof eight);
#pragma GCC unroll 8
        for (int k = 0; k < MOST_TABLES; k++) counts[k * stride + (eight >> 8 * k & 255)]++;
    }
    for (; i < n; i++) counts[x[i]]++;
}

static void
tally_u16(uint32_t *counts, int64_t stride, const uint16_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
        counts[x[i]]++;
        counts[stride + x[i + 1]]++;
    }
    for (; i < n; i++) counts[x[i]]++;
}

/* Asked once in 16 blocks. */
static int
stopped(int64_t i)
{
    return i / WK_BIN_BLOCK % 16 == 15 && wk_interrupted();
}

static void
count_in_result(const job *j, const char *x, int64_t n)
{
    const int64_t outs = j->outs;
    int64_t *out = j->out;
    int64_t bin[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n && !stopped(i); i += WK_BIN_BLOCK) {
        const int64_t some = n - i < WK_BIN_BLOCK ? n - i : WK_BIN_BLOCK;
        wk_bins_of(&j->binner, x + i * j->item, some, bin);
        for (int64_t k = 0; k < some; k++) __builtin_prefetch(j->out + bin[k], 1);
        for (int64_t k = 0; k < some; k++)
            if (bin[k] < outs) out[bin[k]]++;
    }
}

static void
count_blocks(const job *j, const char *x, int64_t n, uint32_t *counts)
{
    int64_t bin[WK_BIN_BLOCK];
    for (int64_t i = 0; i < n && !stopped(i); i += WK_BIN_BLOCK) {
        const int64_t some = n - i < WK_BIN_BLOCK ? n - i : WK_BIN_BLOCK;
        wk_bins_of(&j->binner, x + i * j->item, some, bin);
        switch (j->tables) {
        case 8: tally(counts, j->stride, bin, some, 8); break;
        case 4: tally(counts, j->stride, bin, some, 4); break;
        case 2: tally(counts, j->stride, bin, some, 2); break;
        default: tally(counts, j->stride, bin, some, 1); break;
        }
    }
}

static void
count_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    const char *x = j->in + begin * j->item;
    const int64_t own = wk_table_of(&j->shares, begin, thread);
    if (j->counts == NULL) {
        count_in_result(j, x, end - begin);
    } else {
        uint32_t *counts = j->counts + own * j->tables * j->stride;
        j->used[own] = 1;
        if (!j->patterns) count_blocks(j, x, end - begin, counts);
        for (int64_t n; j->patterns && begin < end && !wk_interrupted(); begin += n) {
            n = end - begin < GRAIN ? end - begin : GRAIN;
            const char *some = j->in + begin * j->item;
            if (j->item == 1)
                tally_u8(counts, j->stride, (const uint8_t *)some, n);
            else
                tally_u16(counts, j->stride, (const uint16_t *)some, n);
        }
    }
    wk_fp_end(state);
}

/* ---- adding up ---------------------------------------------------------------------------- */

static void
add_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    for (int64_t t = 0; t < j->shares.threads * j->tables; t++) {
        if (!j->used[t / j->tables]) continue;
        const uint32_t *counts = j->counts + t * j->stride;
        for (int64_t b = begin; b < end; b++) j->out[b] += counts[b];
    }
}

static void
add_patterns(job *j)
{
    for (int64_t p = 0; p < j->slots; p++) {
        int64_t sum = 0;
        for (int64_t t = 0; t < j->shares.threads * j->tables; t++)
            sum += j->counts[t * j->stride + p];
        if (j->binner.table[p] < j->outs) j->out[j->binner.table[p]] += sum;
    }
}

static wk_status
count_pass(job *j, wk_call *call, int64_t n)
{
    uint32_t few[ON_STACK];
    char one;
    const int64_t all = j->shares.threads * j->tables * j->stride;
    if (j->counts == NULL && n > 0 && j->tables > 0) {
        if (all <= ON_STACK && j->shares.threads == 1) {
            memset(few, 0, (size_t)all * sizeof *few);
            j->counts = few;
            j->used = &one;
        } else {
            j->counts = calloc((size_t)all, sizeof *j->counts);
            j->used = calloc((size_t)j->shares.threads, 1);
        }
        if (j->counts == NULL || j->used == NULL) {
            free(j->counts);
            free(j->used);
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %lld bytes for counts",
                           (long long)(all * (int64_t)sizeof *j->counts));
        }
    }
    wk_parallel_short(call->context, n, j->shares.grain, n / GRAIN, count_task, j);
    if (j->counts == NULL) return WK_OK;
    if (j->patterns)
        add_patterns(j);
    else
        wk_parallel_short(call->context, j->outs, GRAIN, j->outs / GRAIN, add_task, j);
    if (j->counts != few) {
        free(j->counts);
        free(j->used);
    }
    j->counts = NULL;
    return WK_OK;
}

/* ---- the plan ----------------------------------------------------------------------------- */

static void
choose_tables(job *j, wk_context *context, int64_t n)
{
    const int64_t bytes = j->stride * (int64_t)sizeof *j->counts;
    j->tables = MOST_TABLES;
    while (j->tables > 2 && j->tables * bytes > NEAR_BYTES) j->tables /= 2;
    if (j->tables * bytes > FAR_BYTES) j->tables = 1;
    if (j->patterns) j->tables = j->item == 1 ? MOST_TABLES : 2;
    while (j->tables > 1 && !j->patterns && j->tables * j->stride > n / 4) j->tables /= 2;

    /* a table is cleared and added in order, which is far less work than counting at random */
    j->shares = wk_share_out(wk_thread_count(context), n, GRAIN, j->stride / 2,
                             j->tables * bytes, MOST_BYTES);
    if (j->shares.threads == 1 && !j->patterns && (n < SPARSE * j->slots || bytes > MOST_BYTES))
        j->tables = 0; /* in the result */
}

static wk_status
count_all(job *j, wk_call *call)
{
    const int64_t n = call->args.histogram.n;
    wk_status status = WK_OK;
    memset(j->out, 0, (size_t)j->outs * sizeof *j->out);
    for (int64_t begin = 0; begin < n && status == WK_OK; begin += PASS) {
        const int64_t some = n - begin < PASS ? n - begin : PASS;
        j->in = (const char *)call->in.data + begin * j->item; /* any order */
        choose_tables(j, call->context, some);
        status = count_pass(j, call, some);
    }
    return status;
}

WK_CPU_LAUNCHER(histogram, private)
{
    const wk_histogram_args *a = &call->args.histogram;
    job j = {.counts = NULL};
    if (call->weights.ndim >= 0) return WK_ISA_NAME(wk_histogram_weighted)(call);
    wk_status status = WK_ISA_NAME(wk_binner_start)(&j.binner, call, a->n);
    j.item = wk_itemsize[call->in.dtype];
    j.out = call->out[0].data;
    j.bins = a->bins;
    j.outs = a->bins + (a->outside != 0);
    j.patterns = j.binner.table != NULL;
    j.slots = j.patterns ? (int64_t)1 << 8 * j.item : a->bins + 1;
    j.stride = j.slots + 1; /* tables of 2^k bytes would share their cache sets */
    if (status == WK_OK) status = count_all(&j, call);
    WK_ISA_NAME(wk_binner_end)(&j.binner);
    return status;
}
