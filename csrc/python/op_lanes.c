/* op_lanes.c -- the warp primitives: shfl, vote, match, warp_reduce, warp_scan, lane_bits, lane_arrays.
 *   _core.lanes(op, kind, a, width, operand, sources or None, other, options ...)
 * other: a tuple of three ints, (offset or exclusive or each, first, second). Python's side has
 * checked what it says (warp.py); a has at least one axis, sources its shape and dtype int32. */
#include "glue.h"

#include <string.h>

static const char *const kinds[] = {"idx",     "up",   "down", "xor",       "rotate",
                                    "ballot",  "any",  "all",  "match_any", "match_all",
                                    "sum",     "min",  "max",  "bit_and",   "bit_or",
                                    "bit_xor", "popc", "fns",  "xor_array", "swap"};

static int
named(PyObject *name, const char *const *names, int count, const char *what)
{
    const char *text = wk_text_of(name);
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, names[i]) == 0) return i;
    PyErr_Format(PyExc_ValueError, "there is no %s %R", what, name);
    return -1;
}

/* Of the seven operations from shfl on. */
static const wk_lanes_kind least[] = {WK_LANES_IDX,      WK_LANES_BALLOT, WK_LANES_MATCH_ANY,
                                      WK_LANES_SUM,      WK_LANES_SUM,    WK_LANES_POPC,
                                      WK_LANES_XOR_ARRAY};
static const wk_lanes_kind most[] = {WK_LANES_ROTATE,  WK_LANES_ALL,     WK_LANES_MATCH_ALL,
                                     WK_LANES_BIT_XOR, WK_LANES_BIT_XOR, WK_LANES_FNS,
                                     WK_LANES_SWAP};

/* Both, or -1 and an error. */
static int
operation(PyObject *name, PyObject *kind_name, int *kind)
{
    const int op = named(name, wk_op_names, WK_OPS, "operation");
    *kind = op < 0 ? -1 : named(kind_name, kinds, sizeof kinds / sizeof *kinds, "kind");
    if (*kind < 0) return -1;
    if (op >= WK_SHFL && op <= WK_LANE_ARRAYS && *kind >= (int)least[op - WK_SHFL] &&
        *kind <= (int)most[op - WK_SHFL])
        return op;
    PyErr_Format(PyExc_ValueError, "operation %R of lanes has no kind %R", name, kind_name);
    return -1;
}

/* What 1 and 2 bytes are folded in. */
static wk_dtype
widened(wk_dtype dtype)
{
    switch (dtype) {
    case WK_BOOL:
    case WK_I8:
    case WK_I16: return WK_I32;
    case WK_U8:
    case WK_U16: return WK_U32;
    case WK_F16:
    case WK_BF16: return WK_F32;
    default: return dtype;
    }
}

static wk_dtype
result_of(const wk_call *call)
{
    if (call->op == WK_WARP_REDUCE || call->op == WK_WARP_SCAN) return widened(call->in.dtype);
    switch (call->args.lanes.kind) {
    case WK_LANES_BALLOT:
    case WK_LANES_MATCH_ANY:
    case WK_LANES_MATCH_ALL:
    case WK_LANES_FNS: return WK_U32;
    case WK_LANES_ANY:
    case WK_LANES_ALL: return WK_BOOL;
    case WK_LANES_POPC: return WK_I32;
    default: return call->in.dtype;
    }
}

static int
exchange(wk_frame *f)
{
    wk_call *call = &f->call;
    if (wk_place(f) < 0 || wk_contiguous_for_cpu(f) < 0) return -1;
    npy_intp shape[WK_MAX_DIMS];
    wk_lanes_args *a = &call->args.lanes;
    a->outer = 1;
    a->n = 0;
    for (int d = 0; d < call->in.ndim; d++) {
        shape[d] = call->in.shape[d];
        if (d < call->in.ndim - 1)
            a->outer *= shape[d];
        else
            a->n = shape[d];
    }
    /* Python's side has looked; a width may since have resized the array. */
    if (call->in.ndim == 0 || (a->per_lane && wk_size(&call->aux) != wk_size(&call->in)) ||
        (a->each && a->n % a->each)) {
        PyErr_SetString(PyExc_ValueError, "the lanes' sources or arrays do not fit the array");
        return -1;
    }
    if (wk_result_new(f, 0, result_of(call), call->in.ndim, shape) < 0) return -1;
    return wk_call_row(f);
}

PyObject *
wk_py_lanes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    int other[3], kind;
    PyArrayObject *sources = NULL;
    if (wk_check_count("lanes", count, 7 + WK_OPTIONS) < 0) return NULL;
    const int op = operation(args[0], args[1], &kind);
    if (op < 0 || !PyArg_ParseTuple(args[6], "iii", other, other + 1, other + 2)) return NULL;
    const long width = PyLong_AsLong(args[3]), operand = PyLong_AsLong(args[4]);
    if (PyErr_Occurred()) return NULL;

    int status = wk_begin(module, &f, (wk_op)op, 1, args[2], args + 7);
    wk_lanes_args *a = &f.call.args.lanes;
    *a = (wk_lanes_args){.kind = (wk_lanes_kind)kind, .width = (int)width};
    a->operand = (int)operand;
    a->offset = a->exclusive = other[0];
    a->each = op == WK_LANE_ARRAYS ? other[0] : 0;
    a->first = other[1];
    a->second = other[2];
    if (status == 0 && args[5] != Py_None) {
        sources = wk_numpy_of(args[5]);
        sources = sources ? wk_contiguous(sources) : NULL;
        if (sources)
            wk_take(sources, &f.call.aux, &f.aux);
        else
            status = -1;
        a->per_lane = 1;
    }
    if (status == 0) status = exchange(&f);
    Py_XDECREF(sources);
    return wk_end(&f, status, 0);
}
