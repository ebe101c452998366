/* finish.c -- an accumulator's results, each rounded once: from the parts where that can be
 * proved right, else from limbs. */
#include "finish.h"
#include "near.h"
#include "num/spread.h"
#include "store.h"

/* ---- sums --------------------------------------------------------------------------------- */

static const wk_near unknown = {0, 0, 0};

/* The parts as a pair, off by at most *slack; 0: only limbs can tell. */
static int
pair_of(const wk_exact *e, wk_pair *pair, double *slack)
{
    *slack = 0;
    if (e->used || e->flags & WK_IS_ODD) return 0;
    if (e->integer) {
        __int128 x = 0;
        for (int k = e->words - 1; k >= 0; k--) {
            if (x > (__int128)1 << 66 || x < -((__int128)1 << 66)) return 0;
            x = x * ((__int128)1 << 32) + e->part[k].i;
        }
        pair->high = (int64_t)x == x ? (double)(int64_t)x : (double)x;
        pair->low = (double)(int64_t)(x - (__int128)pair->high);
        return fabs(pair->high) < 0x1p100;
    }
    *pair = (wk_pair){e->part[0].f, 0};
    double low = 0;
    for (int k = 1; k < e->words; k++) {
        *pair = wk_two_sum(pair->high, e->part[k].f);
        low += pair->low;
    }
    if (e->words > 2) {
        *pair = wk_two_sum(pair->high, low);
        *slack = pair->high * 0x1p-100;
    } else {
        pair->low = low;
    }
    return wk_moderate(pair->high) || pair->high == 0 || e->words <= 2;
}

/* A copy, all of it in limbs that may be used up. */
static wk_limbs
limbs_of(const wk_exact *e, int64_t *room, int *flags)
{
    wk_exact copy = *e;
    copy.limbs.limb = room;
    if (e->used) memcpy(room, e->limbs.limb, (size_t)e->limbs.count * sizeof *room);
    wk_exact_flush(&copy);
    *flags |= copy.flags | (e->integer ? WK_NOT_MINUS_ZERO : 0);
    return copy.limbs;
}

double
WK_ISA_NAME(wk_finish_exact)(const wk_exact *e, int64_t n, int divide, wk_dtype dtype)
{
    int64_t room[WK_SUM_LIMBS];
    wk_pair p;
    double slack;
    if (divide && n == 0) return wk_nan();
    if (pair_of(e, &p, &slack)) {
        if (p.high == 0) {
            const int minus = !e->integer && !(e->flags & WK_NOT_MINUS_ZERO) &&
                              signbit(e->part[0].f) && (e->words == 1 || e->part[1].f == 0);
            return n > 0 && minus ? -0.0 : 0.0;
        }
        const wk_near near =
            divide ? wk_near_quotient(p, (double)n) : (wk_near){p.high, p.low, 1};
        if (near.known) return wk_narrow(near, dtype);
    }
    wk_moments m = {.flags = 0, .n = n};
    m.sum = limbs_of(e, room, &m.flags);
    return wk_finish_sum(&m, divide, wk_format_of(dtype));
}

/* Parts of either sign, added up without an error but for `slack`. */
static wk_near
near_products(const wk_exact *e)
{
    wk_pair sum = {e->part[0].f, 0}, low = {0, 0};
    double slack = 0;
    for (int k = 1; k < e->words; k++) {
        sum = wk_two_sum(sum.high, e->part[k].f);
        low = wk_two_sum(low.high, sum.low);
        slack += fabs(low.low);
    }
    sum = wk_two_sum(sum.high, low.high);
    if (slack == 0) return (wk_near){sum.high, sum.low, 1};
    return wk_moderate(sum.high) ? wk_settle(sum.high, sum.low, 2 * slack) : unknown;
}

double
WK_ISA_NAME(wk_finish_products)(const wk_exact *e, wk_dtype dtype)
{
    int64_t room[WK_SQUARE_LIMBS];
    if (!e->used && !(e->flags & WK_IS_ODD)) {
        const wk_near near = near_products(e);
        if (near.known) return near.d == 0 ? 0.0 : wk_narrow(near, dtype);
    }
    wk_moments m = {.flags = WK_NOT_MINUS_ZERO, .n = 1};
    m.sum = limbs_of(e, room, &m.flags);
    return wk_finish_sum(&m, 0, wk_format_of(dtype));
}

/* ---- squares ------------------------------------------------------------------------------ */

static double
finish_squares(const wk_exact *e, int64_t n, int root, wk_dtype dtype)
{
    int64_t room[WK_SQUARE_LIMBS];
    wk_pair p;
    double slack;
    if (pair_of(e, &p, &slack)) {
        wk_near near = {p.high, p.low, 1};
        if (p.high == 0) return 0.0;
        if (root)
            near = wk_near_root(p, slack);
        else if (slack > 0)
            near = wk_settle(p.high, p.low, slack);
        if (near.known) return wk_narrow(near, dtype);
    }
    wk_moments m = {.flags = 0, .n = n};
    m.squares = limbs_of(e, room, &m.flags);
    return wk_finish_squares(&m, root, wk_format_of(dtype));
}

/* Modulo 2^64: limbs of integers begin at 2^0. */
static uint64_t
squares_modulo(const wk_exact *e)
{
    int64_t room[WK_SQUARE_LIMBS];
    int flags = 0;
    const wk_limbs l = limbs_of(e, room, &flags);
    const int64_t *limb = room - l.base / 32;
    return (uint64_t)limb[0] + ((uint64_t)limb[1] << 32);
}

static int
are_few(int64_t n, double ddof)
{
    return n < 1 << 26 && ddof == floor(ddof) && fabs(ddof) < 1 << 26;
}

/* high + low, known but for `lost`, divided by the whole number d; its root if so. */
static wk_near
near_spread(wk_pair v, double lost, double d, int root)
{
    if (v.high == 0 && v.low == 0 && lost == 0) return (wk_near){0, 0, 1};
    if (!wk_moderate(v.high) || v.high < 0) return unknown;
    const double x = v.high / d, r = fma(-x, d, v.high);
    const wk_pair rest = wk_two_sum(r, v.low);
    const double c = rest.high / d;
    const int exact = lost == 0 && rest.low == 0 && fma(-c, d, rest.high) == 0;
    const double slack = exact ? 0 : lost / d + fabs(c) * 0x1p-48 + x * 0x1p-103;
    return root ? wk_near_root(wk_two_sum(x, c), slack) : wk_settle(x, c, slack);
}

/* n Q - S^2 of `sums` sums in two doubles, but for *lost, which may be too much. 0: only limbs can tell. */
static int
spread_of_pairs(const wk_acc *a, int sums, wk_pair *spread, double *lost)
{
    const double n = (double)a->n;
    wk_pair q, s;
    double slack, none;
    if (!pair_of(&a->squares, &q, &slack)) return 0;
    if (a->n == 1 || (q.high == 0 && slack == 0)) {
        *spread = (wk_pair){0, 0};
        *lost = 0;
        return 1;
    }
    if (!wk_moderate(q.high)) return 0;
    wk_pair v = wk_two_product(q.high, n);
    double low = v.low + q.low * n, some = slack + fabs(v.low) + fabs(q.low);
    slack = v.high * 0x1p-97;
    for (int i = 0; i < sums; i++) {
        if (!pair_of(&a->sum[i], &s, &none)) return 0;
        if (s.high == 0) continue;
        if (!wk_moderate(s.high * s.high)) return 0;
        const wk_pair square = wk_two_product(s.high, s.high);
        v = wk_two_sum(v.high, -square.high);
        low += v.low - square.low - (2 * s.high + s.low) * s.low;
        some += fabs(v.low) + fabs(square.low) + fabs(s.low);
    }
    *spread = wk_two_sum(v.high, low);
    *lost = some == 0 ? 0 : slack;
    return 1;
}

/* The same of parts that are floats, all of them. */
static int
spread_of_parts(const wk_acc *a, int sums, wk_pair *spread, double *lost)
{
    double square[WK_PARTS], sum[2 * WK_PARTS];
    const int each = a->sum[0].words;
    if (a->squares.integer) return 0;
    for (int k = 0; k < a->squares.words; k++) square[k] = a->squares.part[k].f;
    for (int i = 0; i < sums; i++)
        for (int k = 0; k < each; k++) sum[i * each + k] = a->sum[i].part[k].f;
    const wk_spread_sum v = wk_spread((double)a->n, square, a->squares.words, sum, each, sums);
    *spread = (wk_pair){v.s[0], v.s[1]};
    *lost = v.lost + 2 * fabs(v.s[2]);
    return 1;
}

/* n Q - S^2 of `sums` sums, divided by n (n - ddof). */
static wk_near
near_variance(const wk_acc *a, int sums, double ddof, int root)
{
    const double n = (double)a->n, d = n * (n - ddof);
    wk_pair spread;
    double lost;
    if (!are_few(a->n, ddof) || !(d > 0) || !spread_of_pairs(a, sums, &spread, &lost))
        return unknown;
    const wk_near near = near_spread(spread, lost, d, root);
    if (near.known || !spread_of_parts(a, sums, &spread, &lost)) return near;
    return near_spread(spread, lost, d, root);
}

static double
finish_variance(const wk_reduction *r, const wk_acc *a, int root, wk_dtype dtype)
{
    const int sums = r->sums;
    const double ddof = r->args->ddof;
    int64_t rooms[2][WK_SUM_LIMBS], room[WK_VARIANCE_LIMBS];
    const wk_near near = near_variance(a, sums, ddof, root);
    if (near.known) return wk_narrow(near, dtype);
    if (r->args->skip_nan && !((double)a->n - ddof > 0)) return wk_nan(); /* as numpy.nanvar */
    wk_moments m = {.flags = 0, .n = a->n};
    wk_limbs limbs[2];
    memset(room, 0, sizeof room);
    for (int i = 0; i < sums; i++) limbs[i] = limbs_of(&a->sum[i], rooms[i], &m.flags);
    m.squares = limbs_of(&a->squares, room, &m.flags);
    const double x = wk_finish_variance(&m, limbs, sums, ddof, root, wk_format_of(dtype));
    return wk_narrow((wk_near){x, 0, 1}, dtype); /* where ddof is no whole number */
}

/* ---- the least and the most --------------------------------------------------------------- */

/* One part of a complex number; there was none, or a NaN, where either is NaN. */
static double
complex_part(const wk_value *place, int part)
{
    const double *x = place->f64;
    return __builtin_isunordered(x[0], x[1]) ? wk_nan() : x[part];
}

double
WK_ISA_NAME(wk_real_of_key)(const void *key, wk_dtype dtype)
{
    int16_t k16;
    int32_t k32;
    int64_t k64;
    switch (dtype) {
    case WK_F16:
        memcpy(&k16, key, sizeof k16);
        k16 = (int16_t)wk_unorder_16(k16, 0x7c00, 0x7e00);
        return wk_f64_of_f16((uint16_t)k16);
    case WK_BF16:
        memcpy(&k16, key, sizeof k16);
        k16 = (int16_t)wk_unorder_16(k16, 0x7f80, 0x7fc0);
        return (double)wk_from_bits_f32((uint32_t)(uint16_t)k16 << 16);
    case WK_F32: memcpy(&k32, key, sizeof k32); return (double)wk_unorder_f32(k32);
    default: memcpy(&k64, key, sizeof k64); return wk_unorder_f64(k64);
    }
}

uint64_t
WK_ISA_NAME(wk_integer_of_key)(const void *key, wk_dtype dtype)
{
    int8_t k8;
    int16_t k16;
    int32_t k32;
    uint64_t k64 = 0;
    switch (dtype) {
    case WK_I8: memcpy(&k8, key, 1); return (uint64_t)(int64_t)k8;
    case WK_I16: memcpy(&k16, key, 2); return (uint64_t)(int64_t)k16;
    case WK_I32: memcpy(&k32, key, 4); return (uint64_t)(int64_t)k32;
    default: memcpy(&k64, key, (size_t)wk_itemsize[dtype]); return k64; /* little-endian */
    }
}

static void
finish_extreme(const wk_acc *a, wk_fold fold, wk_dtype in, const wk_array *out, int64_t at)
{
    const wk_value *place = fold == WK_MIN ? &a->least : &a->most;
    if (in < WK_F16) {
        uint64_t x = WK_ISA_NAME(wk_integer_of_key)(place, in);
        if (fold == WK_PTP) x -= WK_ISA_NAME(wk_integer_of_key)(&a->least, in);
        wk_store_bits(out->data, at, out->dtype, x);
        return;
    }
    const int complex = wk_is_complex(in);
    const wk_dtype part = wk_real_of(out->dtype);
    for (int i = 0; i <= complex; i++) {
        double x = complex ? complex_part(place, i) : WK_ISA_NAME(wk_real_of_key)(place, in);
        if (fold == WK_PTP) {
            x -= complex ? complex_part(&a->least, i)
                         : WK_ISA_NAME(wk_real_of_key)(&a->least, in);
            x = wk_narrow((wk_near){x, 0, 1}, part);
        }
        wk_store_real(out->data, complex ? 2 * at + i : at, complex ? part : out->dtype, x);
    }
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void
add_initial(const wk_reduction *r, wk_acc *a, int64_t output)
{
    const wk_reduce_args *args = r->args;
    const wk_dtype in = r->in->dtype;
    for (int c = 0; c < r->components; c++) {
        switch (r->component[c]) {
        case WK_C_WRAP: a->bits += args->initial.u; break;
        case WK_C_PRODUCT: a->bits *= args->initial.u; break;
        case WK_C_SUM:
            a->n++;
            if (in < WK_F16) {
                const int unsign = wk_is_unsigned(in);
                const uint64_t u = args->initial.u;
                wk_exact_flush(&a->sum[0]);
                wk_limbs_add(&a->sum[0].limbs, (int64_t)(u & 0xffffffffu), 0);
                wk_limbs_add(&a->sum[0].limbs, unsign ? (int64_t)(u >> 32) : (int64_t)u >> 32,
                             32);
                break;
            }
            for (int i = 0; i < r->sums; i++)
                wk_exact_add(&a->sum[i],
                             args->initial.f64[r->sums > 1 ? i : output % args->planes]);
            break;
        case WK_C_MIN:
        case WK_C_MAX:
            if (!args->skip_nan || !WK_ISA_NAME(wk_any_nan)(in, args->initial.bytes, 1))
                r->folding[c]->run(a, args->initial.bytes, 1, 0);
            break;
        default: break;
        }
    }
}

static void
finish_sum(const wk_reduction *r, const wk_acc *a, int divide, const wk_array *out, int64_t at)
{
    const wk_dtype part = wk_real_of(out->dtype);
    for (int i = 0; i < r->sums; i++) {
        const double x = WK_ISA_NAME(wk_finish_exact)(&a->sum[i], a->n, divide, part);
        if (r->sums > 1)
            wk_store_real(out->data, 2 * at + i, part, x);
        else
            wk_store_real(out->data, at, out->dtype, x);
    }
}

static void
finish_one(const wk_reduction *r, const wk_acc *a, wk_fold fold, const wk_array *out,
           int64_t at)
{
    const wk_dtype in = r->in->dtype, part = wk_real_of(out->dtype);
    const int wraps = in < WK_F16 && out->dtype < WK_F16;
    void *data = out->data;
    switch (fold) {
    case WK_SUM:
    case WK_MEAN:
        if (wraps)
            wk_store_bits(data, at, out->dtype, a->bits);
        else
            finish_sum(r, a, fold == WK_MEAN, out, at);
        break;
    case WK_SUMSQ:
    case WK_NORM:
        if (wraps)
            wk_store_bits(data, at, out->dtype, squares_modulo(&a->squares));
        else
            wk_store_real(data, at, out->dtype,
                          finish_squares(&a->squares, a->n, fold == WK_NORM, part));
        break;
    case WK_VAR:
    case WK_STD:
        wk_store_real(data, at, out->dtype, finish_variance(r, a, fold == WK_STD, part));
        break;
    case WK_MIN:
    case WK_MAX:
    case WK_PTP: finish_extreme(a, fold, in, out, at); break;
    case WK_ANY: wk_store_bits(data, at, out->dtype, a->some != 0); break;
    case WK_ALL: wk_store_bits(data, at, out->dtype, a->zero == 0); break;
    case WK_COUNT_NONZERO: wk_store_bits(data, at, out->dtype, (uint64_t)a->nonzero); break;
    case WK_PROD: wk_store_bits(data, at, out->dtype, a->bits); break;
    default: /* argmin, argmax */
        wk_store_bits(data, at, out->dtype,
                      (uint64_t)(a->index < 0 ? -1 : r->args->first + a->index));
        break;
    }
}

void
WK_ISA_NAME(wk_finish)(const wk_reduction *r, wk_acc *a, int64_t output)
{
    if (r->args->has_initial) add_initial(r, a, output);
    for (int i = 0; i < r->call->outs; i++)
        finish_one(r, a, r->args->fold[i], &r->call->out[i], output);
}
