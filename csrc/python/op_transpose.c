/* op_transpose.c -- _core.transpose(a, axes, device, variant) */
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

PyObject *
wk_py_transpose(PyObject *module, PyObject *args)
{
    wk_state *state = wk_state_of(module);
    PyArrayObject *a = NULL, *out = NULL;
    PyObject *axes;
    wk_device device;
    const char *variant;
    int order[WK_MAX_DIMS];
    npy_intp shape[WK_MAX_DIMS];
    wk_call call = {.op = WK_TRANSPOSE, .outs = 1};

    if (!PyArg_ParseTuple(args, "O&OO&z:transpose", wk_array_arg, &a, &axes, wk_device_arg,
                          &device, &variant))
        return NULL;
    wk_from_numpy(a, &call.in);
    if (permutation_of(state, axes, call.in.ndim, order) < 0) goto done;
    for (int d = 0; d < call.in.ndim; d++) shape[d] = PyArray_DIM(a, order[d]);
    out = wk_new_array(call.in.dtype, call.in.ndim, shape, &call.out[0]);
    if (out == NULL) goto done;
    wk_plan_transpose(&call.in, order);
    if (wk_call_row(state, &call, device, variant) < 0) Py_CLEAR(out);
done:
    Py_DECREF(a);
    return (PyObject *)out;
}
