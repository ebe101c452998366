/* op_histogram.c -- the counting under histogram and bincount, and warp_histogram.
 *   _core.histogram(a, kind, bins, edges, uniform, weights, sums, outside, pair, options ...)
 *     bins      how many; of values below 0: ~bins of them at least, and as many as there are;
 *               NotImplemented: some are negative, or too large
 *     uniform   of equal bins (first, last, width, low, high, element, quotient, computed), else
 *               None: what wk_histogram_args calls by these names; the last three are dtypes, and
 *               computed the one that edges and width were rounded to on their way: element (the
 *               default), or a smaller one
 *     weights   an array of a's shape, or None
 *     sums      the result's dtype with weights, else None; of values (dtype, "mean"), whose counts, int64
 *               and where a lies, are given as the edges, or (dtype, "min" or "max"), of the
 *               weights' dtype, which are real
 *     outside   the result has one more element, of what is in no bin
 *     pair      of an array on a device, with no out: (counts, edges), both there; of values with
 *               weights there: (sums, whether there was an element that is no bin's)
 *   _core.partial_weights(the same): the words of the sums (partial.h), of weights that are floats: int64,
 *     of the result's shape, of complex weights 2 more, and the words of each
 *   _core.warp_histogram(a, assume_sorted, options ...) */
#include "bins.h"
#include "glue.h"
#include "partial.h"

static int
kind_of(PyObject *object, wk_bins_kind *kind)
{
    static const char *const names[] = {"uniform", "edges", "values"};
    const char *text = wk_text_of(object);
    for (int i = 0; text && i < 3; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *kind = i;
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "unknown kind of bins %R", object);
    return -1;
}

static int
set_uniform(PyObject *tuple, wk_histogram_args *h)
{
    unsigned long long low, high;
    PyObject *element, *quotient, *computed = NULL;
    if (!PyArg_ParseTuple(tuple, "dddKKOO|O", &h->first, &h->last, &h->width, &low, &high,
                          &element, &quotient, &computed))
        return -1;
    const int e = wk_dtype_arg(element), q = e < 0 ? -1 : wk_dtype_arg(quotient);
    const int c = q < 0 ? -1 : computed ? wk_dtype_arg(computed) : e;
    if (c < 0) return -1;
    h->low = low;
    h->high = high;
    h->element = e;
    h->quotient = q;
    wk_plan_bins(h);
    if (c < e) { /* the plan knows element's rounding only: as NumPy does it, then */
        h->by_edges = 0;
        h->guard[0] = h->guard[1] = -1;
    }
    return 0;
}

/* Do the edges fit the call? The Python side made them; a mistake must not read past them. */
static int
check_edges(const wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    const wk_dtype in = call->in.dtype, e = call->aux.dtype;
    const int floats = in >= WK_F16;
    const int fits = h->kind == WK_BINS_EDGES
                         ? e == WK_F64 || (!floats && (e == WK_I64 || e == WK_U64))
                         : e == (h->element == WK_F64 ? WK_F64 : WK_F32);
    if (call->aux.ndim == 1 && call->aux.shape[0] == h->bins + 1 && h->bins > 0 && fits)
        return 0;
    PyErr_Format(PyExc_ValueError, "%lld bins of %s do not go with %lld edges of %s",
                 (long long)h->bins, wk_dtype_names[in], (long long)call->aux.shape[0],
                 wk_dtype_names[e]);
    return -1;
}

/* Broadcast weights would be read past their end. */
static int
check_weights(const wk_frame *f)
{
    wk_array w;
    if (f->beside.on_device)
        wk_from_device((wk_device_array *)f->beside.array, &w);
    else
        wk_from_numpy((PyArrayObject *)f->beside.array, &w);
    const wk_array *in = &f->call.in;
    if (wk_same_shape(w.ndim, w.shape, in->ndim, in->shape)) return 0;
    PyErr_SetString(PyExc_ValueError, "weights should have the same shape as a.");
    return -1;
}

/* Pairs are met in C order: of the host's arrays the kernels get that. */
static int
place_weights(wk_frame *f)
{
    if (f->beside.array == NULL) return 0;
    if (check_weights(f) < 0) return -1;
    if (!f->operand.on_device && !f->beside.on_device) {
        f->operand.array = (PyObject *)wk_contiguous((PyArrayObject *)f->operand.array);
        f->beside.array = (PyObject *)wk_contiguous((PyArrayObject *)f->beside.array);
        if (f->operand.array == NULL || f->beside.array == NULL) return -1;
        wk_take((PyArrayObject *)f->operand.array, &f->call.in, &f->in);
    }
    return wk_place_beside(f, "weights");
}

/* As many bins as there are values; 1: there can be no such. */
static int
count_values(const wk_array *in, wk_histogram_args *h)
{
    if (in->host == NULL || in->ndim != 1) {
        PyErr_SetString(PyExc_ValueError, "values are counted on one axis on the host");
        return -1;
    }
    const int64_t values = wk_values_of(in);
    if (values < 0) return 1;
    h->bins = values > ~h->bins ? values : ~h->bins;
    return 0;
}

/* The words of a call that is ready to run. */
static PyArrayObject *
keep_sums(wk_frame *f)
{
    wk_call *call = &f->call;
    const wk_dtype weights = call->weights.ndim < 0 ? WK_BOOL : call->weights.dtype;
    const int parts = wk_is_complex(weights) ? 2 : 1;
    const wk_dtype real = wk_real_of(weights);
    const wk_form form = wk_form_of_weights(real);
    const npy_intp rows = call->out[0].shape[0];
    if (real < WK_F16 || (!f->operand.on_device && f->options.device.kind != WK_CPU)) {
        PyErr_SetString(PyExc_ValueError,
                        "weights must be floats, and lie where they are summed");
        return NULL;
    }
    PyArrayObject *words = wk_words_new(1, &rows, parts, form.words);
    if (words == NULL || rows == 0) return words;
    int64_t size, *to = PyArray_DATA(words);
    int status = 0;
    if (!f->operand.on_device) {
        call->part.mode = WK_PIECE;
        call->part.state = to;
        status = wk_call_row(f);
    } else {
        call->part.first = call->part.chunks = 0;
        PyArrayObject *states = wk_states_of(f, rows, 0, &size);
        status = states ? 0 : -1;
        for (int p = 0; status == 0 && p < parts; p++)
            status = wk_words_of_weights(
                real, (uint64_t *)PyArray_DATA(states) + p * (size / parts) * rows, rows,
                size / parts, (int64_t)parts * form.words, to + p * form.words);
        if (states && status < 0)
            PyErr_SetString(PyExc_SystemError, "unknown states of weights");
        Py_XDECREF(states);
    }
    if (status < 0) Py_CLEAR(words);
    return words;
}

/* 1: count_values says so. */
static int
prepare(wk_frame *f, int sums)
{
    wk_histogram_args *h = &f->call.args.histogram;
    if (wk_place(f) < 0 || place_weights(f) < 0) return -1;
    h->n = wk_size(&f->call.in);
    if (h->kind != WK_BINS_VALUES && check_edges(&f->call) < 0) return -1;
    if (h->kind == WK_BINS_VALUES && f->call.in.dtype >= WK_F16) {
        PyErr_Format(PyExc_TypeError, "bins by value are of integers, not of %s",
                     wk_dtype_names[f->call.in.dtype]);
        return -1;
    }
    const int status = h->bins < 0 ? count_values(&f->call.in, h) : 0;
    if (status != 0) return status;
    const npy_intp shape[1] = {h->bins + h->outside};
    return wk_result_new(f, 0, sums, 1, shape);
}

static int
count_elements(wk_frame *f, int sums, int pair, int64_t *stray)
{
    const wk_histogram_args *h = &f->call.args.histogram;
    const int prepared = prepare(f, sums);
    if (prepared != 0) return prepared;
    if (pair && h->kind != WK_BINS_VALUES && f->operand.on_device &&
        f->options.out == Py_None) {
        const npy_intp edges[1] = {h->bins + 1};
        f->call.outs = 2;
        if (wk_result_new(f, 1, f->call.aux.dtype, 1, edges) < 0) return -1;
    }
    if (!(pair && h->kind == WK_BINS_VALUES && f->operand.on_device && f->beside.array))
        return wk_call_row(f);
    wk_array *told = &f->call.out[1];
    *told = (wk_array){.host = stray, .bytes = sizeof *stray, .dtype = WK_I64, .ndim = 1};
    told->shape[0] = told->strides[0] = 1;
    f->call.outs = 2;
    const int status = wk_call_row(f);
    f->call.outs = 1;
    return status;
}

/* The edges, if there are any: owned by the caller. */
static int
take_edges(wk_frame *f, PyObject *given, PyArrayObject **edges)
{
    *edges = given == Py_None ? NULL : wk_numpy_of(given);
    if (given == Py_None) return 0;
    if (*edges) *edges = wk_contiguous(*edges);
    if (*edges) wk_take(*edges, &f->call.aux, &f->aux);
    return *edges ? 0 : -1;
}

/* A dtype, or one and a fold. */
static int
parse_sums(PyObject *object, wk_histogram_args *h, int *sums)
{
    PyObject *dtype = object;
    const char *name = NULL;
    if (PyTuple_Check(object) && !PyArg_ParseTuple(object, "Os", &dtype, &name)) return -1;
    int fold = WK_SUM;
    while (name && fold < WK_FOLDS && strcmp(name, wk_fold_names[fold]) != 0) fold++;
    if (fold == WK_FOLDS) {
        PyErr_Format(PyExc_ValueError, "unknown op '%s'", name);
        return -1;
    }
    h->fold = fold;
    *sums = wk_dtype_arg(dtype);
    return *sums < 0 ? -1 : 0;
}

/* Are there kernels for it? */
static int
check_fold(const wk_frame *f, int sums, int keeps)
{
    const wk_histogram_args *h = &f->call.args.histogram;
    const int of_values = h->kind == WK_BINS_VALUES && h->bins >= 0 && !h->outside && !keeps;
    const int weights = f->beside.array ? (int)wk_operand_dtype(&f->beside) : WK_C64;
    int taken = h->fold == WK_MEAN;
    switch (h->fold) {
    case WK_MIN:
    case WK_MAX: taken = sums == weights && weights < WK_C64; break;
    case WK_ARGMIN:
    case WK_ARGMAX: taken = sums == WK_I64 && weights < WK_C64; break;
    case WK_ANY:
    case WK_ALL: taken = sums == WK_BOOL && weights < WK_C64; break;
    default:;
    }
    if (h->fold == WK_SUM || (of_values && taken)) return 0;
    PyErr_Format(PyExc_ValueError, "the %s of these weights is not taken",
                 wk_fold_names[h->fold]);
    return -1;
}

/* Of the arguments those that are no arrays. */
static int
parse(PyObject *const *args, wk_histogram_args *h, int *sums, int *pair)
{
    if (kind_of(args[1], &h->kind) < 0) return -1;
    h->bins = PyLong_AsSsize_t(args[2]);
    if (h->bins == -1 && PyErr_Occurred()) return -1;
    if (args[4] != Py_None && set_uniform(args[4], h) < 0) return -1;
    if (args[6] != Py_None && parse_sums(args[6], h, sums) < 0) return -1;
    h->outside = PyObject_IsTrue(args[7]);
    *pair = PyObject_IsTrue(args[8]);
    return h->outside < 0 || *pair < 0 ? -1 : 0;
}

/* keeps: the words are given, not the result. */
static PyObject *
entry(PyObject *module, PyObject *const *args, Py_ssize_t count, int keeps)
{
    wk_frame f;
    PyArrayObject *words = NULL;
    PyArrayObject *edges = NULL;
    wk_operand counts = {.array = NULL};
    wk_histogram_args h = {.n = 0};
    int sums = WK_I64, pair = 0;
    int64_t stray = -1;

    if (wk_check_count("histogram", count, 9 + WK_OPTIONS) < 0) return NULL;
    if (parse(args, &h, &sums, &pair) < 0) return NULL;
    int status = wk_begin(module, &f, WK_HISTOGRAM, 1, args[0], args + 9);
    f.call.args.histogram = h;
    if (status == 0 && args[5] != Py_None) status = wk_operand_of(f.state, args[5], &f.beside);
    if (status == 0) status = check_fold(&f, sums, keeps);
    if (status == 0)
        status = h.fold == WK_MEAN ? wk_take_integers(&f, args[3], "counts", &counts)
                                   : take_edges(&f, args[3], &edges);
    if (status == 0 && h.fold == WK_MEAN && f.call.aux.shape[0] != h.bins) {
        PyErr_SetString(PyExc_ValueError, "there must be a count of each bin");
        status = -1;
    }
    if (status == 0 && keeps) {
        words = prepare(&f, sums) != 0 ? NULL : keep_sums(&f);
        status = -1; /* no result is given */
    } else if (status == 0) {
        status = count_elements(&f, sums, pair, &stray);
    }
    Py_XDECREF(edges);
    PyObject *result = wk_end(&f, status == 1 ? -1 : status, 0);
    wk_operand_clear(&counts);
    if (keeps) return (PyObject *)words;
    if (status == 1) return Py_NewRef(Py_NotImplemented);
    return result && stray >= 0 ? Py_BuildValue("(NN)", result, PyBool_FromLong(stray > 0))
                                : result;
}

PyObject *
wk_py_histogram(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return entry(module, args, count, 0);
}

PyObject *
wk_py_partial_weights(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return entry(module, args, count, 1);
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
