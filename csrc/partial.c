/* partial.c -- see partial.h. What is known here of a GPU's states is what cuda/reduce/production's
 * table.cuh, integers.cuh and summary.cuh, and cuda/histogram's weights_pieces.cuh say of them. */
#include "partial.h"

#include <string.h>

enum {
    DIGIT = 24, /* bits of a table's limb                                                    */
    LIMBS_AT = 4,
    PART_SHIFT = 8, /* a table's flags of imaginary parts                                    */
    PIECE = 8       /* bits of a limb of weights                                              */
};

/* ---- forms -------------------------------------------------------------------------------- */

static int
is_large(wk_dtype dtype)
{
    return dtype == WK_F64 || dtype == WK_C128;
}

static void
lay_out(wk_form *f, wk_dtype dtype, int sums, int squares)
{
    const int large = is_large(dtype), integer = dtype < WK_F16;
    const int sum_base = large ? WK_SUM_BASE : WK_SUM_BASE_SMALL;
    const int square_base = large ? WK_SQUARE_BASE : WK_SQUARE_BASE_SMALL;
    f->flags = integer ? 0 : WK_FLAG_WORDS;
    f->sum_skip = integer ? -sum_base / 32 : 0;
    f->square_skip = integer ? -square_base / 32 : 0;
    f->sum_base = sum_base + 32 * f->sum_skip;
    f->square_base = square_base + 32 * f->square_skip;
    f->sums = sums;
    f->sum_limbs = sums ? (large ? WK_SUM_LIMBS : WK_SUM_LIMBS_SMALL) - f->sum_skip : 0;
    f->square_limbs =
        squares ? (large ? WK_SQUARE_LIMBS : WK_SQUARE_LIMBS_SMALL) - f->square_skip : 0;
    f->words = WK_COUNT_WORDS + f->flags + sums * f->sum_limbs + f->square_limbs;
}

wk_form
wk_form_of(const wk_fold *folds, int count, wk_dtype dtype)
{
    wk_form form;
    int sums = 0, squares = 0;
    for (int i = 0; i < count; i++) {
        const int spread = folds[i] == WK_VAR || folds[i] == WK_STD;
        sums |= spread || folds[i] == WK_MEAN || (folds[i] == WK_SUM && dtype >= WK_F16);
        squares |= spread || folds[i] == WK_SUMSQ || folds[i] == WK_NORM;
    }
    lay_out(&form, dtype, wk_is_complex(dtype) ? 2 * sums : sums, squares);
    return form;
}

wk_form
wk_form_of_weights(wk_dtype dtype)
{
    wk_form form;
    lay_out(&form, dtype, 1, 0);
    return form;
}

void
wk_exact_sums_start(const wk_form *form, wk_exact_sums *s)
{
    s->n = 0;
    s->flags = 0;
    const size_t sum = (size_t)(form->sum_limbs + 4),
                 squares = (size_t)(form->square_limbs + 4);
    for (int i = 0; i < form->sums; i++) memset(s->sum[i], 0, sum * sizeof *s->sum[i]);
    if (form->square_limbs) memset(s->squares, 0, squares * sizeof *s->squares);
}

wk_limbs
wk_exact_sums_limbs(const wk_form *form, wk_exact_sums *s, int number)
{
    if (number == 2) return (wk_limbs){s->squares, form->square_limbs + 4, form->square_base};
    return (wk_limbs){s->sum[number], form->sum_limbs + 4, form->sum_base};
}

/* Carried; the last of `count` limbs has the sign of what lies behind. */
static int64_t *
save_limbs(const wk_limbs *limbs, int count, int64_t *to)
{
    wk_limbs_carry(limbs);
    memcpy(to, limbs->limb, (size_t)count * sizeof *to);
    to[count - 1] += (int64_t)((uint64_t)limbs->limb[count] << 32);
    return to + count;
}

void
wk_form_save(const wk_form *form, wk_exact_sums *s, int64_t *words)
{
    static const int flags[WK_FLAG_WORDS] = {WK_HAS_NAN, WK_HAS_INF, WK_HAS_MINUS_INF,
                                             WK_NOT_MINUS_ZERO};
    const int odd = s->flags & WK_IS_ODD;
    if (odd) { /* which tells all results; not all finite elements may be there */
        const int64_t n = s->n;
        wk_exact_sums_start(form, s);
        s->n = n;
        s->flags = odd | WK_NOT_MINUS_ZERO;
    }
    if (form->sums == 0) /* only squares, which have no sign */
        s->flags = (odd & WK_HAS_NAN) | (odd & ~WK_HAS_NAN ? WK_HAS_INF : 0);
    words[0] = s->n & 0xffffffff;
    words[1] = s->n >> 32;
    words += WK_COUNT_WORDS;
    for (int i = 0; i < form->flags; i++) *words++ = (s->flags & flags[i]) != 0;
    for (int i = 0; i < form->sums; i++) {
        const wk_limbs sum = wk_exact_sums_limbs(form, s, i);
        words = save_limbs(&sum, form->sum_limbs, words);
    }
    if (form->square_limbs == 0) return;
    const wk_limbs squares = wk_exact_sums_limbs(form, s, 2);
    save_limbs(&squares, form->square_limbs, words);
}

void
wk_form_load(const wk_form *form, const int64_t *words, wk_exact_sums *s)
{
    static const int flags[WK_FLAG_WORDS] = {WK_HAS_NAN, WK_HAS_INF, WK_HAS_MINUS_INF,
                                             WK_NOT_MINUS_ZERO};
    wk_exact_sums_start(form, s);
    s->n = words[0] + (int64_t)((uint64_t)words[1] << 32);
    words += WK_COUNT_WORDS;
    for (int i = 0; i < form->flags; i++)
        if (*words++ != 0) s->flags |= flags[i];
    for (int i = 0; i < form->sums; i++, words += form->sum_limbs)
        memcpy(s->sum[i], words, (size_t)form->sum_limbs * sizeof *words);
    if (form->square_limbs)
        memcpy(s->squares, words, (size_t)form->square_limbs * sizeof *words);
}

/* ---- a GPU's states: tables of floats ------------------------------------------------------- */

static void
add_digits(const wk_limbs *to, const uint64_t *limb, int count, int base)
{
    for (int i = 0; i < count; i++)
        if (limb[i]) wk_limbs_add(to, (int64_t)limb[i], DIGIT * i + base);
}

/* Of a table: real and imaginary parts' sums, then squares; what follows is not looked at. */
static int
table_to_words(const wk_call *call, const wk_form *form, const uint64_t *table, int64_t size,
               int64_t *words)
{
    const wk_reduce_args *r = &call->args.reduce;
    const int wide = is_large(call->in.dtype), base = wide ? -1074 : -149;
    const int sum_limbs = wide ? 92 : 15, square_limbs = wide ? 178 : 26;
    const int least =
        LIMBS_AT + form->sums * sum_limbs + (form->square_limbs > 0) * square_limbs;
    /* Where more is asked for than moments, a table holds all: it may have sums that nobody wants. */
    const int all =
        LIMBS_AT + (wk_is_complex(call->in.dtype) ? 2 : 1) * sum_limbs + square_limbs;
    const int whole = size >= all && size > least;
    wk_exact_sums s;
    if (size < least) return -1;
    wk_exact_sums_start(form, &s);
    s.n = r->skip_nan || call->mask.ndim >= 0 ? (int64_t)table[0] : r->n;
    s.flags = (int)table[1] | (int)table[1] >> PART_SHIFT;
    const uint64_t *limb = table + LIMBS_AT;
    const int sums = whole ? (all - LIMBS_AT - square_limbs) / sum_limbs : form->sums;
    for (int i = 0; i < sums; i++, limb += sum_limbs) {
        if (i >= form->sums) continue;
        const wk_limbs to = wk_exact_sums_limbs(form, &s, i);
        add_digits(&to, limb, sum_limbs, base);
    }
    if (form->square_limbs) {
        const wk_limbs to = wk_exact_sums_limbs(form, &s, 2);
        add_digits(&to, limb, square_limbs, 2 * base);
    }
    s.flags &= WK_IS_ODD | WK_NOT_MINUS_ZERO;
    wk_form_save(form, &s, words);
    return 0;
}

/* ---- a GPU's states: integers ----------------------------------------------------------------- */

/* A number of so many words of 64 bits, the lowest first, times 2^e. */
static void
add_words(const wk_limbs *to, const uint64_t *word, int count, int is_signed, int e)
{
    for (int i = 0; i < count; i++) {
        const int top = is_signed && i == count - 1;
        wk_limbs_add(to, (int64_t)(word[i] & 0xffffffffu), e + 64 * i);
        wk_limbs_add(to, top ? (int64_t)word[i] >> 32 : (int64_t)(word[i] >> 32),
                     e + 64 * i + 32);
    }
}

typedef struct moments { /* how many words a state has of them */
    int sum, squares;
    int lacks; /* unsigned elements were made signed: 2^lacks was taken off each; 0: none were */
} moments;

/* 0: no state is of that size. */
static int
find_moments(wk_dtype in, int squares, int64_t size, moments *m)
{
    const int item = wk_itemsize[in], all = item == 1 ? 1 : item <= 4 ? 2 : 3;
    const int unsign = wk_is_unsigned(in);
    if (size == 2 && !squares) { /* one word holds the sum as it is */
        *m = (moments){1, 0, 0};
        return 1;
    }
    *m = (moments){item <= 2 ? 1 : 2, all, unsign ? 8 * item - 1 : 0};
    if (size == 1 + m->sum && !squares) m->squares = 0;
    const int64_t least = 1 + m->sum + m->squares;
    return size == least || size == least + 3; /* extremes, and a count */
}

static int
moments_to_words(const wk_call *call, const wk_form *form, const uint64_t *state, int64_t size,
                 int64_t *words)
{
    wk_exact_sums s;
    moments m;
    const int squares = form->square_limbs > 0;
    if (!find_moments(call->in.dtype, squares, size, &m)) return -1;
    wk_exact_sums_start(form, &s);
    s.n = (int64_t)state[0];
    const wk_limbs a = wk_exact_sums_limbs(form, &s, 0), q = wk_exact_sums_limbs(form, &s, 2);
    if (form->sums) add_words(&a, state + 1, m.sum, 1, 0);
    if (squares) add_words(&q, state + 1 + m.sum, m.squares, 0, 0);
    if (form->sums && m.lacks) add_words(&a, state, 1, 0, m.lacks);
    if (squares && m.lacks) { /* (y + b)^2 = y^2 + 2 b y + b^2 */
        add_words(&q, state + 1, m.sum, 1, m.lacks + 1);
        add_words(&q, state, 1, 0, 2 * m.lacks);
    }
    wk_form_save(form, &s, words);
    return 0;
}

int
wk_words_of_states(const wk_call *call, const uint64_t *states, int64_t size, int64_t *words)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_form form = wk_form_of(r->fold, call->outs, call->in.dtype);
    const int exact = form.sums > 0 || form.square_limbs > 0;
    for (int64_t o = 0; o < r->outputs; o++, states += size, words += form.words) {
        int status = 0;
        if (exact && call->in.dtype >= WK_F16)
            status = table_to_words(call, &form, states, size, words);
        else if (exact)
            status = moments_to_words(call, &form, states, size, words);
        else
            words[0] = (int64_t)(states[0] & 0xffffffffu),
            words[1] = (int64_t)(states[0] >> 32);
        if (status < 0) return -1;
    }
    return 0;
}

/* ---- a GPU's states: weights -------------------------------------------------------------------- */

int
wk_words_of_weights(wk_dtype weights, const uint64_t *states, int64_t rows, int64_t size,
                    int64_t step, int64_t *words)
{
    const wk_form form = wk_form_of_weights(weights);
    const int64_t limbs = size - 1; /* the last word has the flags, of 32 bits, of all rows */
    const uint32_t *flags = (const uint32_t *)(states + limbs * rows);
    if (limbs != (weights == WK_F64 ? 264 : 36)) return -1;
    for (int64_t row = 0; row < rows; row++, words += step) {
        wk_exact_sums s;
        wk_exact_sums_start(&form, &s);
        s.flags = (int)(flags[row] & WK_IS_ODD) | WK_NOT_MINUS_ZERO;
        const wk_limbs to = wk_exact_sums_limbs(&form, &s, 0);
        for (int64_t k = 0; k < limbs; k++) {
            const int64_t limb = (int64_t)states[k * rows + row];
            if (limb)
                wk_limbs_add(&to, limb, (int)(PIECE * k) + (weights == WK_F64 ? -1074 : -149));
        }
        wk_form_save(&form, &s, words);
    }
    return 0;
}
