/* bounds.c -- means, variances and norms of many outputs at once, between bounds.
 *
 * How     n Q - S^2, the division and the root in pairs of doubles, by loops without a branch.
 *         What is lost is known, and is mostly nothing: then the result is exact but for its one
 *         rounding. Else what both bounds round to is the answer; of few outputs they round apart,
 *         and limbs decide.
 * Source  A. Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded
 *         last bit" (1991) */
#include "finish.h"
#include "near.h"

enum { SOME = WK_BOUNDS };

typedef struct pairs { /* sums of words, off by at most `lost` */
    double high[SOME], low[SOME], lost[SOME];
} pairs;

static void
words_at(const wk_words *s, int word, int part, int64_t width, double *x)
{
    const wk_word *from = s->lane + word * s->stride + part;
    const int64_t step = s->step;
    const double unit = wk_power_of_two(32 * word);
    if (s->integer)
        for (int64_t w = 0; w < width; w++) x[w] = (double)from[w].i * unit;
    else if (step == 1)
        memcpy(x, from, (size_t)width * sizeof *x);
    else
        for (int64_t w = 0; w < width; w++) x[w] = from[w * step].f;
}

/* Of all parts: a complex number's squares count together. */
static void
pairs_of(pairs *p, const wk_words *s, int64_t width)
{
    const int count = s->words * s->parts, last = s->words - 1;
    double x[SOME];
    words_at(s, s->integer ? last : 0, 0, width, p->high); /* the largest first */
    for (int64_t w = 0; w < width; w++) p->low[w] = p->lost[w] = 0;
    for (int i = 1; i < count; i++) {
        const int k = i / s->parts;
        words_at(s, s->integer ? last - k : k, i % s->parts, width, x);
        for (int64_t w = 0; w < width; w++) {
            const wk_pair sum = wk_two_sum(p->high[w], x[w]);
            const wk_pair rest = wk_two_sum(p->low[w], sum.low);
            p->high[w] = sum.high;
            p->low[w] = rest.high;
            p->lost[w] += 2 * fabs(rest.low);
        }
    }
    for (int64_t w = 0; w < width && count > 1; w++) {
        const wk_pair sum = wk_two_sum(p->high[w], p->low[w]);
        p->high[w] = sum.high;
        p->low[w] = sum.low;
    }
}

/* x + c, of which c is known but for slack; where both are 0, x is it. */
typedef struct about {
    double x, c, slack;
} about;

static inline about
root_of(about a)
{
    const double s = sqrt(a.x), r = fma(-s, s, a.x), half = 0.5 / s, c = (r + a.c) * half;
    return (about){s, c, 2 * a.slack * half + fabs(c) * 0x1p-46};
}

/* A pair less a square, what is lost added to. */
static inline wk_pair
less_square(wk_pair v, double sh, double sl, double *lost)
{
    const wk_pair square = wk_two_product(sh, sh), top = wk_two_sum(v.high, -square.high);
    const double cross = (2 * sh + sl) * sl;
    const wk_pair a = wk_two_sum(top.low, -square.low), b = wk_two_sum(v.low, a.high);
    const wk_pair c = wk_two_sum(b.high, -cross);
    *lost += fabs(a.low) + fabs(b.low) + fabs(c.low) + fabs(cross) * 0x1p-50;
    return (wk_pair){top.high, c.high};
}

/* x / d for a whole number d, and `one` the double nearest to 1 / d: exactly, where it is a double. */
static inline double
divide(double x, double d, double one)
{
    const double q = x * one;
    return fma(fma(-q, d, x), one, q);
}

static inline about
quotient_of(wk_pair v, double lost, double d, double one)
{
    const wk_pair sum = wk_two_sum(v.high, v.low);
    const double x = divide(sum.high, d, one), c = (fma(-x, d, sum.high) + sum.low) * one;
    return (about){x, c, 2 * lost * one + fabs(c) * 0x1p-48};
}

/* Is x so far from the ends that nothing above overflows or loses bits to subnormals? */
static inline int
usual(double x)
{
    return (x > 0x1p-300) & (x < 0x1p300);
}

/* Are words of integers doubles, and what is divided by too? */
static int
few_enough(int64_t n)
{
    return n <= 1 << 18;
}

/* Of a smaller format than a double's, a double is not rounded again: it may lie on either side. */
static double
apart(wk_dtype dtype)
{
    return dtype == WK_F64 ? 0 : 0x1p-50;
}

int
WK_ISA_NAME(wk_mean_bounds)(const wk_words *sum, int64_t n, wk_dtype dtype, int64_t width,
                            double *low, double *high)
{
    const double d = (double)n, one = 1 / d, more = apart(dtype);
    pairs s;
    if (!few_enough(n)) return 0;
    pairs_of(&s, sum, width);
    double x[SOME], c[SOME], off[SOME], again[SOME];
    for (int64_t w = 0; w < width; w++) {
        x[w] = divide(s.high[w], d, one);
        const wk_pair rest = wk_two_sum(fma(-x[w], d, s.high[w]), s.low[w]);
        c[w] = rest.high * one;
        off[w] = fabs(fma(-c[w], d, rest.high)) + fabs(rest.low);
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
    words_at(sum, 0, 0, width, c);
    for (int64_t w = 0; w < width; w++) { /* 0 of c's sign: -0.0 where all elements are */
        const double zero = c[w] == 0 ? c[w] : 0, none = s.high[w] == 0 ? zero : NAN;
        const int good = usual(fabs(s.high[w]));
        low[w] = good ? low[w] : none;
        high[w] = good ? high[w] : none;
    }
    return 1;
}

/* Both ends of x + c, or of its root; NaN where it is not known that nothing was lost to the
 * range. */
static void
bounds_of(double *x, double *c, double *slack, int root, wk_dtype dtype, int64_t width,
          double *low, double *high)
{
    const double more = apart(dtype);
    for (int64_t w = 0; w < width; w++) low[w] = (x[w] == 0) & (slack[w] == 0) ? 0 : NAN;
    for (int64_t w = 0; w < width && root; w++) {
        const about a = root_of((about){x[w], c[w], slack[w]});
        x[w] = a.x;
        c[w] = a.c;
        slack[w] = a.slack;
    }
    for (int64_t w = 0; w < width; w++) {
        const double spare = fabs(c[w]) * 0x1p-50; /* or c + slack would round it off */
        const double off = slack[w] != 0 ? slack[w] + spare : 0;
        const double most = (c[w] != 0) | (slack[w] != 0) ? off + more * x[w] : 0;
        const double least = x[w] + (c[w] - most);
        high[w] = usual(least) ? x[w] + (c[w] + most) : low[w];
        low[w] = usual(least) ? least : low[w];
    }
}

int
WK_ISA_NAME(wk_variance_bounds)(const wk_words *sum, const wk_words *squares, int64_t count,
                                double ddof, int root, wk_dtype dtype, int64_t width,
                                double *low, double *high)
{
    const double n = (double)count, d = n * (n - ddof);
    const int parts = sum->parts;
    pairs s[2], q;
    if (!few_enough(count) || ddof != floor(ddof) || !(fabs(ddof) < 1 << 18) || !(d > 0))
        return 0;
    for (int i = 0; i < parts; i++) {
        const wk_words part = {sum->lane + i, sum->stride, sum->step,
                               sum->words,    1,           sum->integer};
        pairs_of(&s[i], &part, width);
    }
    pairs_of(&q, squares, width);
    double x[SOME], c[SOME], slack[SOME], good[SOME];
    for (int64_t w = 0; w < width; w++) {
        const wk_pair p = wk_two_product(q.high[w], n), rest = wk_two_product(q.low[w], n);
        const wk_pair v = wk_two_sum(p.low, rest.high);
        x[w] = p.high;
        c[w] = v.high;
        slack[w] = fabs(rest.low) + fabs(v.low) + n * q.lost[w];
        good[w] = usual(q.high[w]) | (q.high[w] == 0);
    }
    for (int i = 0; i < parts; i++)
        for (int64_t w = 0; w < width; w++) {
            const double sh = s[i].high[w];
            const wk_pair v = less_square((wk_pair){x[w], c[w]}, sh, s[i].low[w], &slack[w]);
            x[w] = v.high;
            c[w] = v.low;
            good[w] = (sh == 0) | usual(sh * sh) ? good[w] : 0;
        }
    for (int64_t w = 0; w < width; w++) {
        const about a = quotient_of((wk_pair){x[w], c[w]}, slack[w], d, 1 / d);
        x[w] = good[w] != 0 ? a.x : NAN;
        c[w] = a.c;
        slack[w] = a.slack;
    }
    bounds_of(x, c, slack, root, dtype, width, low, high);
    return 1;
}

int
WK_ISA_NAME(wk_square_bounds)(const wk_words *squares, int64_t n, int root, wk_dtype dtype,
                              int64_t width, double *low, double *high)
{
    pairs q;
    if (!few_enough(n)) return 0;
    pairs_of(&q, squares, width);
    for (int64_t w = 0; w < width; w++) {
        const int good = usual(q.high[w]) | (q.high[w] == 0);
        q.high[w] = good ? q.high[w] : NAN;
    }
    bounds_of(q.high, q.low, q.lost, root, dtype, width, low, high);
    return 1;
}
