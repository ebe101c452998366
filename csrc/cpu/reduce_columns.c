/* reduce_columns.c -- reductions whose outputs lie closer together than an output's elements.
 *
 * A task takes a block of neighbouring columns and some of its rows, tile by tile. A tile goes
 * into lanes; if those do not hold, and for what has no such loop, it is turned: each column is
 * copied into a run. Columns that do not lie side by side, and short rows of elements that do not,
 * are brought together first, a tile at a time. us, 2 cores, as each output was folded by itself and so:
 * sums of 2 x 8381 of every other complex64 400 23, maxima of 4 x 156,697 of every other uint8 2,640 101. */
#include "cpu/fp.h"
#include "cpu/gather.h"
#include "cpu/reduction.h"
#include "cpu/reduce_way.h"
#include "cpu/threads.h"

#include <stdlib.h>

enum {
    TILE = 256,      /* rows between two looks at the flag                                  */
    JOIN = 2048,     /* of a part, which take longer than parts are joined                  */
    WIDE = 64,       /* columns that narrow rows side by side make: 8 vectors and more      */
    GROUPS = 64,     /* of such rows, that it is worth to make each longer                   */
    VECTOR = 32,     /* columns of a wide row that leave none over, whatever the dtype      */
    NARROW = 32,     /* bytes of a row that argmin and argmax need, which have no wide ones */
    PIECE = 1 << 13, /* bytes of a block's row: long, as hardware prefetchers follow them ... */
    COLUMNS = 4096,  /* ... but so few columns that a few rows and their lanes stay in L1   */
    LANES = 1 << 16, /* bytes of a block's lanes, in a second-level cache                  */
    AGAIN = 1 << 18, /* bytes of a tile that is read more than once: so is it              */
    TURN = 1 << 15,  /* bytes that are turned at once                                       */
    CLEAN = 1 << 16, /* bytes of rows that are copied without their NaN                     */
    STEP = 32,       /* rows, ...                                                           */
    SIDE = 32,       /* ... and columns of a piece of a tile that lanes did not hold        */
    MISSES = 8,      /* such tiles, after which lanes start anew: sums have grown           */
    ODD = 8,         /* columns of one with NaN that are folded again alone                 */
    PICKED = 1 << 15, /* bytes of elements that do not lie as columns, brought together      */
    FEW = 8,          /* neighbouring columns, ...                                           */
    WORTH = 256,      /* ... and elements of them, that are too few to be taken alone        */
    SHORT = 64        /* elements of rows that do not lie side by side, which go as columns   */
};

typedef struct columns_job {
    const wk_reduction *r;
    int axis, lanes; /* can columns be folded by lanes? axis -1: they are all outputs */
    int picks;       /* are tiles brought together first? */
    int64_t group;   /* rows that lie side by side and are taken as one wide one */
    int64_t columns, width, blocks, tile;
    int64_t step;        /* outputs between neighbouring columns */
    int64_t parts, part; /* of the rows */
    char *accs;          /* [outputs][parts]; NULL: a block is one task's alone */
} columns_job;

typedef struct block { /* what one task is at */
    const columns_job *j;
    wk_lanes lanes, before; /* the tile's, and as they were before it */
    int64_t bytes;          /* of either                              */
    const char *x;          /* row 0 of the first column; or what was picked of a tile */
    const uint8_t *mask;
    int64_t stride, mask_stride; /* between columns */
    struct picked *picked;
    int64_t output, width; /* the first column's; how many */
    uint8_t *odd;          /* columns that have NaN, which lanes left out; and of a tile */
    char *filled;          /* room for a tile of which not all counts */
    uint8_t *some;         /* columns of which something counts; NULL: nobody asks       */
    uint8_t *marks;        /* room for a mark of each column */
    uint8_t *loose;        /* columns whose accumulators are used beside the lanes; NULL: all */
    wk_acc *accs;          /* NULL: not needed yet */
    int64_t acc_step;      /* bytes */
} block;

struct picked { /* a tile of a block, and where its columns begin */
    _Alignas(64) char x[PICKED];
    uint8_t mask[PICKED];
    int64_t at[WK_WIDTH], mask_at[WK_WIDTH];
};

static wk_acc *
acc_of(const block *b, int64_t w)
{
    return (wk_acc *)((char *)b->accs + w * b->acc_step);
}

/* Of columns from .. from + n - 1; 0 where there is no memory. */
static int
need_accs(block *b, void **room, int64_t from, int64_t n)
{
    const wk_reduction *r = b->j->r;
    if (b->accs && b->loose == NULL) return 1;
    if (*room == NULL) *room = malloc((size_t)(b->j->width * r->acc_bytes));
    if (*room == NULL) return 0;
    if (b->accs == NULL) {
        b->accs = *room;
        b->acc_step = r->acc_bytes;
        b->loose = memset(b->marks, 0, (size_t)b->width);
    }
    for (int64_t w = from; w < from + n; w++) {
        if (!b->loose[w]) wk_acc_start(r, acc_of(b, w));
        b->loose[w] = 1;
    }
    if (n == b->width) b->loose = NULL;
    return 1;
}

/* ---- turning ------------------------------------------------------------------------------ */

/* NaN in the other part of each complex number. */
static void
drop_partners(const block *b, int64_t from, const int64_t *offsets, int64_t n, int64_t width,
              uint8_t *keep)
{
    const columns_job *j = b->j;
    const wk_array *in = j->r->in;
    const int64_t item = j->r->item, stride = b->stride;
    double other[WK_GATHER];
    for (int64_t w = 0; w < width; w++) {
        const int64_t output = b->output + (from + w) * j->step;
        const int64_t at = (from + w) * stride + (output % 2 == 0 ? 1 : -1);
        wk_turn(item, b->x + at * item, 0, offsets, n, 1, other);
        j->r->foldings->drop_nan(in->dtype, other, n, keep + w * n);
    }
}

/* Columns from .. from + width - 1 of the rows at these offsets into their accumulators. */
static void
turned_columns(const block *b, int64_t from, int64_t width, int64_t start,
               const int64_t *offsets, const int64_t *masks, int64_t n)
{
    const wk_reduction *r = b->j->r;
    const int dtype = r->in->dtype;
    _Alignas(64) char tile[TURN];
    uint8_t keep[TURN];
    wk_turn(r->item, b->x + from * b->stride * r->item, b->stride, offsets, n, width, tile);
    const int drops = r->mask || r->args->skip_nan;
    if (r->mask) {
        wk_turn(1, b->mask + from * b->mask_stride, b->mask_stride, masks, n, width, keep);
    } else if (drops) {
        memset(keep, 1, (size_t)(n * width));
    }
    if (r->args->skip_nan) {
        for (int64_t w = 0; w < width; w++)
            r->foldings->drop_nan(dtype, tile + w * n * r->item, n, keep + w * n);
        if (r->args->planes == 2) drop_partners(b, from, offsets, n, width, keep);
    }
    for (int64_t w = 0; w < width; w++) {
        char *x = tile + w * n * r->item;
        wk_acc *a = acc_of(b, from + w);
        if (drops) {
            wk_way_kept(r, a, x, keep + w * n, n, start);
            continue;
        }
        for (int c = 0; c < r->components; c++) r->folding[c]->run(a, x, n, start);
        a->n += n;
    }
}

static void
turned_tile(const block *b, int64_t start, const int64_t *offsets, const int64_t *masks,
            int64_t n)
{
    int64_t width = TURN / (TILE * b->j->r->item);
    for (int64_t w = 0; w < b->width; w += width) {
        if (width > b->width - w) width = b->width - w;
        turned_columns(b, w, width, start, offsets, masks, n);
    }
}

/* ---- lanes -------------------------------------------------------------------------------- */

static void
absorb_one(const block *b, const wk_lanes *lanes, int64_t group, int64_t rows, int64_t w)
{
    const wk_reduction *r = b->j->r;
    wk_acc *a = acc_of(b, w % b->width);
    a->n += b->some == NULL || b->some[w] ? rows : 0;
    for (int c = 0; c < r->components; c++)
        r->folding[c]->absorb(a, lanes->of[c], wk_stride(b->width * group), w);
}

/* Lanes of `group` rows side by side, each of which had so many tiles' rows. */
static void
absorb(const block *b, const wk_lanes *lanes, int64_t group, int64_t rows)
{
    for (int64_t w = 0; w < b->width * group; w++) absorb_one(b, lanes, group, rows, w);
}

/* Adds a tile from x on to the lanes; 0: it did not hold, and they are of no use. */
static int
lanes_tile(const block *b, const char *x, const int64_t *offsets, int64_t n, int64_t width)
{
    const wk_reduction *r = b->j->r;
    for (int64_t i = 0; wk_must_look(r) && i < n; i++)
        if (r->foldings->any_nan(r->in->dtype, x + offsets[i] * r->item, width)) return 0;
    for (int c = 0; c < r->components; c++) {
        const wk_folding *f = r->folding[c];
        if (!wk_lanes_held(r, f->columns(b->lanes.of[c], x, offsets, n, width))) return 0;
    }
    return 1;
}

static void
add_marks(uint8_t *restrict to, const uint8_t *restrict marks, int64_t n)
{
    for (int64_t w = 0; w < n; w++) to[w] |= marks[w];
}

static int64_t
marked(const uint8_t *marks, int64_t n)
{
    int64_t some = 0;
    for (int64_t w = 0; w < n; w++) some += marks[w];
    return some;
}

/* The same without NaN, whose columns are marked. 0 also where these are too many. */
static int
clean_tile(const block *b, const int64_t *offsets, int64_t n)
{
    const wk_reduction *r = b->j->r;
    const int64_t bytes = b->width * r->item, most = CLEAN / bytes;
    int64_t own[TILE];
    uint8_t *marks = b->odd + b->width; /* of this tile */
    char *clean = aligned_alloc(64, CLEAN);
    int held = clean != NULL && most > 0;
    memset(marks, 0, (size_t)b->width);
    for (int64_t i = 0, rows; held && i < n; i += rows) {
        rows = n - i < most ? n - i : most;
        for (int64_t k = 0; k < rows; k++) {
            own[k] = k * b->width;
            memcpy(clean + k * bytes, b->x + offsets[i + k] * r->item, (size_t)bytes);
        }
        r->foldings->blank_nan(r->in->dtype, clean, rows, b->width, marks);
        for (int64_t w = 0; r->args->planes == 2 && w < b->width; w += 2) /* a number's parts */
            marks[w] = marks[w + 1] = marks[w] | marks[w + 1];
        held = marked(marks, b->width) <= b->width / ODD + 1 &&
               lanes_tile(b, clean, own, rows, b->width);
    }
    free(clean);
    if (held) add_marks(b->odd, marks, b->width);
    return held;
}

/* The same where what does not count is neutral. */
static int
filled_tile(const block *b, const int64_t *offsets, const int64_t *masks, int64_t n)
{
    const wk_reduction *r = b->j->r;
    const int64_t bytes = b->width * r->item, most = AGAIN / bytes;
    int64_t own[TILE];
    uint8_t room[COLUMNS];
    int held = 1;
    for (int64_t i = 0, rows; held && i < n; i += rows) {
        rows = n - i < most ? n - i : most;
        for (int64_t k = 0; k < rows; k++) {
            const char *x = b->x + offsets[i + k] * r->item;
            const uint8_t *mask = r->mask ? b->mask + masks[i + k] : NULL;
            const uint8_t *keep = wk_which_count(r, x, mask, b->mask_stride, b->width, room);
            own[k] = k * b->width;
            r->foldings->fill(r->item, x, keep, b->width, r->neutral, b->filled + k * bytes);
            if (b->some) add_marks(b->some, keep, b->width);
        }
        held = lanes_tile(b, b->filled, own, rows, b->width);
    }
    return held;
}

/* n rows from the i-th on to lanes that hold some, or none; 0: they are of no use, but as they were
 * before. Rows are tried without their NaN while that does. */
static int
add_tile(block *b, int64_t held, int64_t i, const int64_t *offsets, const int64_t *masks,
         int64_t n, int *cleans)
{
    const wk_reduction *r = b->j->r;
    if (held) memcpy(b->before.of[0], b->lanes.of[0], (size_t)b->bytes);
    if (r->mask) return filled_tile(b, offsets, masks, n);
    if (lanes_tile(b, b->x, offsets, n, b->width)) {
        if (b->some) memset(b->some, 1, (size_t)b->width);
        return 1;
    }
    if (!*cleans) return 0;
    if (held)
        memcpy(b->lanes.of[0], b->before.of[0], (size_t)b->bytes);
    else
        wk_lanes_start(r, &b->lanes, b->width, i);
    return *cleans = r->fills ? filled_tile(b, offsets, masks, n) : clean_tile(b, offsets, n);
}

/* ---- tiles that lanes did not hold --------------------------------------------------------- */

/* Lanes of columns from .. from + n - 1 of a block, to some of their own or back. */
static void
move_lanes(const block *b, const wk_lanes *own, int64_t from, int64_t n, int back)
{
    const wk_reduction *r = b->j->r;
    for (int c = 0; c < r->components; c++) {
        const wk_folding *f = r->folding[c];
        for (int k = 0; k < f->words; k++) {
            char *a = (char *)b->lanes.of[c] + (k * wk_stride(b->width) + from) * f->size;
            char *o = (char *)own->of[c] + k * wk_stride(n) * f->size;
            memcpy(back ? a : o, back ? o : a, (size_t)(n * f->size));
        }
    }
}

/* Of a few rows what lanes hold goes into them, by pieces, the rest beside them; how many pieces that are,
 * -1: there is no memory. */
static int64_t
add_pieces(block *b, int64_t i, const int64_t *offsets, int64_t n, void **room)
{
    const wk_reduction *r = b->j->r;
    _Alignas(64) char own[8 * WK_ROWS_ROOM / WK_WIDTH * SIDE + 64 * WK_COMPONENT_MAX];
    int64_t failed = 0;
    block piece = *b;
    for (int64_t w = 0, side; w < b->width; w += side) {
        side = b->width - w < SIDE ? b->width - w : SIDE;
        wk_lanes_place(r, &piece.lanes, own, side);
        move_lanes(b, &piece.lanes, w, side, 0);
        if (lanes_tile(&piece, b->x + w * r->item, offsets, n, side)) {
            move_lanes(b, &piece.lanes, w, side, 1);
            continue;
        }
        if (!need_accs(b, room, w, side)) return -1;
        turned_columns(b, w, side, i, offsets, NULL, n);
        for (int64_t k = 0; k < side; k++) acc_of(b, w + k)->n -= n; /* counted as the lanes' */
        failed++;
    }
    return failed;
}

/* The same of a tile, whose lanes are as they were before it. */
static int64_t
add_steps(block *b, int64_t i, const int64_t *offsets, int64_t n, void **room)
{
    int64_t failed = 0;
    for (int64_t k = 0, rows; k < n && failed >= 0; k += rows) {
        rows = n - k < STEP ? n - k : STEP;
        memcpy(b->before.of[0], b->lanes.of[0], (size_t)b->bytes);
        if (lanes_tile(b, b->x, offsets + k, rows, b->width)) continue;
        memcpy(b->lanes.of[0], b->before.of[0], (size_t)b->bytes);
        const int64_t some = add_pieces(b, i + k, offsets + k, rows, room);
        failed = some < 0 ? some : failed + some;
    }
    return failed;
}

/* Do elements lie in lanes as columns do, each by itself? */
static int
has_pieces(const block *b)
{
    const wk_reduction *r = b->j->r;
    return b->odd == NULL && !r->fills && r->args->planes == 1 &&
           !wk_is_complex(r->in->dtype) && !wk_is_arg(r) &&
           wk_lanes_bytes(r, SIDE) <= 8 * WK_ROWS_ROOM / WK_WIDTH * SIDE;
}

/* Rows begin .. end - 1 of a block that go through no lanes. */
static void
turn_rows(const block *b, int64_t begin, int64_t end)
{
    const wk_reduction *r = b->j->r;
    int64_t offsets[TILE], masks[TILE];
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < TILE ? end - i : TILE;
        wk_list_offsets(r->in, r->args->kept, i, n, offsets);
        if (r->mask) wk_list_offsets(r->where, r->args->kept, i, n, masks);
        turned_tile(b, i, offsets, masks, n);
    }
}

/* Columns that lanes left out. */
static void
fold_odd(const block *b, int64_t begin, int64_t end)
{
    const wk_reduction *r = b->j->r;
    for (int64_t w = 0; w < b->width; w++) {
        wk_acc_room room;
        block one = *b;
        if (!b->odd[w]) continue;
        one.x = b->picked ? r->x + b->picked->at[w] * r->item : b->x + w * r->item;
        one.output += w * b->j->step;
        one.width = 1;
        one.accs = b->accs ? acc_of(b, w) : &room.acc;
        wk_acc_start(r, one.accs);
        turn_rows(&one, begin, end);
        if (b->accs == NULL) r->foldings->finish(r, one.accs, one.output);
    }
}

/* What a block's lanes have goes to its accumulators; 0 where there is no memory. */
static int
empty_lanes(block *b, int64_t *held, int64_t next, void **room)
{
    if (!need_accs(b, room, 0, b->width)) return 0;
    if (*held) absorb(b, &b->lanes, 1, *held);
    wk_lanes_start(b->j->r, &b->lanes, b->width, next);
    *held = 0;
    return 1;
}

typedef struct fold_state { /* of a block */
    int64_t held;           /* rows in lanes */
    int skip, penalty, misses, cleans, pieces;
} fold_state;

/* A tile by lanes: 1, or 0 if another way must take it; -1: there is no memory. */
static int
fold_tile(block *b, fold_state *s, int64_t i, const int64_t *offsets, const int64_t *masks,
          int64_t n, void **room)
{
    if (add_tile(b, s->held, i, offsets, masks, n, &s->cleans)) {
        s->held += n;
        s->penalty = 0;
        return 1;
    }
    if (s->held)
        memcpy(b->lanes.of[0], b->before.of[0], (size_t)b->bytes);
    else
        wk_lanes_start(b->j->r, &b->lanes, b->width, i);
    int64_t failed = 0;
    if (s->pieces) {
        failed = add_steps(b, i, offsets, n, room);
        if (failed < 0) return -1;
        s->held += n;
        const int few = 4 * failed * STEP * SIDE <= n * b->width;
        if (few && ++s->misses < MISSES) return 1;
        s->misses = 0;
        if (few) return empty_lanes(b, &s->held, i + n, room) ? 1 : -1;
    }
    s->penalty = s->penalty < 5 ? s->penalty + 1 : 5;
    s->skip = 1 << s->penalty;
    if (!empty_lanes(b, &s->held, i + n, room)) return -1;
    return s->pieces;
}

static void
finish_block(const block *b, int64_t held)
{
    const columns_job *j = b->j;
    if (b->accs && b->loose == NULL) {
        if (held) absorb(b, &b->lanes, 1, held);
        return;
    }
    j->r->foldings->finish_lanes(j->r, b->lanes.of, b->width, b->output, j->step);
    if (b->some) wk_clear_outputs(j->r, b->some, b->width, b->output, j->step);
    for (int64_t w = 0; b->accs && w < b->width; w++) {
        if (!b->loose[w]) continue;
        absorb_one(b, &b->lanes, 1, held, w);
        j->r->foldings->finish(j->r, acc_of(b, w), b->output + w * j->step);
    }
}

/* Of n rows those columns side by side, as a tile of their own. */
static void
pick_tile(block *b, int64_t *offsets, int64_t *masks, int64_t n)
{
    const wk_reduction *r = b->j->r;
    wk_pick(r->item, r->x, offsets, n, b->picked->at, b->width, b->picked->x);
    if (r->mask) wk_pick(1, r->mask, masks, n, b->picked->mask_at, b->width, b->picked->mask);
    for (int64_t k = 0; k < n; k++) offsets[k] = masks[k] = k * b->width;
}

/* Rows begin .. end - 1 of a block. */
static wk_status
fold_block(block *b, int64_t begin, int64_t end, void **room)
{
    const columns_job *j = b->j;
    const wk_reduction *r = j->r;
    const int kept = r->args->kept;
    int64_t offsets[TILE], masks[TILE];
    int tiles = 0;
    fold_state s = {.cleans = r->args->skip_nan, .pieces = j->lanes && has_pieces(b)};
    if (j->lanes) wk_lanes_start(r, &b->lanes, b->width, begin);
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < j->tile ? end - i : j->tile;
        if (++tiles % 16 == 0 && wk_interrupted()) break;
        wk_list_offsets(r->in, kept, i, n, offsets);
        if (r->mask) wk_list_offsets(r->where, kept, i, n, masks);
        if (b->picked) pick_tile(b, offsets, masks, n);
        if (s.held >= WK_HELD && !empty_lanes(b, &s.held, i, room)) return WK_EMEMORY;
        if (j->lanes && s.skip == 0) {
            const int taken = fold_tile(b, &s, i, offsets, masks, n, room);
            if (taken < 0) return WK_EMEMORY;
            if (taken) continue;
        }
        s.skip -= s.skip > 0;
        if (!need_accs(b, room, 0, b->width)) return WK_EMEMORY;
        turned_tile(b, i, offsets, masks, n);
    }
    if (j->lanes) finish_block(b, s.held);
    if (b->odd) fold_odd(b, begin, end);
    return WK_OK;
}

/* A few columns that lie side by side: `group` rows as one. */
static void
fold_narrow(block *b, int64_t begin, int64_t end)
{
    const wk_reduction *r = b->j->r;
    const int64_t group = b->j->group, width = b->width * group, stride = b->width;
    const int64_t last = begin + (end - begin) / group * group;
    int64_t offsets[TILE];
    for (int64_t i = begin; i < last && !wk_interrupted(); i += TILE * group) {
        const int64_t rest = (last - i) / group, n = rest < TILE ? rest : TILE;
        for (int64_t k = 0; k < n; k++) offsets[k] = (i + k * group) * stride;
        wk_lanes_start(r, &b->lanes, width, i);
        if (lanes_tile(b, b->x, offsets, n, width))
            absorb(b, &b->lanes, group, n);
        else
            turn_rows(b, i, i + n * group);
    }
    turn_rows(b, last, end);
}

typedef struct shared_job {
    columns_job j;
    int failed;
} shared_job;

static int64_t
filled_bytes(const wk_reduction *r)
{
    return r->fills ? AGAIN : 0;
}

/* Where the columns of a block begin whose first one is of this output. */
static void
list_columns(const columns_job *j, const wk_array *a, int64_t output, int64_t n, int64_t *at)
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
static block
block_of(const columns_job *j, int64_t i, char *lanes, int64_t most, struct picked *picked)
{
    const wk_reduction *r = j->r;
    const int64_t at = i / j->parts, outer = at / j->blocks;
    const int64_t column = at % j->blocks * j->width;
    block b = {.j = j};
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
    const columns_job *j = &shared->j;
    const wk_reduction *r = j->r;
    const wk_fp_state state = wk_fp_begin();
    const int64_t most = wk_lanes_bytes(r, j->width * j->group);
    const int64_t bytes = 2 * most + filled_bytes(r) + 3 * j->width;
    char *lanes = aligned_alloc(64, (size_t)((bytes + 63) & ~(int64_t)63));
    struct picked *picked = j->picks ? aligned_alloc(64, sizeof *picked) : NULL;
    void *room = NULL;
    const int ready = lanes && (picked || !j->picks);
    if (!ready) shared->failed = 1;
    for (int64_t i = begin; i < end && ready; i++) {
        const int64_t start = i % j->parts * j->part, rest = r->args->n - start;
        const int64_t rows = rest < j->part ? rest : j->part;
        block b = block_of(j, i, lanes, most, picked);
        if (j->accs) {
            b.accs = (wk_acc *)(j->accs + (b.output * j->parts + i % j->parts) * r->acc_bytes);
            b.acc_step = j->step * j->parts * r->acc_bytes;
            for (int64_t w = 0; w < b.width; w++) wk_acc_start(r, acc_of(&b, w));
        } else if ((!j->lanes || j->group > 1) && !need_accs(&b, &room, 0, b.width)) {
            shared->failed = 1;
            break;
        }
        if (j->group > 1)
            fold_narrow(&b, start, start + rows);
        else if (fold_block(&b, start, start + rows, &room))
            shared->failed = 1;
        if (j->accs || b.accs == NULL || b.loose) continue;
        for (int64_t w = 0; w < b.width; w++)
            r->foldings->finish(r, acc_of(&b, w), b.output + w * j->step);
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
group_of(const columns_job *j)
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

/* Blocks as wide as their lanes may be, and then as many tasks as keep all threads busy. */
static void
cut_up(columns_job *j, int threads)
{
    const wk_reduction *r = j->r;
    const int64_t n = r->args->n, outer = r->args->outputs / j->columns;
    const int64_t wanted = threads > 1 ? 2 * threads : 1; /* they may not all be free */
    const int64_t piece = PIECE / r->item < COLUMNS ? PIECE / r->item : COLUMNS,
                  most = LANES / wk_lanes_bytes(r, 8) * 8;
    const int few = !j->lanes || j->picks || most < WK_WIDTH;
    j->width = few ? WK_WIDTH : most < piece ? most : piece;
    while (j->width > WK_WIDTH && outer * ((j->columns - 1) / j->width + 1) < wanted)
        j->width = (j->width / 2 + 7) & ~(int64_t)7;
    if (j->width > j->columns) j->width = j->columns;
    j->blocks = (j->columns + j->width - 1) / j->width;
    j->tile = (j->picks ? PICKED : AGAIN) / (j->width * r->item);
    const int once = r->components == 1 && r->component[0] != WK_C_SQUARES;
    if ((once && !j->picks) || j->tile > TILE) j->tile = TILE;
    if (j->tile < WK_ROWS) j->tile = WK_ROWS;
    j->parts = 1;
    j->part = n;
    const int64_t tasks = outer * j->blocks;
    const int64_t task = wk_task_of(r);
    if (tasks < wanted && n * j->width > 2 * task && n > 2 * JOIN) {
        const int64_t parts = (wanted + tasks - 1) / tasks, work = n * j->width / task,
                      all = work < n / JOIN ? work : n / JOIN;
        j->part = n / (parts < all ? parts : all) + 1;
        j->part = (j->part + TILE - 1) / TILE * TILE;
        j->parts = (n + j->part - 1) / j->part;
    }
}

static void
finish_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const columns_job *j = &((shared_job *)arg)->j;
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
    columns_job *j = &shared.j;
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
