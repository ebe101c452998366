/* pieces.c -- how a call on host arrays is cut; in every plug-in. */
#include "pieces.h"
#include "plan.h"
#include "scalar.h"

#include <stdlib.h>

enum {
    ALIGN = 256,     /* between results of one piece: no two share a sector                 */
    GROUP = 32,      /* warp_histogram's elements that must stay together                   */
    LEAST_ROWS = 64, /* of a stencil's piece, however wide its rows: they read the halo too */
    ALIGN_ROW = 512  /* elements: cuts of rows keep copies and loads aligned                */
};

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t
blocks_of(int64_t extent, int64_t block)
{
    return (extent + block - 1) / block;
}

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
    if (call->op == WK_HISTOGRAM)
        walk_memory(&call->in, &cut->walk);
    else
        wk_walk_c_order(&call->in, &cut->walk);
    cut->step = most(target / item / unit * unit, unit);
    cut->pieces = blocks_of(n, cut->step);
    cut->step = least(cut->step, n);
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
    return least(most(wanted / unit * unit, unit), a->shape[d]);
}

/* From the outermost axis in memory inwards, so that runs stay long. */
static void
cut_reduce(const wk_call *call, int64_t target, int takes_parts, wk_cut *cut)
{
    const wk_array *a = &call->in;
    const int kept = call->args.reduce.kept;
    int64_t bytes = wk_itemsize[a->dtype];
    for (int d = 0; d < a->ndim; d++) bytes *= cut->block[d];
    for (int i = 0; i < a->ndim && bytes > target; i++) {
        const int d = cut->order[i];
        const int64_t one = bytes / a->shape[d], wanted = most(target / one, 1);
        if (wanted >= a->shape[d]) continue;
        if (d < kept)
            cut->block[d] = wanted;
        else if (takes_parts)
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
        const int64_t wider = least(2 * cut->block[d], a->shape[d]);
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
    for (int d = 0; d < a->ndim; d++) cut->pieces *= blocks_of(a->shape[d], cut->block[d]);
}

/* ---- lines -------------------------------------------------------------------------------- */

static void
cut_lines(const wk_call *call, int64_t target, wk_cut *cut)
{
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t item = wk_itemsize[call->in.dtype], halo = s->taps - 1;
    const int64_t line = s->n * s->inner * item;
    cut->kind = WK_CUT_LINE;
    cut->axes = 3;
    wk_walk_c_order(&call->in, &cut->walk);
    const int64_t extent[3] = {s->outer, s->n, s->inner};
    for (int d = 0; d < 3; d++) cut->extent[d] = cut->block[d] = extent[d];
    cut->block[0] = least(most(target / line, 1), s->outer);
    if (line > target) {
        const int64_t rows = target / (s->inner * item) - halo;
        cut->block[1] = least(most(rows, most(LEAST_ROWS, 4 * halo)), s->n);
        const int64_t columns = target / ((cut->block[1] + halo) * item);
        if (columns < s->inner)
            cut->block[2] = least(most(columns / ALIGN_ROW, 1) * ALIGN_ROW, s->inner);
    }
    cut->pieces = 1;
    for (int d = 0; d < 3; d++) cut->pieces *= blocks_of(extent[d], cut->block[d]);
}

/* ---- what is in a piece ------------------------------------------------------------------- */

void
wk_cut_call(const wk_call *call, int64_t target, int takes_parts, wk_cut *cut)
{
    wk_piece first;
    cut->folds = cut->copies = 0;
    cut->chunks = 0;
    const int flat = call->op == WK_REDUCE && call->args.reduce.kept == 0 && takes_parts;
    if (flat || call->op == WK_HISTOGRAM || call->op == WK_WARP_HISTOGRAM)
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
        const int64_t rows = cut->block[1] < s->n ? cut->block[1] + s->taps - 1 : s->n;
        cut->in_bytes = cut->block[0] * rows * cut->block[2] * wk_itemsize[call->in.dtype];
    }
}

static void
cut_copy(const wk_array *a, int64_t target, int copies, wk_cut *cut)
{
    const int64_t n = wk_size(a);
    cut->kind = WK_CUT_RUN;
    cut->copies = copies;
    cut->folds = 0;
    cut->chunks = 0;
    wk_walk_c_order(a, &cut->walk);
    cut->step = most(target / cut->walk.item, 1);
    cut->pieces = blocks_of(n, cut->step);
    cut->step = least(cut->step, n);
    cut->in_bytes = copies > 0 ? cut->step * cut->walk.item : 0;
    cut->out_bytes = copies < 0 ? cut->step * cut->walk.item : 0;
}

void
wk_cut_upload(const wk_array *in, int64_t target, wk_cut *cut)
{
    cut_copy(in, target, 1, cut);
}

void
wk_cut_download(const wk_array *out, int64_t target, wk_cut *cut)
{
    cut_copy(out, target, -1, cut);
}

/* Adds a result of so many elements, which follow each other on the host from `begin` on. */
static void
add_out(const wk_call *call, wk_piece *piece, int64_t begin, int64_t end)
{
    const int i = piece->outs++;
    const wk_array *out = &call->out[i];
    piece->out[i].ndim = 0;
    piece->out[i].item = wk_itemsize[out->dtype];
    piece->out[i].start = (char *)out->host;
    wk_walk_add(&piece->out[i], wk_size(out), piece->out[i].item);
    piece->out_begin[i] = begin;
    piece->out_end[i] = end;
    piece->out_at[i] = (piece->out_bytes + ALIGN - 1) / ALIGN * ALIGN;
    piece->out_bytes = piece->out_at[i] + (end - begin) * piece->out[i].item;
}

static void
run_piece(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece)
{
    const int64_t n = wk_size(cut->copies < 0 ? &call->out[0] : &call->in);
    piece->begin = index * cut->step;
    piece->end = least(piece->begin + cut->step, n);
    piece->in_bytes = cut->copies < 0 ? 0 : (piece->end - piece->begin) * cut->walk.item;
    if (cut->copies < 0) add_out(call, piece, piece->begin, piece->end);
    if (cut->copies) return;
    if (call->op == WK_WARP_HISTOGRAM) {
        const int64_t from = piece->begin / GROUP, to = blocks_of(piece->end, GROUP);
        add_out(call, piece, from * GROUP, to * GROUP);
        add_out(call, piece, from * GROUP, to * GROUP);
        add_out(call, piece, from, to);
    }
}

/* The grid's block of this number: where it starts and how much of it there is. */
static void
find_block(const wk_cut *cut, int64_t index, wk_piece *piece)
{
    for (int d = cut->axes - 1; d >= 0; d--) {
        const int64_t blocks = blocks_of(cut->extent[d], cut->block[d]);
        piece->start[d] = index % blocks * cut->block[d];
        piece->size[d] = least(cut->block[d], cut->extent[d] - piece->start[d]);
        index /= blocks;
    }
}

/* Axes along which nothing changes cross once. */
static int64_t
crossing(const wk_array *a, const wk_piece *piece, int d)
{
    return a->strides[d] == 0 ? 1 : piece->size[d];
}

static void
box_piece(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece)
{
    const wk_array *a = &call->in, *out = &call->out[0];
    const int64_t item = wk_itemsize[a->dtype];
    find_block(cut, index, piece);
    piece->in.ndim = 0;
    piece->in.item = item;
    piece->in.start = (char *)a->host + a->first;
    piece->in_bytes = item;
    for (int i = 0; i < a->ndim; i++) {
        const int d = cut->order[i];
        const int64_t n = crossing(a, piece, d);
        int64_t stride = a->strides[d] * item;
        piece->in.start += piece->start[d] * stride;
        if (stride < 0) { /* upwards, as the memory lies */
            piece->in.start += (n - 1) * stride;
            stride = -stride;
        }
        wk_walk_add(&piece->in, n, stride);
        piece->in_bytes *= n;
    }
    if (cut->folds) return;
    const int axes = call->op == WK_REDUCE ? call->args.reduce.kept : a->ndim;
    wk_walk *to = &piece->out[0];
    int64_t elements = 1, stride[WK_MAX_DIMS], step = wk_itemsize[out->dtype];
    for (int d = axes - 1; d >= 0; d--) {
        stride[d] = step;
        step *= a->shape[d];
        elements *= piece->size[d];
    }
    to->ndim = 0;
    to->item = wk_itemsize[out->dtype];
    to->start = (char *)out->host;
    for (int d = 0; d < axes; d++) {
        to->start += piece->start[d] * stride[d];
        wk_walk_add(to, piece->size[d], stride[d]);
    }
    piece->outs = 1;
    piece->out_begin[0] = piece->out_at[0] = 0;
    piece->out_end[0] = elements;
    piece->out_bytes = elements * to->item;
}

static void
line_piece(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece)
{
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t item = wk_itemsize[call->in.dtype];
    find_block(cut, index, piece);
    piece->row = 0;
    piece->rows = s->n;
    if (piece->size[1] < s->n) {
        int64_t first = piece->start[1] - s->before;
        int64_t after = piece->start[1] + piece->size[1] + s->taps - 1 - s->before;
        if (s->mode == WK_CONSTANT) { /* what is outside is no element: the kernel knows it */
            first = most(first, 0);
            after = least(after, s->n);
        }
        piece->row = first;
        piece->rows = after - first;
    }
    piece->in_bytes = piece->size[0] * piece->rows * piece->size[2] * item;
    wk_walk *to = &piece->out[0];
    to->ndim = 0;
    to->item = item;
    to->start =
        (char *)call->out[0].host +
        ((piece->start[0] * s->n + piece->start[1]) * s->inner + piece->start[2]) * item;
    wk_walk_add(to, piece->size[0], s->n * s->inner * item);
    wk_walk_add(to, piece->size[1], s->inner * item);
    wk_walk_add(to, piece->size[2], item);
    piece->outs = 1;
    piece->out_begin[0] = piece->out_at[0] = 0;
    piece->out_end[0] = piece->size[0] * piece->size[1] * piece->size[2];
    piece->out_bytes = piece->out_end[0] * item;
}

void
wk_piece_of(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece)
{
    piece->outs = 0;
    piece->out_bytes = 0;
    if (cut->kind == WK_CUT_RUN)
        run_piece(call, cut, index, piece);
    else if (cut->kind == WK_CUT_BOX)
        box_piece(call, cut, index, piece);
    else
        line_piece(call, cut, index, piece);
}

/* ---- filling and draining ----------------------------------------------------------------- */

/* Rows one by one, or as many as follow each other: those outside the axis lie elsewhere. */
static void
fill_lines(const wk_call *call, const wk_cut *cut, const wk_piece *piece, int64_t begin,
           int64_t end, char *packed)
{
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t wide = piece->size[2], item = cut->walk.item;
    while (begin < end) {
        const int64_t line = begin / wide, column = begin % wide;
        const int64_t outer = piece->start[0] + line / piece->rows;
        const int64_t row = piece->row + line % piece->rows;
        const int64_t from = wk_extend(row, s->n, s->mode);
        int64_t n = wide - column;
        if (wide == s->inner && row == from)
            n = (least(s->n, piece->row + piece->rows) - row) * wide - column;
        n = least(n, end - begin);
        const int64_t at = (outer * s->n + from) * s->inner + piece->start[2] + column;
        wk_gather(&cut->walk, at, at + n, packed);
        packed += n * item;
        begin += n;
    }
}

void
wk_piece_fill(const wk_call *call, const wk_cut *cut, const wk_piece *piece, int64_t from,
              int64_t to, void *packed)
{
    const int64_t item = wk_itemsize[call->in.dtype];
    if (cut->kind == WK_CUT_LINE)
        fill_lines(call, cut, piece, from / item, to / item, (char *)packed);
    else if (cut->kind == WK_CUT_BOX)
        wk_gather(&piece->in, from / item, to / item, packed);
    else
        wk_gather(&cut->walk, piece->begin + from / item, piece->begin + to / item, packed);
}

char *
wk_piece_in_place(const wk_call *call, const wk_cut *cut, const wk_piece *piece)
{
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t elements = piece->in_bytes / wk_itemsize[call->in.dtype];
    if (elements == 0) return NULL;
    if (cut->kind == WK_CUT_BOX) return wk_walk_run(&piece->in, 0, elements);
    if (cut->kind == WK_CUT_RUN) return wk_walk_run(&cut->walk, piece->begin, piece->end);
    if (cut->block[1] < s->n || cut->block[2] < s->inner) return NULL;
    const int64_t first = piece->start[0] * s->n * s->inner;
    return wk_walk_run(&cut->walk, first, first + elements);
}

void
wk_piece_drain(const wk_piece *piece, int64_t from, int64_t to, const void *packed, int stream)
{
    for (int i = 0; i < piece->outs; i++) {
        const int64_t item = piece->out[i].item, at = piece->out_at[i];
        const int64_t bytes = (piece->out_end[i] - piece->out_begin[i]) * item;
        const int64_t low = most(from, at), high = least(to, at + bytes);
        if (low >= high) continue;
        const int64_t begin = piece->out_begin[i];
        wk_scatter(&piece->out[i], begin + (low - at) / item, begin + (high - at) / item,
                   (const char *)packed + (low - from), stream);
    }
}

/* ---- the launcher's view ------------------------------------------------------------------ */

static void
set_flat(wk_array *a, int64_t n, void *data)
{
    a->ndim = 1;
    a->shape[0] = n;
    a->strides[0] = 1;
    a->first = 0;
    a->bytes = n * wk_itemsize[a->dtype];
    a->data = data;
}

/* Strides as the box was packed: its axes from the outermost in memory inwards. */
static void
box_call(const wk_call *call, const wk_cut *cut, const wk_piece *piece, void *in, wk_call *sub)
{
    wk_array *a = &sub->in;
    int64_t step = 1;
    a->first = 0;
    a->data = in;
    a->bytes = piece->in_bytes;
    for (int i = a->ndim - 1; i >= 0; i--) {
        const int d = cut->order[i];
        const int64_t n = crossing(&call->in, piece, d), was = call->in.strides[d];
        a->shape[d] = piece->size[d];
        a->strides[d] = was == 0 ? 0 : was < 0 ? -step : step;
        if (was < 0) a->first += (n - 1) * step * wk_itemsize[a->dtype];
        step *= n;
    }
    if (sub->op != WK_REDUCE) {
        wk_fuse(a, 0);
        return;
    }
    wk_reduce_args *r = &sub->args.reduce;
    int64_t outputs = 1, inside = 1, first = 0;
    r->outputs = r->n = 1;
    for (int d = a->ndim - 1; d >= r->kept; d--) {
        first += piece->start[d] * inside;
        inside *= call->in.shape[d];
        r->n *= a->shape[d];
    }
    for (int d = r->kept - 1; d >= 0; d--) {
        sub->part.step[d] = outputs;
        sub->part.output += piece->start[d] * outputs;
        outputs *= call->in.shape[d];
        r->outputs *= a->shape[d];
    }
    sub->part.first = first / WK_CHUNK;
}

void
wk_piece_call(const wk_call *call, const wk_cut *cut, const wk_piece *piece, void *in,
              void *out, wk_call *sub)
{
    sub->op = call->op;
    sub->args = call->args;
    sub->in = call->in;
    sub->outs = call->outs;
    sub->part.output = sub->part.first = 0;
    sub->part.chunks = cut->chunks;
    const int64_t elements = piece->in_bytes / wk_itemsize[call->in.dtype];
    if (cut->kind == WK_CUT_BOX) {
        box_call(call, cut, piece, in, sub);
    } else {
        set_flat(&sub->in, elements, in);
        sub->part.first = piece->begin / WK_CHUNK;
    }
    if (call->op == WK_REDUCE && cut->kind == WK_CUT_RUN) sub->args.reduce.n = elements;
    if (call->op == WK_HISTOGRAM) sub->args.histogram.n = elements;
    if (call->op == WK_WARP_HISTOGRAM) sub->args.warp_histogram.n = elements;
    if (call->op == WK_STENCIL1D) {
        wk_stencil_args *s = &sub->args.stencil;
        s->outer = piece->size[0];
        s->n = piece->rows;
        s->outputs = piece->size[1];
        s->inner = piece->size[2];
        if (piece->size[1] < call->args.stencil.n) s->before -= piece->start[1] - piece->row;
    }
    for (int i = 0; i < piece->outs; i++) {
        sub->out[i].dtype = call->out[i].dtype;
        set_flat(&sub->out[i], piece->out_end[i] - piece->out_begin[i],
                 (char *)out + piece->out_at[i]);
    }
}
