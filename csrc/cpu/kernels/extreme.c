/* extreme.c -- min and max: integers as they are, floats as ordered integers.
 *
 * A NaN wins, or, where NaN are skipped, loses: where there was nothing else its key is the result's, whose
 * bits are a NaN's. A complex number's order is num/keys.h's; a NaN in either part makes it one. */
#include "cpu/isa.h"
#include "cpu/reduction.h"
#include "keys.h"

#define FN(name) OF(NAME(name))
#define KEY(x, nan) KIND(KEY)(x, nan)
#define KEY_int(x, nan) (x)
#define KEY_long(x, nan) (x)
#define KEY_truth(x, nan) ((x) != 0)
#define KEY_f16(x, nan) wk_order_16(x, 0x7c00, nan)
#define KEY_bf16(x, nan) wk_order_16(x, 0x7f80, nan)
#define KEY_f32(x, nan) wk_order_32(x, nan)
#define KEY_f64(x, nan) wk_order_64(x, nan)
#define WORST LOSER(A)
#define ZEROS_DIFFER 1
#define NAN_KEY KIND(NAN_KEY)
#define NAN_KEY_truth WORST /* there is none */
#define NAN_KEY_int WORST
#define NAN_KEY_long WORST
#define NAN_KEY_f16 WINNER(A)
#define NAN_KEY_bf16 WINNER(A)
#define NAN_KEY_f32 WINNER(A)
#define NAN_KEY_f64 WINNER(A)

#define NAME(name) min_##name
#define OP(a, b) ((a) < (b) ? (a) : (b))
#define LOSER(T) WK_TOP(T)
#define WINNER(T) WK_BOTTOM(T)
#define PLACE(a) (a)->least
#define BODY "extreme_body.h"
#include "each_real.h"
#undef NAME
#undef OP
#undef LOSER
#undef WINNER
#undef PLACE

#define NAME(name) max_##name
#define OP(a, b) ((a) > (b) ? (a) : (b))
#define LOSER(T) WK_BOTTOM(T)
#define WINNER(T) WK_TOP(T)
#define PLACE(a) (a)->most
#define BODY "extreme_body.h"
#include "each_real.h"

/* ---- complex ------------------------------------------------------------------------------ */

/* An accumulator holds an element; {NaN, 0} where there was none yet, {0, NaN} where one had a NaN. */
typedef struct element {
    double real, imag;
} element;

static inline int
before(element a, element b, int most)
{
    return most ? wk_below_c128(b.real, b.imag, a.real, a.imag)
                : wk_below_c128(a.real, a.imag, b.real, b.imag);
}

static inline element
better(element best, element x, int most)
{
    if (x.real != x.real || best.imag != best.imag) return best;
    return best.real != best.real || x.imag != x.imag || before(x, best, most) ? x : best;
}

static inline void
take(wk_value *place, element x, int most)
{
    element best;
    memcpy(&best, place, sizeof best);
    best = better(best, x, most);
    memcpy(place, &best, sizeof best);
}

static inline element
element_of(const void *x, int64_t i, int wide)
{
    const float *f = (const float *)x + 2 * i;
    const double *d = (const double *)x + 2 * i;
    return wide ? (element){d[0], d[1]} : (element){f[0], f[1]};
}

typedef struct order { /* known when it is compiled */
    int wide, most, skip;
} order;

static const element none = {__builtin_nan(""), 0};

/* A row's elements against the best before, parts apart. Not 0 where one by one must tell. */
static inline __attribute__((always_inline)) int64_t
take_row(double *restrict real, double *restrict imag, const void *x, int64_t width, order o)
{
    int64_t odd = 0;
    for (int64_t w = 0; w < width; w++) {
        const element one = element_of(x, w, o.wide), best = {real[w], imag[w]};
        const int64_t above = one.real > best.real;
        const int64_t below = one.real < best.real;
        const int64_t far = one.imag > best.imag;
        const int64_t near = one.imag < best.imag;
        const int64_t nan = __builtin_isunordered(one.real, one.imag);
        int64_t wins = o.most ? above | (~below & far) : below | (~above & near);
        if (o.skip)
            wins = (wins | (best.real != best.real)) & ~nan;
        else
            odd |= nan;
        real[w] = wins & 1 ? one.real : best.real;
        imag[w] = wins & 1 ? one.imag : best.imag;
    }
    return odd;
}

/* Zeros are more than the chip's comparisons tell. */
static inline __attribute__((always_inline)) int64_t
take_rows(double *restrict real, double *restrict imag, const char *x, const int64_t *offsets,
          int64_t n, int64_t width, order o)
{
    const int64_t item = 2 * (o.wide ? sizeof(double) : sizeof(float));
    int64_t odd = 0;
    for (int64_t w = 0; w < width; w++) {
        const element one = element_of(x + offsets[0] * item, w, o.wide);
        const int nan = __builtin_isunordered(one.real, one.imag);
        real[w] = o.skip && nan ? none.real : one.real;
        imag[w] = o.skip && nan ? none.imag : one.imag;
        odd |= o.skip ? 0 : nan;
    }
    for (int64_t i = 1; i < n; i++)
        odd |= take_row(real, imag, x + offsets[i] * item, width, o);
    for (int64_t w = 0; w < width; w++)
        odd |= (real[w] == 0) | ((imag[w] == 0) & (real[w] == real[w]));
    return odd;
}

/* A run is folded as rows that lie side by side. */
static inline element
best_of(const void *x, int64_t n, order o)
{
    enum { WIDTH = 32, ROWS = WK_BLOCK / WIDTH };
    const int64_t rows = n / WIDTH < ROWS ? n / WIDTH : ROWS;
    int64_t offsets[ROWS], done = 0;
    int nan = 0;
    element best = o.skip ? none : element_of(x, 0, o.wide);
    if (rows > 1) {
        double real[WIDTH], imag[WIDTH];
        for (int64_t i = 0; i < rows; i++) offsets[i] = i * WIDTH;
        if (take_rows(real, imag, x, offsets, rows, WIDTH, o) == 0) done = rows * WIDTH;
        for (int64_t w = 0; w < WIDTH && done; w++)
            best = better(best, (element){real[w], imag[w]}, o.most);
    }
    for (int64_t i = done; i < n; i++) {
        const element one = element_of(x, i, o.wide);
        if (!__builtin_isunordered(one.real, one.imag))
            best = better(best, one, o.most);
        else
            nan |= !o.skip;
    }
    return nan ? (element){0, wk_nan()} : best;
}

/* Real parts, then imaginary ones. */
static inline int
complex_columns(double *lane, const void *from, const int64_t *offsets, int64_t n,
                int64_t width, order o)
{
    enum { SIDE = WK_SIDE / sizeof(element) };
    double *imags = lane + wk_stride(width), real[SIDE], imag[SIDE];
    int nan = 0;
    for (int64_t begin = 0; begin < width; begin += SIDE) {
        const char *x =
            (const char *)from + 2 * begin * (o.wide ? sizeof(double) : sizeof(float));
        const int64_t some = width - begin < SIDE ? width - begin : SIDE;
        const int known = take_rows(real, imag, x, offsets, n, some, o) == 0;
        for (int64_t i = 0; i < (known ? 1 : n); i++)
            for (int64_t w = 0; w < some; w++) {
                const element before = {lane[begin + w], imags[begin + w]};
                element one =
                    known ? (element){real[w], imag[w]} : element_of(x, offsets[i] + w, o.wide);
                if (__builtin_isunordered(one.real, one.imag))
                    one = o.skip ? none : (element){0, wk_nan()};
                one = better(before, one, o.most);
                lane[begin + w] = one.real;
                imags[begin + w] = one.imag;
            }
        for (int64_t w = 0; w < some && !known; w++)
            nan |= imags[begin + w] != imags[begin + w];
    }
    return nan ? 2 : 1;
}

static inline int
complex_rows(double *lane, const void *x, const int64_t *offsets, int64_t n, int64_t width,
             order o)
{
    const int64_t item = 2 * (o.wide ? sizeof(double) : sizeof(float));
    double *imag = lane + wk_stride(width);
    int nan = 0;
    for (int64_t w = 0; w < width; w++) {
        const element best = best_of((const char *)x + offsets[w] * item, n, o);
        lane[w] = best.real;
        imag[w] = best.imag;
        nan |= imag[w] != imag[w];
    }
    return nan ? 2 : 1;
}

#define COMPLEX(way, best, type, wide, most, skip)                                             \
    static int way##_columns_##type(void *lanes, const void *x, const int64_t *offsets,        \
                                    int64_t n, int64_t width)                                  \
    {                                                                                          \
        return complex_columns(lanes, x, offsets, n, width, (order){wide, most, skip});        \
    }                                                                                          \
    static int way##_rows_##type(void *lanes, const void *x, const int64_t *offsets,           \
                                 int64_t n, int64_t width)                                     \
    {                                                                                          \
        return complex_rows(lanes, x, offsets, n, width, (order){wide, most, skip});           \
    }                                                                                          \
    static void way##_run_##type(wk_acc *a, const void *x, int64_t n, int64_t index)           \
    {                                                                                          \
        (void)index;                                                                           \
        if (n > 0) take(&a->best, best_of(x, n, (order){wide, most, skip}), most);             \
    }
COMPLEX(min, least, c64, 0, 0, 0)
COMPLEX(max, most, c64, 0, 1, 0)
COMPLEX(min, least, c128, 1, 0, 0)
COMPLEX(max, most, c128, 1, 1, 0)
COMPLEX(nanmin, least, c64, 0, 0, 1)
COMPLEX(nanmax, most, c64, 0, 1, 1)
COMPLEX(nanmin, least, c128, 1, 0, 1)
COMPLEX(nanmax, most, c128, 1, 1, 1)

static void
start_complex(void *lanes, int64_t stride)
{
    double *lane = lanes;
    for (int64_t i = 0; i < 2 * stride; i++) lane[i] = i < stride ? wk_nan() : 0;
}

static inline element
at_lane(const double *lane, int64_t stride, int64_t w)
{
    return (element){lane[w], lane[stride + w]};
}

static inline void
merge_complex(wk_value *a, const wk_value *b, int most)
{
    element x;
    memcpy(&x, b, sizeof x);
    take(a, x, most);
}

#define JOIN_COMPLEX(way, best, most)                                                          \
    static void way##_absorb_complex(wk_acc *a, const void *lanes, int64_t stride, int64_t w)  \
    {                                                                                          \
        take(&a->best, at_lane(lanes, stride, w), most);                                       \
    }                                                                                          \
    static void way##_merge_complex(wk_acc *a, const wk_acc *b)                                \
    {                                                                                          \
        merge_complex(&a->best, &b->best, most);                                               \
    }
JOIN_COMPLEX(min, least, 0)
JOIN_COMPLEX(max, most, 1)
JOIN_COMPLEX(nanmin, least, 0)
JOIN_COMPLEX(nanmax, most, 1)

/* ---- tables ------------------------------------------------------------------------------- */

#define EXTREME(way, type, size)                                                               \
    {                                                                                          \
        1, size, way##_rows_##type, way##_columns_##type, way##_start_##type,                  \
            way##_run_##type, way##_absorb_##type, way##_merge_##type                          \
    }
#define EXTREME_COMPLEX(way, type)                                                             \
    {                                                                                          \
        2, 8, way##_rows_##type, way##_columns_##type, start_complex, way##_run_##type,        \
            way##_absorb_complex, way##_merge_complex                                          \
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

#define SKIPPING(way, type, size)                                                              \
    {                                                                                          \
        1, size, way##_skipping_rows_##type, way##_skipping_columns_##type,                    \
            way##_start_##type, way##_skipping_run_##type, way##_absorb_##type,                \
            way##_merge_##type                                                                 \
    }
#define FLOATS_SKIPPING(way)                                                                   \
    [WK_F16] = SKIPPING(way, f16, 2), [WK_BF16] = SKIPPING(way, bf16, 2),                      \
    [WK_F32] = SKIPPING(way, f32, 4), [WK_F64] = SKIPPING(way, f64, 8),                        \
    [WK_C64] = EXTREME_COMPLEX(nan##way, c64), [WK_C128] = EXTREME_COMPLEX(nan##way, c128)
const wk_folding WK_ISA_NAME(wk_folding_nanmin)[WK_DTYPES] = {FLOATS_SKIPPING(min)};
const wk_folding WK_ISA_NAME(wk_folding_nanmax)[WK_DTYPES] = {FLOATS_SKIPPING(max)};
