/* reduce_turned.c -- outputs in the order in which their elements lie, which are turned then. us, 2 cores, so for as
 * they lie: maxima of 1858 x 2 x 29 x 6 uint8 in Fortran's order along axis 1 34 for 980. */
#include "cpu/gather.h"
#include "cpu/reduction.h"
#include "plan.h"

#include <stdlib.h>

enum { LEAST = 1 << 14 }; /* elements that are worth it */

/* The kept axes from far to near: is that another order than the outputs', and are outputs nearer than the
 * elements of one? */
static int
turns(const wk_call *call, int *order)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in;
    if (call->part.mode != WK_WHOLE || r->planes == 2 || r->n * r->outputs < LEAST) return 0;
    int other = wk_order_kept(a, r->kept, order);
    for (int d = 0; d < r->kept; d++) {
        if (a->strides[d] == 0) return 0;
        other |= a->strides[d] < 0;
    }
    if (!other || r->n < 2) return other;
    return llabs(a->strides[order[r->kept - 1]]) < llabs(a->strides[a->ndim - 1]);
}

/* The call with its kept axes in that order; of: where its outputs lie then, in the order of the call's. */
static void
turn(wk_call *part, const int *order, wk_array *of)
{
    const int kept = part->args.reduce.kept;
    wk_array *where = part->mask.ndim >= 0 ? &part->mask : NULL;
    int64_t step = 1;
    of->ndim = kept;
    of->first = 0; /* in elements, as they may be of several types */
    for (int i = kept - 1; i >= 0; i--) {
        const int d = order[i];
        of->shape[d] = part->in.shape[d];
        of->strides[d] = step;
        step *= of->shape[d];
        if (part->in.strides[d] > 0) continue;
        wk_flip(&part->in, d, 0);
        if (where) wk_flip(where, d, 0);
        of->first += (of->shape[d] - 1) * of->strides[d];
        of->strides[d] = -of->strides[d];
    }
    wk_permute(&part->in, order);
    if (where) wk_permute(where, order);
    wk_fuse_reduced(&part->in, where, &part->args.reduce);
}

/* The i-th result's elements: sums of complex numbers may be given as parts. */
static wk_dtype
result_of(const wk_call *call, int i)
{
    const wk_dtype dtype = call->out[i].dtype;
    const wk_fold fold = call->args.reduce.fold[i];
    const int sum = fold == WK_SUM || fold == WK_MEAN;
    if (!sum || !wk_is_complex(call->in.dtype) || wk_is_complex(dtype)) return dtype;
    return dtype == WK_F32 ? WK_C64 : WK_C128;
}

int
wk_reduce_turned(wk_call *call, wk_launch *as_it_lies)
{
    const int64_t outputs = call->args.reduce.outputs;
    int order[WK_MAX_DIMS];
    if (!turns(call, order)) return 0;
    char *room = malloc((size_t)(outputs * 16 * call->outs));
    wk_call *part = malloc(sizeof *part);
    wk_array of;
    if (room && part) {
        *part = *call;
        turn(part, order, &of);
        for (int i = 0; i < call->outs; i++) part->out[i].data = room + outputs * 16 * i;
        if (as_it_lies(part)) wk_fail_as(&call->error, &part->error);
    }
    for (int i = 0; room && part && i < call->outs && !call->error.status; i++) {
        wk_array from = of;
        from.dtype = result_of(call, i);
        from.first *= wk_itemsize[from.dtype];
        from.bytes = outputs * wk_itemsize[from.dtype];
        from.host = part->out[i].data;
        wk_copy_packed(call, &from, call->out[i].data);
    }
    const int done = room && part;
    free(room);
    free(part);
    return done;
}
