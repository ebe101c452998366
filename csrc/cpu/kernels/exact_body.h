/* exact_body.h -- exact sums of one dtype, or of its squares. No include guard.
 *   T            in memory; LOAD(p) WK_VD of them as doubles; MINUS_ZERO the bits of -0.0
 *   WORDS        doubles that the sum of a block is kept in
 *   STEP(to, v)  adds v to to[WORDS], without an operation that rounds unless the flag tells;
 *                where PAIRED is defined, bins are used instead: see window_body.h
 *   TERMS, EXPAND(v, t)  the element as TERMS doubles whose sum it is
 *   DIGITS       of a term, at most
 *   EXACT(a)     the sum's wk_exact in an accumulator
 *   SAFE(top)    may it be expanded, elements below 2^(top + 1)? ADD_ONE(e, x) adds it anyhow
 * FN(name) gives the functions' names. */

static inline wk_vd
FN(load_some)(const T *x, int64_t n)
{
    T some
        __attribute__((vector_size(WK_VD * sizeof(T)))); /* in memory it would be waited for */
#pragma GCC unroll 8
    for (int k = 0; k < WK_VD; k++) some[k] = k < n ? x[k] : (T)MINUS_ZERO;
    return LOAD((const T *)&some);
}

/* What is left of a row of n from element i on, less than a vector: of a vector that ends where the
 * row does, if there is one, for one element after the other takes longer than all before. */
static inline wk_vd
FN(load_rest)(const T *x, int64_t i, int64_t n)
{
    if (n < WK_VD) return FN(load_some)(x + i, n - i);
    wk_vl from_end;
    for (int k = 0; k < WK_VD; k++) from_end[k] = WK_VD - k;
    const wk_vl taken = from_end <= n - i;
    return (wk_vd)(((wk_vl)LOAD(x + n - WK_VD) & taken) | ((wk_vl)wk_splat(-0.0) & ~taken));
}

#ifdef PAIRED
#include "window_body.h"
#else
#include "plain_body.h"
#endif

static int
FN(rows)(void *lanes, const void *x, const int64_t *offsets, int64_t n, int64_t width)
{
    return FN(rows_of)(lanes, x, offsets, n, width, 1);
}

static int
FN(columns)(void *lanes, const void *x, const int64_t *offsets, int64_t n, int64_t width)
{
    return FN(columns_of)(lanes, x, offsets, n, width, 1);
}

/* What is not exact at once. */
static void
FN(slow)(wk_exact *e, const T *x, int64_t n)
{
    _Alignas(64) double terms[TERMS][WK_SLOW + WK_VD];
    for (int64_t i = 0; i < n; i += WK_VD) {
        const wk_vd v = i + WK_VD <= n ? LOAD(x + i) : FN(load_some)(x + i, n - i);
        memcpy(&terms[0][i], &v, sizeof v);
    }
    if (!SAFE(WK_ISA_NAME(wk_range_of)(terms[0], n))) {
        for (int64_t i = 0; i < n; i++) ADD_ONE(e, terms[0][i]);
        return;
    }
    for (int64_t i = 0; i < n; i += WK_VD) {
        wk_vd v, t[TERMS];
        memcpy(&v, &terms[0][i], sizeof v);
        EXPAND(v, t);
        for (int k = 0; k < TERMS; k++) memcpy(&terms[k][i], &t[k], sizeof v);
    }
    for (int k = 0; k < TERMS; k++) WK_ISA_NAME(wk_exact_slow)(e, terms[k], n, DIGITS);
}

static void
FN(add)(wk_exact *e, const void *from, int64_t n)
{
    const T *x = from;
    const int64_t zero = 0;
    double lanes[WORDS * 8];
    if (e->flags & WK_HAS_NAN) return; /* nothing changes that */
    if (e->skip == 0 && FN(rows)(lanes, x, &zero, n, 1)) {
        commit(e, lanes, 8);
        e->penalty = 0;
        return;
    }
    if (e->skip == 0) {
        e->penalty = e->penalty < 5 ? e->penalty + 1 : 5;
        e->skip = 1 << e->penalty;
    }
    e->skip--;
    for (int64_t i = 0; i < n; i += WK_SLOW)
        FN(slow)(e, x + i, n - i < WK_SLOW ? n - i : WK_SLOW);
}

static void
FN(run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    (void)index;
    FN(add)(&EXACT(a), x, n);
}

static void
FN(absorb)(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    commit(&EXACT(a), (const double *)lanes + w, stride);
}

static void
FN(start)(void *lanes, int64_t stride)
{
    double *lane = lanes;
    for (int64_t i = 0; i < stride * WORDS; i++) lane[i] = i < stride ? -0.0 : 0.0;
}

#undef T
#undef LOAD
#undef MINUS_ZERO
#undef WORDS
#undef STEP
#undef TERMS
#undef EXPAND
#undef DIGITS
#undef SAFE
#undef ADD_ONE
#undef FN
