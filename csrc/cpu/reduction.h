/* reduction.h -- a reduction on the CPU: what is kept of an output, and the loops that keep it.
 *
 * A call is up to a few components (the exact sum, the least element, ...). Each has three
 * loops: over `width` short rows at once, over `width` neighbouring columns at once, both into
 * plain lanes; and one over a run of any kind and length into an accumulator, which always
 * succeeds. The first two may fail (an addition was not exact, there was a NaN): then the
 * elements go the third way. The bits never depend on the way. */
#ifndef WARPKIT_REDUCTION_H
#define WARPKIT_REDUCTION_H

#include "cpu/gather.h"
#include "partial.h"

enum {
    WK_BLOCK = 4096,  /* elements of a run that components see at once: they stay in L1  */
    WK_GATHER = 1024, /* elements that are gathered at once, on the stack                */
    WK_WIDTH = 256,   /* rows whose lanes are kept side by side                          */
    WK_SIDE = 8192,   /* bytes of a row that lanes on the stack are kept for             */
    WK_HELD =
        1 << 22,  /* elements an output's lanes take before an accumulator must have them */
    WK_PARTS = 4, /* words of an exact sum before it needs limbs                     */
    WK_COMPONENT_MAX = 8, /* of one call                                                  */
    WK_ROWS = 8,          /* rows that are folded into lanes at once                         */
    WK_AHEAD = 8,         /* rows asked for ahead; see bench/cpu.py, axis 0                  */
    /* Bytes from which a run's lines are asked for. Maxima of 256 MiB float64, GB/s, 1 and 2 threads: 10.6 20.9
     * without, 14.7 30.3 so; of float32 14.2 26.6, 16.2 31.0. Sums of floats, maxima of integers: no faster. */
    WK_ASKED = 1 << 11
};

typedef union wk_word {
    double f;
    int64_t i;
} wk_word;

/* An exact sum. Of floats the parts are doubles whose exact sum counts; of integers word k
 * weighs 2^(32 k). What does not fit them goes to the limbs. */
typedef struct wk_exact {
    wk_word part[WK_PARTS];
    wk_limbs limbs; /* not yet cleared where `used` is 0                          */
    int64_t pieces; /* in words (integers) or limbs (floats) since the last carry */
    int words, integer, used, flags;
    int skip, penalty; /* blocks that need not try to be exact at once               */
} wk_exact;

typedef struct wk_acc {   /* one output */
    int64_t n;            /* elements that count                                            */
    int64_t nonzero;      /* COUNT                                                          */
    int64_t some, zero;   /* ANY, ALL: not 0 where there is an element other than 0, a zero */
    int64_t index;        /* ARG; -1: none yet                                              */
    uint64_t bits;        /* WRAP, PRODUCT                                                  */
    wk_value least, most; /* keys; complex: elements                                      */
    wk_exact sum[2], squares; /* sum[1]: of imaginary parts                               */
} wk_acc;

typedef enum {
    WK_C_SUM,
    WK_C_SQUARES,
    WK_C_MIN,
    WK_C_MAX,
    WK_C_ANY,
    WK_C_ALL,
    WK_C_COUNT,
    WK_C_WRAP,
    WK_C_PRODUCT,
    WK_C_ARGMIN,
    WK_C_ARGMAX,
    WK_COMPONENTS
} wk_component;

/* Lanes of `width` outputs: words [word][stride], stride = wk_stride(width), of `size` bytes each.
 * Of argmin and argmax they are the place, the key, and the place of the next row, once.
 * rows: output w is n <= WK_BLOCK elements from x + offsets[w]; the lanes are written.
 * columns: output w is the elements x[offsets[i] + w], i < n <= 256; they are added to the lanes.
 * Gives 0 where the lanes are of no use, 2 where MIN or MAX met a NaN, else 1. */
typedef int wk_lanes_fn(void *lanes, const void *x, const int64_t *offsets, int64_t n,
                        int64_t width);

typedef struct wk_folding { /* a component of one dtype */
    int words, size;
    wk_lanes_fn *rows, *columns; /* NULL: there is none                                   */
    void (*start)(void *lanes, int64_t stride);
    void (*run)(wk_acc *a, const void *x, int64_t n, int64_t index); /* n <= WK_BLOCK      */
    void (*absorb)(wk_acc *a, const void *lanes, int64_t stride, int64_t w);
    void (*merge)(wk_acc *a, const wk_acc *b);
} wk_folding;

static inline int64_t
wk_stride(int64_t width)
{
    return (width + 7) & ~(int64_t)7; /* lanes are stored by whole vectors */
}

struct wk_reduction;

typedef struct wk_foldings {                    /* what one instruction set brings */
    const wk_folding *component[WK_COMPONENTS]; /* [WK_DTYPES] each */
    int (*any_nan)(wk_dtype dtype, const void *x, int64_t n);
    /* keep[i] = 0 where element i is NaN. */
    void (*drop_nan)(wk_dtype dtype, const void *x, int64_t n, uint8_t *keep);
    /* Of n <= WK_GATHER elements NaN become -0, which adds nothing. Gives how many were none. */
    int64_t (*leave_nan)(wk_dtype dtype, void *x, int64_t n);
    /* Of rows of x NaN become zeros, and their columns are marked. */
    void (*blank_nan)(wk_dtype dtype, void *x, int64_t rows, int64_t width, uint8_t *marks);
    /* Those of n elements of so many bytes that are kept, the neutral one in place of others. */
    void (*fill)(int64_t item, const void *x, const uint8_t *keep, int64_t n,
                 const void *neutral, void *to);
    void (*finish)(const struct wk_reduction *r, wk_acc *a, int64_t output);
    /* Of outputs first, first + step, ..., all of which is in the lanes. */
    void (*finish_lanes)(const struct wk_reduction *r, void *const *lanes, int64_t width,
                         int64_t first, int64_t step);
} wk_foldings;

typedef struct wk_reduction { /* a call, looked at */
    const wk_call *call;
    const wk_reduce_args *args;
    const wk_array *in, *where; /* where NULL: all count                                */
    const char *x;              /* element [0, ..., 0]                                  */
    const uint8_t *mask;
    int64_t item;
    const wk_foldings *foldings;
    int components;
    wk_component component[WK_COMPONENT_MAX];
    const wk_folding *folding[WK_COMPONENT_MAX];
    int sums, sum_limbs, sum_base, square_limbs, square_base;
    int64_t acc_bytes;
    int notices_nan; /* skip_nan: rows and columns fail where there is a NaN              */
    int fills;       /* what does not count is as good as the neutral element:            */
    int clears;      /* but where nothing counts, results are zeros                       */
    _Alignas(16) char neutral[16];
    int ends_early; /* any, all, argmin and argmax of bool: a few elements may tell       */
    wk_form form;   /* where words are kept, or finished                                */
    const wk_foldings *results; /* then: whose finish gives the results                   */
} wk_reduction;

/* ---- accumulators ------------------------------------------------------------------------- */

void wk_acc_start(const wk_reduction *r, wk_acc *a);
void wk_acc_merge(const wk_reduction *r, wk_acc *a, const wk_acc *b);

/* a->part += part, into the limbs where that is not exact. */
void wk_exact_commit(wk_exact *e, const wk_word *part);
/* The parts into the limbs. */
void wk_exact_flush(wk_exact *e);
/* Any double: NaN and infinities become flags. */
void wk_exact_add(wk_exact *e, double x);
void wk_exact_add_each(wk_exact *e, const double *x, int64_t n);
void wk_exact_add_square(wk_exact *e, double x);
/* x y, to limbs from WK_SQUARE_BASE on. */
void wk_exact_add_product(wk_exact *e, double x, double y);
void wk_exact_merge(wk_exact *e, const wk_exact *other);

/* ---- ways through the input --------------------------------------------------------------- */

/* Are lanes of use that rows or columns gave this for? */
static inline int
wk_lanes_held(const wk_reduction *r, int given)
{
    return given == 1 || (given == 2 && !r->args->skip_nan);
}

/* An argmin or argmax is a call's only component. */
static inline int
wk_is_arg(const wk_reduction *r)
{
    return r->component[0] == WK_C_ARGMIN || r->component[0] == WK_C_ARGMAX;
}

/* Elements a task: 2 to 10 us of work. Of 230 calls of 30,000 to 10^6 elements, 2 threads: .82 of the time with eight
 * times as many, which was what waking a thread takes; by half of these .81, but more calls are slower. */
static inline int64_t
wk_task_of(const wk_reduction *r)
{
    return (int64_t)1 << (r->item == 1 ? 17 : r->item == 2 ? 16 : 15);
}

/* Are NaN to be skipped that the lanes do not tell of? */
static inline int
wk_must_look(const wk_reduction *r)
{
    return r->args->skip_nan && !r->notices_nan;
}

/* Which of n elements side by side count, whose mask has this step: 0 or 1 each, there or in room. */
const uint8_t *wk_which_count(const wk_reduction *r, const char *x, const uint8_t *mask,
                              int64_t step, int64_t n, uint8_t *room);
/* Where r->clears: the results of those outputs first, first + step, ... of which nothing counts. */
void wk_clear_outputs(const wk_reduction *r, const uint8_t *some, int64_t width, int64_t first,
                      int64_t step);

/* What gives the same with less: parts are complex numbers, the largest of bools is any. */
void wk_reduce_simplify(wk_call *call);
/* Outputs in another order, if that is worth it: 0 if it is not, or where there is no memory. */
int wk_reduce_turned(wk_call *call, wk_launch *as_it_lies);
wk_status wk_reduce_walk(wk_call *call, const wk_foldings *foldings);
wk_status wk_reduce_segments(wk_call *call, const wk_foldings *foldings);
/* Fills r: the components of a call, and where its elements lie. */
void wk_reduce_look(wk_reduction *r, wk_call *call, const wk_foldings *foldings);

/* Of a call that is a part: each output's words are written too, or its results come from those. */
void wk_keep_words(wk_reduction *r, wk_foldings *keeping);
void wk_finish_words(wk_reduction *r);
wk_status wk_reduce_rows(wk_call *call, const wk_reduction *r);
/* axis: along which columns lie side by side; -1: short rows whose elements do not, as if they were columns. */
wk_status wk_reduce_columns(wk_call *call, const wk_reduction *r, int axis);
int wk_picks_rows(const wk_reduction *r);

#endif
