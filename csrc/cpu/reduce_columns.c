/* reduce_columns.c -- reductions whose outputs lie closer together than an output's elements.
 *
 * A task takes a block of neighbouring columns and some of its rows, tile by tile. A tile goes
 * into lanes; if those do not hold, and for what has no such loop, it is turned: each column is
 * copied into a run. Columns that do not lie side by side, and short rows of elements that do not,
 * are brought together first, a tile at a time. us, 2 cores, as each output was folded by itself and so:
 * sums of 2 x 8381 of every other complex64 400 23, maxima of 4 x 156,697 of every other uint8 2,640 101. */
#include "cpu/fp.h"
#include "cpu/gather.h"
#include "cpu/reduce_tiles.h"
#include "cpu/threads.h"

#include <stdlib.h>

enum {
    JOIN = 2048,     /* rows of a part, which take longer than parts are joined             */
    WIDE = 64,       /* columns that narrow rows side by side make: 8 vectors and more      */
    GROUPS = 64,     /* of such rows, that it is worth to make each longer                  */
    VECTOR = 32,     /* columns of a wide row that leave none over, whatever the dtype      */
    NARROW = 32,     /* bytes of a row that argmin and argmax need, which have no wide ones */
    PIECE = 1 << 13, /* bytes of a block's row: long, as hardware prefetchers follow them   */
    LANES = 1 << 16, /* bytes of a block's lanes, in a second-level cache                   */
    FEW = 8,         /* neighbouring columns, ...                                           */
    WORTH = 256,     /* ... and elements of them, that are too few to be taken alone        */
    SHORT = 64       /* elements of rows that do not lie side by side, which go as columns  */
};

typedef struct shared_job {
    wk_columns_job j;
    int failed;
} shared_job;

static int64_t
filled_bytes(const wk_reduction *r)
{
    return r->fills ? WK_TILE_AGAIN : 0;
}

/* Where the columns of a block begin whose first one is of this output. */
static void
list_columns(const wk_columns_job *j, const wk_array *a, int64_t output, int64_t n, int64_t *at)
{
    const int kept = j->r->args->kept;
    if (j->axis < 0) {
        wk_list_outputs(a, kept, output, n, at);
        return;
    }
    const int64_t first = wk_offset_of(a, 0, kept, output);
    for (int64_t w = 0; w < n; w++) at[w] = first + w * a->strides[j->axis];
}

/* The i-th, whose lanes are there, what is filled and what is marked behind them. */
static wk_block
block_of(const wk_columns_job *j, int64_t i, char *lanes, int64_t most, wk_picked *picked)
{
    const wk_reduction *r = j->r;
    const int64_t at = i / j->parts, outer = at / j->blocks;
    const int64_t column = at % j->blocks * j->width;
    wk_block b = {.j = j};
    b.width = j->columns - column < j->width ? j->columns - column : j->width;
    b.output = (outer / j->step * j->columns + column) * j->step + outer % j->step;
    if (picked) {
        b.picked = picked;
        b.x = picked->x;
        b.mask = picked->mask;
        b.stride = b.mask_stride = 1;
        list_columns(j, r->in, b.output, b.width, picked->at);
        if (r->mask) list_columns(j, r->where, b.output, b.width, picked->mask_at);
    } else {
        b.x = r->x + wk_offset_of(r->in, 0, r->args->kept, b.output) * r->item;
        b.stride = r->in->strides[j->axis];
        if (r->mask) b.mask = r->mask + wk_offset_of(r->where, 0, r->args->kept, b.output);
        if (r->mask) b.mask_stride = r->where->strides[j->axis];
    }
    b.bytes = wk_lanes_bytes(r, b.width * j->group);
    b.filled = lanes + 2 * most;
    b.marks = (uint8_t *)b.filled + filled_bytes(r);
    wk_lanes_place(r, &b.lanes, lanes, b.width * j->group);
    wk_lanes_place(r, &b.before, lanes + most, b.width * j->group);
    uint8_t *marks = memset(b.marks + b.width, 0, (size_t)b.width);
    if (r->args->skip_nan && !r->fills && j->lanes && j->group == 1) b.odd = marks;
    if (r->clears && j->lanes && j->group == 1) b.some = marks;
    return b;
}

static void
columns_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    shared_job *shared = arg;
    const wk_columns_job *j = &shared->j;
    const wk_reduction *r = j->r;
    const wk_fp_state state = wk_fp_begin();
    const int64_t most = wk_lanes_bytes(r, j->width * j->group);
    const int64_t bytes = 2 * most + filled_bytes(r) + 3 * j->width;
    char *lanes = aligned_alloc(64, (size_t)((bytes + 63) & ~(int64_t)63));
    wk_picked *picked = j->picks ? aligned_alloc(64, sizeof *picked) : NULL;
    void *room = NULL;
    const int ready = lanes && (picked || !j->picks);
    if (!ready) shared->failed = 1;
    for (int64_t i = begin; i < end && ready; i++) {
        const int64_t start = i % j->parts * j->part, rest = r->args->n - start;
        const int64_t rows = rest < j->part ? rest : j->part;
        wk_block b = block_of(j, i, lanes, most, picked);
        if (j->accs) {
            b.accs = (wk_acc *)(j->accs + (b.output * j->parts + i % j->parts) * r->acc_bytes);
            b.acc_step = j->step * j->parts * r->acc_bytes;
            for (int64_t w = 0; w < b.width; w++) wk_acc_start(r, wk_acc_of(&b, w));
        } else if ((!j->lanes || j->group > 1) && !wk_need_accs(&b, &room, 0, b.width)) {
            shared->failed = 1;
            break;
        }
        if (j->group > 1)
            wk_fold_narrow(&b, start, start + rows);
        else if (wk_fold_block(&b, start, start + rows, &room))
            shared->failed = 1;
        if (j->accs || b.accs == NULL || b.loose) continue;
        for (int64_t w = 0; w < b.width; w++)
            r->foldings->finish(r, wk_acc_of(&b, w), b.output + w * j->step);
    }
    free(room);
    free(picked);
    free(lanes);
    wk_fp_end(state);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* Are there only a few columns, of many rows? */
static int
is_narrow(const wk_reduction *r, int axis)
{
    return r->in->shape[axis] <= WIDE / 2 && r->args->n >= 2 * WIDE;
}

/* Can columns be folded by lanes, once they lie side by side? */
static int
has_lanes(const wk_reduction *r)
{
    int can = r->mask == NULL || r->fills;
    for (int i = 0; i < r->components; i++) can &= r->folding[i]->columns != NULL;
    return can;
}

static int
has_columns(const wk_reduction *r, int axis)
{
    const int narrow = is_narrow(r, axis);
    return has_lanes(r) && r->in->strides[axis] == 1 && !(r->mask && narrow) &&
           !(wk_is_arg(r) && narrow && r->in->shape[axis] * r->item < NARROW);
}

/* Columns that do not lie side by side, or not many; both parts of a number must be in one tile. */
static int
is_picked(const wk_reduction *r, int axis)
{
    const int64_t columns = r->in->shape[axis];
    if (!has_lanes(r) || r->args->planes == 2 || is_narrow(r, axis)) return 0;
    return r->in->strides[axis] != 1 ||
           (columns < FEW && columns < r->args->outputs && columns * r->args->n < WORTH);
}

int
wk_picks_rows(const wk_reduction *r)
{
    return has_lanes(r) && r->args->planes == 1 && r->args->n <= SHORT &&
           r->args->outputs >= WK_ROWS;
}

/* How many rows make a wide one, of whole vectors as far as may be; 1: they are wide, or do not lie side
 * by side. */
static int64_t
group_of(const wk_columns_job *j)
{
    const wk_array *a = j->r->in;
    const int kept = j->r->args->kept;
    const int dense = a->ndim == kept + 1 && a->strides[kept] == j->columns;
    if (!j->lanes || j->picks || wk_is_arg(j->r) || !dense || !is_narrow(j->r, j->axis))
        return 1;
    const int64_t columns = j->columns, wide = 4 * WIDE / columns,
                  some = j->r->args->n / GROUPS;
    int64_t best = WIDE / columns, over = best * columns % VECTOR;
    for (int64_t group = best; over > 0 && group <= wide && group <= some; group++) {
        if (group * columns % VECTOR >= over) continue;
        best = group;
        over = group * columns % VECTOR;
    }
    return best;
}

/* Columns of a block: as many as their lanes may be wide, so that there are blocks for all threads. */
static int64_t
width_of(const wk_columns_job *j, int64_t outer, int64_t wanted)
{
    const wk_reduction *r = j->r;
    const int64_t piece = PIECE / r->item < WK_MOST_COLUMNS ? PIECE / r->item : WK_MOST_COLUMNS,
                  most = LANES / wk_lanes_bytes(r, 8) * 8;
    const int few = !j->lanes || j->picks || most < WK_WIDTH;
    int64_t width = few ? WK_WIDTH : most < piece ? most : piece;
    while (width > WK_WIDTH && outer * ((j->columns - 1) / width + 1) < wanted)
        width = (width / 2 + 7) & ~(int64_t)7;
    return width < j->columns ? width : j->columns;
}

/* And as many tasks as keep all threads busy. */
static void
cut_up(wk_columns_job *j, int threads)
{
    const wk_reduction *r = j->r;
    const int64_t n = r->args->n, outer = r->args->outputs / j->columns;
    const int64_t wanted = threads > 1 ? 2 * threads : 1; /* they may not all be free */
    j->width = width_of(j, outer, wanted);
    j->blocks = (j->columns + j->width - 1) / j->width;
    j->tile = (j->picks ? WK_PICKED : WK_TILE_AGAIN) / (j->width * r->item);
    const int once = r->components == 1 && r->component[0] != WK_C_SQUARES;
    if ((once && !j->picks) || j->tile > WK_TILE_ROWS) j->tile = WK_TILE_ROWS;
    if (j->tile < WK_ROWS) j->tile = WK_ROWS;
    j->parts = 1;
    j->part = n;
    const int64_t tasks = outer * j->blocks;
    const int64_t task = wk_task_of(r);
    if (tasks < wanted && n * j->width > 2 * task && n > 2 * JOIN) {
        const int64_t parts = (wanted + tasks - 1) / tasks, work = n * j->width / task,
                      all = work < n / JOIN ? work : n / JOIN;
        j->part = n / (parts < all ? parts : all) + 1;
        j->part = (j->part + WK_TILE_ROWS - 1) / WK_TILE_ROWS * WK_TILE_ROWS;
        j->parts = (n + j->part - 1) / j->part;
    }
}

static void
finish_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const wk_columns_job *j = &((shared_job *)arg)->j;
    const wk_reduction *r = j->r;
    const wk_fp_state state = wk_fp_begin();
    for (int64_t output = begin; output < end; output++) {
        char *accs = j->accs + output * j->parts * r->acc_bytes;
        for (int64_t p = 1; p < j->parts; p++)
            wk_acc_merge(r, (wk_acc *)accs, (wk_acc *)(accs + p * r->acc_bytes));
        r->foldings->finish(r, (wk_acc *)accs, output);
    }
    wk_fp_end(state);
}

wk_status
wk_reduce_columns(wk_call *call, const wk_reduction *r, int axis)
{
    const wk_reduce_args *args = r->args;
    shared_job shared = {.failed = 0};
    wk_columns_job *j = &shared.j;
    j->r = r;
    j->picks = axis < 0 || is_picked(r, axis);
    j->axis = j->picks && axis >= 0 && r->in->shape[axis] < FEW ? -1 : axis;
    j->lanes = j->picks || has_columns(r, axis);
    j->columns = j->axis < 0 ? args->outputs : r->in->shape[axis];
    j->group = group_of(j);
    cut_up(j, wk_thread_count(call->context));
    j->step = 1;
    for (int d = j->axis + 1; j->axis >= 0 && d < args->kept; d++) j->step *= r->in->shape[d];
    const int64_t tasks = args->outputs / j->columns * j->blocks;
    if (j->parts > 1) {
        j->accs = malloc((size_t)(args->outputs * j->parts * r->acc_bytes));
        if (j->accs == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate partial results");
    }
    const int64_t each = args->n / j->parts * j->width, task = wk_task_of(r);
    wk_parallel_short(call->context, tasks * j->parts,
                      wk_grain_of(tasks * j->parts, each + 1, task),
                      tasks * j->parts * each / task, columns_task, &shared);
    if (j->accs && !shared.failed && !wk_interrupted())
        wk_parallel_short(call->context, args->outputs, task / (64 * j->parts) + 1,
                          args->outputs * 64 * j->parts / task, finish_task, &shared);
    free(j->accs);
    return shared.failed ? WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate totals") : WK_OK;
}
