/* foreign.c -- arrays over memory of a device that another library holds, by its address. */
#include "glue.h"

static int
dtype_of_typestr(PyObject *text)
{
    const char *s = wk_text_of(text);
    for (int d = 0; s && d < WK_DTYPES; d++) {
        const char *name = wk_typestr_of(d);
        const int single = wk_itemsize[d] == 1;           /* then the byte order says nothing */
        const int any = name[0] == '<' || name[0] == '|'; /* else it is a name */
        if (strcmp(s + (*s != '\0'), name + 1) == 0 &&
            (*s == name[0] || (any && *s == '=') || (single && strchr("<>|", *s))))
            return d;
    }
    PyErr_Format(PyExc_TypeError,
                 "typestr %R is not taken; warpkit takes bool, integers of 8 to 64 bits, "
                 "float16, float32, float64, complex64 and complex128 in native byte order",
                 text);
    return -1;
}

static const wk_slot *
locate(wk_state *state, const void *address, wk_device *device, int64_t *left)
{
    static const wk_kind kinds[] = {WK_CUDA, WK_EMU};
    for (int i = 0; i < 2; i++) {
        const wk_slot *slot = &state->context->slots[kinds[i]];
        if (kinds[i] == WK_CUDA) slot = wk_load_slot(state, WK_CUDA);
        if (!atomic_load(&slot->tried) || slot->count == 0) continue;
        int ordinal = 0;
        if (!slot->backend->locate(address, &ordinal, left)) continue;
        *device = (wk_device){.kind = kinds[i], .given = 1, .ordinal = (uint16_t)ordinal};
        return slot;
    }
    PyErr_Format(PyExc_ValueError, "address %p is in the memory of no device that warpkit sees",
                 address);
    return NULL;
}

/* Whose memory lies from low to high, both included: that of one allocation, as a gap would be an
 * illegal address in a kernel. What is mapped in pieces is one allocation to the driver, of which the
 * end may be missing. */
static const wk_slot *
locate_all(wk_state *state, const char *low, const char *high, wk_device *device)
{
    int64_t left;
    wk_device last;
    if (low == high) return locate(state, low, device, NULL);
    const wk_slot *slot = locate(state, low, device, &left);
    if (slot == NULL) return NULL;
    if (left > 0 && high - low >= left) {
        PyErr_Format(
            PyExc_ValueError,
            "the array's %lld bytes from address %p on reach beyond the memory that was "
            "allocated there, of which %lld are left",
            (long long)(high - low) + 1, low, (long long)left);
        return NULL;
    }
    if (locate(state, high, &last, NULL) == slot && last.ordinal == device->ordinal)
        return slot;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "the array's elements lie on several devices");
    return NULL;
}

static int
too_large(PyObject *shape, PyObject *strides)
{
    PyErr_Format(PyExc_ValueError, "shape %R with strides %R overflows", shape, strides);
    return -1;
}

/* Extents, and strides in bytes: C order where none are given. */
static int
read_layout(int64_t item, PyObject *shape_arg, PyObject *strides_arg, int *ndim,
            npy_intp *extents, int64_t *strides)
{
    int64_t shape[WK_MAX_DIMS], size = 1;
    *ndim = wk_int64s_of(shape_arg, shape, -1);
    if (*ndim < 0) return -1;
    if (strides_arg != Py_None && wk_int64s_of(strides_arg, strides, *ndim) < 0) return -1;
    for (int d = *ndim - 1; d >= 0; d--) {
        if (shape[d] < 0) {
            PyErr_Format(PyExc_ValueError, "shape %R has a negative extent", shape_arg);
            return -1;
        }
        if (strides_arg == Py_None) strides[d] = size * item;
        if (__builtin_mul_overflow(size, shape[d] > 0 ? shape[d] : 1, &size) ||
            size > INT64_MAX / 16)
            return too_large(shape_arg, strides_arg);
        extents[d] = shape[d];
    }
    return 0;
}

/* Fills shape and strides (in elements), and checks that the elements' addresses make sense. 0: there
 * are no elements, and the address means nothing. */
static int
check_layout(size_t address, int dtype, PyObject *shape_arg, PyObject *strides_arg, int *ndim,
             npy_intp *shape, int64_t *strides)
{
    int64_t low = 0, high = 0, item = wk_itemsize[dtype];
    if (read_layout(item, shape_arg, strides_arg, ndim, shape, strides) < 0) return -1;
    for (int d = 0; d < *ndim; d++) {
        int64_t reach = 0;
        if (strides[d] % item != 0 && shape[d] > 1) {
            PyErr_Format(PyExc_ValueError,
                         "strides %R are not multiples of the %lld bytes of an "
                         "element",
                         strides_arg, (long long)item);
            return -1;
        }
        if (__builtin_mul_overflow(shape[d] > 0 ? shape[d] - 1 : 0, strides[d], &reach) ||
            __builtin_add_overflow(*(reach < 0 ? &low : &high), reach,
                                   reach < 0 ? &low : &high))
            return too_large(shape_arg, strides_arg);
        strides[d] /= item;
    }
    const __int128 lowest = (__int128)address + low, highest = (__int128)address + high + item;
    if (lowest < 0 || highest > (__int128)INT64_MAX) return too_large(shape_arg, strides_arg);
    for (int d = 0; d < *ndim; d++)
        if (shape[d] == 0) return 0;
    if (address == 0 || address % (size_t)item != 0) {
        PyErr_Format(PyExc_ValueError,
                     address == 0 ? "a null pointer for an array that has elements"
                                  : "address 0x%zx is not aligned to the elements, complex "
                                    "ones as a whole; copy the array first",
                     address);
        return -1;
    }
    return 1;
}

/* No elements lie anywhere: on the GPU of this number, or on the emulated one. */
static const wk_slot *
slot_of_nothing(wk_state *state, PyObject *number, wk_device *device)
{
    const long ordinal = PyLong_AsLong(number);
    if (ordinal == -1 && PyErr_Occurred()) return NULL;
    const wk_slot *slot = wk_load_slot(state, WK_CUDA);
    if (slot->count == 0) slot = wk_load_slot(state, device->kind = WK_EMU);
    device->ordinal = (uint16_t)(ordinal > 0 ? ordinal : 0);
    if (device->ordinal < slot->count) return slot;
    PyErr_SetString(state->device_error, "there is no such device");
    return NULL;
}

/* The GPU that a library says its own array is on; NULL: it says nothing, or names none of ours. */
static const wk_slot *
slot_told(wk_state *state, PyObject *number, wk_device *device)
{
    const long ordinal = number == Py_None ? -1 : PyLong_AsLong(number);
    const wk_slot *slot = ordinal < 0 ? NULL : wk_load_slot(state, WK_CUDA);
    if (slot == NULL || ordinal >= slot->count) return NULL;
    device->ordinal = (uint16_t)ordinal;
    return slot;
}

typedef struct layout {
    int ndim, filled;
    npy_intp shape[WK_MAX_DIMS];
    int64_t strides[WK_MAX_DIMS]; /* in elements */
    char *low, *high;             /* the first byte, and the last */
} layout;

static void
reach_of(char *address, int64_t item, layout *l)
{
    l->low = address;
    l->high = address + item - 1;
    for (int d = 0; l->filled && d < l->ndim; d++) {
        const int64_t reach = (l->shape[d] - 1) * l->strides[d] * item;
        *(reach < 0 ? &l->low : &l->high) += reach;
    }
}

/* Where one pointer lies takes as long to ask as half of all the rest, so a library is believed. */
static const wk_slot *
slot_of(wk_state *state, PyObject *number, int believed, const layout *l, wk_device *device)
{
    const wk_slot *told = slot_told(state, number, device);
    if (PyErr_Occurred()) return NULL;
    if (told && (believed || !l->filled)) return told;
    if (!l->filled) return slot_of_nothing(state, number, device);
    return locate_all(state, l->low, told ? l->low : l->high, device);
}

PyObject *
wk_foreign(PyObject *module, PyObject *const *args, int believed)
{
    wk_state *state = wk_state_of(module);
    wk_device device = {.kind = WK_CUDA, .given = 1};
    layout l;
    const size_t address = PyLong_AsSize_t(args[0]);
    if (address == (size_t)-1 && PyErr_Occurred()) return NULL;
    const int dtype = dtype_of_typestr(args[3]);
    if (dtype < 0) return NULL;
    l.filled = check_layout(address, dtype, args[1], args[2], &l.ndim, l.shape, l.strides);
    if (l.filled < 0) return NULL;
    reach_of((char *)address, wk_itemsize[dtype], &l);
    void *stream = args[5] == Py_None ? WK_DEFAULT_STREAM : PyLong_AsVoidPtr(args[5]);
    if (stream == NULL && PyErr_Occurred()) return NULL;
    const int readonly = PyObject_IsTrue(args[4]);
    const wk_slot *slot = readonly < 0 ? NULL : slot_of(state, args[7], believed, &l, &device);
    if (slot == NULL) return NULL;
    wk_memory *m = wk_memory_new(state, slot, device, stream ? stream : WK_DEFAULT_STREAM,
                                 args[8], args[6] == Py_None ? NULL : args[6]);
    if (m == NULL) return NULL;
    m->readonly = readonly;
    return (PyObject *)wk_array_over(state, m, (void *)address, dtype, l.ndim, l.shape,
                                     l.strides);
}

PyObject *
wk_py_foreign(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return wk_check_count("foreign", count, 9) < 0 ? NULL : wk_foreign(module, args, 1);
}
