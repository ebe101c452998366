/* op_smem.c -- the experiments with the chip's memories.
 *   _core.smem_tile(a, turned, pad, repeats, options ...) -> (what was read, clocks)
 *   _core.lane_reads(words, item, repeats, options ...) -> (what each lane read, clocks)
 * a: two axes, 1 to WK_TILE elements; words: int32 [32] on the host. Clocks are int64, see
 * wk_smem_tile_args. */
#include "glue.h"

static int
whole_number(PyObject *object, int least, int most, const char *name)
{
    const long value = PyLong_AsLong(object);
    if (value == -1 && PyErr_Occurred()) return -1;
    if (value >= least && value <= most) return (int)value;
    PyErr_Format(PyExc_ValueError, "%s must be %d to %d, not %ld", name, least, most, value);
    return -1;
}

static int
exchange(wk_frame *f)
{
    wk_smem_tile_args *t = &f->call.args.tile;
    const wk_array *in = &f->call.in;
    const npy_intp two = 2;
    if (wk_place(f) < 0) return -1;
    if (in->ndim != 2 || wk_size(in) < 1 || wk_size(in) > WK_TILE) {
        PyErr_Format(PyExc_ValueError,
                     "a tile has two axes and 1 to %d elements, one of each thread of a block",
                     WK_TILE);
        return -1;
    }
    if (wk_contiguous_for_cpu(f) < 0) return -1;
    t->rows = (int)in->shape[0];
    t->cols = (int)in->shape[1];
    const npy_intp shape[2] = {t->turned ? t->cols : t->rows, t->turned ? t->rows : t->cols};
    if (wk_result_new(f, 0, in->dtype, 2, shape) < 0 ||
        wk_result_new(f, 1, WK_I64, 1, &two) < 0)
        return -1;
    return wk_call_row(f);
}

PyObject *
wk_py_smem_tile(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("smem_tile", count, 4 + WK_OPTIONS) < 0) return NULL;
    const int turned = PyObject_IsTrue(args[1]);
    const int pad = turned < 0 ? -1 : whole_number(args[2], 0, WK_MOST_PAD, "pad");
    const int repeats = pad < 0 ? -1 : whole_number(args[3], 1, 1 << 20, "repeats");
    if (repeats < 0) return NULL;
    int status = wk_begin(module, &f, WK_SMEM_TILE, 2, args[0], args + 4);
    f.call.args.tile = (wk_smem_tile_args){.turned = turned, .pad = pad, .repeats = repeats};
    if (status == 0) status = exchange(&f);
    return wk_end(&f, status, 0);
}

static int
read_words(wk_frame *f)
{
    const npy_intp lanes = 32, one = 1;
    if (wk_place(f) < 0 || wk_contiguous_for_cpu(f) < 0) return -1;
    const wk_array *in = &f->call.in;
    int fits = !f->operand.on_device && in->ndim == 1 && in->shape[0] == lanes &&
               in->dtype == WK_I32 && in->strides[0] == 1;
    for (int i = 0; fits && i < lanes; i++) {
        const int32_t at = ((const int32_t *)((const char *)in->host + in->first))[i];
        fits = at >= 0 && at < WK_READABLE;
    }
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "words are 32 of int32 on the host, each 0 to %d",
                     WK_READABLE - 1);
        return -1;
    }
    if (wk_result_new(f, 0, WK_U32, 1, &lanes) < 0 || wk_result_new(f, 1, WK_I64, 1, &one) < 0)
        return -1;
    return wk_call_row(f);
}

PyObject *
wk_py_lane_reads(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_frame f;
    if (wk_check_count("lane_reads", count, 3 + WK_OPTIONS) < 0) return NULL;
    const int item = whole_number(args[1], 4, 16, "item");
    if (item > 0 && item != 4 && item != 8 && item != 16)
        PyErr_Format(PyExc_ValueError, "item must be 4, 8 or 16, not %d", item);
    const int repeats = PyErr_Occurred() ? -1 : whole_number(args[2], 1, 1 << 20, "repeats");
    if (repeats < 0) return NULL;
    int status = wk_begin(module, &f, WK_LANE_READS, 2, args[0], args + 3);
    f.call.args.reads = (wk_lane_reads_args){.item = item, .repeats = repeats};
    if (status == 0) status = read_words(&f);
    return wk_end(&f, status, 0);
}
