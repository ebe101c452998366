/* count.c -- any, all, count_nonzero: is a bit set? Of floats the sign is none; NaN is nonzero. */
#include "cpu/isa.h"
#include "cpu/reduction.h"

#define U uint8_t
#define PER 1
#define BITS(x) (x)
#define FN(name) name##_8
#include "count_body.h"
#define U uint16_t
#define PER 1
#define BITS(x) (x)
#define FN(name) name##_16
#include "count_body.h"
#define U uint32_t
#define PER 1
#define BITS(x) (x)
#define FN(name) name##_32
#include "count_body.h"
#define U uint64_t
#define PER 1
#define BITS(x) (x)
#define FN(name) name##_64
#include "count_body.h"
#define U uint16_t
#define PER 1
#define BITS(x) ((x)&0x7fff)
#define FN(name) name##_half
#include "count_body.h"
#define U uint32_t
#define PER 1
#define BITS(x) ((x)&0x7fffffffu)
#define FN(name) name##_float
#include "count_body.h"
#define U uint64_t
#define PER 1
#define BITS(x) ((x)&0x7fffffffffffffffu)
#define FN(name) name##_double
#include "count_body.h"
#define U uint32_t
#define PER 2
#define BITS(x) ((x)&0x7fffffffu)
#define FN(name) name##_c64
#include "count_body.h"
#define U uint64_t
#define PER 2
#define BITS(x) ((x)&0x7fffffffffffffffu)
#define FN(name) name##_c128
#include "count_body.h"

static void
count_start(void *lanes, int64_t stride)
{
    memset(lanes, 0, (size_t)stride * 8);
}

static void
seen_start(void *lanes, int64_t stride)
{
    memset(lanes, 0, (size_t)stride);
}

#define any_start seen_start
#define all_start seen_start

static void
count_absorb(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    (void)stride;
    a->nonzero += ((const int64_t *)lanes)[w];
}

static void
any_absorb(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    (void)stride;
    a->some += ((const uint8_t *)lanes)[w];
}

static void
all_absorb(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    (void)stride;
    a->zero += ((const uint8_t *)lanes)[w];
}

static void
merge_nonzero(wk_acc *a, const wk_acc *b)
{
    a->nonzero += b->nonzero;
}

static void
merge_some(wk_acc *a, const wk_acc *b)
{
    a->some += b->some;
}

static void
merge_zero(wk_acc *a, const wk_acc *b)
{
    a->zero += b->zero;
}

#define COUNT(way, type, size, merge)                                                          \
    {                                                                                          \
        1, size, way##_rows_##type, way##_columns_##type, way##_start, way##_run_##type,       \
            way##_absorb, merge                                                                \
    }
#define COUNTS(way, size, merge)                                                               \
    [WK_BOOL] = COUNT(way, 8, size, merge), [WK_I8] = COUNT(way, 8, size, merge),              \
    [WK_U8] = COUNT(way, 8, size, merge), [WK_I16] = COUNT(way, 16, size, merge),              \
    [WK_U16] = COUNT(way, 16, size, merge), [WK_I32] = COUNT(way, 32, size, merge),            \
    [WK_U32] = COUNT(way, 32, size, merge), [WK_I64] = COUNT(way, 64, size, merge),            \
    [WK_U64] = COUNT(way, 64, size, merge), [WK_F16] = COUNT(way, half, size, merge),          \
    [WK_BF16] = COUNT(way, half, size, merge), [WK_F32] = COUNT(way, float, size, merge),      \
    [WK_F64] = COUNT(way, double, size, merge), [WK_C64] = COUNT(way, c64, size, merge),       \
    [WK_C128] = COUNT(way, c128, size, merge)

const wk_folding WK_ISA_NAME(wk_folding_count)[WK_DTYPES] = {COUNTS(count, 8, merge_nonzero)};
const wk_folding WK_ISA_NAME(wk_folding_any)[WK_DTYPES] = {COUNTS(any, 1, merge_some)};
const wk_folding WK_ISA_NAME(wk_folding_all)[WK_DTYPES] = {COUNTS(all, 1, merge_zero)};
