/* pieces.c -- what is in a piece, and how it is filled, launched and drained; in every plug-in. */
#include "pieces.h"
#include "plan.h"
#include "num/line.h"
#include "num/tree.h"

enum {
    ALIGN = 256, /* bytes between results of one piece: no two share a sector */
    GROUP = WK_LANES
};

/* ---- what is in a piece ------------------------------------------------------------------- */

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

void
wk_piece_of_results(const wk_call *call, wk_piece *piece)
{
    piece->outs = 0;
    piece->out_bytes = 0;
    for (int i = 0; i < call->outs; i++) add_out(call, piece, 0, wk_size(&call->out[i]));
}

/* Room for `elements` of the input, and for as many as `beside` of what crosses with it. */
static void
set_room(const wk_call *call, int64_t elements, int64_t beside, wk_piece *piece)
{
    const int64_t bytes = elements * wk_itemsize[call->in.dtype];
    piece->elements = elements;
    piece->beside_at = piece->in_bytes = bytes;
    if (call->beside.ndim < 0 || beside == 0) return;
    piece->beside_at = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    piece->in_bytes = piece->beside_at + beside * wk_itemsize[call->beside.dtype];
}

static void
run_piece(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece)
{
    const int64_t n = wk_size(cut->copies < 0 ? &call->out[0] : &call->in);
    piece->begin = index * cut->step;
    piece->end = wk_least(piece->begin + cut->step, n);
    const int64_t elements = cut->copies < 0 ? 0 : piece->end - piece->begin;
    set_room(call, elements, cut->copies ? 0 : elements, piece);
    if (cut->copies < 0) add_out(call, piece, piece->begin, piece->end);
    if (cut->copies) return;
    if (call->op == WK_WARP_HISTOGRAM) {
        const int64_t from = piece->begin / GROUP, to = wk_blocks(piece->end, GROUP);
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
        const int64_t blocks = wk_blocks(cut->extent[d], cut->block[d]);
        piece->start[d] = index % blocks * cut->block[d];
        piece->size[d] = wk_least(cut->block[d], cut->extent[d] - piece->start[d]);
        index /= blocks;
    }
}

/* Axes along which nothing changes cross once. */
static int64_t
crossing(const wk_array *a, const wk_piece *piece, int d)
{
    return a->strides[d] == 0 ? 1 : piece->size[d];
}

/* A result's part that a block of the input gives: of `axes` axes, which the output has too. */
static void
box_out(const wk_call *call, int axes, wk_piece *piece)
{
    const int i = piece->outs++;
    const wk_array *a = &call->in, *out = &call->out[i];
    wk_walk *to = &piece->out[i];
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
    piece->out_begin[i] = 0;
    piece->out_end[i] = elements;
    piece->out_at[i] = (piece->out_bytes + ALIGN - 1) / ALIGN * ALIGN;
    piece->out_bytes = piece->out_at[i] + elements * to->item;
}

/* The block's elements of an array, upwards as the memory lies; how many there are. */
static int64_t
walk_block(const wk_array *a, const wk_cut *cut, const wk_piece *piece, wk_walk *walk)
{
    const int64_t item = wk_itemsize[a->dtype];
    int64_t elements = 1;
    walk->ndim = 0;
    walk->item = item;
    walk->start = (char *)a->host + a->first;
    for (int i = 0; i < a->ndim; i++) {
        const int d = cut->order[i];
        const int64_t n = crossing(a, piece, d);
        int64_t stride = a->strides[d] * item;
        walk->start += piece->start[d] * stride;
        if (stride < 0) {
            walk->start += (n - 1) * stride;
            stride = -stride;
        }
        wk_walk_add(walk, n, stride);
        elements *= n;
    }
    return elements;
}

static void
box_piece(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece)
{
    const wk_array *a = &call->in, *w = &call->beside;
    find_block(cut, index, piece);
    const int64_t elements = walk_block(a, cut, piece, &piece->in);
    set_room(call, elements, w->ndim < 0 ? 0 : walk_block(w, cut, piece, &piece->beside),
             piece);
    if (cut->folds) return;
    const int axes = call->op == WK_REDUCE ? call->args.reduce.kept : a->ndim;
    for (int i = 0; i < call->outs; i++) box_out(call, axes, piece);
}

static void
line_piece(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece)
{
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t item = wk_itemsize[call->out[0].dtype];
    find_block(cut, index, piece);
    piece->row = 0;
    piece->rows = s->n;
    if (piece->size[1] < s->outputs) {
        int64_t first = piece->start[1] - s->before;
        int64_t after = piece->start[1] + piece->size[1] + s->taps - 1 - s->before;
        if (s->mode == WK_CONSTANT) { /* what is outside is no element: the kernel knows it */
            first = wk_most(first, 0);
            after = wk_least(after, s->n);
        }
        piece->row = first;
        piece->rows = after - first;
    }
    set_room(call, piece->size[0] * piece->rows * piece->size[2], 0, piece);
    wk_walk *to = &piece->out[0];
    to->ndim = 0;
    to->item = item;
    to->start =
        (char *)call->out[0].host +
        ((piece->start[0] * s->outputs + piece->start[1]) * s->inner + piece->start[2]) * item;
    wk_walk_add(to, piece->size[0], s->outputs * s->inner * item);
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
            n = (wk_least(s->n, piece->row + piece->rows) - row) * wide - column;
        n = wk_least(n, end - begin);
        const int64_t at = (outer * s->n + from) * s->inner + piece->start[2] + column;
        wk_gather(&cut->walk, at, at + n, packed);
        packed += n * item;
        begin += n;
    }
}

static void
fill_in(const wk_call *call, const wk_cut *cut, const wk_piece *piece, int64_t from, int64_t to,
        void *packed)
{
    const int64_t item = wk_itemsize[call->in.dtype];
    if (cut->kind == WK_CUT_LINE)
        fill_lines(call, cut, piece, from / item, to / item, (char *)packed);
    else if (cut->kind == WK_CUT_BOX)
        wk_gather(&piece->in, from / item, to / item, packed);
    else
        wk_gather(&cut->walk, piece->begin + from / item, piece->begin + to / item, packed);
}

void
wk_piece_fill(const wk_call *call, const wk_cut *cut, const wk_piece *piece, int64_t from,
              int64_t to, void *packed)
{
    const int64_t end = piece->elements * wk_itemsize[call->in.dtype], at = piece->beside_at;
    if (from < end) fill_in(call, cut, piece, from, wk_least(to, end), packed);
    if (to <= at) return;
    const int64_t item = wk_itemsize[call->beside.dtype], low = wk_most(from, at);
    const int64_t first = (low - at) / item, after = (to - at) / item;
    void *behind = (char *)packed + (low - from);
    if (cut->kind == WK_CUT_BOX)
        wk_gather(&piece->beside, first, after, behind);
    else
        wk_gather(&cut->beside, piece->begin + first, piece->begin + after, behind);
}

char *
wk_piece_in_place(const wk_call *call, const wk_cut *cut, const wk_piece *piece)
{
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t elements = piece->elements;
    if (elements == 0 || call->beside.ndim >= 0) return NULL;
    if (cut->kind == WK_CUT_BOX) return wk_walk_run(&piece->in, 0, elements);
    if (cut->kind == WK_CUT_RUN) return wk_walk_run(&cut->walk, piece->begin, piece->end);
    if (cut->block[1] < s->outputs || cut->block[2] < s->inner) return NULL;
    const int64_t first = piece->start[0] * s->n * s->inner;
    return wk_walk_run(&cut->walk, first, first + elements);
}

void
wk_piece_drain(const wk_piece *piece, int64_t from, int64_t to, const void *packed, int stream)
{
    for (int i = 0; i < piece->outs; i++) {
        const int64_t item = piece->out[i].item, at = piece->out_at[i];
        const int64_t bytes = (piece->out_end[i] - piece->out_begin[i]) * item;
        const int64_t low = wk_most(from, at), high = wk_least(to, at + bytes);
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
set_box(const wk_array *from, const wk_cut *cut, const wk_piece *piece, void *data, wk_array *a)
{
    int64_t step = 1;
    a->first = 0;
    a->data = data;
    for (int i = a->ndim - 1; i >= 0; i--) {
        const int d = cut->order[i];
        const int64_t n = crossing(from, piece, d), was = from->strides[d];
        a->shape[d] = piece->size[d];
        a->strides[d] = was == 0 ? 0 : was < 0 ? -step : step;
        if (was < 0) a->first += (n - 1) * step * wk_itemsize[a->dtype];
        step *= n;
    }
    a->bytes = step * wk_itemsize[a->dtype];
}

static void
box_call(const wk_call *call, const wk_cut *cut, const wk_piece *piece, char *in, wk_call *sub)
{
    wk_array *a = &sub->in;
    set_box(&call->in, cut, piece, in, a);
    if (call->beside.ndim >= 0)
        set_box(&call->beside, cut, piece, in + piece->beside_at, &sub->beside);
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
    r->first = first;
}

void
wk_piece_call(const wk_call *call, const wk_cut *cut, const wk_piece *piece, void *in,
              void *out, wk_call *sub)
{
    sub->op = call->op;
    sub->args = call->args;
    sub->in = call->in;
    if (call->beside.ndim >= 0)
        sub->beside = call->beside;
    else
        sub->beside.ndim = -1;
    sub->outs = call->outs;
    sub->part.output = sub->part.first = 0;
    sub->part.chunks = cut->chunks;
    const int64_t elements = piece->elements;
    if (cut->kind == WK_CUT_BOX) {
        box_call(call, cut, piece, (char *)in, sub);
    } else {
        set_flat(&sub->in, elements, in);
        if (call->beside.ndim >= 0)
            set_flat(&sub->beside, elements, (char *)in + piece->beside_at);
        sub->part.first = piece->begin / WK_CHUNK;
    }
    if (call->op == WK_REDUCE && cut->kind == WK_CUT_RUN) {
        sub->args.reduce.n = elements;
        sub->args.reduce.first = piece->begin;
    }
    if (call->op == WK_HISTOGRAM) sub->args.histogram.n = elements;
    if (call->op == WK_WARP_HISTOGRAM) sub->args.warp_histogram.n = elements;
    if (call->op == WK_STENCIL1D) {
        wk_stencil_args *s = &sub->args.stencil;
        s->outer = piece->size[0];
        s->n = piece->rows;
        s->outputs = piece->size[1];
        s->inner = piece->size[2];
        if (piece->size[1] < call->args.stencil.outputs)
            s->before -= piece->start[1] - piece->row;
        wk_set_lines(&sub->in, s);
    }
    for (int i = 0; i < piece->outs; i++) {
        sub->out[i].dtype = call->out[i].dtype;
        set_flat(&sub->out[i], piece->out_end[i] - piece->out_begin[i],
                 (char *)out + piece->out_at[i]);
    }
}
