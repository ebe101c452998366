/* plan.c -- canonical forms of the arguments; no arithmetic on elements. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

int64_t
wk_size(const wk_array *a)
{
    int64_t n = 1;
    for (int d = 0; d < a->ndim; d++) n *= a->shape[d];
    return n;
}

void
wk_set_block(wk_array *a, void *element0)
{
    const int64_t item = wk_itemsize[a->dtype];
    int64_t low = 0, high = 0; /* in elements, from element0 */
    const int empty = wk_size(a) == 0;
    for (int d = 0; d < a->ndim; d++) {
        if (empty) a->strides[d] = 0; /* nobody walks them; they may be anything */
        const int64_t reach = (a->shape[d] - 1) * a->strides[d];
        if (reach < 0) low += reach;
        if (reach > 0) high += reach;
    }
    a->first = empty ? 0 : -low * item;
    a->bytes = empty ? 0 : (high - low + 1) * item;
    a->host = (char *)element0 - a->first;
    a->data = NULL;
}

void
wk_set_contiguous(wk_array *a)
{
    int64_t step = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        a->strides[d] = step;
        step *= a->shape[d];
    }
}

/* Do axes d and e, d outside, follow each other as one run? */
static int
one_run(const wk_array *a, int d, int64_t extent, int64_t stride)
{
    return a == NULL || a->strides[d] == stride * extent;
}

/* Drops extents of 1 in [from, to), merges neighbours, moves up what is behind, and returns where
 * that begins. Both arrays have one shape; where may be NULL. */
static int
fuse(wk_array *a, wk_array *where, int from, int to)
{
    int n = from;
    for (int d = from; d < a->ndim; d++) {
        const int64_t extent = a->shape[d], stride = a->strides[d];
        const int64_t mask = where ? where->strides[d] : 0;
        if (d < to && extent == 1) continue;
        if (d < to && n > from && one_run(a, n - 1, extent, stride) &&
            one_run(where, n - 1, extent, mask))
            a->shape[n - 1] *= extent;
        else
            a->shape[n++] = extent;
        a->strides[n - 1] = stride;
        if (where) {
            where->shape[n - 1] = a->shape[n - 1];
            where->strides[n - 1] = mask;
        }
    }
    const int gone = a->ndim - n;
    a->ndim = n;
    if (where) where->ndim = n;
    return to - gone;
}

void
wk_fuse(wk_array *a, int from)
{
    fuse(a, NULL, from, a->ndim);
}

void
wk_fuse_reduced(wk_array *a, wk_array *where, wk_reduce_args *args)
{
    fuse(a, where, args->kept, a->ndim);
    args->kept = fuse(a, where, 0, args->kept);
}

int
wk_order_kept(const wk_array *a, int kept, int *order)
{
    int other = 0;
    for (int d = 0; d < kept; d++) {
        int at = d;
        for (; at > 0 && llabs(a->strides[order[at - 1]]) < llabs(a->strides[d]); at--)
            order[at] = order[at - 1];
        order[at] = d;
        other |= at != d;
    }
    for (int d = kept; d < a->ndim; d++) order[d] = d;
    return other;
}

void
wk_flip(wk_array *a, int d, int empty)
{
    if (!empty) a->first += (a->shape[d] - 1) * a->strides[d] * wk_itemsize[a->dtype];
    a->strides[d] = -a->strides[d];
}

void
wk_permute(wk_array *a, const int *order)
{
    const wk_array from = *a;
    for (int i = 0; i < a->ndim; i++) {
        a->shape[i] = from.shape[order[i]];
        a->strides[i] = from.strides[order[i]];
    }
}

void
wk_plan_reduce(wk_array *a, wk_array *where, uint64_t axes, int logical, wk_reduce_args *args)
{
    int order[WK_MAX_DIMS], many = 0;
    const int empty = wk_size(a) == 0; /* its block has no first element, nor a last */
    args->outputs = args->n = 1;
    for (int d = 0; d < a->ndim; d++) {
        if (axes >> d & 1) continue;
        order[many++] = d;
        args->outputs *= a->shape[d];
    }
    args->kept = many;
    for (int d = 0; d < a->ndim; d++) {
        if (!(axes >> d & 1)) continue;
        args->n *= a->shape[d];
        int at = many++;
        if (a->strides[d] < 0 && !logical) { /* upwards, as the memory lies */
            wk_flip(a, d, empty);
            if (where) wk_flip(where, d, empty);
        }
        for (; at > args->kept && !logical && a->strides[order[at - 1]] < a->strides[d]; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    wk_permute(a, order);
    if (where) wk_permute(where, order);
    wk_fuse_reduced(a, where, args);
}

/* Room for one more axis is there: with 64 that are not 1 there are more elements than bytes. */
static void
insert(wk_array *a, int at, int64_t extent, int64_t stride)
{
    for (int d = a->ndim++; d > at; d--) {
        a->shape[d] = a->shape[d - 1];
        a->strides[d] = a->strides[d - 1];
    }
    a->shape[at] = extent;
    a->strides[at] = stride;
}

static void
see_parts(wk_array *a, int at)
{
    for (int d = 0; d < a->ndim; d++) a->strides[d] *= 2;
    a->dtype = wk_real_of(a->dtype);
    insert(a, at, 2, 1);
}

void
wk_see_parts(wk_array *a)
{
    wk_fuse(a, 0);
    see_parts(a, a->ndim);
}

void
wk_plan_parts(wk_array *a, wk_array *where, int fold, wk_reduce_args *args)
{
    see_parts(a, fold ? a->ndim : args->kept);
    if (where) insert(where, fold ? where->ndim : args->kept, 2, 0);
    if (fold) {
        args->n *= 2;
    } else {
        args->outputs *= 2;
        args->planes = 2;
        args->kept++;
    }
    wk_fuse_reduced(a, where, args);
}

void
wk_set_lines(wk_array *a, const wk_stencil_args *args)
{
    a->ndim = 3;
    a->shape[0] = args->outer;
    a->shape[1] = args->n;
    a->shape[2] = args->inner;
    wk_set_contiguous(a);
}

int
wk_are_lines(const wk_array *a, const wk_stencil_args *args)
{
    return a->ndim == 3 && a->shape[0] == args->outer && a->shape[1] == args->n &&
           a->shape[2] == args->inner && (args->inner == 1 || a->strides[2] == 1);
}

int
wk_in_lines(const wk_array *a, const wk_stencil_args *args)
{
    enum { WIDE = 32 }; /* so many side by side are worth being read where they are */
    return wk_are_lines(a, args) &&
           (args->n == 1 || a->strides[1] == args->inner || args->inner >= WIDE);
}

void
wk_plan_lines(wk_array *a, int axis, int parts, wk_stencil_args *args)
{
    if (parts) { /* the last axis: behind the stencil's own */
        axis = fuse(a, NULL, 0, axis);
        wk_fuse(a, axis + 1);
        see_parts(a, a->ndim);
    }
    args->outer = args->inner = 1;
    for (int d = 0; d < axis; d++) args->outer *= a->shape[d];
    for (int d = axis + 1; d < a->ndim; d++) args->inner *= a->shape[d];
    args->n = args->outputs = a->shape[axis];
    wk_array lines = *a;
    const int outer = fuse(&lines, NULL, 0, axis);
    wk_fuse(&lines, outer + 1);
    if (outer > 1 || lines.ndim > outer + 2) return; /* else there is room for more axes */
    if (outer == 0) insert(&lines, 0, 1, 0);
    if (lines.ndim == 2) insert(&lines, 2, 1, 1);
    if (wk_are_lines(&lines, args)) *a = lines;
}

void
wk_plan_transpose(wk_array *a, const int *axes)
{
    const wk_array from = *a;
    for (int d = 0; d < a->ndim; d++) {
        a->shape[d] = from.shape[axes ? axes[d] : d];
        a->strides[d] = from.strides[axes ? axes[d] : d];
    }
    wk_fuse(a, 0);
}

/* By insertion, as numpy.nditer sorts axes: larger strides outside. An axis along which the address
 * does not change says nothing of the order, and stays where it is among those that do. */
void
wk_plan_copy(wk_array *a)
{
    int order[WK_MAX_DIMS];
    for (int d = a->ndim - 1; d >= 0; d--) {
        const int64_t stride = a->shape[d] == 1 ? 0 : llabs(a->strides[d]);
        int at = d;
        for (int i = d + 1; i < a->ndim; i++) {
            const int64_t inner = a->shape[order[i]] == 1 ? 0 : llabs(a->strides[order[i]]);
            if (stride == 0 || inner == 0) continue;
            if (inner <= stride) break;
            at = i;
        }
        for (int i = d; i < at; i++) order[i] = order[i + 1];
        order[at] = d;
    }
    wk_permute(a, order);
    wk_fuse(a, 0);
}

int
wk_dense(const wk_array *a)
{
    /* Then every stride is the product of the extents of the axes inside it. */
    int64_t step = 1; /* of the next axis outwards */
    const int64_t n = wk_size(a);
    for (int found = 1; step < n && found;) {
        found = 0;
        for (int d = 0; d < a->ndim && !found; d++) {
            found = a->shape[d] > 1 && llabs(a->strides[d]) == step;
            if (found) step *= a->shape[d];
        }
    }
    return n == 0 || (step == n && a->bytes == n * wk_itemsize[a->dtype]);
}

int
wk_c_contiguous(const wk_array *a)
{
    int64_t step = 1;
    if (wk_size(a) == 0) return 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        if (a->shape[d] != 1 && a->strides[d] != step) return 0;
        step *= a->shape[d];
    }
    return 1;
}
