/* dlpack.c -- arrays to and from DLPack's capsules.
 *
 * A capsule that comes in is another library's word for addresses and extents, so everything that
 * can be checked is, before the capsule counts as used: a refused one is still its owner's. */
#include "dlpack.h"

static const char *const fresh_names[2] = {"dltensor", "dltensor_versioned"};
static const char *const used_names[2] = {"used_dltensor", "used_dltensor_versioned"};

/* ---- dtypes ------------------------------------------------------------------------------- */

DLDataType
wk_dl_dtype(wk_dtype dtype)
{
    static const uint8_t codes[WK_DTYPES] = {
        [WK_BOOL] = kDLBool, [WK_I8] = kDLInt,      [WK_U8] = kDLUInt,     [WK_I16] = kDLInt,
        [WK_U16] = kDLUInt,  [WK_I32] = kDLInt,     [WK_U32] = kDLUInt,    [WK_I64] = kDLInt,
        [WK_U64] = kDLUInt,  [WK_F16] = kDLFloat,   [WK_BF16] = kDLBfloat, [WK_F32] = kDLFloat,
        [WK_F64] = kDLFloat, [WK_C64] = kDLComplex, [WK_C128] = kDLComplex};
    return (DLDataType){codes[dtype], (uint8_t)(8 * wk_itemsize[dtype]), 1};
}

static int
dtype_of(DLDataType type)
{
    static const char *const kinds[] = {"int",    "uint",    "float", "handle",
                                        "bfloat", "complex", "bool"};
    for (int d = 0; d < WK_DTYPES; d++) {
        const DLDataType own = wk_dl_dtype(d);
        if (own.code == type.code && own.bits == type.bits && type.lanes == 1) return d;
    }
    if (type.lanes != 1)
        PyErr_Format(PyExc_BufferError, "DLPack: elements of %d lanes are not taken",
                     (int)type.lanes);
    else if (type.code < sizeof kinds / sizeof kinds[0])
        PyErr_Format(PyExc_TypeError,
                     "DLPack: dtype %s%d is not taken; there are: " WK_DTYPE_LIST,
                     kinds[type.code], (int)type.bits);
    else
        PyErr_Format(PyExc_TypeError, "DLPack: dtype code %d with %d bits is not taken",
                     (int)type.code, (int)type.bits);
    return -1;
}

/* ---- out ---------------------------------------------------------------------------------- */

typedef struct exported { /* freed by its deleter */
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    } managed;
    int64_t extents[]; /* shape, then strides */
} exported;

/* Called by whoever holds the tensor, from any thread, without the GIL; perhaps after Python. */
static void
let_go(void *managed, void *array)
{
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)array);
    PyGILState_Release(state);
    PyMem_RawFree(managed);
}

static void
delete_plain(DLManagedTensor *self)
{
    let_go(self, self->manager_ctx);
}

static void
delete_versioned(DLManagedTensorVersioned *self)
{
    let_go(self, self->manager_ctx);
}

/* A capsule that nobody took; one that was taken has another name. */
static void
drop_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, fresh_names[0])) {
        DLManagedTensor *plain = PyCapsule_GetPointer(capsule, fresh_names[0]);
        plain->deleter(plain);
    } else if (PyCapsule_IsValid(capsule, fresh_names[1])) {
        DLManagedTensorVersioned *versioned = PyCapsule_GetPointer(capsule, fresh_names[1]);
        versioned->deleter(versioned);
    }
}

void
wk_dl_describe(const wk_device_array *a, int64_t *shape, int64_t *strides, DLTensor *t)
{
    const int cuda = a->memory->kind == WK_CUDA; /* the emulated one's memory is the host's */
    int empty = 0;
    for (int d = 0; d < a->ndim; d++) empty |= a->shape[d] == 0;
    *t = (DLTensor){.data = empty ? NULL : a->start,
                    .device = {cuda ? kDLCUDA : kDLCPU, cuda ? a->memory->ordinal : 0},
                    .ndim = a->ndim,
                    .dtype = wk_dl_dtype(a->dtype),
                    .shape = shape,
                    .strides = strides};
}

static void
describe(const wk_device_array *a, int64_t *extents, DLTensor *t)
{
    int64_t *strides = extents + a->ndim;
    for (int d = a->ndim - 1; d >= 0; d--) {
        extents[d] = a->shape[d];
        strides[d] = a->strides[d];
        if (a->shape[d] == 1) /* what a contiguous array would have: some look */
            strides[d] = d + 1 < a->ndim ? extents[d + 1] * strides[d + 1] : 1;
    }
    wk_dl_describe(a, extents, strides, t);
}

static exported *
new_export(const wk_device_array *a)
{
    return PyMem_RawCalloc(1, sizeof(exported) + 2 * (size_t)a->ndim * sizeof(int64_t));
}

/* What is exported holds the array. */
static void
hold(wk_device_array *a)
{
    Py_INCREF(a);
    wk_forget_mailbox(a->memory); /* others may write there from now on */
}

static exported *
export_plain(wk_device_array *a)
{
    exported *e = new_export(a);
    if (e == NULL) return NULL;
    e->managed.plain.manager_ctx = a;
    e->managed.plain.deleter = delete_plain;
    describe(a, e->extents, &e->managed.plain.dl_tensor);
    hold(a);
    return e;
}

DLManagedTensorVersioned *
wk_dl_export(wk_device_array *a, int copied)
{
    exported *e = new_export(a);
    if (e == NULL) return NULL;
    DLManagedTensorVersioned *m = &e->managed.versioned;
    m->version = (DLPackVersion){DL_MAJOR, DL_MINOR};
    m->manager_ctx = a;
    m->deleter = delete_versioned;
    m->flags = (a->memory->readonly ? DL_READ_ONLY : 0) | (copied ? DL_IS_COPIED : 0);
    describe(a, e->extents, &m->dl_tensor);
    hold(a);
    return m;
}

PyObject *
wk_py_to_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (wk_check_count("to_dlpack", count, 3) < 0) return NULL;
    wk_device_array *a = (wk_device_array *)args[0];
    if (!wk_is_device_array(wk_state_of(module), args[0]) || a->memory == NULL) {
        PyErr_Format(PyExc_TypeError, "expected a DeviceArray, not %.100s",
                     Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    const int versioned = PyObject_IsTrue(args[1]), copied = PyObject_IsTrue(args[2]);
    if (versioned < 0 || copied < 0) return NULL;
    if (a->memory->readonly && !versioned) {
        PyErr_SetString(PyExc_BufferError, "a read-only array cannot be exported as DLPack was "
                                           "before version 1.0, which has no word for that");
        return NULL;
    }
    void *managed = versioned ? (void *)wk_dl_export(a, copied) : (void *)export_plain(a);
    if (managed == NULL) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(managed, fresh_names[versioned], drop_capsule);
    if (capsule == NULL) {
        Py_DECREF(a);
        PyMem_RawFree(managed);
    }
    return capsule;
}

/* ---- in: checks --------------------------------------------------------------------------- */

static int
refuse(const char *text)
{
    PyErr_Format(PyExc_BufferError, "DLPack: %s", text);
    return -1;
}

static int
check_device(DLDevice device)
{
    static const char *const names[] = {
        NULL,     "CPU",    "CUDA",    "CUDA's host", "OpenCL",      NULL,     NULL,
        "Vulkan", "Metal",  "VPI",     "ROCm",        "ROCm's host", "ExtDev", "CUDA managed",
        "oneAPI", "WebGPU", "Hexagon", "MAIA",        "Trainium"};
    const int type = device.device_type;
    if (type == kDLCPU || type == kDLCUDA || type == kDLCUDAHost || type == kDLCUDAManaged)
        return 0;
    const int known = type > 0 && type < (int)(sizeof names / sizeof names[0]) && names[type];
    PyErr_Format(PyExc_BufferError, "DLPack: %s memory (device type %d) is not taken",
                 known ? names[type] : "unknown", type);
    return -1;
}

static int
check_extents(const DLTensor *t, wk_dl_view *v)
{
    const int64_t item = wk_itemsize[v->dtype];
    int64_t bytes = item;
    if (t->ndim < 0 || t->ndim > WK_MAX_DIMS) {
        PyErr_Format(PyExc_BufferError, "DLPack: %d axes; there are 0 to %d", (int)t->ndim,
                     WK_MAX_DIMS);
        return -1;
    }
    if (t->ndim > 0 && t->shape == NULL) return refuse("the shape is NULL");
    v->ndim = t->ndim;
    v->empty = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->shape[d] < 0) return refuse("an extent is negative");
        v->shape[d] = t->shape[d];
        v->strides[d] = bytes;
        v->empty |= t->shape[d] == 0;
        if (__builtin_mul_overflow(bytes, t->shape[d] > 0 ? t->shape[d] : 1, &bytes))
            return refuse("the size overflows");
    }
    for (int d = 0; d < t->ndim && t->strides; d++) /* of an axis that nobody walks: any */
        if (t->shape[d] > 1 && __builtin_mul_overflow(t->strides[d], item, &v->strides[d]))
            return refuse("a stride overflows");
    return 0;
}

/* The elements' addresses. */
static int
check_reach(const DLTensor *t, wk_dl_view *v)
{
    const int64_t item = wk_itemsize[v->dtype];
    int64_t low = 0, high = item, address, end;
    if (__builtin_add_overflow((uintptr_t)t->data, t->byte_offset, &address) || address < 0)
        return refuse("data and byte_offset overflow");
    v->start = (char *)(uintptr_t)address;
    if (v->empty) return 0;
    if (t->data == NULL) return refuse("data is NULL, and there are elements");
    const int whole = wk_is_complex(v->dtype) ? 2 : 1; /* aligned as their parts */
    if (address % (item / whole) != 0) return refuse("the elements are not aligned");
    for (int d = 0; d < v->ndim; d++) {
        int64_t reach = 0, *side;
        int overflow = __builtin_mul_overflow(v->shape[d] - 1, v->strides[d], &reach);
        side = reach < 0 ? &low : &high;
        overflow |= __builtin_add_overflow(*side, reach, side);
        if (overflow) return refuse("the strides overflow");
    }
    if (address + low <= 0 || __builtin_add_overflow(address, high, &end))
        return refuse("the strides reach beyond the address space");
    return 0;
}

int
wk_dl_check(const DLTensor *t, wk_dl_view *v)
{
    v->device = t->device;
    if (check_device(t->device) < 0) return -1;
    const int dtype = dtype_of(t->dtype);
    if (dtype < 0) return -1;
    v->dtype = (wk_dtype)dtype;
    return check_extents(t, v) < 0 ? -1 : check_reach(t, v);
}

static void *
check_versioned(DLManagedTensorVersioned *m, wk_dl_view *v)
{
    if (m->version.major != DL_MAJOR) {
        PyErr_Format(PyExc_BufferError,
                     "DLPack: the tensor is of version %u.%u; warpkit knows version %d",
                     m->version.major, m->version.minor, DL_MAJOR);
        return NULL;
    }
    v->read_only = (m->flags & DL_READ_ONLY) != 0;
    return wk_dl_check(&m->dl_tensor, v) < 0 ? NULL : m;
}

/* Everything about a capsule but where its memory lies; *kind: 0 plain, 1 versioned. */
static void *
check_capsule(PyObject *capsule, int *kind, wk_dl_view *v)
{
    if (!PyCapsule_CheckExact(capsule)) {
        PyErr_Format(PyExc_TypeError, "DLPack: expected a capsule, not %.100s",
                     Py_TYPE(capsule)->tp_name);
        return NULL;
    }
    const char *name = PyCapsule_GetName(capsule);
    *kind = PyCapsule_IsValid(capsule, fresh_names[1]);
    if (!*kind && !PyCapsule_IsValid(capsule, fresh_names[0])) {
        if (PyErr_Occurred()) return NULL;
        const int used =
            name && (strcmp(name, used_names[0]) == 0 || strcmp(name, used_names[1]) == 0);
        PyErr_Format(PyExc_BufferError,
                     used ? "DLPack: this capsule was used already (its name is '%.100s')"
                          : "DLPack: a capsule named '%.100s' holds no tensor",
                     name ? name : "");
        return NULL;
    }
    void *managed = PyCapsule_GetPointer(capsule, name);
    if (managed == NULL) return NULL;
    if (*kind) return check_versioned(managed, v);
    v->read_only = 0;
    return wk_dl_check(&((DLManagedTensor *)managed)->dl_tensor, v) < 0 ? NULL : managed;
}

#ifndef Py_BEGIN_CRITICAL_SECTION /* of Python before 3.13, whose GIL is one */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* Checks a capsule and marks it as used, so that of several threads one has it: nobody else may take it
 * while a driver starts with the GIL released. */
static void *
claim(PyObject *capsule, int *kind, wk_dl_view *v)
{
    void *managed;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    managed = check_capsule(capsule, kind, v);
    if (managed && PyCapsule_SetName(capsule, used_names[*kind]) < 0) managed = NULL;
    Py_END_CRITICAL_SECTION();
    return managed;
}

/* ---- in: arrays --------------------------------------------------------------------------- */

static const char owner_names[2][sizeof "warpkit.dltensor_versioned"] = {
    "warpkit.dltensor", "warpkit.dltensor_versioned"};

void
wk_dl_delete(DLManagedTensorVersioned *m)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (m->deleter) m->deleter(m);
    PyErr_Restore(type, value, traceback);
}

/* The base of an array, and so the last that knows of the tensor. Before the array is made it
 * has no context, and is nothing yet. */
static void
release_owner(PyObject *owner)
{
    if (PyCapsule_GetContext(owner) == NULL) return;
    if (PyCapsule_IsValid(owner, owner_names[1])) {
        wk_dl_delete(PyCapsule_GetPointer(owner, owner_names[1]));
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    DLManagedTensor *plain = PyCapsule_GetPointer(owner, owner_names[0]);
    if (plain->deleter) plain->deleter(plain);
    PyErr_Restore(type, value, traceback);
}

PyObject *
wk_dl_over_host(const wk_dl_view *v, PyObject *owner)
{
    const int own = v->empty && v->start == NULL; /* NumPy wants an address all the same */
    PyArray_Descr *descr = wk_descr_of(v->dtype);
    if (descr == NULL) return NULL;
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, v->ndim, v->shape,
                                           own ? NULL : v->strides, own ? NULL : v->start,
                                           v->read_only ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (array == NULL || own || owner == NULL) return array;
    if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) < 0) Py_CLEAR(array);
    return array;
}

/* By way of foreign(), which finds out whose memory it is. */
static PyObject *
over_device(PyObject *module, const wk_dl_view *v, PyObject *stream, PyObject *owner)
{
    PyObject *array = NULL;
    PyObject *address = PyLong_FromVoidPtr(v->start);
    PyObject *shape = wk_tuple_of(v->shape, v->ndim, 1);
    PyObject *strides = wk_tuple_of(v->strides, v->ndim, 1);
    PyObject *typestr = PyUnicode_FromString(wk_typestr_of(v->dtype));
    PyObject *ordinal = PyLong_FromLong(v->device.device_id);
    if (address && shape && strides && typestr && ordinal) {
        PyObject *const args[] = {
            address, shape,   strides, typestr, v->read_only ? Py_True : Py_False,
            stream,  Py_None, ordinal, owner};
        array = wk_foreign(module, args, 0);
    }
    Py_XDECREF(ordinal);
    Py_XDECREF(address);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(typestr);
    if (array == NULL || v->empty || v->device.device_type != kDLCUDA) return array;
    const wk_memory *m = ((wk_device_array *)array)->memory;
    if (m->kind == WK_CUDA && m->ordinal != v->device.device_id) {
        PyErr_Format(PyExc_BufferError, "DLPack: said to be of CUDA device %d, it lies on %d",
                     (int)v->device.device_id, m->ordinal);
        Py_CLEAR(array);
    }
    return array;
}

/* An array that owns the tensor from now on; NULL: it is still its owner's. */
static PyObject *
array_over(PyObject *module, void *managed, int kind, const wk_dl_view *v, PyObject *stream)
{
    PyObject *array = NULL, *owner = PyCapsule_New(managed, owner_names[kind], release_owner);
    if (owner) {
        const int type = v->device.device_type;
        const int host = type == kDLCPU || type == kDLCUDAHost;
        array = host ? wk_dl_over_host(v, owner) : over_device(module, v, stream, owner);
    }
    if (array) PyCapsule_SetContext(owner, managed); /* its end is the tensor's */
    Py_XDECREF(owner);
    return array;
}

PyObject *
wk_dl_import(PyObject *module, DLManagedTensorVersioned *managed, PyObject *stream)
{
    wk_dl_view v;
    if (check_versioned(managed, &v) == NULL) return NULL;
    return array_over(module, managed, 1, &v, stream);
}

PyObject *
wk_py_from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_dl_view v;
    int kind;
    if (wk_check_count("from_dlpack", count, 2) < 0) return NULL;
    void *managed = claim(args[0], &kind, &v);
    if (managed == NULL) return NULL;
    PyObject *array = array_over(module, managed, kind, &v, args[1]);
    if (array == NULL) PyCapsule_SetName(args[0], fresh_names[kind]);
    return array;
}
