/* result.c -- what an operation gives back: new arrays, out, arrays of the caller's library; and the
 * call itself. */
#include "glue.h"

/* ---- results ------------------------------------------------------------------------------ */

PyObject *
wk_tuple_of_shape(int ndim, const npy_intp *shape)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int d = 0; tuple && d < ndim; d++) {
        PyObject *value = PyLong_FromSsize_t(shape[d]);
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
    PyObject *got = wk_tuple_of_shape(has_ndim, has), *wants = wk_tuple_of_shape(ndim, shape);
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
host_out(wk_call *call, wk_array *w, PyArrayObject *out, wk_dtype dtype, int ndim,
         const npy_intp *shape, wk_result *result)
{
    if (wk_dtype_of(PyArray_DESCR(out)) != (int)dtype) {
        PyErr_Format(PyExc_TypeError, "out has dtype %S; the result's is %s",
                     PyArray_DESCR(out), wk_dtype_names[dtype]);
        return -1;
    }
    if (!wk_same_shape(PyArray_NDIM(out), PyArray_DIMS(out), ndim, shape))
        return wk_wrong_shape(PyArray_NDIM(out), PyArray_DIMS(out), ndim, shape);
    if (PyArray_FailUnlessWriteable(out, "out") < 0) return -1;
    wk_array block;
    wk_from_numpy(out, &block);
    const int shared = wk_overlap(block.host, block.bytes, call->in.host, call->in.bytes) ||
                       wk_overlap(block.host, block.bytes, call->aux.host, call->aux.bytes);
    if (PyArray_ISCARRAY(out) && !shared) {
        result->array = Py_NewRef(out);
    } else { /* as NumPy does: computed apart, then copied */
        result->array = PyArray_SimpleNew(ndim, (npy_intp *)shape, wk_typenum_of(dtype));
        result->given = Py_NewRef(out);
        if (result->array == NULL) return -1;
    }
    wk_from_numpy((PyArrayObject *)result->array, w);
    return 0;
}

static int
device_out(wk_state *state, wk_call *call, wk_array *w, wk_device_array *out, wk_device device,
           PyObject *stream_owner, wk_dtype dtype, int ndim, const npy_intp *shape,
           wk_result *result)
{
    const wk_memory *m = out->memory;
    npy_intp has[WK_MAX_DIMS];
    for (int d = 0; d < out->ndim; d++) has[d] = out->shape[d];
    if (out->dtype != dtype) {
        PyErr_Format(PyExc_TypeError, "out has dtype %s; the result's is %s",
                     wk_dtype_names[out->dtype], wk_dtype_names[dtype]);
        return -1;
    }
    if (!wk_same_shape(out->ndim, has, ndim, shape))
        return wk_wrong_shape(out->ndim, has, ndim, shape);
    if (m->readonly) {
        PyErr_SetString(PyExc_ValueError, "out is read-only");
        return -1;
    }
    if (m->kind != device.kind || m->ordinal != device.ordinal) {
        PyErr_Format(PyExc_ValueError, "out lies on '%s:%d', the input on '%s:%d'",
                     wk_kind_names[m->kind], m->ordinal, wk_kind_names[device.kind],
                     device.ordinal);
        return -1;
    }
    wk_from_device(out, w);
    const int shared = wk_overlap(w->data, w->bytes, call->in.data, call->in.bytes);
    if (wk_c_contiguous(w) && !shared) {
        result->array = Py_NewRef((PyObject *)out);
        wk_forget_letter(out->memory);
        return 0;
    }
    result->given = Py_NewRef((PyObject *)out);
    wk_device_array *apart =
        wk_array_new(state, device, wk_home_of(call->stream), stream_owner, dtype, ndim, shape);
    if (apart == NULL) return -1;
    result->array = (PyObject *)apart;
    wk_from_device(apart, w);
    return 0;
}

/* Made by the library whose array was given, so that its own pool has it. */
static PyObject *
library_new(wk_state *state, PyObject *library, const wk_device_array *like, wk_dtype dtype,
            int ndim, const npy_intp *shape)
{
    PyObject *device = PyObject_GetAttrString((PyObject *)like, "device");
    PyObject *extents = wk_tuple_of_shape(ndim, shape);
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

int
wk_result_new(wk_state *state, wk_call *call, int which, const wk_operand *operand,
              const wk_options *options, wk_dtype dtype, int ndim, const npy_intp *shape,
              wk_result *result)
{
    wk_array *w = &call->out[which];
    *result = (wk_result){.array = NULL};
    const wk_operand *target = &options->target[which];
    if (target->on_device && !operand->on_device) {
        PyErr_SetString(PyExc_ValueError,
                        "out must lie on the host as a whole, or on the device as a whole");
        return -1;
    }
    if (target->on_device)
        return device_out(state, call, w, (wk_device_array *)target->array, options->device,
                          options->stream_owner, dtype, ndim, shape, result);
    if (target->array)
        return host_out(call, w, (PyArrayObject *)target->array, dtype, ndim, shape, result);
    if (!operand->on_device) {
        result->array = PyArray_SimpleNew(ndim, (npy_intp *)shape, wk_typenum_of(dtype));
        if (result->array == NULL) return -1;
        wk_from_numpy((PyArrayObject *)result->array, w);
        call->fresh = 1;
        return 0;
    }
    const wk_device_array *a = (wk_device_array *)operand->array;
    PyObject *owner =
        options->stream != Py_None ? options->stream_owner : a->memory->stream_owner;
    if (operand->library)
        result->array = library_new(state, operand->library, a, dtype, ndim, shape);
    else
        result->array = (PyObject *)wk_array_new(
            state, options->device, wk_home_of(call->stream), owner, dtype, ndim, shape);
    if (result->array == NULL) return -1;
    result->theirs = ((wk_device_array *)result->array)->memory->owner != NULL;
    wk_from_device((wk_device_array *)result->array, w);
    const int ours = ((wk_device_array *)result->array)->memory->block != NULL;
    if (call->outs == 1 && wk_size(w) == 1 && ours) call->letter.bytes = wk_itemsize[dtype];
    return 0;
}

void
wk_result_clear(wk_result *result)
{
    Py_CLEAR(result->array);
    Py_CLEAR(result->given);
}

/* ---- the call ----------------------------------------------------------------------------- */

/* The memories that a call on the device touches, whose streams it must follow. */
static int
memories_of(const wk_call *call, const wk_operand *operand, const wk_result *results,
            wk_memory **memories)
{
    int n = 0;
    memories[n++] = ((wk_device_array *)operand->array)->memory;
    for (int i = 0; i < call->outs; i++)
        if (call->out[i].host == NULL)
            memories[n++] = ((wk_device_array *)results[i].array)->memory;
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

int
wk_call_row(wk_state *state, wk_call *call, const wk_operand *operand,
            const wk_options *options, wk_result *results)
{
    wk_memory *memories[1 + WK_MAX_OUTS];
    const wk_kind kind = options->device.kind;
    wk_status status;
    if (operand->on_device) {
        const int count = memories_of(call, operand, results, memories);
        Py_BEGIN_ALLOW_THREADS
        status = in_order(call, memories, count, kind, options->variant);
        Py_END_ALLOW_THREADS
        if (call->letter.slot && status == WK_OK) {
            wk_memory *m = ((wk_device_array *)results[0].array)->memory;
            m->letter = call->letter;
        }
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = wk_run(call, kind, options->variant);
        Py_END_ALLOW_THREADS
    }
    if (status == WK_OK) return 0;
    wk_raise(state, &call->error);
    return -1;
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

PyObject *
wk_result_give(wk_state *state, const wk_operand *operand, const wk_options *options,
               wk_result *result, int which, int scalars)
{
    PyObject *given = NULL;
    if (result->given && deliver(state, result) < 0) goto done;
    if (options->out != Py_None) {
        PyObject *out = options->out;
        given = Py_NewRef(PyTuple_Check(out) ? PyTuple_GET_ITEM(out, which) : out);
    } else if (result->theirs) {
        given = Py_NewRef(((wk_device_array *)result->array)->memory->owner);
    } else if (operand->library) {
        given = PyObject_CallMethod(operand->library, "finish", "O", result->array);
    } else if (operand->on_device || !scalars) {
        given = Py_NewRef(result->array);
    } else {
        given = PyArray_Return((PyArrayObject *)Py_NewRef(result->array));
    }
done:
    wk_result_clear(result);
    return given;
}
