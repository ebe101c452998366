/* op_histogram.c -- the counting under histogram and bincount, and warp_histogram.
 *   _core.histogram(a, kind, bins, edges, (first, last, width), (low, high), options ...)
 *   _core.warp_histogram(a, assume_sorted, options ...) */
#include "glue.h"

static int
kind_of(PyObject *object, wk_bins_kind *kind)
{
    static const char *const names[] = {"uniform", "edges", "values"};
    const char *text = PyUnicode_AsUTF8(object);
    for (int i = 0; text && i < 3; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *kind = i;
        return 0;
    }
    if (text) PyErr_Format(PyExc_ValueError, "unknown kind of bins %R", object);
    return -1;
}

/* Do the edges fit the call? The Python side made them; a mistake must not read past them. */
static int
check_edges(const wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    const wk_dtype in = call->in.dtype, e = call->aux.dtype;
    const int floats = in == WK_F32 || in == WK_F64;
    const int fits = h->kind == WK_BINS_EDGES
                         ? e == WK_F64 || (!floats && (e == WK_I64 || e == WK_U64))
                         : e == WK_F64 || (e == WK_F32 && in == WK_F32);
    if (call->aux.ndim == 1 && call->aux.shape[0] == h->bins + 1 && fits) return 0;
    PyErr_Format(PyExc_ValueError, "%lld bins of %s do not go with %lld edges of %s",
                 (long long)h->bins, wk_dtype_names[in], (long long)call->aux.shape[0],
                 wk_dtype_names[e]);
    return -1;
}

static int
count_elements(wk_frame *f)
{
    wk_histogram_args *h = &f->call.args.histogram;
    const npy_intp shape[1] = {h->bins};
    if (wk_place(f) < 0) return -1;
    h->n = wk_size(&f->call.in);
    if (h->kind != WK_BINS_VALUES && check_edges(&f->call) < 0) return -1;
    return wk_result_new(f, 0, WK_I64, 1, shape) < 0 ? -1 : wk_call_row(f);
}

PyObject *
wk_py_histogram(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    PyArrayObject *edges = NULL;
    unsigned long long low, high;
    wk_histogram_args h = {.n = 0};

    if (wk_check_count("histogram", count, 6 + WK_OPTIONS) < 0) return NULL;
    if (kind_of(args[1], &h.kind) < 0) return NULL;
    h.bins = PyLong_AsSsize_t(args[2]);
    if (h.bins == -1 && PyErr_Occurred()) return NULL;
    if (!PyArg_ParseTuple(args[4], "ddd", &h.first, &h.last, &h.width)) return NULL;
    if (!PyArg_ParseTuple(args[5], "KK", &low, &high)) return NULL;
    h.low = low;
    h.high = high;
    int status = wk_begin(module, &f, WK_HISTOGRAM, 1, args[0], args + 6);
    f.call.args.histogram = h;
    if (status == 0 && args[3] != Py_None) {
        edges = wk_numpy_of(args[3]);
        edges = edges ? wk_contiguous(edges) : NULL;
        if (edges) wk_from_numpy(edges, &f.call.aux);
        if (edges == NULL) status = -1;
    }
    if (status == 0) status = count_elements(&f);
    Py_XDECREF(edges);
    return wk_end(&f, status, 0);
}

static int
count_warps(wk_frame *f)
{
    if (wk_place(f) < 0 || wk_contiguous_for_cpu(f) < 0) return -1;
    const int64_t n = wk_size(&f->call.in);
    f->call.args.warp_histogram.n = n;
    const npy_intp shape[2] = {(n + 31) / 32, 32};
    if (wk_result_new(f, 0, f->call.in.dtype, 2, shape) < 0 ||
        wk_result_new(f, 1, WK_I32, 2, shape) < 0 || wk_result_new(f, 2, WK_I32, 1, shape) < 0)
        return -1;
    return wk_call_row(f);
}

PyObject *
wk_py_warp_histogram(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("warp_histogram", count, 2 + WK_OPTIONS) < 0) return NULL;
    const int sorted = PyObject_IsTrue(args[1]);
    if (sorted < 0) return NULL;
    int status = wk_begin(module, &f, WK_WARP_HISTOGRAM, 3, args[0], args + 2);
    f.call.args.warp_histogram.sorted = sorted;
    if (status == 0) status = count_warps(&f);
    return wk_end(&f, status, 0);
}
