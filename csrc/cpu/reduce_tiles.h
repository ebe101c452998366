/* reduce_tiles.h -- neighbouring columns, folded tile by tile. */
#ifndef WARPKIT_REDUCE_TILES_H
#define WARPKIT_REDUCE_TILES_H

#include "cpu/reduce_way.h"

enum {
    WK_TILE_ROWS = 256,      /* between two looks at the flag                          */
    WK_MOST_COLUMNS = 4096,  /* of a block: a few rows and their lanes stay in L1      */
    WK_TILE_AGAIN = 1 << 18, /* bytes of a tile that is read more than once: in an L2  */
    WK_PICKED = 1 << 15,     /* bytes of a tile that is brought together               */
    WK_PIECE_ROWS = 32,      /* of a tile that lanes did not hold                      */
    WK_PIECE_COLUMNS = 32
};

typedef struct wk_columns_job {
    const wk_reduction *r;
    int axis, lanes; /* can columns be folded by lanes? axis -1: they are all outputs */
    int picks;       /* are tiles brought together first? */
    int64_t group;   /* rows that lie side by side and are taken as one wide one */
    int64_t columns, width, blocks, tile;
    int64_t step;        /* outputs between neighbouring columns */
    int64_t parts, part; /* of the rows */
    char *accs;          /* [outputs][parts]; NULL: a block is one task's alone */
} wk_columns_job;

typedef struct wk_picked { /* a tile of a block, and where its columns begin */
    _Alignas(64) char x[WK_PICKED];
    uint8_t mask[WK_PICKED];
    int64_t at[WK_WIDTH], mask_at[WK_WIDTH];
} wk_picked;

typedef struct wk_block { /* what one task is at */
    const wk_columns_job *j;
    wk_lanes lanes, before; /* the tile's, and as they were before it */
    int64_t bytes;          /* of either                              */
    const char *x;          /* row 0 of the first column; or what was picked of a tile */
    const uint8_t *mask;
    int64_t stride, mask_stride; /* between columns */
    wk_picked *picked;
    int64_t output, width; /* the first column's; how many */
    uint8_t *odd;          /* columns that have NaN, which lanes left out; and of a tile */
    char *filled;          /* room for a tile of which not all counts */
    uint8_t *some;         /* columns of which something counts; NULL: nobody asks       */
    uint8_t *marks;        /* room for a mark of each column */
    uint8_t *loose;        /* columns whose accumulators are used beside the lanes; NULL: all */
    wk_acc *accs;          /* NULL: not needed yet */
    int64_t acc_step;      /* bytes */
} wk_block;

static inline wk_acc *
wk_acc_of(const wk_block *b, int64_t w)
{
    return (wk_acc *)((char *)b->accs + w * b->acc_step);
}

/* Accumulators of columns from .. from + n - 1; 0 where there is no memory. */
int wk_need_accs(wk_block *b, void **room, int64_t from, int64_t n);

/* A tile, or n rows of it, into accumulators: each column is copied into a run. */
void wk_turn_tile(const wk_block *b, int64_t start, const int64_t *offsets,
                  const int64_t *masks, int64_t n);

/* Lanes of `group` rows side by side, each of which had so many tiles' rows, into accumulators; and one of them. */
void wk_absorb_lanes(const wk_block *b, const wk_lanes *lanes, int64_t group, int64_t rows);
void wk_absorb_column(const wk_block *b, const wk_lanes *lanes, int64_t group, int64_t rows,
                      int64_t w);

/* Adds a tile from x on to the lanes; 0: it did not hold, and they are of no use. */
int wk_lanes_tile(const wk_block *b, const char *x, const int64_t *offsets, int64_t n,
                  int64_t width);

/* n rows from the i-th on to lanes that hold some, or none; 0: they are of no use, but as they were
 * before. Rows are tried without their NaN while that does. */
int wk_add_tile(wk_block *b, int64_t held, int64_t i, const int64_t *offsets,
                const int64_t *masks, int64_t n, int *cleans);

/* Of a tile, whose lanes are as they were before it, what lanes hold goes into them, by pieces, the rest beside them;
 * how many pieces that are, -1: there is no memory. Do elements lie in lanes as columns do, each by itself? */
int64_t wk_add_steps(wk_block *b, int64_t i, const int64_t *offsets, int64_t n, void **room);
int wk_has_pieces(const wk_block *b);

/* Rows begin .. end - 1 of a block; WK_EMEMORY. */
wk_status wk_fold_block(wk_block *b, int64_t begin, int64_t end, void **room);
/* Of a few columns that lie side by side: `group` rows as one. */
void wk_fold_narrow(wk_block *b, int64_t begin, int64_t end);

#endif
