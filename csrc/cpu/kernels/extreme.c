/* extreme.c -- min and max: integers as they are, floats as ordered integers.
 *
 * A complex number's order is that of its parts' keys, the real one's first; with a NaN in either
 * part it wins. */
#include "cpu/isa.h"
#include "cpu/reduction.h"
#include "keys.h"

#define NAME(name) min_##name
#define OP(a, b) ((a) < (b) ? (a) : (b))
#define LOSER(T) WK_TOP(T)
#define WINNER(T) WK_BOTTOM(T)
#define ZERO_SIGN(a, b) ((a) | (b))
#define PLACE(a) (a)->least
#include "extreme_types.h"
#undef NAME
#undef OP
#undef LOSER
#undef WINNER
#undef ZERO_SIGN
#undef PLACE

#define NAME(name) max_##name
#define OP(a, b) ((a) > (b) ? (a) : (b))
#define LOSER(T) WK_BOTTOM(T)
#define WINNER(T) WK_TOP(T)
#define ZERO_SIGN(a, b) ((a) & (b))
#define PLACE(a) (a)->most
#include "extreme_types.h"

/* ---- complex ------------------------------------------------------------------------------ */

/* A NaN becomes the key pair that wins; max turns all keys round. An accumulator holds keys. */
static inline int
before(const int64_t *a, const int64_t *b)
{
    return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

static inline void
complex_key(double real, double imag, int most, int64_t *key)
{
    const int nan = real != real || imag != imag;
    key[0] = nan ? INT64_MIN : wk_order_f64(real, 0) ^ -(int64_t)most;
    key[1] = nan ? INT64_MIN : wk_order_f64(imag, 0) ^ -(int64_t)most;
}

static inline void
complex_run(wk_value *place, const void *x, int64_t n, int wide, int most)
{
    for (int64_t i = 0; i < n; i++) {
        const double real = wide ? ((const double *)x)[2 * i] : ((const float *)x)[2 * i];
        const double imag =
            wide ? ((const double *)x)[2 * i + 1] : ((const float *)x)[2 * i + 1];
        int64_t key[2], best[2];
        memcpy(best, place, sizeof best);
        complex_key(real, imag, most, key);
        if (before(key, best)) memcpy(place, key, sizeof key);
    }
}

#define COMPLEX(type, wide)                                                                    \
    static void min_run_##type(wk_acc *a, const void *x, int64_t n, int64_t index)             \
    {                                                                                          \
        (void)index;                                                                           \
        complex_run(&a->least, x, n, wide, 0);                                                 \
    }                                                                                          \
    static void max_run_##type(wk_acc *a, const void *x, int64_t n, int64_t index)             \
    {                                                                                          \
        (void)index;                                                                           \
        complex_run(&a->most, x, n, wide, 1);                                                  \
    }
COMPLEX(c64, 0)
COMPLEX(c128, 1)

static void
start_complex(void *lanes, int64_t stride)
{
    int64_t *key = lanes;
    (void)stride;
    key[0] = key[1] = INT64_MAX;
}

static void
merge_complex(wk_value *a, const wk_value *b)
{
    int64_t mine[2], other[2];
    memcpy(mine, a, sizeof mine);
    memcpy(other, b, sizeof other);
    if (before(other, mine)) *a = *b;
}

static void
min_merge_complex(wk_acc *a, const wk_acc *b)
{
    merge_complex(&a->least, &b->least);
}

static void
max_merge_complex(wk_acc *a, const wk_acc *b)
{
    merge_complex(&a->most, &b->most);
}

/* ---- tables ------------------------------------------------------------------------------- */

#define EXTREME(way, type, size)                                                               \
    {                                                                                          \
        1, size, way##_rows_##type, way##_columns_##type, way##_start_##type,                  \
            way##_run_##type, way##_absorb_##type, way##_merge_##type                          \
    }
#define EXTREME_COMPLEX(way, type)                                                             \
    {                                                                                          \
        2, 8, NULL, NULL, start_complex, way##_run_##type, NULL, way##_merge_complex           \
    }
#define EXTREMES(way)                                                                          \
    [WK_BOOL] = EXTREME(way, bool, 1), [WK_I8] = EXTREME(way, i8, 1),                          \
    [WK_U8] = EXTREME(way, u8, 1), [WK_I16] = EXTREME(way, i16, 2),                            \
    [WK_U16] = EXTREME(way, u16, 2), [WK_I32] = EXTREME(way, i32, 4),                          \
    [WK_U32] = EXTREME(way, u32, 4), [WK_I64] = EXTREME(way, i64, 8),                          \
    [WK_U64] = EXTREME(way, u64, 8), [WK_F16] = EXTREME(way, f16, 2),                          \
    [WK_BF16] = EXTREME(way, bf16, 2), [WK_F32] = EXTREME(way, f32, 4),                        \
    [WK_F64] = EXTREME(way, f64, 8), [WK_C64] = EXTREME_COMPLEX(way, c64),                     \
    [WK_C128] = EXTREME_COMPLEX(way, c128)

const wk_folding WK_ISA_NAME(wk_folding_min)[WK_DTYPES] = {EXTREMES(min)};
const wk_folding WK_ISA_NAME(wk_folding_max)[WK_DTYPES] = {EXTREMES(max)};
