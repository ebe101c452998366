/* reduce.c -- which reductions go together; in the core and in every plug-in. */
#include "reduce.h"

#include "reduce_grid.h"

int
wk_is_float(wk_dtype dtype)
{
    return dtype >= WK_F16 && dtype <= WK_F64;
}

int
wk_is_unsigned(wk_dtype dtype)
{
    return dtype == WK_U8 || dtype == WK_U16 || dtype == WK_U32 || dtype == WK_U64;
}

int
wk_is_complex(wk_dtype dtype)
{
    return dtype == WK_C64 || dtype == WK_C128;
}

static int
family_of_one(wk_fold fold, int real)
{
    switch (fold) {
    case WK_ANY:
    case WK_ALL:
    case WK_COUNT_NONZERO: return WK_FAMILY_COUNT;
    case WK_MIN:
    case WK_MAX:
    case WK_PTP: return WK_FAMILY_EXTREME;
    case WK_ARGMIN:
    case WK_ARGMAX: return WK_FAMILY_ARG;
    case WK_SUM: return real ? WK_FAMILY_SUM : WK_FAMILY_WRAP;
    case WK_PROD: return real ? WK_FAMILY_TREE : WK_FAMILY_PRODUCT;
    case WK_MEAN: return real ? WK_FAMILY_SUM : WK_FAMILY_SUMMARY;
    case WK_SUMSQ:
    case WK_NORM: return real ? WK_FAMILY_SQUARES : WK_FAMILY_SUMMARY;
    default: return WK_FAMILY_SUMMARY;
    }
}

static int
in_summary(wk_fold fold)
{
    return fold != WK_PROD && fold != WK_ARGMIN && fold != WK_ARGMAX;
}

int
wk_family_of(const wk_fold *folds, int count, wk_dtype dtype)
{
    const int real = wk_is_float(dtype) || wk_is_complex(dtype);
    int family = family_of_one(folds[0], real), together = in_summary(folds[0]);
    for (int i = 1; i < count; i++) {
        const int next = family_of_one(folds[i], real);
        together &= in_summary(folds[i]);
        if (next == family && family != WK_FAMILY_ARG) continue;
        if (!together) return -1;
        family = WK_FAMILY_SUMMARY;
    }
    for (int i = 0; i < count && family == WK_FAMILY_SUMMARY && wk_is_complex(dtype); i++)
        if (family_of_one(folds[i], real) == WK_FAMILY_EXTREME || folds[i] == WK_SUM ||
            folds[i] == WK_MEAN)
            return -1; /* pairs of keys; parts that are infinite each for itself */
    return family;
}

int
wk_only_moments(const wk_fold *folds, int count)
{
    for (int i = 0; i < count; i++) {
        const wk_fold f = folds[i];
        if (f != WK_SUM && f != WK_MEAN && f != WK_VAR && f != WK_STD && f != WK_NORM &&
            f != WK_SUMSQ)
            return 0;
    }
    return 1;
}

/* The axis is that of parts which lie side by side: it goes, and elements are complex numbers. */
static int
pair(wk_call *call, int axis)
{
    wk_array *a = &call->in, *w = &call->mask;
    if (axis < 0 || a->shape[axis] != 2 || a->strides[axis] != 1) return 0;
    if (((uintptr_t)a->data + (uintptr_t)a->first) % (2 * (uintptr_t)wk_itemsize[a->dtype]))
        return 0;
    for (int d = 0; d < a->ndim; d++)
        if (d != axis && a->strides[d] % 2) return 0;
    for (int d = 0; d < a->ndim; d++) {
        if (d == axis) continue;
        const int to = d < axis ? d : d - 1;
        a->shape[to] = a->shape[d];
        a->strides[to] = a->strides[d] / 2;
        if (w->ndim < 0) continue;
        w->shape[to] = w->shape[d];
        w->strides[to] = w->strides[d];
    }
    a->ndim--;
    if (w->ndim >= 0) w->ndim--;
    a->dtype = a->dtype == WK_F32 ? WK_C64 : WK_C128;
    return 1;
}

int
wk_pair_parts(wk_call *call)
{
    wk_reduce_args *r = &call->args.reduce;
    if (r->planes != 2 || !pair(call, r->kept - 1)) return 0;
    r->kept--;
    r->outputs /= 2;
    r->planes = 1;
    return 1;
}

/* Six or eight elements that lie side by side are pairs, of which WK_FEW_ROWS are finished at once. H100, norms of
 * 256 MiB along axis 1, so and by elements: 6 float64 120 us, 215, 8 float32 115, 168; but 4 float64 153, 125. */
static int
pair_few(wk_call *call)
{
    wk_array *a = &call->in;
    const int last = a->ndim - 1;
    const int64_t n = a->shape[last];
    const wk_array before = *a;
    if (a->strides[last] != 1 || n % 2 || n <= WK_FEW_ROWS || n > 2 * WK_FEW_ROWS) return 0;
    if (a->ndim == WK_MAX_DIMS) return 0;
    a->shape[last] = n / 2;
    a->strides[last] = 2;
    a->shape[last + 1] = 2;
    a->strides[last + 1] = 1;
    a->ndim++;
    if (pair(call, last + 1)) return 1;
    *a = before;
    return 0;
}

int
wk_pair_squares(wk_call *call)
{
    wk_reduce_args *r = &call->args.reduce;
    const int dtype = call->in.dtype, folded = call->in.ndim - r->kept;
    if ((dtype != WK_F32 && dtype != WK_F64) || folded < 1) return 0;
    if (call->mask.ndim >= 0 || r->skip_nan) return 0;
    if (folded == 1 ? !pair_few(call) : !pair(call, call->in.ndim - 1)) return 0;
    r->n /= 2;
    return 1;
}

wk_dtype
wk_fold_dtype(wk_fold fold, wk_dtype in)
{
    const int real = wk_is_float(in), complex = wk_is_complex(in);
    const int unsign = wk_is_unsigned(in);
    switch (fold) {
    case WK_ANY:
    case WK_ALL: return WK_BOOL;
    case WK_COUNT_NONZERO:
    case WK_ARGMIN:
    case WK_ARGMAX: return WK_I64;
    case WK_MIN:
    case WK_MAX:
    case WK_PTP: return in;
    case WK_SUM:
    case WK_PROD: return real || complex ? in : unsign ? WK_U64 : WK_I64;
    case WK_MEAN: return real || complex ? in : WK_F64;
    case WK_SUMSQ:
        if (!real && !complex) return unsign ? WK_U64 : WK_I64; /* fall through */
    default: return real || complex ? wk_real_of(in) : WK_F64;
    }
}
