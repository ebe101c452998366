/* op_transpose.c -- _core.transpose(a, axes, options ...) */
#include "glue.h"

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

static int
transpose(wk_state *state, wk_call *call, wk_operand *operand, wk_options *options,
          PyObject *axes, wk_result *result)
{
    int order[WK_MAX_DIMS];
    npy_intp shape[WK_MAX_DIMS];
    if (wk_place(state, call, operand, options) < 0) return -1;
    const int ndim = call->in.ndim;
    if (permutation_of(state, axes, ndim, order) < 0) return -1;
    for (int d = 0; d < ndim; d++) shape[d] = call->in.shape[order[d]];
    if (wk_result_new(state, call, 0, operand, options, call->in.dtype, ndim, shape, result) <
        0)
        return -1;
    wk_plan_transpose(&call->in, order);
    return wk_call_row(state, call, operand, options, result);
}

PyObject *
wk_py_transpose(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_state *state = wk_state_of(module);
    wk_operand operand = {.array = NULL};
    wk_options options = {.out = NULL};
    wk_result result = {.array = NULL};
    PyObject *given = NULL;
    wk_call call;
    if (wk_check_count("transpose", count, 2 + WK_OPTIONS) < 0) return NULL;
    wk_call_start(&call, WK_TRANSPOSE, 1);
    if (wk_options_of(state, args + 2, call.outs, &options) == 0 &&
        wk_operand_of(state, args[0], &operand) == 0 &&
        transpose(state, &call, &operand, &options, args[1], &result) == 0)
        given = wk_result_give(state, &operand, &options, &result, 0, 0);
    wk_result_clear(&result);
    wk_operand_clear(&operand);
    wk_options_clear(&options);
    return given;
}
