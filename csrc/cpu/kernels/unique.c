/* unique_counts / cpu radix -- distinct values and how often each occurs.
 *
 * In, out   in[n] -> values[distinct] ascending, counts[distinct], and how many.
 * How       1-byte elements, 2-byte ones, and others whose range is short are counted by value:
 *           a table for each thread, added at last, and no sort. All else is sorted as unsigned
 *           keys, in digits from the top: all threads deal elements out to buckets of about BUCKET
 *           by the first, then each bucket is one thread's, in its cache. What is sorted is counted
 *           as runs (run_length.c).
 * Better    than a sort by comparison, whose branches nobody predicts; than digits from the lowest,
 *           which go through memory once for each. The digit is as wide as the bucket's size asks
 *           for and begins at the highest bit that differs in it, so that ranges and exponents that
 *           leave bits unused cost nothing.
 * Source    P. McIlroy, K. Bostic, M. D. McIlroy, "Engineering Radix Sort" (1993). */
#include "cpu/kernels/runs.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    GRAIN = 1 << 16,   /* elements handed out at once: 50 us or more                      */
    SHORT = 1 << 16,   /* values: tables of a few threads still lie in 2nd-level caches   */
    FEW = 1024,        /* values: COPIES tables of them fill a first-level cache          */
    COPIES = 4,        /* an add that waits for the one before it takes 5 cycles          */
    SPARSE = 4,        /* values an element: beyond, reading the table takes longer        */
    BUCKET = 1 << 14,  /* elements: with their copy they fill a quarter MiB                */
    MOST_BITS = 10,    /* of the first digit: 1024 pages are still known to a processor    */
    ROOM = 8 * BUCKET, /* elements that a thread has for work: skewed buckets are rare   */
    SOME = 512,        /* elements whose counters are found at once, in vectors           */
    SORT_BITS = 11,    /* of digits in the cache                                          */
    LEAF = 32          /* elements: fewer are put in order one by one                      */
};

typedef struct job {
    const void *in;
    int64_t n;
    wk_dtype dtype;
    uint64_t low, high; /* keys of the smallest and the largest                            */
    void *keys;         /* [n], then in order                                              */
    int shift, bits;    /* of the first digit: of key - low                                */
    int64_t *starts;    /* [blocks][1 << bits]: elements, then where they go               */
    int64_t *buckets;   /* [(1 << bits) + 1]: where they begin                             */
    void *scratch;      /* [threads][room]                                                */
    int64_t room;       /* elements; larger buckets take what they need                    */
    atomic_int failed;  /* they did not get it                                             */
    int64_t *tables;    /* [threads][values]                                               */
    int64_t values, copies;
    char *used; /* [threads]: has a table that counts */
    struct ends {
        uint64_t low, high;
    } * ends; /* [blocks] */
} job;

static int64_t
blocks_of(const job *j)
{
    return (j->n + GRAIN - 1) / GRAIN;
}

static int64_t
end_of(const job *j, int64_t block)
{
    return (block + 1) * GRAIN < j->n ? (block + 1) * GRAIN : j->n;
}

/* One more of each of these values, by turns in the thread's tables. */
static void
tally(const job *j, int thread, const uint32_t *at, int64_t n)
{
    const int64_t next = j->copies > 1 ? j->values : 0;
    int64_t *a = j->tables + thread * j->copies * j->values;
    int64_t *b = a + next, *c = b + next, *d = c + next, i = 0;
    for (; i + COPIES <= n; i += COPIES) {
        a[at[i]]++;
        b[at[i + 1]]++;
        c[at[i + 2]]++;
        d[at[i + 3]]++;
    }
    for (; i < n; i++) a[at[i]]++;
}

#define K uint32_t
#define SORT(name) name##_32
#include "cpu/kernels/unique_sort_body.h"
#define K uint64_t
#define SORT(name) name##_64
#include "cpu/kernels/unique_sort_body.h"

/* wk_sort_key_f32 and _f64 from the bits: branches would keep loops from vectorising. */
static inline uint32_t
key_of_f32(uint32_t x)
{
    const uint32_t size = x & INT32_MAX, b = x & -(uint32_t)(size != 0);
    const uint32_t key = b ^ ((uint32_t)((int32_t)b >> 31) | 0x80000000u);
    return key | -(uint32_t)(size > 0x7f800000u);
}

static inline uint64_t
key_of_f64(uint64_t x)
{
    const uint64_t size = x & INT64_MAX, b = x & -(uint64_t)(size != 0);
    const uint64_t key = b ^ ((uint64_t)((int64_t)b >> 63) | 0x8000000000000000u);
    return key | -(uint64_t)(size > (uint64_t)2047 << 52);
}

/* Keys of 1 and 2 bytes are 4 bytes wide. */
#define U uint8_t
#define K uint32_t
#define KEY(x) ((x) != 0)
#define UNIQUE(name) name##_bool
#include "cpu/kernels/unique_body.h"
#define U uint8_t
#define K uint32_t
#define KEY(x) ((x) ^ 0x80u)
#define UNIQUE(name) name##_i8
#include "cpu/kernels/unique_body.h"
#define U uint8_t
#define K uint32_t
#define KEY(x) (x)
#define UNIQUE(name) name##_u8
#include "cpu/kernels/unique_body.h"
#define U uint16_t
#define K uint32_t
#define KEY(x) ((uint32_t)(int16_t)(x) + 0x8000u)
#define UNIQUE(name) name##_i16
#include "cpu/kernels/unique_body.h"
#define U uint16_t
#define K uint32_t
#define KEY(x) (x)
#define UNIQUE(name) name##_u16
#include "cpu/kernels/unique_body.h"
#define U uint16_t
#define K uint32_t
#define KEY(x) wk_sort_key_16(x, 0x7c00)
#define IN_VECTORS
#define UNIQUE(name) name##_f16
#include "cpu/kernels/unique_body.h"
#define U uint16_t
#define K uint32_t
#define KEY(x) wk_sort_key_16(x, 0x7f80)
#define IN_VECTORS
#define UNIQUE(name) name##_bf16
#include "cpu/kernels/unique_body.h"
#define U uint32_t
#define K uint32_t
#define KEY(x) ((x) + 0x80000000u)
#define UNIQUE(name) name##_i32
#include "cpu/kernels/unique_body.h"
#define U uint32_t
#define K uint32_t
#define KEY(x) (x)
#define UNIQUE(name) name##_u32
#include "cpu/kernels/unique_body.h"
#define U uint64_t
#define K uint64_t
#define KEY(x) ((x) + 0x8000000000000000u)
#define UNIQUE(name) name##_i64
#include "cpu/kernels/unique_body.h"
#define U uint64_t
#define K uint64_t
#define KEY(x) (x)
#define UNIQUE(name) name##_u64
#include "cpu/kernels/unique_body.h"
#define U uint32_t
#define K uint32_t
#define KEY(x) key_of_f32(x)
#define IN_VECTORS
#define UNIQUE(name) name##_f32
#include "cpu/kernels/unique_body.h"
#define U uint64_t
#define K uint64_t
#define KEY(x) key_of_f64(x)
#ifdef __AVX2__
#define IN_VECTORS /* with 64-bit shifts and minima that need no detour */
#endif
#define UNIQUE(name) name##_f64
#include "cpu/kernels/unique_body.h"

typedef struct kind {
    wk_task *ends, *count, *digits, *deal;
} kind;

#define KIND(name)                                                                             \
    {                                                                                          \
        ends_##name, count_##name, digits_##name, deal_##name                                  \
    }
static const kind kinds[WK_DTYPES] = {
    [WK_BOOL] = KIND(bool), [WK_I8] = KIND(i8),   [WK_U8] = KIND(u8),     [WK_I16] = KIND(i16),
    [WK_U16] = KIND(u16),   [WK_I32] = KIND(i32), [WK_U32] = KIND(u32),   [WK_I64] = KIND(i64),
    [WK_U64] = KIND(u64),   [WK_F16] = KIND(f16), [WK_BF16] = KIND(bf16), [WK_F32] = KIND(f32),
    [WK_F64] = KIND(f64),
};

/* The element that has a key, of 1, 2, 4 or 8 bytes. */
static uint64_t
bits_of(wk_dtype dtype, uint64_t key)
{
    switch (dtype) {
    case WK_I8: return key ^ 0x80;
    case WK_I16: return key ^ 0x8000;
    case WK_I32: return key ^ 0x80000000u;
    case WK_I64: return key ^ 0x8000000000000000u;
    case WK_F16: return wk_from_sort_key_16((uint16_t)key, 0x7c00);
    case WK_BF16: return wk_from_sort_key_16((uint16_t)key, 0x7f80);
    case WK_F32: return wk_bits_f32(wk_from_sort_key_f32((uint32_t)key));
    case WK_F64: return wk_bits_f64(wk_from_sort_key_f64(key));
    default: return key;
    }
}

/* ---- counting --------------------------------------------------------------------------- */

/* The table's values that occur; how many. Little-endian, as everywhere. */
static int64_t
list(const job *j, int64_t threads, char *values, int64_t *counts)
{
    const int64_t item = wk_itemsize[j->dtype];
    int64_t found = 0;
    for (int64_t v = 0; v < j->values; v++) {
        int64_t c = 0;
        for (int64_t t = 0; t < threads * j->copies; t++)
            if (j->used[t / j->copies]) c += j->tables[t * j->values + v];
        if (c == 0) continue;
        const uint64_t bits = bits_of(j->dtype, j->low + (uint64_t)v);
        memcpy(values + found * item, &bits, (size_t)item);
        counts[found++] = c;
    }
    return found;
}

static int64_t
list_one(const job *j, char *values, int64_t *counts)
{
    const uint64_t bits = bits_of(j->dtype, j->low);
    memcpy(values, &bits, (size_t)wk_itemsize[j->dtype]);
    counts[0] = j->n;
    return 1;
}

static int64_t
count_values(job *j, wk_call *call)
{
    const int64_t threads = j->n > GRAIN ? wk_thread_count(call->context) : 1;
    j->values = (int64_t)(j->high - j->low) + 1;
    j->copies = j->values <= FEW ? COPIES : 1;
    j->tables = calloc((size_t)(threads * j->copies * j->values), sizeof *j->tables);
    j->used = calloc((size_t)threads, 1);
    if (j->tables == NULL || j->used == NULL) return -1;
    wk_parallel(call->context, blocks_of(j), 1, kinds[j->dtype].count, j);
    if (wk_interrupted()) return -1;
    return list(j, threads, call->out[0].data, call->out[1].data);
}

/* ---- sorting ---------------------------------------------------------------------------- */

/* From elements a block and digit to where each goes; the size of the largest bucket. */
static int64_t
place_buckets(job *j)
{
    const int64_t digits = (int64_t)1 << j->bits, blocks = blocks_of(j);
    int64_t at = 0, most = 0;
    for (int64_t d = 0; d < digits; d++) {
        j->buckets[d] = at;
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t own = j->starts[b * digits + d];
            j->starts[b * digits + d] = at;
            at += own;
        }
        most = at - j->buckets[d] > most ? at - j->buckets[d] : most;
    }
    j->buckets[digits] = at;
    return most;
}

static int64_t
sort(job *j, wk_call *call)
{
    const kind *k = &kinds[j->dtype];
    const int64_t threads = wk_thread_count(call->context);
    const size_t item = wk_itemsize[j->dtype] == 8 ? 8 : 4;
    const int width = 64 - __builtin_clzll((j->high - j->low) | 1);
    j->bits = 1;
    while (j->bits < MOST_BITS && j->bits < width && j->n >> j->bits > BUCKET) j->bits++;
    j->shift = width - j->bits;
    const int64_t digits = (int64_t)1 << j->bits;
    /* a block may deal more keys to a bucket than it counted there: as many as it has */
    j->keys = malloc((size_t)(j->n + end_of(j, 0)) * item);
    j->starts = calloc((size_t)(blocks_of(j) * digits), sizeof *j->starts);
    j->buckets = malloc((size_t)(digits + 1) * sizeof *j->buckets);
    if (j->keys == NULL || j->starts == NULL || j->buckets == NULL) return -1;
    wk_parallel(call->context, blocks_of(j), 1, k->digits, j);
    if (wk_interrupted()) return -1;
    const int64_t most = place_buckets(j);
    j->room = most < ROOM ? most : ROOM;
    wk_parallel(call->context, blocks_of(j), 1, k->deal, j);
    if (wk_interrupted()) return -1; /* places that nothing was dealt to */
    j->scratch = malloc((size_t)(threads * j->room) * item);
    if (j->scratch == NULL) return -1;
    wk_parallel(call->context, digits, 1, item == 8 ? sort_task_64 : sort_task_32, j);
    if (wk_interrupted() || atomic_load(&j->failed)) return -1;
    return WK_ISA_NAME(wk_write_runs)(call->context, j->keys, j->n, j->dtype, 1,
                                      call->out[0].data, call->out[1].data);
}

/* ---- all of it -------------------------------------------------------------------------- */

static int
find_ends(job *j, wk_call *call)
{
    const int64_t blocks = blocks_of(j);
    j->ends = malloc((size_t)blocks * sizeof *j->ends);
    if (j->ends == NULL) return -1;
    wk_parallel(call->context, blocks, 1, kinds[j->dtype].ends, j);
    if (wk_interrupted()) return -1;
    j->low = UINT64_MAX;
    for (int64_t b = 0; b < blocks; b++) {
        j->low = j->ends[b].low < j->low ? j->ends[b].low : j->low;
        j->high = j->ends[b].high > j->high ? j->ends[b].high : j->high;
    }
    return 0;
}

static int64_t
find(job *j, wk_call *call)
{
    if (j->n == 0) return 0;
    if (wk_itemsize[j->dtype] == 1)
        j->high = 255;
    else if (find_ends(j, call) < 0)
        return -1;
    const uint64_t range = j->high - j->low;
    if (range == 0) return list_one(j, call->out[0].data, call->out[1].data);
    if (range < SHORT && (range < 256 || (int64_t)(range / SPARSE) < j->n))
        return count_values(j, call);
    return sort(j, call);
}

WK_CPU_LAUNCHER(unique_counts, radix)
{
    job j = {.n = call->args.runs.n, .dtype = call->in.dtype};
    j.in = (const char *)call->in.data + call->in.first;
    const int64_t found = find(&j, call);
    free(j.ends);
    free(j.tables);
    free(j.used);
    free(j.keys);
    free(j.starts);
    free(j.buckets);
    free(j.scratch);
    if (found < 0)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate what sorting %lld keys takes",
                       (long long)j.n);
    *(int64_t *)call->out[2].data = found;
    return WK_OK;
}
