/* dot_body.h -- the sum of products of two runs of T, in bins that hang from the largest product there
 * can be. No include guard. As window_body.h has it, with twice an element's exponent being the sum of
 * those of two.
 *   T, LOAD, I, STORED, PAIRED, WORDS   as there
 *   PRODUCT_OF(x, y, t)  the product as one double, or PAIRED: as two
 *   TERMS, EXPAND(x, y, t)  as TERMS doubles, none of more than DIGITS digits
 * FN(name) gives the functions' names. */

static inline wk_vd
FN(load_some)(const T *x, int64_t n)
{
    T some __attribute__((vector_size(WK_VD * sizeof(T)))) = {0};
#pragma GCC unroll 8
    for (int k = 0; k < WK_VD; k++) some[k] = k < n ? x[k] : (T)0;
    return LOAD((const T *)&some);
}

/* Exponents of the largest magnitude, and of the last bit of the least but 0; 0: some are no numbers. */
static inline int
FN(exponents)(const T *x, int64_t n, int *top, int *low)
{
    enum { SPECIAL = (1 << (8 * sizeof(I) - 1 - STORED)) - 1 };
    const I ones = (I)(((uint64_t)1 << (8 * sizeof(I) - 1)) - 1);
    I most = 0, least = ones;
    for (int64_t i = 0; i < n; i++) {
        I b;
        memcpy(&b, x + i, sizeof b);
        b &= ones;
        const I some = (b - 1) & ones; /* zeros become the largest */
        most = b > most ? b : most;
        least = some < least ? some : least;
    }
    const int raw = (int)(most >> STORED), under = (int)(least >> STORED);
    *top = (raw > 0 ? raw : 1) - SPECIAL / 2;
    *low = most ? (under > 0 ? under : 1) - SPECIAL / 2 - STORED : *top;
    return raw != SPECIAL;
}

static inline __attribute__((always_inline)) void
FN(take)(wk_vd *s, wk_vd x, wk_vd y, int words)
{
    wk_vd rest[2];
    PRODUCT_OF(x, y, rest);
#pragma GCC unroll 4
    for (int k = 0; k < words - 1; k++) {
        cut(&s[k], &rest[0]);
        if (PAIRED && k > 0) cut(&s[k], &rest[1]); /* it is below the first bin's unit */
    }
    s[words - 1] += rest[0];
    if (PAIRED) s[words - 1] += rest[1];
}

/* In so many bins, the first of which has a unit of 2^first. */
static inline __attribute__((always_inline)) void
FN(fill)(const T *x, const T *y, int64_t n, int first, int words, wk_word *part)
{
    enum { SETS = PAIRED ? 2 : 4 };
    wk_vd s[SETS][WORDS], start[WORDS];
    int64_t i = 0;
#pragma GCC unroll 4
    for (int k = 0; k < words; k++) {
        const int e = first - 41 * k + 52;
        start[k] = wk_splat(k < words - 1 ? 1.5 * wk_power_of_two(e) : 0.0);
#pragma GCC unroll 4
        for (int j = 0; j < SETS; j++) s[j][k] = start[k];
    }
    for (; i + SETS * WK_VD <= n; i += SETS * WK_VD)
#pragma GCC unroll 4
        for (int j = 0; j < SETS; j++)
            FN(take)(s[j], LOAD(x + i + j * WK_VD), LOAD(y + i + j * WK_VD), words);
    for (; i < n; i += WK_VD) {
        const int all = i + WK_VD <= n;
        FN(take)
        (s[0], all ? LOAD(x + i) : FN(load_some)(x + i, n - i),
         all ? LOAD(y + i) : FN(load_some)(y + i, n - i), words);
    }
#pragma GCC unroll 4
    for (int k = 0; k < words; k++) {
        double one[WK_VD];
        wk_vd sum = s[0][k] - start[k];
        for (int j = 1; j < SETS; j++) sum += s[j][k] - start[k];
        memcpy(one, &sum, sizeof one);
        for (int l = 2; l < WK_VD; l++) one[l % 2] += one[l];
        part[k].f = one[0] + one[1];
    }
}

/* n <= WK_BLOCK; 0: they span too much. */
static int
FN(row)(const T *x, const T *y, int64_t n, wk_word *part)
{
    int top[2], low[2];
    if (!FN(exponents)(x, n, &top[0], &low[0]) || !FN(exponents)(y, n, &top[1], &low[1]))
        return 0;
    const int first = top[0] + top[1] - 39, depth = first - low[0] - low[1];
    for (int k = 0; k < 2; k++)
        if (top[k] > 450 || low[k] < -500) return 0;
    if (WORDS > 2 && depth <= 41 * (WORDS - 2)) { /* as most do */
        FN(fill)(x, y, n, first, WORDS - 1, part);
        part[WORDS - 1].f = 0;
        return 1;
    }
    if (depth > 41 * (WORDS - 1)) return 0;
    FN(fill)(x, y, n, first, WORDS, part);
    return 1;
}

/* What spans too much: by deeper bins, or, where products are too large or too small, as integers. */
static void
FN(slow)(wk_exact *e, const T *x, const T *y, int64_t n)
{
    _Alignas(64) double a[WK_SLOW + WK_VD], b[WK_SLOW + WK_VD], terms[TERMS][WK_SLOW + WK_VD];
    for (int64_t i = 0; i < n; i += WK_VD) {
        const int all = i + WK_VD <= n;
        const wk_vd v = all ? LOAD(x + i) : FN(load_some)(x + i, n - i),
                    w = all ? LOAD(y + i) : FN(load_some)(y + i, n - i);
        memcpy(a + i, &v, sizeof v);
        memcpy(b + i, &w, sizeof w);
    }
    if (PAIRED && !(moderate(WK_ISA_NAME(wk_range_of)(a, n)) &&
                    moderate(WK_ISA_NAME(wk_range_of)(b, n)))) {
        for (int64_t i = 0; i < n; i++) wk_exact_add_product(e, a[i], b[i]);
        return;
    }
    for (int64_t i = 0; i < n; i += WK_VD) {
        wk_vd v, w, t[TERMS];
        memcpy(&v, a + i, sizeof v);
        memcpy(&w, b + i, sizeof w);
        EXPAND(v, w, t);
        for (int k = 0; k < TERMS; k++) memcpy(&terms[k][i], &t[k], sizeof v);
    }
    for (int k = 0; k < TERMS; k++) WK_ISA_NAME(wk_exact_slow)(e, terms[k], n, DIGITS);
}

static void
FN(add)(wk_exact *e, const void *from, const void *by, int64_t n)
{
    const T *x = from, *y = by;
    wk_word part[WK_PARTS];
    if (e->flags & WK_HAS_NAN) return; /* nothing changes that */
    if (e->skip == 0 && FN(row)(x, y, n, part)) {
        wk_exact_commit(e, part);
        e->penalty = 0;
        return;
    }
    if (e->skip == 0) {
        e->penalty = e->penalty < 5 ? e->penalty + 1 : 5;
        e->skip = 1 << e->penalty;
    }
    e->skip--;
    for (int64_t i = 0; i < n; i += WK_SLOW)
        FN(slow)(e, x + i, y + i, n - i < WK_SLOW ? n - i : WK_SLOW);
}

/* ---- in two doubles ------------------------------------------------------------------------ */

#if WK_HAS_FMA && !PAIRED
/* Products are doubles. An addition is off by a 2^53rd of what is there at most, and that is no more than
 * the sum of all magnitudes, which is no more than the product of both norms. */
static void
FN(near)(near_sum *sum, const T *x, const T *y, int64_t n)
{
    enum { SETS = 4, LANES = SETS * WK_VD };
    wk_vd s[SETS] = {{0}}, xx[SETS] = {{0}}, yy[SETS] = {{0}};
    double all = 0, squares[2] = {0, 0};
    int64_t i = 0;
#define ADD(k, a, b)                                                                           \
    {                                                                                          \
        const wk_vd u = (a), v = (b);                                                          \
        s[k] = wk_fma(u, v, s[k]);                                                             \
        xx[k] = wk_fma(u, u, xx[k]);                                                           \
        yy[k] = wk_fma(v, v, yy[k]);                                                           \
    }
    for (; i + LANES <= n; i += LANES)
#pragma GCC unroll 4
        for (int k = 0; k < SETS; k++) {
            ask_ahead(x + i, k * WK_VD * (int)sizeof(T));
            ask_ahead(y + i, k * WK_VD * (int)sizeof(T));
            ADD(k, LOAD(x + i + k * WK_VD), LOAD(y + i + k * WK_VD));
        }
    for (; i + WK_VD <= n; i += WK_VD) ADD(0, LOAD(x + i), LOAD(y + i));
    if (i < n) ADD(1, FN(load_some)(x + i, n - i), FN(load_some)(y + i, n - i));
#undef ADD
#pragma GCC unroll 4
    for (int k = 1; k < SETS; k++) {
        s[0] += s[k];
        xx[0] += xx[k];
        yy[0] += yy[k];
    }
    for (int k = 0; k < WK_VD; k++) {
        all += s[0][k];
        squares[0] += xx[0][k];
        squares[1] += yy[0][k];
    }
    near_lost(sum, sqrt(squares[0]) * sqrt(squares[1]), n, LANES);
    near_add(sum, all, 0);
}
#elif WK_HAS_FMA
/* Products are below two to this, or MOST_POWER: some are no numbers, or too small to have all digits;
 * NO_POWER: all are zeros. */
static int
FN(power)(const T *x, const T *y, int64_t n)
{
    seen_sizes seen = {{0}, {0}};
    for (int64_t i = 0; i < n; i += WK_VD) {
        const int all = i + WK_VD <= n;
        see_size(&seen, all ? LOAD(x + i) : FN(load_some)(x + i, n - i),
                 all ? LOAD(y + i) : FN(load_some)(y + i, n - i));
        if (i == FIRST * WK_VD && likely_power(seen.most) != NO_POWER)
            return likely_power(seen.most);
    }
    const int power = power_of(seen.most);
    if (power == NO_POWER && !seen_some(&seen)) return NO_POWER;
    return power < -700 ? MOST_POWER : power;
}

static void
FN(near)(near_sum *sum, const T *x, const T *y, int64_t n)
{
    enum { SETS = 4, LANES = SETS * WK_VD };
    biased_sum s[SETS];
    wk_vd bias;
    int power = sum->power, e, own;
    if (power == NO_POWER) power = FN(power)(x, y, n);
    if (power == NO_POWER) return;
    for (;;) {
        int64_t i = 0;
        if (power > 900) sum->unknown = 1;
        if (sum->unknown) return;
        e = power + 64 - __builtin_clzll((uint64_t)n); /* the sum is below 2^e */
        bias = wk_splat(1.5 * wk_power_of_two(e + 1)); /* and its unit 2^(e - 51) */
#pragma GCC unroll 4
        for (int k = 0; k < SETS; k++) s[k] = biased_start(bias);
        for (; i + LANES <= n; i += LANES)
#pragma GCC unroll 4
            for (int k = 0; k < SETS; k++) {
                ask_ahead(x + i, k * WK_VD * (int)sizeof(T));
                ask_ahead(y + i, k * WK_VD * (int)sizeof(T));
                biased_add(&s[k], LOAD(x + i + k * WK_VD), LOAD(y + i + k * WK_VD));
            }
        for (; i + WK_VD <= n; i += WK_VD) biased_add(&s[0], LOAD(x + i), LOAD(y + i));
        if (i < n) biased_add(&s[1], FN(load_some)(x + i, n - i), FN(load_some)(y + i, n - i));
#pragma GCC unroll 4
        for (int k = 1; k < SETS; k++) s[0].most = wk_larger(s[k].most, s[0].most);
        own = power_of(s[0].most);
        if (own <= power) break;
        power = own < MOST_POWER ? own + 1 : own; /* once more */
    }
    sum->power = own < power - 4 ? NO_POWER : power; /* of the next products, it seems */
    double all[2] = {0, 0};
#pragma GCC unroll 4
    for (int k = 1; k < SETS; k++) {
        s[0].upper += s[k].upper - bias; /* less than 2^52 units: nothing is rounded */
        s[0].lower += s[k].lower;
    }
    s[0].upper -= bias;
    for (int k = 0; k < WK_VD; k++) {
        all[0] += s[0].upper[k];
        all[1] += s[0].lower[k];
    }
    /* Of each lane `pieces` below 2^(e - 52): these, and sums of theirs and of all lanes', are rounded to
     * 2^-53 of what they are at most. */
    const double pieces = (double)(n / LANES + 5);
    sum->lost += LANES * pieces * (pieces + LANES + 1) * wk_power_of_two(e - 104);
    near_add(sum, all[0], all[1]);
}
#endif

#undef T
#undef LOAD
#undef I
#undef STORED
#undef PAIRED
#undef WORDS
#undef PRODUCT_OF
#undef TERMS
#undef EXPAND
#undef DIGITS
#undef FN
