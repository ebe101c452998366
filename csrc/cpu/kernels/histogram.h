/* histogram.h -- the bin of each element of a block, by any kind of bins; see histogram_bins.c. */
#ifndef WARPKIT_HISTOGRAM_H
#define WARPKIT_HISTOGRAM_H

#include "cpu/isa.h"
#include "num/bins.h"

enum {
    WK_BIN_BLOCK = 512
}; /* elements at once: with their bins, 8 KiB of a first-level cache */

struct wk_binner;
typedef void wk_bins_fn(const struct wk_binner *b, const void *x, int64_t n, int64_t *bin);

/* Cells that tell where among the edges to search. */
typedef struct wk_guide {
    int64_t cells; /* 0: there is none */
    int by_bits;   /* cells are of equal bits, else of equal width */
    int shift;     /* BY_BITS: bits within a cell */
    uint64_t key;  /* BY_BITS: of the first edge */
    double first, scale;
    int steps;      /* of halving within a cell */
    int32_t *start; /* edges in the cells before: all <= what is in this one */
    void *edges;    /* a copy with room behind for what a search reads there */
} wk_guide;

typedef struct wk_binner {
    const wk_histogram_args *args;
    wk_dtype dtype, edges_dtype;
    int64_t bins;
    const void *edges;
    wk_bins_fn *find;
    double low, high;    /* UNIFORM: what is counted, of floats */
    double scale, guard; /* UNIFORM: the quick guess; guard -1: divide as NumPy does */
    wk_guide guide;      /* EDGES */
    int64_t *table;      /* the bin of each pattern of 8 or 16 bits; NULL: there is none */
} wk_binner;

/* For n elements in all. */
wk_status WK_ISA_NAME(wk_binner_start)(wk_binner *b, wk_call *call, int64_t n);
void WK_ISA_NAME(wk_binner_end)(wk_binner *b);

/* bin[i] of x[i], i < n <= WK_BIN_BLOCK; `bins`: in none. Under wk_fp_begin. */
static inline void
wk_bins_of(const wk_binner *b, const void *x, int64_t n, int64_t *bin)
{
    b->find(b, x, n, bin);
}

/* By kind. */
void WK_ISA_NAME(wk_plan_uniform)(wk_binner *b);
void WK_ISA_NAME(wk_uniform_bins)(const wk_binner *b, const double *x, int64_t n, int64_t *bin);
wk_status WK_ISA_NAME(wk_plan_edges)(wk_binner *b, wk_call *call, int64_t n);
wk_bins_fn WK_ISA_NAME(wk_edges_bins_f64), WK_ISA_NAME(wk_edges_bins_i64),
    WK_ISA_NAME(wk_edges_bins_u64);

/* How elements are shared out to threads that have tables of their own. */
typedef struct wk_shares {
    int64_t threads, grain;
    int by_run; /* fewer tables than threads: as many runs as tables, each with its own */
} wk_shares;

/* `grain` elements at once or, by fewer threads, one run each. A table is worth `least` elements; `bytes`:
 * of a thread's, and at most of all. */
static inline wk_shares
wk_share_out(int64_t threads, int64_t n, int64_t grain, int64_t least, int64_t bytes,
             int64_t most_bytes)
{
    wk_shares s = {threads, grain, 0};
    if (least < grain) least = grain;
    if (s.threads > n / least) s.threads = n / least;
    if (s.threads * bytes > most_bytes) s.threads = most_bytes / bytes;
    if (s.threads < 1) s.threads = 1;
    if (s.threads < threads || threads == 1) s.grain = (n + s.threads - 1) / s.threads;
    if (s.grain < grain) s.grain = grain;
    s.by_run = s.grain > grain;
    return s;
}

/* Whose table a run of elements takes. */
static inline int64_t
wk_table_of(const wk_shares *s, int64_t begin, int thread)
{
    return s->by_run ? begin / s->grain : thread;
}

/* With weights: weights.c; their extremes: weights_extremes.c. */
wk_launch WK_ISA_NAME(wk_histogram_weighted), WK_ISA_NAME(wk_histogram_extremes);

#endif
