/* operand.c -- what every operation does with its arguments: arrays of any library, out, device,
 * stream; and the making of device arrays. */
#include "glue.h"

static int
is_plain(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
           object == Py_None;
}

/* Another library's array, by _interop.adopt: 1 if it is one. */
static int
adopt(wk_state *state, PyObject *object, wk_operand *operand)
{
    if (wk_exchange_adopt(state, object, operand)) return 1;
    PyObject *pair = PyObject_CallOneArg(state->adopt, object);
    if (pair == NULL) return -1;
    const int found = pair != Py_None;
    if (found) {
        PyObject *array, *library;
        if (!PyArg_ParseTuple(pair, "OO", &array, &library)) {
            Py_DECREF(pair);
            return -1;
        }
        operand->on_device = wk_is_device_array(state, array);
        operand->array = operand->on_device ? Py_NewRef(array) : (PyObject *)wk_numpy_of(array);
        operand->library = operand->array ? Py_NewRef(library) : NULL;
        wk_exchange_learn(state, Py_TYPE(object), library);
    }
    Py_DECREF(pair);
    return found && operand->array == NULL ? -1 : found;
}

/* ---- options ------------------------------------------------------------------------------ */

static int
variant_of(PyObject *object, wk_options *options)
{
    if (object == Py_None) return 0;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "variant must be a str or None, not %.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    options->variant = wk_text_of(object);
    if (options->variant) return 0;
    PyObject *shown = PyObject_ASCII(object); /* no row has it, and the error says so */
    if (shown) options->shown = PyUnicode_Substring(shown, 1, PyUnicode_GET_LENGTH(shown) - 1);
    Py_XDECREF(shown);
    options->variant = options->shown ? PyUnicode_AsUTF8(options->shown) : NULL;
    return options->variant ? 0 : -1;
}

static int
out_of(wk_state *state, PyObject *out, wk_operand *target)
{
    if (PyArray_Check(out)) {
        target->array = Py_NewRef(out);
        return wk_check_unmasked(out);
    }
    if (wk_is_device_array(state, out)) return wk_operand_of(state, out, target);
    const int found = is_plain(out) || state->adopt == NULL ? 0 : adopt(state, out, target);
    if (found != 0) return found < 0 ? -1 : 0;
    PyErr_Format(PyExc_TypeError, "out must be an array, not %.100s", Py_TYPE(out)->tp_name);
    return -1;
}

static int
outs_of(wk_state *state, wk_options *options, int outs)
{
    PyObject *out = options->out;
    if (out == Py_None) return 0;
    if (outs == 1) return out_of(state, out, &options->target[0]);
    if (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != outs) {
        PyErr_Format(PyExc_TypeError, "out must be a tuple of %d arrays", outs);
        return -1;
    }
    for (int i = 0; i < outs; i++)
        if (out_of(state, PyTuple_GET_ITEM(out, i), &options->target[i]) < 0) return -1;
    return wk_check_apart(options->target, outs);
}

static int
options_of(wk_state *state, PyObject *const *args, int outs, wk_options *options)
{
    options->arrays = args[0] == Py_Ellipsis;
    options->out = options->arrays ? Py_None : args[0];
    options->stream = args[2];
    if (outs_of(state, options, outs) < 0) return -1;
    if (!wk_device_arg(args[1], &options->device)) return -1;
    if (variant_of(args[3], options) < 0) return -1;
    if (args[4] == Py_None) return 0;
    PyArrayObject *counter = PyArray_Check(args[4]) ? (PyArrayObject *)args[4] : NULL;
    if (counter == NULL || PyArray_TYPE(counter) != NPY_INT64 || PyArray_SIZE(counter) != 2 ||
        !PyArray_ISCARRAY(counter)) {
        PyErr_SetString(PyExc_TypeError, "progress must be None or two int64");
        return -1;
    }
    options->progress = PyArray_DATA(counter);
    return 0;
}

/* A handle, or a pair of one and of the object whose life is the stream's: _interop.stream_pair. */
static int
stream_of(PyObject *object, void **stream, PyObject **owner)
{
    PyObject *handle = object;
    *owner = NULL;
    if (PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2) {
        handle = PyTuple_GET_ITEM(object, 0);
        *owner = PyTuple_GET_ITEM(object, 1);
    }
    *stream = PyLong_AsVoidPtr(handle);
    if (*stream == NULL && !PyErr_Occurred()) *stream = WK_DEFAULT_STREAM;
    return PyErr_Occurred() ? -1 : 0;
}

/* The thread's default stream is another one for each thread: memory is not in its order. */
void *
wk_home_of(void *stream)
{
    return stream == WK_THREAD_STREAM ? WK_DEFAULT_STREAM : stream;
}

/* ---- operands ----------------------------------------------------------------------------- */

int
wk_operand_of(wk_state *state, PyObject *object, wk_operand *operand)
{
    *operand = (wk_operand){.array = NULL};
    if (wk_is_device_array(state, object)) {
        operand->on_device = 1;
        operand->array = Py_NewRef(object);
        if (((wk_device_array *)object)->memory) return 0;
        PyErr_SetString(PyExc_TypeError, "an uninitialised DeviceArray");
        return -1;
    }
    if (!PyArray_Check(object) && !is_plain(object) && state->adopt) {
        const int found = adopt(state, object, operand);
        if (found != 0) return found < 0 ? -1 : 0;
    }
    operand->array = (PyObject *)wk_numpy_of(object);
    return operand->array ? 0 : -1;
}

void
wk_operand_clear(wk_operand *operand)
{
    Py_CLEAR(operand->array);
    Py_CLEAR(operand->library);
}

wk_dtype
wk_operand_dtype(const wk_operand *operand)
{
    return operand->on_device
               ? ((wk_device_array *)operand->array)->dtype
               : (wk_dtype)wk_dtype_of(PyArray_DESCR((PyArrayObject *)operand->array));
}

int
wk_begin(PyObject *module, wk_frame *f, wk_op op, int outs, PyObject *a,
         PyObject *const *options)
{
    f->state = wk_state_of(module);
    f->operand = f->beside = (wk_operand){.array = NULL};
    f->options = (wk_options){.out = Py_None};
    f->in.array = f->masks.array = f->aux.array = NULL;
    for (int i = 0; i < WK_MAX_OUTS; i++) f->results[i] = (wk_result){.array = NULL};
    wk_call_start(&f->call, op, outs);
    if (options_of(f->state, options, outs, &f->options) < 0) return -1;
    return wk_operand_of(f->state, a, &f->operand);
}

/* operand(a) -> (array, library): for the Python side, as the operations see it. */
PyObject *
wk_py_operand(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_operand operand;
    if (wk_check_count("operand", count, 1) < 0) return NULL;
    if (wk_operand_of(wk_state_of(module), args[0], &operand) < 0) return NULL;
    PyObject *pair =
        PyTuple_Pack(2, operand.array, operand.library ? operand.library : Py_None);
    wk_operand_clear(&operand);
    return pair;
}

/* ---- where a call runs -------------------------------------------------------------------- */

static int
refuse_device(const wk_memory *m, const wk_device *wanted)
{
    const char *kind = wk_kind_names[m->kind];
    if (wanted->devices) {
        PyErr_Format(
            PyExc_ValueError,
            "the array lies on '%s:%d'; only arrays on the host are split over devices", kind,
            m->ordinal);
    } else {
        PyErr_Format(PyExc_ValueError,
                     "the array lies on '%s:%d', and the call asks for '%s:%d'; move it with "
                     "a.numpy() or warpkit.asarray(a, device=...)",
                     kind, m->ordinal, wk_kind_names[wanted->kind], wanted->ordinal);
    }
    return -1;
}

/* Roughly: what the choice of "auto" needs to know of a call's results. */
static int64_t
bytes_out(wk_op op, int64_t in_bytes)
{
    return op == WK_REDUCE || op == WK_HISTOGRAM ? 0
           : op == WK_WARP_HISTOGRAM             ? 2 * in_bytes
                                                 : in_bytes;
}

/* The choice of "auto", by _auto.choose. */
static int
choose(wk_state *state, const wk_call *call, wk_device *device, int64_t in_bytes)
{
    if (state->choose == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "device 'auto' needs the Python side");
        return -1;
    }
    PyObject *name =
        PyObject_CallFunction(state->choose, "sLL", wk_op_names[call->op], (long long)in_bytes,
                              (long long)bytes_out(call->op, in_bytes));
    const int ok = name ? wk_device_arg(name, device) : 0;
    if (ok && device->given != 1)
        PyErr_Format(PyExc_ValueError, "the choice of 'auto' must name a device, not %R", name);
    Py_XDECREF(name);
    return ok && device->given == 1 ? 0 : -1;
}

/* A host array to the device where out lies, in the order of out's stream. */
static int
move_to(wk_state *state, wk_operand *operand, const wk_memory *there)
{
    PyArrayObject *from = (PyArrayObject *)operand->array;
    const wk_device device = {
        .kind = there->kind, .given = 1, .ordinal = (uint16_t)there->ordinal};
    wk_device_array *a =
        wk_array_new(state, device, there->stream, there->stream_owner,
                     wk_operand_dtype(operand), PyArray_NDIM(from), PyArray_DIMS(from));
    if (a == NULL) return -1;
    const int status = wk_fill(state, a, from);
    Py_SETREF(operand->array, (PyObject *)a);
    operand->on_device = 1;
    return status;
}

int
wk_place(wk_frame *f)
{
    wk_call *call = &f->call;
    wk_operand *operand = &f->operand;
    wk_options *o = &f->options;
    const wk_operand *target = &o->target[0];
    if (!operand->on_device && target->on_device &&
        move_to(f->state, operand, ((wk_device_array *)target->array)->memory) < 0)
        return -1;
    call->context = f->state->context;
    call->progress = o->progress;
    if (operand->on_device) {
        const wk_memory *m = ((wk_device_array *)operand->array)->memory;
        const wk_device *d = &o->device;
        if (d->given == 1 && (d->kind != m->kind || d->ordinal != m->ordinal || d->devices))
            return refuse_device(m, d);
        o->device = (wk_device){.kind = m->kind, .given = 1, .ordinal = (uint16_t)m->ordinal};
        call->stream = m->stream;
        wk_from_device((wk_device_array *)operand->array, &call->in);
    } else {
        PyArrayObject *a = (PyArrayObject *)operand->array;
        if (wk_choose_device(f->state, &o->device) < 0) return -1;
        if (o->device.given == 2 && choose(f->state, call, &o->device, PyArray_NBYTES(a)) < 0)
            return -1;
        wk_take(a, &call->in, &f->in);
    }
    if (o->stream != Py_None && stream_of(o->stream, &call->stream, &o->stream_owner) < 0)
        return -1;
    call->ordinal = o->device.ordinal;
    call->devices = o->device.devices;
    return 0;
}

static int
no_broadcast(const char *name, const wk_array *w, const wk_array *in)
{
    PyObject *from = wk_tuple_of(w->shape, w->ndim, 1),
             *to = wk_tuple_of(in->shape, in->ndim, 1);
    if (from && to)
        PyErr_Format(PyExc_ValueError,
                     "%s of shape %R could not be broadcast to the array's shape %R", name,
                     from, to);
    Py_XDECREF(from);
    Py_XDECREF(to);
    return -1;
}

/* As numpy.broadcast_to does it. */
static int
broadcast(const char *name, wk_array *w, const wk_array *in)
{
    const int more = in->ndim - w->ndim;
    if (more < 0) return no_broadcast(name, w, in);
    for (int d = 0; d < w->ndim; d++)
        if (w->shape[d] != 1 && w->shape[d] != in->shape[d + more])
            return no_broadcast(name, w, in);
    for (int d = in->ndim - 1; d >= 0; d--) {
        const int from = d - more;
        w->strides[d] = from >= 0 && w->shape[from] != 1 ? w->strides[from] : 0;
        w->shape[d] = in->shape[d];
    }
    w->ndim = in->ndim;
    return 0;
}

int
wk_take_integers(wk_frame *f, PyObject *object, const char *name, wk_operand *operand)
{
    wk_array *aux = &f->call.aux;
    if (wk_operand_of(f->state, object, operand) < 0) return -1;
    if (operand->on_device != f->operand.on_device) {
        PyErr_Format(PyExc_ValueError, "%s must lie where the array does", name);
        return -1;
    }
    if (operand->on_device)
        wk_from_device((wk_device_array *)operand->array, aux);
    else
        wk_take((PyArrayObject *)operand->array, aux, &f->aux);
    if (aux->dtype == WK_I64 && aux->ndim == 1 && aux->shape[0] > 0 && wk_c_contiguous(aux)) {
        aux->data = operand->on_device ? (char *)aux->data + aux->first : NULL;
        if (!operand->on_device) aux->host = (char *)aux->host + aux->first;
        aux->first = 0;
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "%s must be int64, of one axis and C-contiguous", name);
    return -1;
}

int
wk_place_beside(wk_frame *f, const char *name)
{
    wk_array *w = &f->call.beside;
    wk_operand *beside = &f->beside;
    if (beside->array == NULL) return 0;
    if (f->operand.on_device) {
        const wk_memory *m = ((wk_device_array *)f->operand.array)->memory;
        if (!beside->on_device && move_to(f->state, beside, m) < 0) return -1;
        const wk_memory *there = ((wk_device_array *)beside->array)->memory;
        if (there->kind != m->kind || there->ordinal != m->ordinal) {
            PyErr_Format(PyExc_ValueError, "%s lies on '%s:%d', the array on '%s:%d'", name,
                         wk_kind_names[there->kind], there->ordinal, wk_kind_names[m->kind],
                         m->ordinal);
            return -1;
        }
        wk_from_device((wk_device_array *)beside->array, w);
    } else if (beside->on_device) {
        PyErr_Format(PyExc_ValueError, "%s lies on a device, and the array on the host", name);
        return -1;
    } else {
        wk_take((PyArrayObject *)beside->array, w, &f->masks);
    }
    return broadcast(name, w, &f->call.in);
}

int
wk_contiguous_for_cpu(wk_frame *f)
{
    if (f->operand.on_device || f->options.device.kind != WK_CPU) return 0;
    f->operand.array = (PyObject *)wk_contiguous((PyArrayObject *)f->operand.array);
    if (f->operand.array == NULL) return -1;
    wk_take((PyArrayObject *)f->operand.array, &f->call.in, &f->in);
    return 0;
}

/* ---- making arrays ------------------------------------------------------------------------ */

/* empty(shape, dtype, device, stream) */
PyObject *
wk_py_empty(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_state *state = wk_state_of(module);
    wk_device device;
    void *stream;
    PyObject *stream_owner;
    PyArray_Dims shape = {NULL, 0};
    PyObject *result = NULL;
    if (wk_check_count("empty", count, 4) < 0) return NULL;
    if (!PyArray_IntpConverter(args[0], &shape)) return NULL;
    const int dtype = wk_dtype_arg(args[1]);
    if (dtype < 0 || !wk_device_arg(args[2], &device) || wk_choose_device(state, &device) < 0 ||
        stream_of(args[3], &stream, &stream_owner) < 0)
        goto done;
    if (device.kind == WK_CPU || device.given == 2 || device.devices) {
        PyErr_SetString(PyExc_ValueError,
                        "a DeviceArray lies on one GPU, or on 'emu'; on the CPU "
                        "use NumPy's arrays");
        goto done;
    }
    if (shape.len > WK_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "at most %d axes", WK_MAX_DIMS);
        goto done;
    }
    result = (PyObject *)wk_array_new(state, device, wk_home_of(stream), stream_owner,
                                      (wk_dtype)dtype, shape.len, shape.ptr);
done:
    PyDimMem_FREE(shape.ptr);
    return result;
}

/* upload(array, device array) */
PyObject *
wk_py_upload(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_state *state = wk_state_of(module);
    if (wk_check_count("upload", count, 2) < 0) return NULL;
    if (!wk_is_device_array(state, args[1]) || ((wk_device_array *)args[1])->memory == NULL ||
        !PyArray_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "upload takes a NumPy array and a DeviceArray");
        return NULL;
    }
    PyArrayObject *from = wk_numpy_of(args[0]);
    if (from == NULL) return NULL;
    wk_device_array *to = (wk_device_array *)args[1];
    wk_array there;
    wk_from_device(to, &there);
    int status = -1;
    if (wk_dtype_of(PyArray_DESCR(from)) != (int)to->dtype)
        PyErr_SetString(PyExc_TypeError, "arrays of different dtype");
    else if (!wk_same_shape(to->ndim, to->shape, PyArray_NDIM(from), PyArray_DIMS(from)))
        wk_wrong_shape(to->ndim, to->shape, PyArray_NDIM(from), PyArray_DIMS(from));
    else if (to->memory->readonly)
        PyErr_SetString(PyExc_ValueError, "the DeviceArray is read-only");
    else if (!wk_c_contiguous(&there))
        PyErr_SetString(PyExc_ValueError, "the DeviceArray must be C-contiguous");
    else
        status = wk_fill(state, to, from);
    Py_DECREF(from);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}
