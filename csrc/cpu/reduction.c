/* reduction.c -- which components a call needs, and which way it goes through its input. */
#include "cpu/reduce_way.h"
#include "cpu/threads.h"
#include "num/ordered.h"

#include <stdlib.h>

static void
need(wk_reduction *r, wk_component c)
{
    for (int i = 0; i < r->components; i++)
        if (r->component[i] == c) return;
    r->folding[r->components] = &r->foldings->component[c][r->in->dtype];
    r->component[r->components++] = c;
}

static void
need_for(wk_reduction *r, wk_fold fold, wk_dtype out)
{
    const int integer = r->in->dtype < WK_F16, wraps = out < WK_F16;
    switch (fold) {
    case WK_SUM: need(r, integer && wraps ? WK_C_WRAP : WK_C_SUM); break;
    case WK_MEAN: need(r, WK_C_SUM); break;
    case WK_SUMSQ:
    case WK_NORM: need(r, WK_C_SQUARES); break;
    case WK_VAR:
    case WK_STD:
        need(r, WK_C_SUM);
        need(r, WK_C_SQUARES);
        break;
    case WK_PTP:
        need(r, WK_C_MIN);
        need(r, WK_C_MAX);
        break;
    case WK_MIN: need(r, WK_C_MIN); break;
    case WK_MAX: need(r, WK_C_MAX); break;
    case WK_ANY: need(r, WK_C_ANY); break;
    case WK_ALL: need(r, WK_C_ALL); break;
    case WK_COUNT_NONZERO: need(r, WK_C_COUNT); break;
    case WK_PROD: need(r, WK_C_PRODUCT); break;
    case WK_ARGMIN: need(r, WK_C_ARGMIN); break;
    default: need(r, WK_C_ARGMAX); break;
    }
}

/* The limbs that the components' sums may need. */
static void
lay_out(wk_reduction *r)
{
    const wk_dtype dtype = r->in->dtype;
    const int large = dtype == WK_F64 || dtype == WK_C128 || r->args->has_initial;
    r->sum_base = large ? WK_SUM_BASE : WK_SUM_BASE_SMALL;
    r->square_base = large ? WK_SQUARE_BASE : WK_SQUARE_BASE_SMALL;
    for (int i = 0; i < r->components; i++) {
        if (r->component[i] == WK_C_SUM) {
            r->sums = wk_is_complex(dtype) ? 2 : 1;
            r->sum_limbs = large ? WK_SUM_LIMBS : WK_SUM_LIMBS_SMALL;
        }
        if (r->component[i] == WK_C_SQUARES)
            r->square_limbs = large ? WK_SQUARE_LIMBS : WK_SQUARE_LIMBS_SMALL;
    }
    const int64_t limbs = r->sums * r->sum_limbs + r->square_limbs;
    r->acc_bytes = (int64_t)sizeof(wk_acc) + 8 * ((limbs + 1) & ~(int64_t)1);
}

/* ---- what does not count ------------------------------------------------------------------ */

/* The bits of what adds, multiplies or decides nothing; 0: it has none. */
static int
neutral_bits(const wk_reduction *r, wk_dtype part, wk_component c, uint64_t *bits)
{
    const uint64_t infinity = wk_infinity_bits(part);
    const uint64_t sign = (uint64_t)1 << (8 * wk_itemsize[part] - 1);
    const int unsign = part == WK_BOOL || wk_is_unsigned(part);
    switch (c) {
    case WK_C_ARGMIN:
    case WK_C_ARGMAX: return 0;
    case WK_C_MIN: *bits = infinity ? infinity : unsign ? UINT64_MAX : sign - 1; break;
    case WK_C_MAX: *bits = infinity ? infinity | sign : unsign ? 0 : sign; break;
    case WK_C_ALL:
    case WK_C_PRODUCT: *bits = 1; break;         /* of floats a number that is not 0 */
    default: *bits = infinity ? sign : 0; break; /* -0.0 leaves a sum of -0.0 as it is */
    }
    return r->args->has_initial || (c != WK_C_MIN && c != WK_C_MAX);
}

/* Is there one element that is neutral for all that is asked for, of which a call need not know how many
 * there are? */
static void
look_for_neutral(wk_reduction *r)
{
    const wk_reduce_args *args = r->args;
    const wk_dtype part = wk_real_of(r->in->dtype);
    const int64_t item = wk_itemsize[part];
    uint64_t bits = 0, others;
    if (r->call->part.mode != WK_WHOLE || args->planes == 2) return;
    for (int i = 0; i < r->call->outs; i++) {
        const wk_fold fold = args->fold[i];
        if (fold == WK_MEAN || fold == WK_VAR || fold == WK_STD) return;
    }
    for (int i = 0; i < r->components; i++) {
        if (!neutral_bits(r, part, r->component[i], &others) || (i > 0 && others != bits))
            return;
        bits = others;
    }
    for (int64_t at = 0; at < r->item; at += item)
        memcpy(r->neutral + at, &bits, (size_t)item); /* little-endian */
    r->fills = 1;
    r->clears = r->component[0] == WK_C_SUM && !args->has_initial;
}

const uint8_t *
wk_which_count(const wk_reduction *r, const char *x, const uint8_t *mask, int64_t step,
               int64_t n, uint8_t *room)
{
    if (mask && step == 1 && !r->args->skip_nan) return mask;
    for (int64_t i = 0; i < n; i++) room[i] = mask ? mask[i * step] : 1;
    if (r->args->skip_nan) r->foldings->drop_nan(r->in->dtype, x, n, room);
    return room;
}

#define CLEAR(T, parts)                                                                        \
    for (int64_t w = 0; w < width; w++)                                                        \
        for (int k = 0; k < parts; k++)                                                        \
    ((T *)to)[(first + w * step) * parts + k] &= (T) - (T)(some[w] != 0)

void
wk_clear_outputs(const wk_reduction *r, const uint8_t *some, int64_t width, int64_t first,
                 int64_t step)
{
    for (int i = 0; i < r->call->outs; i++) {
        const wk_dtype dtype = r->call->out[i].dtype;
        void *to = r->call->out[i].data;
        /* A complex sum may be seen as its parts. */
        const int sum = r->args->fold[i] == WK_SUM;
        const int parts = sum && r->sums == 2 && !wk_is_complex(dtype) ? 2 : 1;
        switch (wk_itemsize[dtype] * parts) {
        case 1: CLEAR(uint8_t, 1); break;
        case 2: CLEAR(uint16_t, 1); break;
        case 4: CLEAR(uint32_t, 1); break;
        case 8: CLEAR(wk_two_floats, 1); break;
        default: CLEAR(uint64_t, 2); break;
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

void
wk_reduce_look(wk_reduction *r, wk_call *call, const wk_foldings *foldings)
{
    memset(r, 0, sizeof *r);
    r->call = call;
    r->args = &call->args.reduce;
    r->in = &call->in;
    r->item = wk_itemsize[call->in.dtype];
    r->x = (const char *)call->in.data + call->in.first;
    r->foldings = foldings;
    if (call->mask.ndim >= 0) {
        const wk_array *w = r->where = &call->mask;
        r->mask = (const uint8_t *)(w->data ? w->data : w->host) + w->first;
    }
    r->ends_early = 1;
    for (int i = 0; i < call->outs; i++) {
        const wk_fold fold = r->args->fold[i];
        need_for(r, fold, call->out[i].dtype);
        r->ends_early &=
            fold == WK_ANY || fold == WK_ALL || (wk_is_arg(r) && r->in->dtype == WK_BOOL);
    }
    for (int i = 0; i < r->components; i++) r->notices_nan |= r->component[i] <= WK_C_MAX;
    if (r->mask || r->args->skip_nan) look_for_neutral(r);
    lay_out(r);
}

/* The kept axis along which neighbours lie closest, if they lie closer than reduced elements do;
 * -1: rows. */
static int
column_axis(const wk_reduction *r)
{
    const wk_array *a = r->in;
    int best = -1;
    if (r->args->n < 2) return a->ndim == 0 ? -1 : r->args->kept - 1;
    for (int d = 0; d < r->args->kept; d++)
        if (best < 0 || llabs(a->strides[d]) <= llabs(a->strides[best])) best = d;
    if (best < 0 || a->shape[best] < 2) return -1;
    for (int d = r->args->kept; d < a->ndim; d++)
        if (llabs(a->strides[d]) <= llabs(a->strides[best])) return -1;
    return best;
}

/* Real and imaginary parts side by side are complex numbers again, which have lanes: of sums, and
 * of what is squared, where they are the last axis. */
static void
pair_parts(wk_call *call)
{
    wk_array *a = &call->in;
    wk_reduce_args *args = &call->args.reduce;
    const int last = a->ndim - 1;
    wk_pair_parts(call);
    int can = (a->dtype == WK_F32 || a->dtype == WK_F64) && last >= args->kept &&
              a->shape[last] == 2 && a->strides[last] == 1 && call->mask.ndim < 0;
    can &= !args->skip_nan && !args->has_initial;
    for (int i = 0; i < call->outs; i++)
        can &= args->fold[i] == WK_SUMSQ || args->fold[i] == WK_NORM;
    for (int d = 0; d < last; d++) can &= a->strides[d] % 2 == 0;
    if (!can) return;
    for (int d = 0; d < last; d++) a->strides[d] /= 2;
    a->dtype = a->dtype == WK_F32 ? WK_C64 : WK_C128;
    a->ndim--;
    args->n /= 2;
}

/* The largest of bools is whether there is any, which may be known early. */
static void
ask_for_any(wk_call *call)
{
    wk_reduce_args *args = &call->args.reduce;
    if (call->in.dtype != WK_BOOL || call->outs != 1 || args->has_initial) return;
    if (args->fold[0] == WK_MAX) args->fold[0] = WK_ANY;
    if (args->fold[0] == WK_MIN) args->fold[0] = WK_ALL;
}

void
wk_reduce_simplify(wk_call *call)
{
    if (call->part.mode != WK_WHOLE)
        return; /* words are of each part, and of what was asked for */
    pair_parts(call);
    ask_for_any(call);
}

wk_status
wk_reduce_walk(wk_call *call, const wk_foldings *foldings)
{
    wk_reduction r;
    wk_foldings keeping;
    wk_reduce_look(&r, call, foldings);
    if (call->part.mode == WK_FINISH) {
        wk_finish_words(&r);
        return WK_OK;
    }
    if (call->part.mode == WK_PIECE) wk_keep_words(&r, &keeping);
    const int axis = r.args->n > 0 ? column_axis(&r) : -1;
    const int rows = axis < 0 && (r.args->n == 0 || wk_has_rows(&r) || !wk_picks_rows(&r));
    return rows ? wk_reduce_rows(call, &r) : wk_reduce_columns(call, &r, axis);
}
