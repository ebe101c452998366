/* unique_counts / cpu radix -- distinct values and how often each occurs.
 *
 * In, out   in[n] -> values[distinct] ascending, counts[distinct], and how many.
 * How       1-byte elements, 2-byte ones, and others whose range is short are counted by value:
 *           a table for each thread, added at last, and no sort. All else is sorted as unsigned
 *           keys, parted about pivots until a few registers hold them, and these exchange them.
 *           The pivots of large arrays come from a sample: each thread parts blocks of keys into
 *           buckets, then each bucket is one thread's, in its cache, which writes its runs.
 * Better    than digits: counting them and dealing keys out by them, one by one, takes twice as
 *           long as parting keys by all bits of a register; and samples make even buckets of any
 *           distribution, of which digits know nothing.
 * Source    B. Bramas, "A Novel Hybrid Quicksort Algorithm Vectorized using AVX-512" (2017);
 *           K. Batcher, "Sorting networks and their applications" (1968). */
#define _DEFAULT_SOURCE
#include "cpu/kernels/runs.h"
#include "cpu/kernels/unique_simd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    GRAIN = 1 << 16,   /* elements handed out at once: 50 us or more                      */
    SHORT = 1 << 16,   /* values: tables of a few threads still lie in 2nd-level caches   */
    FEW = 1024,        /* values: COPIES tables of them fill a first-level cache          */
    COPIES = 4,        /* an add that waits for the one before it takes 5 cycles          */
    SPARSE = 1,        /* values an element: beyond, sorting them takes less than the table   */
    SOME = 512,        /* elements whose counters are found at once, in vectors           */
    BUCKET = 1 << 14,  /* keys: with their copy they fill a quarter MiB                    */
    BUCKETS = 1 << 10, /* at most: a block has 64 keys for each                           */
    SAMPLE = 16,       /* keys a bucket: then few buckets are twice as large as most       */
    PAGE = 1 << 21,    /* bytes of a huge one                                              */
    ROWS = 8           /* of registers that are sorted at once                             */
};

typedef struct job {
    const void *in;
    int64_t n;
    wk_dtype dtype;
    const struct kind *kind;
    uint64_t low, high; /* keys of the smallest and the largest                            */
    void *values;
    int64_t *counts;
    void *keys;      /* [n], those of a block by buckets                                  */
    int64_t buckets; /* how many                                                          */
    void *bounds;    /* [buckets]: the smallest keys there may be                         */
    int32_t *begins; /* [blocks][buckets + 1]: where they begin in a block                */
    int64_t *places; /* [buckets + 1]: and in the whole                                   */
    int64_t *found;  /* [buckets]: runs                                                   */
    void *scratch;   /* [threads][room]                                                   */
    int64_t room;
    int64_t *tables; /* [threads][values]                                               */
    int64_t range, copies;
    char *used; /* [threads]: has a table that counts */
    struct ends {
        uint64_t low, high;
    } * ends; /* [blocks] */
} job;

typedef struct kind {
    wk_task *ends, *count;
    void (*keys)(const job *j, int64_t block);
    void (*sample)(const job *j, void *to, int64_t n);
} kind;

/* Halvings that pivots may take: twice those of halves. */
#define TRIES(n) (2 * (64 - __builtin_clzll((uint64_t)(n) | 1)))

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

/* Of element i of a sample: multiples of the golden ratio lie evenly, and in no period. */
static int64_t
place_of(const job *j, int64_t i)
{
    const uint64_t turn = (uint64_t)i * 0x9e3779b97f4a7c15u;
    return (int64_t)((unsigned __int128)turn * (uint64_t)j->n >> 64);
}

/* Runs of n keys to the results, from element at on; how many. */
static int64_t
write_runs(const job *j, const void *keys, int64_t n, int64_t at)
{
    char *values = (char *)j->values + at * wk_itemsize[j->dtype];
    return WK_ISA_NAME(wk_write_runs)(keys, n, j->dtype, values, j->counts + at);
}

/* One more of each of these values, by turns in the thread's tables. */
static void
tally(const job *j, int thread, const uint32_t *at, int64_t n)
{
    const int64_t next = j->copies > 1 ? j->range : 0;
    int64_t *a = j->tables + thread * j->copies * j->range;
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
#include "cpu/kernels/unique_buckets_body.h"
#define K uint64_t
#define SORT(name) name##_64
#include "cpu/kernels/unique_sort_body.h"
#include "cpu/kernels/unique_buckets_body.h"

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

#define KIND(name)                                                                             \
    {                                                                                          \
        ends_##name, count_##name, keys_##name, sample_##name                                  \
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
list(const job *j, int64_t threads)
{
    char *values = j->values;
    const int64_t item = wk_itemsize[j->dtype];
    int64_t found = 0;
    for (int64_t v = 0; v < j->range; v++) {
        int64_t c = 0;
        for (int64_t t = 0; t < threads * j->copies; t++)
            if (j->used[t / j->copies]) c += j->tables[t * j->range + v];
        if (c == 0) continue;
        const uint64_t bits = bits_of(j->dtype, j->low + (uint64_t)v);
        memcpy(values + found * item, &bits, (size_t)item);
        j->counts[found++] = c;
    }
    return found;
}

static int64_t
list_one(const job *j)
{
    const uint64_t bits = bits_of(j->dtype, j->low);
    memcpy(j->values, &bits, (size_t)wk_itemsize[j->dtype]);
    j->counts[0] = j->n;
    return 1;
}

static int64_t
count_values(job *j, wk_call *call)
{
    const int64_t threads = j->n > GRAIN ? wk_thread_count(call->context) : 1;
    j->range = (int64_t)(j->high - j->low) + 1;
    j->copies = j->range <= FEW ? COPIES : 1;
    j->tables = calloc((size_t)(threads * j->copies * j->range), sizeof *j->tables);
    j->used = calloc((size_t)threads, 1);
    if (j->tables == NULL || j->used == NULL) return -1;
    wk_parallel(call->context, blocks_of(j), 1, j->kind->count, j);
    if (wk_interrupted()) return -1;
    return list(j, threads);
}

/* ---- sorting ---------------------------------------------------------------------------- */

/* Where buckets go; room for the largest that is to be sorted, and for its copy. */
static void
place_buckets(job *j)
{
    const int64_t blocks = blocks_of(j);
    int64_t at = 0;
    for (int64_t d = 0; d < j->buckets; d++) {
        j->places[d] = at;
        for (int64_t b = 0; b < blocks; b++) {
            const int32_t *piece = j->begins + b * (j->buckets + 1) + d;
            at += piece[1] - piece[0];
        }
        const int64_t room = (j->buckets > 1 ? 2 : 1) * (at - j->places[d]);
        j->room = room > j->room ? room : j->room;
    }
    j->places[j->buckets] = at;
}

/* Buckets have written their runs where the first would be of keys that all differ. */
static int64_t
close_gaps(const job *j)
{
    const size_t item = (size_t)wk_itemsize[j->dtype];
    char *values = j->values;
    int64_t found = 0;
    for (int64_t d = 0; d < j->buckets; d++) {
        const int64_t at = j->places[d], own = j->found[d];
        if (at > found && own) {
            memmove(values + found * item, values + at * item, own * item);
            memmove(j->counts + found, j->counts + at, own * sizeof *j->counts);
        }
        found += own;
    }
    return found;
}

/* Memory that is new takes as long as two passes over the keys, in pages of 4 KiB. */
static void *
new_keys(size_t bytes)
{
    if (bytes < PAGE) return malloc(bytes);
    void *keys = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (keys) madvise(keys, bytes, MADV_HUGEPAGE); /* may fail: then pages are small */
    return keys;
}

static int64_t
sort(job *j, wk_call *call)
{
    const int64_t threads = j->n > GRAIN ? wk_thread_count(call->context) : 1;
    const size_t item = wk_itemsize[j->dtype] == 8 ? 8 : 4;
    j->buckets = 1;
    while (j->n > GRAIN && j->buckets < BUCKETS && j->n / j->buckets > BUCKET) j->buckets *= 2;
    j->room = GRAIN < j->n ? GRAIN : j->n;
    j->keys = new_keys((size_t)j->n * item);
    j->bounds = malloc((size_t)j->buckets * item);
    j->begins = malloc((size_t)(blocks_of(j) * (j->buckets + 1)) * sizeof *j->begins);
    j->places = malloc((size_t)(j->buckets + 1) * sizeof *j->places);
    j->found = calloc((size_t)j->buckets, sizeof *j->found);
    j->scratch = malloc((size_t)(threads * j->room) * item);
    if (!j->keys || !j->bounds || !j->begins || !j->places || !j->found || !j->scratch)
        return -1;
    if ((item == 8 ? choose_bounds_64 : choose_bounds_32)(j) < 0) return -1;
    wk_parallel(call->context, blocks_of(j), 1, item == 8 ? spread_task_64 : spread_task_32, j);
    if (wk_interrupted()) return -1;
    place_buckets(j);
    void *larger = realloc(j->scratch, (size_t)(threads * j->room) * item);
    if (larger == NULL) return -1;
    j->scratch = larger;
    wk_parallel(call->context, j->buckets, 1, item == 8 ? bucket_task_64 : bucket_task_32, j);
    if (wk_interrupted()) return -1;
    return close_gaps(j);
}

/* ---- all of it -------------------------------------------------------------------------- */

static int
find_ends(job *j, wk_call *call)
{
    const int64_t blocks = blocks_of(j);
    j->ends = malloc((size_t)blocks * sizeof *j->ends);
    if (j->ends == NULL) return -1;
    wk_parallel(call->context, blocks, 1, j->kind->ends, j);
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
    if (range == 0) return list_one(j);
    if (range < SHORT && (range < 256 || (int64_t)(range / SPARSE) < j->n))
        return count_values(j, call);
    return sort(j, call);
}

WK_CPU_LAUNCHER(unique_counts, radix)
{
    job j = {.n = call->args.runs.n, .dtype = call->in.dtype};
    j.kind = &kinds[j.dtype];
    j.values = call->out[0].data;
    j.counts = call->out[1].data;
    j.in = (const char *)call->in.data + call->in.first;
    const int64_t found = find(&j, call);
    free(j.ends);
    free(j.tables);
    free(j.used);
    free(j.keys);
    free(j.bounds);
    free(j.begins);
    free(j.places);
    free(j.found);
    free(j.scratch);
    if (found < 0)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate what sorting %lld keys takes",
                       (long long)j.n);
    *(int64_t *)call->out[2].data = found;
    return WK_OK;
}
