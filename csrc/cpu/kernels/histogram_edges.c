/* histogram_edges.c -- bins by any edges: a guide, then a few steps of halving, no branch.
 *
 * The range is cut into four cells a bin or more. For each cell the guide knows how many edges lie
 * in those before it: those are <= all that is in the cell, for the cell of x never falls as x
 * grows, however its arithmetic rounds. What is left are the edges within the cell, the same few
 * steps for each x. Cells are of equal width, or of equal bits of a double, which is nearly that of
 * its logarithm: whichever leaves fewer edges in the fullest cell.
 * Source  the guide table of H.-C. Chen and Y. Asau, "On generating random variates from an
 *         empirical distribution" (1974). */
#include "histogram.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEWEST = 512,        /* elements: fewer do not pay for a guide                            */
    SPARE = 4,           /* cells a bin, at least: most have one edge or none                 */
    MOST_CELLS = 1 << 22 /* 16 MiB: a larger guide is itself what is waited for             */
};

/* A double's bits in the order of its values. */
static inline uint64_t
key_of(double x)
{
    const uint64_t b = wk_bits_f64(x + 0.0); /* no -0.0 */
    return b ^ ((uint64_t)((int64_t)b >> 63) | 0x8000000000000000u);
}

static inline int64_t
cell_by_width(const wk_guide *g, double x)
{
    const double f = (x - g->first) * g->scale, top = (double)(g->cells - 1);
    return (int64_t)(int32_t)(f < top ? f : top);
}

static inline int64_t
cell_by_bits(const wk_guide *g, double x)
{
    return (int64_t)((key_of(x) - g->key) >> g->shift);
}

#define E double
#define EDGES(name) name##_f64
#include "histogram_edges_body.h"
#define E int64_t
#define EDGES(name) name##_i64
#include "histogram_edges_body.h"
#define E uint64_t
#define EDGES(name) name##_u64
#include "histogram_edges_body.h"

/* The i-th edge, as cells see it. */
static double
edge(const wk_binner *b, int64_t i)
{
    return b->edges_dtype == WK_I64   ? (double)((const int64_t *)b->edges)[i]
           : b->edges_dtype == WK_U64 ? (double)((const uint64_t *)b->edges)[i]
                                      : ((const double *)b->edges)[i];
}

static int64_t
cell_of(const wk_guide *g, double x)
{
    return g->by_bits ? cell_by_bits(g, x) : cell_by_width(g, x);
}

/* How many edges the fullest cell has. */
static int64_t
fullest(const wk_binner *b, const wk_guide *g)
{
    int64_t most = 0, some = 0, last = -1;
    for (int64_t i = 0; i <= b->bins; i++) {
        const int64_t cell = cell_of(g, edge(b, i));
        some = cell == last ? some + 1 : 1;
        last = cell;
        most = some > most ? some : most;
    }
    return most;
}

static int64_t
choose_cells(wk_binner *b, wk_guide *g)
{
    const double first = edge(b, 0), last = edge(b, b->bins);
    int64_t most[2] = {INT64_MAX, INT64_MAX};
    g->first = first;
    g->scale = (double)g->cells / (last - first);
    if (g->scale > 0 && g->scale < INFINITY) most[0] = fullest(b, g);
    g->key = key_of(first);
    g->by_bits = 1;
    if (most[0] > 2) {
        while ((key_of(last) - g->key) >> g->shift >= (uint64_t)g->cells) g->shift++;
        most[1] = fullest(b, g);
    }
    g->by_bits = most[1] < most[0];
    return g->by_bits ? most[1] : most[0];
}

/* Edges that do not ascend, which the callers refuse, may lie in any cell. */
static void
fill_guide(const wk_binner *b, wk_guide *g)
{
    int64_t cell = 0;
    for (int64_t i = 0; i <= b->bins; i++)
        for (const int64_t own = cell_of(g, edge(b, i)); cell <= own && cell < g->cells; cell++)
            g->start[cell] = (int32_t)i;
    for (; cell < g->cells; cell++) g->start[cell] = (int32_t)b->bins + 1;
}

/* One element's search reads 2^steps - 1 edges; behind the last are the largest of all, or NaN. */
static wk_status
copy_edges(wk_binner *b, wk_call *call)
{
    wk_guide *g = &b->guide;
    const int64_t all = b->bins + 1, more = (int64_t)1 << g->steps;
    g->edges = malloc((size_t)((all + more) * 8));
    g->start = malloc((size_t)g->cells * sizeof *g->start);
    if (g->edges == NULL || g->start == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate a guide to %lld edges",
                       (long long)all);
    memcpy(g->edges, b->edges, (size_t)all * 8);
    for (int64_t i = all; i < all + more; i++) {
        if (b->edges_dtype == WK_F64)
            ((double *)g->edges)[i] = NAN;
        else
            ((uint64_t *)g->edges)[i] = b->edges_dtype == WK_I64 ? INT64_MAX : UINT64_MAX;
    }
    fill_guide(b, g);
    return WK_OK;
}

wk_status
WK_ISA_NAME(wk_plan_edges)(wk_binner *b, wk_call *call, int64_t n)
{
    wk_guide *g = &b->guide;
    if (n < FEWEST || n < SPARE * b->bins || b->bins < 4 || b->bins > MOST_CELLS) return WK_OK;
    const double span = edge(b, b->bins) - edge(b, 0);
    if (!(span > 0)) return WK_OK; /* all of them are one */
    for (g->cells = 64; g->cells < SPARE * b->bins && g->cells < MOST_CELLS;) g->cells *= 2;
    const int64_t most = choose_cells(b, g);
    while ((int64_t)1 << g->steps <= most) g->steps++;
    return copy_edges(b, call);
}
