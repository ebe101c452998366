/* glue.h -- what the files of this folder share: the only ones that know Python and NumPy. */
#ifndef WARPKIT_GLUE_H
#define WARPKIT_GLUE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL warpkit_numpy
#ifndef WK_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "context.h"
#include "plan.h"

typedef struct wk_device { /* 4 bytes, so that threads without a GIL read and write it whole */
    uint8_t kind;          /* a wk_kind */
    uint8_t given;         /* 0: none was named */
    uint16_t ordinal;
} wk_device;

typedef struct wk_state { /* of the module */
    wk_context *context;
    PyObject *device_error;      /* warpkit.DeviceError */
    PyObject *axis_error;        /* numpy.exceptions.AxisError */
    _Atomic wk_device preferred; /* set_default_device */
} wk_state;

wk_state *wk_state_of(PyObject *module);

/* "O&" converters. The array is aligned, in native byte order, of a dtype in the contract, with
 * strides in whole elements; otherwise a copy is made. The device is "cpu", "cuda:1" or None.
 */
int wk_array_arg(PyObject *object, void *slot);
int wk_device_arg(PyObject *object, void *slot);

/* Fills w from an array that came through wk_array_arg, or that wk_new_array made. */
void wk_from_numpy(PyArrayObject *a, wk_array *w);

/* The same elements C-contiguous; steals and returns a reference. */
PyArrayObject *wk_contiguous(PyArrayObject *a);

/* A C-contiguous result, described in w as well. */
PyArrayObject *wk_new_array(wk_dtype dtype, int ndim, const npy_intp *shape, wk_array *w);

/* An axis of an array of ndim axes, negative ones from the end; -1 with AxisError set. */
int wk_check_axis(wk_state *state, Py_ssize_t axis, int ndim);

/* wk_slot_of, with the GIL released while a driver starts. */
const wk_slot *wk_load_slot(wk_state *state, wk_kind kind);

/* The device a call runs on: the one named, else set_default_device's, else WARPKIT_DEVICE,
 * else the first GPU, else the CPU. -1 with an exception set. */
int wk_choose_device(wk_state *state, wk_device *device);

/* Runs the call with the GIL released; -1 with an exception set. */
int wk_call_row(wk_state *state, wk_call *call, wk_device device, const char *variant);

void wk_raise(wk_state *state, const wk_error *error);

PyObject *wk_py_asarray(PyObject *module, PyObject *object);
PyObject *wk_py_reduce(PyObject *module, PyObject *args);
PyObject *wk_py_transpose(PyObject *module, PyObject *args);
PyObject *wk_py_stencil1d(PyObject *module, PyObject *args);
PyObject *wk_py_histogram(PyObject *module, PyObject *args);
PyObject *wk_py_warp_histogram(PyObject *module, PyObject *args);

PyObject *wk_py_rows(PyObject *module, PyObject *ignored);
PyObject *wk_py_devices(PyObject *module, PyObject *ignored);
PyObject *wk_py_device_info(PyObject *module, PyObject *args);
PyObject *wk_py_trim(PyObject *module, PyObject *args);
PyObject *wk_py_set_default_device(PyObject *module, PyObject *args);
PyObject *wk_py_config(PyObject *module, PyObject *ignored);

#endif
