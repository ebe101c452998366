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
    WK_KERNEL_AXES = 8,        /* of an array; those of more are packed first */
    WK_TILE_AXES = 4,          /* that one side of a tile spans, at most */
    WK_SECTOR = 32,            /* bytes: what memory reads and writes at least */
    WK_CHUNK_BYTES = 16 << 10, /* of a chunk, at most */
    WK_LINE = 128,             /* bytes: what the caches keep together */
    WK_RUNS_TILE = 16 << 10,   /* bytes of a tile of rows or chunks, about */
    WK_UNITS_TILE = 20 << 10,  /* bytes of a tile of units, about */
    WK_FEW = 256,              /* elements of a block of FEW */
    WK_TABLE = 512,            /* rows or chunks of a tile, at most: a kernel has a table */
    WK_MAP = 1 << 12,          /* units of a chunk, at most: likewise */
    WK_SHORT_SIDE = 8,         /* of a tile of SHORT, at most; the other side has so many */
    WK_SHORT_PIECES = 256      /* pieces of 16 bytes */
};

typedef enum {
    WK_TILES_COPY,    /* one run of memory on both sides */
    WK_TILES_FEW,     /* too few elements for tiles: a thread an element */
    WK_TILES_ROWS,    /* one axis is the fastest on both sides: its runs are moved */
    WK_TILES_CHUNKS,  /* a chunk of memory on one side is one on the other, permuted inside */
    WK_TILES_SHORT,   /* 2 to 8 rows or columns, 16 bytes an access on both sides */
    WK_TILES_ALIGNED, /* tiles, 16 bytes an access on both sides */
    WK_TILES_WORDS,   /* tiles of any alignment, 4 bytes an access, or an element if longer */
    WK_TILES_UNITS    /* tiles with a short side, or of units in groups: a unit an access */
} wk_tiles_way;

typedef struct wk_tiles_axis {
    int64_t extent, in, out; /* strides, in bytes */
} wk_tiles_axis;

/* A tile has rows and columns: neighbours in a column (that is, of one column, in neighbouring
 * rows) are neighbours in the output; neighbours in a row are neighbours in the input, or `step`
 * bytes apart. Each side spans one axis or several, the fastest first; `other` axes are outside. */
typedef struct wk_tiles {
    wk_tiles_way way;
    int unit;  /* bytes that move together                                                  */
    int group; /* units that stay side by side                                              */
    int64_t
        step; /* bytes between neighbours of a row, in the input; of CHUNKS 0: apart       */
    int row_axes, column_axes, other_axes;
    wk_tiles_axis row[WK_TILE_AXES], column[WK_TILE_AXES], other[WK_MAX_DIMS];
    int64_t rows, columns; /* of all                                                 */
    int64_t tile_rows,
        tile_columns; /* of a tile, at most                                     */
    int lead; /* rows by which a column's window may start early, to start with a sector  */
    int64_t
        tiles; /* in all; CHUNKS: of tile_columns chunks                                   */
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

#ifdef __cplusplus
}
#endif

#endif
