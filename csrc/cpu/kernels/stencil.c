/* stencil1d / cpu lines -- out[i] = sum over t of c[t] * in[i + t - before], in float64 or float32.
 *
 * In, out   lines of any real dtype (wk_in_lines) -> C-contiguous [outer][outputs][inner] of any.
 * How       each output's multiply-adds run in the order of t, fused, from 0: that order is the
 *           contract with the CUDA kernel. Vectors run across outputs, as many of them as
 *           registers hold through all taps. What is summed lies in a near cache as the sums' type:
 *           elements are converted once, the line's ends written out, and no tap asks for either.
 * Where     stencil_tasks_body.h brings and stores rows, stencil_sums_body.h sums them.
 * Source    scipy.ndimage.correlate1d for the meaning. */
#include "stencil.h"
#include "cpu/threads.h"
#include "num/line.h"

#include <stdlib.h>

/* Measured on an AMD EPYC by one thread, in ns an output, float32 by 9 coefficients unless said. */
enum {
    /* Parts of a line at once: 8 KiB of doubles, a quarter of L1. 512 and 2048 are as good. */
    LINE = 1024,
    /* Parts of lines so short that a task takes several, summed at once: 60000 rows of 5 by 33
     * coefficients take 3.3 ms, one by one 4.6. */
    SHORT = 128,
    FEWEST_LINES = 8,
    /* Coefficients by which float32 is summed as it is read. 3 in 0.34, 9 in 0.71; by way of
     * float64 in L1 0.69 and 0.87; 33 in 2.5, and 2.1. */
    FUSED = 12,
    /* Parts side by side from which on outputs share the rows they read. Rows of 24: 1.42 shared,
     * 0.72 as one line; of 40: 0.80, 0.72; of 64: 0.67 either way, and halos would leave L1. */
    WIDE = 64,
    /* Bytes of rows that stay near: of any L2. By 33 coefficients 1.70; 2^17 1.52, 2^19 1.88; but
     * of an array that is no cache's 2.08, 2.21, 2.07. */
    NEAR = 1 << 18,
    /* Of a block of rows, as wide as stays near: 4096 x 8192 by 3 of float64 23 ms, 1024 wide 32. */
    MOST_COLUMNS = 8192,
    FEWEST_COLUMNS = 32,
    TURNED_COLUMNS = 64, /* where rows become lines: a line of cache, or more, each */
    MOST_ROWS = 4096,    /* of a block: they have a table */
    FEWEST_ROWS = 32,
    /* Rows read where they lie: more of them, a power of two apart, are more than a set of a cache
     * holds. 4096 x 8192 float64 by 33 in place 118 ms, by way of scratch 70; by 9 41, and 43. */
    IN_PLACE = 8,
    TASKS = 8,       /* for each thread, if that is not too few rows for their halo */
    CONVERSIONS = 8, /* multiply-adds that take as long as the rest of an output's work */
    WORK = 1 << 14,  /* of them, what a thread takes at once, at least */
    ALONE = 1 << 19, /* up to here the caller's thread is alone: 20 us or so */
    SMALL = 1 << 14  /* bytes of scratch that a call of few elements has without asking */
};

static int64_t
smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t
blocks_of(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static int64_t
whole_pads(int64_t bytes)
{
    return blocks_of(bytes, WK_STENCIL_PAD) * WK_STENCIL_PAD;
}

/* As the arguments say, in parts. */
static void
describe(const wk_call *call, wk_stencil *j, int to_double)
{
    const wk_stencil_args *a = &call->args.stencil;
    const wk_array *in = &call->in, *out = &call->out[0];
    const int complex_in = in->dtype == WK_C64 || in->dtype == WK_C128;
    const int pairs = call->aux.dtype == WK_C64 || call->aux.dtype == WK_C128;
    j->args = a;
    j->kind = !pairs ? WK_BY_REAL : complex_in ? WK_BY_PAIR : WK_TO_PAIR;
    j->twice = j->kind == WK_TO_PAIR ? 2 : 1;
    j->load = WK_ISA_NAME(wk_stencil_loader)(in->dtype, to_double, j->twice == 2);
    j->store = WK_ISA_NAME(wk_stencil_storer)(to_double, out->dtype);
    const wk_dtype sums = to_double ? WK_F64 : WK_F32, parts = to_double ? WK_C128 : WK_C64;
    j->as_in_place = j->twice == 1 && (in->dtype == sums || in->dtype == parts);
    j->as_summed = out->dtype == sums || out->dtype == parts;
    if (to_double && !pairs && in->dtype == WK_F32 && out->dtype == WK_F32)
        j->fused = WK_ISA_NAME(wk_stencil_fused_f32);
    j->in = (const char *)in->data + in->first;
    j->out = out->data;
    j->outer = a->outer;
    j->n = a->n;
    j->outputs = a->outputs;
    j->inner = pairs ? 2 * a->inner : a->inner;
    j->width = j->inner;
    j->halo = a->taps - 1;
    j->cval[0] = a->cval[0];
    j->cval[1] = a->cval[j->kind != WK_TO_PAIR];
    j->in_outer = in->strides[0] * wk_itemsize[in->dtype];
    j->in_n = (a->n > 1 ? in->strides[1] : a->inner) * wk_itemsize[in->dtype];
    j->in_item = wk_itemsize[in->dtype] / (complex_in ? 2 : 1);
    j->out_item =
        wk_itemsize[out->dtype] / (out->dtype == WK_C64 || out->dtype == WK_C128 ? 2 : 1);
}

static void
plan_lines(wk_stencil *j, int64_t sum)
{
    const int64_t line = larger(LINE / j->inner, 1);
    const int side_by_side = j->in_n == j->inner * j->in_item;
    j->as_in_place &= side_by_side;
    if (!side_by_side || j->halo >= FUSED) j->fused = NULL;
    j->rows = smaller(j->outputs, larger(line, 2 * j->halo));
    j->row_blocks = blocks_of(j->outputs, j->rows);
    /* Whole lines, as many as fit: of short ones several are summed at once. */
    const int64_t window = (j->rows + j->halo) * j->inner;
    const int alike = j->row_blocks == 1 && j->rows * j->inner <= SHORT;
    j->group = alike ? smaller(larger(LINE / window, FEWEST_LINES), j->outer) : 1;
    j->scratch_each = j->group * (window + j->rows * j->inner) * sum + 2 * WK_STENCIL_PAD;
    j->column_blocks = 1;
}

/* Blocks of at most so many columns, of whole `unit`s, that stay near with all rows they need. */
static void
plan_columns(wk_stencil *j, int64_t sum, int64_t most, int64_t unit, int threads)
{
    j->group = 1;
    j->as_in_place &= j->halo <= IN_PLACE;
    j->ring = j->halo + WK_STENCIL_ROWS;
    const int64_t fit = larger(NEAR / sum / j->ring, FEWEST_COLUMNS);
    j->column_blocks = blocks_of(j->width, smaller(fit, most));
    j->columns = blocks_of(blocks_of(j->width, j->column_blocks), unit) * unit;
    j->column_blocks = blocks_of(j->width, j->columns);
    /* Enough row blocks for all threads, and as few as may be: each brings its halo. */
    const int64_t tasks = j->outer * j->column_blocks;
    const int64_t wanted =
        threads == 1 ? j->outputs : blocks_of(j->outputs, blocks_of(TASKS * threads, tasks));
    const int64_t least = larger(8 * j->halo, FEWEST_ROWS);
    j->rows = smaller(j->outputs, larger(smaller(wanted, MOST_ROWS), least));
    j->row_blocks = blocks_of(j->outputs, j->rows);
    const int64_t pitch = j->columns + WK_STENCIL_PAD / sum;
    const int64_t pointers = j->rows + j->halo + WK_STENCIL_ROWS;
    j->scratch_each = pointers * (int64_t)sizeof(void *) + (1 + j->ring) * pitch * sum +
                      larger(WK_STENCIL_ROWS * (2 * WK_STENCIL_PART * sum + WK_STENCIL_PAD),
                             WK_STENCIL_TURNED * (pitch + j->inner) * sum);
}

/* Complex coefficients as SUMS(add) takes them for complex elements. */
static void
prepare_pairs(const wk_call *call, int64_t taps, int to_double, void *to)
{
    const double *w = call->aux.data;
    const float *w32 = call->aux.data;
    double *d = to;
    float *f = to;
    for (int64_t t = 0; t < taps; t++) {
        const int64_t re = 2 * t, im = re + 1;
        if (to_double) {
            d[4 * t] = d[4 * t + 1] = w[re];
            d[4 * t + 2] = -w[im];
            d[4 * t + 3] = w[im];
        } else {
            f[4 * t] = f[4 * t + 1] = w32[re];
            f[4 * t + 2] = -w32[im];
            f[4 * t + 3] = w32[im];
        }
    }
}

static void
prepare_ends(wk_stencil *j, int64_t *left, int64_t *right)
{
    const wk_stencil_args *a = j->args;
    for (int64_t i = 0; i < a->before; i++) left[i] = wk_extend(i - a->before, a->n, a->mode);
    for (int64_t i = 0; i < j->halo; i++) right[i] = wk_extend(a->n + i, a->n, a->mode);
    j->left = left;
    j->right = right;
}

static wk_stencil_task *
plan(wk_stencil *j, int to_double, int threads)
{
    const int64_t sum = to_double ? 8 : 4, run = j->inner / j->twice * j->in_item;
    wk_stencil_task *task;
    if (j->inner >= WIDE) {
        task = to_double ? WK_ISA_NAME(wk_stencil_columns_f64)
                         : WK_ISA_NAME(wk_stencil_columns_f32);
        plan_columns(j, sum, MOST_COLUMNS, WK_STENCIL_PAD / sum, threads);
    } else if (j->in_n != run && j->in_outer == run && j->outer * j->inner >= WIDE) {
        task =
            to_double ? WK_ISA_NAME(wk_stencil_turned_f64) : WK_ISA_NAME(wk_stencil_turned_f32);
        j->width = j->outer * j->inner;
        j->outer = 1;
        plan_columns(j, sum, larger(TURNED_COLUMNS, j->inner), j->inner, threads);
    } else {
        task =
            to_double ? WK_ISA_NAME(wk_stencil_lines_f64) : WK_ISA_NAME(wk_stencil_lines_f32);
        plan_lines(j, sum);
    }
    j->scratch_each = whole_pads(j->scratch_each);
    return task;
}

WK_CPU_LAUNCHER(stencil1d, lines)
{
    const wk_stencil_args *a = &call->args.stencil;
    const int to_double = call->aux.dtype == WK_F64 || call->aux.dtype == WK_C128;
    wk_stencil j = {.taps = call->aux.data};
    describe(call, &j, to_double);
    const int64_t work = j.outer * j.outputs * j.inner * (a->taps + CONVERSIONS);
    const int threads = work <= ALONE ? 1 : wk_thread_count(call->context);
    wk_stencil_task *task = plan(&j, to_double, threads);

    _Alignas(WK_STENCIL_PAD) char small[SMALL];
    const int64_t pairs = j.kind == WK_BY_PAIR ? WK_TAP_PARTS * a->taps * 8 : 0;
    const int64_t ends_bytes = (a->before + j.halo) * (int64_t)sizeof(int64_t);
    const int64_t bytes = whole_pads(threads * j.scratch_each + pairs + ends_bytes);
    j.scratch = bytes <= SMALL ? small : aligned_alloc(WK_STENCIL_PAD, (size_t)bytes);
    if (j.scratch == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %lld bytes for lines",
                       (long long)bytes);
    char *taps = j.scratch + threads * j.scratch_each;
    int64_t *ends = (int64_t *)(taps + pairs);
    if (pairs) {
        prepare_pairs(call, j.halo + 1, to_double, taps);
        j.taps = taps;
    }
    prepare_ends(&j, ends, ends + a->before);

    const int64_t tasks = blocks_of(j.outer, j.group) * j.row_blocks * j.column_blocks;
    /* Neighbours together, so that two threads do not both ask for one page of a new result. */
    const int64_t grain = larger(WORK * tasks / larger(work, 1), tasks / (TASKS * threads) + 1);
    wk_parallel_short(call->context, tasks, threads == 1 ? tasks : grain, work / WORK, task,
                      &j);
    if (j.scratch != small) free(j.scratch);
    return WK_OK;
}
