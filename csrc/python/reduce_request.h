/* reduce_request.h -- what a reduction is asked for, and what NumPy refuses. */
#ifndef WARPKIT_REDUCE_REQUEST_H
#define WARPKIT_REDUCE_REQUEST_H

#include "glue.h"

typedef struct wk_request { /* what is asked for, beside the array and the options */
    int outs;
    wk_fold fold[WK_MAX_OUTS];
    int skip_nan[WK_MAX_OUTS]; /* for floats: cleared for others */
    Py_ssize_t *axis; /* as they were given, WK_MAX_DIMS + 1: one more is given twice */
    int axes_given;   /* -1: None */
    int lone;         /* it was no tuple */
    uint64_t axes;
    int keepdims;
    int dtype; /* -1: none was given */
    double ddof;
    PyObject *initial;                 /* NULL: no value; None: there is no identity either */
    PyArrayObject *start[WK_MAX_OUTS]; /* the initial value in each result's dtype; owned */
    PyObject *story; /* a list: passes are told there instead of run; else NULL */
} wk_request;

static inline int
wk_set_of(const wk_fold *folds, int count)
{
    int set = 0;
    for (int i = 0; i < count; i++) set |= 1 << folds[i];
    return set;
}
/* Of folds, as bits. */
#define SET(...)                                                                               \
    wk_set_of((const wk_fold[]){__VA_ARGS__},                                                  \
              sizeof((wk_fold[]){__VA_ARGS__}) / sizeof(wk_fold))

/* Each sets an exception where it gives -1. */

/* A str, or a tuple of them. */
int wk_request_folds(PyObject *ops, wk_request *r);

/* None, an int or a tuple of ints (no bool: so NumPy has it); then, of an array of so many axes, as bits. */
int wk_request_axes(PyObject *axis, wk_request *r);
int wk_request_set(wk_state *state, int ndim, wk_request *r);

/* True: none. Otherwise what numpy.asarray(where, bool) takes without a cast of numbers. */
int wk_request_where(wk_frame *f, PyObject *where);

/* Is fold i taken with that dtype=; with these arguments, of this dtype; and, of nothing, at all: an
 * error, a warning or a value, as in NumPy? */
int wk_check_dtype(const wk_request *r, int i);
int wk_check_op(const wk_request *r, int i, int masked, wk_dtype in);
int wk_check_empty(const wk_request *r, int i, int masked, int64_t n, wk_dtype in);

/* Is fold i of the elements cast to dtype= what one pass over the elements as they are gives, rounded to
 * it once? */
int wk_casts_in_registers(const wk_request *r, int i, int in);
wk_dtype wk_result_dtype(const wk_request *r, int i, wk_dtype in);

/* The initial value as each result's dtype has it: this may run code of the caller's. That of result i
 * as the family wants it. */
int wk_request_starts(wk_request *r, wk_dtype in);
int wk_initial_of(const wk_request *r, int i, wk_dtype result, wk_family family,
                  wk_reduce_args *args);
void wk_drop_starts(wk_request *r);

/* Places the operands and makes the results. Then the call of one pass: of folds of one family, which
 * is what it gives, whose results are the call's. */
int wk_request_place(wk_frame *f, wk_request *r);
int wk_request_plan(wk_frame *f, const wk_request *r, const int *member);

#endif
