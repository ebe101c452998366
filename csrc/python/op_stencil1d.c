/* op_stencil1d.c -- _core.stencil1d(a, coefficients, axis, mode, cval, origin,
 *                                   options ...) */
#include "glue.h"

static int
mode_of(PyObject *object, wk_mode *mode)
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
        *mode = modes[i].mode;
        return 0;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, /* SciPy's type */
                     "boundary mode not supported: %R; there are: 'reflect', 'constant', "
                     "'nearest', 'mirror', 'wrap'",
                     object);
    return -1;
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

static int
stencil(wk_frame *f, Py_ssize_t axis)
{
    wk_stencil_args *s = &f->call.args.stencil;
    const wk_array *in = &f->call.in;
    npy_intp shape[WK_MAX_DIMS];
    if (wk_place(f) < 0) return -1;
    const int ndim = in->ndim, along = wk_check_axis(f->state, axis, ndim);
    if (along < 0 || wk_contiguous_for_cpu(f) < 0) return -1;
    s->outer = s->inner = 1;
    for (int d = 0; d < ndim; d++) shape[d] = in->shape[d];
    for (int d = 0; d < along; d++) s->outer *= shape[d];
    for (int d = along + 1; d < ndim; d++) s->inner *= shape[d];
    s->n = s->outputs = shape[along];
    return wk_result_new(f, 0, in->dtype, ndim, shape) < 0 ? -1 : wk_call_row(f);
}

PyObject *
wk_py_stencil1d(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    wk_mode mode;
    if (wk_check_count("stencil1d", count, 6 + WK_OPTIONS) < 0) return NULL;
    const Py_ssize_t axis = PyNumber_AsSsize_t(args[2], PyExc_OverflowError);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    const double cval = PyFloat_AsDouble(args[4]);
    if (cval == -1 && PyErr_Occurred()) return NULL;
    const Py_ssize_t origin = PyNumber_AsSsize_t(args[5], PyExc_OverflowError);
    if (origin == -1 && PyErr_Occurred()) return NULL;
    if (mode_of(args[3], &mode) < 0) return NULL;
    int status = wk_begin(module, &f, WK_STENCIL1D, 1, args[0], args + 6);
    PyArrayObject *c = status == 0 ? coefficients_of(args[1], origin) : NULL;
    if (c) {
        wk_stencil_args *s = &f.call.args.stencil;
        wk_from_numpy(c, &f.call.aux);
        s->mode = mode;
        s->cval = cval;
        s->taps = PyArray_SIZE(c);
        s->before = s->taps / 2 + origin;
    }
    status = c ? stencil(&f, axis) : -1;
    Py_XDECREF(c);
    return wk_end(&f, status, 0);
}
