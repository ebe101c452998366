/* warp_histogram / cpu bitonic -- distinct values and their counts in each 32 elements.
 *
 * In, out   in[n] -> values[warps][32] ascending, counts[warps][32], totals[warps];
 *           zeros behind.
 * Better    than sorting each group by itself: 4 or 8 go through one sorting network side by
 *           side, so that each compare-exchange is a vector's and none is a branch.
 * Source    K. Batcher, "Sorting networks and their applications" (1968). */
#include "num/keys.h"
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

/* num/keys.h's way back, with the NaN at hand: 2^22 halves take 8.9 ms, by that one 15.1 (AMD EPYC). */
static inline uint16_t
value_16(uint32_t key, uint16_t nan)
{
    return key == 0xffff ? nan : (uint16_t)(key ^ (key >> 15 ? 0x8000 : 0xffff));
}

#define WARPS(name) OF(name)
#define K KIND(K)
#define K_truth uint32_t
#define K_int uint32_t
#define K_long uint64_t
#define K_f16 uint32_t
#define K_bf16 uint32_t
#define K_f32 uint32_t
#define K_f64 uint64_t
#define SIGN ((T)-1 > 0 ? (K)0 : (K)1 << (8 * sizeof(K) - 1))
#define KEY(x) KIND(KEY)(x)
#define KEY_truth(x) ((x) != 0)
#define KEY_int(x) ((K)(x) ^ SIGN)
#define KEY_long(x) ((K)(x) ^ SIGN)
#define KEY_f16(x) wk_sort_key_16(x, 0x7c00)
#define KEY_bf16(x) wk_sort_key_16(x, 0x7f80)
#define KEY_f32(x) wk_sort_key_f32(x)
#define KEY_f64(x) wk_sort_key_f64(x)
#define VALUE(k) KIND(VALUE)(k)
#define VALUE_truth(k) (k)
#define VALUE_int(k) ((k) ^ SIGN)
#define VALUE_long(k) ((k) ^ SIGN)
#define VALUE_f16(k) value_16(k, 0x7e00)
#define VALUE_bf16(k) value_16(k, 0x7fc0)
#define VALUE_f32(k) wk_from_sort_key_f32(k)
#define VALUE_f64(k) wk_from_sort_key_f64(k)
#define BODY "warp_histogram_body.h"
#include "each_real.h"

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
