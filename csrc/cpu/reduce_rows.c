/* reduce_rows.c -- reductions whose elements lie side by side, or nowhere near.
 *
 * Rows of few elements are turned a tile at a time, and go as columns: their own beginning and end
 * would cost more than the elements do. */
#include "cpu/fp.h"
#include "cpu/gather.h"
#include "cpu/reduction.h"
#include "cpu/reduce_way.h"
#include "cpu/threads.h"

#include <stdlib.h>

enum {
    ROW = 64,       /* elements that a row's beginning and end cost                        */
    FEW = 16,       /* elements of a row that is turned: its own beginning and end cost    */
    SUMS = 8,       /* more; the same of sums alone,                                       */
    CHEAP = 3,      /* and where a row is a loop and no more                               */
    MANY = 16,      /* outputs that are worth it                                           */
    TURN = 1 << 14, /* bytes that are turned at once: they stay in L1                      */
    ODD = 8         /* rows of one with NaN that are folded again alone                    */
};

/* ---- many short rows ------------------------------------------------------------------------ */

typedef struct rows_job {
    const wk_reduction *r;
    const wk_way *way;
    int64_t parts, part;
    char *accs; /* [outputs][parts]; NULL: an output is one task's alone */
} rows_job;

/* Are rows so short that they are turned, and go as columns? */
static int
is_few(const wk_reduction *r)
{
    int64_t most = r->in->dtype >= WK_F16 && r->component[0] == WK_C_SUM ? SUMS : CHEAP;
    for (int i = 0; i < r->components; i++) {
        const int squares = r->in->dtype >= WK_F16 && r->component[i] == WK_C_SQUARES;
        if (r->folding[i]->columns == NULL) return 0;
        if (squares || wk_is_arg(r)) most = FEW;
    }
    return r->args->outputs >= MANY && r->args->n <= most && r->args->n * r->item <= 128;
}

int
wk_has_rows(const wk_reduction *r)
{
    const int axes = r->in->ndim - r->args->kept;
    int can = r->args->n >= 1 && r->args->n <= WK_BLOCK &&
              (axes == 0 || (axes == 1 && r->in->strides[r->args->kept] == 1));
    can &= r->mask == NULL || (r->fills && r->args->n * r->item <= WK_FILLED);
    can &= !r->args->skip_nan || r->args->planes != 2;
    if (is_few(r)) return can;
    for (int i = 0; i < r->components; i++) can &= r->folding[i]->rows != NULL;
    return can;
}

int64_t
wk_rows_most(const wk_reduction *r)
{
    const int64_t bytes = r->args->n * r->item, filled = WK_FILLED / bytes;
    const int64_t most = r->fills && filled > 0 && filled < WK_WIDTH ? filled : WK_WIDTH;
    if (!is_few(r)) return most;
    const int64_t turned = TURN / bytes & ~(int64_t)7;
    return turned < most ? turned : most;
}

int
wk_rows_fold(const wk_reduction *r, wk_lanes *lanes, const char *x, const int64_t *offsets,
             int64_t width)
{
    const int64_t n = r->args->n;
    const int few = is_few(r);
    _Alignas(64) char tile[TURN];
    int64_t turned[FEW];
    int held = 1;
    for (int64_t w = 0; wk_must_look(r) && w < width; w++)
        if (r->foldings->any_nan(r->in->dtype, x + offsets[w] * r->item, n)) return 0;
    if (few) {
        wk_turn(r->item, x, 1, offsets, width, n, tile);
        for (int64_t i = 0; i < n; i++) turned[i] = i * width;
        wk_lanes_start(r, lanes, width, 0);
    }
    for (int c = 0; c < r->components && held; c++) {
        const wk_folding *f = r->folding[c];
        held = wk_lanes_held(r, few ? f->columns(lanes->of[c], tile, turned, n, width)
                                    : f->rows(lanes->of[c], x, offsets, n, width));
    }
    return held;
}

/* In place of rows that have NaN, which are marked, one that has none. 0: there is none, or too many do:
 * then offsets and marks are of no use. */
static int
leave_out_nan(const wk_reduction *r, int64_t *offsets, int64_t width, uint8_t *odd)
{
    int64_t good = -1, some = 0;
    if (!r->args->skip_nan) return 0;
    for (int64_t w = 0; w < width && some <= width / ODD; w++) {
        odd[w] = (uint8_t)r->foldings->any_nan(r->in->dtype, r->x + offsets[w] * r->item,
                                               r->args->n);
        some += odd[w];
        if (!odd[w]) good = offsets[w];
    }
    for (int64_t w = 0; good >= 0 && w < width; w++)
        if (odd[w]) offsets[w] = good;
    return good >= 0 && some > 0 && some <= width / ODD;
}

typedef struct filled_rows { /* in which what does not count is neutral */
    _Alignas(64) char x[WK_FILLED];
    int64_t offsets[WK_WIDTH];
    uint8_t some[WK_WIDTH]; /* does anything count? */
} filled_rows;

/* 0: there is no such element, or they have no room. */
static int
fill_rows(const wk_reduction *r, const int64_t *offsets, const int64_t *masks, int64_t width,
          filled_rows *to)
{
    const int64_t n = r->args->n, bytes = n * r->item;
    const int64_t step = r->mask && n > 1 ? r->where->strides[r->args->kept] : 1;
    uint8_t room[WK_BLOCK];
    if (!r->fills || width * bytes > WK_FILLED) return 0;
    int run = r->mask && step == 1 && !r->args->skip_nan; /* are they one long row? */
    for (int64_t w = 1; w < width && run; w++)
        run = offsets[w] == offsets[0] + w * n && masks[w] == masks[0] + w * n;
    if (run)
        r->foldings->fill(r->item, r->x + offsets[0] * r->item, r->mask + masks[0], width * n,
                          r->neutral, to->x);
    for (int64_t w = 0; w < width; w++) {
        const char *x = r->x + offsets[w] * r->item;
        const uint8_t *mask = r->mask ? r->mask + masks[w] : NULL;
        const uint8_t *keep = wk_which_count(r, x, mask, step, n, room);
        if (!run) r->foldings->fill(r->item, x, keep, n, r->neutral, to->x + w * bytes);
        to->offsets[w] = w * n;
        to->some[w] = 0;
        for (int64_t i = 0; i < n && r->clears; i++) to->some[w] |= keep[i];
    }
    return 1;
}

static void
short_rows(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const rows_job *j = arg;
    const wk_reduction *r = j->r;
    const int64_t most = wk_rows_most(r);
    wk_lanes lanes;
    _Alignas(64) double room[WK_ROWS_ROOM];
    int64_t offsets[WK_WIDTH], masks[WK_WIDTH];
    filled_rows filled;
    const wk_fp_state state = wk_fp_begin();
    for (int64_t i = begin, width; i < end; i += width) {
        width = end - i < most ? end - i : most;
        wk_list_outputs(r->in, r->args->kept, i, width, offsets);
        if (r->mask) wk_list_outputs(r->where, r->args->kept, i, width, masks);
        uint8_t odd[WK_WIDTH] = {0};
        wk_lanes_place(r, &lanes, room, width);
        int held = r->mask == NULL && wk_rows_fold(r, &lanes, r->x, offsets, width), fills = 0;
        if (!held) {
            fills = fill_rows(r, offsets, masks, width, &filled);
            held = fills ? wk_rows_fold(r, &lanes, filled.x, filled.offsets, width)
                         : leave_out_nan(r, offsets, width, odd) &&
                               wk_rows_fold(r, &lanes, r->x, offsets, width);
        }
        if (held) r->foldings->finish_lanes(r, lanes.of, width, i, 1);
        if (held && fills && r->clears) wk_clear_outputs(r, filled.some, width, i, 1);
        for (int64_t w = 0; w < width; w++)
            if (!held || odd[w]) wk_way_output(j->way, i + w);
    }
    wk_fp_end(state);
}

/* ---- any rows ------------------------------------------------------------------------------- */

static void
long_rows(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const rows_job *j = arg;
    const wk_reduction *r = j->r;
    const wk_fp_state state = wk_fp_begin();
    for (int64_t i = begin; i < end; i++) {
        const int64_t output = i / j->parts, start = i % j->parts * j->part;
        const int64_t n = r->args->n - start < j->part ? r->args->n - start : j->part;
        if (j->accs == NULL) {
            wk_way_output(j->way, output);
        } else {
            wk_acc *a = (wk_acc *)(j->accs + i * r->acc_bytes);
            wk_acc_start(r, a);
            wk_way_run(j->way, a, output, start, n);
        }
    }
    wk_fp_end(state);
}

static void
finish_rows(const rows_job *j)
{
    const wk_reduction *r = j->r;
    for (int64_t output = 0; output < r->args->outputs; output++) {
        char *accs = j->accs + output * j->parts * r->acc_bytes;
        for (int64_t p = 1; p < j->parts; p++)
            wk_acc_merge(r, (wk_acc *)accs, (wk_acc *)(accs + p * r->acc_bytes));
        r->foldings->finish(r, (wk_acc *)accs, output);
    }
}

/* Do the first elements of the one output tell it? Then nobody is woken. */
static int
told_early(const wk_way *way)
{
    const wk_reduction *r = way->r;
    wk_acc_room room;
    if (!r->ends_early || r->args->outputs != 1 || r->args->n <= wk_task_of(r)) return 0;
    if (r->call->part.mode != WK_WHOLE) return 0;
    const wk_fp_state state = wk_fp_begin();
    wk_acc_start(r, &room.acc);
    wk_way_run(way, &room.acc, 0, 0, WK_BLOCK);
    const int known = wk_is_decided(r, &room.acc);
    if (known) r->foldings->finish(r, &room.acc, 0);
    wk_fp_end(state);
    return known;
}

/* What a row costs, in elements. */
static int64_t
row_cost(const wk_reduction *r)
{
    int dear = !is_few(r) || !wk_has_rows(r);
    for (int i = 0; i < r->components; i++) dear |= r->component[i] == WK_C_SQUARES;
    return r->args->n + (dear ? ROW : FEW);
}

wk_status
wk_reduce_rows(wk_call *call, const wk_reduction *r)
{
    wk_way way = {.r = r};
    rows_job j = {.r = r, .way = &way, .parts = 1, .part = r->args->n};
    const int64_t outputs = r->args->outputs, n = r->args->n;
    const int64_t each = row_cost(r), task = wk_task_of(r);
    if (told_early(&way)) return WK_OK;
    if (wk_has_rows(r)) {
        const int64_t grain =
            (wk_grain_of(outputs, each, task) + WK_WIDTH - 1) / WK_WIDTH * WK_WIDTH;
        wk_parallel_short(call->context, outputs, grain, outputs * each / task, short_rows, &j);
        return WK_OK;
    }
    if (n > 2 * task && outputs < 64) {
        const int64_t wanted = 64 / outputs, most = n / task;
        const int64_t parts = wanted < most ? wanted : most;
        j.part = ((n + parts - 1) / parts + WK_BLOCK - 1) / WK_BLOCK * WK_BLOCK;
        j.parts = (n + j.part - 1) / j.part;
        j.accs = malloc((size_t)(outputs * j.parts * r->acc_bytes));
        if (j.accs == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate partial results");
    }
    const int64_t grain = j.accs == NULL ? wk_grain_of(outputs, each, task) : 1;
    wk_parallel_short(call->context, outputs * j.parts, grain, outputs * each / task, long_rows,
                      &j);
    if (j.accs && !wk_interrupted()) {
        const wk_fp_state state = wk_fp_begin();
        finish_rows(&j);
        wk_fp_end(state);
    }
    free(j.accs);
    return WK_OK;
}
