/* cut.c -- into which pieces a call on host arrays is cut; in every plug-in. */
#include "pieces.h"
#include "plan.h"
#include "num/tree.h"

#include <stdlib.h>

enum {
    GROUP = 32,      /* warp_histogram's elements that must stay together                   */
    LEAST_ROWS = 64, /* of a stencil's piece, however wide its rows: they read the halo too */
    MOST_STATES = 1 << 19, /* outputs of a cut fold: their states take up to 2 KiB each      */
    ALIGN_ROW = 512 /* elements: cuts of rows keep copies and loads aligned                */
};

static int64_t
common_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The axes in the order of their strides, the largest first. */
static void
sort_axes(const wk_array *a, int *order)
{
    for (int d = 0; d < a->ndim; d++) {
        int at = d;
        for (; at > 0 && llabs(a->strides[order[at - 1]]) < llabs(a->strides[d]); at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
}

/* ---- runs --------------------------------------------------------------------------------- */

/* Any order does for a histogram: the memory's is the fastest. */
static void
walk_memory(const wk_array *a, wk_walk *walk)
{
    int order[WK_MAX_DIMS];
    sort_axes(a, order);
    walk->item = wk_itemsize[a->dtype];
    walk->start = (char *)a->host + a->first;
    walk->ndim = 0;
    for (int i = 0; i < a->ndim; i++) {
        const int d = order[i];
        int64_t stride = a->strides[d] * walk->item;
        if (stride < 0) {
            walk->start += (a->shape[d] - 1) * stride;
            stride = -stride;
        }
        wk_walk_add(walk, a->shape[d], stride);
    }
}

static void
cut_run(const wk_call *call, int64_t target, wk_cut *cut)
{
    const int64_t n = wk_size(&call->in), item = wk_itemsize[call->in.dtype];
    const int64_t unit = call->op == WK_REDUCE ? (int64_t)WK_CHUNK : (int64_t)GROUP;
    cut->kind = WK_CUT_RUN;
    const int both = call->beside.ndim >= 0;
    if (call->op == WK_HISTOGRAM && !both)
        walk_memory(&call->in, &cut->walk);
    else
        wk_walk_c_order(&call->in, &cut->walk);
    if (both) wk_walk_c_order(&call->beside, &cut->beside);
    /* warp_histogram gives more than it takes: a value and a count for each element */
    const int64_t wide = item + (call->op == WK_WARP_HISTOGRAM ? 5
                                 : both                        ? wk_itemsize[call->beside.dtype]
                                                               : 0);
    cut->step = wk_most(target / wide / unit * unit, unit);
    cut->pieces = wk_blocks(n, cut->step);
    cut->step = wk_least(cut->step, n);
    cut->folds = call->op == WK_REDUCE;
    if (cut->folds) cut->chunks = wk_chunks(n);
}

/* ---- boxes -------------------------------------------------------------------------------- */

/* May the fold be cut into blocks of so much of axis d? Only where a chunk of the tree ends. */
static int64_t
fold_block(const wk_call *call, const wk_cut *cut, int d, int64_t wanted)
{
    const wk_array *a = &call->in;
    int64_t inside = 1;
    for (int i = call->args.reduce.kept; i < d; i++)
        if (cut->block[i] > 1) return a->shape[d]; /* a fold's blocks must follow each other */
    for (int i = d + 1; i < a->ndim; i++) inside *= a->shape[i];
    const int64_t unit = WK_CHUNK / common_divisor(WK_CHUNK, inside);
    return wk_least(wk_most(wanted / unit * unit, unit), a->shape[d]);
}

/* From the outermost axis in memory inwards, so that runs stay long. */
static void
cut_reduce(const wk_call *call, int64_t target, int takes_parts, wk_cut *cut)
{
    const wk_array *a = &call->in;
    const int kept = call->args.reduce.kept;
    int64_t bytes =
        wk_itemsize[a->dtype] + (call->beside.ndim < 0 ? 0 : wk_itemsize[call->beside.dtype]);
    for (int d = 0; d < a->ndim; d++) bytes *= cut->block[d];
    for (int i = 0; i < a->ndim && bytes > target; i++) {
        const int d = cut->order[i];
        const int pairs = call->args.reduce.planes == 2 && a->strides[d] == 1;
        const int64_t one = bytes / a->shape[d], unit = pairs ? 2 : 1; /* parts stay together */
        const int64_t wanted = wk_most(target / one / unit * unit, unit);
        if (wanted >= a->shape[d]) continue;
        if (d < kept)
            cut->block[d] = wanted;
        else if (takes_parts && call->args.reduce.outputs <= MOST_STATES)
            cut->block[d] = fold_block(call, cut, d, wanted);
        bytes = one * cut->block[d];
        if (d >= kept && cut->block[d] < a->shape[d]) cut->folds = 1;
    }
    if (cut->folds) cut->chunks = wk_chunks(call->args.reduce.n);
}

/* How many bytes lie side by side in a block, and the axis to lengthen for more; -1: all are
 * whole. The axes come outermost first. */
static int64_t
run_of(const wk_call *call, const wk_cut *cut, const int *order, int *grow)
{
    int64_t run = wk_itemsize[call->in.dtype];
    *grow = -1;
    for (int i = call->in.ndim - 1; i >= 0 && *grow < 0; i--) {
        run *= cut->block[order[i]];
        if (cut->block[order[i]] < call->in.shape[order[i]]) *grow = order[i];
    }
    return run;
}

/* Blocks grow from single elements where the shorter of the two runs, the input's and the
 * output's, gains: a square of a matrix, whole planes of what lies together on both sides. */
static void
cut_transpose(const wk_call *call, int64_t target, wk_cut *cut)
{
    const wk_array *a = &call->in;
    int order[WK_MAX_DIMS], grow_in, grow_out;
    int64_t bytes = wk_itemsize[a->dtype];
    for (int d = 0; d < a->ndim; d++) {
        order[d] = d; /* the output's */
        cut->block[d] = 1;
    }
    for (;;) {
        const int64_t in = run_of(call, cut, cut->order, &grow_in);
        const int64_t out = run_of(call, cut, order, &grow_out);
        const int d = grow_in >= 0 && (in <= out || grow_out < 0) ? grow_in : grow_out;
        if (d < 0) return;
        const int64_t wider = wk_least(2 * cut->block[d], a->shape[d]);
        if (bytes / cut->block[d] * wider > target) return;
        bytes = bytes / cut->block[d] * wider;
        cut->block[d] = wider;
    }
}

static void
cut_box(const wk_call *call, int64_t target, int takes_parts, wk_cut *cut)
{
    const wk_array *a = &call->in;
    cut->kind = WK_CUT_BOX;
    cut->axes = a->ndim;
    sort_axes(a, cut->order);
    cut->pieces = 1;
    for (int d = 0; d < a->ndim; d++) cut->extent[d] = cut->block[d] = a->shape[d];
    if (call->op == WK_REDUCE)
        cut_reduce(call, target, takes_parts, cut);
    else
        cut_transpose(call, target, cut);
    for (int d = 0; d < a->ndim; d++) cut->pieces *= wk_blocks(a->shape[d], cut->block[d]);
}

/* ---- lines -------------------------------------------------------------------------------- */

static void
cut_lines(const wk_call *call, int64_t target, wk_cut *cut)
{
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t item = wk_most(wk_itemsize[call->in.dtype], wk_itemsize[call->out[0].dtype]);
    const int64_t line = s->n * s->inner * item, halo = s->taps - 1;
    cut->kind = WK_CUT_LINE;
    cut->axes = 3;
    wk_walk_c_order(&call->in, &cut->walk);
    const int64_t extent[3] = {s->outer, s->outputs, s->inner};
    for (int d = 0; d < 3; d++) cut->extent[d] = cut->block[d] = extent[d];
    cut->block[0] = wk_least(wk_most(target / line, 1), s->outer);
    if (line > target) {
        const int64_t rows = target / (s->inner * item) - halo;
        cut->block[1] = wk_least(wk_most(rows, wk_most(LEAST_ROWS, 4 * halo)), s->outputs);
        const int64_t columns = target / ((cut->block[1] + halo) * item);
        if (columns < s->inner)
            cut->block[2] = wk_least(wk_most(columns / ALIGN_ROW, 1) * ALIGN_ROW, s->inner);
    }
    cut->pieces = 1;
    for (int d = 0; d < 3; d++) cut->pieces *= wk_blocks(extent[d], cut->block[d]);
}

/* ---- all of it ---------------------------------------------------------------------------- */

void
wk_cut_call(const wk_call *call, int64_t target, int takes_parts, wk_cut *cut)
{
    wk_piece first;
    cut->folds = cut->copies = 0;
    cut->chunks = 0;
    const int flat = call->op == WK_REDUCE && call->args.reduce.kept == 0 && takes_parts;
    if (flat || wk_takes_all(call->op) || call->op == WK_HISTOGRAM ||
        call->op == WK_WARP_HISTOGRAM)
        cut_run(call, target, cut);
    else if (call->op == WK_STENCIL1D)
        cut_lines(call, target, cut);
    else
        cut_box(call, target, takes_parts, cut);
    cut->in_bytes = cut->out_bytes = 0;
    if (cut->pieces == 0) return;
    wk_piece_of(call, cut, 0, &first); /* blocks at the end may be smaller */
    cut->in_bytes = first.in_bytes;
    cut->out_bytes = first.out_bytes;
    if (cut->kind == WK_CUT_LINE) { /* a halo is whole somewhere inside only */
        const wk_stencil_args *s = &call->args.stencil;
        const int64_t rows = cut->block[1] < s->outputs ? cut->block[1] + s->taps - 1 : s->n;
        cut->in_bytes = cut->block[0] * rows * cut->block[2] * wk_itemsize[call->in.dtype];
    }
}

static void
cut_copy(const wk_array *a, int copies, wk_cut *cut)
{
    cut->kind = WK_CUT_RUN;
    cut->copies = copies;
    cut->folds = 0;
    cut->chunks = 0;
    wk_walk_c_order(a, &cut->walk);
    cut->step = wk_size(a);
    cut->pieces = 1;
    cut->in_bytes = copies > 0 ? cut->step * cut->walk.item : 0;
    cut->out_bytes = copies < 0 ? cut->step * cut->walk.item : 0;
}

void
wk_cut_upload(const wk_array *in, wk_cut *cut)
{
    cut_copy(in, 1, cut);
}

void
wk_cut_download(const wk_array *out, wk_cut *cut)
{
    cut_copy(out, -1, cut);
}
