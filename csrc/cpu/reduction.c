/* reduction.c -- which components a call needs, and which way it goes through its input. */
#include "cpu/reduction.h"
#include "cpu/threads.h"

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

wk_status
wk_reduce_walk(wk_call *call, const wk_foldings *foldings)
{
    wk_reduction r;
    wk_foldings keeping;
    if (call->part.mode == WK_WHOLE) { /* words are of each part, and of what was asked for */
        pair_parts(call);
        ask_for_any(call);
    }
    wk_reduce_look(&r, call, foldings);
    if (call->part.mode == WK_FINISH) {
        wk_finish_words(&r);
        return WK_OK;
    }
    if (call->part.mode == WK_PIECE) wk_keep_words(&r, &keeping);
    const int axis = r.args->n > 0 ? column_axis(&r) : -1;
    return axis >= 0 ? wk_reduce_columns(call, &r, axis) : wk_reduce_rows(call, &r);
}
