/* tiles.h -- how a GPU permutes the axes of an array, by shape; cuda/transpose does so. */
#ifndef WARPKIT_TILES_H
#define WARPKIT_TILES_H

#include "warpkit.h"

#ifdef __cplusplus
#define WK_CONSTANT static constexpr /* kernels have arrays of these sizes */
extern "C" {
#else
#define WK_CONSTANT static inline
#endif

enum {
    WK_KERNEL_AXES = 8,       /* of an array; those of more are packed first */
    WK_TILE_AXES = 4,         /* that one side of a tile spans, at most */
    WK_SECTOR = 32,           /* bytes: what memory reads and writes at least */
    WK_LINE = 128,            /* bytes: what the caches keep together */
    WK_RUNS_TILE = 8 << 10,   /* bytes of a tile of ROWS, about */
    WK_RUNS_THREADS = 256,    /* of a block of ROWS */
    WK_UNITS_TILE = 20 << 10, /* bytes of a tile of units, about */
    WK_FEW = 256,             /* elements of a block of FEW */
    WK_TABLE = 512,           /* pieces of a tile of ROWS, at most: a kernel has a table */
    WK_SHORT_SIDE = 8,        /* of a tile of SHORT, at most; the other side has so many */
    WK_SHORT_PIECES = 256,    /* pieces of 16 bytes */
    WK_BOX_THREADS = 256,     /* of a block of BOXES */
    WK_BOX_BLOCKS = 4,        /* of a multiprocessor */
    WK_BOX_KEPT = 1 << 10,    /* bytes of shared memory that the driver takes for a block */
    WK_BOX_BATCH = 4,         /* elements that a thread of BOXES has on their way */
    WK_BOX_DIGITS = WK_KERNEL_AXES + 1
};

typedef enum {
    WK_TILES_COPY,    /* one run of memory on both sides */
    WK_TILES_FEW,     /* too few elements for tiles: a thread an element */
    WK_TILES_ROWS,    /* one axis is the fastest on both sides: its runs are moved */
    WK_TILES_BOXES,   /* boxes of all axes: several that are short make a side together */
    WK_TILES_SHORT,   /* 2 to 8 rows or columns, 16 bytes an access on both sides */
    WK_TILES_ALIGNED, /* tiles, 16 bytes an access on both sides */
    WK_TILES_WORDS,   /* tiles of any alignment, 4 bytes an access, or an element if longer */
    WK_TILES_UNITS    /* tiles with a short side, or of units in groups: a unit an access */
} wk_tiles_way;

typedef struct wk_tiles_axis {
    int64_t extent, in, out; /* strides, in bytes */
} wk_tiles_axis;

/* BOXES: a tile has an extent of each axis, and lies in shared memory in the input's order. A place in
 * it is a number of digits, the fastest first; far is what each counts in the array, in units,
 * near in shared memory, in bytes. The digits of one side, in its array's order: those of a row,
 * then those that number the rows. */
typedef struct wk_box_side {
    struct {
        int extent, far, near;
        int skip; /* units of 1 and 2 bytes: bytes more after as many steps as fill a word */
    } digit[WK_BOX_DIGITS];
    int digits, row_digits;
    int units, rows; /* of a row; of a box */
    int accesses;    /* of a row */
    int threads;     /* of a row */
} wk_box_side;

typedef struct wk_box {
    struct {
        int64_t extent, in, out; /* steps in units */
        int64_t tile, tiles;     /* the last tile ends where the axis ends: all are whole */
    } axis[WK_KERNEL_AXES];      /* tiles are numbered along the first one first */
    int axes;
    wk_box_side in, out;
    int bytes;      /* of the tile in shared memory */
    int joined;     /* units of the input's rows lie side by side */
    int in_aligned; /* units of 1 and 2 bytes: rows of the input begin with words,  */
    int alike;      /* rows of a tile of the output all begin at the same byte of a word, ... */
    int out_aligned;   /* ... namely at the first, and have whole words */
    int64_t low, high; /* units before and behind its first that a tile reaches, in the input */
    int shared;        /* bytes of shared memory of a block, with the tables */
    double cost;       /* of the model, to compare boxes by */
} wk_box;

/* A tile has rows and columns: neighbours in a column (that is, of one column, in neighbouring
 * rows) are neighbours in the output; neighbours in a row are neighbours in the input, or `step`
 * bytes apart. Each side spans one axis or several, the fastest first; `other` axes are outside. */
typedef struct wk_tiles {
    wk_tiles_way way;
    int unit;  /* bytes that move together                                                  */
    int group; /* units that stay side by side; of a piece of a run                          */
    int64_t
        run; /* ROWS: units of a run, which is one piece or several; rows counts these      */
    int64_t
        step; /* bytes between neighbours of a row, in the input                           */
    int row_axes, column_axes, other_axes;
    wk_tiles_axis row[WK_TILE_AXES], column[WK_TILE_AXES], other[WK_MAX_DIMS];
    int64_t rows, columns; /* of all                                                 */
    int64_t tile_rows,
        tile_columns; /* of a tile, at most                                     */
    int lead; /* rows by which a column's window may start early, to start with a sector  */
    int64_t
        tiles; /* in all                                                                   */
    wk_box box;
} wk_tiles;

/* Rows and columns of a tile, at most, where the kernel has a tile of one size: those that were the
 * fastest. ALIGNED, 16384 x 16384, H100: 97 % of a copy's rate each. WORDS, 16383 x 16381, H200: 1 byte 256
 * x 128 75 %, 256 x 256 65, 128 x 128 68; 2 bytes 128 x 64 78, 128 x 128 74; 4 bytes 64 x 64 93, 128 x 64
 * 89, 64 x 128 80; 8 bytes 64 x 32 92, 32 x 32 89; 16 bytes 32 x 32 91, 64 x 32 91. */
WK_CONSTANT int
wk_tile_rows(wk_tiles_way way, int unit)
{
    return unit == 1   ? 256
           : unit == 2 ? 128
           : unit == 4 ? 64
           : unit == 8 ? (way == WK_TILES_WORDS ? 64 : 32)
                       : 32;
}

WK_CONSTANT int
wk_tile_columns(wk_tiles_way way, int unit)
{
    return unit == 1   ? (way == WK_TILES_WORDS ? 128 : 256)
           : unit == 2 ? (way == WK_TILES_WORDS ? 64 : 256)
           : unit == 4 ? 64
                       : 32;
}

/* in as wk_plan_transpose made it, not empty; the addresses of its first element and of the result
 * count by their alignment alone. */
void wk_plan_tiles(const wk_array *in, uint64_t from, uint64_t to, int processors,
                   wk_tiles *plan);

/* The box for axes in the output's order, the fastest last, whose steps are multiples of unit. 0: none
 * will do. */
int wk_plan_box(const wk_tiles_axis *axis, int n, int unit, uint64_t from, uint64_t to,
                int processors, wk_box *box);

#ifdef __cplusplus
}
#endif

#endif
