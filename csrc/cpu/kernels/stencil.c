/* stencil1d / cpu lines -- out[i] = sum over t of c[t] * in[i + t - before], in double.
 *
 * In, out   C-contiguous [outer][n][inner] -> the same shape and dtype.
 * How       each output's multiply-adds run in the order of t, fused, from 0: that order is the
 *           contract with the CUDA kernel. Vectors run across outputs. Lines along the
 *           last axis are cut into segments with their halo; other axes take `inner` neighbours
 *           at once.
 * Source    scipy.ndimage.correlate1d for the meaning. */
#include "scalar.h"
#include "cpu/isa.h"
#include "cpu/threads.h"

#include <math.h>
#include <stdlib.h>

enum {
    SEGMENT = 2048, /* outputs a task computes at once: 16 KiB of doubles, half of L1 */
    TASK = 1 << 16, /* multiply-adds a task */
    BLOCK = 32      /* of them in registers through all taps: 8 AVX2 registers */
};

#define T uint8_t
#define LOAD(x) ((x) != 0)
#define STORE(v) (wk_to_i64(v) != 0)
#define LINE(name) name##_bool
#include "stencil_body.h"
#define T uint8_t
#define LOAD(x) (x)
#define STORE(v) ((T)wk_to_i64(v))
#define LINE(name) name##_u8
#include "stencil_body.h"
#define T int8_t
#define LOAD(x) (x)
#define STORE(v) ((T)wk_to_i64(v))
#define LINE(name) name##_i8
#include "stencil_body.h"
#define T int16_t
#define LOAD(x) (x)
#define STORE(v) ((T)wk_to_i64(v))
#define LINE(name) name##_i16
#include "stencil_body.h"
#define T uint16_t
#define LOAD(x) (x)
#define STORE(v) ((T)wk_to_i64(v))
#define LINE(name) name##_u16
#include "stencil_body.h"
#define T int32_t
#define LOAD(x) (x)
#define STORE(v) ((T)wk_to_i64(v))
#define LINE(name) name##_i32
#include "stencil_body.h"
#define T uint32_t
#define LOAD(x) (x)
#define STORE(v) ((T)wk_to_i64(v))
#define LINE(name) name##_u32
#include "stencil_body.h"
#define T int64_t
#define LOAD(x) ((double)(x))
#define STORE(v) wk_to_i64(v)
#define LINE(name) name##_i64
#include "stencil_body.h"
#define T uint64_t
#define LOAD(x) ((double)(x))
#define STORE(v) wk_to_u64(v)
#define LINE(name) name##_u64
#include "stencil_body.h"
#define T float
#define LOAD(x) ((double)(x))
#define STORE(v) wk_one_nan_f32((float)(v))
#define LINE(name) name##_f32
#include "stencil_body.h"
#define T double
#define LOAD(x) (x)
#define STORE(v) wk_one_nan_f64(v)
#define LINE(name) name##_f64
#include "stencil_body.h"

typedef struct lines {
    void (*load)(const char *from, int64_t n, double *line);
    void (*store)(const double *line, int64_t n, char *to);
} lines;

static const lines table[WK_DTYPES] = {
    [WK_BOOL] = {load_bool, store_bool}, [WK_I8] = {load_i8, store_i8},
    [WK_U8] = {load_u8, store_u8},       [WK_I16] = {load_i16, store_i16},
    [WK_U16] = {load_u16, store_u16},    [WK_I32] = {load_i32, store_i32},
    [WK_U32] = {load_u32, store_u32},    [WK_I64] = {load_i64, store_i64},
    [WK_U64] = {load_u64, store_u64},    [WK_F32] = {load_f32, store_f32},
    [WK_F64] = {load_f64, store_f64},
};

typedef struct job {
    const wk_stencil_args *args;
    const lines *convert;
    const double *taps;
    const char *in;
    char *out;
    int64_t item, segments, width; /* width: of a segment, along n or along inner */
    double *scratch;               /* per thread: halo + segment in, segment out */
    int64_t scratch_each;
} job;

/* y[0 .. n) += taps over x[0 .. n + taps - 1). */
static void
correlate(const double *x, const double *taps, int64_t count, int64_t n, double *y)
{
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        double sum[BLOCK] = {0};
        for (int64_t t = 0; t < count; t++)
            for (int b = 0; b < BLOCK; b++) sum[b] = fma(taps[t], x[i + t + b], sum[b]);
        memcpy(y + i, sum, sizeof sum);
    }
    for (; i < n; i++) {
        double sum = 0;
        for (int64_t t = 0; t < count; t++) sum = fma(taps[t], x[i + t], sum);
        y[i] = sum;
    }
}

/* The line's elements start .. start + count - 1, those beyond its ends by the mode. */
static void
load_extended(const job *j, const char *line, int64_t start, int64_t count, double *x)
{
    const wk_stencil_args *a = j->args;
    const int64_t from = start < 0 ? (-start < count ? -start : count) : 0;
    int64_t to = start + count > a->n ? a->n - start : count;
    if (to < from) to = from;
    if (to > from) j->convert->load(line + (start + from) * j->item, to - from, x + from);
    for (int64_t i = 0; i < count; i++) {
        if (i == from) i = to;
        if (i >= count) break;
        const int64_t at = wk_extend(start + i, a->n, a->mode);
        if (at < 0)
            x[i] = a->cval[0];
        else
            j->convert->load(line + at * j->item, 1, x + i);
    }
}

static void
last_axis(const job *j, int64_t task, int thread)
{
    const wk_stencil_args *a = j->args;
    const int64_t row = task / j->segments, start = task % j->segments * j->width;
    const int64_t n = a->n - start < j->width ? a->n - start : j->width;
    double *x = j->scratch + thread * j->scratch_each, *y = x + j->width + a->taps;
    load_extended(j, j->in + row * a->n * j->item, start - a->before, n + a->taps - 1, x);
    correlate(x, j->taps, a->taps, n, y);
    j->convert->store(y, n, j->out + (row * a->n + start) * j->item);
}

/* One output row of `width` neighbours: taps are far apart in memory, so each adds a row. */
static void
other_axis(const job *j, int64_t task, int thread)
{
    const wk_stencil_args *a = j->args;
    const int64_t column = task % j->segments * j->width, row = task / j->segments;
    const int64_t outer = row / a->n, i = row % a->n;
    const int64_t width = a->inner - column < j->width ? a->inner - column : j->width;
    double *x = j->scratch + thread * j->scratch_each, *y = x + j->width;
    memset(y, 0, (size_t)width * sizeof *y);
    for (int64_t t = 0; t < a->taps; t++) {
        const int64_t at = wk_extend(i + t - a->before, a->n, a->mode);
        const double tap = j->taps[t];
        if (at < 0) {
            for (int64_t w = 0; w < width; w++) y[w] = fma(tap, a->cval[0], y[w]);
            continue;
        }
        j->convert->load(j->in + ((outer * a->n + at) * a->inner + column) * j->item, width, x);
        for (int64_t w = 0; w < width; w++) y[w] = fma(tap, x[w], y[w]);
    }
    j->convert->store(y, width, j->out + (row * a->inner + column) * j->item);
}

static void
segments_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    for (int64_t i = begin; i < end; i++)
        if (j->args->inner == 1)
            last_axis(j, i, thread);
        else
            other_axis(j, i, thread);
}

wk_status
WK_ISA_NAME(wk_stencil1d_cpu_lines)(wk_call *call)
{
    const wk_stencil_args *a = &call->args.stencil;
    job j = {.args = a, .convert = &table[call->in.dtype], .taps = call->aux.data};
    j.in = (const char *)call->in.data + call->in.first;
    j.out = call->out[0].data;
    j.item = wk_itemsize[call->in.dtype];

    const int last = a->inner == 1;
    const int64_t along = last ? a->n : a->inner;
    j.width = along < SEGMENT ? along : SEGMENT;
    j.segments = (along + j.width - 1) / j.width;
    j.scratch_each = 2 * j.width + a->taps;
    const int64_t bytes =
        wk_thread_count(call->context) * j.scratch_each * (int64_t)sizeof(double);
    j.scratch = malloc((size_t)bytes);
    if (j.scratch == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %lld bytes for lines",
                       (long long)bytes);
    const int64_t rows = last ? a->outer : a->outer * a->n;
    const int64_t each = j.width * a->taps;
    wk_parallel(call->context, rows * j.segments, each < TASK ? TASK / each : 1, segments_task,
                &j);
    free(j.scratch);
    return WK_OK;
}
