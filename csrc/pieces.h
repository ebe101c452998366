/* pieces.h -- how a call on host arrays is cut, so that it crosses the bus piece by piece.
 *
 * A piece is packed into one block, crosses, meets its kernel, and its results cross back packed.
 * What a piece holds depends on the call and on the piece's size alone, never on the number of
 * devices or threads: results are the same bits, since a reduction is cut at chunks of its tree
 * only, and a stencil's piece brings its halo. */
#ifndef WARPKIT_PIECES_H
#define WARPKIT_PIECES_H

#include "walk.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    WK_CUT_RUN, /* elements in the order of one walk: flat reductions, histograms            */
    WK_CUT_BOX, /* a range of each axis: transposes, reductions that keep axes              */
    WK_CUT_LINE /* a range of outer, axis and inner extents: stencils                        */
} wk_cut_kind;

typedef struct wk_cut {
    wk_cut_kind kind;
    int64_t pieces;
    int64_t in_bytes, out_bytes; /* of the largest piece, packed                          */
    int64_t step;                /* RUN: elements of a piece                               */
    wk_walk walk;                /* RUN, LINE: the order in which the input crosses        */
    wk_walk beside;              /* RUN: likewise the mask, or the weights                 */
    int64_t extent[WK_MAX_DIMS]; /* BOX, LINE: what the grid of blocks covers ...          */
    int64_t block[WK_MAX_DIMS];  /* ... by blocks of so much                               */
    int axes;
    int order[WK_MAX_DIMS]; /* BOX: the input's axes, outermost in memory first       */
    int folds;              /* a reduction cut along its fold                              */
    int64_t chunks;         /* then: of the whole fold                                     */
    int copies;             /* no kernel: 1 from the host to the device, -1 back           */
} wk_cut;

typedef struct wk_piece {
    int64_t begin, end; /* RUN: elements                            */
    int64_t start[WK_MAX_DIMS], size[WK_MAX_DIMS]; /* BOX, LINE                           */
    int64_t row, rows;           /* LINE: first of the axis, may be outside  */
    int64_t in_bytes, out_bytes; /* of all that is packed */
    int64_t elements;            /* of the input, as they cross */
    int64_t beside_at;  /* bytes: where the mask or the weights begin, behind the input;
                                    in_bytes: there are none                                */
    wk_walk in, beside; /* BOX */
    wk_walk out[WK_MAX_OUTS];
    int64_t out_begin[WK_MAX_OUTS], out_end[WK_MAX_OUTS]; /* elements of the walk            */
    int64_t out_at[WK_MAX_OUTS];                          /* bytes, in the packed output     */
    int outs;                                             /* 0: results come at the end      */
} wk_piece;

static inline int64_t
wk_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t
wk_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t
wk_blocks(int64_t extent, int64_t block)
{
    return (extent + block - 1) / block;
}

/* Pieces of about `target` bytes, where the operation allows it; WK_ONE_PIECE: just one. */
#define WK_ONE_PIECE (INT64_MAX / 2)
void wk_cut_call(const wk_call *call, int64_t target, int takes_parts, wk_cut *cut);

/* A copy, as one piece of elements in C order: in to the device, or out[0] to the host. */
void wk_cut_upload(const wk_array *in, wk_cut *cut);
void wk_cut_download(const wk_array *out, wk_cut *cut);

/* All results whole, for a piece that has none of its own. */
void wk_piece_of_results(const wk_call *call, wk_piece *piece);

void wk_piece_of(const wk_call *call, const wk_cut *cut, int64_t index, wk_piece *piece);

/* Bytes from .. to - 1 of the packed input, whole elements, to packed[0 ..]: the array, and behind it
 * what call->beside names. */
void wk_piece_fill(const wk_call *call, const wk_cut *cut, const wk_piece *piece, int64_t from,
                   int64_t to, void *packed);

/* Where the packed input lies already, one run of memory in its order; else NULL. */
char *wk_piece_in_place(const wk_call *call, const wk_cut *cut, const wk_piece *piece);

/* Bytes from .. to - 1 of the packed output, whole elements, from packed[0 ..], to where they belong. */
void wk_piece_drain(const wk_piece *piece, int64_t from, int64_t to, const void *packed,
                    int stream);

/* The call that a launcher gets for a piece whose input and output lie at these addresses. What
 * the session and the part say of states is the caller's. */
void wk_piece_call(const wk_call *call, const wk_cut *cut, const wk_piece *piece, void *in,
                   void *out, wk_call *sub);

#ifdef __cplusplus
}
#endif

#endif
