/* teams.c -- the plan of a reduction: a thread, a part of a warp, a warp, a block, or several blocks
 * for an output. In the core, so that it can be printed, and in every plug-in. */
#include "teams.h"

#include "reduce.h"

enum {
    SHARE = 512, /* bytes of a row for a thread: less, and joining a team takes longer    */
    WARP = 32,   /* a team of more joins through shared memory, and waits for the block   */
    WAVES = 8,   /* rows for each place on the device: fewer end unevenly, one warp a row */
    LEAST_SHARE = 64, /* where there are too few threads otherwise                            */
    SHORT_RUN = 64,   /* bytes: shorter runs are read element by element                      */
    PART_SHARE = 128, /* bytes of one long row for a thread, at least                         */
    PART_ROWS = 32,   /* rows of a column's part, at least                                    */
    MOST_PART =
        1 << 30 /* elements of a part: limbs take so many                               */
};

static int64_t
up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
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

/* Columns that a thread reads by one load, where all rows allow that: 4 bytes of small elements, two
 * floats. */
static int
columns_at_once(const wk_call *call, int family)
{
    const wk_array *a = &call->in;
    const int item = wk_itemsize[a->dtype], kept = call->args.reduce.kept;
    const int sum = family == WK_FAMILY_SUM, columns = item <= 2 ? 4 / item : 2;
    if (!sum && (item > 2 || (family != WK_FAMILY_COUNT && family != WK_FAMILY_WRAP &&
                              family != WK_FAMILY_EXTREME)))
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

static void
plan_columns(const wk_call *call, int family, int64_t wanted, wk_teams *p)
{
    const wk_reduce_args *r = &call->args.reduce;
    p->columns = columns_at_once(call, family);
    const int64_t inner = call->in.shape[r->kept - 1] / p->columns;
    p->width = inner < WK_BLOCK ? (int)inner : r->n < 64 ? WK_BLOCK : 64;
    p->team = power_below(r->n / 8, WK_BLOCK / p->width);
    const int64_t threads = r->outputs / p->columns * p->team;
    const int64_t most = up(r->n, (int64_t)PART_ROWS * p->team);
    p->parts = up(wanted, threads);
    if (p->parts > most) p->parts = most;
}

static void
plan_rows(const wk_call *call, int64_t wanted, int64_t full, wk_teams *p)
{
    const wk_reduce_args *r = &call->args.reduce;
    const int64_t item = wk_itemsize[call->in.dtype], row = p->run * item;
    p->team = power_below(row / SHARE, WARP);
    while (p->team < WK_BLOCK && r->outputs * p->team < WAVES * wanted &&
           row / (2 * p->team) >= SHARE)
        p->team *= 2;
    while (p->team < WK_BLOCK && r->outputs * p->team * p->runs < wanted &&
           row / (2 * p->team) >= LEAST_SHARE)
        p->team *= 2;
    p->width = WK_BLOCK / p->team;
    const int64_t blocks = up(r->outputs, p->width);
    p->parts = blocks < full / 2 ? full / blocks : 1; /* all run at once, and end together */
    const int64_t most = p->runs > 1 ? p->runs : up(row, (int64_t)p->team * PART_SHARE);
    if (p->parts > most) p->parts = most;
}

void
wk_plan_teams(const wk_call *call, int processors, wk_teams *p)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in;
    const int folded = a->ndim - r->kept, masked = call->where.ndim >= 0;
    const int family = wk_family_of(r->fold, call->outs, a->dtype);
    const int floats = a->dtype >= WK_F16 || family == WK_FAMILY_SUMMARY;
    const int resident = floats ? 2 : 4; /* blocks, by their registers */
    const int64_t wanted = (int64_t)processors * resident * WK_BLOCK;
    p->team = p->width = 1;
    p->columns = p->vector = 0;
    p->run = r->n;
    p->runs = 1;
    p->parts = 1;
    if (r->n > 0 && !masked && (folded == 0 || a->strides[a->ndim - 1] == 1)) {
        const int64_t run = folded ? a->shape[a->ndim - 1] : 1;
        p->vector = folded <= 1 || run * wk_itemsize[a->dtype] >= SHORT_RUN;
        if (p->vector) p->run = run;
        p->runs = r->n / p->run;
    }
    if (r->n > 0 && reads_columns(call))
        plan_columns(call, family, wanted, p);
    else
        plan_rows(call, wanted, (int64_t)processors * resident, p);
    const int64_t units = p->runs > 1 ? p->runs : r->n;
    if (p->parts < 1) p->parts = 1;
    const int64_t each = p->runs > 1 ? p->run : 1;
    if (up(units, p->parts) * each > MOST_PART) p->parts = up(units * each, MOST_PART / 2);
    p->part = up(units, p->parts);
    if (p->vector && p->runs == 1) p->part = up(p->part, 4096) * 4096; /* parts start aligned */
    if (p->part < 1) p->part = 1;
    p->parts = units > 0 ? up(units, p->part) : 1;
}
