/* tree.c -- prod of floats and complex numbers: in double, by one fixed tree.
 *
 * In, out   any strides: kept axes, then reduced ones (see plan.h) -> one value per output.
 * How       work is (output, chunk of 1024); chunks of one output meet again in fold_totals.
 *           Ways to walk a chunk: a contiguous run; neighbouring columns side by side; short rows
 *           that are neither, copied to be columns; anything else is first copied into a run.
 * Source    the tree is num/tree.h's, and cuda/reduce walks the same one. */
#include "num/tree.h"
#include "cpu/fp.h"
#include "cpu/gather.h"
#include "cpu/isa.h"
#include "cpu/reduction.h"
#include "cpu/threads.h"
#include "finish.h"
#include "near.h"
#include "keys.h"
#include "pairs.h"
#include "store.h"
#include "tree.h"
#include "vector.h"

#include <stdlib.h>

enum {
    TASK = 1 << 16,       /* elements a task: 10 us of work                    */
    LANE_BYTES = 1 << 15, /* lanes times columns: half a first-level cache */
    /* Elements of a row that goes as a column, and rows together. us, 2 cores, one by one and so: 20,000 x 3
     * float32 251 39, 11 x 50 x 862 in Fortran's order along axis 0, turned too, 881 84. */
    SHORT = 64,
    WIDTH = 256,
    PICKED = 1 << 16 /* bytes of them */
};

typedef struct pair {
    double re, im;
} pair;

typedef struct single {
    float re, im;
} single;

/* A product as it is: GCC 12 makes fused operations of a complex product's sums, even where
 * contraction is forbidden. */
#if defined(__AVX512F__)
#define IN_REGISTER "+v"
#elif defined(__x86_64__)
#define IN_REGISTER "+x"
#elif defined(__aarch64__)
#define IN_REGISTER "+w"
#else
#define IN_REGISTER "+m"
#endif

static inline double
rounded(double x)
{
    __asm__("" : IN_REGISTER(x));
    return x;
}

static inline int
is_one(pair x)
{
    return x.re == 1 && x.im == 0 && !signbit(x.im);
}

/* 1, which stands where there is no element, changes nothing: not infinity, nor a zero's sign. */
static inline pair
times(pair x, pair y)
{
    const pair z = {rounded(x.re * y.re) - rounded(x.im * y.im),
                    rounded(x.re * y.im) + rounded(x.im * y.re)};
    return is_one(x) ? y : is_one(y) ? x : z;
}

/* The same of numbers whose parts lie side by side. */
static inline __attribute__((always_inline)) wk_vd
rounded_each(wk_vd x)
{
    __asm__("" : IN_REGISTER(x));
    return x;
}

static inline __attribute__((always_inline)) wk_vl
are_one(wk_vd x)
{
    const wk_vd one = PATTERN(1, 0);
    const wk_vl same = (wk_vl)x == (wk_vl)one;
    return same & SWAPPED(same);
}

static inline __attribute__((always_inline)) wk_vd
times_each(wk_vd x, wk_vd y)
{
    const wk_vl minus = PATTERN(INT64_MIN, 0), first = are_one(x), second = are_one(y) & ~first;
    const wk_vd straight = rounded_each(x * EVEN(y)),
                crossed = rounded_each(SWAPPED(x) * ODD(y)),
                z = straight + (wk_vd)((wk_vl)crossed ^ minus);
    return (wk_vd)(((wk_vl)y & first) | ((wk_vl)x & second) | ((wk_vl)z & ~(first | second)));
}

#define PER 1
#define EACH_OP(a, b) ((a) * (b))
#define T uint16_t
#define A double
#define LOAD(x) wk_f64_of_f16(x)
#define LOAD_EACH(x) wk_load_f16(x)
#define OP(a, b) ((a) * (b))
#define IDENTITY 1.0
#define ONE 0x3c00
#define FOLD(name) name##_f16
#include "tree_body.h"
#define T uint16_t
#define A double
#define LOAD(x) ((double)wk_from_bits_f32((uint32_t)(x) << 16))
#define LOAD_EACH(x) wk_load_bf16(x)
#define OP(a, b) ((a) * (b))
#define IDENTITY 1.0
#define ONE 0x3f80
#define FOLD(name) name##_bf16
#include "tree_body.h"
#define T float
#define A double
#define LOAD(x) ((double)(x))
#define LOAD_EACH(x) wk_load_f32(x)
#define OP(a, b) ((a) * (b))
#define IDENTITY 1.0
#define ONE 1.0f
#define FOLD(name) name##_f32
#include "tree_body.h"
#define T double
#define A double
#define LOAD(x) (x)
#define LOAD_EACH(x) wk_load_f64(x)
#define OP(a, b) ((a) * (b))
#define IDENTITY 1.0
#define ONE 1.0
#define FOLD(name) name##_f64
#include "tree_body.h"
#undef PER
#undef EACH_OP
#define PER 2
#define EACH_OP(a, b) times_each(a, b)
#define T single
#define A pair
#define LOAD(x) ((pair){(x).re, (x).im})
#define LOAD_EACH(x) wk_load_f32(&(x)->re)
#define OP(a, b) times(a, b)
#define IDENTITY ((pair){1, 0})
#define ONE                                                                                    \
    {                                                                                          \
        1, 0                                                                                   \
    }
#define FOLD(name) name##_c64
#include "tree_body.h"
#define T pair
#define A pair
#define LOAD(x) (x)
#define LOAD_EACH(x) wk_load_f64(&(x)->re)
#define OP(a, b) times(a, b)
#define IDENTITY ((pair){1, 0})
#define ONE                                                                                    \
    {                                                                                          \
        1, 0                                                                                   \
    }
#define FOLD(name) name##_c128
#include "tree_body.h"

typedef struct folds {
    int64_t total_size;
    void (*chunk)(const void *x, int64_t n, void *total); /* a run of elements */
    void (*columns)(const void *x, const int64_t *offsets, int64_t n, int64_t width,
                    void *totals);
    void (*fill)(void *x, int64_t n, const uint8_t *keep);
    void (*again)(const void *totals, int64_t n, void *total); /* a run of totals */
} folds;

#define FOLDS(type, lane, size)                                                                \
    {                                                                                          \
        size, chunk_##type, columns_##type, fill_##type, chunk_##lane                          \
    }
static const folds table[WK_DTYPES] = {
    [WK_F16] = FOLDS(f16, f64, 8),   [WK_BF16] = FOLDS(bf16, f64, 8),
    [WK_F32] = FOLDS(f32, f64, 8),   [WK_F64] = FOLDS(f64, f64, 8),
    [WK_C64] = FOLDS(c64, c128, 16), [WK_C128] = FOLDS(c128, c128, 16),
};

typedef struct job {
    const wk_call *call;
    const wk_reduce_args *args;
    const wk_array *in, *where; /* where NULL: all count */
    const folds *fold;
    const char *x, *mask; /* element [0, ..., 0] */
    char *totals;         /* [outputs][chunks]; NULL when one chunk is all */
    int64_t item, chunks;
    int64_t width; /* of a column block */
} job;

static int
reduced_is_a_run(const job *j)
{
    const int axes = j->in->ndim - j->args->kept;
    return axes == 0 || j->args->n == 0 || (axes == 1 && j->in->strides[j->args->kept] == 1);
}

/* The total, times the initial value, as an element of the output. */
static void
finish(const job *j, const double *total, int64_t output)
{
    const wk_array *out = &j->call->out[0];
    const int complex = wk_is_complex(j->in->dtype);
    const wk_dtype part = wk_real_of(out->dtype);
    pair x = {total[0], complex ? total[1] : 0};
    const pair initial = {j->args->initial.f64[0], j->args->initial.f64[1]};
    if (j->args->has_initial && complex) x = times(x, initial);
    if (j->args->has_initial && !complex) x.re *= initial.re;
    x.re = wk_narrow((wk_near){x.re, 0, 1}, part);
    if (!complex) {
        wk_store_real(out->data, output, out->dtype, x.re);
        return;
    }
    x.im = wk_narrow((wk_near){x.im, 0, 1}, part);
    wk_store_real(out->data, 2 * output, part, x.re);
    wk_store_real(out->data, 2 * output + 1, part, x.im);
}

/* The results of neighbouring outputs. */
static void
finish_each(const job *j, const double *total, int64_t output, int64_t count)
{
    const int parts = (int)(j->fold->total_size / 8);
    const wk_array *out = &j->call->out[0];
    const wk_dtype part = wk_real_of(out->dtype);
    const int alike = wk_is_complex(out->dtype) == (parts == 2) && !j->args->has_initial;
    float *f32 = (float *)out->data + output * parts;
    double *f64 = (double *)out->data + output * parts;
    if (alike && part == WK_F32)
        for (int64_t i = 0; i < count * parts; i++) f32[i] = wk_one_nan_f32((float)total[i]);
    else if (alike && part == WK_F64)
        for (int64_t i = 0; i < count * parts; i++) f64[i] = wk_one_nan_f64(total[i]);
    else
        for (int64_t i = 0; i < count; i++) finish(j, total + i * parts, output + i);
}

/* The totals of one chunk of `count` neighbouring outputs: the results, where it is all. */
static void
put(const job *j, int64_t output, int64_t count, int64_t chunk, const char *totals)
{
    const int64_t size = j->fold->total_size;
    if (j->totals == NULL) {
        finish_each(j, (const double *)totals, output, count);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(j->totals + ((output + i) * j->chunks + chunk) * size, totals + i * size,
               (size_t)size);
}

/* A chunk's elements side by side, 1 where they do not count. */
static void
collect(const job *j, const char *x, int64_t output, int64_t start, int64_t n, void *to)
{
    const int kept = j->args->kept;
    uint8_t keep[WK_CHUNK];
    wk_collect(j->in, kept, x, start, n, to);
    if (j->where == NULL && !j->args->skip_nan) return;
    memset(keep, 1, (size_t)n);
    if (j->where) {
        const int64_t at = wk_offset_of(j->where, 0, kept, output);
        wk_collect(j->where, kept, j->mask + at, start, n, keep);
    }
    if (j->args->skip_nan) WK_ISA_NAME(wk_drop_nan)(j->in->dtype, to, n, keep);
    j->fold->fill(to, n, keep);
}

static void
rows_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const int run = reduced_is_a_run(j) && j->where == NULL && !j->args->skip_nan;
    const wk_fp_state state = wk_fp_begin();
    pair buffer[WK_CHUNK], total;
    for (int64_t i = begin; i < end; i++) {
        const int64_t output = i / j->chunks, chunk = i % j->chunks;
        const int64_t start = chunk * WK_CHUNK;
        const int64_t n = j->args->n - start < WK_CHUNK ? j->args->n - start : WK_CHUNK;
        const char *x = j->x + wk_offset_of(j->in, 0, j->args->kept, output) * j->item;
        if (!run) collect(j, x, output, start, n, buffer);
        j->fold->chunk(run ? (const void *)(x + start * j->item) : buffer, n, &total);
        put(j, output, 1, chunk, (const char *)&total);
    }
    wk_fp_end(state);
}

/* Short rows, wherever their elements lie, as columns. */
static void
picks_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const int kept = j->args->kept;
    const int64_t n = j->args->n;
    const wk_fp_state state = wk_fp_begin();
    _Alignas(64) char x[PICKED];
    uint8_t keep[PICKED / 4];
    int64_t offsets[SHORT], masks[SHORT], own[SHORT], at[WIDTH];
    double totals[LANE_BYTES / 8];
    wk_list_offsets(j->in, kept, 0, n, offsets);
    if (j->where) wk_list_offsets(j->where, kept, 0, n, masks);
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i * j->width, rest = j->args->outputs - first;
        const int64_t width = rest < j->width ? rest : j->width;
        wk_list_outputs(j->in, kept, first, width, at);
        wk_pick(j->item, j->x, offsets, n, at, width, x);
        memset(keep, 1, (size_t)(n * width));
        if (j->where) {
            wk_list_outputs(j->where, kept, first, width, at);
            wk_pick(1, j->mask, masks, n, at, width, keep);
        }
        if (j->args->skip_nan) WK_ISA_NAME(wk_drop_nan)(j->in->dtype, x, n * width, keep);
        if (j->where || j->args->skip_nan) j->fold->fill(x, n * width, keep);
        for (int64_t k = 0; k < n; k++) own[k] = k * width;
        j->fold->columns(x, own, n, width, totals);
        put(j, first, width, 0, (const char *)totals);
    }
    wk_fp_end(state);
}

static void
columns_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const int64_t columns = j->in->shape[j->args->kept - 1];
    const int64_t blocks = (columns + j->width - 1) / j->width;
    const wk_fp_state state = wk_fp_begin();
    int64_t offsets[WK_CHUNK], listed = -1;
    double totals[LANE_BYTES / 8];
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % blocks, outer = i / blocks % (j->args->outputs / columns);
        const int64_t chunk = i / blocks / (j->args->outputs / columns);
        const int64_t start = chunk * WK_CHUNK, column = block * j->width;
        const int64_t n = j->args->n - start < WK_CHUNK ? j->args->n - start : WK_CHUNK;
        const int64_t width = columns - column < j->width ? columns - column : j->width;
        const int64_t at = wk_offset_of(j->in, 0, j->args->kept - 1, outer) + column;
        if (listed != chunk) wk_list_offsets(j->in, j->args->kept, start, n, offsets);
        listed = chunk;
        j->fold->columns(j->x + at * j->item, offsets, n, width, totals);
        put(j, outer * columns + column, width, chunk, (const char *)totals);
    }
    wk_fp_end(state);
}

/* The totals of one output's chunks, folded in place level by level. */
static void
fold_totals(const job *j, int64_t output)
{
    const int64_t size = j->fold->total_size;
    char *t = j->totals + output * j->chunks * size;
    int64_t m = j->chunks;
    pair total;
    while (m > 1) {
        const int64_t next = wk_chunks(m);
        for (int64_t c = 0; c < next; c++) {
            const int64_t n = m - c * WK_CHUNK < WK_CHUNK ? m - c * WK_CHUNK : WK_CHUNK;
            j->fold->again(t + c * WK_CHUNK * size, n, &total);
            memcpy(t + c * size, &total, (size_t)size);
        }
        m = next;
    }
    finish(j, (const double *)t, output);
}

static void
totals_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const wk_fp_state state = wk_fp_begin();
    for (int64_t output = begin; output < end; output++) fold_totals(arg, output);
    wk_fp_end(state);
}

/* Are neighbouring columns folded side by side? Then as many as j->width at a time. */
static int
side_by_side(job *j)
{
    const wk_reduce_args *args = j->args;
    const int last = args->kept - 1;
    if (last < 0 || j->in->strides[last] != 1 || reduced_is_a_run(j) || j->where ||
        args->skip_nan)
        return 0;
    const int64_t lanes = args->n < WK_LANES ? args->n : WK_LANES;
    j->width = LANE_BYTES / j->fold->total_size / lanes;
    if (j->width > j->in->shape[last]) j->width = j->in->shape[last];
    return 1;
}

/* Or are they picked? */
static int
is_picked(job *j)
{
    const wk_reduce_args *args = j->args;
    if (args->n < 1 || args->n > SHORT || args->outputs < WK_ROWS) return 0;
    const int64_t lanes = args->n < WK_LANES ? args->n : WK_LANES;
    j->width = LANE_BYTES / j->fold->total_size / lanes;
    if (j->width > WIDTH) j->width = WIDTH;
    return 1;
}

wk_status
WK_ISA_NAME(wk_reduce_tree)(wk_call *call)
{
    const wk_reduce_args *args = &call->args.reduce;
    const wk_array *in = &call->in;
    job j = {.call = call, .args = args, .in = in, .fold = &table[in->dtype]};
    j.item = wk_itemsize[in->dtype];
    j.x = (const char *)in->data + in->first;
    if (call->mask.ndim >= 0) {
        j.where = &call->mask;
        j.mask = (char *)(j.where->data ? j.where->data : j.where->host) + j.where->first;
    }
    j.chunks = args->n ? wk_chunks(args->n) : 1;

    const int last = args->kept - 1, columns = side_by_side(&j),
              picks = !columns && is_picked(&j);
    const int64_t items = columns ? args->outputs / in->shape[last] * j.chunks *
                                        ((in->shape[last] + j.width - 1) / j.width)
                          : picks ? (args->outputs + j.width - 1) / j.width
                                  : args->outputs * j.chunks;
    const int64_t each = (args->n < WK_CHUNK ? args->n + WK_LANES : WK_CHUNK) *
                         (columns || picks ? j.width : 1); /* a short row costs its fold too */

    if (j.chunks > 1) {
        const int64_t bytes = args->outputs * j.chunks * j.fold->total_size;
        j.totals = malloc((size_t)bytes);
        if (j.totals == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY,
                           "cannot allocate %lld bytes for partial folds", (long long)bytes);
    }
    wk_parallel_short(call->context, items, wk_grain_of(items, each, TASK), items * each / TASK,
                      columns ? columns_task
                      : picks ? picks_task
                              : rows_task,
                      &j);
    if (j.totals && !wk_interrupted())
        wk_parallel_short(call->context, args->outputs, j.chunks < TASK ? TASK / j.chunks : 1,
                          args->outputs * j.chunks / TASK, totals_task, &j);
    free(j.totals);
    return WK_OK;
}
