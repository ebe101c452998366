/* histogram_bins.c -- the bin of each element of a block.
 *
 * Elements of every dtype are first made doubles (equal bins) or the edges' type (search), so
 * that the arithmetic of bins is there once, in vectors. Bins are int64, as wide as a double:
 * vectors of both have as many lanes, and any number of bins fits.
 * Of 8 and of 16 bits there are few patterns. Where finding a bin is work and elements are many,
 * each pattern's bin is found once. */
#include "histogram.h"
#include "cpu/fp.h"

#include <math.h>
#include <stdlib.h>

enum {
    MANY_16 = 1 << 17,  /* elements of 16 bits that pay for 65,536 patterns, */
    QUICK_16 = 1 << 19, /* where the quick guess does for bins,              */
    MANY_8 = 1 << 10    /* and of 8 bits, for 256                            */
};

/* ---- elements as what bins are computed in ------------------------------------------------ */

#define T uint8_t
#define VALUE(x) ((x) != 0)
#define WIDE uint64_t
#define OF(name) name##_bool
#include "histogram_bins_body.h"
#define T int8_t
#define VALUE(x) (x)
#define WIDE int64_t
#define OF(name) name##_i8
#include "histogram_bins_body.h"
#define T uint8_t
#define VALUE(x) (x)
#define WIDE uint64_t
#define OF(name) name##_u8
#include "histogram_bins_body.h"
#define T int16_t
#define VALUE(x) (x)
#define WIDE int64_t
#define OF(name) name##_i16
#include "histogram_bins_body.h"
#define T uint16_t
#define VALUE(x) (x)
#define WIDE uint64_t
#define OF(name) name##_u16
#include "histogram_bins_body.h"
#define T int32_t
#define VALUE(x) (x)
#define WIDE int64_t
#define OF(name) name##_i32
#include "histogram_bins_body.h"
#define T uint32_t
#define VALUE(x) (x)
#define WIDE uint64_t
#define OF(name) name##_u32
#include "histogram_bins_body.h"
#define T int64_t
#define VALUE(x) (x)
#define WIDE int64_t
#define OF(name) name##_i64
#include "histogram_bins_body.h"
#define T uint64_t
#define VALUE(x) (x)
#define WIDE uint64_t
#define OF(name) name##_u64
#include "histogram_bins_body.h"
#define T uint16_t
#define VALUE(x) wk_f32_of_f16(x)
#define OF(name) name##_f16
#include "histogram_bins_body.h"
#define T uint16_t
#define VALUE(x) wk_f32_of_bf16(x)
#define OF(name) name##_bf16
#include "histogram_bins_body.h"
#define T float
#define VALUE(x) (x)
#define OF(name) name##_f32
#include "histogram_bins_body.h"

static void
uniform_f64(const wk_binner *b, const void *x, int64_t n, int64_t *bin)
{
    WK_ISA_NAME(wk_uniform_bins)(b, x, n, bin);
}

static const struct {
    wk_bins_fn *values, *uniform, *by_f64, *by_i64, *by_u64;
} table[WK_C64] = {
#define INTEGER(t)                                                                             \
    {                                                                                          \
        values_##t, uniform_##t, by_f64_##t, by_i64_##t, by_u64_##t                            \
    }
    [WK_BOOL] = INTEGER(bool),
    [WK_I8] = INTEGER(i8),
    [WK_U8] = INTEGER(u8),
    [WK_I16] = INTEGER(i16),
    [WK_U16] = INTEGER(u16),
    [WK_I32] = INTEGER(i32),
    [WK_U32] = INTEGER(u32),
    [WK_I64] = INTEGER(i64),
    [WK_U64] = INTEGER(u64),
    [WK_F16] = {NULL, uniform_f16, by_f64_f16, NULL, NULL},
    [WK_BF16] = {NULL, uniform_bf16, by_f64_bf16, NULL, NULL},
    [WK_F32] = {NULL, uniform_f32, by_f64_f32, NULL, NULL},
    [WK_F64] = {NULL, uniform_f64, WK_ISA_NAME(wk_edges_bins_f64), NULL, NULL},
};

/* ---- few patterns ------------------------------------------------------------------------- */

static void
table_8(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const uint8_t *x = from;
    const int64_t *bins = b->table;
    for (int64_t i = 0; i < n; i++) bin[i] = bins[x[i]];
}

static void
table_16(const wk_binner *b, const void *from, int64_t n, int64_t *bin)
{
    const uint16_t *x = from;
    const int64_t *bins = b->table;
    for (int64_t i = 0; i < n; i++) bin[i] = bins[x[i]];
}

static wk_status
fill_table(wk_binner *b, wk_call *call, int item)
{
    const int patterns = 1 << (8 * item);
    uint16_t some[WK_BIN_BLOCK];
    uint8_t bytes[WK_BIN_BLOCK];
    b->table = malloc((size_t)patterns * sizeof *b->table);
    if (b->table == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate the bins of %d patterns",
                       patterns);
    for (int first = 0; first < patterns; first += WK_BIN_BLOCK) {
        const int left = patterns - first, n = left < WK_BIN_BLOCK ? left : WK_BIN_BLOCK;
        for (int i = 0; i < n; i++) {
            some[i] = (uint16_t)(first + i);
            bytes[i] = (uint8_t)(first + i);
        }
        b->find(b, item == 1 ? (const void *)bytes : some, n, b->table + first);
    }
    b->find = item == 1 ? table_8 : table_16;
    return WK_OK;
}

/* ---- the plan ----------------------------------------------------------------------------- */

wk_status
WK_ISA_NAME(wk_binner_start)(wk_binner *b, wk_call *call, int64_t n)
{
    const wk_histogram_args *a = &call->args.histogram;
    const wk_dtype in = call->in.dtype;
    const int item = wk_itemsize[in];
    wk_status status = WK_OK;
    memset(b, 0, sizeof *b);
    b->args = a;
    b->bins = a->bins;
    b->dtype = in;
    b->edges_dtype = call->aux.dtype;
    b->edges = call->aux.data;
    int quick = 0;
    const wk_fp_state state = wk_fp_begin(); /* a guide rounds as the search does */
    switch (a->kind) {
    case WK_BINS_VALUES: b->find = table[in].values; break;
    case WK_BINS_UNIFORM:
        WK_ISA_NAME(wk_plan_uniform)(b);
        b->find = table[in].uniform;
        quick = b->guard >= 0;
        break;
    case WK_BINS_EDGES:
        status = WK_ISA_NAME(wk_plan_edges)(b, call, n);
        b->find = b->edges_dtype == WK_I64   ? table[in].by_i64
                  : b->edges_dtype == WK_U64 ? table[in].by_u64
                                             : table[in].by_f64;
        break;
    }
    const int found = a->kind == WK_BINS_VALUES; /* of 16 bits: the pattern tells no more */
    const int64_t least = item == 1 ? MANY_8 : quick ? QUICK_16 : MANY_16;
    const int many = (item == 1 || (item == 2 && !found)) && n >= least;
    if (status == WK_OK && many) status = fill_table(b, call, item);
    wk_fp_end(state);
    return status;
}

void
WK_ISA_NAME(wk_binner_end)(wk_binner *b)
{
    free(b->table);
    free(b->guide.start);
    free(b->guide.edges);
}
