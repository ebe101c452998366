/* op_partial.c -- what is kept of a reduction, or of sums of weights, so that it can be merged with
 * others' (partial.h).
 *   _core.partial(a, op, axis, initial, where, options ...) -> (results, words)
 *     op        one name, or a tuple of those that one pass gives
 *     results   as _core.reduce's; those of sums of floats are this array's alone
 *     words     int64, of the results' shape, of sums of complex numbers 2 more, and the words of each
 *   _core.finish(words, op, dtype, ddof, out): the results of sums of elements of that dtype, from words of
 *     one output after another; a tuple. out: their dtype, None: the ops' own
 *   _core.carry(words, first, count, modulo): carries limbs of 32 bits, count columns of the words from
 *     that one on, in place; the last keeps its sign, or is taken modulo 2^32. Is any of them beyond
 *     2^63 in magnitude?
 * The array lies on the device, or the device is the CPU. */
#include "partial.h"
#include "reduce_request.h"

PyArrayObject *
wk_words_new(int ndim, const npy_intp *shape, int parts, int64_t words)
{
    npy_intp extents[WK_MAX_DIMS + 2];
    for (int d = 0; d < ndim; d++) extents[d] = shape[d];
    if (parts > 1) extents[ndim++] = parts;
    extents[ndim++] = words;
    if (ndim > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "a partial of so many axes has none for its words");
        return NULL;
    }
    return (PyArrayObject *)PyArray_ZEROS(ndim, extents, NPY_INT64, 0);
}

/* Zeros on the device, in the order of the call. */
static wk_device_array *
new_states(wk_frame *f, npy_intp count)
{
    PyArrayObject *zeros = (PyArrayObject *)PyArray_ZEROS(1, &count, NPY_INT64, 0);
    wk_device_array *states =
        zeros ? wk_array_new(f->state, f->options.device, wk_home_of(f->call.stream),
                             f->options.stream_owner, WK_I64, 1, &count)
              : NULL;
    if (states && wk_fill(f->state, states, zeros) < 0) Py_CLEAR(states);
    Py_XDECREF(zeros);
    return states;
}

/* One run of the call, which leaves it as it was. */
static int
run_as(wk_frame *f, const wk_call *call, wk_part_mode mode, void *states, int64_t *words)
{
    f->call = *call;
    f->call.part.mode = mode;
    f->call.part.state = states;
    f->call.mailbox.bytes = 0;
    const int status = wk_call_row(f);
    if (words) *words = f->call.part.words;
    return status;
}

PyArrayObject *
wk_states_of(wk_frame *f, int64_t outputs, int finishes, int64_t *words)
{
    const wk_call call = f->call;
    PyArrayObject *host = NULL;
    *words = 0;
    if (run_as(f, &call, WK_SIZE, NULL, words) < 0) return NULL;
    wk_device_array *states = new_states(f, (npy_intp)(outputs * *words));
    if (states == NULL) return NULL;
    int status = run_as(f, &call, WK_PIECE, states->start, NULL);
    if (status == 0 && finishes) status = run_as(f, &call, WK_FINISH, states->start, NULL);
    f->call = call;
    if (status == 0) host = (PyArrayObject *)wk_array_to_numpy((PyObject *)states, NULL);
    Py_DECREF(states);
    return host;
}

/* ---- partial -------------------------------------------------------------------------------- */

/* Which outputs neighbours along the kept axes are. */
static void
set_steps(wk_call *call)
{
    int64_t step = 1;
    for (int d = call->args.reduce.kept - 1; d >= 0; d--) {
        call->part.step[d] = step;
        step *= call->in.shape[d];
    }
    call->part.output = call->part.first = 0;
    call->part.chunks = 0;
}

/* Do results matter, or only words? */
static int
has_results(const wk_request *r, wk_dtype in)
{
    const int words = SET(WK_MEAN, WK_VAR, WK_STD, WK_NORM, WK_SUMSQ);
    return (wk_set_of(r->fold, r->outs) & ~(in < WK_F16 ? words : words | SET(WK_SUM))) != 0;
}

static int
run_on_device(wk_frame *f, const wk_request *r, PyArrayObject *words)
{
    int64_t size;
    set_steps(&f->call);
    PyArrayObject *states =
        wk_states_of(f, f->call.args.reduce.outputs, has_results(r, f->call.in.dtype), &size);
    if (states == NULL) return -1;
    const int status =
        wk_words_of_states(&f->call, PyArray_DATA(states), size, PyArray_DATA(words));
    Py_DECREF(states);
    if (status < 0)
        PyErr_Format(PyExc_SystemError, "states of %lld words are not known", (long long)size);
    return status;
}

static PyArrayObject *
fold(wk_frame *f, wk_request *r)
{
    int member[WK_MAX_OUTS];
    wk_call *call = &f->call;
    if (wk_request_place(f, r) < 0) return NULL;
    if (!f->operand.on_device && f->options.device.kind != WK_CPU) {
        PyErr_SetString(PyExc_ValueError, "an array on the host is folded on the CPU");
        return NULL;
    }
    const wk_array first = call->out[0]; /* of complex results as they are given */
    for (int i = 0; i < r->outs; i++) member[i] = i;
    if (wk_family_of(r->fold, r->outs, call->in.dtype) < 0) {
        PyErr_SetString(PyExc_ValueError, "one pass does not give all of these");
        return NULL;
    }
    const int family = wk_request_plan(f, r, member);
    if (family < 0) return NULL;
    if (family == WK_FAMILY_TREE) {
        PyErr_SetString(PyExc_TypeError, "products of floats depend on their order");
        return NULL;
    }
    const wk_form form = wk_form_of(call->args.reduce.fold, call->outs, call->in.dtype);
    PyArrayObject *words = wk_words_new(first.ndim, (const npy_intp *)first.shape,
                                        call->args.reduce.planes, form.words);
    if (words == NULL) return NULL;
    int status = 0;
    if (f->operand.on_device) {
        status = PyArray_SIZE(words) > 0 ? run_on_device(f, r, words) : 0;
    } else {
        call->part.mode = WK_PIECE;
        call->part.state = PyArray_DATA(words);
        status = wk_call_row(f);
    }
    if (status < 0) Py_CLEAR(words);
    return words;
}

PyObject *
wk_py_partial(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    Py_ssize_t axis[WK_MAX_DIMS + 1];
    wk_request r = {.axis = axis, .dtype = -1};
    PyArrayObject *words = NULL;
    if (wk_check_count("partial", count, 5 + WK_OPTIONS) < 0) return NULL;
    if (wk_request_folds(args[1], &r) < 0 || wk_request_axes(args[2], &r) < 0) return NULL;
    r.initial = args[3] == wk_state_of(module)->no_value ? NULL : args[3];
    int status = wk_begin(module, &f, WK_REDUCE, r.outs, args[0], args + 5);
    if (status == 0) status = wk_request_where(&f, args[4]);
    if (status == 0) words = fold(&f, &r);
    wk_drop_starts(&r);
    PyObject *results = wk_end(&f, words ? 0 : -1, 0);
    PyObject *pair = results ? PyTuple_Pack(2, results, words) : NULL;
    Py_XDECREF(results);
    Py_XDECREF(words);
    return pair;
}

/* ---- finish ----------------------------------------------------------------------------------- */

/* The words as the states of a call, whose results are made. */
static int
start_finish(wk_state *state, const wk_request *r, PyArrayObject *words, wk_call *call,
             PyObject *results)
{
    const wk_form form = wk_form_of(r->fold, r->outs, call->in.dtype);
    const int words_fit = form.sums > 0 || form.square_limbs > 0;
    if (!words_fit || PyArray_SIZE(words) % form.words != 0) {
        PyErr_Format(PyExc_ValueError, "%zd words are not those of outputs of %d each",
                     (Py_ssize_t)PyArray_SIZE(words), form.words);
        return -1;
    }
    const npy_intp outputs = PyArray_SIZE(words) / form.words;
    wk_reduce_args *args = &call->args.reduce;
    args->outputs = outputs;
    args->n = args->planes = 1;
    args->ddof = r->ddof;
    args->skip_nan = r->skip_nan[0];
    call->context = state->context;
    call->part.mode = WK_FINISH;
    call->part.state = PyArray_DATA(words);
    for (int i = 0; i < r->outs; i++) {
        const wk_dtype dtype = wk_result_dtype(r, i, call->in.dtype);
        PyObject *out = wk_numpy_new(state, dtype, 1, &outputs, &(int){0});
        if (out == NULL) return -1;
        PyTuple_SET_ITEM(results, i, out);
        wk_from_numpy((PyArrayObject *)out, &call->out[i]);
        args->fold[i] = r->fold[i];
    }
    return 0;
}

static int
run_finish(wk_state *state, wk_call *call)
{
    wk_release release;
    wk_release_gil(&release);
    const wk_status status = wk_run(call, WK_CPU, NULL);
    wk_take_gil(&release);
    if (status) wk_raise(state, &call->error);
    return status ? -1 : 0;
}

/* An int64 array that lies as kernels take it; borrowed. */
static PyArrayObject *
words_of(PyObject *object)
{
    if (PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_INT64 &&
        PyArray_ISCARRAY((PyArrayObject *)object))
        return (PyArrayObject *)object;
    PyErr_SetString(PyExc_TypeError, "words must be a contiguous array of int64");
    return NULL;
}

PyObject *
wk_py_finish(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_call call;
    wk_request r = {.dtype = -1};
    wk_state *state = wk_state_of(module);
    if (wk_check_count("finish", count, 5) < 0) return NULL;
    PyArrayObject *words = words_of(args[0]);
    if (words == NULL || wk_request_folds(args[1], &r) < 0) return NULL;
    const int dtype = wk_dtype_arg(args[2]);
    r.ddof = PyFloat_AsDouble(args[3]);
    if (args[4] != Py_None && (r.dtype = wk_dtype_arg(args[4])) < 0) return NULL;
    if (dtype < 0 || (r.ddof == -1 && PyErr_Occurred())) return NULL;
    PyObject *results = PyTuple_New(r.outs);
    if (results == NULL) return NULL;
    wk_call_start(&call, WK_REDUCE, r.outs);
    call.in.dtype = dtype;
    if (start_finish(state, &r, words, &call, results) < 0 || run_finish(state, &call) < 0)
        Py_CLEAR(results);
    return results;
}

/* ---- carry ------------------------------------------------------------------------------------ */

PyObject *
wk_py_carry(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (wk_check_count("carry", count, 4) < 0) return NULL;
    PyArrayObject *words = words_of(args[0]);
    const Py_ssize_t first = PyLong_AsSsize_t(args[1]), limbs = PyLong_AsSsize_t(args[2]);
    const int modulo = PyObject_IsTrue(args[3]);
    if (words == NULL || PyErr_Occurred()) return NULL;
    const int ndim = PyArray_NDIM(words);
    const npy_intp width = ndim ? PyArray_DIM(words, ndim - 1) : 0;
    if (first < 0 || limbs < 1 || first > width - limbs) {
        PyErr_Format(PyExc_ValueError, "%zd words have no limbs %zd .. %zd", (Py_ssize_t)width,
                     first, first + limbs - 1);
        return NULL;
    }
    int64_t *row = (int64_t *)PyArray_DATA(words) + first;
    const npy_intp rows = PyArray_SIZE(words) / width;
    int beyond = 0;
    for (npy_intp i = 0; i < rows; i++, row += width) {
        const wk_limbs a = {row, (int)limbs, 0};
        wk_limbs_carry(&a);
        int64_t *last = row + limbs - 1;
        if (modulo) *last &= 0xffffffff;
        beyond |= *last < INT32_MIN || *last > INT32_MAX;
    }
    return PyBool_FromLong(beyond);
}
