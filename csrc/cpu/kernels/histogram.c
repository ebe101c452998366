/* histogram / cpu private -- every thread counts in its own tables; they are added at last.
 *
 * In, out   n elements in any order, edges or none -> int64 counts[bins].
 * Better    than atomics: no thread waits for another, and counts need no lock.
 * How       4 tables a thread for a few bins: an increment that waits for the store of the one
 *           before it (equal neighbours) costs 5 cycles, and 4 tables take turns. Bytes are
 *           counted by value, 256 slots, and each value is put in its bin once.
 * Source    numpy.histogram for the arithmetic (bins_body.h). */
#include "scalar.h"
#include "cpu/isa.h"
#include "cpu/threads.h"

#include <stdlib.h>

enum {
    TABLES = 4,
    FEW = 1024,            /* bins: 4 tables of them are 32 KiB, a first-level cache */
    BLOCK = 256,           /* elements whose quotients are computed together */
    GRAIN = 1 << 16,       /* elements handed out at once: 50 us or more */
    MOST_BYTES = 256 << 20 /* tables of all threads; with more bins fewer threads count */
};

typedef struct job {
    const wk_histogram_args *args;
    wk_bins_kind kind;
    wk_dtype edges_dtype;
    int64_t bins, item;
    int64_t tables_each, slots; /* of one thread: tables, and counters in all of them */
    const void *edges;
    double first, last, width;
    uint64_t low, high;
    const char *in;
    int64_t *tables; /* [threads][slots] */
    char *used;      /* [threads] */
    int64_t threads;
    int64_t *out;
    void (*count)(const struct job *j, const void *from, int64_t n, int64_t *counts);
} job;

#define T int8_t
#define E double
#define INSIDE(x, j) ((x) >= (int64_t)(j)->low && (x) <= (int64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_i8
#define BIN_ONLY
#include "histogram_body.h"
#define T uint8_t
#define E double
#define INSIDE(x, j) ((x) >= (uint64_t)(j)->low && (x) <= (uint64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_u8
#define BIN_ONLY
#include "histogram_body.h"
#define T int16_t
#define E double
#define INSIDE(x, j) ((x) >= (int64_t)(j)->low && (x) <= (int64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_i16
#include "histogram_body.h"
#define T uint16_t
#define E double
#define INSIDE(x, j) ((x) >= (uint64_t)(j)->low && (x) <= (uint64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_u16
#include "histogram_body.h"
#define T int32_t
#define E double
#define INSIDE(x, j) ((x) >= (int64_t)(j)->low && (x) <= (int64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_i32
#include "histogram_body.h"
#define T uint32_t
#define E double
#define INSIDE(x, j) ((x) >= (uint64_t)(j)->low && (x) <= (uint64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_u32
#include "histogram_body.h"
#define T int64_t
#define E double
#define INSIDE(x, j) ((x) >= (int64_t)(j)->low && (x) <= (int64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_i64
#include "histogram_body.h"
#define T uint64_t
#define E double
#define INSIDE(x, j) ((x) >= (uint64_t)(j)->low && (x) <= (uint64_t)(j)->high)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_u64
#include "histogram_body.h"
#define T float
#define E float
#define INSIDE(x, j) ((E)(x) >= (E)(j)->first && (E)(x) <= (E)(j)->last)
#define BINS_OF(name) wk_##name##_f32
#define COUNT(name) name##_f32
#define NO_VALUES
#include "histogram_body.h"
#define T float
#define E double
#define INSIDE(x, j) ((E)(x) >= (E)(j)->first && (E)(x) <= (E)(j)->last)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_f32_by_f64
#define NO_VALUES
#include "histogram_body.h"
#define T double
#define E double
#define INSIDE(x, j) ((E)(x) >= (E)(j)->first && (E)(x) <= (E)(j)->last)
#define BINS_OF(name) wk_##name##_f64
#define COUNT(name) name##_f64
#define NO_VALUES
#include "histogram_body.h"

/* ---- bytes: 256 counters, then a bin for each value ------------------------------------- */

static void
count_bytes(const job *j, const void *from, int64_t n, int64_t *counts)
{
    (void)j;
    const uint8_t *x = from;
    for (int64_t i = 0; i < n; i++) counts[i % TABLES * 257 + x[i]]++;
}

static void
bin_bytes(const job *j, wk_dtype dtype)
{
    memset(j->out, 0, (size_t)j->bins * sizeof *j->out);
    for (int64_t thread = 0; thread < j->threads; thread++) {
        if (!j->used[thread]) continue;
        const int64_t *counts = j->tables + thread * j->slots;
        for (int v = 0; v < 256; v++) {
            int64_t c = 0;
            for (int t = 0; t < TABLES; t++) c += counts[t * 257 + v];
            if (c == 0) continue;
            const int64_t b = dtype == WK_I8     ? bin_i8(j, (int8_t)v)
                              : dtype == WK_BOOL ? bin_u8(j, v != 0)
                                                 : bin_u8(j, (uint8_t)v);
            if (b < j->bins) j->out[b] += c;
        }
    }
}

/* ---- all others ------------------------------------------------------------------------- */

typedef void counter(const job *j, const void *from, int64_t n, int64_t *counts);

static const struct { /* values: integers only */
    counter *each, *few, *values;
} table[WK_DTYPES] = {
    [WK_I16] = {each_i16, few_i16, values_i16}, [WK_U16] = {each_u16, few_u16, values_u16},
    [WK_I32] = {each_i32, few_i32, values_i32}, [WK_U32] = {each_u32, few_u32, values_u32},
    [WK_I64] = {each_i64, few_i64, values_i64}, [WK_U64] = {each_u64, few_u64, values_u64},
    [WK_F32] = {each_f32, few_f32, NULL},       [WK_F64] = {each_f64, few_f64, NULL},
};

static void
count_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    j->used[thread] = 1;
    j->count(j, j->in + begin * j->item, end - begin, j->tables + thread * j->slots);
}

static void
add_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const int64_t per_table = j->bins + 1;
    for (int64_t b = begin; b < end; b++) j->out[b] = 0;
    for (int64_t t = 0; t < j->threads; t++) {
        if (!j->used[t]) continue;
        const int64_t *counts = j->tables + t * j->slots;
        for (; counts < j->tables + (t + 1) * j->slots; counts += per_table)
            for (int64_t b = begin; b < end; b++) j->out[b] += counts[b];
    }
}

static void
choose(job *j, wk_dtype dtype)
{
    const double factor = (double)j->bins / j->width; /* few's: it must not overflow a float */
    const int guess = j->kind == WK_BINS_UNIFORM && factor > 1e-30 && factor < 1e30;
    const int few = j->bins <= FEW && (guess || j->kind == WK_BINS_VALUES);
    j->tables_each = few ? TABLES : 1;
    j->slots = j->tables_each * (j->bins + 1);
    if (j->item == 1) {
        j->count = count_bytes;
        j->slots = TABLES * 257;
    } else if (j->kind == WK_BINS_VALUES) {
        j->count = table[dtype].values;
    } else if (dtype == WK_F32 && j->kind == WK_BINS_UNIFORM && j->edges_dtype == WK_F64) {
        j->count = few ? few_f32_by_f64 : each_f32_by_f64;
    } else {
        j->count = few ? table[dtype].few : table[dtype].each;
    }
}

wk_status
WK_ISA_NAME(wk_histogram_cpu_private)(wk_call *call)
{
    const wk_histogram_args *a = &call->args.histogram;
    job j = {.args = a, .kind = a->kind, .bins = a->bins, .low = a->low, .high = a->high};
    j.first = a->first;
    j.last = a->last;
    j.width = a->width;
    j.edges_dtype = call->aux.dtype;
    j.edges = call->aux.data;
    j.in = call->in.data;
    j.item = wk_itemsize[call->in.dtype];
    j.out = call->out[0].data;
    choose(&j, call->in.dtype);

    j.threads = wk_thread_count(call->context);
    const int64_t bytes = j.slots * (int64_t)sizeof *j.tables;
    if (j.threads * bytes > MOST_BYTES || a->n <= GRAIN) j.threads = 1;
    j.tables = calloc((size_t)j.threads, (size_t)bytes);
    j.used = calloc((size_t)j.threads, 1);
    if (j.tables == NULL || j.used == NULL) {
        free(j.tables);
        free(j.used);
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %lld bytes for counts",
                       (long long)(j.threads * bytes));
    }
    wk_parallel(call->context, a->n, j.threads == 1 ? a->n : GRAIN, count_task, &j);
    if (j.item == 1)
        bin_bytes(&j, call->in.dtype);
    else
        wk_parallel(call->context, j.bins, GRAIN, add_task, &j);
    free(j.tables);
    free(j.used);
    return WK_OK;
}
