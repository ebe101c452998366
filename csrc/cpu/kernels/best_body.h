/* best_body.h -- the least (or the most) of a run of one dtype. No include guard.
 *   T        in memory; A the key's type; KEY(x, nan) the key, nan that of NaN; OP(a, b) the winner
 *   WORST    a key that every other wins against; NAN_KEY  that of NaN (WORST: there is none)
 *   U        defined for floats that the chip itself compares: an integer of T's size; then ZEROS_DIFFER:
 *            is -0.0 less than 0.0?
 * FN(name) gives the functions' names.
 *
 * A run is WK_ROWS short rows side by side, which are folded into lanes: no lane waits for its
 * neighbour, so the loop vectorises for floats too. An element may be folded twice, which changes
 * nothing. The chip's comparisons take the second where there is a NaN, and all zeros for one: where a NaN
 * counts, a zero wins, or nothing did, all is done once more by keys. NaN whose key is WORST do not count. */

enum { FN(SIDE) = WK_SIDE / sizeof(T), FN(LANES) = sizeof(T) < 8 ? 64 / sizeof(T) : 16 };

#ifdef U
#define WORST_VALUE (-OP((T)__builtin_inf(), (T)-__builtin_inf())) /* no other loses to it */

static inline U
FN(bits)(T x)
{
    U b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static inline A
FN(key_or)(T x, A nan)
{
    return KEY(FN(bits)(x), nan);
}

typedef struct FN(best) {
    T best[FN(LANES)];
    U odd[FN(LANES)];
} FN(best);

static inline void
FN(begin)(FN(best) * s, const T *x, A nan)
{
    for (int l = 0; l < FN(LANES); l++) {
        s->best[l] = nan == WORST ? OP(x[l], WORST_VALUE) : x[l];
        s->odd[l] = 0;
    }
}

static inline __attribute__((always_inline)) void
FN(fold)(FN(best) * s, const T *x, A nan)
{
    for (int l = 0; l < FN(LANES); l++) {
        T best = s->best[l];
        U odd = s->odd[l];
#pragma GCC unroll 4
        for (int r = 0; r < WK_ROWS; r += 2) {
            const T a = x[r * FN(LANES) + l], b = x[(r + 1) * FN(LANES) + l];
            const T some = nan == WORST ? OP(a, WORST_VALUE) : a, ab = OP(b, some);
            best = OP(ab, best);
            if (nan != WORST) odd |= (U) - (U)__builtin_isunordered(a, b);
        }
        s->best[l] = best;
        s->odd[l] = odd;
    }
}

/* 0: keys must tell. */
static inline int
FN(end)(const FN(best) * s, A *best, A nan)
{
    U odd = 0;
#pragma GCC unroll 1 /* unrolled, it would not vectorise */
    for (int l = 0; l < FN(LANES); l++) {
        const A key = FN(key_or)(s->best[l], nan);
        odd |= s->odd[l] | (U)(ZEROS_DIFFER && s->best[l] == 0);
        *best = OP(key, *best);
    }
    return odd == 0 && (nan != WORST || *best != FN(key_or)(WORST_VALUE, nan));
}

#else
static inline A
FN(key_or)(T x, A nan)
{
    (void)nan;
    return KEY(x, nan);
}

typedef struct FN(best) {
    A best[FN(LANES)];
} FN(best);

static inline void
FN(begin)(FN(best) * s, const T *x, A nan)
{
    for (int l = 0; l < FN(LANES); l++) s->best[l] = FN(key_or)(x[l], nan);
}

static inline __attribute__((always_inline)) void
FN(fold)(FN(best) * s, const T *x, A nan)
{
    for (int l = 0; l < FN(LANES); l++) {
        A best = s->best[l];
#pragma GCC unroll 4
        for (int r = 0; r < WK_ROWS; r += 2) {
            const A a = FN(key_or)(x[r * FN(LANES) + l], nan),
                    b = FN(key_or)(x[(r + 1) * FN(LANES) + l], nan), ab = OP(a, b);
            best = OP(ab, best);
        }
        s->best[l] = best;
    }
}

static inline int
FN(end)(const FN(best) * s, A *best, A nan)
{
    (void)nan;
    for (int l = 0; l < FN(LANES); l++) *best = OP(s->best[l], *best);
    return 1;
}
#endif

static inline A
FN(key_of)(T x)
{
    return FN(key_or)(x, NAN_KEY);
}

/* Of a run of n elements. */
static inline __attribute__((always_inline)) A
FN(best_or)(const T *x, int64_t n, A nan)
{
    enum { STEP = WK_ROWS * FN(LANES) }; /* near order: prefetchers follow */
    A best = WORST;
    if (n >= STEP) {
        FN(best) s;
        FN(begin)(&s, x, nan);
        for (int64_t i = 0; i + STEP < n; i += STEP) {
#ifdef U
            for (int k = 0; k < (int)(STEP * sizeof(T)); k += 64)
                __builtin_prefetch((const char *)(x + i) + k + WK_ASKED);
#endif
            FN(fold)(&s, x + i, nan);
        }
        FN(fold)(&s, x + n - STEP, nan);
        if (FN(end)(&s, &best, nan)) return best;
        best = WORST;
    }
    for (int64_t i = 0; i < n; i++) {
        const A key = FN(key_or)(x[i], nan);
        best = OP(key, best);
    }
    return best;
}

static inline A
FN(best_of)(const T *x, int64_t n)
{
    return FN(best_or)(x, n, NAN_KEY);
}
