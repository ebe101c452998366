/* transpose / cpu blocked -- blocks of the fastest input axis by the fastest output axis.
 *
 * In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
 * Better    than walking the output in order: that fetches a whole cache line per element.
 * How       a short run that stays together (the channels of a pixel) moves as one element.
 * Still bad elements move one at a time; vector registers could transpose 8 x 8 of them. */
#include "cpu/isa.h"
#include "cpu/threads.h"
#include "scalar.h"

#include <stdlib.h>

enum {
    RUN_BYTES = 256, /* 4 lines on both sides of a block: enough for the prefetcher to follow */
    PAD_BYTES = 16,  /* buffer rows 256 bytes apart would use every fourth cache set only */
    MAX_RUNS = 256,  /* rows of a block of bytes */
    BUFFER_BYTES = MAX_RUNS * (RUN_BYTES + PAD_BYTES),
    STRAIGHT = 1 << 13,  /* elements of a tile that is copied straight: any L2's worth */
    AHEAD = 4,           /* rows asked for ahead: of 8 in one cache set half stay free */
    TASK_BYTES = 1 << 19 /* 50 us of work, what waking another thread may cost */
};

struct tiling;
typedef void mover(const char *from, char *to, int64_t rows, int64_t columns,
                   const struct tiling *t);

typedef struct tiling {
    const char *in;
    char *out;
    int ndim, p, q; /* tiles span p and q; q is the last axis, the fastest in the output */
    int64_t item;   /* bytes of what moves together */
    int64_t shape[WK_MAX_DIMS];
    int64_t in_strides[WK_MAX_DIMS], out_strides[WK_MAX_DIMS]; /* in bytes */
    int64_t in_p, in_q, out_p;                                 /* out_q is item */
    int64_t rows, columns, tiles_p, tiles_q; /* of a tile; tiles along p and q */
    mover *move, *straight; /* of tiles; straight: where q is the fastest on both sides */
} tiling;

#define SIZE 1
#define TILE(name) name##_1
#include "transpose_body.h"
#define SIZE 2
#define TILE(name) name##_2
#include "transpose_body.h"
#define SIZE 3
#define TILE(name) name##_3
#include "transpose_body.h"
#define SIZE 4
#define TILE(name) name##_4
#include "transpose_body.h"
#define SIZE 6
#define TILE(name) name##_6
#include "transpose_body.h"
#define SIZE 8
#define TILE(name) name##_8
#include "transpose_body.h"
#define SIZE 12
#define TILE(name) name##_12
#include "transpose_body.h"
#define SIZE 16
#define TILE(name) name##_16
#include "transpose_body.h"
#define SIZE 24
#define TILE(name) name##_24
#include "transpose_body.h"
#define SIZE 32
#define TILE(name) name##_32
#include "transpose_body.h"

/* The functions for t->item bytes; 0 where there are none. */
static int
choose_functions(tiling *t)
{
    switch (t->item) {
    case 1: t->move = tile_1, t->straight = rows_1; return 1;
    case 2: t->move = tile_2, t->straight = rows_2; return 1;
    case 3: t->move = tile_3, t->straight = rows_3; return 1;
    case 4: t->move = tile_4, t->straight = rows_4; return 1;
    case 6: t->move = tile_6, t->straight = rows_6; return 1;
    case 8: t->move = tile_8, t->straight = rows_8; return 1;
    case 12: t->move = tile_12, t->straight = rows_12; return 1;
    case 16: t->move = tile_16, t->straight = rows_16; return 1;
    case 24: t->move = tile_24, t->straight = rows_24; return 1;
    case 32: t->move = tile_32, t->straight = rows_32; return 1;
    default: return 0;
    }
}

static void
one_tile(const tiling *t, int64_t index)
{
    const int64_t q0 = index % t->tiles_q * t->columns;
    index /= t->tiles_q;
    const int64_t p0 = index % t->tiles_p * t->rows;
    index /= t->tiles_p;
    int64_t from = p0 * t->in_p + q0 * t->in_q, to = p0 * t->out_p + q0 * t->item;
    for (int d = t->ndim - 1; d >= 0 && index > 0; d--) {
        if (d == t->p || d == t->q) continue;
        from += index % t->shape[d] * t->in_strides[d];
        to += index % t->shape[d] * t->out_strides[d];
        index /= t->shape[d];
    }
    const int64_t left_q = t->shape[t->q] - q0, left_p = t->shape[t->p] - p0;
    const int64_t columns = left_q < t->columns ? left_q : t->columns;
    t->move(t->in + from, t->out + to, left_p < t->rows ? left_p : t->rows, columns, t);
}

static void
tiles_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    for (int64_t i = begin; i < end; i++) one_tile(arg, i);
}

/* While the last axis is a run on both sides, and a short one: move it as one element. */
static void
group(tiling *t)
{
    const int64_t run = t->item * t->shape[t->ndim - 1];
    tiling grouped = *t;
    grouped.item = run;
    if (t->ndim == 2 || t->in_strides[t->ndim - 1] != t->item || run > 32) return;
    if (!choose_functions(&grouped)) return;
    *t = grouped;
    t->ndim--;
}

/* A tile is a square of RUN_BYTES on each side where the axes are long enough; what one axis
 * lacks goes to the other, as far as the buffer allows. */
static void
choose_tile(tiling *t)
{
    const int64_t p = t->shape[t->p], q = t->shape[t->q];
    const int64_t side = (RUN_BYTES + t->item - 1) / t->item;
    t->rows = p < side ? p : side;
    t->columns = q < side ? q : side;
    if (t->rows < side) t->columns = side * side / t->rows;
    if (t->columns > q) t->columns = q;
    if (t->columns < side) t->rows = side * side / (t->columns + PAD_BYTES / t->item);
    if (t->rows > p) t->rows = p;
    if (t->rows < 1) t->rows = 1;
    while (t->rows * (t->columns * t->item + PAD_BYTES) > BUFFER_BYTES) t->columns /= 2;
}

/* The output's strides, the axes p and q, and tiles; returns their number. */
static int64_t
plan(tiling *t)
{
    int64_t step = t->item, others = 1;
    t->p = t->q = t->ndim - 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        t->out_strides[d] = step;
        step *= t->shape[d];
        const int faster = llabs(t->in_strides[d]) < llabs(t->in_strides[t->p]);
        if (t->shape[d] > 1 && faster) t->p = d;
    }
    if (t->p == t->q) {
        t->move = t->straight;
        t->p = t->q - 1;
        t->columns = t->shape[t->q] < STRAIGHT ? t->shape[t->q] : STRAIGHT;
        t->rows =
            STRAIGHT / t->columns < t->shape[t->p] ? STRAIGHT / t->columns : t->shape[t->p];
    } else {
        choose_tile(t);
    }
    t->in_p = t->in_strides[t->p];
    t->in_q = t->in_strides[t->q];
    t->out_p = t->out_strides[t->p];
    t->tiles_p = (t->shape[t->p] + t->rows - 1) / t->rows;
    t->tiles_q = (t->shape[t->q] + t->columns - 1) / t->columns;
    for (int d = 0; d < t->ndim; d++)
        if (d != t->p && d != t->q) others *= t->shape[d];
    return others * t->tiles_p * t->tiles_q;
}

wk_status
WK_ISA_NAME(wk_transpose_cpu_blocked)(wk_call *call)
{
    const wk_array *in = &call->in;
    tiling t = {.item = wk_itemsize[in->dtype]};
    t.in = (const char *)in->data + in->first;
    t.out = call->out[0].data;
    t.ndim = in->ndim > 2 ? in->ndim : 2; /* fewer axes: with extents of 1 before them */
    t.shape[0] = t.shape[1] = 1;
    for (int d = 0; d < in->ndim; d++) {
        const int to = d + t.ndim - in->ndim;
        t.shape[to] = in->shape[d];
        t.in_strides[to] = in->strides[d] * t.item;
    }
    choose_functions(&t);
    group(&t);
    const int64_t tiles = plan(&t), bytes = t.rows * t.columns * t.item;
    wk_parallel(call->context, tiles, bytes < TASK_BYTES ? TASK_BYTES / bytes : 1, tiles_task,
                &t);
    return WK_OK;
}
