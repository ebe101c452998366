/* reduce / cpu tree -- 32 lanes in registers, one fixed tree.
 *
 * In, out   any strides: kept axes, then reduced ones (see plan.h) -> one value per output.
 * How       work is (output, chunk of 1024); chunks of one output meet again in fold_totals.
 *           Three ways to walk a chunk: a contiguous run; neighbouring columns side by side;
 *           anything else is first copied into a run.
 * Source    the tree is scalar.h's, and cuda/reduce walks the same one. */
#include "plan.h"
#include "scalar.h"
#include "cpu/isa.h"
#include "cpu/threads.h"
#include "fold.h"

#include <stdlib.h>

enum {
    TASK = 1 << 18 /* elements a task: 50 us of work, what waking another thread may cost */
};

static const wk_folds *const tables[WK_FOLDS] = {
    WK_ISA_NAME(wk_folds_sum), WK_ISA_NAME(wk_folds_prod), WK_ISA_NAME(wk_folds_min),
    WK_ISA_NAME(wk_folds_max), WK_ISA_NAME(wk_folds_mean),
};

typedef struct job {
    const wk_reduce_args *args;
    const wk_array *in;
    const wk_folds *fold;
    const char *x; /* element [0, ..., 0] */
    char *totals;  /* [outputs][chunks]; NULL when one chunk is all */
    char *out;
    int64_t out_size, chunks;
    int64_t width; /* of a column block */
} job;

/* Where element `index` of the axes [from, to) lies, counted in elements. */
static int64_t
offset_of(const wk_array *a, int from, int to, int64_t index)
{
    int64_t offset = 0;
    for (int d = to - 1; d >= from && index > 0; d--) {
        offset += index % a->shape[d] * a->strides[d];
        index /= a->shape[d];
    }
    return offset;
}

/* The reduced axes as an odometer. */
typedef struct odometer {
    int64_t index[WK_MAX_DIMS], offset;
} odometer;

static odometer
odometer_at(const job *j, int64_t start)
{
    const wk_array *a = j->in;
    odometer o;
    o.offset = offset_of(a, j->args->kept, a->ndim, start);
    for (int d = a->ndim - 1; d >= j->args->kept; d--) {
        o.index[d] = start % a->shape[d];
        start /= a->shape[d];
    }
    return o;
}

/* Moves on by `steps` along the last axis, which has at least that many left. */
static void
advance(const job *j, odometer *o, int64_t steps)
{
    const wk_array *a = j->in;
    int d = a->ndim - 1;
    o->index[d] += steps;
    o->offset += steps * a->strides[d];
    for (; d > j->args->kept && o->index[d] == a->shape[d]; d--) {
        o->offset += a->strides[d - 1] - a->shape[d] * a->strides[d];
        o->index[d] = 0;
        o->index[d - 1]++;
    }
}

/* Offsets of the reduced elements start .. start + n - 1. */
static void
list_offsets(const job *j, int64_t start, int64_t n, int64_t *offsets)
{
    odometer o = odometer_at(j, start);
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = o.offset;
        advance(j, &o, 1);
    }
}

#define COLLECT(T)                                                                             \
    for (int64_t k = 0; k < run; k++) ((T *)to)[i + k] = ((const T *)x)[o.offset + k * stride]

/* Copies the reduced elements start .. start + n - 1 of the output at x side by side. */
static void
collect(const job *j, const char *x, int64_t start, int64_t n, void *to)
{
    const int last = j->in->ndim - 1;
    const int64_t stride = j->in->strides[last];
    odometer o = odometer_at(j, start);
    for (int64_t i = 0, run; i < n; i += run) {
        run = j->in->shape[last] - o.index[last];
        if (run > n - i) run = n - i;
        switch (wk_itemsize[j->in->dtype]) {
        case 1: COLLECT(uint8_t); break;
        case 2: COLLECT(uint16_t); break;
        case 4: COLLECT(uint32_t); break;
        default: COLLECT(uint64_t); break;
        }
        advance(j, &o, run);
    }
}

static int
reduced_is_a_run(const job *j)
{
    const int axes = j->in->ndim - j->args->kept;
    return axes == 0 || j->args->n == 0 || (axes == 1 && j->in->strides[j->args->kept] == 1);
}

/* The totals of one chunk of `count` neighbouring outputs: the results, where it is all. */
static void
put(const job *j, int64_t output, int64_t count, int64_t chunk, const char *totals)
{
    const int64_t size = j->fold->total_size;
    if (j->totals == NULL)
        j->fold->finish(totals, count, j->args->n, j->out + output * j->out_size);
    else
        for (int64_t i = 0; i < count; i++)
            memcpy(j->totals + ((output + i) * j->chunks + chunk) * size, totals + i * size,
                   (size_t)size);
}

static void
rows_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const int run = reduced_is_a_run(j);
    const int64_t item = wk_itemsize[j->in->dtype];
    int64_t buffer[WK_CHUNK], total;
    for (int64_t i = begin; i < end; i++) {
        const int64_t output = i / j->chunks, chunk = i % j->chunks;
        const int64_t start = chunk * WK_CHUNK;
        const int64_t n = j->args->n - start < WK_CHUNK ? j->args->n - start : WK_CHUNK;
        const char *x = j->x + offset_of(j->in, 0, j->args->kept, output) * item;
        if (!run) collect(j, x, start, n, buffer);
        j->fold->chunk(run ? (const void *)(x + start * item) : buffer, n, &total);
        put(j, output, 1, chunk, (const char *)&total);
    }
}

static void
columns_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const int64_t item = wk_itemsize[j->in->dtype];
    const int64_t columns = j->in->shape[j->args->kept - 1];
    const int64_t blocks = (columns + j->width - 1) / j->width;
    int64_t offsets[WK_CHUNK], listed = -1, totals[WK_LANE_BYTES / 8];
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % blocks, outer = i / blocks % (j->args->outputs / columns);
        const int64_t chunk = i / blocks / (j->args->outputs / columns);
        const int64_t start = chunk * WK_CHUNK, column = block * j->width;
        const int64_t n = j->args->n - start < WK_CHUNK ? j->args->n - start : WK_CHUNK;
        const int64_t width = columns - column < j->width ? columns - column : j->width;
        const int64_t at = offset_of(j->in, 0, j->args->kept - 1, outer) + column;
        if (listed != chunk) list_offsets(j, start, n, offsets);
        listed = chunk;
        j->fold->columns(j->x + at * item, offsets, n, width, totals);
        put(j, outer * columns + column, width, chunk, (const char *)totals);
    }
}

/* The totals of one output's chunks, folded in place level by level. */
static void
fold_totals(const job *j, int64_t output)
{
    const int64_t size = j->fold->total_size;
    char *t = j->totals + output * j->chunks * size;
    int64_t m = j->chunks, total;
    while (m > 1) {
        const int64_t next = wk_chunks(m);
        for (int64_t c = 0; c < next; c++) {
            const int64_t n = m - c * WK_CHUNK < WK_CHUNK ? m - c * WK_CHUNK : WK_CHUNK;
            j->fold->again(t + c * WK_CHUNK * size, n, &total);
            memcpy(t + c * size, &total, (size_t)size);
        }
        m = next;
    }
    j->fold->finish(t, 1, j->args->n, j->out + output * j->out_size);
}

static void
totals_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    for (int64_t output = begin; output < end; output++) fold_totals(arg, output);
}

wk_status
WK_ISA_NAME(wk_reduce_cpu_tree)(wk_call *call)
{
    const wk_reduce_args *args = &call->args.reduce;
    const wk_array *in = &call->in;
    job j = {.args = args, .in = in, .fold = &tables[args->fold][in->dtype]};
    j.x = (const char *)in->data + in->first;
    j.out = call->out[0].data;
    j.out_size = wk_itemsize[call->out[0].dtype];
    j.chunks = args->n ? wk_chunks(args->n) : 1;

    const int last = args->kept - 1;
    const int columns = last >= 0 && in->strides[last] == 1 && !reduced_is_a_run(&j);
    if (columns) {
        const int64_t lanes = args->n < WK_LANES ? args->n : WK_LANES;
        j.width = WK_LANE_BYTES / j.fold->total_size / lanes;
        if (j.width > in->shape[last]) j.width = in->shape[last];
    }
    const int64_t items = columns ? args->outputs / in->shape[last] * j.chunks *
                                        ((in->shape[last] + j.width - 1) / j.width)
                                  : args->outputs * j.chunks;
    const int64_t each = (args->n < WK_CHUNK ? args->n + WK_LANES : WK_CHUNK) *
                         (columns ? j.width : 1); /* a short row costs its fold too */

    if (j.chunks > 1) {
        const int64_t bytes = args->outputs * j.chunks * j.fold->total_size;
        j.totals = malloc((size_t)bytes);
        if (j.totals == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY,
                           "cannot allocate %lld bytes for partial folds", (long long)bytes);
    }
    wk_parallel(call->context, items, each < TASK ? TASK / each : 1,
                columns ? columns_task : rows_task, &j);
    if (j.totals)
        wk_parallel(call->context, args->outputs, j.chunks < TASK ? TASK / j.chunks : 1,
                    totals_task, &j);
    free(j.totals);
    return WK_OK;
}
