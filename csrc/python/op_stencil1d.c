/* op_stencil1d.c -- _core.stencil1d(a, coefficients, axis, mode, cval, origin, device,
 *                                   variant) */
#include "glue.h"

static int
mode_arg(PyObject *object, void *slot)
{
    static const struct {
        const char *name;
        wk_mode mode;
    } modes[] = {
        {"reflect", WK_REFLECT},        {"constant", WK_CONSTANT}, {"nearest", WK_NEAREST},
        {"mirror", WK_MIRROR},          {"wrap", WK_WRAP},         {"grid-mirror", WK_REFLECT},
        {"grid-constant", WK_CONSTANT}, {"grid-wrap", WK_WRAP}};
    const char *text = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    for (size_t i = 0; text && i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(text, modes[i].name) != 0) continue;
        *(wk_mode *)slot = modes[i].mode;
        return 1;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, /* SciPy's type */
                     "boundary mode not supported: %R; there are: 'reflect', 'constant', "
                     "'nearest', 'mirror', 'wrap'",
                     object);
    return 0;
}

/* Coefficients as a contiguous float64 array, or NULL with an exception set. */
static PyArrayObject *
coefficients_of(PyObject *object, Py_ssize_t origin)
{
    PyArrayObject *given = (PyArrayObject *)PyArray_FROM_O(object);
    if (given == NULL) return NULL;
    const char kind = PyArray_DESCR(given)->kind;
    if (!strchr("biuf", kind)) {
        PyErr_Format(PyExc_TypeError, "coefficients must be real numbers, not %S",
                     PyArray_DESCR(given));
        Py_DECREF(given);
        return NULL;
    }
    if (PyArray_NDIM(given) != 1 || PyArray_SIZE(given) == 0) {
        PyErr_Format(
            PyExc_RuntimeError, /* SciPy's type */
            "no filter weights given: coefficients must have one axis and at least one "
            "element, not %d axes and %zd elements",
            PyArray_NDIM(given), (Py_ssize_t)PyArray_SIZE(given));
        Py_DECREF(given);
        return NULL;
    }
    const Py_ssize_t taps = PyArray_SIZE(given);
    if (origin < -(taps / 2) || origin > (taps - 1) / 2) {
        PyErr_Format(PyExc_ValueError,
                     "invalid origin %zd; with %zd coefficients it lies in %zd .. %zd", origin,
                     taps, -(taps / 2), (taps - 1) / 2);
        Py_DECREF(given);
        return NULL;
    }
    PyObject *c =
        PyArray_FROMANY((PyObject *)given, NPY_DOUBLE, 1, 1,
                        NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST);
    Py_DECREF(given);
    return (PyArrayObject *)c;
}

PyObject *
wk_py_stencil1d(PyObject *module, PyObject *args)
{
    wk_state *state = wk_state_of(module);
    PyArrayObject *a = NULL, *c = NULL, *out = NULL;
    PyObject *coefficients;
    Py_ssize_t axis, origin;
    wk_device device;
    const char *variant;
    wk_call call = {.op = WK_STENCIL1D, .outs = 1};
    wk_stencil_args *s = &call.args.stencil;

    if (!PyArg_ParseTuple(args, "O&OnO&dnO&z:stencil1d", wk_array_arg, &a, &coefficients, &axis,
                          mode_arg, &s->mode, &s->cval, &origin, wk_device_arg, &device,
                          &variant))
        return NULL;
    const int along = wk_check_axis(state, axis, PyArray_NDIM(a));
    if (along < 0) goto done;
    c = coefficients_of(coefficients, origin);
    if (c == NULL) goto done;
    a = wk_contiguous(a);
    if (a == NULL) goto done;
    wk_from_numpy(a, &call.in);
    wk_from_numpy(c, &call.aux);
    s->taps = PyArray_SIZE(c);
    s->before = s->taps / 2 + origin;
    s->outer = s->inner = 1;
    s->n = call.in.shape[along];
    for (int d = 0; d < along; d++) s->outer *= call.in.shape[d];
    for (int d = along + 1; d < call.in.ndim; d++) s->inner *= call.in.shape[d];
    out = wk_new_array(call.in.dtype, PyArray_NDIM(a), PyArray_DIMS(a), &call.out[0]);
    if (out && wk_call_row(state, &call, device, variant) < 0) Py_CLEAR(out);
done:
    Py_XDECREF(a);
    Py_XDECREF(c);
    return (PyObject *)out;
}
