/* op_reduce.c -- _core.reduce(a, op, axis, keepdims, dtype, initial, where, ddof, options ...) */
#include "glue.h"

#include "reduce.h"
#include "reduce_grid.h"

typedef struct request { /* what is asked for, beside the array and the options */
    int outs;
    wk_fold fold[WK_MAX_OUTS];
    int skip_nan[WK_MAX_OUTS]; /* for floats: cleared for others */
    Py_ssize_t *axis; /* as they were given, WK_MAX_DIMS + 1: one more is given twice */
    int axes_given;   /* -1: None */
    int lone;         /* it was no tuple */
    uint64_t axes;
    int keepdims;
    int dtype; /* -1: none was given */
    double ddof;
    PyObject *initial;                 /* NULL: no value; None: there is no identity either */
    PyArrayObject *start[WK_MAX_OUTS]; /* the initial value in each result's dtype; owned */
    PyObject *story; /* a list: passes are told there instead of run; else NULL */
} request;

static int
set_of(const wk_fold *folds, int count)
{
    int set = 0;
    for (int i = 0; i < count; i++) set |= 1 << folds[i];
    return set;
}
/* Of folds, as bits. */
#define SET(...)                                                                               \
    set_of((const wk_fold[]){__VA_ARGS__}, sizeof((wk_fold[]){__VA_ARGS__}) / sizeof(wk_fold))

/* ---- arguments ---------------------------------------------------------------------------- */

static const char *
name_of(const request *r, int i, char *text)
{
    snprintf(text, 32, "%s%s", r->skip_nan[i] ? "nan" : "", wk_fold_names[r->fold[i]]);
    return text;
}

static int
has_nan_form(wk_fold fold)
{
    return SET(WK_SUM, WK_PROD, WK_MIN, WK_MAX, WK_MEAN, WK_VAR, WK_STD, WK_ARGMIN,
               WK_ARGMAX) >>
               fold &
           1;
}

static int
unknown_op(PyObject *object)
{
    char known[500] = "";
    for (int nan = 0; nan < 2; nan++) {
        for (int f = 0; f < WK_FOLDS; f++) {
            if (nan && !has_nan_form(f)) continue;
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s'%s%s'",
                     known[0] ? ", " : "", nan ? "nan" : "", wk_fold_names[f]);
        }
    }
    PyErr_Format(PyExc_ValueError, "unknown op %R; there are: %s", object, known);
    return -1;
}

static int
fold_of(PyObject *object, wk_fold *fold, int *skip_nan)
{
    const char *text = wk_text_of(object);
    if (text == NULL) return unknown_op(object);
    *skip_nan = strncmp(text, "nan", 3) == 0;
    if (*skip_nan) text += 3;
    for (int f = 0; f < WK_FOLDS; f++) {
        if (strcmp(text, wk_fold_names[f]) != 0) continue;
        *fold = f;
        return *skip_nan && !has_nan_form(f) ? unknown_op(object) : 0;
    }
    return unknown_op(object);
}

/* A str, or a tuple of them. */
static int
folds_of(PyObject *ops, request *r)
{
    if (!PyTuple_Check(ops)) {
        r->outs = 1;
        return fold_of(ops, &r->fold[0], &r->skip_nan[0]);
    }
    r->outs = (int)PyTuple_GET_SIZE(ops);
    if (r->outs < 1 || r->outs > WK_MAX_OUTS) {
        PyErr_Format(PyExc_ValueError, "op must be one name, or a tuple of 1 to %d",
                     WK_MAX_OUTS);
        return -1;
    }
    for (int i = 0; i < r->outs; i++)
        if (fold_of(PyTuple_GET_ITEM(ops, i), &r->fold[i], &r->skip_nan[i]) < 0) return -1;
    return 0;
}

/* None, an int or a tuple of ints. No bool: so NumPy has it. */
static int
numbers_of(PyObject *axis, request *r)
{
    r->axes_given = -1;
    if (axis == Py_None) return 0;
    const int set = set_of(r->fold, r->outs);
    const int many = PyTuple_Check(axis) && !(set & SET(WK_ARGMIN, WK_ARGMAX));
    const Py_ssize_t count = many ? PyTuple_GET_SIZE(axis) : 1;
    r->axes_given = 0;
    for (Py_ssize_t i = 0; i < count && i <= WK_MAX_DIMS; i++) {
        PyObject *one = many ? PyTuple_GET_ITEM(axis, i) : axis;
        const Py_ssize_t number = PyNumber_AsSsize_t(one, PyExc_OverflowError);
        if (PyBool_Check(one))
            PyErr_SetString(PyExc_TypeError, "an integer is required for the axis, not bool");
        if (PyErr_Occurred()) return -1;
        r->axis[r->axes_given++] = number;
    }
    r->lone = !many;
    return 0;
}

/* As a set of bits. */
static int
axes_of(wk_state *state, int ndim, request *r)
{
    uint64_t *axes = &r->axes;
    *axes = 0;
    if (r->axes_given < 0) {
        *axes = ndim == 64 ? UINT64_MAX : ((uint64_t)1 << ndim) - 1;
        return 0;
    }
    const int set = set_of(r->fold, r->outs);
    for (int i = 0; i < r->axes_given; i++) {
        const Py_ssize_t number = r->axis[i];
        if (ndim == 0 && r->lone && (number == 0 || number == -1) &&
            (r->skip_nan[0] || !(set & SET(WK_MEAN, WK_VAR, WK_STD))))
            return 0; /* as in NumPy */
        const int d = wk_check_axis(state, number, ndim);
        if (d < 0) return -1;
        if (*axes >> d & 1) {
            PyErr_Format(PyExc_ValueError, "duplicate value in 'axis': axis %d is given twice",
                         d);
            return -1;
        }
        *axes |= (uint64_t)1 << d;
    }
    return 0;
}

/* True: none. Otherwise what numpy.asarray(where, bool) takes without a cast of numbers. */
static int
where_of(wk_frame *f, PyObject *where)
{
    if (where == Py_True) return 0;
    const int plain = PyList_CheckExact(where) || PyTuple_CheckExact(where) ||
                      PyLong_CheckExact(where) || PyBool_Check(where) || where == Py_None ||
                      PyArray_Check(where) || PyArray_CheckScalar(where);
    if (plain) {
        if (wk_check_unmasked(where) < 0) return -1;
        f->beside.array =
            PyArray_FromAny(where, PyArray_DescrFromType(NPY_BOOL), 0, 0, 0, NULL);
        return f->beside.array ? 0 : -1;
    }
    if (wk_operand_of(f->state, where, &f->beside) < 0) return -1;
    const wk_dtype dtype = wk_operand_dtype(&f->beside);
    if (dtype == WK_BOOL) return 0;
    PyErr_Format(PyExc_TypeError, "where must be bool, not %s", wk_dtype_names[dtype]);
    return -1;
}

/* ---- what NumPy refuses ------------------------------------------------------------------- */

static int
refuse(PyObject *type, const request *r, int i, const char *text)
{
    char name[32];
    PyErr_Format(type, "op '%s' %s", name_of(r, i, name), text);
    return -1;
}

static int
check_dtype(const request *r, int i)
{
    const int floats = SET(WK_MEAN, WK_VAR, WK_STD, WK_NORM);
    if (r->dtype < 0) return 0;
    if (!((floats | SET(WK_SUM, WK_PROD, WK_SUMSQ)) >> r->fold[i] & 1))
        return refuse(PyExc_TypeError, r, i, "takes no dtype");
    if (floats >> r->fold[i] & 1 && !wk_is_float(r->dtype) && !wk_is_complex(r->dtype))
        return refuse(PyExc_TypeError, r, i,
                      "gives no integers: dtype must be float or complex");
    return 0;
}

static int
check_op(const request *r, int i, int masked, wk_dtype in)
{
    const wk_fold fold = r->fold[i];
    if (check_dtype(r, i) < 0) return -1;
    if (fold == WK_PTP && in == WK_BOOL) {
        PyErr_SetString(PyExc_TypeError,
                        "numpy boolean subtract, the `-` operator, is not supported, use the "
                        "bitwise_xor, the `^` operator, or the logical_xor function instead.");
        return -1;
    }
    if (r->initial && !(SET(WK_SUM, WK_PROD, WK_MIN, WK_MAX) >> fold & 1))
        return refuse(PyExc_TypeError, r, i, "takes no initial");
    if (masked && SET(WK_ARGMIN, WK_ARGMAX, WK_PTP) >> fold & 1)
        return refuse(PyExc_TypeError, r, i, "takes no where");
    return 0;
}

/* NumPy's name of the ufunc that has no identity; NULL: it has one. */
static const char *
no_identity(const request *r, int i)
{
    const int given = r->initial && r->initial != Py_None, nan = r->skip_nan[i];
    if (given) return NULL;
    switch (r->fold[i]) {
    case WK_MIN: return nan ? "fmin" : "minimum";
    case WK_MAX: return nan ? "fmax" : "maximum";
    case WK_PTP: return "maximum";
    case WK_SUM: return r->initial ? "add" : NULL;
    case WK_PROD: return r->initial ? "multiply" : NULL;
    default: return NULL;
    }
}

/* The fold of nothing: an error, a warning or a value, as in NumPy. */
static int
check_empty(const request *r, int i, int masked, int64_t n, wk_dtype in)
{
    const wk_fold fold = r->fold[i];
    const char *ufunc = no_identity(r, i);
    if (ufunc && masked) {
        PyErr_Format(
            PyExc_ValueError,
            "reduction operation '%s' does not have an identity, so to use a where mask "
            "one has to specify 'initial'",
            ufunc);
        return -1;
    }
    if (ufunc && n == 0) {
        PyErr_Format(PyExc_ValueError,
                     "zero-size array to reduction operation %s which has no identity", ufunc);
        return -1;
    }
    if (n == 0 && (fold == WK_ARGMIN || fold == WK_ARGMAX)) {
        PyErr_Format(PyExc_ValueError, "attempt to get %s of an empty sequence",
                     wk_fold_names[fold]);
        return -1;
    }
    if (n == 0 && fold == WK_MEAN)
        return PyErr_WarnEx(PyExc_RuntimeWarning, "Mean of empty slice", 1);
    if ((fold == WK_VAR || fold == WK_STD) && r->ddof >= (double)n)
        return PyErr_WarnEx(PyExc_RuntimeWarning,
                            r->skip_nan[i] && in >= WK_F16 /* NumPy's nanvar has a full stop */
                                ? "Degrees of freedom <= 0 for slice."
                                : "Degrees of freedom <= 0 for slice",
                            1);
    return 0;
}

/* ---- dtypes ------------------------------------------------------------------------------- */

static int
part_of(int dtype)
{
    return dtype == WK_C64 ? WK_F32 : dtype == WK_C128 ? WK_F64 : dtype;
}

static int
bits_of(int dtype) /* of a number's magnitude */
{
    static const int bits[WK_DTYPES] = {1, 7, 8, 15, 16, 31, 32, 63, 64, 11, 8, 24, 53, 24, 53};
    return bits[dtype];
}

/* Is the fold of the elements cast to dtype= what one pass over the elements as they are gives,
 * rounded to it once? */
static int
in_registers(const request *r, int i, int in)
{
    const wk_fold fold = r->fold[i];
    const int dtype = r->dtype, whole = in < WK_F16, part = part_of(dtype);
    const int real = SET(WK_VAR, WK_STD, WK_NORM, WK_SUMSQ) >> fold & 1; /* whatever is given */
    if (dtype == in) return 1;
    if (dtype == WK_BOOL) return 0;
    if (whole && dtype < WK_F16) return 1; /* modulo 2^k: a ring's homomorphism */
    if (dtype < WK_F16 || bits_of(in) > bits_of(part)) return 0;
    if (wk_is_complex(in) != wk_is_complex(dtype) && (wk_is_complex(in) || !real)) return 0;
    if (whole) /* a product's factors are rounded in turn; an initial value may have a fraction */
        return fold != WK_PROD && r->initial == NULL;
    return in == WK_BF16 ? part != WK_F16 : part != WK_BF16; /* which has fewer digits */
}

static wk_dtype
result_dtype(const request *r, int i, wk_dtype in)
{
    const wk_fold fold = r->fold[i];
    if (r->dtype < 0) return wk_fold_dtype(fold, in);
    return SET(WK_SUM, WK_PROD, WK_MEAN) >> fold & 1 ? r->dtype : part_of(r->dtype);
}

/* The initial value as each result's dtype has it: this may run code of the caller's. */
static int
starts_of(request *r, wk_dtype in)
{
    if (r->initial == NULL || r->initial == Py_None) return 0;
    for (int i = 0; i < r->outs; i++) {
        PyArrayObject *one = (PyArrayObject *)wk_numpy_new(result_dtype(r, i, in), 0, NULL);
        if (one == NULL) return -1;
        r->start[i] = one;
        if (PyArray_Pack(PyArray_DESCR(one), PyArray_DATA(one), r->initial) < 0) return -1;
    }
    return 0;
}

static void
drop_starts(request *r)
{
    for (int i = 0; r->initial && i < r->outs; i++) Py_CLEAR(r->start[i]);
}

/* That of result i, as the family wants it. */
static int
initial_of(const request *r, int i, wk_dtype result, wk_family family, wk_reduce_args *args)
{
    args->has_initial = r->start[i] != NULL;
    if (!args->has_initial) return 0;
    PyArrayObject *one = (PyArrayObject *)Py_NewRef((PyObject *)r->start[i]);
    if (family != WK_FAMILY_EXTREME) {
        const int type = wk_is_complex(result)             ? NPY_CDOUBLE
                         : wk_is_float(result)             ? NPY_DOUBLE
                         : PyArray_DESCR(one)->kind == 'u' ? NPY_UINT64
                                                           : NPY_INT64;
        Py_SETREF(one, (PyArrayObject *)PyArray_Cast(one, type));
        if (one == NULL) return -1;
    }
    memset(args->initial.bytes, 0, sizeof args->initial.bytes);
    memcpy(args->initial.bytes, PyArray_DATA(one), (size_t)PyArray_ITEMSIZE(one));
    Py_DECREF(one);
    return 0;
}

/* ---- passes over the data ----------------------------------------------------------------- */

static const char *const families[WK_FAMILIES] = {"count of what is not zero",
                                                  "sum modulo 2^64",
                                                  "product modulo 2^64",
                                                  "product by a fixed tree",
                                                  "extremes",
                                                  "index of an extreme",
                                                  "exact sum",
                                                  "exact sum of squares",
                                                  "summary: sums, extremes and counts"};

/* Which threads fold what. */
static PyObject *
tell_grid(const wk_call *call, int processors)
{
    static const char *const kinds[] = {"bring the elements of a line", "have short rows",
                                        "have neighbouring columns"};
    const int item = wk_itemsize[call->in.dtype];
    const int exact = wk_is_float(call->in.dtype) || wk_is_complex(call->in.dtype);
    const int columns = exact ? (item <= 2   ? 4
                                 : item == 4 ? 2
                                             : 1)
                              : (item <= 4 ? 4 : 16 / item);
    wk_grid g;
    wk_plan_grid(call, processors, 3, columns, item <= 4 ? 4 : 16 / item, 2, 0, &g);
    if (g.kind != WK_BY_LINES)
        return PyUnicode_FromFormat(
            "\n  neighbouring threads %s: %d side by side, %d column%s each, %lld part%s",
            kinds[g.kind], g.kind == WK_BY_ROWS ? WK_BLOCK / g.width : g.width, g.columns,
            g.columns == 1 ? "" : "s", (long long)g.parts, g.parts == 1 ? "" : "s");
    return PyUnicode_FromFormat("\n  a team of %d thread%s, in %lld part%s, %s, %s", g.team,
                                g.team == 1 ? "" : "s", (long long)g.parts,
                                g.parts == 1 ? "" : "s", kinds[g.kind],
                                g.reads ? "16 bytes at a time" : "element by element");
}

/* How the pass would run. */
static int
tell(wk_frame *f, const request *r, int family)
{
    const wk_call *call = &f->call;
    const wk_reduce_args *args = &call->args.reduce;
    wk_device_info info;
    const wk_slot *slot = wk_load_slot(f->state, f->options.device.kind);
    wk_error error = {.status = WK_OK};
    if (!slot->backend || slot->backend->info(call->ordinal, &info, &error) != WK_OK) {
        wk_raise(f->state, &error);
        return -1;
    }
    PyObject *text = PyUnicode_FromFormat(
        "%s: %lld output%s of %lld element%s each", families[family], (long long)args->outputs,
        args->outputs == 1 ? "" : "s", (long long)args->n, args->n == 1 ? "" : "s");
    if (text && info.processors > 0 && family != WK_FAMILY_TREE) {
        wk_call paired = *call;
        if (family == WK_FAMILY_SUM) wk_pair_parts(&paired);
        PyObject *more = tell_grid(&paired, info.processors);
        Py_SETREF(text, more ? PyUnicode_Concat(text, more) : NULL);
        Py_XDECREF(more);
    }
    const int status = text ? PyList_Append(r->story, text) : -1;
    Py_XDECREF(text);
    return status;
}

/* One pass, of folds of one family; out is theirs already. */
static int
run_pass(wk_frame *f, const request *r, const int *member)
{
    wk_call *call = &f->call;
    wk_reduce_args *args = &call->args.reduce;
    wk_array *in = &call->in, *where = call->mask.ndim < 0 ? NULL : &call->mask;
    for (int i = 0; i < call->outs; i++) args->fold[i] = r->fold[member[i]];
    args->skip_nan = r->skip_nan[member[0]];
    args->planes = 1;
    args->ddof = r->ddof;
    const int family = wk_family_of(args->fold, call->outs, in->dtype);
    const int halves =
        wk_is_complex(in->dtype) && (family == WK_FAMILY_SUM || family == WK_FAMILY_SQUARES);
    if (initial_of(r, member[0], call->out[0].dtype, family, args) < 0) return -1;
    wk_plan_reduce(in, where, r->axes, family == WK_FAMILY_ARG, args);
    if (halves) wk_plan_parts(in, where, family == WK_FAMILY_SQUARES, args);
    for (int i = 0; i < call->outs && args->planes == 2; i++) wk_see_parts(&call->out[i]);
    return r->story ? tell(f, r, family) : wk_call_row(f);
}

/* Those that go with fold `first` in one pass, which are marked; how many. */
static int
pass_of(const request *r, wk_dtype in, int first, int *done, int *member)
{
    wk_fold folds[WK_MAX_OUTS];
    int count = 0;
    for (int i = first; i < r->outs; i++) {
        if (done[i] || r->skip_nan[i] != r->skip_nan[first]) continue;
        folds[count] = r->fold[i];
        const int family = wk_family_of(folds, count + 1, in);
        if (family < 0 || (count && family == WK_FAMILY_SUMMARY && r->initial)) continue;
        done[i] = 1;
        member[count++] = i;
    }
    return count;
}

static int
run_passes(wk_frame *f, const request *r)
{
    int done[WK_MAX_OUTS] = {0}, member[WK_MAX_OUTS] = {0};
    const wk_dtype in = f->call.in.dtype;
    const int count = pass_of(r, in, 0, done, member);
    if (count == r->outs) return run_pass(f, r, member);
    const wk_call whole = f->call;
    int status = 0;
    memset(done, 0, sizeof done);
    for (int first = 0; first < r->outs && status == 0; first++) {
        if (done[first]) continue;
        f->call = whole;
        f->call.outs = pass_of(r, in, first, done, member);
        for (int i = 0; i < f->call.outs; i++) f->call.out[i] = whole.out[member[i]];
        status = run_pass(f, r, member);
    }
    f->call.outs = r->outs;
    return status;
}

/* Of a fold that found no element there is no index: -1, which the host does not give away. */
static int
check_indices(const wk_frame *f, const request *r)
{
    for (int i = 0; i < r->outs; i++) {
        PyArrayObject *a = (PyArrayObject *)f->results[i].array;
        if (!r->skip_nan[i] || !(SET(WK_ARGMIN, WK_ARGMAX) >> r->fold[i] & 1)) continue;
        if (!PyArray_Check((PyObject *)a)) continue;
        const int64_t *index = PyArray_DATA(a);
        for (npy_intp k = 0; k < PyArray_SIZE(a); k++) {
            if (index[k] >= 0) continue;
            PyErr_SetString(PyExc_ValueError, "All-NaN slice encountered");
            return -1;
        }
    }
    return 0;
}

static int
reduce(wk_frame *f, request *r)
{
    npy_intp shape[WK_MAX_DIMS];
    int kept = 0;
    int64_t n = 1;
    const wk_array *in = &f->call.in;
    const int masked = f->beside.array != NULL;
    const wk_dtype dtype = wk_operand_dtype(&f->operand);
    for (int i = 0; i < r->outs; i++)
        if (check_op(r, i, masked, dtype) < 0) return -1;
    if (starts_of(r, dtype) < 0 || wk_place(f) < 0 || wk_place_beside(f, "where") < 0)
        return -1;
    if (axes_of(f->state, in->ndim, r) < 0) return -1;
    for (int d = 0; d < in->ndim; d++) {
        const int folds = r->axes >> d & 1;
        if (folds) n *= in->shape[d];
        if (!folds || r->keepdims) shape[kept++] = folds ? 1 : in->shape[d];
    }
    for (int i = 0; i < r->outs; i++)
        if (check_empty(r, i, masked, n, dtype) < 0) return -1;
    for (int i = 0; i < r->outs; i++)
        if (wk_result_new(f, i, result_dtype(r, i, in->dtype), kept, shape) < 0) return -1;
    for (int i = 0; i < r->outs; i++)
        r->skip_nan[i] &= wk_is_float(in->dtype) || wk_is_complex(in->dtype);
    if (run_passes(f, r) < 0) return -1;
    return r->story ? 0 : check_indices(f, r);
}

static PyObject *
entry(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *story)
{
    wk_frame f;
    Py_ssize_t axis[WK_MAX_DIMS + 1];
    request r = {.axis = axis, .dtype = -1, .story = story};
    if (wk_check_count("reduce", count, 8 + WK_OPTIONS) < 0) return NULL;
    r.keepdims = PyObject_IsTrue(args[3]);
    if (r.keepdims < 0 || folds_of(args[1], &r) < 0 || numbers_of(args[2], &r) < 0) return NULL;
    if (args[4] != Py_None && (r.dtype = wk_dtype_arg(args[4])) < 0) return NULL;
    r.initial = args[5] == wk_state_of(module)->no_value ? NULL : args[5];
    if (r.initial && wk_check_unmasked(r.initial) < 0) return NULL;
    r.ddof = PyFloat_AsDouble(args[7]);
    if (r.ddof == -1 && PyErr_Occurred()) return NULL;
    int status = wk_begin(module, &f, WK_REDUCE, r.outs, args[0], args + 8), cast = 0;
    if (status == 0) status = where_of(&f, args[6]);
    for (int i = 0; status == 0 && r.dtype >= 0 && i < r.outs; i++) {
        status = check_dtype(&r, i);
        cast |= !in_registers(&r, i, wk_operand_dtype(&f.operand));
    }
    if (status == 0 && !cast) status = reduce(&f, &r);
    drop_starts(&r);
    PyObject *result = wk_end(&f, cast ? -1 : status, 1);
    return status == 0 && cast ? Py_NewRef(Py_NotImplemented) : result;
}

/* The result, or a tuple of several; NotImplemented: the elements must be cast to dtype first. */
PyObject *
wk_py_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return entry(module, args, count, NULL);
}

/* With reduce's arguments: a list of what would be done, a str for each pass. */
PyObject *
wk_py_explain_reduce(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *story = PyList_New(0);
    PyObject *result = story ? entry(module, args, count, story) : NULL;
    if (result == NULL || result == Py_NotImplemented) {
        Py_XDECREF(story);
        return result;
    }
    Py_DECREF(result);
    return story;
}
