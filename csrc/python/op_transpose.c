/* op_transpose.c -- _core.transpose(a, axes, options ...) */
#include "glue.h"

#include <string.h>

/* None (reversed) or a sequence that names every axis once. */
static int
permutation_of(wk_state *state, PyObject *axes, int ndim, int *order)
{
    for (int d = 0; d < ndim; d++) order[d] = ndim - 1 - d;
    if (axes == Py_None) return 0;

    PyObject *list = PySequence_Fast(axes, "axes must be None or a sequence of ints");
    if (list == NULL) return -1;
    int status = -1;
    uint64_t seen = 0;
    if (PySequence_Fast_GET_SIZE(list) != ndim) {
        PyErr_Format(PyExc_ValueError, "axes don't match array: %zd axes for an array of %d",
                     PySequence_Fast_GET_SIZE(list), ndim);
        goto done;
    }
    for (int i = 0; i < ndim; i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(list, i);
        const Py_ssize_t number = PyNumber_AsSsize_t(one, PyExc_OverflowError);
        if (number == -1 && PyErr_Occurred()) goto done;
        const int d = wk_check_axis(state, number, ndim);
        if (d < 0) goto done;
        if (seen >> d & 1) {
            PyErr_Format(PyExc_ValueError, "repeated axis in transpose: axis %d is given twice",
                         d);
            goto done;
        }
        seen |= (uint64_t)1 << d;
        order[i] = d;
    }
    status = 0;
done:
    Py_DECREF(list);
    return status;
}

/* The rung "copy" leaves the elements in the order of the memory. That order is the plan's and not
 * the kernel's business: the call may come to the kernel in pieces, or packed. */
static int
is_copy(const char *variant)
{
    return variant && strcmp(variant, "copy") == 0;
}

static int
transpose(wk_frame *f, PyObject *axes)
{
    int order[WK_MAX_DIMS];
    npy_intp shape[WK_MAX_DIMS];
    wk_array *in = &f->call.in;
    if (wk_place(f) < 0 || permutation_of(f->state, axes, in->ndim, order) < 0) return -1;
    for (int d = 0; d < in->ndim; d++) shape[d] = in->shape[order[d]];
    if (wk_result_new(f, 0, in->dtype, in->ndim, shape) < 0) return -1;
    if (is_copy(f->options.variant))
        wk_plan_copy(in);
    else
        wk_plan_transpose(in, order);
    return wk_call_row(f);
}

PyObject *
wk_py_transpose(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("transpose", count, 2 + WK_OPTIONS) < 0) return NULL;
    int status = wk_begin(module, &f, WK_TRANSPOSE, 1, args[0], args + 2);
    if (status == 0) status = transpose(&f, args[1]);
    return wk_end(&f, status, 0);
}
