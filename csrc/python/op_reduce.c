/* op_reduce.c -- _core.reduce(a, op, axis, keepdims, dtype, initial, where, ddof, options ...) */
#include "reduce_grid.h"
#include "reduce_request.h"

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
                                        "have neighbouring columns", "have whole columns"};
    const int item = wk_itemsize[call->in.dtype];
    const int exact = wk_is_float(call->in.dtype) || wk_is_complex(call->in.dtype);
    const int few = item <= 4 ? 4 : 16 / item, of_floats = item <= 2 ? 4 : item == 4 ? 2 : 1;
    const wk_accumulator of = {2,
                               exact ? of_floats : few,
                               item < 4 ? 4 / item : 1,
                               few,
                               exact && call->args.reduce.n <= 1024 ? 16 / item : 0,
                               100,
                               0,
                               0,
                               0};
    wk_grid g;
    wk_plan_grid(call, processors, &of, &g);
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
tell(wk_frame *f, const wk_request *r, int family)
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
        wk_turn turn;
        const int there = call->in.host == NULL; /* others cross in their order */
        const int turns = there && wk_turns_outputs(&paired, info.processors, &turn);
        if (turns) wk_turn_outputs(&paired, &turn);
        const int packs = there && wk_packs_first(&paired, info.processors);
        if (packs) wk_see_packed(&paired, NULL);
        Py_SETREF(
            text,
            PyUnicode_FromFormat(
                "%U%s%s", text,
                packs ? "\n  copied first, so that each output's elements lie side by side"
                      : "",
                turns ? "\n  outputs in the order of their elements, turned at last" : ""));
        PyObject *more = text ? tell_grid(&paired, info.processors) : NULL;
        Py_SETREF(text, more ? PyUnicode_Concat(text, more) : NULL);
        Py_XDECREF(more);
    }
    const int status = text ? PyList_Append(r->story, text) : -1;
    Py_XDECREF(text);
    return status;
}

int
wk_request_plan(wk_frame *f, const wk_request *r, const int *member)
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
    if (wk_initial_of(r, member[0], call->out[0].dtype, family, args) < 0) return -1;
    wk_plan_reduce(in, where, r->axes, family == WK_FAMILY_ARG, args);
    if (halves) wk_plan_parts(in, where, family == WK_FAMILY_SQUARES, args);
    for (int i = 0; i < call->outs && args->planes == 2; i++) wk_see_parts(&call->out[i]);
    return family;
}

/* One pass, of folds of one family; out is theirs already. */
static int
run_pass(wk_frame *f, const wk_request *r, const int *member)
{
    const int family = wk_request_plan(f, r, member);
    if (family < 0) return -1;
    return r->story ? tell(f, r, family) : wk_call_row(f);
}

/* Those that go with fold `first` in one pass, which are marked; how many. */
static int
pass_of(const wk_request *r, wk_dtype in, int first, int *done, int *member)
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
run_passes(wk_frame *f, const wk_request *r)
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
check_indices(const wk_frame *f, const wk_request *r)
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

int
wk_request_place(wk_frame *f, wk_request *r)
{
    npy_intp shape[WK_MAX_DIMS];
    int kept = 0;
    int64_t n = 1;
    const wk_array *in = &f->call.in;
    const int masked = f->beside.array != NULL;
    const wk_dtype dtype = wk_operand_dtype(&f->operand);
    for (int i = 0; i < r->outs; i++)
        if (wk_check_op(r, i, masked, dtype) < 0) return -1;
    if (wk_request_starts(r, dtype) < 0 || wk_place(f) < 0 || wk_place_beside(f, "where") < 0)
        return -1;
    if (wk_request_set(f->state, in->ndim, r) < 0) return -1;
    for (int d = 0; d < in->ndim; d++) {
        const int folds = r->axes >> d & 1;
        if (folds) n *= in->shape[d];
        if (!folds || r->keepdims) shape[kept++] = folds ? 1 : in->shape[d];
    }
    for (int i = 0; i < r->outs; i++)
        if (wk_check_empty(r, i, masked, n, dtype) < 0) return -1;
    for (int i = 0; i < r->outs; i++)
        if (wk_result_new(f, i, wk_result_dtype(r, i, in->dtype), kept, shape) < 0) return -1;
    for (int i = 0; i < r->outs; i++)
        r->skip_nan[i] &= wk_is_float(in->dtype) || wk_is_complex(in->dtype);
    return 0;
}

static int
reduce(wk_frame *f, wk_request *r)
{
    if (wk_request_place(f, r) < 0) return -1;
    if (run_passes(f, r) < 0) return -1;
    return r->story ? 0 : check_indices(f, r);
}

static PyObject *
entry(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *story)
{
    wk_frame f;
    Py_ssize_t axis[WK_MAX_DIMS + 1];
    wk_request r = {.axis = axis, .dtype = -1, .story = story};
    if (wk_check_count("reduce", count, 8 + WK_OPTIONS) < 0) return NULL;
    r.keepdims = PyObject_IsTrue(args[3]);
    if (r.keepdims < 0 || wk_request_folds(args[1], &r) < 0 || wk_request_axes(args[2], &r) < 0)
        return NULL;
    if (args[4] != Py_None && (r.dtype = wk_dtype_arg(args[4])) < 0) return NULL;
    r.initial = args[5] == wk_state_of(module)->no_value ? NULL : args[5];
    if (r.initial && wk_check_unmasked(r.initial) < 0) return NULL;
    r.ddof = PyFloat_AsDouble(args[7]);
    if (r.ddof == -1 && PyErr_Occurred()) return NULL;
    int status = wk_begin(module, &f, WK_REDUCE, r.outs, args[0], args + 8), cast = 0;
    if (status == 0) status = wk_request_where(&f, args[6]);
    for (int i = 0; status == 0 && r.dtype >= 0 && i < r.outs; i++) {
        status = wk_check_dtype(&r, i);
        cast |= !wk_casts_in_registers(&r, i, wk_operand_dtype(&f.operand));
    }
    if (status == 0 && !cast) status = reduce(&f, &r);
    wk_drop_starts(&r);
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
