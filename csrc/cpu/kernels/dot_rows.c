/* dot_rows.c -- sums of products of short rows, a vector of them at once.
 *
 * How       rows are turned, and are lanes then. A lane is two doubles, to the second of which go the
 *           first one's roundings, and of float64 the products'. It is off by the second one's roundings
 *           alone. Where all that the sum may be is rounded to one number, that is it; the other rows, and
 *           what is no number, dot.c does one by one.
 * Why       a row's own beginning and end take 50 ns, as long as 200 products. */
#include "dot_rows.h"
#include "near.h"
#include "stencil.h"
#include "store.h"
#include "turn.h"

#if WK_HAS_FMA
enum { SPACE = WK_VD * (WK_DOT_SHORT + WK_VD) };

/* What the sums are at least and at most; lanes of what is given are 0 where that is not known. */
static inline __attribute__((always_inline)) wk_vl
sums_of(const double *x, const double *y, int64_t n, int wide, wk_vd *least, wk_vd *most)
{
    wk_vd high = {0}, low = {0}, size = {0}, rest;
    wk_vl some = {0};
    for (int64_t i = 0; i < n; i++) {
        const wk_vd u = wk_load_f64(x + i * WK_VD), v = wk_load_f64(y + i * WK_VD), p = u * v;
        high = wk_two_sums(high, p, &rest);
        low += wide ? rest + wk_fma(u, v, -p) : rest;
        size += wk_size_of(p);
        some |= (u != 0) & (v != 0);
    }
    /* n roundings of what is no more than 2 n 2^-53 of all magnitudes, by a 2^53rd */
    const double each = (double)((n + 4) * (n + 4)) * 0x1p-104;
    wk_vd slack = size * each;
    high = wk_two_sums(high, low, &low);
    slack += slack * 0x1p-20 + wk_size_of(low) * 0x1p-50; /* what is rounded here */
    if (!wide) slack += wk_size_of(high) * 0x1p-51;       /* and rounded twice    */
    *least = high + (low - slack);
    *most = high + (low + slack);
    return (size < 0x1p900) & ((size > 0x1p-900) | ~some) &
           ((size == 0) | (*least * *most > 0));
}

static inline void
load(wk_stencil_load *from, const void *x, int64_t n, int64_t rows, double *turned)
{
    _Alignas(64) double lines[SPACE];
    from(x, 1, n * rows, lines);
    for (int64_t i = n * rows; i < WK_VD * (n + 1); i++) lines[i] = 0;
    turn(lines, n, turned);
}

/* Lanes are left that are rounded to the same; stores as many as there are rows. */
static void
store(wk_dtype dtype, const double *least, const double *most, int64_t rows, int64_t *known,
      void *out, int64_t at)
{
    float f32[WK_VD];
    if (dtype == WK_F64) {
        for (int r = 0; r < WK_VD; r++) known[r] &= -(int64_t)(least[r] == most[r]);
        memcpy((double *)out + at, least, (size_t)rows * sizeof *least);
    } else if (dtype == WK_F32) {
        for (int r = 0; r < WK_VD; r++) {
            f32[r] = (float)least[r];
            known[r] &= -(int64_t)(f32[r] == (float)most[r]);
        }
        memcpy((float *)out + at, f32, (size_t)rows * sizeof *f32);
    } else {
        for (int64_t r = 0; r < rows; r++) {
            const double a = wk_narrow((wk_near){least[r], 0, 1}, dtype);
            known[r] &= -(int64_t)(a == wk_narrow((wk_near){most[r], 0, 1}, dtype));
            wk_store_real(out, at + r, dtype, a);
        }
    }
}

unsigned
WK_ISA_NAME(wk_dot_rows)(wk_dtype dtype, const void *x, const void *y, int64_t n, int64_t rows,
                         void *out, int64_t at)
{
    _Alignas(64) double turned[2][SPACE], least[WK_VD], most[WK_VD];
    wk_stencil_load *from = WK_ISA_NAME(wk_stencil_loader)(dtype, 1, 0);
    int64_t lanes[WK_VD];
    wk_vd low, high;
    unsigned open = 0;
    load(from, x, n, rows, turned[0]);
    load(from, y, n, rows, turned[1]);
    const wk_vl known = dtype == WK_F64 ? sums_of(turned[0], turned[1], n, 1, &low, &high)
                                        : sums_of(turned[0], turned[1], n, 0, &low, &high);
    memcpy(lanes, &known, sizeof lanes);
    memcpy(least, &low, sizeof least);
    memcpy(most, &high, sizeof most);
    store(dtype, least, most, rows, lanes, out, at);
    for (int64_t r = 0; r < rows; r++) open |= (unsigned)(lanes[r] == 0) << r;
    return open;
}
#else
unsigned
WK_ISA_NAME(wk_dot_rows)(wk_dtype dtype, const void *x, const void *y, int64_t n, int64_t rows,
                         void *out, int64_t at)
{
    (void)dtype, (void)x, (void)y, (void)n, (void)out, (void)at;
    return (1u << rows) - 1;
}
#endif
