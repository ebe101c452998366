/* device_array.c -- _core.DeviceArray: a view of device memory, and that memory's life.
 *
 * What need not be fast (indexing, repr, conversions) is in python/warpkit/_array.py, whose
 * DeviceArray is the subclass that users see. */
#include "glue.h"

#include <stdlib.h>

/* ---- memory ------------------------------------------------------------------------------- */

static int
traverse_memory(PyObject *self, visitproc visit, void *arg)
{
    wk_memory *m = (wk_memory *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(m->stream_owner);
    Py_VISIT(m->owner);
    return 0;
}

/* Nothing clears it: a cycle through it goes through an array too, which lets go of it, and as long as
 * an array holds it its elements are there. */
static void
dealloc_memory(PyObject *self)
{
    wk_memory *m = (wk_memory *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (m->block || m->mailbox.slot)
        m->backend->release(m->ordinal, m->stream, m->block, m->bytes, &m->mailbox);
    Py_XDECREF(m->stream_owner);
    Py_XDECREF(m->owner);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* From now on the memory may be written to by others. */
void
wk_forget_mailbox(wk_memory *m)
{
    wk_mailbox mailbox = m->mailbox;
    mailbox.slot = __atomic_exchange_n(&m->mailbox.slot, NULL, __ATOMIC_ACQ_REL); /* once */
    if (mailbox.slot) m->backend->release(m->ordinal, m->stream, NULL, 0, &mailbox);
}

wk_memory *
wk_memory_new(wk_state *state, const wk_slot *slot, wk_device device, void *stream,
              PyObject *owner, PyObject *stream_owner)
{
    wk_memory *m = PyObject_GC_New(wk_memory, state->memory_type);
    if (m == NULL) return NULL;
    m->backend = slot->backend;
    m->kind = device.kind;
    m->ordinal = device.ordinal;
    m->stream = stream;
    m->stream_owner = Py_XNewRef(stream_owner);
    m->block = NULL;
    m->bytes = 0;
    m->owner = Py_XNewRef(owner);
    m->readonly = 0;
    m->mailbox = (wk_mailbox){.slot = NULL};
    if (owner || stream_owner) PyObject_GC_Track(m);
    return m;
}

/* ---- arrays ------------------------------------------------------------------------------- */

wk_device_array *
wk_array_over(wk_state *state, wk_memory *memory, void *start, wk_dtype dtype, int ndim,
              const npy_intp *shape, const int64_t *strides)
{
    wk_device_array *a = (wk_device_array *)state->array_type->tp_alloc(state->array_type, 0);
    if (a == NULL) {
        Py_DECREF(memory);
        return NULL;
    }
    /* What holds nothing that could hold it is none of the collector's business. */
    if (!PyObject_GC_IsTracked((PyObject *)memory)) PyObject_GC_UnTrack(a);
    a->memory = memory;
    a->start = start;
    a->dtype = dtype;
    a->ndim = ndim;
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        a->shape[d] = shape[d];
        a->strides[d] = strides ? strides[d] : step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    return a;
}

wk_device_array *
wk_array_new(wk_state *state, wk_device device, void *stream, PyObject *stream_owner,
             wk_dtype dtype, int ndim, const npy_intp *shape)
{
    wk_error error = {.status = WK_OK};
    int64_t bytes = wk_itemsize[dtype];
    int empty = 0;
    for (int d = 0; d < ndim; d++) {
        empty |= shape[d] == 0; /* what the others come to must be a number all the same */
        const int64_t extent = shape[d] == 0 ? 1 : shape[d];
        if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) {
            PyErr_SetString(PyExc_ValueError, shape[d] < 0
                                                  ? "negative dimensions are not allowed"
                                                  : "array is too big: its size overflows");
            return NULL;
        }
    }
    wk_load_slot(state, device.kind);
    const wk_slot *slot = wk_find_device(state->context, device.kind, device.ordinal, &error);
    if (slot == NULL) {
        wk_raise(state, &error);
        return NULL;
    }
    wk_memory *m = wk_memory_new(state, slot, device, stream, NULL, stream_owner);
    if (m == NULL) return NULL;
    m->bytes = empty ? 0 : bytes;
    if (m->backend->allocate(m->ordinal, stream, m->bytes, &m->block, &error) != WK_OK) {
        Py_DECREF(m);
        wk_raise(state, &error);
        return NULL;
    }
    return wk_array_over(state, m, m->block, dtype, ndim, shape, NULL);
}

void
wk_from_device(const wk_device_array *a, wk_array *w)
{
    w->dtype = a->dtype;
    w->ndim = a->ndim;
    for (int d = 0; d < a->ndim; d++) {
        w->shape[d] = a->shape[d];
        w->strides[d] = a->shape[d] > 1 ? a->strides[d] : 0;
    }
    wk_set_block(w, a->start);
    w->data = w->host;
    w->host = NULL;
}

int
wk_is_device_array(wk_state *state, PyObject *object)
{
    return Py_TYPE(object) == state->array_type ||
           PyType_IsSubtype(Py_TYPE(object), state->base_type);
}

static int
traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((wk_device_array *)self)->memory);
    return 0;
}

static int
clear(PyObject *self)
{
    Py_CLEAR(((wk_device_array *)self)->memory);
    return 0;
}

static void
dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- attributes --------------------------------------------------------------------------- */

wk_state *
wk_state_of_array(PyObject *self)
{
    PyObject *module = PyType_GetModuleByDef(Py_TYPE(self), &wk_module_definition);
    return module ? wk_state_of(module) : NULL;
}

wk_device_array *
wk_array_of(PyObject *self)
{
    wk_device_array *a = (wk_device_array *)self;
    if (a->memory) return a;
    PyErr_SetString(PyExc_TypeError,
                    "this DeviceArray was not made by warpkit.empty or asarray");
    return NULL;
}

#define GETTER(name, expression)                                                               \
    static PyObject *get_##name(PyObject *self, void *Py_UNUSED(closure))                      \
    {                                                                                          \
        const wk_device_array *a = wk_array_of(self);                                          \
        return a ? (PyObject *)(expression) : NULL;                                            \
    }

int64_t
wk_array_size(const wk_device_array *a)
{
    int64_t n = 1;
    for (int d = 0; d < a->ndim; d++) n *= a->shape[d];
    return n;
}

static int
contiguous(const wk_device_array *a)
{
    wk_array w;
    wk_from_device(a, &w);
    return wk_c_contiguous(&w);
}

GETTER(shape, wk_tuple_of(a->shape, a->ndim, 1))
GETTER(strides, wk_tuple_of(a->strides, a->ndim, wk_itemsize[a->dtype]))
GETTER(dtype, wk_descr_of(a->dtype))
GETTER(ndim, PyLong_FromLong(a->ndim))
GETTER(size, PyLong_FromLongLong(wk_array_size(a)))
GETTER(nbytes, PyLong_FromLongLong(wk_array_size(a) * wk_itemsize[a->dtype]))
GETTER(itemsize, PyLong_FromLong(wk_itemsize[a->dtype]))
GETTER(device, wk_device_name(a->memory->kind, a->memory->ordinal))
GETTER(pointer, PyLong_FromVoidPtr(a->start))
GETTER(stream, PyLong_FromVoidPtr(a->memory->stream))
GETTER(stream_owner, Py_NewRef(a->memory->stream_owner ? a->memory->stream_owner : Py_None))
GETTER(owner, Py_NewRef(a->memory->owner ? a->memory->owner : Py_None))

const char *
wk_typestr_of(wk_dtype dtype)
{
    static const char *const names[WK_DTYPES] = {"|b1",      "|i1", "|u1", "<i2", "<u2",
                                                 "<i4",      "<u4", "<i8", "<u8", "<f2",
                                                 "bfloat16", "<f4", "<f8", "<c8", "<c16"};
    return names[dtype];
}

static PyObject *
get_interface(PyObject *self, void *Py_UNUSED(closure))
{
    wk_device_array *a = wk_array_of(self);
    if (a == NULL) return NULL;
    if (a->memory->kind != WK_CUDA) {
        PyErr_Format(PyExc_AttributeError, "an array of '%s' is in no CUDA device's memory",
                     wk_kind_names[a->memory->kind]);
        return NULL;
    }
    if (a->dtype == WK_BF16) {
        PyErr_SetString(PyExc_AttributeError,
                        "the CUDA array interface has no typestr for bfloat16; use DLPack");
        return NULL;
    }
    wk_forget_mailbox(a->memory);
    PyObject *shape = wk_tuple_of(a->shape, a->ndim, 1);
    PyObject *strides = contiguous(a) ? Py_NewRef(Py_None)
                                      : wk_tuple_of(a->strides, a->ndim, wk_itemsize[a->dtype]);
    const size_t address = wk_array_size(a) > 0 ? (size_t)a->start : 0;
    return Py_BuildValue("{s:N,s:s,s:(NO),s:N,s:i,s:N}", "shape", shape, "typestr",
                         wk_typestr_of(a->dtype), "data", PyLong_FromSize_t(address),
                         a->memory->readonly ? Py_True : Py_False, "strides", strides,
                         "version", 3, "stream", PyLong_FromVoidPtr(a->memory->stream));
}

static PyGetSetDef getters[] = {
    {"shape", get_shape, NULL, "Extents of the axes.", NULL},
    {"strides", get_strides, NULL, "Bytes between neighbours along each axis.", NULL},
    {"dtype", get_dtype, NULL, "The elements' numpy.dtype.", NULL},
    {"ndim", get_ndim, NULL, "Number of axes.", NULL},
    {"size", get_size, NULL, "Number of elements.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL},
    {"itemsize", get_itemsize, NULL, "Bytes of one element.", NULL},
    {"device", get_device, NULL, "Where the memory lies, such as 'cuda:0'.", NULL},
    {"_pointer", get_pointer, NULL, NULL, NULL},
    {"_stream", get_stream, NULL, NULL, NULL},
    {"_stream_owner", get_stream_owner, NULL, NULL, NULL},
    {"_owner", get_owner, NULL, NULL, NULL},
    {"__cuda_array_interface__", get_interface, NULL, "Version 3, with the stream.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- methods ------------------------------------------------------------------------------ */

int
wk_int64s_of(PyObject *sequence, int64_t *values, Py_ssize_t wanted)
{
    if (!PyTuple_Check(sequence) || PyTuple_GET_SIZE(sequence) > WK_MAX_DIMS ||
        (wanted >= 0 && PyTuple_GET_SIZE(sequence) != wanted)) {
        PyErr_Format(PyExc_ValueError, "expected a tuple of %s at most %d ints, not %R",
                     wanted >= 0 ? "as many as there are axes," : "", WK_MAX_DIMS, sequence);
        return -1;
    }
    const int n = (int)PyTuple_GET_SIZE(sequence);
    for (int d = 0; d < n; d++) {
        values[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(sequence, d));
        if (values[d] == -1 && PyErr_Occurred()) return -1;
    }
    return n;
}

/* Do elements at these places lie in the array's own block? start is an address, or nonsense. */
static int
within(const wk_device_array *a, uint64_t start, int ndim, const int64_t *shape,
       const int64_t *strides, int64_t item)
{
    wk_array whole;
    wk_from_device(a, &whole);
    int64_t low = 0, high = 0, reach, sum; /* so far: neither is larger than the block */
    if (__builtin_sub_overflow(start, (uint64_t)(uintptr_t)whole.data, &low)) return 0;
    high = low;
    for (int d = 0; d < ndim; d++) {
        int64_t *side = strides[d] < 0 ? &low : &high;
        if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) ||
            __builtin_add_overflow(*side, reach, &sum))
            return 0;
        *side = sum;
    }
    return low >= 0 && high <= whole.bytes - item;
}

/* _view(start, shape, strides in bytes, dtype): other elements of the same memory; what Python's
 * side has found with NumPy's own rules, checked against the block all the same. */
static PyObject *
view(PyObject *self, PyObject *args)
{
    PyObject *start_arg, *shape_arg, *strides_arg, *dtype_arg;
    int64_t shape[WK_MAX_DIMS], strides[WK_MAX_DIMS];
    wk_device_array *a = wk_array_of(self);
    if (a == NULL ||
        !PyArg_ParseTuple(args, "OOOO:_view", &start_arg, &shape_arg, &strides_arg, &dtype_arg))
        return NULL;
    const uint64_t start = PyLong_AsUnsignedLongLong(start_arg);
    if (PyErr_Occurred()) return NULL;
    const int dtype = wk_dtype_arg(dtype_arg);
    const int ndim = dtype < 0 ? -1 : wk_int64s_of(shape_arg, shape, -1);
    if (ndim < 0 || wk_int64s_of(strides_arg, strides, ndim) < 0) return NULL;
    const int64_t item = wk_itemsize[dtype];
    int empty = 0, aligned = start % (uint64_t)item == 0;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0) {
            PyErr_SetString(PyExc_ValueError, "negative dimensions are not allowed");
            return NULL;
        }
        empty |= shape[d] == 0;
        aligned &= shape[d] <= 1 || strides[d] % item == 0;
    }
    if (!empty && !within(a, start, ndim, shape, strides, item)) {
        PyErr_SetString(PyExc_ValueError, "the view reaches beyond the array");
        return NULL;
    }
    if (!empty && !aligned) {
        PyErr_Format(PyExc_ValueError, "elements of %s would not be aligned",
                     wk_dtype_names[dtype]);
        return NULL;
    }
    for (int d = 0; d < ndim; d++) strides[d] /= item;
    wk_memory *memory = (wk_memory *)Py_NewRef((PyObject *)a->memory);
    return (PyObject *)wk_array_over(wk_state_of_array(self), memory,
                                     empty ? a->start : (char *)(uintptr_t)start,
                                     (wk_dtype)dtype, ndim, shape, strides);
}

/* float(a) and int(a): by NumPy's rules, and by the shortest way. */
static PyObject *
number(PyObject *self, PyObject *(*convert)(PyObject *))
{
    PyObject *array = wk_array_to_numpy(self, NULL);
    PyObject *result = array ? convert(array) : NULL;
    Py_XDECREF(array);
    return result;
}

static PyObject *
as_float(PyObject *self)
{
    return number(self, PyNumber_Float);
}

static PyObject *
as_int(PyObject *self)
{
    return number(self, PyNumber_Long);
}

static PyObject *
as_index(PyObject *self)
{
    return number(self, PyNumber_Index);
}

static int
as_bool(PyObject *self)
{
    PyObject *array = wk_array_to_numpy(self, NULL);
    const int result = array ? PyObject_IsTrue(array) : -1;
    Py_XDECREF(array);
    return result;
}

static PyMethodDef methods[] = {
    {"_view", view, METH_VARARGS, NULL},
    {"_numpy", wk_array_to_numpy, METH_NOARGS, NULL},
    {"_copy_from", wk_array_copy_from, METH_O, NULL},
    {"_copy_to", wk_array_copy_to, METH_O, NULL},
    {"_lend", wk_array_lend, METH_O, NULL},
    {"_follow", wk_array_follow, METH_O, NULL},
    {"_lead", wk_array_lead, METH_O, NULL},
    {"_wait", wk_array_wait, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},     {Py_tp_getset, getters},
    {Py_tp_methods, methods}, {Py_nb_float, as_float},
    {Py_nb_int, as_int},      {Py_nb_index, as_index},
    {Py_nb_bool, as_bool},    {0, NULL},
};

static PyType_Spec spec = {
    .name = "warpkit._core.DeviceArray",
    .basicsize = sizeof(wk_device_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, dealloc_memory},
    {Py_tp_traverse, traverse_memory},
    {0, NULL},
};

static PyType_Spec memory_spec = {
    .name = "warpkit._core.Memory",
    .basicsize = sizeof(wk_memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC,
    .slots = memory_slots,
};

int
wk_make_array_type(PyObject *module, wk_state *state)
{
    state->memory_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &memory_spec, NULL);
    if (state->memory_type == NULL) return -1;
    state->base_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (state->base_type == NULL) return -1;
    if (wk_exchange_offer(state->base_type) < 0) return -1;
    state->array_type = (PyTypeObject *)Py_NewRef(state->base_type);
    return PyModule_AddObjectRef(module, "DeviceArray", (PyObject *)state->base_type);
}
