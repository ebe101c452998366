/* op_runs.c -- run_length and unique_counts.
 *   _core.run_length(a, options ...), _core.unique_counts(a, options ...)
 * Both give (values, counts, total), of n elements, n and 1: what lies behind the total is not
 * set. */
#include "glue.h"

static int
find_runs(wk_frame *f)
{
    if (wk_place(f) < 0 || wk_contiguous_for_cpu(f) < 0) return -1;
    const npy_intp n = wk_size(&f->call.in), one = 1;
    f->call.args.runs.n = n;
    if (wk_result_new(f, 0, f->call.in.dtype, 1, &n) < 0 ||
        wk_result_new(f, 1, WK_I64, 1, &n) < 0 || wk_result_new(f, 2, WK_I64, 1, &one) < 0)
        return -1;
    return wk_call_row(f);
}

static PyObject *
runs(PyObject *module, PyObject *const *args, Py_ssize_t count, wk_op op)
{
    wk_frame f;
    if (wk_check_count(wk_op_names[op], count, 1 + WK_OPTIONS) < 0) return NULL;
    int status = wk_begin(module, &f, op, 3, args[0], args + 1);
    if (status == 0) status = find_runs(&f);
    return wk_end(&f, status, 0);
}

PyObject *
wk_py_run_length(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return runs(module, args, count, WK_RUN_LENGTH);
}

PyObject *
wk_py_unique_counts(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return runs(module, args, count, WK_UNIQUE_COUNTS);
}
