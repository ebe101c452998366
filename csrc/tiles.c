/* tiles.c -- the plan of a transpose on a GPU: which kernel, which axes, how large a tile. */
#include "tiles.h"
#include "pieces.h"
#include "settings.h"

#include <stdlib.h>

enum {
    ACCESS = 16,      /* bytes: the longest access */
    GROUPED = 32,     /* bytes of a run that moves as one element, at most: a sector */
    SHORT = 32,       /* a side of fewer leaves lanes of a warp without work */
    SHORT_BYTES = 96, /* rows of bytes, of which a word holds four */
    ELEMENTS = 512,   /* a multiprocessor: what is read in vain is in its cache when needed */
    SMALL = 5 << 10,  /* bytes of a matrix: BOXES take several together */
    SMALL_UNITS = 8 << 10, /* likewise, instead of UNITS */
    SMALL_SHORT = 2 << 10, /* instead of SHORT */
    TORN_IN = 128,         /* bytes of a side that memory does not send alone, */
    TORN_OUT = 256,        /* ... or does not take alone */
    SHORT_RUN = 256,       /* bytes of a run of ROWS */
    REACH = 512,           /* bytes of the input that a row of a tile of ROWS has, about */
    WHOLE = 4 << 10,       /* or all of some axes, up to so many, ... */
    WHOLE_RUNS = 16,       /* ... and runs */
    NARROW = 16,           /* threads: shorter pieces of runs are not looked at */
    WORDS_ALIGNED = 8,     /* bytes of a unit: WORDS are faster than ALIGNED from there on  */
    BUSY = 1024,           /* elements: tiles of fewer leave most threads without work */
    LEAST_SIDE = 64,       /* bytes: tiles of a small array get no smaller than that */
    NUMBERED = INT32_MAX   /* indices that kernels divide stay below */
};

/* Of the model of boxes, in times of a copy: see plan_runs. */
static const double CHEAP = 1.75;

typedef struct axes {
    wk_tiles_axis axis[WK_MAX_DIMS]; /* in the output's order, the fastest last */
    int used[WK_MAX_DIMS];
    int n;
    uint64_t from, to; /* addresses */
} axes;

static int64_t
round_up(int64_t n, int64_t unit)
{
    return wk_blocks(n, unit) * unit;
}

/* The longest access that all of these are multiples of. */
static int
widest(uint64_t bits)
{
    bits |= ACCESS;
    return (int)(bits & (~bits + 1));
}

/* What the axes but `except` and the addresses are multiples of, as bits. */
static uint64_t
alignment(const axes *x, int except)
{
    uint64_t bits = x->from | x->to;
    for (int d = 0; d < x->n; d++)
        if (d != except) bits |= (uint64_t)x->axis[d].in | (uint64_t)x->axis[d].out;
    return bits;
}

/* The axis whose neighbours lie closest in the input, the last of equals; broadcast ones only if
 * there is no other. */
static int
fastest_in(const axes *x)
{
    int p = x->n - 1;
    for (int d = x->n - 1; d >= 0; d--) {
        const int64_t a = llabs(x->axis[d].in), b = llabs(x->axis[p].in);
        if (a != 0 && (b == 0 || a < b)) p = d;
    }
    return p;
}

/* The axes that no side of a tile has, the fastest in the output first. */
static int64_t
other_axes(const axes *x, wk_tiles *plan)
{
    int64_t all = 1;
    plan->other_axes = 0;
    for (int d = x->n - 1; d >= 0; d--) {
        if (x->used[d]) continue;
        plan->other[plan->other_axes++] = x->axis[d];
        all *= x->axis[d].extent;
    }
    return all;
}

static void
add_row_axis(axes *x, int d, wk_tiles *plan)
{
    x->used[d] = 1;
    plan->row[plan->row_axes++] = x->axis[d];
    plan->rows *= x->axis[d].extent;
}

static void
add_column_axis(axes *x, int d, wk_tiles *plan)
{
    x->used[d] = 1;
    plan->column[plan->column_axes++] = x->axis[d];
    plan->columns *= x->axis[d].extent;
}

/* ---- ways that turn nothing --------------------------------------------------------------- */

/* Units of a piece of a run: a thread each, and as many as leave the fewest threads of a block idle. All
 * pieces are alike: the last one ends where the run does. */
static int
piece_of(int64_t run)
{
    const int64_t threads = WK_RUNS_THREADS;
    int best = 1;
    double most = 0;
    for (int64_t pieces = wk_blocks(run, threads);; pieces++) {
        const int64_t units = wk_blocks(run, pieces);
        const double moved = (double)run / (double)(pieces * units);
        const double busy = (double)(threads / units * units) / (double)threads;
        if (moved * busy > most * 1.02) {
            most = moved * busy;
            best = (int)units;
        }
        if (most > 0.97 || units <= NARROW) return best;
    }
}

/* Runs that follow each other in the input become a row of a tile: REACH bytes of them, or a few whole
 * axes of up to WHOLE; but none of the output's fastest axis, which is a column. How many. */
static int64_t
cross_axes(axes *x, wk_tiles *plan)
{
    const int64_t bytes = plan->run * plan->unit, wanted = wk_blocks(REACH, bytes);
    const int64_t whole = wk_least(WHOLE / bytes, WHOLE_RUNS);
    int64_t step = llabs(plan->step) * plan->run, runs = 1;
    for (int d = x->n - 3; d >= 0 && plan->column_axes < WK_TILE_AXES;) {
        const int64_t all = plan->columns * x->axis[d].extent;
        if (x->used[d] || llabs(x->axis[d].in) != step) {
            d--;
            continue;
        }
        if (all > whole && (plan->columns >= wanted || all >= NUMBERED)) break;
        add_column_axis(x, d, plan);
        runs = all <= whole ? all : wk_blocks(all, wk_blocks(all, wanted));
        step *= x->axis[d].extent;
        d = x->n - 3;
    }
    return runs;
}

/* A tile is a matrix of runs, or of pieces of long ones, so that more than a run is read, and written,
 * at a place. H100, 30 permutations of 1 GiB, the share of a copy of tiles of one row, of matrices,
 * median and least: 4 bytes .86 .69, .94 .80; 8 bytes .93 .86, .95 .89; 16 bytes .95 .87, .97 .93. */
static void
plan_rows(axes *x, wk_tiles *plan)
{
    const int q = x->n - 1;
    wk_tiles_axis *run = &x->axis[q];
    plan->way = WK_TILES_ROWS;
    if (run->in == plan->unit) { /* any unit will do */
        const int64_t bytes = run->extent * plan->unit;
        plan->unit = widest(alignment(x, q) | (uint64_t)bytes);
        *run = (wk_tiles_axis){bytes / plan->unit, plan->unit, plan->unit};
    }
    plan->run = run->extent;
    plan->step = run->in;
    plan->group = piece_of(plan->run);
    plan->rows = wk_blocks(plan->run, plan->group);
    x->used[q] = 1;
    plan->tile_columns = cross_axes(x, plan);
    for (int d = q - 1; d >= 0 && plan->row_axes < WK_TILE_AXES; d--) {
        if (x->used[d]) continue;
        const int numbered = plan->rows * x->axis[d].extent < NUMBERED;
        if (plan->rows > 1 && !numbered) break; /* one that stands alone is not divided */
        add_row_axis(x, d, plan);
    }
    const int64_t pieces = wk_least(WK_RUNS_TILE / plan->unit / plan->group, WK_TABLE);
    plan->tile_rows = wk_least(plan->rows, wk_most(pieces / plan->tile_columns, 1));
    plan->tiles = other_axes(x, plan) * wk_blocks(plan->rows, plan->tile_rows) *
                  wk_blocks(plan->columns, plan->tile_columns);
}

/* All axes are others. */
static int
plan_few(axes *x, int processors, wk_tiles *plan)
{
    const int64_t n = other_axes(x, plan);
    /* WARPKIT_FEW=0 has tests meet the other ways with little data. */
    if (n > wk_setting_value(WK_SET_FEW, ELEMENTS) * processors) return 0;
    plan->way = WK_TILES_FEW;
    plan->rows = n;
    plan->tile_rows = WK_FEW;
    plan->tile_columns = 1;
    plan->tiles = wk_blocks(n, WK_FEW);
    return 1;
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* A run that is the fastest on both sides, and is short, moves as one element: of one unit, or of a
 * group. Elsewhere the element is one of the array's, of units that the addresses allow. */
static void
group_units(axes *x, wk_tiles *plan)
{
    int64_t run = plan->unit;
    axes rest = *x;
    rest.n--;
    if (rest.n > 1 && x->axis[rest.n].in == run && x->axis[rest.n].extent * run <= GROUPED &&
        fastest_in(&rest) != rest.n - 1) {
        run *= x->axis[rest.n].extent;
        x->n--;
    }
    plan->unit = widest(alignment(x, -1) | (uint64_t)run);
    plan->group = (int)(run / plan->unit);
}

/* The next axis outwards in the input continues a row, if it is there. */
static int
longer_row(axes *x, wk_tiles *plan)
{
    if (plan->column_axes == WK_TILE_AXES) return 0;
    for (int d = 0; d < x->n; d++) {
        const wk_tiles_axis *a = &x->axis[d];
        if (x->used[d] || a->in != plan->step * plan->columns ||
            plan->columns * a->extent >= NUMBERED)
            continue;
        add_column_axis(x, d, plan);
        return 1;
    }
    return 0;
}

/* The next axis outwards in the output continues a column, if no row has it. */
static int
longer_column(axes *x, wk_tiles *plan)
{
    const int d = x->n - 1 - plan->row_axes;
    if (d < 0 || x->used[d] || plan->row_axes == WK_TILE_AXES ||
        plan->rows * x->axis[d].extent >= NUMBERED)
        return 0;
    add_row_axis(x, d, plan);
    return 1;
}

/* Both sides of a tile of words, from one axis each: the shorter one grows first, until the tile is full;
 * then all that they can, one side before the other. */
static void
grow_sides(axes *x, int columns_first, wk_tiles *plan)
{
    const int64_t rows = wk_tile_rows(WK_TILES_WORDS, plan->unit);
    const int64_t columns = wk_tile_columns(WK_TILES_WORDS, plan->unit);
    for (int grown = 1; grown;) {
        grown = 0;
        const int narrow = plan->columns * rows <= plan->rows * columns;
        if (plan->columns < columns && (narrow || plan->rows >= rows))
            grown = longer_row(x, plan);
        if (!grown && plan->rows < rows) grown = longer_column(x, plan);
        if (!grown && plan->columns < columns) grown = longer_row(x, plan);
    }
    while (columns_first && longer_row(x, plan)) {
    }
    while (longer_column(x, plan)) {
    }
    while (longer_row(x, plan)) {
    }
}

/* What of n blocks of at most `size` each is alike, in multiples of `unit`. */
static int64_t
balanced(int64_t n, int64_t size, int64_t unit)
{
    return wk_least(round_up(wk_blocks(n, wk_blocks(n, size)), unit), size);
}

static void
count_tiles(int64_t others, wk_tiles *plan)
{
    const int64_t early = wk_most(plan->lead - 1, 0);
    plan->tiles = others * wk_blocks(plan->rows + early, plan->tile_rows) *
                  wk_blocks(plan->columns, plan->tile_columns);
}

static void
set_words(axes *x, int processors, wk_tiles *plan)
{
    const int64_t others = other_axes(x, plan), sector = WK_SECTOR / plan->unit;
    const int64_t word = plan->unit < 4 ? 4 / plan->unit : 1;
    uint64_t bits = x->to;
    for (int d = 0; d < plan->column_axes; d++) bits |= (uint64_t)plan->column[d].out;
    for (int d = 0; d < plan->other_axes; d++) bits |= (uint64_t)plan->other[d].out;
    plan->way = WK_TILES_WORDS;
    plan->lead = bits % WK_SECTOR == 0 ? 0 : (int)sector;
    const int64_t early = wk_most(plan->lead - 1, 0);
    int64_t rows = wk_tile_rows(WK_TILES_WORDS, plan->unit);
    int64_t columns = wk_tile_columns(WK_TILES_WORDS, plan->unit);
    for (;;) {
        plan->tile_rows = balanced(plan->rows + early, rows, sector);
        plan->tile_columns = balanced(plan->columns, columns, word);
        count_tiles(others, plan);
        if (plan->tiles >= 2 * processors || wk_most(rows, columns) * plan->unit <= LEAST_SIDE)
            return;
        if (rows >= columns)
            rows /= 2;
        else
            columns /= 2;
    }
}

/* The rows of tiles of words that are some, of all that they have room for, ... */
static double
filled_down(const wk_tiles *plan)
{
    const int64_t rows = wk_tile_rows(WK_TILES_WORDS, plan->unit);
    const int64_t tiles = wk_blocks(plan->rows + wk_most(plan->lead - 1, 0), rows);
    return (double)plan->rows / (double)(tiles * rows);
}

/* ... and the columns. */
static double
filled_across(const wk_tiles *plan)
{
    const int64_t columns = wk_tile_columns(WK_TILES_WORDS, plan->unit);
    return (double)plan->columns / (double)(wk_blocks(plan->columns, columns) * columns);
}

/* An axis that either side could have goes where it fills the tiles. H200, 1 GiB, 38 permutations of 600
 * by what that fills more: less than 1.1 times .93 to 1.07 of the rate, 1.1 to 1.2 .96 to 1.13, more .96 to 1.35. */
static wk_tiles
plan_words(const axes *x, int p, int processors, const wk_tiles *none)
{
    wk_tiles best = *none;
    double most = 0;
    for (int columns_first = 0; columns_first < 2; columns_first++) {
        axes sides = *x;
        wk_tiles own = *none;
        add_row_axis(&sides, x->n - 1, &own);
        add_column_axis(&sides, p, &own);
        grow_sides(&sides, columns_first, &own);
        set_words(&sides, processors, &own);
        const double filled = filled_down(&own) * filled_across(&own);
        if (filled < 1.1 * most) continue;
        most = filled;
        best = own;
    }
    return best;
}

/* Narrow: a tile may have a side as short as the matrix's. H200, 1 GiB, share of a copy of what else there is
 * and of such tiles: 16 rows .76 .97 (bytes), .86 .96, .93 .97, 32 rows .82 .96, .87 .96, .93 .97; 16
 * columns .74 .85, .86 .90, .92 .93, 32 columns .84 .86, .86 .92, .89 .92; 8 and 16 bytes within .02. */
static int
plan_aligned(axes *x, int p, int processors, int narrow, wk_tiles *plan)
{
    const int q = x->n - 1, unit = plan->unit;
    const int64_t r = x->axis[q].extent, c = x->axis[p].extent, least = ACCESS / unit;
    int64_t rows = wk_tile_rows(WK_TILES_ALIGNED, unit);
    int64_t columns = wk_tile_columns(WK_TILES_ALIGNED, unit);
    for (; narrow && rows >= 2 * wk_most(r, least); rows /= 2) columns *= 2;
    for (; narrow && columns >= 2 * wk_most(c, least); columns /= 2) rows *= 2;
    uint64_t bits = x->from | x->to | (uint64_t)(r * unit) | (uint64_t)(c * unit);
    for (int d = 0; d < x->n; d++) {
        if (d != p) bits |= (uint64_t)x->axis[d].in;
        if (d != q) bits |= (uint64_t)x->axis[d].out;
    }
    if (plan->group != 1 || plan->step != unit || bits % ACCESS != 0) return 0;
    if (4 * r * c < 3 * round_up(r, rows) * round_up(c, columns)) return 0; /* slivers */
    wk_tiles own = *plan;
    axes own_axes = *x;
    own.way = WK_TILES_ALIGNED;
    own.tile_rows = rows;
    own.tile_columns = columns;
    add_row_axis(&own_axes, q, &own);
    add_column_axis(&own_axes, p, &own);
    count_tiles(other_axes(&own_axes, &own), &own);
    if (4 * own.tiles < processors) return 0; /* smaller ones keep more of them busy */
    *plan = own;
    return 1;
}

/* One axis a side, and tiles that end with a line of the caches if they begin with one. H200, 3, 5 and 12
 * floats a row or column: 94, 92 and 91 % of a copy's rate; 16 KiB and ends with sectors: 87, 86 and
 * 90. */
static void
plan_units(axes *x, int p, wk_tiles *plan)
{
    const int64_t run = (int64_t)plan->unit * plan->group;
    const int64_t elements = WK_UNITS_TILE / run, line = WK_LINE / (widest((uint64_t)run));
    int64_t side = 1;
    while ((side + 1) * (side + 1) <= elements) side++;
    plan->way = WK_TILES_UNITS;
    add_row_axis(x, x->n - 1, plan);
    add_column_axis(x, p, plan);
    plan->tile_columns = wk_least(plan->columns, side);
    plan->tile_rows = wk_least(plan->rows, wk_most(elements / plan->tile_columns, 1));
    if (plan->tile_rows < plan->rows && plan->tile_rows > line)
        plan->tile_rows -= plan->tile_rows % line;
    plan->tile_columns = wk_least(plan->columns, wk_most(elements / plan->tile_rows, 1));
    if (plan->tile_columns < plan->columns && plan->tile_columns > line)
        plan->tile_columns -= plan->tile_columns % line;
    count_tiles(other_axes(x, plan), plan);
}

/* Does one side stay so short that units are better? Not where sides of several axes have much more
 * than those of one. */
static int
short_side(const axes *x, int p, const wk_tiles *words)
{
    const int64_t shortest = words->unit == 1 ? SHORT_BYTES : SHORT;
    const int64_t one = x->axis[x->n - 1].extent * x->axis[p].extent;
    if (one < BUSY && words->rows * words->columns > 2 * one) return 0;
    return words->rows <= shortest || words->columns <= SHORT;
}

/* A side of 2 to 8 whose elements lie in one run with the other side's: all that 16 bytes can hold
 * of it is permuted in registers. */
static int
plan_short(axes *x, int p, wk_tiles *plan)
{
    const int q = x->n - 1, unit = plan->unit;
    const wk_tiles_axis row = x->axis[q], column = x->axis[p];
    const int tall = column.extent <= WK_SHORT_SIDE;
    const int64_t side = tall ? column.extent : row.extent;
    const int64_t length = tall ? row.extent : column.extent;
    uint64_t bits = x->from | x->to | (uint64_t)(length * unit);
    if (plan->group != 1 || unit > 4 || plan->step != unit || side > WK_SHORT_SIDE) return 0;
    if (length <= WK_SHORT_SIDE || (tall ? row.in : column.out) != side * unit) return 0;
    bits |= (uint64_t)(tall ? column.out : row.in);
    for (int d = 0; d < x->n; d++)
        if (d != p && d != q) bits |= (uint64_t)x->axis[d].in | (uint64_t)x->axis[d].out;
    if (bits % ACCESS != 0) return 0;
    plan->way = WK_TILES_SHORT;
    add_row_axis(x, q, plan);
    add_column_axis(x, p, plan);
    *(tall ? &plan->tile_columns : &plan->tile_rows) = side;
    *(tall ? &plan->tile_rows : &plan->tile_columns) = WK_SHORT_PIECES * ACCESS / unit;
    count_tiles(other_axes(x, plan), plan);
    return 1;
}

/* One matrix of a side's axes at a time. */
static void
plan_matrices(axes *x, int processors, wk_tiles *plan)
{
    const int p = fastest_in(x);
    plan->step = x->axis[p].in;
    if (plan_short(x, p, plan)) return;
    const wk_tiles words = plan_words(x, p, processors, plan);
    const int units = plan->group > 1 || short_side(x, p, &words);
    if ((units || plan->unit < WORDS_ALIGNED) && plan_aligned(x, p, processors, units, plan))
        return;
    if (units)
        plan_units(x, p, plan);
    else
        *plan = words;
}

/* All axes, a group of units being one more. */
static int
plan_boxes(axes *x, int processors, wk_tiles *plan)
{
    if (plan->group > 1) x->axis[x->n++] = (wk_tiles_axis){plan->group, plan->unit, plan->unit};
    if (!wk_plan_box(x->axis, x->n, plan->unit, x->from, x->to, processors, &plan->box))
        return 0;
    plan->way = WK_TILES_BOXES;
    plan->group = 1;
    for (int a = 0; a < plan->box.axes; a++) plan->tiles *= plan->box.axis[a].tiles;
    return plan->tiles <= INT32_MAX;
}

/* Is a side of units so short that memory sends more than it, and what follows in memory another
 * tile's? */
static int
torn(const wk_tiles *plan)
{
    const int64_t run = (int64_t)plan->unit * plan->group;
    if (plan->columns * run < TORN_IN && plan->row[0].in != plan->columns * plan->step)
        return 1;
    return plan->rows * run < TORN_OUT && plan->column[0].out != plan->rows * run;
}

/* Is a matrix so small, or torn, that several are to be turned together? */
static int
small(const wk_tiles *plan)
{
    return plan->rows * plan->columns * plan->unit * plan->group < SMALL_UNITS || torn(plan);
}

/* Where boxes are faster than what turns one matrix at a time. H100, 256 MiB, 171 permutations, the
 * median time of the other way over that of boxes, units of 1, 2, 4, 8, 16 bytes. Words by what is filled
 * of their tiles: below .3 4.7, 3.0, 1.6, 1.4, 1.6; to .4 .82, none, 1.3, 1.05, 1.1; to .5 1.6, 1.7, .98, .98, .96;
 * to .6 .62, 1.1, .94, .96, .92; more about .65, .8, .8, .87, .91. Units of small matrices 23, 12, 6, 4.9, 3.0;
 * of others 1.7, 1.2, .95, .95, .95, of which the torn 2.9 (2 bytes), 3.1, 2.1, 1.5. H200, 256 MiB to 1 GiB, share of
 * a copy of units and of boxes, matrices of 5 to 8 KiB: 4 bytes .55 .79, .67 .89, .59 .81, .66 .60; 8 bytes .71 .90,
 * .76 .90; 16 bytes .82 .89, .88 .88, .86 .78; to 12 KiB eleven that gain and lose .03 to .07. Sides of 64 to 128 bytes:
 * 5 x 2 x 2 x n to (2, 3, 1, 0) of 16 bytes .36 .90, seven more of .55 to .82 .87 to .94; to 256 where they are
 * written: 11 x 2 x n to (2, 1, 0) .50 .93, .80 .91; where they are read .91 .86, .87 .87. Groups of 3, 5
 * and 7 units of 4 bytes: 17 permutations 1.00 to 2.0 times as fast by boxes, three .75, .92 and .93; of 3 of 8
 * bytes 1.11 and .90 to .98. Words of 4 to 16 bytes, filled .4 to .55: 12 permutations whose rows fill little
 * gain 1.04 to 1.29 by boxes, six whose columns do lose .71 to .94. */
static int
boxes_pay(const wk_tiles *plan)
{
    const int64_t matrix = plan->rows * plan->columns * plan->unit * plan->group;
    switch (plan->way) {
    case WK_TILES_SHORT: return matrix < SMALL_SHORT;
    case WK_TILES_ALIGNED: return matrix < SMALL;
    case WK_TILES_UNITS:
        return plan->unit <= 2 || (plan->unit == 4 && plan->group > 1) || small(plan);
    default: {
        const double down = filled_down(plan), filled = down * filled_across(plan);
        return plan->unit <= 2 ? filled < 0.55 : down * filled < 0.3;
    }
    }
}

static void
plan_turn(axes *x, int processors, wk_tiles *plan)
{
    group_units(x, plan);
    axes all = *x;
    wk_tiles boxes = *plan;
    plan_matrices(x, processors, plan);
    if (!boxes_pay(plan) || !plan_boxes(&all, processors, &boxes)) return;
    /* Rows that begin at both halves of a word, of a large matrix: units .68, boxes .65. */
    if (plan->way == WK_TILES_UNITS && plan->unit == 2 && !boxes.box.alike && !small(plan))
        return;
    *plan = boxes;
}

/* Short runs of small units are boxes where the model has them fast. H100, 120 permutations of 256 MiB,
 * the shares of a copy of ROWS and of boxes. Bytes: runs to 256 bytes .58 .74, longer ones .74 .65; 2
 * bytes: short runs in boxes that cost less than CHEAP .75 .86, others .77 .76, long runs .88 .72; more:
 * short runs .90 .88, long ones .96 .91. */
static void
plan_runs(axes *x, int processors, wk_tiles *plan)
{
    plan_rows(x, plan);
    if (plan->step != plan->unit || plan->unit > 2 || x->n == 1) return;
    if (plan->run * plan->unit >= SHORT_RUN) return;
    wk_tiles boxes = {.unit = plan->unit, .group = 1, .rows = 1, .columns = 1, .tiles = 1};
    if (plan_boxes(x, processors, &boxes) && (plan->unit == 1 || boxes.box.cost < CHEAP))
        *plan = boxes;
}

/* ---- all of it ---------------------------------------------------------------------------- */

void
wk_plan_tiles(const wk_array *in, uint64_t from, uint64_t to, int processors, wk_tiles *plan)
{
    axes x = {.n = in->ndim, .from = from, .to = to};
    const int64_t item = wk_itemsize[in->dtype];
    int64_t step = item;
    for (int d = in->ndim - 1; d >= 0; d--) {
        x.axis[d] = (wk_tiles_axis){in->shape[d], in->strides[d] * item, step};
        step *= in->shape[d];
    }
    *plan = (wk_tiles){.unit = (int)item, .group = 1, .rows = 1, .columns = 1, .tiles = 1};
    if (x.n == 0 || (x.n == 1 && x.axis[0].in == item)) {
        plan->way = WK_TILES_COPY;
        plan->columns = plan->tile_columns = step / item;
        return;
    }
    if (plan_few(&x, processors, plan)) return;
    axes trial = x;
    wk_tiles grouped = *plan;
    group_units(&trial, &grouped);
    if (fastest_in(&trial) == trial.n - 1)
        plan_runs(&x, processors, plan);
    else
        plan_turn(&x, processors, plan);
}
