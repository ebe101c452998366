/* reduce_grid.h -- how a GPU's threads share a reduction, by shape; cuda/reduce does so. */
#ifndef WARPKIT_REDUCE_GRID_H
#define WARPKIT_REDUCE_GRID_H

#include "warpkit.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WK_BLOCK = 256,       /* threads of a block                                            */
    WK_TILE_BYTES = 2048, /* of a warp's tile of contiguous elements: 4 vectors a lane     */
    WK_LINE_BLOCKS = 2,   /* of lines, that a multiprocessor holds                         */
    WK_FEW_ROWS = 4,      /* that a thread takes at once of many columns                   */
    WK_ITEMS = 32,        /* groups of outputs that a block marks, at most                 */
    WK_TOGETHER = 4       /* of them that may be taken together at first                   */
};

typedef enum {
    WK_BY_LINES,   /* warps bring the elements of an output (lines.cuh)                     */
    WK_BY_ROWS,    /* a thread has a short row, or a few have it together (rows.cuh)        */
    WK_BY_COLUMNS, /* neighbouring threads have neighbouring outputs (columns.cuh)          */
    WK_BY_WHOLE_COLUMNS /* and each has all elements of its own (whole.cuh)                */
} wk_grid_kind;

/* What lines are read by. */
typedef enum {
    WK_READS_ELEMENTS, /* which lie anywhere                                                */
    WK_READS_RUN,      /* 16 bytes at a time; each run has tiles of its own, and ends       */
    WK_READS_RUNS      /* the same, of the runs of two axes, which have no ends             */
} wk_reads;

typedef struct wk_grid {
    wk_grid_kind kind;
    int team;          /* lines: threads of an output, 1, 8, 32 or WK_BLOCK                  */
    int width, height; /* columns: threads side by side and below each other of a block;
                          rows: width threads have a row, and height rows                   */
    int repeat;        /* columns: so many rows are read as one                              */
    int columns;       /* of a thread                                                      */
    wk_reads reads;    /* lines: of `runs` runs of so many elements                        */
    int aligned;       /* runs, or blocks of rows, start and end at 16 bytes; columns of a
                          thread are one load                                               */
    int staged;        /* columns: a thread's rows come by way of shared memory              */
    int masked;        /* some elements do not count, and cannot be told by themselves      */
    int waiting;       /* lines: so many of a warp's are finished together; 0: none is       */
    int64_t run, runs;
    int64_t tiles;  /* lines: of a run, which a warp takes at once; else of all          */
    int64_t parts;  /* of an output, or of a group of columns: that many blocks fold it  */
    int64_t join;   /* columns: so many parts' records are joined first, and then theirs    */
    int64_t groups; /* of outputs that a block folds together                            */
    int64_t blocks; /* at most                                                           */
} wk_grid;

/* Do an output's elements lie side by side, and all of them count? */
static inline int
wk_reads_one_run(const wk_grid *grid)
{
    return grid->reads == WK_READS_RUN && grid->runs == 1 && !grid->masked;
}

/* What a grid depends on of an accumulator. */
typedef struct wk_accumulator {
    int column_blocks; /* that a multiprocessor holds, which parts are to fill                 */
    int shared, whole, few; /* columns of a thread: which shares them, has them whole, or a few
                               rows of each                                                   */
    int quick;              /* whole columns of a thread the quick way; 0: not these          */
    int whole_percent;      /* of the time of reading that whole columns take                 */
    int in_order;           /* an element's place matters                                     */
    int stages;             /* columns may be `staged`                                        */
    int waiting;            /* lines of a warp that may be finished together; 0: each alone   */
} wk_accumulator;

/* Kept axes, the outermost first; of those of the last axis that are found every `step`-th is an output, if `backwards`
 * from the last one on. */
typedef struct wk_turn {
    int order[WK_MAX_DIMS];
    int64_t step;
    int backwards;
} wk_turn;

/* Are outputs to be found in the order in which their elements lie, and turned then? Where neighbouring threads would have
 * outputs whose elements lie apart. Where those lie few bytes apart all that lies between is folded too: it is read anyway.
 * Of 139 views of 8 MiB and more, x[:, ::2], x[:, ::3], x[:, ::-1] along axis 0, 1.5 times as fast in the mean.
 * H200, us as they lie and so: maxima of float32, 53,627 x 12 x 44 with the last axes turned, along axis 0, 251 44. */
int wk_turns_outputs(const wk_call *call, int processors, wk_turn *turn);
void wk_turn_outputs(wk_call *call, const wk_turn *turn);

/* Where the call's outputs lie among those that are found, of outputs' dtype and memory. */
void wk_see_turned(const wk_call *call, const wk_turn *turn, wk_array *outputs);

/* Is the input to be copied first to where each output's elements lie side by side? That takes a read and a write more,
 * but nothing is looked for element by element. H200, us as they lie and so: maxima of float32, 330 x 20 x 96 x 41 of
 * larger axes, along axes 0, 1, 3, 900 93; float16, 1,212 x 2 x 28 x 1,180, along axes 0 and 2, 1,122 167; variances of
 * int32, n x 5 of n x 6, 670 89. The call then has what wk_see_packed makes of it. */
int wk_packs_first(const wk_call *call, int processors);
void wk_see_packed(wk_call *call, void *block);

void wk_plan_grid(const wk_call *call, int processors, const wk_accumulator *of, wk_grid *grid);

#ifdef __cplusplus
}
#endif

#endif
