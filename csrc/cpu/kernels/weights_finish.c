/* weights_finish.c -- a bin's words as a number of the result's dtype, rounded once. */
#include "weights.h"
#include "store.h"

enum { LIMBS = 80 }; /* of 67 words, with room for carries */

static double
of_limbs(const wk_pieces *p, const int64_t *word, const int64_t *count, wk_format format)
{
    int64_t room[LIMBS] = {0};
    wk_moments m = {.flags = WK_NOT_MINUS_ZERO, .n = count ? *count : 1};
    m.sum = (wk_limbs){room, (p->words - 1) * p->step / 32 + 4, p->least};
    for (int k = 0; k < p->words; k++)
        if (word[k]) wk_limbs_add(&m.sum, word[k], p->least + k * p->step);
    return wk_finish_sum(&m, count != NULL, format);
}

/* Of at most two words. */
static double
of_words(const wk_pieces *p, __int128 sum, const int64_t *count, wk_dtype dtype)
{
    if (sum == 0) return 0;
    const int64_t narrow = (int64_t)sum, exact = (int64_t)1 << 53;
    const int once = dtype == WK_F64 || (dtype == WK_F32 && narrow > -exact && narrow < exact);
    if (narrow == sum && once && count == NULL && p->least > -WK_MODERATE &&
        p->least < WK_MODERATE) {
        const double x = (double)narrow * wk_power_of_two(p->least);
        return dtype == WK_F64 ? x : (double)(float)x;
    }
    const unsigned __int128 size = (unsigned __int128)(sum < 0 ? -sum : sum);
    wk_leading v = {{0, 0, (uint64_t)size, (uint64_t)(size >> 64)}, p->least - 128, 0};
    if (count) wk_divide(&v, (uint64_t)*count);
    wk_normalise(&v);
    return wk_round_leading(&v, sum < 0, wk_format_of(dtype));
}

static void
store_float(const wk_pieces *p, const int64_t *word, int flags, const int64_t *count,
            const wk_array *out, int64_t at)
{
    const wk_dtype real = wk_real_of(out->dtype);
    double x;
    if (count && *count == 0)
        x = wk_nan();
    else if (flags)
        x = wk_odd_sum(flags);
    else if (p->words > 2)
        x = of_limbs(p, word, count, wk_format_of(real));
    else
        x = of_words(p, p->words == 1 ? word[0] : word[0] + word[1] * ((__int128)1 << p->step),
                     count, real);
    if (count == NULL) x += 0.0; /* below zero and rounded to it: no sum is -0.0 */
    if (p->parts == 2)
        wk_store_real(out->data, 2 * at + p->part, real, x);
    else
        wk_store_real(out->data, at, out->dtype, x);
}

static void
store_integer(const wk_pieces *p, const int64_t *word, const wk_array *out, int64_t at)
{
    uint64_t bits = 0;
    if (out->dtype == WK_BOOL && p->words > 1) /* not zero as a number: words may cancel */
        bits = of_limbs(p, word, NULL, wk_format_of(WK_F64)) != 0;
    else
        for (int k = 0; k < p->words; k++) bits += (uint64_t)word[k] << k * p->step;
    wk_store_bits(out->data, at, out->dtype, bits);
}

void
WK_ISA_NAME(wk_weights_store)(const wk_pieces *p, const int64_t *word, int flags,
                              const int64_t *count, const wk_array *out, int64_t at)
{
    if (out->dtype < WK_F16)
        store_integer(p, word, out, at);
    else
        store_float(p, word, flags, count, out, at);
}

/* A bin is high 2^step + low, with 0 <= low < 2^step once what is above is carried. Where both are
 * below 2^53 in size they are doubles, as is high 2^step, so that their sum is rounded once; it is a
 * whole number, which times 2^least is neither subnormal nor otherwise inexact, and infinite only
 * where the rounded sum is. Sums from `most` on are not known. */
static inline __attribute__((always_inline)) int
round_words(const int64_t *word, int64_t n, int words, int step, int least, double most,
            double *x)
{
    const uint64_t mask = ((uint64_t)1 << step) - 1;
    const double up = wk_power_of_two(step), unit = wk_power_of_two(least), exact = 0x1p53;
    int64_t all = 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t below = word[i * words], above = words == 2 ? word[2 * i + 1] : 0;
        const double high = (double)(int64_t)((uint64_t)above + (uint64_t)(below >> step));
        const double sum = high * up + (double)(int64_t)((uint64_t)below & mask);
        const int64_t known = (fabs(high) < exact) & (fabs(sum) < most);
        x[i] = known ? sum * unit : wk_nan();
        all &= known;
    }
    return all ? 1 : 2;
}

int
WK_ISA_NAME(wk_weights_round)(const wk_pieces *p, const int64_t *word, int64_t n,
                              wk_dtype dtype, double *x)
{
    const int least = p->least;
    const double most =
        dtype == WK_F64 ? 0x1p200 : 0x1p53; /* a float's rounding is the only one */
    if (p->words > 2 || least <= -WK_MODERATE || least >= WK_MODERATE) return 0;
    if (dtype != WK_F64 && dtype != WK_F32) return 0;
    if (p->words == 1) return round_words(word, n, 1, 32, least, most, x);
    return round_words(word, n, 2, p->step, least, most, x);
}

void
WK_ISA_NAME(wk_weights_keep)(const wk_pieces *p, const int64_t *word, int flags, int64_t *to,
                             int64_t at)
{
    const wk_dtype real = wk_real_of(p->dtype);
    const wk_form form = wk_form_of_weights(real);
    wk_exact_sums s;
    wk_exact_sums_start(&form, &s);
    s.flags = flags | WK_NOT_MINUS_ZERO;
    const wk_limbs sum = wk_exact_sums_limbs(&form, &s, 0);
    for (int k = 0; k < p->words; k++)
        if (word[k]) wk_limbs_add(&sum, word[k], p->least + k * p->step);
    wk_form_save(&form, &s, to + (at * p->parts + p->part) * form.words);
}
