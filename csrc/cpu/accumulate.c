/* accumulate.c -- exact sums in parts and limbs. */
#include "cpu/reduction.h"

enum { MANY = 1 << 28 }; /* pieces between two carries; a limb takes 2^29 */

void
wk_acc_start(const wk_reduction *r, wk_acc *a)
{
    int64_t *room = (int64_t *)(a + 1);
    memset(a, 0, sizeof *a);
    a->index = -1;
    const int integer = r->in->dtype < WK_F16;
    for (int i = 0; i < 3; i++) {
        const int square = i == 2;
        wk_exact *e = square ? &a->squares : &a->sum[i];
        const int count = square ? r->square_limbs : i < r->sums ? r->sum_limbs : 0;
        e->limbs = (wk_limbs){room, count, square ? r->square_base : r->sum_base};
        e->integer = integer;
        if (!integer) e->part[0].f = -0.0; /* the sum of -0.0 alone is -0.0 */
        room += count;
    }
    for (int c = 0; c < r->components; c++) {
        const wk_folding *f = r->folding[c];
        if (r->component[c] == WK_C_MIN) f->start(&a->least, 1);
        if (r->component[c] == WK_C_MAX) f->start(&a->most, 1);
        if (r->component[c] == WK_C_PRODUCT) a->bits = 1;
        if (r->component[c] == WK_C_SUM) a->sum[0].words = a->sum[1].words = f->words;
        if (r->component[c] == WK_C_SQUARES) a->squares.words = f->words;
    }
}

void
wk_acc_merge(const wk_reduction *r, wk_acc *a, const wk_acc *b)
{
    a->n += b->n;
    for (int c = 0; c < r->components; c++) r->folding[c]->merge(a, b);
}

/* ---- limbs -------------------------------------------------------------------------------- */

static void
use_limbs(wk_exact *e)
{
    if (e->used) return;
    memset(e->limbs.limb, 0, (size_t)e->limbs.count * sizeof *e->limbs.limb);
    e->used = 1;
    if (!e->integer) e->pieces = 0;
}

static void
count_pieces(wk_exact *e, int64_t n)
{
    e->pieces += n;
    if (e->pieces < MANY) return;
    wk_limbs_carry(&e->limbs);
    e->pieces = 0;
}

void
wk_exact_add_each(wk_exact *e, const double *x, int64_t n)
{
    use_limbs(e);
    const wk_limbs limbs = e->limbs;
    int flags = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t b = wk_bits_f64(x[i]);
        const int raw = (int)(b >> 52 & 2047);
        const int64_t minus = (int64_t)b >> 63;
        int64_t m = (int64_t)((b & 0xfffffffffffffu) | (uint64_t)(raw > 0) << 52);
        int exponent = (raw > 0 ? raw : 1) - 1075;
        if (b != (uint64_t)1 << 63) flags |= WK_NOT_MINUS_ZERO;
        if (raw == 2047) {
            flags |= x[i] != x[i] ? WK_HAS_NAN : minus ? WK_HAS_MINUS_INF : WK_HAS_INF;
            continue;
        }
        const int under = limbs.base - exponent;
        if (under > 0) { /* the bits below are zero: no element reaches there */
            m >>= under < 63 ? under : 63;
            exponent += under;
        }
        wk_limbs_add(&limbs, (m ^ minus) - minus, exponent);
    }
    e->flags |= flags;
    count_pieces(e, n);
}

void
wk_exact_add(wk_exact *e, double x)
{
    wk_exact_add_each(e, &x, 1);
}

void
wk_exact_add_square(wk_exact *e, double x)
{
    const uint64_t b = wk_bits_f64(x);
    const int raw = (int)(b >> 52 & 2047);
    const uint64_t m = (b & 0xfffffffffffffu) | (uint64_t)(raw > 0) << 52;
    e->flags |= WK_NOT_MINUS_ZERO;
    if (raw == 2047) {
        e->flags |= x != x ? WK_HAS_NAN : WK_HAS_INF;
        return;
    }
    use_limbs(e);
    wk_limbs_add_square(&e->limbs, m, (raw > 0 ? raw : 1) - 1075);
    count_pieces(e, 3);
}

void
wk_exact_add_product(wk_exact *e, double x, double y)
{
    wk_product p;
    e->flags |= WK_NOT_MINUS_ZERO;
    if (x - x != 0 || y - y != 0) {
        e->flags |= wk_odd_flag(x * y);
        return;
    }
    use_limbs(e);
    wk_product_of(x, y, &p);
    for (int k = 0; k < 4; k++) wk_limbs_add(&e->limbs, p.piece[k], p.e[k]);
    count_pieces(e, 4);
}

void
wk_exact_flush(wk_exact *e)
{
    use_limbs(e);
    for (int k = 0; k < e->words; k++) {
        if (e->integer)
            wk_limbs_add(&e->limbs, e->part[k].i, 32 * k);
        else if (e->part[k].f != 0 || (k == 0 && !signbit(e->part[k].f)))
            wk_exact_add(e, e->part[k].f);
        e->part[k].i = 0;
    }
    if (e->integer) {
        wk_limbs_carry(&e->limbs);
        e->pieces = 0;
    } else {
        e->part[0].f = -0.0;
    }
}

/* Is a + b a double? Then it is *sum. */
static int
add_exactly(double a, double b, double *sum)
{
    const double s = a + b, other = s - a;
    *sum = s;
    return (a - (s - other)) + (b - other) == 0;
}

void
wk_exact_commit(wk_exact *e, const wk_word *part)
{
    wk_word sum[WK_PARTS];
    int exact = 1;
    if (e->integer) {
        for (int k = 0; k < e->words; k++) e->part[k].i += part[k].i;
        e->pieces += WK_HELD;
        if (e->pieces >= MANY) wk_exact_flush(e);
        return;
    }
    for (int k = 0; k < e->words; k++) exact &= add_exactly(e->part[k].f, part[k].f, &sum[k].f);
    if (!exact) wk_exact_flush(e);
    for (int k = 0; k < e->words; k++) e->part[k] = exact ? sum[k] : part[k];
}

void
wk_exact_merge(wk_exact *e, const wk_exact *other)
{
    e->flags |= other->flags;
    if (e->integer) { /* both may be near their words' end */
        wk_exact_flush(e);
        for (int k = 0; k < other->words; k++)
            wk_limbs_add(&e->limbs, other->part[k].i, 32 * k);
    } else {
        wk_exact_commit(e, other->part);
    }
    if (!other->used) return;
    use_limbs(e);
    wk_limbs_carry(&other->limbs);
    wk_limbs_carry(&e->limbs);
    for (int i = 0; i < e->limbs.count; i++) e->limbs.limb[i] += other->limbs.limb[i];
    if (!e->integer) e->pieces = 2;
}
