/* device_copy.c -- the elements of device arrays: to NumPy's and back, to another's, and in which order. */
#include "glue.h"

static int
check_error(wk_state *state, const wk_error *error)
{
    if (error->status == WK_OK) return 0;
    wk_raise(state, error);
    return -1;
}

int
wk_copy(wk_state *state, const wk_memory *m, wk_call *call)
{
    call->context = state->context;
    call->ordinal = m->ordinal;
    call->stream = m->stream;
    wk_release release;
    wk_release_gil(&release);
    wk_run_copy(call, m->backend);
    wk_take_gil(&release);
    return check_error(state, &call->error);
}

int
wk_fill(wk_state *state, wk_device_array *to, PyArrayObject *from)
{
    wk_call call;
    wk_call_start(&call, WK_TRANSPOSE, 1);
    wk_from_numpy(from, &call.in);
    wk_from_device(to, &call.out[0]);
    wk_forget_mailbox(to->memory);
    return wk_copy(state, to->memory, &call);
}

/* The one element that came through a mailbox, into a NumPy array; 0: there is none, or none any more. */
static int
read_mailbox(const wk_device_array *a, PyArrayObject *to, wk_error *error)
{
    const wk_memory *m = a->memory;
    const wk_mailbox mailbox = m->mailbox;
    uint64_t bits = 0;
    if (mailbox.slot == NULL || a->start != (char *)m->block || wk_array_size(a) != 1) return 0;
    Py_BEGIN_ALLOW_THREADS
    m->backend->read(m->ordinal, m->stream, &mailbox, &bits, error);
    Py_END_ALLOW_THREADS
    memcpy(PyArray_DATA(to), &bits, (size_t)wk_itemsize[a->dtype]);
    /* If another thread has forgotten it meanwhile, what was read may be another's. */
    return m->mailbox.slot == mailbox.slot && m->mailbox.ticket == mailbox.ticket;
}

/* _numpy(): a new NumPy array of the elements, or, of one element that came through a mailbox, that. */
PyObject *
wk_array_to_numpy(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    wk_state *state = wk_state_of_array(self);
    wk_device_array *a = wk_array_of(self);
    if (a == NULL || state == NULL) return NULL;
    int fresh;
    PyObject *result = wk_numpy_new(state, a->dtype, a->ndim, a->shape, &fresh);
    if (result == NULL) return NULL;
    wk_error error = {.status = WK_OK};
    int status = 0;
    if (read_mailbox(a, (PyArrayObject *)result, &error)) {
        status = check_error(state, &error);
    } else {
        wk_call call;
        wk_call_start(&call, WK_TRANSPOSE, 1);
        call.fresh = fresh;
        wk_from_device(a, &call.in);
        wk_from_numpy((PyArrayObject *)result, &call.out[0]);
        status = wk_copy(state, a->memory, &call);
    }
    if (status < 0) Py_CLEAR(result);
    return result;
}

/* _copy_to(array): the elements to a NumPy array of the same shape and dtype, C-contiguous. */
PyObject *
wk_array_copy_to(PyObject *self, PyObject *object)
{
    wk_state *state = wk_state_of_array(self);
    wk_device_array *a = wk_array_of(self);
    if (a == NULL || state == NULL) return NULL;
    PyArrayObject *to = PyArray_Check(object) ? (PyArrayObject *)object : NULL;
    if (to == NULL || !PyArray_ISCARRAY(to) ||
        PyArray_NBYTES(to) != wk_array_size(a) * wk_itemsize[a->dtype]) {
        PyErr_SetString(PyExc_ValueError, "not a NumPy array that takes the elements");
        return NULL;
    }
    wk_call call;
    wk_call_start(&call, WK_TRANSPOSE, 1);
    wk_from_device(a, &call.in);
    wk_from_numpy(to, &call.out[0]);
    if (wk_copy(state, a->memory, &call) < 0) return NULL;
    Py_RETURN_NONE;
}

/* _lend(writes) -> (address, stream, is it C-contiguous, is it read-only): for work that the core does
 * not see, which writes there or not. */
PyObject *
wk_array_lend(PyObject *self, PyObject *writes)
{
    wk_device_array *a = wk_array_of(self);
    if (a == NULL) return NULL;
    wk_array whole;
    wk_from_device(a, &whole);
    if (writes == Py_True) wk_forget_mailbox(a->memory);
    return Py_BuildValue("NNii", PyLong_FromVoidPtr(a->start),
                         PyLong_FromVoidPtr(a->memory->stream), wk_c_contiguous(&whole),
                         a->memory->readonly);
}

/* _copy_from(other): the elements of another array of the same device, shape and dtype. */
PyObject *
wk_array_copy_from(PyObject *self, PyObject *object)
{
    wk_state *state = wk_state_of_array(self);
    wk_device_array *a = wk_array_of(self), *b;
    if (a == NULL || state == NULL) return NULL;
    if (!wk_is_device_array(state, object)) {
        PyErr_SetString(PyExc_TypeError, "not a DeviceArray");
        return NULL;
    }
    b = wk_array_of(object);
    if (b == NULL) return NULL;
    if (a->memory->backend != b->memory->backend || a->memory->ordinal != b->memory->ordinal ||
        a->dtype != b->dtype || !wk_same_shape(a->ndim, a->shape, b->ndim, b->shape)) {
        PyErr_SetString(PyExc_ValueError, "arrays of different shape, dtype or device");
        return NULL;
    }
    wk_memory *m = a->memory;
    if (m->readonly) {
        PyErr_SetString(PyExc_ValueError, "assignment destination is read-only");
        return NULL;
    }
    wk_call call;
    wk_call_start(&call, WK_TRANSPOSE, 1);
    call.ordinal = m->ordinal;
    call.stream = m->stream;
    wk_from_device(b, &call.in);
    wk_from_device(a, &call.out[0]);
    if (wk_overlap(call.in.data, call.in.bytes, call.out[0].data, call.out[0].bytes)) {
        PyObject *apart = PyObject_CallMethod(object, "copy", NULL); /* as NumPy does */
        PyObject *done = apart ? wk_array_copy_from(self, apart) : NULL;
        Py_XDECREF(apart);
        return done;
    }
    wk_forget_mailbox(m);
    Py_BEGIN_ALLOW_THREADS
    m->backend->follow(m->ordinal, m->stream, b->memory->stream, &call.error);
    if (call.error.status == WK_OK) m->backend->copy(&call);
    if (call.error.status == WK_OK)
        m->backend->follow(m->ordinal, b->memory->stream, m->stream, &call.error);
    Py_END_ALLOW_THREADS
    if (check_error(state, &call.error) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *
order(PyObject *self, PyObject *stream, int leads)
{
    wk_state *state = wk_state_of_array(self);
    wk_device_array *a = wk_array_of(self);
    if (a == NULL || state == NULL) return NULL;
    void *other = PyLong_AsVoidPtr(stream);
    if (other == NULL && PyErr_Occurred()) return NULL;
    wk_error error = {.status = WK_OK};
    const wk_memory *m = a->memory;
    m->backend->follow(m->ordinal, leads ? other : m->stream, leads ? m->stream : other,
                       &error);
    if (check_error(state, &error) < 0) return NULL;
    Py_RETURN_NONE;
}

PyObject *
wk_array_follow(PyObject *self, PyObject *stream)
{
    return order(self, stream, 0);
}

PyObject *
wk_array_lead(PyObject *self, PyObject *stream)
{
    return order(self, stream, 1);
}

PyObject *
wk_array_wait(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    wk_state *state = wk_state_of_array(self);
    wk_device_array *a = wk_array_of(self);
    if (a == NULL || state == NULL) return NULL;
    wk_error error = {.status = WK_OK};
    const wk_memory *m = a->memory;
    Py_BEGIN_ALLOW_THREADS
    m->backend->wait(m->ordinal, m->stream, &error);
    Py_END_ALLOW_THREADS
    if (check_error(state, &error) < 0) return NULL;
    Py_RETURN_NONE;
}
