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
    for (int d = 0; d < a->ndim; d++) {
        const int64_t reach = (a->shape[d] - 1) * a->strides[d];
        if (reach < 0) low += reach;
        if (reach > 0) high += reach;
    }
    const int empty = wk_size(a) == 0;
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

void
wk_fuse(wk_array *a, int from)
{
    int n = from;
    for (int d = from; d < a->ndim; d++) {
        if (a->shape[d] == 1) continue;
        if (n > from && a->strides[n - 1] == a->strides[d] * a->shape[d]) {
            a->shape[n - 1] *= a->shape[d];
            a->strides[n - 1] = a->strides[d];
        } else {
            a->shape[n] = a->shape[d];
            a->strides[n] = a->strides[d];
            n++;
        }
    }
    a->ndim = n;
}

void
wk_plan_reduce(wk_array *a, uint64_t axes, wk_reduce_args *args)
{
    wk_array kept, reduced;
    const int empty = wk_size(a) == 0; /* its block has no first element, nor a last */
    kept.ndim = reduced.ndim = 0;
    args->outputs = args->n = 1;
    for (int d = 0; d < a->ndim; d++) {
        const int folds = axes >> d & 1;
        wk_array *to = folds ? &reduced : &kept;
        int at = to->ndim++;
        int64_t stride = a->strides[d];
        if (folds) {
            args->n *= a->shape[d];
            if (stride < 0) { /* walk it upwards: the order of a fold is the memory's */
                if (!empty) a->first += (a->shape[d] - 1) * stride * wk_itemsize[a->dtype];
                stride = -stride;
            }
            for (; at > 0 && reduced.strides[at - 1] < stride; at--) {
                reduced.shape[at] = reduced.shape[at - 1];
                reduced.strides[at] = reduced.strides[at - 1];
            }
        } else {
            args->outputs *= a->shape[d];
        }
        to->shape[at] = a->shape[d];
        to->strides[at] = stride;
    }
    wk_fuse(&kept, 0);
    wk_fuse(&reduced, 0);
    args->kept = kept.ndim;
    a->ndim = kept.ndim + reduced.ndim;
    memcpy(a->shape, kept.shape, (size_t)kept.ndim * sizeof kept.shape[0]);
    memcpy(a->strides, kept.strides, (size_t)kept.ndim * sizeof kept.strides[0]);
    memcpy(a->shape + kept.ndim, reduced.shape, (size_t)reduced.ndim * sizeof kept.shape[0]);
    memcpy(a->strides + kept.ndim, reduced.strides,
           (size_t)reduced.ndim * sizeof kept.strides[0]);
}

void
wk_fuse_reduced(wk_array *a, wk_reduce_args *args)
{
    wk_array kept = *a;
    kept.ndim = args->kept;
    wk_fuse(&kept, 0);
    wk_fuse(a, args->kept);
    const int folded = a->ndim - args->kept;
    memmove(a->shape + kept.ndim, a->shape + args->kept, (size_t)folded * sizeof a->shape[0]);
    memmove(a->strides + kept.ndim, a->strides + args->kept,
            (size_t)folded * sizeof a->strides[0]);
    memcpy(a->shape, kept.shape, (size_t)kept.ndim * sizeof a->shape[0]);
    memcpy(a->strides, kept.strides, (size_t)kept.ndim * sizeof a->strides[0]);
    a->ndim = kept.ndim + folded;
    args->kept = kept.ndim;
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
