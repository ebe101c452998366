/* op_transpose.c -- _core.transpose(a, axes, options ...) */
#include "glue.h"
#include "plan.h"
#include "tiles.h"

#include <string.h>

/* None (reversed) or a sequence that names every axis once. */
static int
permutation_of(wk_state *state, PyObject *axes, int ndim, int *order)
{
    for (int d = 0; d < ndim; d++) order[d] = ndim - 1 - d;
    if (axes == Py_None) return 0;

    PyObject *list = PySequence_Fast(axes, "axes must be None or a sequence of ints");
    if (list && PyList_Check(list))
        Py_SETREF(list, PyList_AsTuple(list)); /* nobody changes it */
    if (list == NULL) return -1;
    int status = -1;
    uint64_t seen = 0;
    if (PySequence_Fast_GET_SIZE(list) != ndim) {
        PyErr_Format(PyExc_ValueError, "axes don't match array: %zd axes for an array of %d",
                     PySequence_Fast_GET_SIZE(list), ndim);
        goto done;
    }
    for (int i = 0; i < ndim; i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(list, i);
        const Py_ssize_t number = PyNumber_AsSsize_t(one, PyExc_OverflowError);
        if (PyBool_Check(one))
            PyErr_SetString(PyExc_TypeError, "an integer is required for an axis, not bool");
        if (PyErr_Occurred()) goto done;
        const int d = wk_check_axis(state, number, ndim);
        if (d < 0) goto done;
        if (seen >> d & 1) {
            PyErr_Format(PyExc_ValueError, "repeated axis in transpose: axis %d is given twice",
                         d);
            goto done;
        }
        seen |= (uint64_t)1 << d;
        order[i] = d;
    }
    status = 0;
done:
    Py_DECREF(list);
    return status;
}

/* The rung "copy" leaves the elements in the order of the memory. That order is the plan's and not
 * the kernel's business: the call may come to the kernel in pieces, or packed. */
static int
is_copy(const char *variant)
{
    return variant && strcmp(variant, "copy") == 0;
}

/* The axes' numbers may be code of the caller's: so they come before the array's address. */
static int
place(wk_frame *f, PyObject *axes, int *order)
{
    const wk_operand *a = &f->operand;
    const int ndim = a->on_device ? ((wk_device_array *)a->array)->ndim
                                  : PyArray_NDIM((PyArrayObject *)a->array);
    if (permutation_of(f->state, axes, ndim, order) < 0 || wk_place(f) < 0) return -1;
    if (f->call.in.ndim == ndim) return 0;
    PyErr_SetString(PyExc_RuntimeError, "the array was resized while its axes were read");
    return -1;
}

static int
transpose(wk_frame *f, PyObject *axes)
{
    int order[WK_MAX_DIMS];
    npy_intp shape[WK_MAX_DIMS];
    wk_array *in = &f->call.in;
    if (place(f, axes, order) < 0) return -1;
    for (int d = 0; d < in->ndim; d++) shape[d] = in->shape[order[d]];
    if (wk_result_new(f, 0, in->dtype, in->ndim, shape) < 0) return -1;
    if (is_copy(f->options.variant))
        wk_plan_copy(in);
    else
        wk_plan_transpose(in, order);
    return wk_call_row(f);
}

PyObject *
wk_py_transpose(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("transpose", count, 2 + WK_OPTIONS) < 0) return NULL;
    int status = wk_begin(module, &f, WK_TRANSPOSE, 1, args[0], args + 2);
    if (status == 0) status = transpose(&f, args[1]);
    return wk_end(&f, status, 0);
}

/* ---- how it would be run ------------------------------------------------------------------ */

static PyObject *
side_of(int axes, const wk_tiles_axis *axis)
{
    PyObject *text = PyUnicode_FromString("");
    for (int i = axes - 1; text && i >= 0; i--)
        Py_SETREF(text, PyUnicode_FromFormat("%U%lld%s", text, (long long)axis[i].extent,
                                             i ? " x " : ""));
    return text;
}

static PyObject *
tell_tiles(const wk_tiles *p)
{
    PyObject *rows = side_of(p->row_axes, p->row), *text = NULL;
    PyObject *columns = side_of(p->column_axes, p->column);
    const int access = p->way == WK_TILES_ALIGNED || p->way == WK_TILES_SHORT ? 16
                       : p->way == WK_TILES_WORDS && p->unit < 4              ? 4
                                                                              : p->unit;
    if (rows && columns)
        text = PyUnicode_FromFormat(
            "%s: %lld tiles of %lld x %lld, rows of %U by columns of %U; %d byte%s an access%s",
            p->way == WK_TILES_SHORT     ? "short"
            : p->way == WK_TILES_ALIGNED ? "aligned"
            : p->way == WK_TILES_WORDS   ? "words"
                                         : "units",
            (long long)p->tiles, (long long)p->tile_rows, (long long)p->tile_columns, rows,
            columns, access, access == 1 ? "" : "s",
            p->lead ? "; columns' windows start with a sector of 32 bytes" : "");
    Py_XDECREF(rows);
    Py_XDECREF(columns);
    if (text && p->group > 1)
        Py_SETREF(text,
                  PyUnicode_FromFormat("%U; %d of them stay side by side", text, p->group));
    return text;
}

static PyObject *
tell_box(const wk_tiles *p)
{
    PyObject *text = PyUnicode_FromFormat("boxes: %lld tiles of ", (long long)p->tiles);
    for (int a = 0, first = 1; text && a < p->box.axes; a++) {
        if (p->box.axis[a].tile == 1) continue;
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%lld", text, first ? "" : " x ",
                                             (long long)p->box.axis[a].tile));
        first = 0;
    }
    if (text)
        Py_SETREF(text, PyUnicode_FromFormat("%U units of %d byte%s; rows of %d in, of %d out",
                                             text, p->unit, p->unit == 1 ? "" : "s",
                                             p->box.in.units, p->box.out.units));
    return text;
}

static PyObject *
tell(const wk_tiles *p)
{
    switch (p->way) {
    case WK_TILES_COPY: return PyUnicode_FromString("copy: one run of memory on both sides");
    case WK_TILES_FEW:
        return PyUnicode_FromFormat("few: a thread for each of %lld elements",
                                    (long long)p->rows);
    case WK_TILES_ROWS:
        return PyUnicode_FromFormat("rows: runs of %lld units of %d byte%s; %lld tiles",
                                    (long long)p->run, p->unit, p->unit == 1 ? "" : "s",
                                    (long long)p->tiles);
    case WK_TILES_BOXES: return tell_box(p);
    default: return tell_tiles(p);
    }
}

static PyObject *
explain(wk_frame *f, PyObject *axes)
{
    int order[WK_MAX_DIMS];
    wk_array *in = &f->call.in;
    wk_device_info info;
    wk_tiles plan;
    if (place(f, axes, order) < 0) return NULL;
    const wk_slot *slot = wk_load_slot(f->state, f->options.device.kind);
    wk_error error = {.status = WK_OK};
    if (!slot->backend || slot->backend->info(f->call.ordinal, &info, &error) != WK_OK) {
        wk_raise(f->state, &error);
        return NULL;
    }
    wk_plan_transpose(in, order);
    if (wk_size(in) == 0) return PyUnicode_FromString("nothing: no elements");
    if (info.processors == 0)
        return PyUnicode_FromString("blocked: squares of elements turned in registers");
    if (in->ndim > WK_KERNEL_AXES)
        return PyUnicode_FromFormat(
            "packed: %d axes, of which kernels take %d; element by element", in->ndim,
            WK_KERNEL_AXES);
    const uintptr_t from = in->host ? 0 : (uintptr_t)in->data + (uintptr_t)in->first;
    wk_plan_tiles(in, from, 0, info.processors, &plan);
    return tell(&plan);
}

/* explain_transpose(a, axes, options ...) -> str */
PyObject *
wk_py_explain_transpose(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("explain_transpose", count, 2 + WK_OPTIONS) < 0) return NULL;
    PyObject *text = NULL;
    if (wk_begin(module, &f, WK_TRANSPOSE, 1, args[0], args + 2) == 0)
        text = explain(&f, args[1]);
    PyObject *nothing = wk_end(&f, -1, 0);
    Py_XDECREF(nothing);
    return text;
}
