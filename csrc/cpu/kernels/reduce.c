/* reduce / cpu exact -- every fold but a product of floats gives the same bits in any order.
 *
 * In, out   any strides: kept axes, then reduced ones (see plan.h) -> one value per output.
 * How       reduction.h: short rows and columns by lanes, all else by accumulators; exact.c says
 *           how a sum can be exact at the memory's speed. Products of floats: tree.c.
 * Source    NUMERICS.md */
#include "finish.h"
#include "tree.h"

#define FOLDING(name) WK_ISA_NAME(wk_folding_##name)
extern const wk_folding FOLDING(sum_float)[WK_DTYPES], FOLDING(squares_float)[WK_DTYPES],
    FOLDING(sum_int)[WK_DTYPES], FOLDING(squares_int)[WK_DTYPES], FOLDING(min)[WK_DTYPES],
    FOLDING(max)[WK_DTYPES], FOLDING(nanmin)[WK_DTYPES], FOLDING(nanmax)[WK_DTYPES],
    FOLDING(any)[WK_DTYPES], FOLDING(all)[WK_DTYPES], FOLDING(count)[WK_DTYPES],
    FOLDING(wrap)[WK_DTYPES], FOLDING(product)[WK_DTYPES], FOLDING(argmin)[WK_DTYPES],
    FOLDING(argmax)[WK_DTYPES];

#define ANY(T, top)                                                                            \
    do {                                                                                       \
        T nan = 0; /* as wide as elements are: so it vectorises */                             \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const T b = ((const T *)x)[i] & (T)(((T)1 << (8 * sizeof(T) - 1)) - 1);            \
            nan |= b > (T)(top);                                                               \
        }                                                                                      \
        return nan != 0;                                                                       \
    } while (0)

int
WK_ISA_NAME(wk_any_nan)(wk_dtype dtype, const void *x, int64_t n)
{
    if (wk_is_complex(dtype)) {
        dtype = wk_real_of(dtype);
        n *= 2;
    }
    switch (dtype) {
    case WK_F16: ANY(uint16_t, 0x7c00);
    case WK_BF16: ANY(uint16_t, 0x7f80);
    case WK_F32: ANY(uint32_t, 0x7f800000u);
    case WK_F64: ANY(uint64_t, (uint64_t)2047 << 52);
    default: return 0;
    }
}

#define DROP(T, top, parts)                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                          \
        const T sign = (T)1 << (8 * sizeof(T) - 1);                                            \
        const T a = ((const T *)x)[(parts)*i] & (T)~sign,                                      \
                b = ((const T *)x)[(parts) * (i + 1) - 1] & (T)~sign;                          \
        keep[i] &= (uint8_t)((a <= (T)(top)) & (b <= (T)(top)));                               \
    }

void
WK_ISA_NAME(wk_drop_nan)(wk_dtype dtype, const void *x, int64_t n, uint8_t *restrict keep)
{
    switch (dtype) {
    case WK_F16: DROP(uint16_t, 0x7c00, 1); break;
    case WK_BF16: DROP(uint16_t, 0x7f80, 1); break;
    case WK_F32: DROP(uint32_t, 0x7f800000u, 1); break;
    case WK_F64: DROP(uint64_t, (uint64_t)2047 << 52, 1); break;
    case WK_C64: DROP(uint32_t, 0x7f800000u, 2); break;
    case WK_C128: DROP(uint64_t, (uint64_t)2047 << 52, 2); break;
    default: break;
    }
}

#define BLANK(T, PARTS)                                                                        \
    for (int64_t i = 0; i < rows; i++) {                                                       \
        T *row = (T *)x + i * width * PARTS;                                                   \
        for (int64_t w = 0; w < width; w++) {                                                  \
            const int nan = __builtin_isunordered(row[w * PARTS], row[(w + 1) * PARTS - 1]);   \
            marks[w] |= (uint8_t)nan;                                                          \
            for (int k = 0; k < PARTS; k++) row[w * PARTS + k] = nan ? 0 : row[w * PARTS + k]; \
        }                                                                                      \
    }
#define BLANK_HALVES(top)                                                                      \
    for (int64_t i = 0; i < rows * width; i++) {                                               \
        uint16_t *h = (uint16_t *)x + i;                                                       \
        const int nan = (*h & 0x7fff) > (top);                                                 \
        marks[i % width] |= (uint8_t)nan;                                                      \
        *h = nan ? 0 : *h;                                                                     \
    }

/* NaN become -0; gives how many are none, counted as wide as they are: so it vectorises. */
#define LEAVE(T, top)                                                                          \
    do {                                                                                       \
        const T sign = WK_BOTTOM(T); /* as bits minus zero */                                  \
        T left = 0, *bits = x;                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const T nan = (T) - ((bits[i] & (T)~sign) > (T)(top));                             \
            left = (T)(left + 1 + nan);                                                        \
            bits[i] = (T)((bits[i] & ~nan) | (sign & nan));                                    \
        }                                                                                      \
        return left;                                                                           \
    } while (0)

static int64_t
leave_nan(wk_dtype dtype, void *x, int64_t n)
{
    switch (dtype) {
    case WK_F16: LEAVE(int16_t, 0x7c00);
    case WK_BF16: LEAVE(int16_t, 0x7f80);
    case WK_F32: LEAVE(int32_t, 0x7f800000);
    case WK_F64: LEAVE(int64_t, (int64_t)2047 << 52);
    default: return n;
    }
}

static void
blank_nan(wk_dtype dtype, void *x, int64_t rows, int64_t width, uint8_t *marks)
{
    switch (dtype) {
    case WK_F16: BLANK_HALVES(0x7c00); break;
    case WK_BF16: BLANK_HALVES(0x7f80); break;
    case WK_F32: BLANK(float, 1); break;
    case WK_F64: BLANK(double, 1); break;
    case WK_C64: BLANK(float, 2); break;
    case WK_C128: BLANK(double, 2); break;
    default: break;
    }
}

/* Without branches, that loops may vectorise. */
#define FILL(T, parts)                                                                         \
    for (int k = 0; k < parts; k++) {                                                          \
        const T other = ((const T *)neutral)[k], *from = (const T *)x + k;                     \
        T *out = (T *)to + k;                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const T kept = (T) - (T)(keep[i] != 0);                                            \
            out[i * parts] = (T)((from[i * parts] & kept) | (other & ~kept));                  \
        }                                                                                      \
    }

static void
fill(int64_t item, const void *x, const uint8_t *restrict keep, int64_t n, const void *neutral,
     void *restrict to)
{
    switch (item) {
    case 1: FILL(uint8_t, 1); break;
    case 2: FILL(uint16_t, 1); break;
    case 4: FILL(uint32_t, 1); break;
    case 8: FILL(wk_two_floats, 1); break;
    default: FILL(uint64_t, 2); break;
    }
}

/* Integers are all numbers, and extremes pass over NaN themselves: nobody else need skip them then. Those
 * of a part are counted. */
static int
skips(wk_call *call)
{
    wk_reduce_args *args = &call->args.reduce;
    int can = args->skip_nan && call->part.mode == WK_WHOLE;
    for (int i = 0; i < call->outs; i++) {
        const wk_fold fold = args->fold[i];
        can &= fold == WK_MIN || fold == WK_MAX || fold == WK_PTP;
    }
    if (can || call->in.dtype < WK_F16) args->skip_nan = 0;
    return can && call->in.dtype >= WK_F16;
}

static wk_foldings
foldings_of(wk_call *call)
{
    const int integer = call->in.dtype < WK_F16, numbers = skips(call);
    return (wk_foldings){
        .component =
            {
                [WK_C_SUM] = integer ? FOLDING(sum_int) : FOLDING(sum_float),
                [WK_C_SQUARES] = integer ? FOLDING(squares_int) : FOLDING(squares_float),
                [WK_C_MIN] = numbers ? FOLDING(nanmin) : FOLDING(min),
                [WK_C_MAX] = numbers ? FOLDING(nanmax) : FOLDING(max),
                [WK_C_ANY] = FOLDING(any),
                [WK_C_ALL] = FOLDING(all),
                [WK_C_COUNT] = FOLDING(count),
                [WK_C_WRAP] = FOLDING(wrap),
                [WK_C_PRODUCT] = FOLDING(product),
                [WK_C_ARGMIN] = FOLDING(argmin),
                [WK_C_ARGMAX] = FOLDING(argmax),
            },
        .any_nan = WK_ISA_NAME(wk_any_nan),
        .drop_nan = WK_ISA_NAME(wk_drop_nan),
        .leave_nan = leave_nan,
        .blank_nan = blank_nan,
        .fill = fill,
        .finish = WK_ISA_NAME(wk_finish),
        .finish_lanes = WK_ISA_NAME(wk_finish_lanes),
    };
}

static wk_status
as_it_lies(wk_call *call)
{
    const wk_reduce_args *args = &call->args.reduce;
    if (wk_family_of(args->fold, call->outs, call->in.dtype) == WK_FAMILY_TREE)
        return WK_ISA_NAME(wk_reduce_tree)(call);
    const wk_foldings foldings = foldings_of(call);
    return wk_reduce_walk(call, &foldings);
}

WK_CPU_LAUNCHER(reduce, exact)
{
    if (WK_ISA_NAME(wk_norm_near)(call)) return WK_OK;
    wk_reduce_simplify(call);
    return wk_reduce_turned(call, as_it_lies) ? call->error.status : as_it_lies(call);
}

WK_CPU_LAUNCHER(segment_reduce, runs)
{
    const wk_foldings foldings = foldings_of(call);
    return wk_reduce_segments(call, &foldings);
}
