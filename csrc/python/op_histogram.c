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
count_elements(wk_state *state, wk_call *call, wk_operand *operand, wk_options *options,
               wk_result *result)
{
    wk_histogram_args *h = &call->args.histogram;
    const npy_intp shape[1] = {h->bins};
    if (wk_place(state, call, operand, options) < 0) return -1;
    h->n = wk_size(&call->in);
    if (h->kind != WK_BINS_VALUES && check_edges(call) < 0) return -1;
    if (wk_result_new(state, call, 0, operand, options, WK_I64, 1, shape, result) < 0)
        return -1;
    return wk_call_row(state, call, operand, options, result);
}

PyObject *
wk_py_histogram(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_state *state = wk_state_of(module);
    wk_operand operand = {.array = NULL};
    wk_options options = {.out = NULL};
    wk_result result = {.array = NULL};
    PyArrayObject *edges = NULL;
    PyObject *given = NULL;
    unsigned long long low, high;
    wk_call call;
    wk_histogram_args *h = &call.args.histogram;

    if (wk_check_count("histogram", count, 6 + WK_OPTIONS) < 0) return NULL;
    wk_call_start(&call, WK_HISTOGRAM, 1);
    if (kind_of(args[1], &h->kind) < 0) return NULL;
    h->bins = PyLong_AsSsize_t(args[2]);
    if (h->bins == -1 && PyErr_Occurred()) return NULL;
    if (!PyArg_ParseTuple(args[4], "ddd", &h->first, &h->last, &h->width)) return NULL;
    if (!PyArg_ParseTuple(args[5], "KK", &low, &high)) return NULL;
    h->low = low;
    h->high = high;
    if (wk_operand_of(state, args[0], &operand) < 0) return NULL;
    if (wk_options_of(state, args + 6, call.outs, &options) < 0) goto done;
    if (args[3] != Py_None) {
        edges = wk_numpy_of(args[3]);
        edges = edges ? wk_contiguous(edges) : NULL;
        if (edges == NULL) goto done;
        wk_from_numpy(edges, &call.aux);
    }
    if (count_elements(state, &call, &operand, &options, &result) == 0)
        given = wk_result_give(state, &operand, &options, &result, 0, 0);
done:
    Py_XDECREF(edges);
    wk_result_clear(&result);
    wk_operand_clear(&operand);
    wk_options_clear(&options);
    return given;
}

static int
count_warps(wk_state *state, wk_call *call, wk_operand *operand, wk_options *options,
            wk_result *results)
{
    if (wk_place(state, call, operand, options) < 0) return -1;
    if (!operand->on_device && options->device.kind == WK_CPU) {
        operand->array = (PyObject *)wk_contiguous((PyArrayObject *)operand->array);
        if (operand->array == NULL) return -1;
        wk_from_numpy((PyArrayObject *)operand->array, &call->in);
    }
    const int64_t n = wk_size(&call->in);
    call->args.warp_histogram.n = n;
    const npy_intp shape[2] = {(n + 31) / 32, 32};
    if (wk_result_new(state, call, 0, operand, options, call->in.dtype, 2, shape,
                      &results[0]) ||
        wk_result_new(state, call, 1, operand, options, WK_I32, 2, shape, &results[1]) ||
        wk_result_new(state, call, 2, operand, options, WK_I32, 1, shape, &results[2]))
        return -1;
    return wk_call_row(state, call, operand, options, results);
}

PyObject *
wk_py_warp_histogram(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_state *state = wk_state_of(module);
    wk_operand operand = {.array = NULL};
    wk_options options = {.out = NULL};
    wk_result results[3] = {{.array = NULL}, {.array = NULL}, {.array = NULL}};
    PyObject *tuple = NULL;
    wk_call call;
    if (wk_check_count("warp_histogram", count, 2 + WK_OPTIONS) < 0) return NULL;
    wk_call_start(&call, WK_WARP_HISTOGRAM, 3);
    const int sorted = PyObject_IsTrue(args[1]);
    if (sorted < 0) return NULL;
    call.args.warp_histogram.sorted = sorted;
    if (wk_options_of(state, args + 2, call.outs, &options) == 0 &&
        wk_operand_of(state, args[0], &operand) == 0 &&
        count_warps(state, &call, &operand, &options, results) == 0) {
        tuple = PyTuple_New(3);
        for (int i = 0; tuple && i < 3; i++) {
            PyObject *one = wk_result_give(state, &operand, &options, &results[i], i, 0);
            if (one == NULL) Py_CLEAR(tuple);
            if (tuple) PyTuple_SET_ITEM(tuple, i, one);
        }
    }
    for (int i = 0; i < 3; i++) wk_result_clear(&results[i]);
    wk_operand_clear(&operand);
    wk_options_clear(&options);
    return tuple;
}
