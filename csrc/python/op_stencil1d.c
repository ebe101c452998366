/* op_stencil1d.c -- _core.stencil1d(a, coefficients, axis, mode, cval, origin, output, accumulate,
 *                                   options ...) */
#include "glue.h"

#include <string.h>

#undef complex /* C's word, which NumPy's headers bring along */

typedef struct request { /* what was asked for, beside the array */
    PyArrayObject *taps; /* contiguous, of the dtype that sums have; owned */
    wk_dtype sums;
    wk_mode mode;
    int valid; /* no element beyond the ends */
    Py_ssize_t axis, origin;
    PyObject *cval; /* borrowed */
    int output;     /* a wk_dtype; -1: as it comes */
} request;

static int
mode_of(PyObject *object, request *r)
{
    static const char *const names[] = {"reflect",       "constant",  "nearest",
                                        "mirror",        "wrap",      "grid-mirror",
                                        "grid-constant", "grid-wrap", "valid"};
    static const wk_mode modes[] = {WK_REFLECT, WK_CONSTANT, WK_NEAREST,  WK_MIRROR,
                                    WK_WRAP,    WK_REFLECT,  WK_CONSTANT, WK_WRAP};
    const char *text = wk_text_of(object);
    r->valid = text && strcmp(text, "valid") == 0;
    r->mode = WK_NEAREST; /* that of "valid", which meets no end */
    if (r->valid) return 0;
    for (size_t i = 0; text && i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        r->mode = modes[i];
        return 0;
    }
    char meant[WK_MEANT] = "";
    if (text) wk_meant(meant, text, names, sizeof names / sizeof names[0]);
    PyErr_Format(PyExc_RuntimeError, /* SciPy's type */
                 "boundary mode not supported: %R%s; there are: 'reflect', 'constant', "
                 "'nearest', 'mirror', 'wrap', 'valid'",
                 object, meant);
    return -1;
}

static int
check_coefficients(const PyArrayObject *c, const request *r)
{
    const Py_ssize_t taps = PyArray_SIZE((PyArrayObject *)c);
    if (!strchr("biufc", PyArray_DESCR(c)->kind) && wk_dtype_of(PyArray_DESCR(c)) < 0) {
        PyErr_Format(PyExc_TypeError, "coefficients must be real or complex numbers, not %S",
                     PyArray_DESCR(c));
        return -1;
    }
    if (PyArray_NDIM(c) != 1 || taps == 0) {
        PyErr_Format(
            PyExc_RuntimeError, /* SciPy's type */
            "no filter weights given: coefficients must have one axis and at least one "
            "element, not %d axes and %zd elements; they come after the array",
            PyArray_NDIM(c), taps);
        return -1;
    }
    if (r->valid && r->origin != 0) {
        PyErr_Format(PyExc_ValueError, "invalid origin %zd; with mode 'valid' it is 0",
                     r->origin);
        return -1;
    }
    if (r->origin < -(taps / 2) || r->origin > (taps - 1) / 2) {
        PyErr_Format(PyExc_ValueError,
                     "invalid origin %zd; with %zd coefficients it lies in %zd .. %zd",
                     r->origin, taps, -(taps / 2), (taps - 1) / 2);
        return -1;
    }
    return 0;
}

/* Those of r->sums, contiguous; complex ones conjugated, as SciPy correlates. -1 with an exception
 * set. */
static int
coefficients_of(PyObject *object, request *r)
{
    PyArrayObject *given = (PyArrayObject *)PyArray_FROM_O(object);
    if (given == NULL || wk_check_unmasked((PyObject *)given) < 0 ||
        check_coefficients(given, r) < 0) {
        Py_XDECREF(given);
        return -1;
    }
    if (r->sums == WK_F64 && PyArray_TYPE(given) == NPY_DOUBLE && PyArray_ISCARRAY_RO(given)) {
        r->taps =
            given; /* as it mostly is: the casting machinery would take a tenth of a small call */
        return 0;
    }
    const int pairs = PyArray_ISCOMPLEX(given);
    if (pairs) r->sums = r->sums == WK_F32 ? WK_C64 : WK_C128;
    PyObject *whole = pairs ? PyObject_CallMethod((PyObject *)given, "conj", NULL)
                            : Py_NewRef((PyObject *)given);
    Py_DECREF(given);
    if (whole == NULL) return -1;
    r->taps = (PyArrayObject *)PyArray_FromAny(
        whole, wk_descr_of(r->sums), 1, 1,
        NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST, NULL);
    Py_DECREF(whole);
    return r->taps ? 0 : -1;
}

/* float64, or float32 where that was asked for. */
static int
sums_of(PyObject *object, request *r)
{
    const int dtype = object == Py_None ? (int)WK_F64 : wk_dtype_arg(object);
    if (dtype < 0) return -1;
    r->sums = (wk_dtype)dtype;
    if (dtype == WK_F32 || dtype == WK_F64) return 0;
    PyErr_Format(PyExc_TypeError, "accumulate must be None, float32 or float64, not %s",
                 wk_dtype_names[dtype]);
    return -1;
}

static int
cval_of(PyObject *object, int from_complex, int by_complex, double cval[2])
{
    cval[1] = 0;
    if (from_complex) {
        const Py_complex c = PyComplex_AsCComplex(object);
        cval[0] = c.real;
        cval[1] = c.imag;
    } else if (PyComplex_Check(object) || PyArray_IsScalar(object, ComplexFloating)) {
        PyErr_Format(by_complex ? PyExc_ValueError : PyExc_TypeError, /* SciPy's types */
                     "Cannot provide a complex-valued cval when the input is real: must be a "
                     "real number, not %R of type %.100s",
                     object, Py_TYPE(object)->tp_name);
    } else {
        cval[0] = PyFloat_AsDouble(object);
        if (!by_complex) cval[1] = cval[0];
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* What SciPy gives: the input's, complex where the input or a coefficient is. -1 with an exception
 * set. */
static int
result_dtype(const wk_frame *f, const request *r, wk_dtype in)
{
    const int pairs = wk_is_complex(in) || wk_is_complex(r->sums);
    const int wide = in == WK_F64 || (in >= WK_I32 && in <= WK_U64);
    const wk_dtype own = !pairs || wk_is_complex(in) ? in : wide ? WK_C128 : WK_C64;
    const wk_operand *target = &f->options.target[0];
    const int asked = target->array ? (int)wk_operand_dtype(target) : r->output;
    if (asked < 0) return own;
    if (wk_is_complex((wk_dtype)asked) && !pairs) {
        PyErr_Format(PyExc_TypeError,
                     "output of dtype %s needs a complex array or complex coefficients",
                     wk_dtype_names[asked]);
        return -1;
    }
    if (!pairs || wk_is_complex((wk_dtype)asked)) return asked;
    if (target->array) {
        PyErr_Format(PyExc_RuntimeError, "output must have complex dtype, not %s", /* SciPy's */
                     wk_dtype_names[asked]);
        return -1;
    }
    const int promoted = asked == WK_F64 || (asked >= WK_I32 && asked <= WK_U64);
    if (PyErr_WarnEx(PyExc_UserWarning, "promoting specified output dtype to complex", 1) < 0)
        return -1;
    return promoted ? WK_C128 : WK_C64;
}

static int
stencil(wk_frame *f, const request *r)
{
    wk_stencil_args *s = &f->call.args.stencil;
    wk_array *in = &f->call.in, *out = &f->call.out[0];
    npy_intp shape[WK_MAX_DIMS];
    const wk_dtype from = wk_operand_dtype(&f->operand);
    wk_take(r->taps, &f->call.aux, &f->aux); /* as checked, before cval is asked */
    const int from_complex = wk_is_complex(from), by_complex = wk_is_complex(r->sums);
    const int parts = from_complex && !by_complex;
    if (cval_of(r->cval, from_complex, by_complex, s->cval) < 0) return -1;
    const int dtype = result_dtype(f, r, from);
    if (dtype < 0 || wk_place(f) < 0) return -1;
    const int ndim = in->ndim, along = wk_check_axis(f->state, r->axis, ndim);
    if (along < 0) return -1;
    for (int d = 0; d < ndim; d++) shape[d] = in->shape[d];
    s->mode = r->mode;
    s->taps = f->call.aux.shape[0];
    s->before = r->valid ? 0 : s->taps / 2 + r->origin;
    if (r->valid && s->taps > shape[along]) {
        PyErr_Format(
            PyExc_ValueError,
            "mode 'valid': %lld coefficients are more than the %lld elements of axis %d",
            (long long)s->taps, (long long)shape[along], along);
        return -1;
    }
    if (r->valid) shape[along] -= s->taps - 1;
    if (wk_result_new(f, 0, (wk_dtype)dtype, ndim, shape) < 0) return -1;
    wk_plan_lines(in, along, parts, s);
    s->outputs = shape[along];
    if (parts) wk_see_parts(out);
    return wk_call_row(f);
}

static int
request_of(PyObject *const *args, request *r)
{
    r->axis = PyNumber_AsSsize_t(args[2], PyExc_OverflowError);
    if (r->axis == -1 && PyErr_Occurred()) return -1;
    r->origin = PyNumber_AsSsize_t(args[5], PyExc_OverflowError);
    if (r->origin == -1 && PyErr_Occurred()) return -1;
    r->cval = args[4];
    r->output = args[6] == Py_None ? -1 : wk_dtype_arg(args[6]);
    if (r->output < 0 && PyErr_Occurred()) return -1;
    return mode_of(args[3], r) < 0 ? -1 : sums_of(args[7], r);
}

PyObject *
wk_py_stencil1d(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    request r = {.taps = NULL};
    if (wk_check_count("stencil1d", count, 8 + WK_OPTIONS) < 0) return NULL;
    if (request_of(args, &r) < 0) return NULL;
    int status = wk_begin(module, &f, WK_STENCIL1D, 1, args[0], args + 8);
    if (status == 0) status = coefficients_of(args[1], &r);
    if (status == 0) status = stencil(&f, &r);
    Py_XDECREF(r.taps);
    return wk_end(&f, status, 0);
}
