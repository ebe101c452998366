/* reduce_grid.c -- the grid of a reduction: a thread, a warp, a block, or several blocks for an output.
 * In the core, so that it can be printed, and in every plug-in. */
#include "reduce_grid.h"

#include "pieces.h"
#include "plan.h"
#include "reduce.h"

#include <stdlib.h>

enum {
    WARP = 32,
    QUARTER = 8, /* threads                                                            */
    WARPS = WK_BLOCK / WARP,
    VECTOR = 16,       /* bytes                                                              */
    ROW = 1088,        /* bytes of a short row, at most                                      */
    ROW_OF_LANE = 272, /* of one that a thread has alone: 8 KiB a warp in shared memory      */
    ROWS_OF_LANE = 8,  /* very short ones that a thread takes one after the other            */
    WARP_TILES = 128,  /* of a line that a warp may take alone, where a block would too      */
    FEW_TILES = 4,     /* of one that a quarter of a warp may have                           */
    BLOCK_TILES = 32,  /* of a line that a block takes alone, of elements of 4 bytes and more */
    FEW_ELEMENTS = 32, /* scattered ones, of an output that one thread has                   */
    PACKED = 16 << 10, /* bytes of a multiprocessor, at least, that are packed first          */
    MOVED = 1000,      /* elements of one, at least, which are not read where they lie       */
    LONG_RUN = 64,     /* bytes that lie side by side at 16, and are read where they are      */
    SHORT_ROW = 256,   /* of a row that does not follow the one before, and is packed         */
    LONG_LINE = 16384, /* elements of a line, which are read where they are                   */
    ALONE = 512,       /* outputs of a multiprocessor, where a thread has more of them       */
    FEW_ROWS = 16,     /* of a column that one thread has                                    */
    WHOLE_BLOCKS = 4,  /* of a multiprocessor, where threads have whole columns              */
    NARROW = 512,      /* bytes of a row, or of some that are read as one                    */
    BETWEEN = 4,       /* columns that are folded for each that is asked for, at most        */
    LINE = 128,        /* bytes that the L1 looks up at once, ...                            */
    SECTOR = 32,       /* ... and that it brings                                             */
    SIDE = 32,         /* threads side by side, at least: 256 bytes of each row              */
    PART_ROWS = 16,    /* of a thread, at least, where columns have parts, ...               */
    MORE_ROWS = 64,    /* ... and where it shall have more                                   */
    JOINED = 4,        /* records that a thread joins one after the other                    */
    EACH = 4,          /* groups of a place on the device, at least, if they are to be larger */
    FULL = 85,         /* percent of a multiprocessor's warps, where all are there at once   */
    EVEN = 90          /* percent of the places on the device that blocks should fill        */
};

/* What ends take, in bytes that a block reads meanwhile where all read that there is room for. Ends are all at once, as
 * blocks begin together. */
enum {
    LINE_END = 40 << 10,   /* a line's, which a block has                  */
    WARP_END = 30 << 10,   /* a warp's, which has a line                   */
    SHARED_END = 90 << 10, /* a block's of columns that threads share, ... */
    PARTS_END = 90 << 10,  /* ... to leave parts, where there are some, ... */
    PART_END = 4 << 10,    /* ... and to join one                          */
    WHOLE_END = 20 << 10   /* a block's of whole columns                   */
};
/* How many times as long a block takes that has the device alone, as a block of all reads its bytes: no faster. */
#define WARP_ALONE 6.0 /* a warp, beside a block that has a line */
#define WHOLE_ALONE 1.2

/* NaN in a part of a complex number leaves out the other one, too. */
static int
pairs(const wk_reduce_args *r)
{
    return r->planes == 2 && r->skip_nan;
}

/* Some elements do not count, which cannot be told by themselves. */
static int
is_masked(const wk_call *call)
{
    return call->mask.ndim >= 0 || pairs(&call->args.reduce);
}

/* Neighbouring outputs lie side by side, and an output's elements do not. */
static int
reads_columns(const wk_call *call)
{
    const wk_array *a = &call->in;
    const wk_reduce_args *r = &call->args.reduce;
    const int last = r->kept - 1;
    if (r->n < 1 || r->n >= INT32_MAX - (1 << 16) || is_masked(call)) return 0;
    if (last < 0 || a->strides[last] != 1 || a->shape[last] < 2 || a->ndim - r->kept > 1)
        return 0;
    return a->ndim == last + 1 || a->strides[a->ndim - 1] != 1;
}

/* Can a thread read so many columns of each row at once? */
static int
reads_at_once(const wk_call *call, int columns)
{
    const wk_array *a = &call->in;
    const int last = call->args.reduce.kept - 1, item = wk_itemsize[a->dtype];
    if (((uintptr_t)a->data + (uintptr_t)a->first) % (uintptr_t)(columns * item)) return 0;
    if (a->shape[last] % columns) return 0;
    for (int d = 0; d < a->ndim; d++)
        if (d != last && a->strides[d] % columns) return 0;
    return 1;
}

/* Results of a thread that lie side by side are stored one by one: are they so small, or so few, that
 * each store of a warp fills half of what it touches? H100, sums of 3 x n along axis 0, side by side and
 * apart, share of a copy: float32 .58 .84, complex64 .57 .83, uint8 .34 .63; float64 .91 .88, float16 .46 .39. */
static int
stores_densely(const wk_call *call, int columns)
{
    for (int i = 0; i < call->outs; i++) {
        const wk_dtype dtype = call->out[i].dtype;
        const int64_t item = wk_itemsize[dtype], bytes = columns * item;
        if (bytes > VECTOR || (bytes == VECTOR && item >> wk_is_complex(dtype) < 8)) return 0;
    }
    return 1;
}

/* Parts of each group, so that few places on the device are free until all ends. */
static int64_t
even_parts(int64_t groups, int64_t places, int64_t limit)
{
    const int64_t fill = wk_most(1, places / groups);
    int64_t best = 1, best_share = 0;
    if (groups >= 4 * places) return 1;
    for (int64_t p = wk_least(fill, limit); p >= 1 && p <= limit && p <= fill + 8; p++) {
        const int64_t share = 100 * groups * p / (wk_blocks(groups * p, places) * places);
        if (share > best_share) {
            best = p;
            best_share = share;
        }
        if (share >= EVEN) break;
    }
    return best;
}

/* How many times `side` elements are read as one row: about as many as NARROW, so that each row of the
 * block's begins where a line does, if few threads go without. H100, n x 3 along axis 0, share of a copy:
 * float32 sums .79 .83, int64 maxima .87 .90. */
static int64_t
rows_side_by_side(int64_t side, int columns, int item)
{
    const int64_t most = wk_least(NARROW / item, (int64_t)WK_BLOCK * columns) / side;
    for (int64_t k = 0; k < 2 * most; k++) {
        const int64_t times = k < most ? most - k : 3 * most - k,
                      width = times * side / columns;
        if (WK_BLOCK / width * width * 16 >= 15 * WK_BLOCK && times * side * item % LINE == 0 &&
            2 * times > most)
            return times;
    }
    return wk_most(1, most);
}

/* How long so many blocks take, of which there is room for `at_once`, in bytes that a block reads meanwhile of as many as
 * there are `places`. Those of the last round read no faster than each can: `alone` times its own. */
static double
time_of(int64_t blocks, int64_t at_once, int64_t places, double bytes, double alone,
        int64_t end)
{
    const int64_t rounds = wk_blocks(blocks, at_once), last = blocks - (rounds - 1) * at_once;
    const double each = bytes / (double)places, together = each * (double)last;
    return each * (double)(blocks - last) +
           (together > bytes * alone ? together : bytes * alone) + (double)(rounds * end);
}

/* Threads side by side and below each other, and parts: what is done soonest. Threads of a block may have columns of several
 * planes; of planes narrower than SIDE they have one's, too, whose rows are then read as they lie. H200, 256 MiB, 222 shapes
 * of 70 to 10,000 rows, of two and three axes, of sums, norms, variances, maxima and argmax of all sizes, each at 32, 64,
 * 128 and 256 threads: this finds the fastest, but for .01 % in the mean; SIDE to 2 SIDE threads of one plane were 9 %
 * slower, up to 60 %. So many that all groups are as wide: of 832 of 33 to 1,500 columns, 32 and 256 MiB, 2 % less in the
 * mean, at best half. Parts of 64, 32 or 16 rows of a thread, not 64 alone, and ends that fit small matrices too: of 568 of
 * 64 KiB to 23 MiB 4 % slower than the fastest of all these in the mean, 12 before; of 458 of 23 to 256 MiB 2 and 7. */
static double
place_columns(const wk_call *call, int64_t places, wk_grid *g)
{
    const wk_reduce_args *r = &call->args.reduce;
    const int64_t rows = r->n, all = wk_blocks(r->outputs, g->columns),
                  plane = wk_blocks(call->in.shape[r->kept - 1], g->columns),
                  bytes = (int64_t)g->columns * wk_itemsize[call->in.dtype],
                  sides[] = {WK_BLOCK,
                             WK_BLOCK / 2,
                             2 * SIDE,
                             SIDE,
                             wk_blocks(all, wk_blocks(all, 2 * SIDE)),
                             wk_blocks(all, wk_blocks(all, SIDE)),
                             wk_least(SIDE, plane)};
    double least = 0;
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        const int64_t width = wk_least(sides[k], all),
                      height = wk_least(WK_BLOCK / width, wk_blocks(rows, FEW_ROWS)),
                      groups = wk_blocks(all, width);
        for (int64_t each = MORE_ROWS; each >= PART_ROWS; each /= 2) {
            const int64_t parts =
                              even_parts(groups, places, wk_most(1, rows / (height * each))),
                          end = SHARED_END + (parts > 1 ? PARTS_END + PART_END * parts : 0);
            const double read = (double)(rows * WK_BLOCK * bytes) / (double)(height * parts),
                         time = time_of(groups * parts, places, places, read, 1, end);
            if (least > 0 && time >= least) continue;
            least = time;
            g->width = (int)width;
            g->height = (int)height;
            g->groups = groups;
            g->parts = parts;
        }
    }
    return least;
}

/* Parts whose records are joined first, where a thread would join many one after the other, at 0.8 us each;
 * 1: none are. H100, n x 16 and n x 64 int64 maxima along axis 0: .86 .89, .72 .87. */
static int64_t
joined_parts(int64_t parts, int64_t columns)
{
    const int64_t side_by_side = wk_most(1, WK_BLOCK / columns);
    int64_t join = side_by_side;
    if (parts <= JOINED * side_by_side) return 1;
    while (join * join < parts) join += side_by_side;
    return join;
}

/* A narrow matrix, all of which lies side by side: as many of its rows as one as fill the sectors. */
static void
repeat_rows(const wk_call *call, int columns, wk_grid *g)
{
    const wk_array *a = &call->in;
    const wk_reduce_args *r = &call->args.reduce;
    const int item = wk_itemsize[a->dtype];
    if (r->kept != 1 || a->ndim != 2 || a->strides[1] != r->outputs ||
        r->outputs > NARROW / item)
        return;
    if (((uintptr_t)a->data + (uintptr_t)a->first) % (uintptr_t)(columns * item)) return;
    int64_t side = r->outputs * columns; /* a multiple of what a thread reads */
    if (side / 2 % columns == 0 && side / 2 % r->outputs == 0) side /= 2;
    if (side / 2 % columns == 0 && side / 2 % r->outputs == 0) side /= 2;
    if (side > (int64_t)WK_BLOCK * columns) return;
    side *= rows_side_by_side(side, columns, item);
    if (side / r->outputs < 2 || r->n < 16 * (side / r->outputs)) return;
    g->repeat = (int)(side / r->outputs);
    g->width = (int)(side / columns);
    g->aligned = 1;
}

/* How long whole columns take. 16 bytes of a row that begin anywhere are read half as fast. */
static double
time_of_whole(const wk_call *call, int64_t processors, int64_t places, const wk_accumulator *of)
{
    const wk_reduce_args *r = &call->args.reduce;
    const int columns = of->quick ? of->quick : of->whole;
    const double bytes = (double)(r->n * WK_BLOCK * columns * wk_itemsize[call->in.dtype]) *
                         of->whole_percent / 100,
                 alone =
                     of->quick && !reads_at_once(call, columns) ? 2 * WHOLE_ALONE : WHOLE_ALONE;
    return time_of(wk_blocks(r->outputs, (int64_t)WK_BLOCK * columns),
                   WHOLE_BLOCKS * processors, places, bytes, alone, WHOLE_END);
}

static void
plan_whole_columns(const wk_call *call, int64_t processors, int columns, wk_grid *g)
{
    g->kind = WK_BY_WHOLE_COLUMNS;
    g->columns = columns;
    g->width = WK_BLOCK;
    g->height = 1;
    g->parts = 1;
    g->groups = wk_blocks(call->args.reduce.outputs, WK_BLOCK * columns);
    g->blocks = wk_most(processors * 16, wk_blocks(g->groups, WK_ITEMS));
}

/* Of more than FEW_ROWS rows, which threads share. 0: whole ones are faster. H200, 256 MiB, 19 kinds of results of 18
 * shapes of 33 to 3,000 rows, each both ways: 1.0 % slower in the mean than the faster way, and by the number of outputs
 * alone 4.3 %. */
static int
plan_shared_columns(const wk_call *call, int64_t processors, const wk_accumulator *of,
                    wk_grid *g)
{
    const wk_reduce_args *r = &call->args.reduce;
    const int64_t places = of->column_blocks * processors;
    g->kind = WK_BY_COLUMNS;
    g->columns = of->shared;
    g->aligned = reads_at_once(call, g->columns);
    repeat_rows(call, g->columns, g);
    if (g->repeat > 1) {
        const int64_t rows = wk_blocks(r->n, g->repeat);
        g->height = (int)wk_least(WK_BLOCK / g->width, wk_blocks(rows, FEW_ROWS));
        g->parts = even_parts(1, places, wk_most(1, rows / ((int64_t)g->height * PART_ROWS)));
    } else if (place_columns(call, places, g) >= time_of_whole(call, processors, places, of)) {
        return 0;
    }
    g->staged =
        of->stages && (g->aligned || (g->columns == 1 && wk_itemsize[call->in.dtype] >= 4));
    g->join = joined_parts(g->parts, wk_least(r->outputs, (int64_t)g->width * g->columns));
    g->blocks = wk_most(places * 16, wk_blocks(g->groups, 1 << 20));
    return 1;
}

static void
plan_columns(const wk_call *call, int64_t processors, const wk_accumulator *of, wk_grid *g)
{
    const int64_t n = call->args.reduce.n;
    const int columns = n <= WK_FEW_ROWS ? of->few : of->whole;
    if (n > FEW_ROWS && plan_shared_columns(call, processors, of, g)) return;
    g->aligned = reads_at_once(call, columns);
    if (n <= WK_FEW_ROWS && columns > 1) g->aligned &= stores_densely(call, columns);
    plan_whole_columns(call, processors, columns, g);
}

/* Few elements of each output, wherever they lie: as columns. H100, 256 MiB, by rows and so, n x 2 along axis 1:
 * float16 sums 641 us, 379, norms 869, 531; float32 216, 170, 380, 306; float64 154, 148, 247, 199; int8 962, 660,
 * 1518, 861; means of int64 173, 145. */
static int
plan_few(const wk_call *call, int64_t processors, int columns, wk_grid *g)
{
    const wk_reduce_args *r = &call->args.reduce;
    if (r->n < 1 || r->n > WK_FEW_ROWS || r->outputs < WARP || call->in.ndim - r->kept > 1)
        return 0;
    if (call->part.mode != WK_WHOLE) return 0;
    plan_whole_columns(call, processors, columns, g);
    return 1;
}

/* Lanes of a row, or rows of a lane: of few rows no lane has several, and several lanes have one. H200, 1,250 matrices of 32
 * KiB to 11 MiB, rows of 8 to 1,088 bytes: 18 % slower in the mean than the fastest way without that, 2 % so; 7,172 rows of
 * 17 uint8, variances 11.1 us 3.6, 315 of 104 float16, argmax 7.6 3.7. */
static void
share_rows(int64_t rows, int64_t bytes, int64_t processors, wk_grid *g)
{
    const int64_t blocks = wk_blocks(rows, WK_BLOCK); /* if each lane has one */
    g->width = bytes <= ROW_OF_LANE ? 1 : bytes <= 2 * ROW_OF_LANE ? 2 : 4;
    if (g->width == 1) /* several, of few bytes each */
        g->height = (int)wk_least(ROWS_OF_LANE, wk_most(1, ROW_OF_LANE / 2 / bytes));
    while (g->height > 1 && blocks < 2 * processors * g->height) g->height /= 2;
    if (g->height > 1) return;
    while (g->width < WARP / 2 && 2 * blocks * g->width < processors &&
           bytes >= 2 * g->width * VECTOR)
        g->width *= 2;
}

/* Short rows that follow each other. */
static int
plan_rows(const wk_call *call, int64_t processors, wk_grid *g)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in;
    const int64_t item = wk_itemsize[a->dtype], row = r->n * item;
    if (!wk_reads_one_run(g) || r->kept != 1 || call->part.mode != WK_WHOLE) return 0;
    if (a->strides[0] != r->n || row > ROW || r->outputs < WARP) return 0;
    g->kind = WK_BY_ROWS;
    share_rows(r->outputs, row, processors, g);
    const int64_t rows = WARP / g->width * g->height;
    g->aligned =
        ((uintptr_t)a->data + (uintptr_t)a->first) % VECTOR == 0 && rows * row % VECTOR == 0;
    g->groups = wk_blocks(r->outputs, WARPS * rows);
    g->blocks = wk_most(processors * 16, wk_blocks(g->groups, WK_ITEMS / g->height));
    return 1;
}

/* Tiles of a run. If 16 bytes do not divide it, they are those of all vectors that it may lie in; its ends are of the last
 * one, or, where an element's place or a mask's matters, one of their own. */
static int64_t
tiles_of(const wk_grid *g, int64_t item, int in_order, int64_t bytes)
{
    const int64_t per = VECTOR / item;
    if (g->aligned) return wk_blocks(g->run * item, bytes);
    return in_order || g->masked ? wk_blocks(g->run / per, bytes / VECTOR) + 1
                                 : wk_blocks((g->run + per - 2) / per + 1, bytes / VECTOR);
}

/* Tiles of a line of elements that lie side by side, or of its runs. */
static void
tile_runs(const wk_call *call, int in_order, wk_grid *g)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in;
    const int64_t item = wk_itemsize[a->dtype];
    g->aligned =
        ((uintptr_t)a->data + (uintptr_t)a->first) % VECTOR == 0 && g->run * item % VECTOR == 0;
    for (int d = 0; d < a->ndim - 1; d++) g->aligned &= a->strides[d] * item % VECTOR == 0;
    g->tiles = tiles_of(g, item, in_order, WK_TILE_BYTES);
    if (g->aligned && !in_order && !g->masked && a->ndim - r->kept == 2 &&
        r->n * item / VECTOR < UINT32_MAX - WK_TILE_BYTES) {
        g->reads = WK_READS_RUNS;
        g->tiles = wk_blocks(r->n * item, WK_TILE_BYTES);
    }
}

/* Has a thread an output whose elements lie anywhere, or are masked? Where these are few; or where there are so many
 * outputs, and neighbouring threads read neighbouring elements, or few lines each. */
static int
reads_alone(const wk_call *call, int64_t processors)
{
    const wk_array *a = &call->in;
    const wk_reduce_args *r = &call->args.reduce;
    if (call->part.mode != WK_WHOLE) return 0;
    if (r->n <= FEW_ELEMENTS && r->outputs >= WK_BLOCK) return 1;
    if (!is_masked(call) || r->kept < 1 || a->ndim - r->kept > 1 ||
        r->outputs < ALONE * processors)
        return 0;
    return a->strides[r->kept - 1] == 1 || r->n * wk_itemsize[a->dtype] <= ROW;
}

/* Have a warp's quarters a line each? Of such as have few tiles, where there are more than warps at once: then nothing has to
 * wait to be finished together, and four lines begin at once. H200, 256 MiB, share of a copy with a warp each, of which
 * four wait for each other, and so, rows of 1200, 2048, 4096 bytes: sums of float32 .31 .64, .47 .80, .73 .80, of float16
 * .28 .57, .39 .76, .63 .80; variances of float32 .19 .43, .30 .60, .46 .68; argmax .29 .58, .49 .74, .65 .77; maxima of
 * int32 .36 .83, .71 .87, .93 .93. 20,000 rows, us: float32 of 2048 bytes 28 29, of 8192 54 63, variances 42 28, 71 61;
 * argmax 28 24, 58 59; maxima of int32 of 4096 bytes 30 32. Lines that begin anywhere as well (lines.cuh). 42 shapes of
 * 2,113 to 6,336 lines of 1 to 8 KiB: 1.36 times as fast in the mean; of 50 of fewer lines .89. */
static int
shares_warp(const wk_call *call, int64_t places, const wk_grid *g)
{
    return wk_reads_one_run(g) && g->tiles <= FEW_TILES &&
           call->args.reduce.outputs > WARPS * places;
}

/* Blocks of lines that a warp or its quarters have each; of a warp's several are finished together. Where each block
 * would have few, all are there at once and have as many each, if that fills every multiprocessor alike; else there is
 * one for each group. H200, 256 MiB, share of a copy with one each and so: sums of 4,096 rows of float32 .70 .83, 5,000
 * (not alike) .79 .84, 8,192 .79 .84, 12,288 .76 .83; variances .61 .67, .67 .65, .68 .68, .63 .68; norms of float64 .67
 * .70, .63 .59, .64 .69, of 9,500 .61 .48; argmax of float32 .74 .79, .82 .76, .84 .80, .81 .81. */
static void
share_blocks(int64_t processors, const wk_accumulator *of, wk_grid *g)
{
    const int64_t places = WK_LINE_BLOCKS * processors, each = wk_blocks(g->groups, places),
                  blocks = wk_blocks(g->groups, each),
                  room = wk_blocks(blocks, processors) * processors;
    g->waiting = g->team == WARP ? of->waiting : 0;
    if (g->groups >= EACH * places) {
        g->blocks = of->waiting ? places : processors * 16;
    } else {
        const int even = 100 * blocks >= FULL * room;
        while (g->waiting > 1 && g->waiting >= 2 * (even ? each : 1)) g->waiting /= 2;
        if (g->waiting == 1) g->waiting = 0;
        g->blocks = even ? blocks : g->groups;
    }
    g->blocks = wk_most(g->blocks, wk_blocks(g->groups, WK_ITEMS));
}

/* Does a block take a whole line sooner than parts of it are joined? H200, us of one line of 32, 48, 64 KiB in parts
 * and so: sums of float32 6.9 5.8, 6.9 6.7, 6.9 6.5, of float16 7.2 6.5, 7.2 7.4, 7.2 7.6, of float64 8.0 7.1, 8.1 8.0,
 * 8.2 7.9; maxima of float32 6.3 4.4, 6.3 4.9, 6.3 4.9; 40 lines of 64 KiB of float64 9.8 7.1. What is gathered waits
 * longer for each tile: x[::3] of 64 KiB 6.9 7.3, masked 10.6 12.8. */
static int
has_block_alone(const wk_grid *g, int64_t tiles, int64_t item)
{
    return wk_reads_one_run(g) && tiles <= (item < 4 ? BLOCK_TILES / 2 : BLOCK_TILES);
}

/* Do warps that have a line each take so many lines sooner than blocks? H200, 538 shapes of 300 to 10,000 lines of 9 to
 * 256 KiB, nine kinds of results, each both ways: this is .4 % slower in the mean than the faster way; by the number of
 * lines alone it was 3.7 %, up to twice as slow. Of 280 of 8 to 263 lines of 1 to 8 KiB, which warps had, blocks have those
 * of more than a tile: 8 % faster. */
static int
warps_are_faster(int64_t lines, int64_t tiles, int64_t places)
{
    const double bytes = (double)tiles * WK_TILE_BYTES;
    return time_of(lines, places * WARPS, places, bytes, WARP_ALONE, WARP_END) <=
           time_of(lines, places, places, bytes, 1, LINE_END);
}

static void
plan_lines(const wk_call *call, int64_t processors, const wk_accumulator *of, wk_grid *g)
{
    const wk_reduce_args *r = &call->args.reduce;
    const int64_t item = wk_itemsize[call->in.dtype];
    const int64_t batch = item <= 2 ? 32 : 4 * VECTOR / item; /* scattered elements of a lane */
    g->kind = WK_BY_LINES;
    if (g->reads == WK_READS_RUN)
        tile_runs(call, of->in_order, g);
    else
        g->tiles = wk_blocks(r->n, batch * WARP);
    g->tiles = wk_most(g->tiles, 1); /* of no elements too */
    const int64_t all = g->reads == WK_READS_RUN ? g->runs * g->tiles : g->tiles,
                  places = WK_LINE_BLOCKS * processors;
    if (g->reads == WK_READS_ELEMENTS && reads_alone(call, processors))
        g->team = 1;
    else if (call->part.mode == WK_WHOLE && all <= WARP_TILES &&
             warps_are_faster(r->outputs, all, places))
        g->team = WARP;
    if (g->team == 1) {
        g->tiles = wk_most(1, wk_blocks(r->n, batch));
        g->groups = wk_blocks(r->outputs, WK_BLOCK);
        g->blocks = wk_most(processors * 16, wk_blocks(g->groups, WK_ITEMS));
        return;
    }
    if (g->team == WARP && shares_warp(call, places, g)) {
        g->team = QUARTER;
        g->tiles = tiles_of(g, item, of->in_order, WK_TILE_BYTES / WARP * QUARTER);
    }
    if (g->team < WK_BLOCK) {
        g->groups = wk_blocks(r->outputs, WK_BLOCK / g->team);
        share_blocks(processors, of, g);
        return;
    }
    g->groups = r->outputs;
    if (r->outputs < places && !has_block_alone(g, all, item))
        g->parts = wk_most(1, wk_least(places / r->outputs, wk_blocks(all, WARPS)));
    g->blocks = places * 16;
}

static int64_t
bytes_of(const wk_call *call)
{
    return call->args.reduce.n * call->args.reduce.outputs * wk_itemsize[call->in.dtype];
}

/* May results be found another way than where elements lie? */
static int
may_move(const wk_call *call, int processors)
{
    const wk_reduce_args *r = &call->args.reduce;
    if (is_masked(call) || call->part.mode != WK_WHOLE || call->in.ndim == r->kept) return 0;
    for (int d = 0; d < call->in.ndim; d++)
        if (call->in.strides[d] == 0) return 0; /* fewer bytes than it seems */
    return r->n > 2 && r->n * r->outputs >= (int64_t)MOVED * processors;
}

/* Two that lie side by side, as parts of complex numbers do, and nothing beside them does, count as one. */
static void
see_pairs(wk_array *a, int *kept, int64_t *n)
{
    const int last = a->ndim - 1, folds = a->shape[last] == 2 && a->strides[last] == 1,
              at = folds ? last : *kept - 1;
    if (a->ndim < 2 || at < 0 || a->shape[at] != 2 || a->strides[at] != 1) return;
    for (int d = 0; d <= last; d++)
        if (d != at && a->strides[d] % 2) return;
    for (int d = 0, to = 0; d <= last; d++) {
        if (d == at) continue;
        a->shape[to] = a->shape[d];
        a->strides[to++] = a->strides[d] / 2;
    }
    a->ndim--;
    *kept -= !folds;
    if (folds) *n /= 2;
}

int
wk_turns_outputs(const wk_call *call, int processors, wk_turn *turn)
{
    const wk_reduce_args *r = &call->args.reduce;
    wk_array a = call->in;
    int kept = r->kept;
    int64_t n = r->n;
    if (kept < 1 || !may_move(call, processors)) return 0;
    see_pairs(&a, &kept, &n);
    if (kept < r->kept) a = call->in; /* parts of outputs lie side by side as they are */
    if (a.ndim == r->kept) return 0;
    const int other = wk_order_kept(&call->in, r->kept, turn->order);
    const int64_t own = a.strides[turn->order[r->kept - 1]], apart = llabs(own),
                  item = wk_itemsize[a.dtype] << (a.ndim < call->in.ndim);
    turn->step = 1;
    turn->backwards = 0;
    if (apart >= llabs(a.strides[a.ndim - 1])) return 0;
    if (n > WK_FEW_ROWS && apart <= BETWEEN && apart * item <= SECTOR &&
        bytes_of(call) >= (int64_t)4 * PACKED * processors) {
        turn->step = apart;
        turn->backwards = own < 0;
    }
    return other || turn->step > 1 || turn->backwards;
}

void
wk_turn_outputs(wk_call *call, const wk_turn *turn)
{
    wk_array *a = &call->in;
    wk_reduce_args *r = &call->args.reduce;
    const int last = r->kept - 1;
    const int64_t own = a->shape[turn->order[last]], all = (own - 1) * turn->step + 1;
    wk_permute(a, turn->order);
    if (turn->backwards) wk_flip(a, last, 0);
    r->outputs = r->outputs / own * all;
    a->shape[last] = all;
    a->strides[last] /= turn->step;
    wk_fuse_reduced(a, NULL, r);
}

void
wk_see_turned(const wk_call *call, const wk_turn *turn, wk_array *outputs)
{
    const wk_array *a = &call->in;
    const int kept = call->args.reduce.kept, last = turn->order[kept - 1];
    int64_t all = 1;
    outputs->ndim = kept;
    outputs->first = 0;
    for (int i = kept - 1; i >= 0; i--) {
        const int d = turn->order[i];
        const int64_t step = d == last ? turn->step : 1;
        outputs->shape[d] = a->shape[d];
        outputs->strides[d] = all * step;
        all *= (a->shape[d] - 1) * step + 1;
    }
    outputs->bytes = all * wk_itemsize[outputs->dtype];
    if (turn->backwards) wk_flip(outputs, last, 0);
}

/* Elements of several axes, none of which lie side by side in long runs. H200, 465 arrays of three axes, 32 KiB to 8 MiB, the
 * middle one kept, time packed first over time where they lie, by elements: 2^14 .85, 2^16 .84, 2^17 .68, 2^18 .63, 2^20
 * .38, 2^22 .25; below 2^17 it is what the second launch takes to issue. 4 x 28,897 x 16 bytes, any: 88 us, 6.7. */
static int
lies_in_crumbs(const wk_array *a, int64_t item)
{
    const int last = a->ndim - 1;
    const int64_t run = a->shape[last] * item;
    int aligned = run % VECTOR == 0;
    if (a->strides[last] != 1) return 1;
    for (int d = 0; d < last; d++) aligned &= a->strides[d] * item % VECTOR == 0;
    return run < (aligned ? LONG_RUN : WK_TILE_BYTES / 2);
}

int
wk_packs_first(const wk_call *call, int processors)
{
    if (!may_move(call, processors)) return 0;
    wk_array a = call->in;
    int kept = call->args.reduce.kept;
    int64_t n = call->args.reduce.n, nearest = INT64_MAX; /* of outputs */
    see_pairs(&a, &kept, &n);
    const int last = a.ndim - 1;
    const int64_t item = wk_itemsize[a.dtype] << (a.ndim < call->in.ndim);
    for (int d = 0; d < kept; d++) nearest = wk_least(nearest, llabs(a.strides[d]));
    if (last < kept) return 0;
    if (last > kept) return lies_in_crumbs(&a, item);
    if (kept == 0 || bytes_of(call) < (int64_t)PACKED * processors) return 0;
    if (a.strides[last] == 1) /* rows */
        return n * item <= SHORT_ROW && (kept > 1 || a.strides[0] != n);
    if (a.strides[kept - 1] == 1) return 0; /* columns */
    return nearest < llabs(a.strides[last]) || n < LONG_LINE;
}

void
wk_see_packed(wk_call *call, void *block)
{
    wk_reduce_args *r = &call->args.reduce;
    wk_array *a = &call->in;
    a->data = block;
    a->bytes = r->outputs * r->n * wk_itemsize[a->dtype];
    a->first = 0;
    r->kept = r->outputs > 1;
    a->ndim = r->kept + 1;
    a->shape[0] = r->outputs;
    a->shape[r->kept] = a->strides[0] = r->n;
    a->strides[r->kept] = 1;
}

void
wk_plan_grid(const wk_call *call, int processors, const wk_accumulator *of, wk_grid *g)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in;
    const int folded = a->ndim - r->kept;
    g->team = WK_BLOCK;
    g->width = g->height = g->columns = g->repeat = 1;
    g->reads = WK_READS_ELEMENTS;
    g->aligned = g->staged = g->waiting = 0;
    g->masked = is_masked(call);
    g->run = r->n;
    g->runs = g->parts = g->groups = g->tiles = g->join = 1;
    if (reads_columns(call)) {
        plan_columns(call, processors, of, g);
        return;
    }
    if (r->n > 0 && !pairs(r) && (folded == 0 || a->strides[a->ndim - 1] == 1)) {
        const int64_t run = folded ? a->shape[a->ndim - 1] : 1;
        const int alone = g->masked && reads_alone(call, processors);
        if ((folded <= 1 || run * wk_itemsize[a->dtype] >= 4 * VECTOR) && !alone) {
            g->reads = WK_READS_RUN;
            g->run = run;
        }
        g->runs = r->n / g->run;
    }
    if (plan_few(call, processors, of->few, g) || plan_rows(call, processors, g)) return;
    plan_lines(call, processors, of, g);
}
