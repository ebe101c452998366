/* lanes / cpu lanes -- the warp primitives, a warp of 32 elements at a time.
 *
 * In, out   in[outer][n] -> what each lane gets, by num/lanes.h's rules.
 * How       a warp's elements are an array of 32; what an instruction does to all lanes at once is
 *           a loop over it. Folds take the tree that the lanes take, so that floats round alike. */
#include "num/halves.h"
#include "num/lanes.h"
#include "cpu/isa.h"
#include "cpu/threads.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 256 }; /* warps of a thread's share: 25 us and more */

typedef struct job {
    const wk_lanes_args *a;
    const char *in;
    const int32_t *aux;
    char *out;
    int64_t per_line, step; /* warps and elements of a warp                                 */
    int in_item, out_item;
    wk_dtype dtype, folds; /* in's, out's */
    void (*warp)(const struct job *j, int64_t first, int there);
} job;

/* ---- shuffles --------------------------------------------------------------------------- */

static void
shuffle(const job *j, int64_t first, int there)
{
    const wk_lanes_args *a = j->a;
    const size_t item = (size_t)j->in_item;
    const char *in = j->in + first * j->in_item;
    char *out = j->out + first * j->in_item;
    for (int i = 0; i < there; i++) {
        const int operand = a->per_lane ? j->aux[first + i] : a->operand;
        const int source = wk_source_lane(a->kind, i, operand, a->width, there);
        memcpy(out + (size_t)i * item, in + (size_t)source * item, item);
    }
}

/* ---- votes and matches ------------------------------------------------------------------ */

static uint64_t
word_at(const job *j, int64_t i)
{
    uint64_t word = 0;
    memcpy(&word, j->in + i * j->in_item, (size_t)j->in_item);
    return word;
}

/* Is the element another number than zero? -0.0 is zero. */
static int
holds(const job *j, int64_t i)
{
    const uint64_t word = word_at(j, i);
    switch (j->dtype) {
    case WK_F16:
    case WK_BF16: return (word & 0x7fff) != 0;
    case WK_F32: return (word & 0x7fffffffu) != 0;
    case WK_F64: return (word & INT64_MAX) != 0;
    case WK_C64: return (word & 0x7fffffff7fffffffu) != 0;
    default: return word != 0;
    }
}

static void
vote(const job *j, int64_t first, int there)
{
    uint32_t ballot = 0;
    for (int i = 0; i < there; i++) ballot |= (uint32_t)holds(j, first + i) << i;
    const uint32_t full = there == 32 ? UINT32_MAX : ((uint32_t)1 << there) - 1;
    for (int i = 0; i < there; i++) {
        if (j->a->kind == WK_LANES_BALLOT)
            ((uint32_t *)j->out)[first + i] = ballot;
        else
            ((uint8_t *)j->out)[first + i] =
                j->a->kind == WK_LANES_ANY ? ballot != 0 : ballot == full;
    }
}

static void
match(const job *j, int64_t first, int there)
{
    uint32_t *out = (uint32_t *)j->out + first;
    const uint32_t full = there == 32 ? UINT32_MAX : ((uint32_t)1 << there) - 1;
    uint64_t words[32];
    int all = 1;
    for (int i = 0; i < there; i++) words[i] = word_at(j, first + i);
    for (int i = 0; i < there; i++) {
        out[i] = 0;
        for (int k = 0; k < there; k++) out[i] |= (uint32_t)(words[i] == words[k]) << k;
        all = all && out[i] == full;
    }
    if (j->a->kind == WK_LANES_MATCH_ALL)
        for (int i = 0; i < there; i++) out[i] = all ? full : 0;
}

/* ---- folds ------------------------------------------------------------------------------ */

#define WRAP(a, b, U) ((U)(a) + (U)(b))
#define T int32_t
#define WHOLE
#define SUM(a, b) (int32_t) WRAP(a, b, uint32_t)
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define MOST INT32_MAX
#define LEAST INT32_MIN
#define ABSENT 0
#define FOLD(name) name##_i32
#include "cpu/kernels/lanes_fold_body.h"
#define T uint32_t
#define WHOLE
#define SUM(a, b) ((a) + (b))
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define MOST UINT32_MAX
#define LEAST 0
#define ABSENT 0
#define FOLD(name) name##_u32
#include "cpu/kernels/lanes_fold_body.h"
#define T int64_t
#define WHOLE
#define SUM(a, b) (int64_t) WRAP(a, b, uint64_t)
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define MOST INT64_MAX
#define LEAST INT64_MIN
#define ABSENT 0
#define FOLD(name) name##_i64
#include "cpu/kernels/lanes_fold_body.h"
#define T uint64_t
#define WHOLE
#define SUM(a, b) ((a) + (b))
#define LESSER(a, b) ((a) < (b) ? (a) : (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define MOST UINT64_MAX
#define LEAST 0
#define ABSENT 0
#define FOLD(name) name##_u64
#include "cpu/kernels/lanes_fold_body.h"
#define T float
#define SUM(a, b) wk_one_nan_f32((a) + (b))
#define LESSER(a, b) wk_lesser_f32(a, b)
#define GREATER(a, b) wk_greater_f32(a, b)
#define MOST INFINITY
#define LEAST -INFINITY
#define ABSENT -0.0f /* which changes no sum */
#define FOLD(name) name##_f32
#include "cpu/kernels/lanes_fold_body.h"
#define T double
#define SUM(a, b) wk_one_nan_f64((a) + (b))
#define LESSER(a, b) wk_lesser_f64(a, b)
#define GREATER(a, b) wk_greater_f64(a, b)
#define MOST (double)INFINITY
#define LEAST -(double)INFINITY
#define ABSENT -0.0
#define FOLD(name) name##_f64
#include "cpu/kernels/lanes_fold_body.h"

typedef union wide {
    int32_t i32[32];
    uint32_t u32[32];
    int64_t i64[32];
    uint64_t u64[32];
    float f32[32];
    double f64[32];
} wide;

/* A warp's elements as they are folded; of floats with one NaN only. */
static void
widen(const job *j, int64_t first, int there, wide *to)
{
    const void *in = j->in + first * j->in_item;
#define EACH(member, x)                                                                        \
    for (int i = 0; i < there; i++) to->member[i] = x
    switch (j->dtype) {
    case WK_BOOL: EACH(i32, ((const uint8_t *)in)[i] != 0); break;
    case WK_I8: EACH(i32, ((const int8_t *)in)[i]); break;
    case WK_U8: EACH(u32, ((const uint8_t *)in)[i]); break;
    case WK_I16: EACH(i32, ((const int16_t *)in)[i]); break;
    case WK_U16: EACH(u32, ((const uint16_t *)in)[i]); break;
    case WK_I32: EACH(i32, ((const int32_t *)in)[i]); break;
    case WK_U32: EACH(u32, ((const uint32_t *)in)[i]); break;
    case WK_I64: EACH(i64, ((const int64_t *)in)[i]); break;
    case WK_U64: EACH(u64, ((const uint64_t *)in)[i]); break;
    case WK_F16: EACH(f32, wk_one_nan_f32(wk_f32_of_f16(((const uint16_t *)in)[i]))); break;
    case WK_BF16: EACH(f32, wk_one_nan_f32(wk_f32_of_bf16(((const uint16_t *)in)[i]))); break;
    case WK_F32: EACH(f32, wk_one_nan_f32(((const float *)in)[i])); break;
    default: EACH(f64, wk_one_nan_f64(((const double *)in)[i])); break;
    }
#undef EACH
}

static void
fold(const job *j, int64_t first, int there, int scan)
{
    wide in;
    void *out = j->out + first * j->out_item;
    widen(j, first, there, &in);
#define FOLD_OF(of) (scan ? scan_##of : reduce_##of)(j->a, in.of, out, there)
    switch (j->folds) {
    case WK_I32: FOLD_OF(i32); break;
    case WK_U32: FOLD_OF(u32); break;
    case WK_I64: FOLD_OF(i64); break;
    case WK_U64: FOLD_OF(u64); break;
    case WK_F32: FOLD_OF(f32); break;
    default: FOLD_OF(f64); break;
    }
#undef FOLD_OF
}

static void
reduce(const job *j, int64_t first, int there)
{
    fold(j, first, there, 0);
}

static void
scan(const job *j, int64_t first, int there)
{
    fold(j, first, there, 1);
}

/* ---- bits ------------------------------------------------------------------------------- */

static void
count_bits(const job *j, int64_t first, int there)
{
    for (int i = 0; i < there; i++)
        ((int32_t *)j->out)[first + i] = __builtin_popcountll(word_at(j, first + i));
}

static void
find_bits(const job *j, int64_t first, int there)
{
    for (int i = 0; i < there; i++)
        ((uint32_t *)j->out)[first + i] =
            wk_find_nth_set((uint32_t)word_at(j, first + i), j->a->operand, j->a->offset);
}

/* ---- arrays of lanes -------------------------------------------------------------------- */

static void
exchange(const job *j, int64_t first, int there)
{
    const wk_lanes_args *a = j->a;
    const size_t item = (size_t)j->in_item;
    const char *in = j->in + first * j->in_item;
    char *out = j->out + first * j->in_item;
    const int lanes = there / a->each;
    for (int i = 0; i < lanes; i++) {
        const int other = wk_source_lane(WK_LANES_XOR, i, a->operand, a->width, lanes);
        for (int e = 0; e < a->each; e++) {
            int from = i, of = e;
            if (a->kind == WK_LANES_XOR_ARRAY) {
                from = other;
            } else if (other != i && e == (i < other ? a->first : a->second)) {
                from = other;
                of = i < other ? a->second : a->first;
            }
            memcpy(out + (size_t)(i * a->each + e) * item,
                   in + (size_t)(from * a->each + of) * item, item);
        }
    }
}

/* ---- all of it -------------------------------------------------------------------------- */

static void
warps(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    for (int64_t w = begin; w < end; w++) {
        const int64_t at = w % j->per_line * j->step, left = j->a->n - at;
        j->warp(j, w / j->per_line * j->a->n + at, (int)(left < j->step ? left : j->step));
    }
}

static wk_status
run(wk_call *call, void (*warp)(const job *j, int64_t first, int there))
{
    const wk_lanes_args *a = &call->args.lanes;
    job j = {.a = a, .warp = warp, .dtype = call->in.dtype, .out = call->out[0].data};
    j.in = (const char *)call->in.data + call->in.first;
    j.aux =
        a->per_lane ? (const int32_t *)((const char *)call->aux.data + call->aux.first) : NULL;
    j.folds = call->out[0].dtype;
    j.in_item = wk_itemsize[call->in.dtype];
    j.out_item = wk_itemsize[call->out[0].dtype];
    j.step = 32 * (a->each > 0 ? a->each : 1);
    j.per_line = (a->n + j.step - 1) / j.step;
    wk_parallel_short(call->context, a->outer * j.per_line, GRAIN,
                      a->outer * j.per_line / GRAIN, warps, &j);
    return WK_OK;
}

WK_CPU_LAUNCHER(shfl, lanes)
{
    return run(call, shuffle);
}

WK_CPU_LAUNCHER(vote, lanes)
{
    return run(call, vote);
}

WK_CPU_LAUNCHER(match, lanes)
{
    return run(call, match);
}

WK_CPU_LAUNCHER(warp_reduce, lanes)
{
    return run(call, reduce);
}

WK_CPU_LAUNCHER(warp_scan, lanes)
{
    return run(call, scan);
}

WK_CPU_LAUNCHER(lane_bits, lanes)
{
    return run(call, call->args.lanes.kind == WK_LANES_FNS ? find_bits : count_bits);
}

WK_CPU_LAUNCHER(lane_arrays, lanes)
{
    return run(call, exchange);
}
