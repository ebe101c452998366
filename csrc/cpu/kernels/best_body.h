/* best_body.h -- the least (or the most) of a run of one dtype. No include guard.
 *   T        in memory; A the key's type; KEY(x) the key; OP(a, b) the winner
 *   WORST    a key that every other wins against; NAN_KEY  that of NaN (WORST: there is none)
 *   U        defined for floats that the chip itself compares: an integer of T's size, and
 *            ZEROS_DIFFER whether -0.0 is less than 0.0
 * FN(name) gives the functions' names.
 *
 * A run is WK_ROWS short rows side by side, which are folded into lanes: no lane waits for its
 * neighbour, so the loop vectorises for floats too. An element may be folded twice, which changes
 * nothing. The chip's comparisons pass over NaN and take all zeros for one: where there is a NaN, or a
 * zero wins, all is done once more by keys. */

enum { FN(SIDE) = WK_SIDE / sizeof(T), FN(LANES) = sizeof(T) < 8 ? 64 / sizeof(T) : 16 };

#ifdef U
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

typedef struct FN(best) {
    T best[FN(LANES)];
    U odd[FN(LANES)];
} FN(best);

static inline void
FN(begin)(FN(best) * s, const T *x)
{
    for (int l = 0; l < FN(LANES); l++) {
        s->best[l] = x[l];
        s->odd[l] = 0;
    }
}

static inline __attribute__((always_inline)) void
FN(fold)(FN(best) * s, const T *x)
{
    for (int l = 0; l < FN(LANES); l++) {
        T best = s->best[l];
        U odd = s->odd[l];
#pragma GCC unroll 4
        for (int r = 0; r < WK_ROWS; r += 2) {
            const T a = x[r * FN(LANES) + l], b = x[(r + 1) * FN(LANES) + l], ab = OP(a, b);
            best = OP(ab, best);
            odd |= (U) - (U)__builtin_isunordered(a, b);
        }
        s->best[l] = best;
        s->odd[l] = odd;
    }
}

/* 0: keys must tell. */
static inline int
FN(end)(const FN(best) * s, A *best)
{
    U odd = 0;
    for (int l = 0; l < FN(LANES); l++) {
        const A key = FN(key_of)(s->best[l]);
        odd |= s->odd[l] | (U)(ZEROS_DIFFER && s->best[l] == 0);
        *best = OP(key, *best);
    }
    return odd == 0;
}

#else
static inline A
FN(key_of)(T x)
{
    return KEY(x);
}

typedef struct FN(best) {
    A best[FN(LANES)];
} FN(best);

static inline void
FN(begin)(FN(best) * s, const T *x)
{
    for (int l = 0; l < FN(LANES); l++) s->best[l] = KEY(x[l]);
}

static inline __attribute__((always_inline)) void
FN(fold)(FN(best) * s, const T *x)
{
    for (int l = 0; l < FN(LANES); l++) {
        A best = s->best[l];
#pragma GCC unroll 4
        for (int r = 0; r < WK_ROWS; r += 2) {
            const A a = KEY(x[r * FN(LANES) + l]), b = KEY(x[(r + 1) * FN(LANES) + l]),
                    ab = OP(a, b);
            best = OP(ab, best);
        }
        s->best[l] = best;
    }
}

static inline int
FN(end)(const FN(best) * s, A *best)
{
    for (int l = 0; l < FN(LANES); l++) *best = OP(s->best[l], *best);
    return 1;
}
#endif

/* Of a run of n elements. */
static inline A
FN(best_of)(const T *x, int64_t n)
{
    enum { STEP = WK_ROWS * FN(LANES) }; /* near order: prefetchers follow */
    A best = WORST;
    if (n >= STEP) {
        FN(best) s;
        FN(begin)(&s, x);
        for (int64_t i = 0; i + STEP < n; i += STEP) FN(fold)(&s, x + i);
        FN(fold)(&s, x + n - STEP);
        if (FN(end)(&s, &best)) return best;
    }
    for (int64_t i = 0; i < n; i++) {
        const A key = FN(key_of)(x[i]);
        best = OP(key, best);
    }
    return best;
}
