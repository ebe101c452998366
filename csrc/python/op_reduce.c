/* op_reduce.c -- _core.reduce(a, op, axis, keepdims, options ...) */
#include "glue.h"

static int
fold_of(PyObject *object, wk_fold *fold)
{
    const char *text = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    for (int f = 0; text && f < WK_FOLDS; f++) {
        if (strcmp(text, wk_fold_names[f]) != 0) continue;
        *fold = f;
        return 0;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError,
                     "unknown op %R; there are: 'sum', 'prod', 'min', 'max', 'mean'", object);
    return -1;
}

/* None, an int or a tuple of ints, as a set of bits. */
static int
axes_of(wk_state *state, PyObject *axis, int ndim, uint64_t *axes)
{
    *axes = 0;
    if (axis == Py_None) {
        *axes = ndim == 64 ? UINT64_MAX : ((uint64_t)1 << ndim) - 1;
        return 0;
    }
    const int many = PyTuple_Check(axis);
    const Py_ssize_t count = many ? PyTuple_GET_SIZE(axis) : 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = many ? PyTuple_GET_ITEM(axis, i) : axis;
        const Py_ssize_t number = PyNumber_AsSsize_t(one, PyExc_OverflowError);
        if (number == -1 && PyErr_Occurred()) return -1;
        if (ndim == 0 && !many && (number == 0 || number == -1)) return 0; /* as in NumPy */
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

static wk_dtype
result_dtype(wk_fold fold, wk_dtype in)
{
    if (in == WK_F32 || in == WK_F64 || fold == WK_MIN || fold == WK_MAX) return in;
    if (fold == WK_MEAN) return WK_F64;
    return in == WK_U8 || in == WK_U16 || in == WK_U32 || in == WK_U64 ? WK_U64 : WK_I64;
}

/* The fold of nothing: an error for min and max, a warning for the mean; as in NumPy. */
static int
check_empty(const wk_reduce_args *args)
{
    if (args->n > 0) return 0;
    if (args->fold == WK_MIN || args->fold == WK_MAX) {
        PyErr_Format(PyExc_ValueError,
                     "zero-size array to reduction operation %s which has no identity",
                     args->fold == WK_MIN ? "minimum" : "maximum");
        return -1;
    }
    if (args->fold == WK_MEAN)
        return PyErr_WarnEx(PyExc_RuntimeWarning, "Mean of empty slice.", 1);
    return 0;
}

static int
reduce(wk_frame *f, PyObject *axis, int keepdims)
{
    npy_intp shape[WK_MAX_DIMS];
    uint64_t axes;
    int kept = 0;
    wk_array *in = &f->call.in;
    wk_reduce_args *r = &f->call.args.reduce;
    if (wk_place(f) < 0 || axes_of(f->state, axis, in->ndim, &axes) < 0) return -1;
    for (int d = 0; d < in->ndim; d++) {
        if (!(axes >> d & 1))
            shape[kept++] = in->shape[d];
        else if (keepdims)
            shape[kept++] = 1;
    }
    wk_plan_reduce(in, axes, r);
    if (check_empty(r) < 0 ||
        wk_result_new(f, 0, result_dtype(r->fold, in->dtype), kept, shape) < 0)
        return -1;
    return wk_call_row(f);
}

PyObject *
wk_py_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    wk_fold fold;
    if (wk_check_count("reduce", count, 4 + WK_OPTIONS) < 0) return NULL;
    const int keepdims = PyObject_IsTrue(args[3]);
    if (keepdims < 0 || fold_of(args[1], &fold) < 0) return NULL;
    int status = wk_begin(module, &f, WK_REDUCE, 1, args[0], args + 4);
    f.call.args.reduce.fold = fold;
    if (status == 0) status = reduce(&f, args[2], keepdims);
    return wk_end(&f, status, 1);
}
