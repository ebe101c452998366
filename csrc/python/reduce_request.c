/* reduce_request.c -- see reduce_request.h. */
#include "reduce_request.h"

/* ---- arguments ---------------------------------------------------------------------------- */

static const char *
name_of(const wk_request *r, int i, char *text)
{
    snprintf(text, 32, "%s%s", r->skip_nan[i] ? "nan" : "", wk_fold_names[r->fold[i]]);
    return text;
}

static int
has_nan_form(wk_fold fold)
{
    return SET(WK_SUM, WK_PROD, WK_MIN, WK_MAX, WK_MEAN, WK_VAR, WK_STD, WK_ARGMIN,
               WK_ARGMAX) >>
               fold &
           1;
}

static int
unknown_op(PyObject *object)
{
    char known[500] = "", names[2 * WK_FOLDS][16], meant[WK_MEANT] = "";
    const char *all[2 * WK_FOLDS];
    const char *text = wk_text_of(object);
    int count = 0;
    for (int nan = 0; nan < 2; nan++) {
        for (int f = 0; f < WK_FOLDS; f++) {
            if (nan && !has_nan_form(f)) continue;
            snprintf(names[count], sizeof names[0], "%s%s", nan ? "nan" : "", wk_fold_names[f]);
            all[count] = names[count];
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s'%s'",
                     known[0] ? ", " : "", names[count]);
            count++;
        }
    }
    if (text) wk_meant(meant, text, all, count);
    if (PyList_Check(object))
        PyErr_Format(PyExc_ValueError, "op is the list %R; several ops are a tuple", object);
    else
        PyErr_Format(PyExc_ValueError, "unknown op %R%s; there are: %s", object, meant, known);
    return -1;
}

static int
fold_of(PyObject *object, wk_fold *fold, int *skip_nan)
{
    const char *text = wk_text_of(object);
    if (text == NULL) return unknown_op(object);
    *skip_nan = strncmp(text, "nan", 3) == 0;
    if (*skip_nan) text += 3;
    for (int f = 0; f < WK_FOLDS; f++) {
        if (strcmp(text, wk_fold_names[f]) != 0) continue;
        *fold = f;
        return *skip_nan && !has_nan_form(f) ? unknown_op(object) : 0;
    }
    return unknown_op(object);
}

int
wk_request_folds(PyObject *ops, wk_request *r)
{
    if (!PyTuple_Check(ops)) {
        r->outs = 1;
        return fold_of(ops, &r->fold[0], &r->skip_nan[0]);
    }
    r->outs = (int)PyTuple_GET_SIZE(ops);
    if (r->outs < 1 || r->outs > WK_MAX_OUTS) {
        PyErr_Format(PyExc_ValueError, "op must be one name, or a tuple of 1 to %d",
                     WK_MAX_OUTS);
        return -1;
    }
    for (int i = 0; i < r->outs; i++)
        if (fold_of(PyTuple_GET_ITEM(ops, i), &r->fold[i], &r->skip_nan[i]) < 0) return -1;
    return 0;
}

int
wk_request_axes(PyObject *axis, wk_request *r)
{
    r->axes_given = -1;
    if (axis == Py_None) return 0;
    const int set = wk_set_of(r->fold, r->outs);
    const int many = PyTuple_Check(axis) && !(set & SET(WK_ARGMIN, WK_ARGMAX));
    const Py_ssize_t count = many ? PyTuple_GET_SIZE(axis) : 1;
    r->axes_given = 0;
    for (Py_ssize_t i = 0; i < count && i <= WK_MAX_DIMS; i++) {
        PyObject *one = many ? PyTuple_GET_ITEM(axis, i) : axis;
        const Py_ssize_t number = PyNumber_AsSsize_t(one, PyExc_OverflowError);
        if (PyBool_Check(one))
            PyErr_SetString(PyExc_TypeError, "an integer is required for the axis, not bool");
        if (PyErr_Occurred()) return -1;
        r->axis[r->axes_given++] = number;
    }
    r->lone = !many;
    return 0;
}

int
wk_request_set(wk_state *state, int ndim, wk_request *r)
{
    uint64_t *axes = &r->axes;
    *axes = 0;
    if (r->axes_given < 0) {
        *axes = ndim == 64 ? UINT64_MAX : ((uint64_t)1 << ndim) - 1;
        return 0;
    }
    const int set = wk_set_of(r->fold, r->outs);
    for (int i = 0; i < r->axes_given; i++) {
        const Py_ssize_t number = r->axis[i];
        if (ndim == 0 && r->lone && (number == 0 || number == -1) &&
            (r->skip_nan[0] || !(set & SET(WK_MEAN, WK_VAR, WK_STD))))
            return 0; /* as in NumPy */
        const int d = wk_check_axis(state, number, ndim);
        if (d < 0) return -1;
        if (*axes >> d & 1) {
            PyErr_Format(PyExc_ValueError, "duplicate value in 'axis': axis %d is given twice",
                         d);
            return -1;
        }
        *axes |= (uint64_t)1 << d;
    }
    return 0;
}

int
wk_request_where(wk_frame *f, PyObject *where)
{
    if (where == Py_True) return 0;
    const int plain = PyList_CheckExact(where) || PyTuple_CheckExact(where) ||
                      PyLong_CheckExact(where) || PyBool_Check(where) || where == Py_None ||
                      PyArray_Check(where) || PyArray_CheckScalar(where);
    if (plain) {
        if (wk_check_unmasked(where) < 0) return -1;
        f->beside.array =
            PyArray_FromAny(where, PyArray_DescrFromType(NPY_BOOL), 0, 0, 0, NULL);
        return f->beside.array ? 0 : -1;
    }
    if (wk_operand_of(f->state, where, &f->beside) < 0) return -1;
    const wk_dtype dtype = wk_operand_dtype(&f->beside);
    if (dtype == WK_BOOL) return 0;
    PyErr_Format(PyExc_TypeError, "where must be bool, not %s", wk_dtype_names[dtype]);
    return -1;
}

/* ---- what NumPy refuses ------------------------------------------------------------------- */

static int
refuse(PyObject *type, const wk_request *r, int i, const char *text)
{
    char name[32];
    PyErr_Format(type, "op '%s' %s", name_of(r, i, name), text);
    return -1;
}

int
wk_check_dtype(const wk_request *r, int i)
{
    const int floats = SET(WK_MEAN, WK_VAR, WK_STD, WK_NORM);
    if (r->dtype < 0) return 0;
    if (!((floats | SET(WK_SUM, WK_PROD, WK_SUMSQ)) >> r->fold[i] & 1))
        return refuse(PyExc_TypeError, r, i, "takes no dtype");
    if (floats >> r->fold[i] & 1 && !wk_is_float(r->dtype) && !wk_is_complex(r->dtype))
        return refuse(PyExc_TypeError, r, i,
                      "gives no integers: dtype must be float or complex");
    return 0;
}

int
wk_check_op(const wk_request *r, int i, int masked, wk_dtype in)
{
    const wk_fold fold = r->fold[i];
    if (wk_check_dtype(r, i) < 0) return -1;
    if (fold == WK_PTP && in == WK_BOOL) {
        PyErr_SetString(PyExc_TypeError,
                        "numpy boolean subtract, the `-` operator, is not supported, use the "
                        "bitwise_xor, the `^` operator, or the logical_xor function instead.");
        return -1;
    }
    if (r->initial && !(SET(WK_SUM, WK_PROD, WK_MIN, WK_MAX) >> fold & 1))
        return refuse(PyExc_TypeError, r, i, "takes no initial");
    if (masked && SET(WK_ARGMIN, WK_ARGMAX, WK_PTP) >> fold & 1)
        return refuse(PyExc_TypeError, r, i, "takes no where");
    return 0;
}

/* NumPy's name of the ufunc that has no identity; NULL: it has one. */
static const char *
no_identity(const wk_request *r, int i)
{
    const int given = r->initial && r->initial != Py_None, nan = r->skip_nan[i];
    if (given) return NULL;
    switch (r->fold[i]) {
    case WK_MIN: return nan ? "fmin" : "minimum";
    case WK_MAX: return nan ? "fmax" : "maximum";
    case WK_PTP: return "maximum";
    case WK_SUM: return r->initial ? "add" : NULL;
    case WK_PROD: return r->initial ? "multiply" : NULL;
    default: return NULL;
    }
}

int
wk_check_empty(const wk_request *r, int i, int masked, int64_t n, wk_dtype in)
{
    const wk_fold fold = r->fold[i];
    const char *ufunc = no_identity(r, i);
    if (ufunc && masked) {
        PyErr_Format(
            PyExc_ValueError,
            "reduction operation '%s' does not have an identity, so to use a where mask "
            "one has to specify 'initial'",
            ufunc);
        return -1;
    }
    if (ufunc && n == 0) {
        PyErr_Format(PyExc_ValueError,
                     "zero-size array to reduction operation %s which has no identity", ufunc);
        return -1;
    }
    if (n == 0 && (fold == WK_ARGMIN || fold == WK_ARGMAX)) {
        PyErr_Format(PyExc_ValueError, "attempt to get %s of an empty sequence",
                     wk_fold_names[fold]);
        return -1;
    }
    if (n == 0 && fold == WK_MEAN)
        return PyErr_WarnEx(PyExc_RuntimeWarning, "Mean of empty slice", 1);
    if ((fold == WK_VAR || fold == WK_STD) && r->ddof >= (double)n)
        return PyErr_WarnEx(PyExc_RuntimeWarning,
                            r->skip_nan[i] && in >= WK_F16 /* NumPy's nanvar has a full stop */
                                ? "Degrees of freedom <= 0 for slice."
                                : "Degrees of freedom <= 0 for slice",
                            1);
    return 0;
}

/* ---- dtypes ------------------------------------------------------------------------------- */

static int
bits_of(int dtype) /* of a number's magnitude */
{
    static const int bits[WK_DTYPES] = {1, 7, 8, 15, 16, 31, 32, 63, 64, 11, 8, 24, 53, 24, 53};
    return bits[dtype];
}

int
wk_casts_in_registers(const wk_request *r, int i, int in)
{
    const wk_fold fold = r->fold[i];
    const int dtype = r->dtype, whole = in < WK_F16, part = (int)wk_real_of((wk_dtype)dtype);
    const int real = SET(WK_VAR, WK_STD, WK_NORM, WK_SUMSQ) >> fold & 1; /* whatever is given */
    if (dtype == in) return 1;
    if (dtype == WK_BOOL) return 0;
    if (whole && dtype < WK_F16) return 1; /* modulo 2^k: a ring's homomorphism */
    if (dtype < WK_F16 || bits_of(in) > bits_of(part)) return 0;
    if (wk_is_complex(in) != wk_is_complex(dtype) && (wk_is_complex(in) || !real)) return 0;
    if (whole) /* a product's factors are rounded in turn; an initial value may have a fraction */
        return fold != WK_PROD && r->initial == NULL;
    return in == WK_BF16 ? part != WK_F16 : part != WK_BF16; /* which has fewer digits */
}

wk_dtype
wk_result_dtype(const wk_request *r, int i, wk_dtype in)
{
    const wk_fold fold = r->fold[i];
    if (r->dtype < 0) return wk_fold_dtype(fold, in);
    const wk_dtype own = (wk_dtype)r->dtype;
    return SET(WK_SUM, WK_PROD, WK_MEAN) >> fold & 1 ? own : wk_real_of(own);
}

int
wk_request_starts(wk_request *r, wk_dtype in)
{
    if (r->initial == NULL || r->initial == Py_None) return 0;
    for (int i = 0; i < r->outs; i++) {
        PyArray_Descr *descr = wk_descr_of(wk_result_dtype(r, i, in));
        PyArrayObject *one = descr ? (PyArrayObject *)PyArray_Zeros(0, NULL, descr, 0) : NULL;
        if (one == NULL) return -1;
        r->start[i] = one;
        if (PyArray_Pack(PyArray_DESCR(one), PyArray_DATA(one), r->initial) < 0) return -1;
    }
    return 0;
}

void
wk_drop_starts(wk_request *r)
{
    for (int i = 0; r->initial && i < r->outs; i++) Py_CLEAR(r->start[i]);
}

int
wk_initial_of(const wk_request *r, int i, wk_dtype result, wk_family family,
              wk_reduce_args *args)
{
    args->has_initial = r->start[i] != NULL;
    if (!args->has_initial) return 0;
    PyArrayObject *one = (PyArrayObject *)Py_NewRef((PyObject *)r->start[i]);
    if (family != WK_FAMILY_EXTREME) {
        const int type = wk_is_complex(result)             ? NPY_CDOUBLE
                         : wk_is_float(result)             ? NPY_DOUBLE
                         : PyArray_DESCR(one)->kind == 'u' ? NPY_UINT64
                                                           : NPY_INT64;
        Py_SETREF(one, (PyArrayObject *)PyArray_Cast(one, type));
        if (one == NULL) return -1;
    }
    memset(args->initial.bytes, 0, sizeof args->initial.bytes);
    memcpy(args->initial.bytes, PyArray_DATA(one), (size_t)PyArray_ITEMSIZE(one));
    Py_DECREF(one);
    return 0;
}
