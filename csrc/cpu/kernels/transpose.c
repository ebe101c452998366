/* transpose / cpu blocked -- blocks of the fastest input axis by the fastest output axis.
 *
 * In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
 * Better    than walking the output in order: that fetches a whole cache line per element.
 * Still bad elements move one at a time; vector registers could transpose 8 x 8 of them. */
#include "scalar.h"
#include "cpu/isa.h"
#include "cpu/threads.h"

#include <stdlib.h>

enum {
    RUN_BYTES = 256, /* 4 lines on both sides of a block: enough for the prefetcher to follow */
    PAD_BYTES = 16,  /* buffer rows 256 bytes apart would use every fourth cache set only */
    MAX_RUNS = 256,  /* rows of a block of bytes */
    BUFFER_BYTES = MAX_RUNS * (RUN_BYTES + PAD_BYTES),
    TASK_BYTES = 1 << 19 /* 50 us of work, what waking another thread may cost */
};

typedef struct tiling {
    int64_t in_p, in_q, out_p; /* strides in elements; out_q is 1 */
    int64_t rows, columns;     /* of a tile */
    int64_t tiles_p, tiles_q;
    int p, q;
    const wk_call *call;
    int64_t out_strides[WK_MAX_DIMS];
} tiling;

#define T uint8_t
#define TILE(name) name##_1
#include "transpose_body.h"
#define T uint16_t
#define TILE(name) name##_2
#include "transpose_body.h"
#define T uint32_t
#define TILE(name) name##_4
#include "transpose_body.h"
#define T uint64_t
#define TILE(name) name##_8
#include "transpose_body.h"

static void
one_tile(const tiling *t, int64_t index)
{
    const wk_array *in = &t->call->in;
    const int64_t item = wk_itemsize[in->dtype];
    const int64_t q0 = index % t->tiles_q * t->columns;
    index /= t->tiles_q;
    const int64_t p0 = index % t->tiles_p * t->rows;
    index /= t->tiles_p;
    int64_t from = p0 * t->in_p + q0 * t->in_q, to = p0 * t->out_p + q0;
    for (int d = in->ndim - 1; d >= 0 && index > 0; d--) {
        if (d == t->p || d == t->q) continue;
        from += index % in->shape[d] * in->strides[d];
        to += index % in->shape[d] * t->out_strides[d];
        index /= in->shape[d];
    }
    const char *x = (const char *)in->data + in->first + from * item;
    char *y = (char *)t->call->out[0].data + to * item;
    const int64_t columns =
        in->shape[t->q] - q0 < t->columns ? in->shape[t->q] - q0 : t->columns;
    if (t->p == t->q) {
        switch (item) {
        case 1: row_1(x, y, columns, t); return;
        case 2: row_2(x, y, columns, t); return;
        case 4: row_4(x, y, columns, t); return;
        default: row_8(x, y, columns, t); return;
        }
    }
    const int64_t rows = in->shape[t->p] - p0 < t->rows ? in->shape[t->p] - p0 : t->rows;
    switch (item) {
    case 1: tile_1(x, y, rows, columns, t); return;
    case 2: tile_2(x, y, rows, columns, t); return;
    case 4: tile_4(x, y, rows, columns, t); return;
    default: tile_8(x, y, rows, columns, t); return;
    }
}

static void
tiles_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    for (int64_t i = begin; i < end; i++) one_tile(arg, i);
}

/* A tile is a square of RUN_BYTES on each side where the axes are long enough; what one axis
 * lacks goes to the other, as far as the buffer allows. */
static void
choose_tile(tiling *t, int64_t p, int64_t q, int64_t item)
{
    const int64_t side = RUN_BYTES / item, most = BUFFER_BYTES / item;
    t->rows = p < side ? p : side;
    t->columns = q < side ? q : side;
    if (t->rows < side) t->columns = side * side / t->rows;
    if (t->columns > q) t->columns = q;
    if (t->columns < side) t->rows = side * side / (t->columns + PAD_BYTES / item);
    if (t->rows > p) t->rows = p;
    if (t->rows < 1) t->rows = 1;
    while (t->rows * (t->columns + PAD_BYTES / item) > most) t->columns /= 2;
}

wk_status
WK_ISA_NAME(wk_transpose_cpu_blocked)(wk_call *call)
{
    wk_array *in = &call->in;
    if (in->ndim == 0) { /* one element: the kernels below want an axis */
        in->ndim = 1;
        in->shape[0] = in->strides[0] = 1;
    }
    const int64_t item = wk_itemsize[in->dtype];
    tiling t = {.call = call, .q = in->ndim - 1, .p = in->ndim - 1};
    int64_t step = 1, total = 1;
    for (int d = in->ndim - 1; d >= 0; d--) {
        t.out_strides[d] = step;
        step *= in->shape[d];
        total *= in->shape[d];
        if (llabs(in->strides[d]) < llabs(in->strides[t.p])) t.p = d;
    }
    t.in_p = in->strides[t.p];
    t.in_q = in->strides[t.q];
    t.out_p = t.out_strides[t.p];
    if (t.p == t.q) {
        t.rows = 1;
        t.columns = TASK_BYTES / item;
        if (t.columns > in->shape[t.q]) t.columns = in->shape[t.q];
        t.tiles_p = 1;
    } else {
        choose_tile(&t, in->shape[t.p], in->shape[t.q], item);
        t.tiles_p = (in->shape[t.p] + t.rows - 1) / t.rows;
    }
    t.tiles_q = (in->shape[t.q] + t.columns - 1) / t.columns;
    int64_t tiles = t.tiles_p * t.tiles_q * (total / in->shape[t.q]);
    if (t.p != t.q) tiles /= in->shape[t.p];
    const int64_t bytes = t.rows * t.columns * item;
    wk_parallel(call->context, tiles, bytes < TASK_BYTES ? TASK_BYTES / bytes : 1, tiles_task,
                &t);
    return WK_OK;
}
