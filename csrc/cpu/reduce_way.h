/* reduce_way.h -- any elements into accumulators, and lanes into results. */
#ifndef WARPKIT_REDUCE_WAY_H
#define WARPKIT_REDUCE_WAY_H

#include "cpu/reduction.h"

typedef struct wk_way {
    const wk_reduction *r;
    int stop; /* any, all: what was asked for is known (a hint: threads may miss it) */
} wk_way;

/* The elements start .. start + n - 1 of an output, in planned order. */
void wk_way_run(const wk_way *way, wk_acc *a, int64_t output, int64_t start, int64_t n);

/* Is what is asked for known, as of any and all it may be? */
int wk_is_decided(const wk_reduction *r, const wk_acc *a);

/* All elements of an output, and its results. */
void wk_way_output(const wk_way *way, int64_t output);

/* n <= WK_GATHER elements side by side, of which those count that keep (where not NULL) says; x
 * and keep are used up. */
void wk_way_kept(const wk_reduction *r, wk_acc *a, void *x, uint8_t *keep, int64_t n,
                 int64_t index);

typedef struct wk_lanes { /* of every component */
    void *of[WK_COMPONENT_MAX];
} wk_lanes;

int64_t wk_lanes_bytes(const wk_reduction *r, int64_t width);
/* In that many bytes of room, which begins at a multiple of 64. */
void wk_lanes_place(const wk_reduction *r, wk_lanes *lanes, void *room, int64_t width);
/* `first` is the place of the first row in its output. */
void wk_lanes_start(const wk_reduction *r, wk_lanes *lanes, int64_t width, int64_t first);

/* Rows of args->n elements, by lanes: may they go so, how many at once, and those at such offsets from x; 0:
 * the lanes are of no use. */
enum {
    WK_FILLED = 1 << 15, /* bytes of rows whose elements count in part */
    WK_ROWS_ROOM = (WK_COMPONENT_MAX + 2 * WK_PARTS) * WK_WIDTH /* doubles */
};
int wk_has_rows(const wk_reduction *r);
int64_t wk_rows_most(const wk_reduction *r);
int wk_rows_fold(const wk_reduction *r, wk_lanes *lanes, const char *x, const int64_t *offsets,
                 int64_t width);

/* to[w * n + i] = x[offsets[i] + w * stride], of so many bytes each. */
void wk_turn(int64_t item, const void *x, int64_t stride, const int64_t *offsets, int64_t n,
             int64_t width, void *to);

/* An accumulator and the limbs behind it, for the stack. */
typedef union wk_acc_room {
    wk_acc acc;
    int64_t room[sizeof(wk_acc) / 8 + 2 * WK_SUM_LIMBS + WK_SQUARE_LIMBS + 2];
} wk_acc_room;

#endif
