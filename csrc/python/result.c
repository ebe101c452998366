/* result.c -- what an operation gives back: new arrays, out, arrays of the caller's library; and the
 * call itself. */
#include "glue.h"

#include <sys/syscall.h>
#include <unistd.h>

/* ---- results ------------------------------------------------------------------------------ */

PyObject *
wk_tuple_of(const npy_intp *values, int n, int64_t factor)
{
    PyObject *tuple = PyTuple_New(n);
    for (int d = 0; tuple && d < n; d++) {
        PyObject *value = PyLong_FromLongLong(values[d] * factor);
        if (value == NULL) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, d, value);
    }
    return tuple;
}

int
wk_same_shape(int has_ndim, const npy_intp *has, int ndim, const npy_intp *shape)
{
    if (has_ndim != ndim) return 0;
    for (int d = 0; d < ndim; d++)
        if (has[d] != shape[d]) return 0;
    return 1;
}

int
wk_wrong_shape(int has_ndim, const npy_intp *has, int ndim, const npy_intp *shape)
{
    PyObject *got = wk_tuple_of(has, has_ndim, 1), *wants = wk_tuple_of(shape, ndim, 1);
    if (got && wants)
        PyErr_Format(PyExc_ValueError, "out has shape %R; the result's is %R", got, wants);
    Py_XDECREF(got);
    Py_XDECREF(wants);
    return -1;
}

int
wk_overlap(const void *a, int64_t a_bytes, const void *b, int64_t b_bytes)
{
    const char *p = a, *q = b;
    return a_bytes > 0 && b_bytes > 0 && p < q + b_bytes && q < p + a_bytes;
}

static int
host_out(wk_frame *f, wk_array *w, PyArrayObject *out, wk_dtype dtype, int ndim,
         const npy_intp *shape, wk_result *result)
{
    const wk_call *call = &f->call;
    if (!wk_same_shape(PyArray_NDIM(out), PyArray_DIMS(out), ndim, shape))
        return wk_wrong_shape(PyArray_NDIM(out), PyArray_DIMS(out), ndim, shape);
    if (wk_dtype_of(PyArray_DESCR(out)) != (int)dtype) {
        PyErr_Format(PyExc_TypeError, "out has dtype %S; the result's is %s",
                     PyArray_DESCR(out), wk_dtype_names[dtype]);
        return -1;
    }
    if (PyArray_FailUnlessWriteable(out, "out") < 0) return -1;
    wk_array block;
    wk_from_numpy(out, &block);
    const wk_array *const read[] = {&call->in, &call->aux, &call->beside};
    int shared = 0;
    for (int i = 0; i < 3; i++)
        shared |= wk_overlap(block.host, block.bytes, read[i]->host, read[i]->bytes);
    if (PyArray_ISCARRAY(out) && !shared) {
        result->array = Py_NewRef(out);
    } else { /* as NumPy does: computed apart, then copied */
        result->array = wk_numpy_new(f->state, dtype, ndim, shape, &(int){0});
        result->given = Py_NewRef(out);
        if (result->array == NULL) return -1;
    }
    wk_take((PyArrayObject *)result->array, w, &f->outs[result - f->results]);
    return 0;
}

static int
device_out(wk_frame *f, wk_array *w, wk_device_array *out, wk_dtype dtype, int ndim,
           const npy_intp *shape, wk_result *result)
{
    const wk_memory *m = out->memory;
    const wk_device *device = &f->options.device;
    if (!f->operand.on_device) {
        PyErr_SetString(PyExc_ValueError,
                        "out must lie on the host as a whole, or on the device as a whole");
        return -1;
    }
    if (!wk_same_shape(out->ndim, out->shape, ndim, shape))
        return wk_wrong_shape(out->ndim, out->shape, ndim, shape);
    if (out->dtype != dtype) {
        PyErr_Format(PyExc_TypeError, "out has dtype %s; the result's is %s",
                     wk_dtype_names[out->dtype], wk_dtype_names[dtype]);
        return -1;
    }
    if (m->readonly) {
        PyErr_SetString(PyExc_ValueError, "out is read-only");
        return -1;
    }
    if (m->kind != device->kind || m->ordinal != device->ordinal) {
        PyErr_Format(PyExc_ValueError, "out lies on '%s:%d', the input on '%s:%d'",
                     wk_kind_names[m->kind], m->ordinal, wk_kind_names[device->kind],
                     device->ordinal);
        return -1;
    }
    wk_from_device(out, w);
    const wk_call *call = &f->call;
    if (wk_c_contiguous(w) && !wk_overlap(w->data, w->bytes, call->in.data, call->in.bytes) &&
        !wk_overlap(w->data, w->bytes, call->beside.data, call->beside.bytes)) {
        result->array = Py_NewRef((PyObject *)out);
        wk_forget_mailbox(out->memory);
        return 0;
    }
    result->given = Py_NewRef((PyObject *)out);
    result->array = (PyObject *)wk_array_new(f->state, *device, wk_home_of(f->call.stream),
                                             f->options.stream_owner, dtype, ndim, shape);
    if (result->array == NULL) return -1;
    wk_from_device((wk_device_array *)result->array, w);
    return 0;
}

/* Made by the library whose array was given, so that its own pool has it. */
static PyObject *
library_new(wk_state *state, PyObject *library, const wk_device_array *like, wk_dtype dtype,
            int ndim, const npy_intp *shape)
{
    PyObject *device = PyObject_GetAttrString((PyObject *)like, "device");
    PyObject *extents = wk_tuple_of(shape, ndim, 1);
    PyObject *array = NULL;
    if (device && extents)
        array = PyObject_CallMethod(library, "new", "OsON", extents, wk_dtype_names[dtype],
                                    device, PyLong_FromVoidPtr(like->memory->stream));
    Py_XDECREF(device);
    Py_XDECREF(extents);
    if (array && !wk_is_device_array(state, array)) {
        PyErr_SetString(PyExc_TypeError, "a library's new() must give a DeviceArray");
        Py_CLEAR(array);
    }
    return array;
}

static int
device_new(wk_frame *f, wk_array *w, wk_dtype dtype, int ndim, const npy_intp *shape,
           wk_result *result)
{
    const wk_device_array *a = (wk_device_array *)f->operand.array;
    const wk_options *o = &f->options;
    PyObject *owner = o->stream != Py_None ? o->stream_owner : a->memory->stream_owner;
    if (f->operand.table && wk_exchange_new(f, result, dtype, ndim, shape) == 0) {
        wk_from_device((wk_device_array *)result->array, w);
        return 0;
    }
    if (f->operand.library)
        result->array = library_new(f->state, f->operand.library, a, dtype, ndim, shape);
    else
        result->array = (PyObject *)wk_array_new(
            f->state, o->device, wk_home_of(f->call.stream), owner, dtype, ndim, shape);
    if (result->array == NULL) return -1;
    const wk_memory *m = ((wk_device_array *)result->array)->memory;
    result->theirs = m->owner != NULL;
    wk_from_device((wk_device_array *)result->array, w);
    if (f->call.outs == 1 && wk_size(w) == 1 && m->block && !wk_is_complex(dtype))
        f->call.mailbox.bytes = wk_itemsize[dtype];
    return 0;
}

int
wk_result_new(wk_frame *f, int which, wk_dtype dtype, int ndim, const npy_intp *shape)
{
    wk_array *w = &f->call.out[which];
    wk_result *result = &f->results[which];
    const wk_operand *target = &f->options.target[which];
    f->outs[which].array = NULL;
    if (target->on_device)
        return device_out(f, w, (wk_device_array *)target->array, dtype, ndim, shape, result);
    if (target->array)
        return host_out(f, w, (PyArrayObject *)target->array, dtype, ndim, shape, result);
    if (f->operand.on_device) return device_new(f, w, dtype, ndim, shape, result);
    f->call.fresh = 1;
    if (f->operand.table == NULL || wk_exchange_new(f, result, dtype, ndim, shape) != 0)
        result->array = wk_numpy_new(f->state, dtype, ndim, shape, &f->call.fresh);
    if (result->array == NULL) return -1;
    wk_from_numpy((PyArrayObject *)result->array, w);
    return 0;
}

/* ---- the call ----------------------------------------------------------------------------- */

/* The memories that a call on the device touches, whose streams it must follow. */
static int
memories_of(const wk_frame *f, wk_memory **memories)
{
    int n = 0;
    memories[n++] = ((wk_device_array *)f->operand.array)->memory;
    if (f->beside.array) memories[n++] = ((wk_device_array *)f->beside.array)->memory;
    for (int i = 0; i < WK_MAX_OUTS && f->results[i].array; i++)
        if (wk_is_device_array(f->state, f->results[i].array))
            memories[n++] = ((wk_device_array *)f->results[i].array)->memory;
    return n;
}

static wk_status
in_order(wk_call *call, wk_memory *const *memories, int count, wk_kind kind,
         const char *variant)
{
    for (int i = 0; i < count; i++) {
        const wk_memory *m = memories[i];
        if (m->stream != call->stream &&
            m->backend->follow(m->ordinal, call->stream, m->stream, &call->error) != WK_OK)
            return call->error.status;
    }
    const wk_status status = wk_run(call, kind, variant);
    for (int i = 0; i < count; i++) { /* also after a failure: part of it may be under way */
        const wk_memory *m = memories[i];
        if (m->stream != call->stream)
            m->backend->follow(m->ordinal, m->stream, call->stream, &call->error);
    }
    return status ? status : call->error.status;
}

/* Handlers of signals run in the main thread alone, and only while a call is long. */
static int
poll_signals(wk_interrupt *self)
{
    wk_release *r = self->arg;
    if (syscall(SYS_gettid) != getpid()) {
        self->poll = NULL;
        return 0;
    }
    PyEval_RestoreThread(r->thread);
    const int stop = PyErr_CheckSignals() < 0; /* its exception stays until the call returns */
    r->thread = PyEval_SaveThread();
    return stop;
}

void
wk_release_gil(wk_release *r)
{
    r->interrupt.poll = poll_signals;
    r->interrupt.arg = r;
    r->interrupt.progress = NULL;
    wk_interrupt_begin(&r->interrupt);
    r->thread = PyEval_SaveThread();
}

void
wk_take_gil(wk_release *r)
{
    PyEval_RestoreThread(r->thread);
    wk_interrupt_end(&r->interrupt);
}

int
wk_call_row(wk_frame *f)
{
    wk_memory *memories[2 + WK_MAX_OUTS];
    wk_call *call = &f->call;
    const int count = f->operand.on_device ? memories_of(f, memories) : 0;
    wk_release release;
    if (wk_check_taken(f) < 0) return -1;
    wk_release_gil(&release);
    if (f->options.device.kind == WK_CPU) release.interrupt.progress = call->progress;
    const wk_status status =
        in_order(call, memories, count, f->options.device.kind, f->options.variant);
    wk_take_gil(&release);
    if (status != WK_OK) {
        wk_raise(f->state, &call->error);
        return -1;
    }
    if (call->mailbox.slot) /* set for results on the device alone */
        ((wk_device_array *)f->results[0].array)->memory->mailbox = call->mailbox;
    return 0;
}

/* Copies a result that was computed apart to where the caller wants it. */
static int
deliver(wk_state *state, wk_result *result)
{
    if (!wk_is_device_array(state, result->given))
        return PyArray_CopyInto((PyArrayObject *)result->given, (PyArrayObject *)result->array);
    PyObject *done = PyObject_CallMethod(result->given, "_copy_from", "O", result->array);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* In the kind of the caller's array. */
static PyObject *
finish(const wk_frame *f, const wk_result *result)
{
    PyObject *theirs = PyObject_CallMethod(f->operand.library, "finish", "O", result->array);
    if (theirs && f->options.arrays && PyArray_IsScalar(theirs, Generic))
        Py_SETREF(theirs, Py_NewRef(result->array));
    return theirs;
}

static PyObject *
give(wk_frame *f, int which, int scalars)
{
    wk_result *result = &f->results[which];
    PyObject *out = f->options.out;
    if (result->given && deliver(f->state, result) < 0) return NULL;
    if (out != Py_None)
        return Py_NewRef(PyTuple_Check(out) ? PyTuple_GET_ITEM(out, which) : out);
    if (result->managed) return wk_exchange_give(f, result);
    if (result->theirs) return Py_NewRef(((wk_device_array *)result->array)->memory->owner);
    if (f->operand.library) return finish(f, result);
    if (f->operand.on_device || !scalars || f->options.arrays) return Py_NewRef(result->array);
    return PyArray_Return((PyArrayObject *)Py_NewRef(result->array));
}

PyObject *
wk_end(wk_frame *f, int status, int scalars)
{
    const int outs = f->call.outs;
    PyObject *given = NULL;
    if (status == 0 && outs == 1) given = give(f, 0, scalars);
    if (status == 0 && outs > 1) given = PyTuple_New(outs);
    for (int i = 0; given && outs > 1 && i < outs; i++) {
        PyObject *one = give(f, i, scalars);
        if (one == NULL) Py_CLEAR(given);
        if (given) PyTuple_SET_ITEM(given, i, one);
    }
    for (int i = 0; i < WK_MAX_OUTS; i++) {
        Py_CLEAR(f->results[i].array);
        Py_CLEAR(f->results[i].given);
        wk_exchange_drop(&f->results[i]);
        wk_operand_clear(&f->options.target[i]);
    }
    wk_operand_clear(&f->operand);
    wk_operand_clear(&f->beside);
    Py_CLEAR(f->options.shown);
    return given;
}
