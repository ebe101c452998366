/* transpose / cpu blocked -- tiles of the fastest input axis by the fastest output axis.
 *
 * In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
 * Better    than walking the output in order: that fetches a whole cache line per element.
 * How       a tile's rows are copied to a buffer, each line of memory once, and leave it through
 *           registers that transpose squares of elements (transpose_simd.h).
 *           A short run that stays together (the channels of a pixel) moves as one element. */
#include "cpu/isa.h"
#include "cpu/kernels/transpose_simd.h"
#include "cpu/threads.h"
#include "num/bits.h"

#include <stdlib.h>

/* Measured on an AMD EPYC, to memory that was there before, by one thread. */
enum {
    /* Bytes of a tile's rows in the input and in the output. 4096 x 4096 float32: 7.1 ms; with 256
     * in, 8.8 ms; with 1024 in or out, 7.2 ms; with 256 in and out, 10.8 ms. */
    RUN_IN = 512,
    RUN_OUT = 512,
    PAD_BYTES = 16, /* buffer rows 512 bytes apart would use every eighth cache set only */
    /* On the stack, so no more than this: 8192 x 8192 bytes take 12.2 ms, with 136 KiB 10.7 ms. */
    BUFFER_BYTES = 5 << 14,
    /* The same, without a buffer: as many rows as an L1 has lines, a line or two of each. Xeon, one
     * thread, 500 x 500 float64: 155 us; with 512 by 512 190, with a buffer 290. */
    NEAR_IN = 128,
    NEAR_OUT = 4096,
    /* Rows a multiple of this apart share a few sets of an L1. 1000 x 320 float32: 300 us with a
     * buffer, 540 without. */
    SETS_BYTES = 1 << 8,
    NEAR_BYTES = 1 << 17, /* of an array that stays in an L2, however its rows lie */
    FEW = 16,             /* rows of the input, 2048 bytes apart, that caches hold at once */
    /* Rows asked for ahead. 16 x 64 x 56 x 56 float32, NCHW to NHWC: 1.0 ms; with none, 1.3 ms. */
    AHEAD = 8,
    /* Rows of a tile that are read one by one, twice as many of elements that lie apart. us: 9309 x 2 int16, rows
     * backwards, 5 for 20; 10,332 x 9 bools two apart 24 for 58. */
    LINES = 8,
    FOLDED_BYTES = 1 << 13,   /* of output rows that wait to be told apart */
    STRAIGHT_BYTES = 1 << 16, /* of a tile that is copied straight: any L2's worth */
    TASK_BYTES = 1 << 17,     /* what a thread takes at once */
    /* Up to here the caller's thread is alone. Two instead, 2 cores: 0.08 ms for 0.04 at 1 MiB,
     * 0.05 for 0.06 at 1.4 MiB. */
    ALONE_BYTES = 5 << 17
};
/* No stores past the caches: a new result's pages come from the kernel's zeroing, which leaves them
 * in a cache. A copy of 256 MiB, 2 cores: 25 ms to new memory either way; to memory that was
 * there 16 ms, past the caches 11.5 ms, but only where all rows begin at a line. */

typedef struct tiling tiling;
typedef void mover(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t);

struct tiling {
    const char *in, *end; /* the first element, and the end of the block that holds all */
    char *out;
    int64_t item; /* bytes of what moves together */
    mover *move;
    int ndim, p, q; /* tiles span p and q; q is the last axis, the fastest in the output */
    int near;       /* the input's rows lie so that tiles need no buffer */
    int weave;      /* for narrow: a few columns, not a few rows */
    /* For folded: the input's rows are of two axes, of which the inner one has that extent and step in the output. */
    int64_t inner, out_inner;
    int64_t rows, columns;     /* of a tile */
    int64_t in_p, in_q, out_p; /* in bytes; out_q is item */
    int64_t shape[WK_MAX_DIMS];
    int64_t in_strides[WK_MAX_DIMS], out_strides[WK_MAX_DIMS]; /* in bytes */
    /* where the tiles lie: along q, along p, then along the other axes from the last on */
    int64_t tiles[WK_MAX_DIMS], in_steps[WK_MAX_DIMS], out_steps[WK_MAX_DIMS];
};

static int64_t
smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#define SIZE 1
#define BITS 8
#define TILE(name) name##_1
#include "transpose_body.h"
#define SIZE 2
#define BITS 16
#define TILE(name) name##_2
#include "transpose_body.h"
#define SIZE 3
#define TILE(name) name##_3
#include "transpose_body.h"
#define SIZE 4
#define BITS 32
#define TILE(name) name##_4
#include "transpose_body.h"
#define SIZE 6
#define TILE(name) name##_6
#include "transpose_body.h"
#define SIZE 8
#define BITS 64
#define TILE(name) name##_8
#include "transpose_body.h"
#define SIZE 12
#define TILE(name) name##_12
#include "transpose_body.h"
#define SIZE 16
#define BITS 64 /* a square of one element: none are interleaved */
#define TILE(name) name##_16
#include "transpose_body.h"
#define SIZE 24
#define TILE(name) name##_24
#include "transpose_body.h"
#define SIZE 32
#define TILE(name) name##_32
#include "transpose_body.h"

typedef struct movers {
    mover *tile, *rows;     /* rows: where q is the fastest on both sides */
    mover *narrow, *folded; /* NULL: there are none */
} movers;

/* Those for so many bytes; tile is NULL where there are none. */
static movers
movers_of(int64_t item)
{
    switch (item) {
    case 1: return (movers){tile_1, rows_1, narrow_1, folded_1};
    case 2: return (movers){tile_2, rows_2, narrow_2, folded_2};
    case 3: return (movers){tile_3, rows_3, NULL, NULL};
    case 4: return (movers){tile_4, rows_4, narrow_4, folded_4};
    case 6: return (movers){tile_6, rows_6, NULL, NULL};
    case 8: return (movers){tile_8, rows_8, narrow_8, folded_8};
    case 12: return (movers){tile_12, rows_12, NULL, NULL};
    case 16: return (movers){tile_16, rows_16, narrow_16, folded_16};
    case 24: return (movers){tile_24, rows_24, NULL, NULL};
    case 32: return (movers){tile_32, rows_32, NULL, NULL};
    default: return (movers){NULL, NULL, NULL, NULL};
    }
}

static void
tiles_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const tiling *t = arg;
    const int64_t p = t->shape[t->p], q = t->shape[t->q];
    int64_t at[WK_MAX_DIMS], rest = begin, from = 0, to = 0;
    (void)thread;
    for (int d = 0; d < t->ndim; d++) {
        at[d] = rest % t->tiles[d];
        rest /= t->tiles[d];
        from += at[d] * t->in_steps[d];
        to += at[d] * t->out_steps[d];
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t left_q = q - at[0] * t->columns, left_p = p - at[1] * t->rows;
        t->move(t->in + from, t->out + to, left_p < t->rows ? left_p : t->rows,
                left_q < t->columns ? left_q : t->columns, t);
        for (int d = 0; d < t->ndim; d++) { /* to the next one */
            from += t->in_steps[d];
            to += t->out_steps[d];
            if (++at[d] < t->tiles[d]) break;
            from -= at[d] * t->in_steps[d];
            to -= at[d] * t->out_steps[d];
            at[d] = 0;
        }
    }
}

/* While the last axis is a run on both sides, and a short one: move it as one element. */
static void
group(tiling *t)
{
    const int64_t run = t->item * t->shape[t->ndim - 1];
    if (t->ndim == 2 || t->in_strides[t->ndim - 1] != t->item || run > 32) return;
    if (movers_of(run).tile == NULL) return;
    t->item = run;
    t->ndim--;
}

/* Fills out_strides and finds p, which is q where that is the fastest on both sides. */
static void
choose_axes(tiling *t)
{
    int64_t step = t->item;
    t->p = t->q = t->ndim - 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        t->out_strides[d] = step;
        step *= t->shape[d];
        const int faster = llabs(t->in_strides[d]) < llabs(t->in_strides[t->p]);
        if (t->shape[d] > 1 && faster) t->p = d;
    }
}

/* Walks an axis upwards in the input, so that it can be read by registers. */
static void
face_forward(tiling *t, int d)
{
    const int64_t last = t->shape[d] - 1;
    if (t->in_strides[d] >= 0) return;
    t->in += last * t->in_strides[d];
    t->out += last * t->out_strides[d];
    t->in_strides[d] *= -1;
    t->out_strides[d] *= -1;
}

/* A p of less than a lane and the axis along which its runs follow each other become one. us, 2 cores, all axes
 * turned, by itself and so: 132 x 1116 x 2 bytes 297 17, 480 x 640 x 3 bytes 360 38; 20 bytes, 100 x 100 x 5
 * float32, 9.4 10.5. */
static void
fold_short(tiling *t)
{
    const int p = t->p, q = t->q;
    const int64_t run = t->item * t->shape[p];
    if (t->in_strides[p] != t->item || run >= LANE) return;
    int next = 0;
    while (next < t->ndim &&
           (next == q || llabs(t->in_strides[next]) != run || t->shape[next] == 1))
        next++;
    if (next == t->ndim) return;
    face_forward(t, next);
    t->inner = t->shape[p];
    t->out_inner = t->out_strides[p];
    t->shape[next] *= t->inner;
    t->in_strides[next] = t->item;
    t->ndim--;
    for (int d = p; d < t->ndim; d++) {
        t->shape[d] = t->shape[d + 1];
        t->in_strides[d] = t->in_strides[d + 1];
        t->out_strides[d] = t->out_strides[d + 1];
    }
    t->q = q - (q > p);
    t->p = next - (next > p);
}

/* A tile is RUN_IN by RUN_OUT bytes where the axes are long enough, or NEAR_IN by NEAR_OUT; what one
 * axis lacks goes to the other, as far as the buffer allows, which edges of near tiles may need. */
static void
choose_tile(tiling *t, int64_t total)
{
    const int64_t p = t->shape[t->p], q = t->shape[t->q], item = t->item;
    /* moves of three bytes and the like read on after the last element */
    const int straight = t->in_strides[t->p] == item && item % 3;
    const int64_t apart = t->in_strides[t->q] & -t->in_strides[t->q]; /* a power of two */
    t->near = straight && apart < SETS_BYTES;
    const int64_t rows = ((t->near ? NEAR_IN : RUN_IN) + item - 1) / item;
    const int64_t columns = ((t->near ? NEAR_OUT : RUN_OUT) + item - 1) / item;
    const int64_t least = LANE / item; /* registers load so many rows, there or not */
    t->rows = smaller(p, rows);
    t->columns = smaller(q, columns);
    if (t->rows < rows) t->columns = smaller(q, rows * columns / t->rows);
    if (t->columns < columns) t->rows = smaller(p, rows * columns / t->columns);
    while ((t->rows * item + LANE - 1 + PAD_BYTES) * larger(t->columns, least) > BUFFER_BYTES)
        *(t->rows > t->columns ? &t->rows : &t->columns) /= 2;
    const int64_t held = FEW * larger(1, 2048 / larger(apart, 1));
    const int close = t->columns <= held || t->in_strides[t->q] == t->rows * item;
    if (straight && (close || total <= NEAR_BYTES)) t->near = 1;
}

/* The axes, what moves them, and the tiles; returns their number. */
static int64_t
plan(tiling *t, int64_t total)
{
    choose_axes(t);
    const movers m = movers_of(t->item);
    const int64_t straight = STRAIGHT_BYTES / t->item;
    if (t->p == t->q) {
        t->move = m.rows;
        t->p = t->q - 1;
        t->columns = smaller(t->shape[t->q], straight);
        t->rows = smaller(t->shape[t->p], straight / t->columns);
    } else {
        face_forward(t, t->p);
        if (m.folded) fold_short(t);
        t->move = t->inner > 1 ? m.folded : m.tile;
        choose_tile(t, total);
        t->rows -= t->rows % t->inner;
    }
    t->in_p = t->in_strides[t->p];
    t->in_q = t->in_strides[t->q];
    t->out_p = t->out_strides[t->p];
    if (t->move == m.tile && m.narrow && t->in_p == t->item) {
        const int64_t rows = t->shape[t->p], columns = t->shape[t->q];
        t->weave = columns <= 4 && t->out_p == columns * t->item;
        if (t->weave || (rows <= 4 && t->in_q == rows * t->item)) t->move = m.narrow;
    }
    int64_t tiles = 1;
    for (int d = t->ndim - 1, at = 2; d >= 0; d--) {
        const int64_t extent = d == t->q ? t->columns : d == t->p ? t->rows : 1;
        const int level = d == t->q ? 0 : d == t->p ? 1 : at++;
        t->tiles[level] = (t->shape[d] + extent - 1) / extent;
        t->in_steps[level] = extent * t->in_strides[d];
        t->out_steps[level] = extent / (d == t->p ? t->inner : 1) * t->out_strides[d];
        tiles *= t->tiles[level];
    }
    return tiles;
}

WK_CPU_LAUNCHER(transpose, blocked)
{
    const wk_array *in = &call->in;
    const int item = wk_itemsize[in->dtype];
    tiling t;
    if (call->out[0].bytes == 0) return WK_OK; /* such axes have no tiles */
    t.item = item;
    t.weave = t.near = 0;
    t.inner = 1;
    t.in = (const char *)in->data + in->first;
    t.end = (const char *)in->data + in->bytes;
    t.out = call->out[0].data;
    t.ndim = in->ndim > 2 ? in->ndim : 2; /* fewer axes: with extents of 1 before them */
    t.shape[0] = t.shape[1] = 1;
    t.in_strides[0] = t.in_strides[1] = 0;
    for (int d = 0; d < in->ndim; d++) {
        const int to = d + t.ndim - in->ndim;
        t.shape[to] = in->shape[d];
        t.in_strides[to] = in->strides[d] * item;
    }
    group(&t);
    const int64_t total = call->out[0].bytes, tiles = plan(&t, total);
    const int64_t tile = t.rows * t.columns * t.item;
    const int64_t grain = total <= ALONE_BYTES ? tiles : larger(1, TASK_BYTES / tile);
    wk_parallel_short(call->context, tiles, grain, total / TASK_BYTES, tiles_task, &t);
    return WK_OK;
}
