/* reduce_tiles.c -- a tile of columns into lanes, or, where those do not hold, each column into an accumulator. */
#include "cpu/reduce_tiles.h"
#include "cpu/gather.h"

#include <stdlib.h>

enum {
    TURN = 1 << 15,  /* bytes that are turned at once                           */
    CLEAN = 1 << 16, /* bytes of rows that are copied without their NaN         */
    ODD = 8          /* columns of one with NaN that are folded again alone     */
};

int
wk_need_accs(wk_block *b, void **room, int64_t from, int64_t n)
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
        if (!b->loose[w]) wk_acc_start(r, wk_acc_of(b, w));
        b->loose[w] = 1;
    }
    if (n == b->width) b->loose = NULL;
    return 1;
}

/* ---- turning ------------------------------------------------------------------------------ */

/* NaN in the other part of each complex number. */
static void
drop_partners(const wk_block *b, int64_t from, const int64_t *offsets, int64_t n, int64_t width,
              uint8_t *keep)
{
    const wk_columns_job *j = b->j;
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
turned_columns(const wk_block *b, int64_t from, int64_t width, int64_t start,
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
        wk_acc *a = wk_acc_of(b, from + w);
        if (drops) {
            wk_way_kept(r, a, x, keep + w * n, n, start);
            continue;
        }
        for (int c = 0; c < r->components; c++) r->folding[c]->run(a, x, n, start);
        a->n += n;
    }
}

void
wk_turn_tile(const wk_block *b, int64_t start, const int64_t *offsets, const int64_t *masks,
             int64_t n)
{
    int64_t width = TURN / (WK_TILE_ROWS * b->j->r->item);
    for (int64_t w = 0; w < b->width; w += width) {
        if (width > b->width - w) width = b->width - w;
        turned_columns(b, w, width, start, offsets, masks, n);
    }
}

/* ---- lanes -------------------------------------------------------------------------------- */

void
wk_absorb_column(const wk_block *b, const wk_lanes *lanes, int64_t group, int64_t rows,
                 int64_t w)
{
    const wk_reduction *r = b->j->r;
    wk_acc *a = wk_acc_of(b, w % b->width);
    a->n += b->some == NULL || b->some[w] ? rows : 0;
    for (int c = 0; c < r->components; c++)
        r->folding[c]->absorb(a, lanes->of[c], wk_stride(b->width * group), w);
}

void
wk_absorb_lanes(const wk_block *b, const wk_lanes *lanes, int64_t group, int64_t rows)
{
    for (int64_t w = 0; w < b->width * group; w++) wk_absorb_column(b, lanes, group, rows, w);
}

int
wk_lanes_tile(const wk_block *b, const char *x, const int64_t *offsets, int64_t n,
              int64_t width)
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
clean_tile(const wk_block *b, const int64_t *offsets, int64_t n)
{
    const wk_reduction *r = b->j->r;
    const int64_t bytes = b->width * r->item, most = CLEAN / bytes;
    int64_t own[WK_TILE_ROWS];
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
               wk_lanes_tile(b, clean, own, rows, b->width);
    }
    free(clean);
    if (held) add_marks(b->odd, marks, b->width);
    return held;
}

/* The same where what does not count is neutral. */
static int
filled_tile(const wk_block *b, const int64_t *offsets, const int64_t *masks, int64_t n)
{
    const wk_reduction *r = b->j->r;
    const int64_t bytes = b->width * r->item, most = WK_TILE_AGAIN / bytes;
    int64_t own[WK_TILE_ROWS];
    uint8_t room[WK_MOST_COLUMNS];
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
        held = wk_lanes_tile(b, b->filled, own, rows, b->width);
    }
    return held;
}

int
wk_add_tile(wk_block *b, int64_t held, int64_t i, const int64_t *offsets, const int64_t *masks,
            int64_t n, int *cleans)
{
    const wk_reduction *r = b->j->r;
    if (held) memcpy(b->before.of[0], b->lanes.of[0], (size_t)b->bytes);
    if (r->mask) return filled_tile(b, offsets, masks, n);
    if (wk_lanes_tile(b, b->x, offsets, n, b->width)) {
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
move_lanes(const wk_block *b, const wk_lanes *own, int64_t from, int64_t n, int back)
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
add_pieces(wk_block *b, int64_t i, const int64_t *offsets, int64_t n, void **room)
{
    const wk_reduction *r = b->j->r;
    _Alignas(
        64) char own[8 * WK_ROWS_ROOM / WK_WIDTH * WK_PIECE_COLUMNS + 64 * WK_COMPONENT_MAX];
    int64_t failed = 0;
    wk_block piece = *b;
    for (int64_t w = 0, side; w < b->width; w += side) {
        side = b->width - w < WK_PIECE_COLUMNS ? b->width - w : WK_PIECE_COLUMNS;
        wk_lanes_place(r, &piece.lanes, own, side);
        move_lanes(b, &piece.lanes, w, side, 0);
        if (wk_lanes_tile(&piece, b->x + w * r->item, offsets, n, side)) {
            move_lanes(b, &piece.lanes, w, side, 1);
            continue;
        }
        if (!wk_need_accs(b, room, w, side)) return -1;
        turned_columns(b, w, side, i, offsets, NULL, n);
        for (int64_t k = 0; k < side; k++)
            wk_acc_of(b, w + k)->n -= n; /* counted as the lanes' */
        failed++;
    }
    return failed;
}

int64_t
wk_add_steps(wk_block *b, int64_t i, const int64_t *offsets, int64_t n, void **room)
{
    int64_t failed = 0;
    for (int64_t k = 0, rows; k < n && failed >= 0; k += rows) {
        rows = n - k < WK_PIECE_ROWS ? n - k : WK_PIECE_ROWS;
        memcpy(b->before.of[0], b->lanes.of[0], (size_t)b->bytes);
        if (wk_lanes_tile(b, b->x, offsets + k, rows, b->width)) continue;
        memcpy(b->lanes.of[0], b->before.of[0], (size_t)b->bytes);
        const int64_t some = add_pieces(b, i + k, offsets + k, rows, room);
        failed = some < 0 ? some : failed + some;
    }
    return failed;
}

int
wk_has_pieces(const wk_block *b)
{
    const wk_reduction *r = b->j->r;
    return b->odd == NULL && !r->fills && r->args->planes == 1 &&
           !wk_is_complex(r->in->dtype) && !wk_is_arg(r) &&
           wk_lanes_bytes(r, WK_PIECE_COLUMNS) <=
               8 * WK_ROWS_ROOM / WK_WIDTH * WK_PIECE_COLUMNS;
}
