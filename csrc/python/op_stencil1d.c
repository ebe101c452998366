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

/* The CPU's kernel reads one block in C order; on the way to a GPU strides cost nothing. */
static int
make_contiguous(wk_call *call, wk_operand *operand, const wk_options *options)
{
    if (operand->on_device || options->device.kind != WK_CPU) return 0;
    operand->array = (PyObject *)wk_contiguous((PyArrayObject *)operand->array);
    if (operand->array == NULL) return -1;
    wk_from_numpy((PyArrayObject *)operand->array, &call->in);
    return 0;
}

static int
stencil(wk_state *state, wk_call *call, wk_operand *operand, wk_options *options,
        Py_ssize_t axis, wk_result *result)
{
    wk_stencil_args *s = &call->args.stencil;
    npy_intp shape[WK_MAX_DIMS];
    if (wk_place(state, call, operand, options) < 0) return -1;
    const int along = wk_check_axis(state, axis, call->in.ndim);
    if (along < 0 || make_contiguous(call, operand, options) < 0) return -1;
    const int ndim = call->in.ndim;
    s->outer = s->inner = 1;
    for (int d = 0; d < ndim; d++) shape[d] = call->in.shape[d];
    for (int d = 0; d < along; d++) s->outer *= shape[d];
    for (int d = along + 1; d < ndim; d++) s->inner *= shape[d];
    s->n = s->outputs = shape[along];
    if (wk_result_new(state, call, 0, operand, options, call->in.dtype, ndim, shape, result) <
        0)
        return -1;
    return wk_call_row(state, call, operand, options, result);
}

PyObject *
wk_py_stencil1d(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_state *state = wk_state_of(module);
    wk_operand operand = {.array = NULL};
    wk_options options = {.out = NULL};
    wk_result result = {.array = NULL};
    PyArrayObject *c = NULL;
    PyObject *given = NULL;
    wk_call call;
    wk_stencil_args *s = &call.args.stencil;
    if (wk_check_count("stencil1d", count, 6 + WK_OPTIONS) < 0) return NULL;
    wk_call_start(&call, WK_STENCIL1D, 1);
    const Py_ssize_t axis = PyNumber_AsSsize_t(args[2], PyExc_OverflowError);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    s->cval = PyFloat_AsDouble(args[4]);
    if (s->cval == -1 && PyErr_Occurred()) return NULL;
    const Py_ssize_t origin = PyNumber_AsSsize_t(args[5], PyExc_OverflowError);
    if (origin == -1 && PyErr_Occurred()) return NULL;
    if (mode_of(args[3], &s->mode) < 0) return NULL;
    if (wk_operand_of(state, args[0], &operand) < 0) return NULL;
    if (wk_options_of(state, args + 6, call.outs, &options) < 0) goto done;
    c = coefficients_of(args[1], origin);
    if (c == NULL) goto done;
    wk_from_numpy(c, &call.aux);
    s->taps = PyArray_SIZE(c);
    s->before = s->taps / 2 + origin;
    if (stencil(state, &call, &operand, &options, axis, &result) == 0)
        given = wk_result_give(state, &operand, &options, &result, 0, 0);
done:
    Py_XDECREF(c);
    wk_result_clear(&result);
    wk_operand_clear(&operand);
    wk_options_clear(&options);
    return given;
}
