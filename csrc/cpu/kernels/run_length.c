/* run_length / cpu heads -- runs of equal neighbours: marked 64 at a time, then written.
 *
 * In, out   in[n] -> values[runs], counts[runs], and how many.
 * How       a head differs from its left neighbour. 64 comparisons fill a register with flags, and
 *           multiplications gather their bits; a word of zeros lies inside a run and costs no more.
 *           Threads first count the heads of their blocks, and note the last: from the sums each
 *           knows where its runs are written, and how long the run is that ends in its block.
 * Better    than a branch an element, which runs of no regular length mispredict.
 * Equal     are NaN and NaN, -0.0 and 0.0; results have one NaN, and 0.0. */
#include "cpu/kernels/runs.h"

#include <stdlib.h>

enum { GRAIN = 1 << 16 }; /* elements of a block: 30 us or more */

typedef struct job {
    const void *in;
    int64_t n;
    void *values;
    int64_t *counts;
    const struct kind *kind;
    struct block {
        int64_t heads, last; /* then: heads before the block, and the last of those */
    } * blocks;
} job;

typedef struct kind {
    int64_t (*count)(const void *in, int64_t begin, int64_t end, int64_t *last);
    int64_t (*write)(const job *j, int64_t begin, int64_t end, int64_t r, int64_t *prev);
} kind;

#define BITS_DIFFER(a, b) ((a) != (b))
#define FLOATS_DIFFER(a, b) (((a) != (b)) & (((a) == (a)) | ((b) == (b))))
#define IS_NAN(a, inf) (((a)&0x7fff) > (inf))
#define HALVES_DIFFER(a, b, inf)                                                               \
    (((a) != (b)) & ((((a) | (b)) & 0x7fff) != 0) & !(IS_NAN(a, inf) & IS_NAN(b, inf)))

#define U uint8_t
#define V uint8_t
#define DIFFER(a, b) (((a) != 0) != ((b) != 0))
#define VALUE(a) ((a) != 0)
#define RUNS(name) name##_bool
#include "cpu/kernels/runs_body.h"
#define U uint8_t
#define V uint8_t
#define DIFFER BITS_DIFFER
#define VALUE(a) (a)
#define RUNS(name) name##_1
#include "cpu/kernels/runs_body.h"
#define U uint16_t
#define V uint16_t
#define DIFFER BITS_DIFFER
#define VALUE(a) (a)
#define RUNS(name) name##_2
#include "cpu/kernels/runs_body.h"
#define U uint16_t
#define V uint16_t
#define DIFFER(a, b) HALVES_DIFFER(a, b, 0x7c00)
#define VALUE(a) wk_from_sort_key_16(wk_sort_key_16(a, 0x7c00), 0x7c00)
#define RUNS(name) name##_f16
#include "cpu/kernels/runs_body.h"
#define U uint16_t
#define V uint16_t
#define DIFFER(a, b) HALVES_DIFFER(a, b, 0x7f80)
#define VALUE(a) wk_from_sort_key_16(wk_sort_key_16(a, 0x7f80), 0x7f80)
#define RUNS(name) name##_bf16
#include "cpu/kernels/runs_body.h"
#define U uint32_t
#define V uint32_t
#define DIFFER BITS_DIFFER
#define VALUE(a) (a)
#define RUNS(name) name##_4
#include "cpu/kernels/runs_body.h"
#define U float
#define V float
#define DIFFER FLOATS_DIFFER
#define VALUE(a) wk_from_sort_key_f32(wk_sort_key_f32(a))
#define RUNS(name) name##_f32
#include "cpu/kernels/runs_body.h"
#define U uint64_t
#define V uint64_t
#define DIFFER BITS_DIFFER
#define VALUE(a) (a)
#define RUNS(name) name##_8
#include "cpu/kernels/runs_body.h"
#define U double
#define V double
#define DIFFER FLOATS_DIFFER
#define VALUE(a) wk_from_sort_key_f64(wk_sort_key_f64(a))
#define RUNS(name) name##_f64
#include "cpu/kernels/runs_body.h"

/* ---- keys ------------------------------------------------------------------------------- */

#define U uint32_t
#define V uint16_t
#define DIFFER BITS_DIFFER
#define VALUE(a) (uint16_t)((a) ^ 0x8000)
#define RUNS(name) name##_key_i16
#include "cpu/kernels/runs_body.h"
#define U uint32_t
#define V uint16_t
#define DIFFER BITS_DIFFER
#define VALUE(a) (uint16_t)(a)
#define RUNS(name) name##_key_u16
#include "cpu/kernels/runs_body.h"
#define U uint32_t
#define V uint16_t
#define DIFFER BITS_DIFFER
#define VALUE(a) wk_from_sort_key_16((uint16_t)(a), 0x7c00)
#define RUNS(name) name##_key_f16
#include "cpu/kernels/runs_body.h"
#define U uint32_t
#define V uint16_t
#define DIFFER BITS_DIFFER
#define VALUE(a) wk_from_sort_key_16((uint16_t)(a), 0x7f80)
#define RUNS(name) name##_key_bf16
#include "cpu/kernels/runs_body.h"
#define U uint32_t
#define V uint32_t
#define DIFFER BITS_DIFFER
#define VALUE(a) ((a) ^ 0x80000000u)
#define RUNS(name) name##_key_i32
#include "cpu/kernels/runs_body.h"
#define U uint32_t
#define V float
#define DIFFER BITS_DIFFER
#define VALUE(a) wk_from_sort_key_f32(a)
#define RUNS(name) name##_key_f32
#include "cpu/kernels/runs_body.h"
#define U uint64_t
#define V uint64_t
#define DIFFER BITS_DIFFER
#define VALUE(a) ((a) ^ 0x8000000000000000u)
#define RUNS(name) name##_key_i64
#include "cpu/kernels/runs_body.h"
#define U uint64_t
#define V double
#define DIFFER BITS_DIFFER
#define VALUE(a) wk_from_sort_key_f64(a)
#define RUNS(name) name##_key_f64
#include "cpu/kernels/runs_body.h"

#define KIND(name)                                                                             \
    {                                                                                          \
        count_##name, write_##name                                                             \
    }
static const kind plain[WK_DTYPES] = {
    [WK_BOOL] = KIND(bool), [WK_I8] = KIND(1),    [WK_U8] = KIND(1),      [WK_I16] = KIND(2),
    [WK_U16] = KIND(2),     [WK_I32] = KIND(4),   [WK_U32] = KIND(4),     [WK_I64] = KIND(8),
    [WK_U64] = KIND(8),     [WK_F16] = KIND(f16), [WK_BF16] = KIND(bf16), [WK_F32] = KIND(f32),
    [WK_F64] = KIND(f64),
};
static const kind of_keys[WK_DTYPES] = {
    [WK_I16] = KIND(key_i16), [WK_U16] = KIND(key_u16),   [WK_I32] = KIND(key_i32),
    [WK_U32] = KIND(4),       [WK_I64] = KIND(key_i64),   [WK_U64] = KIND(8),
    [WK_F16] = KIND(key_f16), [WK_BF16] = KIND(key_bf16), [WK_F32] = KIND(key_f32),
    [WK_F64] = KIND(key_f64),
};

/* ---- all of it -------------------------------------------------------------------------- */

static int64_t
end_of(const job *j, int64_t block)
{
    return (block + 1) * GRAIN < j->n ? (block + 1) * GRAIN : j->n;
}

static void
count_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    for (int64_t b = begin; b < end; b++)
        j->blocks[b].heads = j->kind->count(j->in, b * GRAIN, end_of(j, b), &j->blocks[b].last);
}

static void
write_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    for (int64_t b = begin; b < end; b++) {
        int64_t before = j->blocks[b].last;
        const int64_t r =
            j->kind->write(j, b * GRAIN, end_of(j, b), j->blocks[b].heads, &before);
        if (end_of(j, b) == j->n) j->counts[r - 1] = j->n - before;
    }
}

static int64_t
write_alone(const job *j)
{
    int64_t before = 0, r = 0;
    for (int64_t b = 0; b * GRAIN < j->n && !wk_interrupted(); b++)
        r = j->kind->write(j, b * GRAIN, end_of(j, b), r, &before);
    if (r > 0) j->counts[r - 1] = j->n - before; /* 0: stopped before the first */
    return r;
}

int64_t
WK_ISA_NAME(wk_write_runs)(const void *keys, int64_t n, wk_dtype dtype, void *values,
                           int64_t *counts)
{
    const job j = {
        .in = keys, .n = n, .values = values, .counts = counts, .kind = of_keys + dtype};
    return write_alone(&j);
}

/* How many; -1 without memory. */
static int64_t
write_shared(job *j, wk_context *context)
{
    const int64_t blocks = (j->n + GRAIN - 1) / GRAIN;
    j->blocks = malloc((size_t)blocks * sizeof *j->blocks);
    if (j->blocks == NULL) return -1;
    wk_parallel(context, blocks, 1, count_task, j);
    if (wk_interrupted()) {
        free(j->blocks);
        return 0;
    }
    int64_t total = 0, last = 0;
    for (int64_t b = 0; b < blocks; b++) {
        const struct block own = j->blocks[b];
        j->blocks[b] = (struct block){total, last};
        total += own.heads;
        if (own.heads) last = own.last;
    }
    wk_parallel(context, blocks, 1, write_task, j);
    free(j->blocks);
    return total;
}

WK_CPU_LAUNCHER(run_length, heads)
{
    job j = {.n = call->args.runs.n, .kind = plain + call->in.dtype};
    j.in = (const char *)call->in.data + call->in.first;
    j.values = call->out[0].data;
    j.counts = call->out[1].data;
    const int alone = j.n <= GRAIN || wk_thread_count(call->context) == 1; /* read once */
    const int64_t runs = alone ? write_alone(&j) : write_shared(&j, call->context);
    if (runs < 0) return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate a table of blocks");
    *(int64_t *)call->out[2].data = runs;
    return WK_OK;
}
