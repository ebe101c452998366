/* exchange.c -- arrays of libraries whose type has DLPack 1.3's table of C functions: taken, and
 * results given back, without an object of Python's on the way.
 *
 * A type's table is looked for when the Python side has taken an array of it, whose adapter says what
 * the table does not tell (PyTorch's requires_grad and its lazy bits). What the functions will not take
 * goes the Python side's way, which says why. */
#include "dlpack.h"

enum { MOST_TYPES = 16 };

struct wk_table { /* never changed once it is in the list, and there until the module goes */
    wk_table *next;
    PyTypeObject *type;
    const DLPackExchangeAPI *api; /* NULL: it has none */
    PyObject *library;            /* the Python side's */
    PyObject *flags, *methods;    /* tuples of names: what must be false, or give it */
};

static const wk_table *
table_of(wk_state *state, const PyTypeObject *type, int *count)
{
    *count = 0;
    for (const wk_table *t = atomic_load(&state->tables); t; t = t->next, ++*count)
        if (t->type == type) return t;
    return NULL;
}

/* The type's own: a subclass that inherits one may be no plain memory. NULL: none. */
static const DLPackExchangeAPI *
api_of(PyTypeObject *type)
{
    const DLPackExchangeAPIHeader *found = NULL;
    PyObject *names = PyObject_GetAttrString((PyObject *)type, "__dict__");
    PyObject *capsule =
        names ? PyMapping_GetItemString(names, "__dlpack_c_exchange_api__") : NULL;
    if (capsule) found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (found && found->version.major != DL_MAJOR) found = found->prev_api;
    Py_XDECREF(capsule);
    Py_XDECREF(names);
    PyErr_Clear();
    const DLPackExchangeAPI *api = (const DLPackExchangeAPI *)found;
    return api && api->dltensor_from_py_object_no_sync && api->current_work_stream ? api : NULL;
}

static void
free_table(wk_table *t)
{
    Py_XDECREF((PyObject *)t->type);
    Py_XDECREF(t->library);
    Py_XDECREF(t->flags);
    Py_XDECREF(t->methods);
    PyMem_RawFree(t);
}

void
wk_exchange_learn(wk_state *state, PyTypeObject *type, PyObject *library)
{
    int count;
    if (table_of(state, type, &count) || count >= MOST_TYPES) return;
    wk_table *t = PyMem_RawCalloc(1, sizeof *t);
    if (t == NULL) return;
    t->type = (PyTypeObject *)Py_NewRef(type);
    t->library = Py_NewRef(library);
    t->flags = PyObject_GetAttrString(library, "flags");
    t->methods = t->flags ? PyObject_GetAttrString(library, "methods") : NULL;
    PyErr_Clear();
    if (t->methods && PyTuple_Check(t->flags) && PyTuple_Check(t->methods))
        t->api = api_of(type);
    t->next = atomic_load(&state->tables);
    while (!atomic_compare_exchange_weak(&state->tables, &t->next, t)) continue;
}

int
wk_exchange_traverse(wk_state *state, visitproc visit, void *arg)
{
    for (const wk_table *t = atomic_load(&state->tables); t; t = t->next) {
        Py_VISIT(t->type);
        Py_VISIT(t->library);
    }
    return 0;
}

void
wk_exchange_clear(wk_state *state)
{
    wk_table *t = atomic_exchange(&state->tables, NULL);
    while (t) {
        wk_table *const next = t->next;
        free_table(t);
        t = next;
    }
}

/* ---- in ----------------------------------------------------------------------------------- */

/* What the table does not tell; -1 with an exception set. */
static int
is_more_than_memory(const wk_table *t, PyObject *object)
{
    int more = 0;
    for (Py_ssize_t i = 0; more == 0 && i < PyTuple_GET_SIZE(t->flags); i++) {
        PyObject *flag = PyObject_GetAttr(object, PyTuple_GET_ITEM(t->flags, i));
        more = flag ? PyObject_IsTrue(flag) : -1;
        Py_XDECREF(flag);
    }
    for (Py_ssize_t i = 0; more == 0 && i < PyTuple_GET_SIZE(t->methods); i++) {
        PyObject *bit = PyObject_CallMethodNoArgs(object, PyTuple_GET_ITEM(t->methods, i));
        more = bit ? PyObject_IsTrue(bit) : -1;
        Py_XDECREF(bit);
    }
    return more;
}

/* In the order of the library's current stream. */
static PyObject *
over_device(wk_state *state, const wk_table *t, const wk_dl_view *v, PyObject *owner)
{
    void *stream;
    int64_t strides[WK_MAX_DIMS];
    const wk_slot *slot = wk_load_slot(state, WK_CUDA);
    if (v->device.device_id < 0 || v->device.device_id >= slot->count) return NULL;
    if (t->api->current_work_stream(kDLCUDA, v->device.device_id, &stream) != 0) return NULL;
    for (int d = 0; d < v->ndim; d++) strides[d] = v->strides[d] / wk_itemsize[v->dtype];
    const wk_device device = {
        .kind = WK_CUDA, .given = 1, .ordinal = (uint16_t)v->device.device_id};
    wk_memory *m =
        wk_memory_new(state, slot, device, stream ? stream : WK_DEFAULT_STREAM, owner, NULL);
    if (m == NULL) return NULL;
    return (PyObject *)wk_array_over(state, m, v->start, v->dtype, v->ndim, v->shape, strides);
}

int
wk_exchange_adopt(wk_state *state, PyObject *object, wk_operand *operand)
{
    int count;
    wk_dl_view v = {.read_only = 0};
    DLTensor tensor;
    const wk_table *t = table_of(state, Py_TYPE(object), &count);
    if (t == NULL || t->api == NULL) return 0;
    PyObject *array = NULL;
    if (is_more_than_memory(t, object) == 0 &&
        t->api->dltensor_from_py_object_no_sync(object, &tensor) == 0 &&
        wk_dl_check(&tensor, &v) == 0) {
        const int type = v.device.device_type;
        if (type == kDLCPU || type == kDLCUDAHost) array = wk_dl_over_host(&v, object);
        if (type == kDLCUDA) array = over_device(state, t, &v, object);
    }
    if (array == NULL) {
        PyErr_Clear();
        return 0;
    }
    *operand = (wk_operand){.array = array,
                            .library = Py_NewRef(t->library),
                            .table = t,
                            .on_device = v.device.device_type == kDLCUDA};
    return 1;
}

/* ---- out ---------------------------------------------------------------------------------- */

static void
say_nothing(void *Py_UNUSED(ctx), const char *Py_UNUSED(kind), const char *Py_UNUSED(message))
{ /* the Python side's way is tried, and its error is the caller's */
}

int
wk_exchange_new(wk_frame *f, wk_result *result, wk_dtype dtype, int ndim, const npy_intp *shape)
{
    const wk_table *t = f->operand.table;
    const int on_device = f->operand.on_device;
    const wk_memory *m = on_device ? ((wk_device_array *)f->operand.array)->memory : NULL;
    wk_dl_view v = {.read_only = 0};
    int64_t extents[WK_MAX_DIMS], steps[WK_MAX_DIMS], step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        extents[d] = shape[d];
        steps[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    DLTensor like = {.device = {on_device ? kDLCUDA : kDLCPU, on_device ? m->ordinal : 0},
                     .ndim = ndim,
                     .dtype = wk_dl_dtype(dtype),
                     .shape = extents,
                     .strides = steps};
    DLManagedTensorVersioned *managed = NULL;
    if (t->api->managed_tensor_allocator(&like, &managed, NULL, say_nothing) != 0) {
        PyErr_Clear();
        return 1;
    }
    if (wk_dl_check(&managed->dl_tensor, &v) == 0 && on_device) {
        const wk_device device = {.kind = m->kind, .given = 1, .ordinal = (uint16_t)m->ordinal};
        const wk_slot *slot = wk_load_slot(f->state, m->kind);
        wk_memory *own = wk_memory_new(f->state, slot, device, m->stream, NULL, NULL);
        if (own)
            result->array =
                (PyObject *)wk_array_over(f->state, own, v.start, dtype, ndim, shape, NULL);
    } else if (!on_device && !PyErr_Occurred()) {
        result->array = wk_dl_over_host(&v, NULL);
    }
    if (result->array) {
        result->managed = managed;
        return 0;
    }
    PyErr_Clear();
    wk_dl_delete(managed);
    return 1;
}

PyObject *
wk_exchange_give(const wk_frame *f, wk_result *result)
{
    void *object = NULL;
    DLManagedTensorVersioned *managed = result->managed;
    result->managed = NULL;
    if (f->operand.table->api->managed_tensor_to_py_object_no_sync(managed, &object) == 0)
        return object;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "DLPack: no array of a result");
    return NULL;
}

void
wk_exchange_drop(wk_result *result)
{
    if (result->managed) wk_dl_delete(result->managed);
    result->managed = NULL;
}

/* ---- DeviceArray's own table ---------------------------------------------------------------- */

/* No function is told whose module it is of: this interpreter's. */
static PyObject *
our_module(void)
{
    PyObject *name = PyUnicode_FromString("warpkit._core");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    Py_XDECREF(name);
    if (module == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_ImportError, "warpkit._core is not there");
    return module;
}

/* Everything goes in the order of the default stream, which is what current_stream names. */
static wk_device_array *
in_order(PyObject *object)
{
    wk_error error = {.status = WK_OK};
    wk_state *state = wk_state_of_array(object);
    wk_device_array *a = state ? wk_array_of(object) : NULL;
    if (a == NULL) return NULL;
    const wk_memory *m = a->memory;
    if (m->stream == WK_DEFAULT_STREAM ||
        m->backend->follow(m->ordinal, WK_DEFAULT_STREAM, m->stream, &error) == WK_OK)
        return a;
    wk_raise(state, &error);
    return NULL;
}

static int
from_object(void *object, DLManagedTensorVersioned **out)
{
    wk_device_array *a = in_order(object);
    *out = a ? wk_dl_export(a, 0) : NULL;
    if (a && *out == NULL) PyErr_NoMemory();
    return *out ? 0 : -1;
}

static int
to_object(DLManagedTensorVersioned *managed, void **out)
{
    PyObject *module = our_module();
    PyObject *stream = module ? PyLong_FromVoidPtr(WK_DEFAULT_STREAM) : NULL;
    *out = stream ? wk_dl_import(module, managed, stream) : NULL;
    Py_XDECREF(stream);
    Py_XDECREF(module);
    return *out ? 0 : -1;
}

static int
borrow(void *object, DLTensor *out)
{
    wk_device_array *a = in_order(object);
    if (a == NULL) return -1;
    if (a->memory->readonly) {
        PyErr_SetString(PyExc_BufferError, "a read-only array cannot be lent by DLPack");
        return -1;
    }
    wk_dl_describe(a, a->shape, a->strides, out);
    wk_forget_mailbox(a->memory);
    return 0;
}

static int
current_stream(DLDeviceType Py_UNUSED(type), int32_t Py_UNUSED(device), void **out)
{
    *out = WK_DEFAULT_STREAM;
    return 0;
}

static wk_device_array *
array_like(const DLTensor *like, wk_dl_view *v)
{
    DLTensor shape = *like; /* its memory and its strides are not asked */
    shape.data = (void *)64;
    shape.byte_offset = 0;
    shape.strides = NULL;
    PyObject *module = wk_dl_check(&shape, v) < 0 ? NULL : our_module();
    if (module == NULL) return NULL;
    const int cuda =
        v->device.device_type == kDLCUDA; /* the emulated one's memory is the host's */
    const int ordinal = cuda ? v->device.device_id : 0;
    const wk_device device = {
        .kind = cuda ? WK_CUDA : WK_EMU, .given = 1, .ordinal = (uint16_t)ordinal};
    wk_device_array *a = wk_array_new(wk_state_of(module), device, WK_DEFAULT_STREAM, NULL,
                                      v->dtype, v->ndim, v->shape);
    Py_DECREF(module);
    return a;
}

/* May be called without the GIL. */
static int
allocate(DLTensor *like, DLManagedTensorVersioned **out, void *ctx,
         void (*set_error)(void *ctx, const char *kind, const char *message))
{
    wk_dl_view v = {.read_only = 0};
    const PyGILState_STATE gil = PyGILState_Ensure();
    wk_device_array *a = array_like(like, &v);
    *out = a ? wk_dl_export(a, 0) : NULL;
    Py_XDECREF(a);
    if (*out == NULL) {
        PyErr_Clear();
        set_error(ctx, "MemoryError", "warpkit has no such array on this device");
    }
    PyGILState_Release(gil);
    return *out ? 0 : -1;
}

int
wk_exchange_offer(PyTypeObject *type)
{
    static const DLPackExchangeAPI table = {.header.version = {DL_MAJOR, DL_MINOR},
                                            .managed_tensor_allocator = allocate,
                                            .managed_tensor_from_py_object_no_sync =
                                                from_object,
                                            .managed_tensor_to_py_object_no_sync = to_object,
                                            .dltensor_from_py_object_no_sync = borrow,
                                            .current_work_stream = current_stream};
    PyObject *capsule = PyCapsule_New((void *)&table, "dlpack_exchange_api", NULL);
    const int status =
        capsule ? PyObject_SetAttrString((PyObject *)type, "__dlpack_c_exchange_api__", capsule)
                : -1;
    Py_XDECREF(capsule);
    return status;
}
