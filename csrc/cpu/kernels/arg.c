/* arg.c -- argmin and argmax: the first of equals, -0.0 equal to 0.0; the first NaN, if any. */
#include "cpu/isa.h"
#include "cpu/reduction.h"
#include "keys.h"

#define ZEROS_DIFFER 0

enum { LOOK = 4 }; /* rows that are looked at at once */

#define PLACES(T)                                                                              \
    for (int64_t w = 0; w < width; w++) place[w] = next + (int64_t)((const T *)at)[w]

/* A tile's places, of so many bytes each, behind `next` rows. */
static void
places(int64_t *restrict place, const void *restrict at, size_t item, int64_t next,
       int64_t width)
{
    switch (item) {
    case 1: PLACES(uint8_t); break;
    case 2: PLACES(uint16_t); break;
    case 4: PLACES(uint32_t); break;
    default: PLACES(uint64_t); break;
    }
}

#define FN(name) OF(NAME(name))
#define KEY(x, nan) KIND(KEY)(x, nan)
#define KEY_truth(x, nan) ((x) ? UINT8_MAX : 0)
#define KEY_int(x, nan) (x)
#define KEY_long(x, nan) (x)
#define KEY_f16(x, nan) WK_ZEROS_EQUAL(int16_t, wk_order_16(x, 0x7c00, nan))
#define KEY_bf16(x, nan) WK_ZEROS_EQUAL(int16_t, wk_order_16(x, 0x7f80, nan))
#define KEY_f32(x, nan) wk_order_32((x) << 1 ? (x) : 0, nan)
#define KEY_f64(x, nan) wk_order_64((x) << 1 ? (x) : 0, nan)
#define KEY_c64(x, nan) wk_order_c64(x, nan)
#define VALUE(key) KIND(VALUE)(key)
#define VALUE_f32(key) wk_unorder_f32(key)
#define VALUE_f64(key) wk_unorder_f64(key)
#define WORST LOSER(A)
#define TWO_KEYS KIND(TWO_KEYS)
#define TWO_KEYS_truth 1
#define TWO_KEYS_int 0
#define TWO_KEYS_long 0
#define TWO_KEYS_f16 0
#define TWO_KEYS_bf16 0
#define TWO_KEYS_f32 0
#define TWO_KEYS_f64 0
#define TWO_KEYS_c64 0
#define NAN_KEY KIND(NAN_KEY)
#define NAN_KEY_truth WORST /* there is none */
#define NAN_KEY_int WORST
#define NAN_KEY_long WORST
#define NAN_KEY_f16 WINNER(A)
#define NAN_KEY_bf16 WINNER(A)
#define NAN_KEY_f32 WINNER(A)
#define NAN_KEY_f64 WINNER(A)
#define NAN_KEY_c64 WINNER(A)

#define NAME(name) min_##name
#define BETTER(a, b) ((a) < (b))
#define OP(a, b) ((a) < (b) ? (a) : (b))
#define LOSER(T) WK_TOP(T)
#define WINNER(T) WK_BOTTOM(T)
#define BODY "arg_body.h"
#include "each_real.h"
#include "arg_complex.h"
#undef NAME
#undef BETTER
#undef OP
#undef LOSER
#undef WINNER

#define NAME(name) max_##name
#define BETTER(a, b) ((a) > (b))
#define OP(a, b) ((a) > (b) ? (a) : (b))
#define LOSER(T) WK_BOTTOM(T)
#define WINNER(T) WK_TOP(T)
#define BODY "arg_body.h"
#include "each_real.h"
#include "arg_complex.h"

/* ---- complex128 ----------------------------------------------------------------------------- */

typedef struct element {
    double real, imag;
} element;

static inline int
is_nan(element x)
{
    return x.real != x.real || x.imag != x.imag;
}

static inline int
before(element a, element b, int most)
{
    if (is_nan(a) || is_nan(b)) return !is_nan(b);
    if (a.real != b.real) return (a.real < b.real) != most;
    return a.imag != b.imag && (a.imag < b.imag) != most;
}

/* The first place of the best; what is beaten by its real part alone, which most are, is passed over. */
static inline int64_t
place_of(const element *x, int64_t n, int most)
{
    int64_t place = 0;
    for (int64_t i = 1; i < n; i++) {
        const element best = x[place];
        const int beaten = most ? x[i].real < best.real : x[i].real > best.real;
        if ((beaten & (x[i].imag == x[i].imag)) == 0 && before(x[i], best, most)) place = i;
    }
    return place;
}

static inline int
rows(void *lanes, const element *x, const int64_t *offsets, int64_t n, int64_t width, int most)
{
    for (int64_t w = 0; w < width; w++)
        ((int64_t *)lanes)[w] = place_of(x + offsets[w], n, most);
    return 1;
}

static inline void
take(wk_acc *a, element x, int64_t index, int most)
{
    element best;
    memcpy(&best, &a->least, sizeof best);
    if (a->index != -1 && !before(x, best, most)) return;
    memcpy(&a->least, &x, sizeof x);
    a->index = index;
}

static inline void
run(wk_acc *a, const element *x, int64_t n, int64_t index, int most)
{
    const int64_t place = place_of(x, n, most);
    if (n > 0) take(a, x[place], index + place, most);
}

/* A row's elements against the best before, of which the parts lie apart. Not 0 where there is a NaN. */
static inline __attribute__((always_inline)) int64_t
take_row(double *restrict real, double *restrict imag, int64_t *restrict at, const element *x,
         int64_t i, int64_t width, int most)
{
    int64_t odd = 0;
    for (int64_t w = 0; w < width; w++) {
        const element one = x[w], best = {real[w], imag[w]};
        const int64_t above = one.real > best.real;
        const int64_t below = one.real < best.real;
        const int64_t far = one.imag > best.imag;
        const int64_t near = one.imag < best.imag;
        const int64_t wins = (most ? above | (~below & far) : below | (~above & near)) & 1;
        odd |= __builtin_isunordered(one.real, one.imag);
        real[w] = wins ? one.real : best.real;
        imag[w] = wins ? one.imag : best.imag;
        at[w] = wins ? i : at[w];
    }
    return odd;
}

/* The lanes are places, real parts, the place of the next row, imaginary parts. */
static inline int
columns(int64_t *place, const element *from, const int64_t *offsets, int64_t n, int64_t width,
        int most)
{
    enum { SIDE = WK_SIDE / sizeof(element) };
    const int64_t stride = wk_stride(width);
    int64_t *next = place + 2 * stride, at[SIDE];
    double *reals = (double *)(place + stride), *imags = (double *)(place + 3 * stride);
    double real[SIDE], imag[SIDE];
    for (int64_t begin = 0; begin < width; begin += SIDE) {
        const int64_t some = width - begin < SIDE ? width - begin : SIDE;
        const element *x = from + begin;
        int64_t odd = 0;
        for (int64_t w = 0; w < some; w++) {
            real[w] = x[offsets[0] + w].real;
            imag[w] = x[offsets[0] + w].imag;
            at[w] = 0;
        }
        for (int64_t i = 0; i < n; i++)
            odd |= take_row(real, imag, at, x + offsets[i], i, some, most);
        for (int64_t w = 0; w < some && odd; w++) {
            at[w] = 0;
            for (int64_t i = 1; i < n; i++)
                if (before(x[offsets[i] + w], x[offsets[at[w]] + w], most)) at[w] = i;
            real[w] = x[offsets[at[w]] + w].real;
            imag[w] = x[offsets[at[w]] + w].imag;
        }
        for (int64_t w = 0; w < some; w++) {
            const int64_t i = begin + w;
            const element one = {real[w], imag[w]}, best = {reals[i], imags[i]};
            if (place[i] >= 0 && !before(one, best, most)) continue;
            place[i] = *next + at[w];
            reals[i] = one.real;
            imags[i] = one.imag;
        }
    }
    *next += n;
    return 1;
}

static inline void
absorb(wk_acc *a, const int64_t *place, int64_t stride, int64_t w, int most)
{
    const double *parts = (const double *)place;
    take(a, (element){parts[stride + w], parts[3 * stride + w]}, place[w], most);
}

static inline void
merge(wk_acc *a, const wk_acc *b, int most)
{
    element x;
    memcpy(&x, &b->least, sizeof x);
    if (b->index != -1) take(a, x, b->index, most);
}

#define COMPLEX(way, most)                                                                     \
    static int way##_rows_c128(void *lanes, const void *x, const int64_t *offsets, int64_t n,  \
                               int64_t width)                                                  \
    {                                                                                          \
        return rows(lanes, x, offsets, n, width, most);                                        \
    }                                                                                          \
    static int way##_columns_c128(void *lanes, const void *x, const int64_t *offsets,          \
                                  int64_t n, int64_t width)                                    \
    {                                                                                          \
        return columns(lanes, x, offsets, n, width, most);                                     \
    }                                                                                          \
    static void way##_run_c128(wk_acc *a, const void *x, int64_t n, int64_t index)             \
    {                                                                                          \
        run(a, x, n, index, most);                                                             \
    }                                                                                          \
    static void way##_absorb_c128(wk_acc *a, const void *lanes, int64_t stride, int64_t w)     \
    {                                                                                          \
        absorb(a, lanes, stride, w, most);                                                     \
    }                                                                                          \
    static void way##_merge_c128(wk_acc *a, const wk_acc *b)                                   \
    {                                                                                          \
        merge(a, b, most);                                                                     \
    }
COMPLEX(min, 0)
COMPLEX(max, 1)

/* ---- tables --------------------------------------------------------------------------------- */

/* No place yet. */
static void
arg_start(void *lanes, int64_t stride)
{
    int64_t *place = lanes;
    memset(place, -1, (size_t)stride * sizeof *place);
    memset(place + stride, 0, (size_t)stride * 2 * sizeof *place);
}

#define ARG(way, type)                                                                         \
    {                                                                                          \
        3, 8, way##_rows_##type, way##_columns_##type, arg_start, way##_run_##type,            \
            way##_absorb_##type, way##_merge_##type                                            \
    }
#define ARG_COMPLEX(way)                                                                       \
    {                                                                                          \
        4, 8, way##_rows_c128, way##_columns_c128, arg_start, way##_run_c128,                  \
            way##_absorb_c128, way##_merge_c128                                                \
    }
#define ARGS(way)                                                                              \
    [WK_BOOL] = ARG(way, bool), [WK_I8] = ARG(way, i8), [WK_U8] = ARG(way, u8),                \
    [WK_I16] = ARG(way, i16), [WK_U16] = ARG(way, u16), [WK_I32] = ARG(way, i32),              \
    [WK_U32] = ARG(way, u32), [WK_I64] = ARG(way, i64), [WK_U64] = ARG(way, u64),              \
    [WK_F16] = ARG(way, f16), [WK_BF16] = ARG(way, bf16), [WK_F32] = ARG(way, f32),            \
    [WK_F64] = ARG(way, f64), [WK_C64] = ARG(way, c64), [WK_C128] = ARG_COMPLEX(way)

const wk_folding WK_ISA_NAME(wk_folding_argmin)[WK_DTYPES] = {ARGS(min)};
const wk_folding WK_ISA_NAME(wk_folding_argmax)[WK_DTYPES] = {ARGS(max)};
