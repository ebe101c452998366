/* window_body.h -- sums of squares of T in bins that hang from the largest one. No include guard.
 *   T, LOAD       as in exact_body.h; I: integer of T's size; STORED: bits of T's mantissa
 *   PAIRED        1 if a square is a double and a rest, 0 if it is a double
 *   WORDS         bins, the last of which takes what is left as it is
 *
 * Squares span twice their elements' exponents, more than a plain addition bears. Bin k starts at
 * 1.5 2^(unit + 52), and s + x then rounds x to its unit without loss: what is cut off is for the
 * next bin. A block is WK_BLOCK elements at most, 512 a lane. Below 2^(2 top + 2) each, all of
 * them are below 2^(2 top + 14), which is 2^53 units if the first is 2 top - 39. What is cut off,
 * twice WK_BLOCK pieces of half a unit, is 2^53 units of one 2^41 smaller. */

/* Bits of the largest magnitude, and of the least but 0, less 1. */
static inline void
FN(widen)(const T *x, int64_t n, I *most, I *least)
{
    const I ones = (I)(((uint64_t)1 << (8 * sizeof(I) - 1)) - 1);
    I m = *most, l = *least;
    for (int64_t i = 0; i < n; i++) {
        I b;
        memcpy(&b, x + i, sizeof b);
        b &= ones;
        const I some = (b - 1) & ones; /* zeros become the largest */
        m = b > m ? b : m;
        l = some < l ? some : l;
    }
    *most = m;
    *least = l;
}

/* 0: too wide for the bins. *first is the exponent of the first bin's unit. */
static inline int
FN(window_of)(I most, I least, int *first)
{
    enum { DOWN = STORED, SPECIAL = (1 << (8 * sizeof(I) - 1 - DOWN)) - 1 };
    const int raw = (int)(most >> DOWN), under = (int)(least >> DOWN); /* exponents, biased */
    const int top = (raw > 0 ? raw : 1) - SPECIAL / 2;
    const int low = (under > 0 ? under : 1) - SPECIAL / 2 - DOWN;
    *first = 2 * (most ? top : 0) - 39;
    if (most == 0) return 1; /* zeros */
    if (raw == SPECIAL || top > 450 || low < -500) return 0;
    return 2 * low >= *first - 41 * (WORDS - 1);
}

static inline __attribute__((always_inline)) void
FN(take)(wk_vd *s, wk_vd v)
{
    wk_vd rest[2];
    SQUARE_OF(v, rest);
#pragma GCC unroll 4
    for (int k = 0; k < WORDS - 1; k++) {
        cut(&s[k], &rest[0]);
        if (PAIRED && k > 0) cut(&s[k], &rest[1]); /* it is below the first bin's unit */
    }
    s[WORDS - 1] += rest[0];
    if (PAIRED) s[WORDS - 1] += rest[1];
}

static inline double
FN(magic)(int first, int k)
{
    const int e = first - 41 * k + 52;
    return k < WORDS - 1 ? 1.5 * wk_power_of_two(e) : 0.0;
}

static int
FN(row)(const T *x, int64_t n, double *lane, int64_t stride, int parts)
{
    enum { SETS = PAIRED ? 2 : 4 };
    const I ones = (I)(((uint64_t)1 << (8 * sizeof(I) - 1)) - 1);
    wk_vd s[SETS][WORDS];
    I most = 0, least = ones;
    int first;
    int64_t i = 0;
    FN(widen)(x, n, &most, &least);
    if (!FN(window_of)(most, least, &first)) return 0;
#pragma GCC unroll 4
    for (int j = 0; j < SETS; j++)
#pragma GCC unroll 4
        for (int k = 0; k < WORDS; k++) s[j][k] = wk_splat(FN(magic)(first, k));
    for (; i + SETS * WK_VD <= n; i += SETS * WK_VD)
#pragma GCC unroll 4
        for (int j = 0; j < SETS; j++) FN(take)(s[j], LOAD(x + i + j * WK_VD));
    for (; i < n; i += WK_VD)
        FN(take)(s[0], i + WK_VD <= n ? LOAD(x + i) : FN(load_rest)(x, i, n));
#pragma GCC unroll 4
    for (int k = 0; k < WORDS; k++) {
        wk_vd sum = s[0][k] - wk_splat(FN(magic)(first, k));
        for (int j = 1; j < SETS; j++) sum += s[j][k] - wk_splat(FN(magic)(first, k));
        const two_sums one = sums_by_parity(sum);
        lane[k * stride] = parts == 1 ? one[0] + one[1] : one[0];
        if (parts > 1) lane[k * stride + 1] = one[1];
    }
    return 1;
}

/* Elements of `parts` numbers, each of which has its own lane. */
static int
FN(rows_of)(double *lane, const T *x, const int64_t *offsets, int64_t n, int64_t width,
            int parts)
{
    const int64_t stride = parts * wk_stride(width);
    for (int64_t w = 0; w < width; w++)
        if (!FN(row)(x + parts * offsets[w], parts * n, lane + parts * w, stride, parts))
            return 0;
    return 1;
}

/* The tile's bins first; that they add to the lanes exactly is proved by the flag. */
static int
FN(columns_of)(double *lanes, const T *from, const int64_t *offsets, int64_t n, int64_t width,
               int parts)
{
    enum { SIDE = WK_SIDE / sizeof(T) };
    const I ones = (I)(((uint64_t)1 << (8 * sizeof(I) - 1)) - 1);
    const int64_t stride = parts * wk_stride(width);
    double bins[WORDS][SIDE];
    width *= parts;
    for (int64_t begin = 0; begin < width; begin += SIDE) {
        const T *x = from + begin;
        double *lane = lanes + begin;
        const int64_t some = width - begin < SIDE ? width - begin : SIDE;
        I most = 0, least = ones;
        int first;
        for (int64_t i = 0; i < n; i++) FN(widen)(x + parts * offsets[i], some, &most, &least);
        if (!FN(window_of)(most, least, &first)) return 0;
        for (int64_t w = 0; w < some; w += WK_VD) {
            wk_vd s[WORDS];
#pragma GCC unroll 4
            for (int k = 0; k < WORDS; k++) s[k] = wk_splat(FN(magic)(first, k));
            for (int64_t i = 0; i < n; i++) {
                const T *at = x + parts * offsets[i] + w;
                FN(take)(s, w + WK_VD <= some ? LOAD(at) : FN(load_some)(at, some - w));
            }
#pragma GCC unroll 4
            for (int k = 0; k < WORDS; k++) {
                s[k] -= wk_splat(FN(magic)(first, k));
                memcpy(&bins[k][w], &s[k], sizeof s[k]);
            }
        }
        wk_flag_clear(bins, lane);
        for (int k = 0; k < WORDS; k++)
            for (int64_t w = 0; w < some; w++) lane[k * stride + w] += bins[k][w];
        if (!wk_flag_held(bins, lane)) return 0;
    }
    return wk_flag_works();
}

#undef I
#undef STORED
#undef PAIRED
#undef SQUARE_OF
