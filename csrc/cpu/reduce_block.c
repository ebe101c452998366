/* reduce_block.c -- a block of neighbouring columns, tile by tile. */
#include "cpu/gather.h"
#include "cpu/reduce_tiles.h"
#include "interrupt.h"

/* Tiles that lanes did not hold, after which these start anew: sums have grown. */
enum { MISSES = 8 };

/* Rows begin .. end - 1 of a block that go through no lanes. */
static void
turn_rows(const wk_block *b, int64_t begin, int64_t end)
{
    const wk_reduction *r = b->j->r;
    int64_t offsets[WK_TILE_ROWS], masks[WK_TILE_ROWS];
    for (int64_t i = begin, n; i < end; i += n) {
        n = end - i < WK_TILE_ROWS ? end - i : WK_TILE_ROWS;
        wk_list_offsets(r->in, r->args->kept, i, n, offsets);
        if (r->mask) wk_list_offsets(r->where, r->args->kept, i, n, masks);
        wk_turn_tile(b, i, offsets, masks, n);
    }
}

/* Columns that lanes left out. */
static void
fold_odd(const wk_block *b, int64_t begin, int64_t end)
{
    const wk_reduction *r = b->j->r;
    for (int64_t w = 0; w < b->width; w++) {
        wk_acc_room room;
        wk_block one = *b;
        if (!b->odd[w]) continue;
        one.x = b->picked ? r->x + b->picked->at[w] * r->item : b->x + w * r->item;
        one.output += w * b->j->step;
        one.width = 1;
        one.accs = b->accs ? wk_acc_of(b, w) : &room.acc;
        wk_acc_start(r, one.accs);
        turn_rows(&one, begin, end);
        if (b->accs == NULL) r->foldings->finish(r, one.accs, one.output);
    }
}

/* What a block's lanes have goes to its accumulators; 0 where there is no memory. */
static int
empty_lanes(wk_block *b, int64_t *held, int64_t next, void **room)
{
    if (!wk_need_accs(b, room, 0, b->width)) return 0;
    if (*held) wk_absorb_lanes(b, &b->lanes, 1, *held);
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
fold_tile(wk_block *b, fold_state *s, int64_t i, const int64_t *offsets, const int64_t *masks,
          int64_t n, void **room)
{
    if (wk_add_tile(b, s->held, i, offsets, masks, n, &s->cleans)) {
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
        failed = wk_add_steps(b, i, offsets, n, room);
        if (failed < 0) return -1;
        s->held += n;
        const int few = 4 * failed * WK_PIECE_ROWS * WK_PIECE_COLUMNS <= n * b->width;
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
finish_block(const wk_block *b, int64_t held)
{
    const wk_columns_job *j = b->j;
    if (b->accs && b->loose == NULL) {
        if (held) wk_absorb_lanes(b, &b->lanes, 1, held);
        return;
    }
    j->r->foldings->finish_lanes(j->r, b->lanes.of, b->width, b->output, j->step);
    if (b->some) wk_clear_outputs(j->r, b->some, b->width, b->output, j->step);
    for (int64_t w = 0; b->accs && w < b->width; w++) {
        if (!b->loose[w]) continue;
        wk_absorb_column(b, &b->lanes, 1, held, w);
        j->r->foldings->finish(j->r, wk_acc_of(b, w), b->output + w * j->step);
    }
}

/* Of n rows those columns side by side, as a tile of their own. */
static void
pick_tile(wk_block *b, int64_t *offsets, int64_t *masks, int64_t n)
{
    const wk_reduction *r = b->j->r;
    wk_pick(r->item, r->x, offsets, n, b->picked->at, b->width, b->picked->x);
    if (r->mask) wk_pick(1, r->mask, masks, n, b->picked->mask_at, b->width, b->picked->mask);
    for (int64_t k = 0; k < n; k++) offsets[k] = masks[k] = k * b->width;
}

wk_status
wk_fold_block(wk_block *b, int64_t begin, int64_t end, void **room)
{
    const wk_columns_job *j = b->j;
    const wk_reduction *r = j->r;
    const int kept = r->args->kept;
    int64_t offsets[WK_TILE_ROWS], masks[WK_TILE_ROWS];
    int tiles = 0;
    fold_state s = {.cleans = r->args->skip_nan, .pieces = j->lanes && wk_has_pieces(b)};
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
        if (!wk_need_accs(b, room, 0, b->width)) return WK_EMEMORY;
        wk_turn_tile(b, i, offsets, masks, n);
    }
    if (j->lanes) finish_block(b, s.held);
    if (b->odd) fold_odd(b, begin, end);
    return WK_OK;
}

void
wk_fold_narrow(wk_block *b, int64_t begin, int64_t end)
{
    const wk_reduction *r = b->j->r;
    const int64_t group = b->j->group, width = b->width * group, stride = b->width;
    const int64_t last = begin + (end - begin) / group * group;
    int64_t offsets[WK_TILE_ROWS];
    for (int64_t i = begin; i < last && !wk_interrupted(); i += WK_TILE_ROWS * group) {
        const int64_t rest = (last - i) / group, n = rest < WK_TILE_ROWS ? rest : WK_TILE_ROWS;
        for (int64_t k = 0; k < n; k++) offsets[k] = (i + k * group) * stride;
        wk_lanes_start(r, &b->lanes, width, i);
        if (wk_lanes_tile(b, b->x, offsets, n, width))
            wk_absorb_lanes(b, &b->lanes, group, n);
        else
            turn_rows(b, i, i + n * group);
    }
    turn_rows(b, last, end);
}
