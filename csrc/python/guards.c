/* guards.c -- what no argument may be, whatever the operation: masked, in another result's memory, or
 * resized since its address was taken. */
#include "glue.h"

/* Of a subclass of ndarray. Nobody has a masked array who has not imported numpy.ma. */
static int
is_masked(PyObject *array)
{
    PyObject *name = PyUnicode_InternFromString("numpy.ma");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, "MaskedArray") : NULL;
    const int found = type ? PyObject_IsInstance(array, type) : PyErr_Occurred() ? -1 : 0;
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return found;
}

int
wk_check_unmasked(PyObject *object)
{
    if (!PyArray_Check(object) || PyArray_CheckExact(object)) return 0;
    const int masked = is_masked(object);
    if (masked > 0)
        PyErr_SetString(
            PyExc_TypeError,
            "masked arrays are not taken, since no operation looks at the mask: "
            "pass a.filled(...), or a.data, with where=~a.mask where that is taken");
    return masked ? -1 : 0;
}

/* unmasked(object) -> object, for the Python side. */
PyObject *
wk_py_unmasked(PyObject *Py_UNUSED(module), PyObject *object)
{
    return wk_check_unmasked(object) < 0 ? NULL : Py_NewRef(object);
}

/* ---- dtypes ------------------------------------------------------------------------------- */

/* What to do with objects instead. */
static const char *
remedy(PyObject *object)
{
    if (PyArray_Check(object)) return "if they are numbers, pass a.astype(...)";
    if (PyObject_HasAttrString(object, "nnz")) return "pass its .toarray()";
    if (PyObject_HasAttrString(object, "to_numpy"))
        return "pass its columns of numbers, by .to_numpy(...)";
    return "pass an array of numbers";
}

/* Of objects the first that is no number, else the last. */
static PyObject *
one_of(PyArrayObject *a)
{
    PyObject *told = NULL, *all = PyArray_IterNew((PyObject *)a);
    for (PyObject *next; all && (next = PyIter_Next(all));) {
        Py_XSETREF(told, next);
        if (!PyNumber_Check(told)) break;
    }
    Py_XDECREF(all);
    return told;
}

void
wk_refuse_dtype(PyObject *object, PyArrayObject *a)
{
    PyArray_Descr *descr = PyArray_DESCR(a);
    if (descr->type_num != NPY_OBJECT) {
        PyErr_Format(PyExc_TypeError, "dtype %S is not taken; there are: " WK_DTYPE_LIST,
                     descr);
        return;
    }
    PyObject *told = one_of(a);
    const int apart = told && told != object;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "dtype object is not taken: this is of type %.100s%s%.100s; %s, of "
                     "dtype " WK_DTYPE_LIST,
                     Py_TYPE(object)->tp_name, apart ? ", and an element of type " : "",
                     apart ? Py_TYPE(told)->tp_name : "", remedy(object));
    Py_XDECREF(told);
}

/* ---- results in each other's memory -------------------------------------------------------- */

typedef struct layout {      /* of an out; never read through */
    char *start;             /* of element [0, ..., 0] */
    int64_t item, low, high; /* bytes of an element; where elements begin and end, from start */
    int ndim;
    const npy_intp *shape;
    npy_intp strides[WK_MAX_DIMS]; /* in bytes */
} layout;

static void
layout_of(const wk_operand *out, layout *l)
{
    const wk_device_array *d = out->on_device ? (wk_device_array *)out->array : NULL;
    PyArrayObject *a = (PyArrayObject *)out->array;
    l->start = d ? d->start : PyArray_BYTES(a);
    l->item = d ? wk_itemsize[d->dtype] : PyArray_ITEMSIZE(a);
    l->ndim = d ? d->ndim : PyArray_NDIM(a);
    l->shape = d ? d->shape : PyArray_DIMS(a);
    l->low = 0;
    l->high = l->item;
    for (int i = 0; i < l->ndim; i++) {
        if (l->shape[i] == 0) {
            l->low = l->high = 0;
            return;
        }
        l->strides[i] = d ? d->strides[i] * l->item : PyArray_STRIDE(a, i);
        const int64_t reach = (l->shape[i] - 1) * l->strides[i];
        *(reach < 0 ? &l->low : &l->high) += reach;
    }
}

/* Views that are woven into each other share no byte: NumPy finds out, which looks at places alone. */
static int
woven(const layout *a, const layout *b)
{
    enum { MOST_WORK = 1000000 }; /* trials: about 10 ms; who needs more is taken to overlap */
    const layout *const both[2] = {a, b};
    PyObject *array[2] = {NULL, NULL}, *answer = NULL;
    for (int i = 0; i < 2; i++)
        array[i] = PyArray_New(&PyArray_Type, both[i]->ndim, both[i]->shape, NPY_VOID,
                               both[i]->strides, both[i]->start, (int)both[i]->item, 0, NULL);
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy && array[0] && array[1])
        answer = PyObject_CallMethod(numpy, "may_share_memory", "OOi", array[0], array[1],
                                     MOST_WORK);
    const int apart = answer ? !PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    Py_XDECREF(numpy);
    Py_XDECREF(array[0]);
    Py_XDECREF(array[1]);
    return apart;
}

int
wk_check_apart(const wk_operand *outs, int count)
{
    layout a, b;
    for (int i = 1; i < count; i++) {
        layout_of(&outs[i], &a);
        for (int j = 0; j < i; j++) {
            layout_of(&outs[j], &b);
            if (!wk_overlap(a.start + a.low, a.high - a.low, b.start + b.low, b.high - b.low))
                continue;
            const int apart = woven(&a, &b);
            if (apart == 0)
                PyErr_Format(PyExc_ValueError,
                             "out[%d] and out[%d] overlap; each result needs its own memory", j,
                             i);
            if (apart <= 0) return -1;
        }
    }
    return 0;
}

/* ---- arrays that are resized meanwhile ------------------------------------------------------ */

static npy_intp
count_of(const PyArrayObject *a)
{
    npy_intp n = 1;
    for (int d = 0; d < PyArray_NDIM(a); d++) n *= PyArray_DIM(a, d);
    return n;
}

void
wk_take(PyArrayObject *a, wk_array *w, wk_taken *taken)
{
    wk_from_numpy(a, w);
    *taken = (wk_taken){.array = a, .data = PyArray_DATA(a), .count = count_of(a)};
}

static int
moved(const wk_taken *t)
{
    PyArrayObject *a = (PyArrayObject *)t->array;
    return a && (PyArray_DATA(a) != t->data || count_of(a) != t->count);
}

int
wk_check_taken(const wk_frame *f)
{
    int any = moved(&f->in) | moved(&f->masks) | moved(&f->aux);
    for (int i = 0; i < WK_MAX_OUTS && f->results[i].array; i++) any |= moved(&f->outs[i]);
    if (any)
        PyErr_SetString(PyExc_RuntimeError,
                        "an array was resized while the call was being prepared");
    return any ? -1 : 0;
}
