/* ints_body.h -- sums, products and sums of squares of one integer type. No include guard.
 *   T            in memory; VALUE(x) its value in a signed or unsigned 64-bit integer
 *   WIDE         a 64-bit integer that holds it; MAGNITUDE(v) of one
 *   BITS         of T; SHORT: what holds the sum of WK_BLOCK elements
 * FN(name) gives the functions' names. A word weighs 2^32 of the one before. */

#define LANES ((int64_t *)lanes)

/* ---- sums modulo 2^64; the exact sum too where 64 bits hold a block's ---------------------- */

static int
FN(wrap_rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        const T *x = (const T *)from + offsets[w];
        SHORT sum = 0;
        for (int64_t i = 0; i < n; i++) sum += (SHORT)VALUE(x[i]);
        LANES[w] = (int64_t)sum;
    }
    return 1;
}

static int
FN(wrap_columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n,
                 int64_t width)
{
    uint64_t *restrict to = lanes;
    int64_t i = 0;
    for (; i + WK_ROWS <= n; i += WK_ROWS) {
        const T *row[WK_ROWS];
        for (int r = 0; r < WK_ROWS; r++) row[r] = (const T *)from + offsets[i + r];
        for (int64_t w = 0; w < width; w++) {
            SHORT sum = 0;
#pragma GCC unroll 8
            for (int r = 0; r < WK_ROWS; r++) sum += (SHORT)VALUE(row[r][w]);
            to[w] += (uint64_t)sum;
        }
    }
    for (; i < n; i++) {
        const T *restrict x = (const T *)from + offsets[i];
        for (int64_t w = 0; w < width; w++) to[w] += (uint64_t)VALUE(x[w]);
    }
    return 1;
}

static void
FN(wrap_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    uint64_t sum;
    (void)index;
    FN(wrap_rows)(&sum, x, &zero, n, 1);
    a->bits += sum;
}

/* ---- products modulo 2^64 ------------------------------------------------------------------- */

static int
FN(product_rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n,
                 int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        const T *x = (const T *)from + offsets[w];
        uint64_t product = 1;
        for (int64_t i = 0; i < n; i++) product *= (uint64_t)VALUE(x[i]);
        LANES[w] = (int64_t)product;
    }
    return 1;
}

static int
FN(product_columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n,
                    int64_t width)
{
    uint64_t *restrict to = lanes;
    for (int64_t i = 0; i < n; i++) {
        const T *restrict x = (const T *)from + offsets[i];
        for (int64_t w = 0; w < width; w++) to[w] *= (uint64_t)VALUE(x[w]);
    }
    return 1;
}

static void
FN(product_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    uint64_t product;
    (void)index;
    FN(product_rows)(&product, x, &zero, n, 1);
    a->bits *= product;
}

/* ---- exact sums of 64 bits: two words ------------------------------------------------------- */

#if BITS == 64
static int
FN(sum_rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    const int64_t stride = wk_stride(width);
    for (int64_t w = 0; w < width; w++) {
        const T *x = (const T *)from + offsets[w];
        int64_t low = 0, high = 0;
        for (int64_t i = 0; i < n; i++) {
            low += (int64_t)((uint64_t)x[i] & 0xffffffffu);
            high += (int64_t)(x[i] >> 32);
        }
        LANES[w] = low;
        LANES[w + stride] = high;
    }
    return 1;
}

static int
FN(sum_columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    int64_t *restrict low = lanes, *restrict high = low + wk_stride(width);
    for (int64_t i = 0; i < n; i++) {
        const T *restrict x = (const T *)from + offsets[i];
        for (int64_t w = 0; w < width; w++) {
            low[w] += (int64_t)((uint64_t)x[w] & 0xffffffffu);
            high[w] += (int64_t)(x[w] >> 32);
        }
    }
    return 1;
}
#define SUM_WORDS 2
#else
#define SUM_WORDS 1
#endif

/* ---- squares -------------------------------------------------------------------------------- */

#if BITS <= 16
#define SQUARE_WORDS 1
#define ADD_SQUARE(v) w0 += (v) * (v)
#elif BITS == 32
#define SQUARE_WORDS 2
#define ADD_SQUARE(v)                                                                          \
    do {                                                                                       \
        const uint64_t m = MAGNITUDE(v), s = m * m;                                            \
        w0 += s & 0xffffffffu;                                                                 \
        w1 += s >> 32;                                                                         \
    } while (0)
#else
#define SQUARE_WORDS 4
#define ADD_SQUARE(v)                                                                          \
    do {                                                                                       \
        const uint64_t m = MAGNITUDE(v);                                                       \
        const uint64_t l = m & 0xffffffffu, h = m >> 32, a = l * l, b = l * h, c = h * h;      \
        w0 += a & 0xffffffffu;                                                                 \
        w1 += (a >> 32) + 2 * (b & 0xffffffffu);                                               \
        w2 += 2 * (b >> 32) + (c & 0xffffffffu);                                               \
        w3 += c >> 32;                                                                         \
    } while (0)
#endif

static int
FN(square_rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    const int64_t stride = wk_stride(width);
    for (int64_t w = 0; w < width; w++) {
        const T *x = (const T *)from + offsets[w];
        uint64_t w0 = 0, w1 = 0, w2 = 0, w3 = 0;
        for (int64_t i = 0; i < n; i++) ADD_SQUARE((WIDE)VALUE(x[i]));
        const uint64_t words[4] = {w0, w1, w2, w3};
        for (int k = 0; k < SQUARE_WORDS; k++) LANES[w + k * stride] = (int64_t)words[k];
    }
    return 1;
}

static int
FN(square_columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n,
                   int64_t width)
{
    const int64_t stride = wk_stride(width);
    uint64_t *restrict to0 = lanes;
    uint64_t *restrict to1 = to0 + (SQUARE_WORDS > 1) * stride;
    uint64_t *restrict to2 = to0 + (SQUARE_WORDS > 2) * 2 * stride;
    uint64_t *restrict to3 = to0 + (SQUARE_WORDS > 2) * 3 * stride;
    for (int64_t i = 0; i < n; i++) {
        const T *restrict x = (const T *)from + offsets[i];
        for (int64_t w = 0; w < width; w++) {
            uint64_t w0 = 0, w1 = 0, w2 = 0, w3 = 0;
            ADD_SQUARE((WIDE)VALUE(x[w]));
            to0[w] += w0;
            if (SQUARE_WORDS > 1) to1[w] += w1;
            if (SQUARE_WORDS > 2) to2[w] += w2;
            if (SQUARE_WORDS > 2) to3[w] += w3;
        }
    }
    return 1;
}

/* ---- into accumulators ---------------------------------------------------------------------- */

static void
FN(sum_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    int64_t lanes[8 * SUM_WORDS];
    (void)index;
#if BITS == 64
    FN(sum_rows)(lanes, x, &zero, n, 1);
#else
    FN(wrap_rows)(lanes, x, &zero, n, 1);
#endif
    commit(&a->sum[0], lanes, 8, 0);
}

static void
FN(square_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    int64_t lanes[8 * SQUARE_WORDS];
    (void)index;
    FN(square_rows)(lanes, x, &zero, n, 1);
    commit(&a->squares, lanes, 8, 0);
}

enum { FN(sum_words) = SUM_WORDS, FN(square_words) = SQUARE_WORDS };

#undef T
#undef WIDE
#undef MAGNITUDE
#undef SHORT
#undef BITS
#undef VALUE
#undef FN
#undef LANES
#undef SUM_WORDS
#undef SQUARE_WORDS
#undef ADD_SQUARE
