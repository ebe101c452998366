/* warp_histogram / cpu bitonic -- distinct values and their counts in each 32 elements.
 *
 * In, out   in[n] -> values[warps][32] ascending, counts[warps][32], totals[warps];
 *           zeros behind.
 * Better    than sorting each group by itself: 4 or 8 go through one sorting network side by
 *           side, so that each compare-exchange is a vector's and none is a branch.
 * Source    K. Batcher, "Sorting networks and their applications" (1968). */
#include "scalar.h"
#include "cpu/isa.h"
#include "cpu/threads.h"

enum {
    GRAIN = 1024, /* groups a task: 50 us of work */
#ifdef __AVX2__
    VECTOR = 32 /* bytes of a register; longer vectors are taken apart element by element */
#else
    VECTOR = 16
#endif
};

typedef struct job {
    const void *in;
    void *values;
    int32_t *counts, *totals;
    int64_t n;
    int sorted;
} job;

/* scalar.h's keys, of 16 bits: all NaN above `inf`, the bits of infinity, are one, the last. */
static inline uint32_t
key_16(uint16_t x, uint16_t inf)
{
    const uint32_t b = x & 0x7fff ? x : 0;
    return (b & 0x7fff) > inf ? 0xffff : b ^ (b >> 15 ? 0xffff : 0x8000);
}

static inline uint16_t
value_16(uint32_t key, uint16_t nan)
{
    return key == 0xffff ? nan : (uint16_t)(key ^ (key >> 15 ? 0x8000 : 0xffff));
}

#define T uint8_t
#define K uint32_t
#define KEY(x) ((x) != 0)
#define VALUE(k) (k)
#define WARPS(name) name##_bool
#include "warp_histogram_body.h"
#define T int8_t
#define K uint32_t
#define KEY(x) ((uint32_t)(int32_t)(x) ^ 0x80000000u)
#define VALUE(k) ((int32_t)((k) ^ 0x80000000u))
#define WARPS(name) name##_i8
#include "warp_histogram_body.h"
#define T uint8_t
#define K uint32_t
#define KEY(x) (x)
#define VALUE(k) (k)
#define WARPS(name) name##_u8
#include "warp_histogram_body.h"
#define T int16_t
#define K uint32_t
#define KEY(x) ((uint32_t)(int32_t)(x) ^ 0x80000000u)
#define VALUE(k) ((int32_t)((k) ^ 0x80000000u))
#define WARPS(name) name##_i16
#include "warp_histogram_body.h"
#define T uint16_t
#define K uint32_t
#define KEY(x) (x)
#define VALUE(k) (k)
#define WARPS(name) name##_u16
#include "warp_histogram_body.h"
#define T int32_t
#define K uint32_t
#define KEY(x) ((uint32_t)(int32_t)(x) ^ 0x80000000u)
#define VALUE(k) ((int32_t)((k) ^ 0x80000000u))
#define WARPS(name) name##_i32
#include "warp_histogram_body.h"
#define T uint32_t
#define K uint32_t
#define KEY(x) (x)
#define VALUE(k) (k)
#define WARPS(name) name##_u32
#include "warp_histogram_body.h"
#define T int64_t
#define K uint64_t
#define KEY(x) ((uint64_t)(x) ^ 0x8000000000000000u)
#define VALUE(k) ((int64_t)((k) ^ 0x8000000000000000u))
#define WARPS(name) name##_i64
#include "warp_histogram_body.h"
#define T uint64_t
#define K uint64_t
#define KEY(x) (x)
#define VALUE(k) (k)
#define WARPS(name) name##_u64
#include "warp_histogram_body.h"
#define T uint16_t
#define K uint32_t
#define KEY(x) key_16(x, 0x7c00)
#define VALUE(k) value_16(k, 0x7e00)
#define WARPS(name) name##_f16
#include "warp_histogram_body.h"
#define T uint16_t
#define K uint32_t
#define KEY(x) key_16(x, 0x7f80)
#define VALUE(k) value_16(k, 0x7fc0)
#define WARPS(name) name##_bf16
#include "warp_histogram_body.h"
#define T float
#define K uint32_t
#define KEY(x) wk_sort_key_f32(x)
#define VALUE(k) wk_from_sort_key_f32(k)
#define WARPS(name) name##_f32
#include "warp_histogram_body.h"
#define T double
#define K uint64_t
#define KEY(x) wk_sort_key_f64(x)
#define VALUE(k) wk_from_sort_key_f64(k)
#define WARPS(name) name##_f64
#include "warp_histogram_body.h"

static wk_task *const tasks[WK_DTYPES] = {
    [WK_BOOL] = task_bool, [WK_I8] = task_i8,   [WK_U8] = task_u8,     [WK_I16] = task_i16,
    [WK_U16] = task_u16,   [WK_I32] = task_i32, [WK_U32] = task_u32,   [WK_I64] = task_i64,
    [WK_U64] = task_u64,   [WK_F16] = task_f16, [WK_BF16] = task_bf16, [WK_F32] = task_f32,
    [WK_F64] = task_f64,
};

WK_CPU_LAUNCHER(warp_histogram, bitonic)
{
    const wk_warp_histogram_args *a = &call->args.warp_histogram;
    job j = {.n = a->n, .sorted = a->sorted};
    j.in = (const char *)call->in.data + call->in.first;
    j.values = call->out[0].data;
    j.counts = call->out[1].data;
    j.totals = call->out[2].data;
    wk_parallel(call->context, (a->n + 31) / 32, GRAIN, tasks[call->in.dtype], &j);
    return WK_OK;
}
