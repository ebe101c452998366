/* convert.c -- Python objects to the contract's structs, and its errors to exceptions. */
#include "glue.h"

#include "settings.h"

const char *
wk_text_of(PyObject *object)
{
    Py_ssize_t length;
    if (!PyUnicode_Check(object)) return NULL;
    const char *text = PyUnicode_AsUTF8AndSize(object, &length);
    if (text == NULL) PyErr_Clear();
    return text && strlen(text) == (size_t)length ? text : NULL;
}

/* Of ml_dtypes, which is not a part of NumPy, and is known by its name. */
static int
is_bfloat16(const PyArray_Descr *d)
{
    if (d->type_num < NPY_USERDEF || PyDataType_ELSIZE(d) != 2) return 0;
    const char *name = d->typeobj->tp_name, *dot = strrchr(name, '.');
    return strcmp(dot ? dot + 1 : name, wk_dtype_names[WK_BF16]) == 0;
}

int
wk_dtype_of(const PyArray_Descr *d)
{
    const npy_intp size = PyDataType_ELSIZE(d);
    if (is_bfloat16(d)) return WK_BF16;
    if (d->kind == 'b') return WK_BOOL;
    if (d->kind == 'f')
        return size == 2 ? WK_F16 : size == 4 ? WK_F32 : size == 8 ? WK_F64 : -1;
    if (d->kind == 'c') return size == 8 ? WK_C64 : size == 16 ? WK_C128 : -1;
    if (d->kind != 'i' && d->kind != 'u') return -1; /* kind and size: longlong is int64 too */
    const int u = d->kind == 'u';
    switch (size) {
    case 1: return u ? WK_U8 : WK_I8;
    case 2: return u ? WK_U16 : WK_I16;
    case 4: return u ? WK_U32 : WK_I32;
    case 8: return u ? WK_U64 : WK_I64;
    default: return -1;
    }
}

static PyArray_Descr *
bfloat16_descr(void)
{
    PyObject *module = PyImport_ImportModule("ml_dtypes"), *descr = NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, wk_dtype_names[WK_BF16]) : NULL;
    if (type) descr = (PyObject *)PyArray_DescrFromTypeObject(type);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return (PyArray_Descr *)descr;
}

PyArray_Descr *
wk_descr_of(wk_dtype dtype)
{
    static const int types[WK_DTYPES] = {NPY_BOOL,   NPY_INT8,   NPY_UINT8,  NPY_INT16,
                                         NPY_UINT16, NPY_INT32,  NPY_UINT32, NPY_INT64,
                                         NPY_UINT64, NPY_HALF,   NPY_VOID,   NPY_FLOAT,
                                         NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
    return dtype == WK_BF16 ? bfloat16_descr() : PyArray_DescrFromType(types[dtype]);
}

int
wk_dtype_arg(PyObject *object)
{
    PyArray_Descr *descr = NULL;
    if (PyUnicode_Check(object) &&
        PyUnicode_CompareWithASCIIString(object, wk_dtype_names[WK_BF16]) == 0)
        return WK_BF16; /* NumPy knows the name once ml_dtypes is imported */
    if (!PyArray_DescrConverter(object, &descr)) return -1;
    const int dtype = PyArray_ISNBO(descr->byteorder) ? wk_dtype_of(descr) : -1;
    if (dtype < 0)
        PyErr_Format(PyExc_TypeError, "dtype %S is not taken; there are: " WK_DTYPE_LIST,
                     descr);
    Py_DECREF(descr);
    return dtype;
}

static int
whole_strides(PyArrayObject *a)
{
    for (int d = 0; d < PyArray_NDIM(a); d++)
        if (PyArray_STRIDE(a, d) % PyArray_ITEMSIZE(a) != 0 && PyArray_DIM(a, d) > 1) return 0;
    return 1;
}

PyArrayObject *
wk_numpy_of(PyObject *object)
{
    PyArrayObject *a =
        (PyArrayObject *)(PyArray_Check(object)
                              ? Py_NewRef(
                                    object) /* NumPy would look up its dtype's casts first */
                              : PyArray_FROM_O(object));
    if (a && wk_check_unmasked((PyObject *)a) < 0) Py_CLEAR(a);
    if (a == NULL) return NULL;
    const int dtype = wk_dtype_of(PyArray_DESCR(a));
    if (dtype < 0) {
        wk_refuse_dtype(object, a);
        Py_DECREF(a);
        return NULL;
    }
    if (!PyArray_ISALIGNED(a) || PyArray_ISBYTESWAPPED(a) || !whole_strides(a)) {
        PyArray_Descr *native = PyArray_DescrNewByteorder(PyArray_DESCR(a), NPY_NATIVE);
        PyObject *copy =
            native ? PyArray_FromArray(a, native, NPY_ARRAY_ENSURECOPY | NPY_ARRAY_ALIGNED)
                   : NULL;
        Py_SETREF(a, (PyArrayObject *)copy);
    }
    return a;
}

/* "cuda", "cuda:1", "cuda:all". */
static int
parse_device(const char *text, wk_device *device)
{
    for (int kind = 0; kind < WK_KINDS; kind++) {
        const size_t n = strlen(wk_kind_names[kind]);
        if (strncmp(text, wk_kind_names[kind], n) != 0) continue;
        char *end = (char *)text + n;
        long ordinal = 0;
        *device = (wk_device){.kind = kind, .given = 1};
        if (kind != WK_CPU && strcmp(end, ":all") == 0) {
            device->devices = UINT32_MAX;
            return 1;
        }
        if (*end == ':' && end[1] >= '0' && end[1] <= '9') ordinal = strtol(end + 1, &end, 10);
        if (*end != '\0' || ordinal > 1000) continue;
        device->ordinal = (uint16_t)ordinal;
        return 1;
    }
    return 0;
}

/* A list or tuple of devices of one kind. */
static int
parse_devices(PyObject *list, wk_device *device)
{
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
    wk_device all = {.given = 0}, one;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        if (!PyUnicode_Check(item)) { /* nor a list, which might be this one */
            PyErr_Format(PyExc_TypeError, "a list of devices names them by str, not by %.100s",
                         Py_TYPE(item)->tp_name);
            return 0;
        }
        if (!wk_device_arg(item, &one)) return 0;
        const int fits = one.given == 1 && one.devices == 0 && one.kind != WK_CPU &&
                         one.ordinal < 32 && (i == 0 || one.kind == all.kind);
        if (!fits || all.devices >> one.ordinal & 1) {
            PyErr_Format(
                PyExc_ValueError,
                "devices %R: a list names different GPUs, such as ['cuda:0', 'cuda:1']", list);
            return 0;
        }
        if (i == 0) all = one;
        all.devices |= (uint32_t)1 << one.ordinal;
    }
    if (n == 0) PyErr_SetString(PyExc_ValueError, "an empty list of devices");
    *device = all;
    return n > 0;
}

int
wk_device_arg(PyObject *object, void *slot)
{
    wk_device *device = slot;
    *device = (wk_device){.given = 0};
    if (object == Py_None) return 1;
    if (PyList_Check(object) || PyTuple_Check(object)) return parse_devices(object, device);
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError,
                     "device must be a str, a list of them, or None, not %.100s",
                     Py_TYPE(object)->tp_name);
        return 0;
    }
    const char *text = wk_text_of(object);
    if (text && strcmp(text, "auto") == 0) {
        device->given = 2;
        return 1;
    }
    if (text && parse_device(text, device)) return 1;
    static const char *const names[] = {"cpu", "cuda:0", "cuda", "cuda:all", "auto", "emu"};
    char meant[WK_MEANT] = "";
    if (text) wk_meant(meant, strncmp(text, "gpu", 3) == 0 ? "cuda" : text, names, 6);
    PyErr_Format(
        PyExc_ValueError,
        "unknown device %R%s; a device is 'cpu', 'cuda', 'cuda:1', 'cuda:all', 'auto' or "
        "'emu', and warpkit.devices() lists those present",
        object, meant);
    return 0;
}

void
wk_from_numpy(PyArrayObject *a, wk_array *w)
{
    w->dtype = (wk_dtype)wk_dtype_of(PyArray_DESCR(a));
    w->ndim = PyArray_NDIM(a);
    for (int d = 0; d < w->ndim; d++) {
        w->shape[d] = PyArray_DIM(a, d);
        w->strides[d] = w->shape[d] > 1 ? PyArray_STRIDE(a, d) / PyArray_ITEMSIZE(a) : 0;
    }
    wk_set_block(w, PyArray_DATA(a));
}

PyArrayObject *
wk_contiguous(PyArrayObject *a)
{
    PyArrayObject *c = (PyArrayObject *)PyArray_FromArray(a, NULL, NPY_ARRAY_CARRAY_RO);
    Py_DECREF(a);
    return c;
}

int
wk_check_axis(wk_state *state, Py_ssize_t axis, int ndim)
{
    if (axis >= -ndim && axis < ndim) return (int)(axis < 0 ? axis + ndim : axis);
    PyObject *error = PyObject_CallFunction(state->axis_error, "ni", axis, ndim);
    if (error) PyErr_SetObject(state->axis_error, error);
    Py_XDECREF(error);
    return -1;
}

const wk_slot *
wk_load_slot(wk_state *state, wk_kind kind)
{
    const wk_slot *slot = &state->context->slots[kind];
    if (atomic_load(&slot->tried)) return slot; /* every call but the first */
    Py_BEGIN_ALLOW_THREADS
    slot = wk_slot_of(state->context, kind);
    Py_END_ALLOW_THREADS
    return slot;
}

int
wk_choose_device(wk_state *state, wk_device *device)
{
    if (device->given) return 0;
    PyObject *scope = NULL;
    if (PyContextVar_Get(state->scope, NULL, &scope) < 0) return -1;
    const int ok = scope == NULL || wk_device_arg(scope, device);
    Py_XDECREF(scope);
    if (!ok) return -1;
    if (device->given) return 0;
    *device = state->preferred;
    if (device->given) return 0;
    const wk_settings *settings = wk_settings_now();
    if (settings->error.status) {
        wk_raise(state, &settings->error);
        return -1;
    }
    const wk_setting *wanted = &settings->of[WK_SET_DEVICE];
    if (wanted->given) {
        PyObject *text = PyUnicode_DecodeFSDefault(wanted->text);
        const int ok = text ? wk_device_arg(text, device) : 0;
        Py_XDECREF(text);
        return ok ? 0 : -1;
    }
    const int gpus = wk_load_slot(state, WK_CUDA)->count;
    *device = (wk_device){.kind = gpus > 0 ? WK_CUDA : WK_CPU, .given = 1};
    return 0;
}

int
wk_check_count(const char *name, Py_ssize_t count, Py_ssize_t wanted)
{
    if (count == wanted) return 0;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", name, wanted, count);
    return -1;
}

void
wk_raise(wk_state *state, const wk_error *e)
{
    if (e->status == WK_EINTERRUPT) return; /* the handler's exception is set */
    PyObject *type = e->status == WK_EVALUE    ? PyExc_ValueError
                     : e->status == WK_ETYPE   ? PyExc_TypeError
                     : e->status == WK_EMEMORY ? PyExc_MemoryError
                                               : state->device_error;
    PyErr_SetString(type, e->text);
}
