/* op_keyed.c -- sums of products, folds of segments, and what brings groups together.
 *   _core.dot(a, b, conjugate, whole, options ...)       along the last axis of a, which b is broadcast to;
 *       whole: NotImplemented, but of arrays of one axis and one dtype that lie, whole, where the call works
 *   _core.segment_reduce(a, op, ddof, dtype, offsets, order, mask, options ...)
 *       offsets   int64, C-contiguous, where a lies
 *       order     int64 of a's shape, or None; mask: the bits of it that are an index
 *     gives (results, first offset out of place or -1, first empty segment or -1)
 *   _core.group(keys, groups, options ...)
 *     gives (places, offsets, first place whose key is no group's or -1, mask)
 *   _core.cumsum(a, axis, skip_nan, dtype, options ...)    axis: None, or an int
 * The Python side has brought host arrays to the GPU that is to work on them. */
#include "reduce_request.h"

/* Not over the bus in pieces: each kernel wants all there is. */
static int
place(wk_frame *f)
{
    if (wk_place(f) < 0) return -1;
    if (f->operand.on_device || f->options.device.kind == WK_CPU)
        return wk_contiguous_for_cpu(f);
    PyErr_Format(PyExc_ValueError, "%s takes arrays that lie where it works",
                 wk_op_names[f->call.op]);
    return -1;
}

/* The array beside, C-contiguous. */
static int
place_beside(wk_frame *f, const char *name)
{
    if (!f->operand.on_device && !f->beside.on_device) {
        f->beside.array = (PyObject *)wk_contiguous((PyArrayObject *)f->beside.array);
        if (f->beside.array == NULL) return -1;
    }
    if (wk_place_beside(f, name) < 0) return -1;
    if (f->operand.on_device || wk_c_contiguous(&f->call.beside)) return 0;
    PyErr_Format(PyExc_ValueError, "%s must have the array's shape", name);
    return -1;
}

/* What the host is to know when the call ends, as its result of that number: waited for. */
static void
tell_host(wk_frame *f, int which, int64_t *words, int64_t n)
{
    wk_array *w = &f->call.out[which];
    *w = (wk_array){.host = words, .bytes = n * (int64_t)sizeof *words, .dtype = WK_I64};
    w->ndim = 1;
    w->shape[0] = n;
    w->strides[0] = 1;
    f->call.outs = which + 1;
}

/* ---- dot ---------------------------------------------------------------------------------- */

static int
are_whole(wk_state *state, PyObject *a, PyObject *b)
{
    if (PyArray_CheckExact(a) && PyArray_CheckExact(b)) {
        PyArrayObject *x = (PyArrayObject *)a, *y = (PyArrayObject *)b;
        return PyArray_NDIM(x) == 1 && PyArray_NDIM(y) == 1 &&
               PyArray_DIM(x, 0) == PyArray_DIM(y, 0) && PyArray_TYPE(x) == PyArray_TYPE(y) &&
               PyArray_IS_C_CONTIGUOUS(x) && PyArray_IS_C_CONTIGUOUS(y);
    }
    if (!wk_is_device_array(state, a) || !wk_is_device_array(state, b)) return 0;
    const wk_device_array *x = (wk_device_array *)a, *y = (wk_device_array *)b;
    return x->ndim == 1 && y->ndim == 1 && x->shape[0] == y->shape[0] && x->dtype == y->dtype;
}

/* 1: the arrays must go elsewhere first, and `whole` forbids it. */
static int
multiply(wk_frame *f, int conjugate, int whole)
{
    wk_dot_args *d = &f->call.args.dot;
    const wk_array *in = &f->call.in;
    if (whole && !f->operand.on_device) {
        wk_device *device = &f->options.device;
        if (wk_choose_device(f->state, device) < 0) return -1;
        if (device->given == 2 || device->kind != WK_CPU)
            return 1; /* 2: "auto", by all bytes */
    }
    if (place(f) < 0 || place_beside(f, "b") < 0) return -1;
    if (in->ndim < 1 || in->dtype != f->call.beside.dtype) {
        PyErr_Format(PyExc_TypeError,
                     "arrays of at least one axis and one dtype, not %s and %s",
                     wk_dtype_names[in->dtype], wk_dtype_names[f->call.beside.dtype]);
        return -1;
    }
    d->conjugate = conjugate;
    d->n = in->shape[in->ndim - 1];
    d->outputs = 1;
    for (int i = 0; i < in->ndim - 1; i++) d->outputs *= in->shape[i];
    if (wk_result_new(f, 0, in->dtype, in->ndim - 1, in->shape) < 0) return -1;
    return wk_call_row(f);
}

PyObject *
wk_py_dot(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("dot", count, 4 + WK_OPTIONS) < 0) return NULL;
    const int conjugate = PyObject_IsTrue(args[2]), whole = args[3] == Py_True;
    if (conjugate < 0) return NULL;
    if (whole && !are_whole(wk_state_of(module), args[0], args[1]))
        return Py_NewRef(Py_NotImplemented);
    int status = wk_begin(module, &f, WK_DOT, 1, args[0], args + 4);
    if (status == 0) status = wk_operand_of(f.state, args[1], &f.beside);
    if (status == 0) status = multiply(&f, conjugate, whole);
    PyObject *result = wk_end(&f, status, 1);
    return status == 1 ? Py_NewRef(Py_NotImplemented) : result;
}

/* ---- segments ----------------------------------------------------------------------------- */

static int
fold_segments(wk_frame *f, const wk_request *r, uint64_t mask, int64_t *status)
{
    wk_reduce_args *args = &f->call.args.reduce;
    wk_array *in = &f->call.in;
    const wk_dtype dtype = wk_operand_dtype(&f->operand);
    const npy_intp outputs = f->call.aux.shape[0] - 1;
    if (r->fold[0] == WK_PROD || r->skip_nan[0]) {
        PyErr_Format(PyExc_ValueError, "op '%s%s' is not taken of segments",
                     r->skip_nan[0] ? "nan" : "", wk_fold_names[r->fold[0]]);
        return -1;
    }
    if (wk_check_op(r, 0, 0, dtype) < 0 || place(f) < 0) return -1;
    if (f->beside.array && place_beside(f, "order") < 0) return -1;
    args->fold[0] = r->fold[0];
    args->outputs = outputs;
    args->n = wk_size(in);
    args->planes = 1;
    args->ddof = r->ddof;
    args->order_mask = mask;
    in->ndim = 1;
    in->shape[0] = args->n;
    in->strides[0] = 1;
    if (wk_result_new(f, 0, wk_result_dtype(r, 0, dtype), 1, &outputs) < 0) return -1;
    tell_host(f, 1, status, 2);
    const int done = wk_call_row(f);
    f->call.outs = 1;
    return done;
}

PyObject *
wk_py_segment_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    wk_operand offsets = {.array = NULL};
    wk_request r = {.dtype = -1};
    if (wk_check_count("segment_reduce", count, 7 + WK_OPTIONS) < 0) return NULL;
    r.ddof = PyFloat_AsDouble(args[2]);
    if ((r.ddof == -1 && PyErr_Occurred()) || wk_request_folds(args[1], &r) < 0) return NULL;
    if (args[3] != Py_None && (r.dtype = wk_dtype_arg(args[3])) < 0) return NULL;
    const uint64_t mask = PyLong_AsUnsignedLongLongMask(args[6]);
    if (PyErr_Occurred()) return NULL;
    int64_t told[2];
    int status = wk_begin(module, &f, WK_SEGMENT_REDUCE, 1, args[0], args + 7);
    if (status == 0) status = wk_take_integers(&f, args[4], "offsets", &offsets);
    if (status == 0 && args[5] != Py_None) status = wk_operand_of(f.state, args[5], &f.beside);
    if (status == 0) status = fold_segments(&f, &r, mask, told);
    PyObject *result = wk_end(&f, status, 0);
    wk_operand_clear(&offsets);
    if (result == NULL) return NULL;
    return Py_BuildValue("(NLL)", result, (long long)told[0], (long long)told[1]);
}

/* ---- groups ------------------------------------------------------------------------------- */

static int
find_places(wk_frame *f, int64_t groups, int64_t *stray)
{
    wk_group_args *g = &f->call.args.group;
    if (place(f) < 0) return -1;
    const npy_intp n = wk_size(&f->call.in), offsets = groups + 1;
    g->n = n;
    g->groups = groups;
    g->mask = 1;
    while (g->mask < (uint64_t)n) g->mask = 2 * g->mask + 1;
    if ((uint64_t)groups > UINT64_MAX / (g->mask + 1) - 1) {
        PyErr_Format(PyExc_ValueError, "%lld groups of %lld elements are too many",
                     (long long)groups, (long long)n);
        return -1;
    }
    if (wk_result_new(f, 0, WK_I64, 1, &n) < 0 || wk_result_new(f, 1, WK_I64, 1, &offsets) < 0)
        return -1;
    tell_host(f, 2, stray, 1);
    const int done = wk_call_row(f);
    f->call.outs = 2;
    return done;
}

PyObject *
wk_py_group(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("group", count, 2 + WK_OPTIONS) < 0) return NULL;
    const Py_ssize_t groups = PyLong_AsSsize_t(args[1]);
    if (groups == -1 && PyErr_Occurred()) return NULL;
    int64_t stray = -1;
    int status = wk_begin(module, &f, WK_GROUP, 2, args[0], args + 2);
    if (status == 0) status = find_places(&f, groups, &stray);
    const uint64_t mask = status == 0 ? f.call.args.group.mask : 0;
    PyObject *pair = wk_end(&f, status, 0);
    if (pair == NULL) return NULL;
    PyObject *all =
        Py_BuildValue("(OOLK)", PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1),
                      (long long)stray, (unsigned long long)mask);
    Py_DECREF(pair);
    return all;
}

/* ---- cumsum ------------------------------------------------------------------------------- */

/* axis: None, or an integer. */
static int
scan(wk_frame *f, PyObject *axis, int skip_nan, int dtype)
{
    wk_cumsum_args *c = &f->call.args.cumsum;
    const wk_array *in = &f->call.in;
    if (place(f) < 0) return -1;
    const npy_intp size = wk_size(in);
    const npy_intp *shape = axis == Py_None || in->ndim == 0 ? &size : in->shape;
    const int ndim = shape == &size ? 1 : in->ndim;
    const Py_ssize_t which =
        axis == Py_None ? 0 : PyNumber_AsSsize_t(axis, PyExc_OverflowError);
    if (which == -1 && PyErr_Occurred()) return -1;
    const int along = wk_check_axis(f->state, which, ndim);
    if (along < 0) return -1;
    c->n = shape[along];
    c->inner = 1;
    for (int d = along + 1; d < ndim; d++) c->inner *= shape[d];
    c->lines = size > 0 ? size / c->n / c->inner : 0;
    c->skip_nan = skip_nan && in->dtype >= WK_F16;
    if (dtype < 0) dtype = wk_fold_dtype(WK_SUM, in->dtype);
    if (in->dtype >= WK_F16 ? (wk_dtype)dtype != in->dtype
                            : dtype == WK_BOOL || dtype >= WK_F16) {
        PyErr_Format(PyExc_TypeError, "sums of %s cannot be %s", wk_dtype_names[in->dtype],
                     wk_dtype_names[dtype]);
        return -1;
    }
    if (wk_result_new(f, 0, (wk_dtype)dtype, ndim, shape) < 0) return -1;
    return wk_call_row(f);
}

PyObject *
wk_py_cumsum(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    int dtype = -1;
    if (wk_check_count("cumsum", count, 4 + WK_OPTIONS) < 0) return NULL;
    const int skip_nan = PyObject_IsTrue(args[2]);
    if (skip_nan < 0) return NULL;
    if (args[3] != Py_None && (dtype = wk_dtype_arg(args[3])) < 0) return NULL;
    int status = wk_begin(module, &f, WK_CUMSUM, 1, args[0], args + 4);
    if (status == 0) status = scan(&f, args[1], skip_nan, dtype);
    return wk_end(&f, status, 0);
}
