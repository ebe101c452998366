/* op_histogram.c -- the counting under histogram and bincount, and warp_histogram.
 *   _core.histogram(a, kind, bins, edges, (first, last, width), (low, high), device, variant)
 *   _core.warp_histogram(a, assume_sorted, device, variant) */
#include "glue.h"

static int
kind_arg(PyObject *object, void *slot)
{
    static const char *const names[] = {"uniform", "edges", "values"};
    const char *text = PyUnicode_AsUTF8(object);
    for (int i = 0; text && i < 3; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *(wk_bins_kind *)slot = i;
        return 1;
    }
    if (text) PyErr_Format(PyExc_ValueError, "unknown kind of bins %R", object);
    return 0;
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

PyObject *
wk_py_histogram(PyObject *module, PyObject *args)
{
    wk_state *state = wk_state_of(module);
    PyArrayObject *a = NULL, *edges = NULL, *out = NULL;
    PyObject *given;
    Py_ssize_t bins;
    unsigned long long low, high;
    wk_device device;
    const char *variant;
    wk_call call = {.op = WK_HISTOGRAM, .outs = 1};
    wk_histogram_args *h = &call.args.histogram;

    if (!PyArg_ParseTuple(args, "O&O&nO(ddd)(KK)O&z:histogram", wk_array_arg, &a, kind_arg,
                          &h->kind, &bins, &given, &h->first, &h->last, &h->width, &low, &high,
                          wk_device_arg, &device, &variant))
        return NULL;
    wk_from_numpy(a, &call.in);
    h->n = wk_size(&call.in);
    h->bins = bins;
    h->low = low;
    h->high = high;
    if (given != Py_None) {
        if (!wk_array_arg(given, &edges)) goto done;
        edges = wk_contiguous(edges);
        if (edges == NULL) goto done;
        wk_from_numpy(edges, &call.aux);
    }
    if (h->kind != WK_BINS_VALUES && check_edges(&call) < 0) goto done;
    const npy_intp shape[1] = {bins};
    out = wk_new_array(WK_I64, 1, shape, &call.out[0]);
    if (out && wk_call_row(state, &call, device, variant) < 0) Py_CLEAR(out);
done:
    Py_DECREF(a);
    Py_XDECREF(edges);
    return (PyObject *)out;
}

PyObject *
wk_py_warp_histogram(PyObject *module, PyObject *args)
{
    wk_state *state = wk_state_of(module);
    PyArrayObject *a = NULL, *values = NULL, *counts = NULL, *totals = NULL;
    PyObject *result = NULL;
    wk_device device;
    const char *variant;
    wk_call call = {.op = WK_WARP_HISTOGRAM, .outs = 3};
    wk_warp_histogram_args *w = &call.args.warp_histogram;

    if (!PyArg_ParseTuple(args, "O&pO&z:warp_histogram", wk_array_arg, &a, &w->sorted,
                          wk_device_arg, &device, &variant))
        return NULL;
    a = wk_contiguous(a);
    if (a == NULL) return NULL;
    wk_from_numpy(a, &call.in);
    w->n = wk_size(&call.in);
    const npy_intp shape[2] = {(w->n + 31) / 32, 32};
    values = wk_new_array(call.in.dtype, 2, shape, &call.out[0]);
    counts = values ? wk_new_array(WK_I32, 2, shape, &call.out[1]) : NULL;
    totals = counts ? wk_new_array(WK_I32, 1, shape, &call.out[2]) : NULL;
    if (totals && wk_call_row(state, &call, device, variant) == 0)
        result = PyTuple_Pack(3, values, counts, totals);
    Py_DECREF(a);
    Py_XDECREF(values);
    Py_XDECREF(counts);
    Py_XDECREF(totals);
    return result;
}
