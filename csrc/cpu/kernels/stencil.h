/* stencil.h -- what the files of the CPU's stencil1d share.
 *
 * They know no complex elements: those are twice as many real ones, their parts, and `inner` counts
 * parts. Complex coefficients stay pairs, one part each for the parts of even and of odd index. */
#ifndef WARPKIT_STENCIL_H
#define WARPKIT_STENCIL_H

#include "cpu/isa.h"
#include "interrupt.h"
#include "warpkit.h"

typedef enum {
    WK_BY_REAL, /* coefficients w: w for all parts                                            */
    WK_TO_PAIR, /* a real element by a complex coefficient: element twice, pair (wr, wi)      */
    WK_BY_PAIR  /* complex by complex: first wr for both, then (-wi, wr) with parts exchanged */
} wk_stencil_kind;

enum { WK_TAP_PARTS = 4 }; /* at most, of one prepared coefficient: wr, wr, -wi, wi */

/* n elements that lie `step` apart to as many sums' floats, or (twice) to twice as many. */
typedef void wk_stencil_load(const void *from, int64_t step, int64_t n, void *to);
/* n sums' floats, NaN being the one, to elements. */
typedef void wk_stencil_store(const void *from, int64_t n, void *to);

/* n results, a vector of them at least, of elements as they lie in memory; taps meet those `step`
 * apart. */
typedef void wk_stencil_fused(const void *from, int64_t step, const void *taps, int64_t count,
                              int64_t n, void *to);

typedef struct wk_stencil {
    const wk_stencil_args *args;
    wk_stencil_kind kind;
    const void *taps; /* of the sums' type: w, or wr and wi, or wr, wr, -wi and wi            */
    wk_stencil_load *load;
    wk_stencil_store *store;
    wk_stencil_fused *fused; /* NULL: loaded, summed, then stored                             */
    int twice;       /* load makes two parts of an element                                    */
    int as_in_place; /* elements are what sums are made of: no need to load them first        */
    int as_summed;   /* results are stored as they are summed                                 */
    const char *in;
    char *out;
    int64_t outer, n, outputs, inner;
    int64_t in_item, out_item; /* bytes of an element; of a result's part                   */
    int64_t in_outer, in_n;    /* bytes from one to the next                                */
    int64_t halo;              /* taps - 1                                                  */
    double cval[2];            /* of parts of even and of odd index                          */
    const int64_t *left, *right; /* wk_extend of -before ..., and of n ...; lines only        */
    int64_t group;               /* lines a task takes                                        */
    int64_t rows, row_blocks;    /* outputs along the axis that a task makes at once          */
    int64_t columns;             /* likewise across it, and ...                               */
    int64_t column_blocks, width; /* ... their blocks, and how many there are in all          */
    int64_t ring; /* rows loaded that are kept                                 */
    char *scratch;
    int64_t scratch_each; /* bytes a thread has                                               */
} wk_stencil;

wk_stencil_load *WK_ISA_NAME(wk_stencil_loader)(wk_dtype in, int to_double, int twice);
wk_stencil_store *WK_ISA_NAME(wk_stencil_storer)(int of_double, wk_dtype out);

wk_stencil_fused WK_ISA_NAME(wk_stencil_fused_f32);

/* Are the taps so many that a call which is to stop could not wait for a block's sums? */
static inline int
takes_long(const wk_stencil *j)
{
    return j->halo >= 1 << 14;
}

/* Tasks for wk_parallel, and what they need of scratch, in bytes. lines: taps lie side by side, or
 * a few parts apart. columns: many lines side by side, each row of them is used by several
 * outputs. turned: likewise, but the results are lines. */
typedef void wk_stencil_task(void *arg, int64_t begin, int64_t end, int thread);
wk_stencil_task WK_ISA_NAME(wk_stencil_lines_f32), WK_ISA_NAME(wk_stencil_lines_f64),
    WK_ISA_NAME(wk_stencil_columns_f32), WK_ISA_NAME(wk_stencil_columns_f64),
    WK_ISA_NAME(wk_stencil_turned_f32), WK_ISA_NAME(wk_stencil_turned_f64);

enum {
    /* Outputs that share the rows they read: with two vectors each they and the rows stay within 16
     * registers. 8 for AVX-512's 32: 1.56 ns an output for 1.70 by 33 coefficients, 0.57 for 0.47
     * by 3. */
    WK_STENCIL_ROWS = 4,
    WK_STENCIL_PART = 128,  /* parts of a row summed before they are stored */
    WK_STENCIL_TURNED = 64, /* outputs of a line likewise */
    WK_STENCIL_PAD = 64     /* bytes that may be read and written beyond any end in scratch */
};

#endif
