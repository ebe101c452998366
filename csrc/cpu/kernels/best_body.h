/* best_body.h -- the least (or the most) of each of some columns, and of a run. No include guard.
 *   T        in memory; A the key's type; KEY(x) the key; OP(a, b) the winner
 *   WORST    a key that every other wins against; NAN_KEY  that of NaN (WORST: there is none)
 *   U        defined for floats that the chip itself compares: an integer of T's size, and
 *            ZERO_SIGN(a, b) the sign of the zero that wins
 * FN(name) gives the functions' names.
 *
 * Some rows at a time are folded into lanes in memory: no lane waits for its neighbour, so the
 * loop vectorises for floats too, and lanes are loaded and stored once for all these rows. A run
 * is rows side by side. An element may be folded twice, which changes nothing. */

enum { FN(SIDE) = WK_SIDE / sizeof(T) };

#ifdef U
/* Comparisons pass over NaN and take all zeros for one, so bits are looked at too. */
typedef struct FN(best) {
    T best[FN(SIDE)];
    U signs[FN(SIDE)], nans[FN(SIDE)];
} FN(best);

static inline U
FN(bits)(T x)
{
    U b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static inline A
FN(key_of)(T x)
{
    return KEY(FN(bits)(x));
}

static inline void
FN(begin)(FN(best) * s, const T *x, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        s->best[w] = x[w];
        s->signs[w] = FN(bits)(x[w]);
        s->nans[w] = 0;
    }
}

static inline __attribute__((always_inline)) void
FN(fold)(FN(best) *restrict s, const T *const *row, int rows, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        T best = s->best[w];
        U sign = s->signs[w], nan = s->nans[w];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 2) {
            const T a = row[r][w], b = row[r + 1][w], ab = OP(a, b);
            best = OP(ab, best);
            sign = ZERO_SIGN(sign, ZERO_SIGN(FN(bits)(a), FN(bits)(b)));
            nan |= (U) - (U)__builtin_isunordered(a, b);
        }
        s->best[w] = best;
        s->signs[w] = sign;
        s->nans[w] = nan;
    }
}

static inline A
FN(end)(const FN(best) * s, int64_t w)
{
    const U sign = (U)((U)1 << (8 * sizeof(U) - 1));
    const U b = s->best[w] == 0 ? s->signs[w] & sign : FN(bits)(s->best[w]);
    return s->nans[w] ? (A)(NAN_KEY) : KEY(b);
}

#else
typedef struct FN(best) {
    A best[FN(SIDE)];
} FN(best);

static inline A
FN(key_of)(T x)
{
    return KEY(x);
}

static inline void
FN(begin)(FN(best) * s, const T *x, int64_t width)
{
    for (int64_t w = 0; w < width; w++) s->best[w] = KEY(x[w]);
}

static inline __attribute__((always_inline)) void
FN(fold)(FN(best) *restrict s, const T *const *row, int rows, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        A best = s->best[w];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 2) {
            const A a = KEY(row[r][w]), b = KEY(row[r + 1][w]), ab = OP(a, b);
            best = OP(ab, best);
        }
        s->best[w] = best;
    }
}

static inline A
FN(end)(const FN(best) * s, int64_t w)
{
    return s->best[w];
}
#endif

/* Of rows that lie side by side. */
static inline __attribute__((always_inline)) void
FN(fold_run)(FN(best) * s, const T *x, int64_t width)
{
    const T *row[WK_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < WK_ROWS; r++) row[r] = x + r * width;
    FN(fold)(s, row, WK_ROWS, width);
}

/* Of a run of n elements. */
static inline A
FN(best_of)(const T *x, int64_t n)
{
    enum {
        LANES = 64 / sizeof(T),
        STEP = WK_ROWS * LANES
    }; /* near order: prefetchers follow */
    A best = WORST;
    if (n < STEP) {
        for (int64_t i = 0; i < n; i++) {
            const A key = FN(key_of)(x[i]);
            best = OP(key, best);
        }
        return best;
    }
    FN(best) s;
    FN(begin)(&s, x, LANES);
    for (int64_t i = 0; i + STEP < n; i += STEP) FN(fold_run)(&s, x + i, LANES);
    FN(fold_run)(&s, x + n - STEP, LANES);
    for (int64_t l = 0; l < LANES; l++) {
        const A key = FN(end)(&s, l);
        best = OP(key, best);
    }
    return best;
}
