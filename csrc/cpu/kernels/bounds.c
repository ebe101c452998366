/* bounds.c -- means and variances of many outputs at once, between bounds.
 *
 * How     n Q - S^2 and the division in pairs of doubles, by loops without a branch. What both
 *         bounds round to is the answer; of few outputs they round apart, and limbs decide.
 * Source  A. Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded
 *         last bit" (1991) */
#include "finish.h"
#include "near.h"

enum { SOME = WK_BOUNDS };

typedef struct pairs { /* sums of words; lost: 0 where they are exact, else off by 2^-100 */
    double high[SOME], low[SOME], lost[SOME];
} pairs;

static void
pairs_of(pairs *p, const wk_folding *f, int integer, const wk_word *lane, int64_t stride,
         int64_t width)
{
    for (int64_t w = 0; w < width; w++) p->high[w] = p->low[w] = p->lost[w] = 0;
    for (int k = 0; k < f->words; k++) {
        const int word = integer ? f->words - 1 - k : k; /* the largest first */
        const double unit = integer ? wk_from_bits_f64((uint64_t)(1023 + 32 * word) << 52) : 1;
        const wk_word *from = lane + word * stride;
        for (int64_t w = 0; w < width; w++) {
            const double x = integer ? (double)from[w].i * unit : from[w].f;
            const wk_pair sum = wk_two_sum(p->high[w], x);
            const wk_pair rest = wk_two_sum(p->low[w], sum.low);
            p->high[w] = sum.high;
            p->low[w] = rest.high;
            p->lost[w] += fabs(rest.low);
        }
    }
    for (int64_t w = 0; w < width; w++) {
        const wk_pair sum = wk_two_sum(p->high[w], p->low[w]);
        p->high[w] = sum.high;
        p->low[w] = sum.low;
    }
}

/* x + c, of which c is known but for slack. */
typedef struct about {
    double x, c, slack;
} about;

static inline about
root_of(about a)
{
    const double s = sqrt(a.x), r = fma(-s, s, a.x), c = (r + a.c) / (s + s);
    return (about){s, c, a.slack / s + fabs(c) * 0x1p-46 + s * 0x1p-100};
}

/* Products of pairs are off by less than 2^-100 of n Q, and so is Q; S^2 <= n Q. */
static inline about
variance_of(double qh, double ql, double sh, double sl, double n, double d)
{
    const wk_pair p = wk_two_product(qh, n), square = wk_two_product(sh, sh);
    const wk_pair top = wk_two_sum(p.high, -square.high);
    const double low = (p.low + ql * n) + (top.low - square.low - (2 * sh + sl) * sl);
    const wk_pair v = wk_two_sum(top.high, low);
    const double x = v.high / d, c = (fma(-x, d, v.high) + v.low) * (1 / d);
    return (about){x, c, p.high * (0x1p-97 / d) + fabs(c) * 0x1p-48 + x * 0x1p-103};
}

/* Is x so far from the ends that nothing above overflows or loses bits to subnormals? */
static inline int
usual(double x)
{
    return (x > 0x1p-300) & (x < 0x1p300);
}

/* Are all elements the same, beyond doubt? */
static inline int
no_spread(double qh, double ql, double sh, double sl, double n)
{
    const wk_pair p = wk_two_product(qh, n), square = wk_two_product(sh, sh);
    const int equal = (p.high == square.high) & (p.low == square.low) & (ql == 0) & (sl == 0);
    return (usual(qh) & equal) | ((qh == 0) & (ql == 0));
}

/* Are words of integers doubles, and what is divided by too? */
static int
few_enough(const wk_reduction *r)
{
    return r->args->n <= 1 << 18;
}

/* Of a smaller format than a double's, a double is not rounded again: it may lie on either side. */
static double
apart(const wk_reduction *r)
{
    return r->call->out[0].dtype == WK_F64 ? 0 : 0x1p-50;
}

int
WK_ISA_NAME(wk_mean_bounds)(const wk_reduction *r, const void *lanes, int64_t width,
                            int64_t stride, double *low, double *high)
{
    const double n = (double)r->args->n, more = apart(r);
    pairs s;
    if (!few_enough(r)) return 0;
    pairs_of(&s, r->folding[0], r->in->dtype < WK_F16, lanes, stride, width);
    double x[SOME], c[SOME], off[SOME], again[SOME];
    for (int64_t w = 0; w < width; w++) {
        x[w] = s.high[w] / n;
        const wk_pair rest = wk_two_sum(fma(-x[w], n, s.high[w]), s.low[w]);
        c[w] = rest.high / n;
        off[w] = fabs(fma(-c[w], n, rest.high)) + fabs(rest.low);
    }
    /* where c is exact, so are both bounds; where it is 0, x is: a half between two numbers is no
     * rare quotient */
    for (int64_t w = 0; w < width; w++) off[w] = off[w] > 0 ? 0x1p-48 : 0;
    for (int64_t w = 0; w < width; w++) again[w] = c[w] != 0 ? more : 0;
    for (int64_t w = 0; w < width; w++) {
        const double slack = fabs(c[w]) * off[w] + fabs(x[w]) * again[w];
        low[w] = x[w] + (c[w] - slack);
        high[w] = x[w] + (c[w] + slack);
    }
    for (int64_t w = 0; w < width; w++) low[w] = usual(fabs(s.high[w])) ? low[w] : NAN;
    return 1;
}

int
WK_ISA_NAME(wk_variance_bounds)(const wk_reduction *r, void *const *lanes, int64_t from,
                                int64_t width, int64_t stride, double *low, double *high)
{
    const int integer = r->in->dtype < WK_F16, root = r->args->fold[0] == WK_STD;
    const double n = (double)r->args->n, ddof = r->args->ddof, d = n * (n - ddof);
    const double more = apart(r);
    pairs s, q;
    if (!few_enough(r) || ddof != floor(ddof) || !(fabs(ddof) < 1 << 18) || !(d > 0)) return 0;
    pairs_of(&s, r->folding[0], integer, (const wk_word *)lanes[0] + from, stride, width);
    pairs_of(&q, r->folding[1], integer, (const wk_word *)lanes[1] + from, stride, width);
    double x[SOME], c[SOME], slack[SOME];
    for (int64_t w = 0; w < width; w++) {
        const about a = variance_of(q.high[w], q.low[w], s.high[w], s.low[w], n, d);
        x[w] = a.x;
        c[w] = a.c;
        slack[w] = a.slack;
    }
    for (int64_t w = 0; w < width && root; w++) {
        const about a = root_of((about){x[w], c[w], slack[w]});
        x[w] = a.x;
        c[w] = a.c;
        slack[w] = a.slack;
    }
    for (int64_t w = 0; w < width; w++) {
        const double most = slack[w] + more * x[w];
        low[w] = x[w] + (c[w] - most);
        high[w] = x[w] + (c[w] + most);
    }
    for (int64_t w = 0; w < width; w++) {
        const double sh = s.high[w];
        const int good = usual(q.high[w]) & usual(low[w]) & (usual(sh * sh) | (sh == 0));
        low[w] = good ? low[w] : NAN;
    }
    for (int64_t w = 0; w < width; w++) {
        const int none = no_spread(q.high[w], q.low[w], s.high[w], s.low[w], n);
        low[w] = (none & (q.lost[w] == 0)) ? 0 : low[w];
        high[w] = (none & (q.lost[w] == 0)) ? 0 : high[w];
    }
    return 1;
}
