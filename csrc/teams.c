/* teams.c -- the plan of a reduction: a thread, a part of a warp, a warp, a block, or several blocks
 * for an output. In the core, so that it can be printed, and in every plug-in. */
#include "teams.h"

#include "reduce.h"

/* What chose a value is an H100's time. */
enum {
    SHARE = 256,     /* bytes of a row for a thread: less, and joining a team takes longer    */
    LONG_ROW = 1024, /* bytes; of shorter ones half of that is best                           */
    WARP = 32,       /* a team of more joins through shared memory, and waits for the block   */
    WAVES = 1,       /* rows for each place on the device: fewer end unevenly, one warp a row */
    ROUNDS = 2,      /* blocks for each place: fewer must fill it evenly                      */
    EVEN = 95,       /* percent of the places on the device that blocks should fill           */
    LEAST_SHARE = 64,      /* where there are too few threads otherwise                      */
    ONE_WARP = 4096,       /* bytes: less takes a block longer than a warp                   */
    ONE_BLOCK = 128 << 10, /* bytes: less takes several blocks longer; 64 KiB 10 and 7 us    */
    SHORT_RUN = 64,        /* bytes: shorter runs are read element by element                */
    PART_SHARE = 128,      /* bytes of one long row for a thread, at least                   */
    PART_ROWS = 32,        /* rows of a column's part, at least                              */
    FEW_ROWS = 64,         /* of columns: a thread has all of them                           */
    NARROW = 512,          /* bytes of a row that a block reads where columns are long and few:
                               sums of 16384 x 16384 float32 at 0.98 of the copy's rate, of
                               float16 at 0.91; by 1024 bytes 0.96, 0.88; by 2048 0.90, 0.87  */
    WIDE = 2048,           /* where they are many: 512 x 1024 x 512 along axis 1, float32 0.98,
                               float16 0.89; by 1024 bytes 0.96, 0.89; by 512 0.88, 0.84      */
    FEW_DRAWS = 4,         /* on average: of fewer, equal shares are as good                 */
    FAIR_DRAWS = WK_DRAWS / 4, /* on average, at most                                         */
    MOST_PART = 1 << 28        /* elements of a part: limbs take four times as many           */
};

static int64_t
up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Of threads. */
static int
fit(int64_t a, int64_t b)
{
    const int64_t most = a < b ? a : b;
    return most < WK_BLOCK ? (int)most : WK_BLOCK;
}

static int
power_below(int64_t n, int most)
{
    int p = 1;
    while (2 * p <= most && 2 * (int64_t)p <= n) p *= 2;
    return p;
}

/* Neighbouring outputs lie side by side, and an output's elements do not. */
static int
reads_columns(const wk_call *call)
{
    const wk_array *a = &call->in;
    const int last = call->args.reduce.kept - 1;
    if (last < 0 || a->strides[last] != 1 || a->shape[last] < 2) return 0;
    return a->ndim == last + 1 || a->strides[a->ndim - 1] != 1;
}

/* Columns that a thread reads by one load, where all rows allow that: 4 bytes of small elements,
 * two floats to be added. */
static int
columns_at_once(const wk_call *call, int family)
{
    const wk_array *a = &call->in;
    const int item = wk_itemsize[a->dtype], kept = call->args.reduce.kept;
    const int two = a->dtype == WK_F32 && family == WK_FAMILY_SUM;
    const int columns = item <= 2 ? 4 / item : two ? 2 : 1;
    if (family == WK_FAMILY_PRODUCT) return 1;
    if (family == WK_FAMILY_SUMMARY &&
        (a->dtype < WK_F16 || !wk_only_moments(call->args.reduce.fold, call->outs)))
        return 1;
    if (call->where.ndim >= 0 || a->ndim - kept > 1) return 1;
    if (call->args.reduce.planes == 2 && call->args.reduce.skip_nan) return 1;
    if (call->args.reduce.n >= (int64_t)1 << 31) return 1; /* a mean takes more than a word */
    if (((uintptr_t)a->data + (uintptr_t)a->first) % (uintptr_t)(columns * item)) return 1;
    if (a->shape[kept - 1] % columns) return 1;
    for (int d = 0; d < a->ndim; d++)
        if (d != kept - 1 && a->strides[d] % columns) return 1;
    return columns;
}

/* Blocks that run at once on a multiprocessor, by the registers that their threads need. */
static int
resident_blocks(int family, int columns, int item)
{
    const int sums =
        family == WK_FAMILY_SUM || family == WK_FAMILY_SQUARES || family == WK_FAMILY_SUMMARY;
    return !columns || sums || (family == WK_FAMILY_EXTREME && item == 1) ? 2 : 3;
}

/* Where several blocks fold an output they draw its chunks one by one: multiprocessors are not
 * equally far from the memory, and of equal shares some end after three quarters of the time. The
 * maximum of 1 GiB of int32 took 361 us by equal shares, by chunks of 64 KiB 344 us (H100). Not
 * columns whose rows lie apart: sums of 16384 x 16384 float32 went from 0.98 of the copy's rate to
 * 0.93, of int8 from 0.76 to 0.35; of 2^24 x 16 float32 from 0.94 to 0.98. */
static int64_t
chunk_of(int64_t n, int64_t least, int64_t parts)
{
    const int64_t fair = up(n, parts * FAIR_DRAWS);
    return n < FEW_DRAWS * parts * least ? 0 : up(fair, least) * least;
}

/* Parts of each of so many groups of teams, so that few places on the device are free until all
 * ends: of `full` blocks that run at once. */
static int64_t
even_parts(int64_t groups, int64_t full, int64_t most)
{
    const int64_t least = groups < full ? full / groups : 1;
    int64_t best = 1, best_waves = 1, best_blocks = 0;
    if (groups >= ROUNDS * full) return 1;
    for (int64_t p = least < most ? least : most; p <= most && p <= 4 * least + 4; p++) {
        const int64_t blocks = groups * p, waves = up(blocks, full);
        if (blocks * best_waves > best_blocks * waves) {
            best = p;
            best_waves = waves;
            best_blocks = blocks;
        }
        if (100 * blocks >= EVEN * waves * full) break;
    }
    return best;
}

/* Blocks of `width` threads side by side, and how much of the device they fill, in percent. */
static int64_t
share_columns(const wk_call *call, int width, int64_t full, wk_teams *p)
{
    const wk_reduce_args *r = &call->args.reduce;
    const int64_t inner = call->in.shape[r->kept - 1] / p->columns;
    const int64_t all = r->outputs / p->columns;
    p->width = width;
    p->team = power_below(r->n / 8, WK_BLOCK / width);
    if (width == inner) /* several rows of columns a block */
        p->width *= fit(WK_BLOCK / (width * p->team), all / width);
    const int64_t groups = up(all, p->width);
    p->parts = even_parts(groups, full, up(r->n, (int64_t)PART_ROWS * p->team));
    return 100 * groups * p->parts / (up(groups * p->parts, full) * full);
}

static void
plan_columns(const wk_call *call, int family, int64_t full, wk_teams *p)
{
    const wk_reduce_args *r = &call->args.reduce;
    p->columns = columns_at_once(call, family);
    const int64_t inner = call->in.shape[r->kept - 1] / p->columns;
    const int bytes = p->columns * wk_itemsize[call->in.dtype];
    const int wide = fit(WIDE / bytes, inner), narrow = fit(NARROW / bytes, inner);
    if (r->n < FEW_ROWS || up(r->outputs / p->columns, wide) >= full) {
        share_columns(call, wide, full, p);
        return;
    }
    wk_teams half = *p;
    if (share_columns(call, narrow, full, p) < EVEN && narrow > WARP && narrow < inner &&
        share_columns(call, narrow / 2, full, &half) >= EVEN)
        *p = half;
}

static void
plan_rows(const wk_call *call, int64_t full, wk_teams *p)
{
    const int64_t wanted = full * WK_BLOCK;
    const wk_reduce_args *r = &call->args.reduce;
    const int64_t item = wk_itemsize[call->in.dtype], row = p->run * item;
    p->team = power_below(row / (row < LONG_ROW ? SHARE / 2 : SHARE), WARP);
    while (p->team < WK_BLOCK && r->outputs * p->team < WAVES * wanted &&
           row / (2 * p->team) >= SHARE)
        p->team *= 2;
    int most = WK_BLOCK;
    if (row <= ONE_WARP) most = WARP;
    while (p->team < most && r->outputs * p->team * p->runs < wanted &&
           row / (2 * p->team) >= LEAST_SHARE)
        p->team *= 2;
    p->width = WK_BLOCK / p->team;
    if (p->runs == 1 && r->outputs * row <= ONE_BLOCK) return;
    p->parts = even_parts(up(r->outputs, p->width), full,
                          p->runs > 1 ? p->runs : up(row, (int64_t)p->team * PART_SHARE));
}

void
wk_plan_teams(const wk_call *call, int processors, wk_teams *p)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in;
    const int folded = a->ndim - r->kept, masked = call->where.ndim >= 0;
    const int family = wk_family_of(r->fold, call->outs, a->dtype),
              item = wk_itemsize[a->dtype];
    const int columns = r->n > 0 && reads_columns(call);
    const int64_t full = (int64_t)processors * resident_blocks(family, columns, item);
    p->team = p->width = 1;
    p->columns = p->vector = 0;
    p->run = r->n;
    p->runs = 1;
    p->parts = 1;
    if (r->n > 0 && !masked && (folded == 0 || a->strides[a->ndim - 1] == 1)) {
        const int64_t run = folded ? a->shape[a->ndim - 1] : 1;
        p->vector = folded <= 1 || run * item >= SHORT_RUN;
        if (p->vector) p->run = run;
        p->runs = r->n / p->run;
    }
    if (columns)
        plan_columns(call, family, full, p);
    else
        plan_rows(call, full, p);
    const int64_t units = p->runs > 1 ? p->runs : r->n;
    if (p->parts < 1) p->parts = 1;
    const int64_t each = p->runs > 1 ? p->run : 1;
    if (up(units, p->parts) * each > MOST_PART) p->parts = up(units * each, MOST_PART / 2);
    p->part = up(units, p->parts);
    if (p->vector && p->runs == 1) p->part = up(p->part, 4096) * 4096; /* parts start aligned */
    if (p->part < 1) p->part = 1;
    p->parts = units > 0 ? up(units, p->part) : 1;
    p->chunk = 0;
    if (p->parts == 1 || p->runs > 1 || masked || folded > 1 || call->part.totals ||
        (r->planes == 2 && r->skip_nan))
        return;
    const int64_t last = columns ? a->shape[r->kept - 1] : 1;
    if (!columns && p->team == WK_BLOCK) p->chunk = chunk_of(r->n, WK_DRAW / item, p->parts);
    if (columns && p->width * p->columns >= last && a->strides[a->ndim - 1] == last) {
        const int64_t rows = (int64_t)p->team * WK_DRAW_ROWS; /* whole batches */
        p->chunk =
            chunk_of(r->n, up(WK_DRAW, p->width * p->columns * item * rows) * rows, p->parts);
    }
}
