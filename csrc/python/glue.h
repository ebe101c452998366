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
#include "interrupt.h"
#include "meant.h"
#include "plan.h"
#include "reduce.h"

typedef struct wk_device { /* 8 bytes, so that threads without a GIL read and write it whole */
    uint8_t kind;          /* a wk_kind */
    uint8_t given;         /* 0: none was named; 1: this one; 2: "auto" */
    uint16_t ordinal;
    uint32_t devices; /* several: bit i is device i; 0: just the one */
} wk_device;

typedef struct wk_recycler wk_recycler;
typedef struct wk_table wk_table;

typedef struct wk_state { /* of the module */
    wk_context *context;
    wk_recycler *recycler;       /* while recycling lives */
    PyObject *recycling;         /* its data-memory handler for NumPy */
    PyObject *device_error;      /* warpkit.DeviceError */
    PyObject *axis_error;        /* numpy.exceptions.AxisError */
    PyObject *no_value;          /* numpy._NoValue: an argument that was not given */
    PyTypeObject *memory_type;   /* of wk_memory */
    PyTypeObject *base_type;     /* _core.DeviceArray, of which ... */
    PyTypeObject *array_type;    /* ... warpkit.DeviceArray is what results are */
    PyObject *adopt;             /* _interop.adopt: other libraries' arrays */
    _Atomic(wk_table *) tables;  /* of exchange, by type */
    PyObject *choose;            /* _auto.choose: the device of "auto" */
    PyObject *scope;             /* a ContextVar: what `with warpkit.device(...)` names */
    _Atomic wk_device preferred; /* set_default_device */
} wk_state;

extern struct PyModuleDef wk_module_definition;
wk_state *wk_state_of(PyObject *module);

/* ---- devices and errors (convert.c) ------------------------------------------------------- */

int wk_device_arg(PyObject *object, void *slot);

/* A str as one of our names could be it; NULL: none of them, with no exception set. A str that has
 * a NUL in it, or half of a surrogate pair, is nobody's name. */
const char *wk_text_of(PyObject *object);

/* wk_slot_of, with the GIL released while a driver starts. */
const wk_slot *wk_load_slot(wk_state *state, wk_kind kind);

/* The device a call runs on: the one named, else the innermost `with warpkit.device`'s, else
 * set_default_device's, else WARPKIT_DEVICE, else the first GPU, else the CPU. -1 with an exception
 * set. */
int wk_choose_device(wk_state *state, wk_device *device);

void wk_raise(wk_state *state, const wk_error *error);

/* As in "cpu" and "cuda:1". */
PyObject *wk_device_name(wk_kind kind, int ordinal);

/* An axis of an array of ndim axes, negative ones from the end; -1 with AxisError set. */
int wk_check_axis(wk_state *state, Py_ssize_t axis, int ndim);

/* ---- NumPy arrays (convert.c) ------------------------------------------------------------- */

#define WK_DTYPE_LIST                                                                          \
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, "      \
    "float32, float64, complex64, complex128"

int wk_dtype_of(const PyArray_Descr *descr); /* -1: not in the contract */
int wk_dtype_arg(PyObject *object); /* of what numpy.dtype takes; -1 with an exception */
PyArray_Descr *wk_descr_of(wk_dtype dtype); /* new reference; bfloat16's imports ml_dtypes */

/* An array that is aligned, in native byte order, of a dtype in the contract, with strides in
 * whole elements; otherwise a copy is made. NULL with an exception set. */
PyArrayObject *wk_numpy_of(PyObject *object);

/* Fills w from an array that came through wk_numpy_of, or that is new. */
void wk_from_numpy(PyArrayObject *a, wk_array *w);

/* The same elements C-contiguous; steals and returns a reference. */
PyArrayObject *wk_contiguous(PyArrayObject *a);

/* ---- new arrays (recycle.c) ------------------------------------------------------------------ */

/* A C-contiguous array. Not fresh: a large one, over memory that was another's. */
PyObject *wk_numpy_new(wk_state *state, wk_dtype dtype, int ndim, const npy_intp *shape,
                       int *fresh);

PyObject *wk_recycler_new(wk_recycler **recycler); /* the handler that owns it */
void wk_recycler_trim(wk_recycler *r);
int64_t wk_recycler_waiting(const wk_recycler *r, int64_t *most); /* bytes */

/* ---- device arrays (device_array.c, device_copy.c) ------------------------------------------------------- */

/* Memory of a device that arrays share; it goes in the order of its stream. An object of Python's, as
 * its owner may hold an array of the memory, and so itself; only such are tracked. */
typedef struct wk_memory {
    PyObject_HEAD const wk_backend *backend;
    wk_kind kind;
    int ordinal;
    void *stream;
    PyObject *stream_owner; /* whose life is the stream's; NULL: the stream stays */
    void *block;            /* ours to give back; NULL: the owner's */
    int64_t bytes;
    PyObject *owner;
    int readonly;
    wk_mailbox mailbox; /* of the one element that a kernel wrote last; slot NULL: none */
} wk_memory;

typedef struct wk_device_array {
    PyObject_HEAD wk_memory *memory;
    char *start; /* of element [0, ..., 0] */
    wk_dtype dtype;
    int ndim;
    int64_t shape[WK_MAX_DIMS];
    int64_t strides[WK_MAX_DIMS]; /* in elements */
} wk_device_array;

/* Owned: takes the memory's reference, also when it fails. */
wk_device_array *wk_array_over(wk_state *state, wk_memory *memory, void *start, wk_dtype dtype,
                               int ndim, const npy_intp *shape, const int64_t *strides);

/* Uninitialised, C-contiguous, in the order of the stream. */
wk_device_array *wk_array_new(wk_state *state, wk_device device, void *stream,
                              PyObject *stream_owner, wk_dtype dtype, int ndim,
                              const npy_intp *shape);
void wk_from_device(const wk_device_array *a, wk_array *w);
int wk_is_device_array(wk_state *state, PyObject *object);
int wk_make_array_type(PyObject *module, wk_state *state);
void wk_forget_mailbox(wk_memory *memory);

/* call.in to call.out[0], one of them or both in the memory, in its order and with the GIL released;
 * -1 with an exception set. */
int wk_copy(wk_state *state, const wk_memory *memory, wk_call *call);

/* A NumPy array's elements into a C-contiguous DeviceArray of its shape and dtype. */
int wk_fill(wk_state *state, wk_device_array *to, PyArrayObject *from);

/* Methods of DeviceArray, and what they take: NULL with an exception set where self is none. */
wk_device_array *wk_array_of(PyObject *self);
wk_state *wk_state_of_array(PyObject *self);
int64_t wk_array_size(const wk_device_array *a);
PyObject *wk_array_to_numpy(PyObject *self, PyObject *ignored);
PyObject *wk_array_copy_from(PyObject *self, PyObject *other);
PyObject *wk_array_copy_to(PyObject *self, PyObject *object);
PyObject *wk_array_lend(PyObject *self, PyObject *writes);
PyObject *wk_array_follow(PyObject *self, PyObject *stream);
PyObject *wk_array_lead(PyObject *self, PyObject *stream);
PyObject *wk_array_wait(PyObject *self, PyObject *ignored);

/* For foreign.c: memory without a block of its own. Owners may be NULL. */
wk_memory *wk_memory_new(wk_state *state, const wk_slot *slot, wk_device device, void *stream,
                         PyObject *owner, PyObject *stream_owner);
const char *wk_typestr_of(wk_dtype dtype);

/* A tuple of ints, as many as wanted or (-1) at most WK_MAX_DIMS; how many, or -1. */
int wk_int64s_of(PyObject *sequence, int64_t *values, Py_ssize_t wanted);

/* ---- operands, options (operand.c), results (result.c) ------------------------------------ */

typedef struct wk_operand {
    PyObject *array;   /* a NumPy array that wk_numpy_of made, or a DeviceArray; owned */
    PyObject *library; /* whose array it is, and results are; NULL: NumPy's or ours; owned */
    const wk_table *table; /* by which it came, and results are made; NULL: by library */
    int on_device;
} wk_operand;

typedef struct wk_options { /* what every operation takes */
    PyObject *out; /* None, an array, or a tuple of them where there are several; borrowed */
    int arrays;    /* it was ...: results are no scalars */
    wk_operand target[WK_MAX_OUTS]; /* out as we see it */
    wk_device device;
    PyObject *stream;       /* borrowed */
    PyObject *stream_owner; /* whose life is the stream's; NULL: it stays; borrowed */
    const char *variant;
    PyObject *shown; /* the variant's text, if the str itself holds none; owned */
    int64_t *progress;
} wk_options;

enum { WK_OPTIONS = 5 }; /* how many arguments: out, device, stream, variant, progress */

/* A result of the call: the array that the kernel writes, and what becomes of it. */
typedef struct wk_result {
    PyObject *array; /* owned: a NumPy array or a DeviceArray, C-contiguous */
    PyObject *given; /* out's native array, if the result is copied there; owned */
    int theirs;      /* the memory's owner is what the caller gets: its library's array */
    struct DLManagedTensorVersioned *managed; /* the memory, by operand.table; owned */
} wk_result;

typedef struct
    wk_taken { /* where a NumPy array's elements lay when the call was told of them */
    const PyArrayObject *array; /* borrowed; NULL: none */
    const void *data;
    npy_intp count;
} wk_taken;

typedef struct wk_frame { /* one operation, from its arguments to what it gives */
    wk_state *state;
    wk_call call;
    wk_operand operand;
    wk_operand beside; /* reduce's mask, the histogram's weights; none: no array */
    wk_options options;
    wk_result results[WK_MAX_OUTS];
    wk_taken in, masks, aux, outs[WK_MAX_OUTS];
} wk_frame;

/* Takes the array and the five options, and starts the call. -1 with an exception set; either way
 * wk_end must follow. */
int wk_begin(PyObject *module, wk_frame *f, wk_op op, int outs, PyObject *a,
             PyObject *const *options);

/* Chooses the call's device and stream, brings the operand there if out asks for that, and fills
 * call.in. */
int wk_place(wk_frame *f);

/* Brings f->beside, an argument of that name, to where the operand is, and fills call.beside, of
 * call.in's shape. */
int wk_place_beside(wk_frame *f, const char *name);

/* Integers that a call takes beside, of that name: int64 of one axis, where the operand lies; call.aux
 * gets them, and the caller clears the operand after the call. */
int wk_take_integers(wk_frame *f, PyObject *object, const char *name, wk_operand *operand);

/* For kernels of the CPU that read one block in C order; on the way to a GPU strides cost nothing. */
int wk_contiguous_for_cpu(wk_frame *f);

/* wk_from_numpy for a call's array: what can run Python code comes before. */
void wk_take(PyArrayObject *a, wk_array *w, wk_taken *taken);

int wk_result_new(wk_frame *f, int which, wk_dtype dtype, int ndim, const npy_intp *shape);

/* Between these two the GIL is released, and Ctrl-C stops the thread's work: see interrupt.h. */
typedef struct wk_release {
    wk_interrupt interrupt;
    PyThreadState *thread;
} wk_release;
void wk_release_gil(wk_release *r);
void wk_take_gil(wk_release *r);

/* Runs the call with the GIL released; -1 with an exception set. */
int wk_call_row(wk_frame *f);

/* What the caller gets if status is 0: out itself, a scalar if those are wanted, an array of the
 * caller's kind, or a tuple of several. */
PyObject *wk_end(wk_frame *f, int status, int scalars);

int wk_operand_of(wk_state *state, PyObject *object, wk_operand *operand);
void wk_operand_clear(wk_operand *operand);
wk_dtype wk_operand_dtype(const wk_operand *operand);

/* In whose order memory is that work on this stream writes to: the thread's default stream is
 * another one for each thread. */
void *wk_home_of(void *stream);

_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "shapes are passed as they are");
PyObject *wk_tuple_of(const npy_intp *values, int n, int64_t factor);
int wk_same_shape(int has_ndim, const npy_intp *has, int ndim, const npy_intp *shape);
int wk_wrong_shape(int has_ndim, const npy_intp *has, int ndim, const npy_intp *shape); /* -1 */

/* Do two blocks share a byte? By their ends: arrays woven into each other count as sharing. */
int wk_overlap(const void *a, int64_t a_bytes, const void *b, int64_t b_bytes);

/* ---- partials (op_partial.c): NULL or -1 with an exception set ---------------------------- */

/* An int64 array of a result's shape, of the words of each; the state of a piece on the CPU. */
PyArrayObject *wk_words_new(int ndim, const npy_intp *shape, int parts, int64_t words);

/* Runs the call, on a device, as the one piece of one; then, if asked, gives the results. The states of
 * so many outputs, on the host; *words: of each. */
PyArrayObject *wk_states_of(wk_frame *f, int64_t outputs, int finishes, int64_t *words);

/* ---- other libraries' tables of C functions (exchange.c) --------------------------------------- */

/* An array of a type that has one: 1 taken; 0 not, and the Python side may try. */
int wk_exchange_adopt(wk_state *state, PyObject *object, wk_operand *operand);

/* Looks once whether a type has one: the Python side has taken an array of it, for this library. */
void wk_exchange_learn(wk_state *state, PyTypeObject *type, PyObject *library);

/* A result in memory of the operand's library; 0 made, 1 not. */
int wk_exchange_new(wk_frame *f, wk_result *result, wk_dtype dtype, int ndim,
                    const npy_intp *shape);

/* The library's own array over the result's memory. */
PyObject *wk_exchange_give(const wk_frame *f, wk_result *result);
void wk_exchange_drop(wk_result *result);

/* Gives DeviceArray a table of its own. */
int wk_exchange_offer(PyTypeObject *type);

int wk_exchange_traverse(wk_state *state, visitproc visit, void *arg);
void wk_exchange_clear(wk_state *state);

/* ---- what no argument may be (guards.c): -1 with an exception set --------------------------- */

/* An array whose dtype is none of ours, and the object that it was made of. */
void wk_refuse_dtype(PyObject *object, PyArrayObject *a);

/* A numpy.ma.MaskedArray. */
int wk_check_unmasked(PyObject *object);

/* An array whose memory is another one than when it was taken: code of the caller's has run since, of
 * a library or of a filter of warnings. */
int wk_check_taken(const wk_frame *f);

/* Two outs that share a byte. */
int wk_check_apart(const wk_operand *outs, int count);

/* ---- entries ------------------------------------------------------------------------------ */

#define WK_ENTRY(name) PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count)

WK_ENTRY(wk_py_reduce);
WK_ENTRY(wk_py_explain_reduce);
WK_ENTRY(wk_py_partial);
WK_ENTRY(wk_py_partial_weights);
WK_ENTRY(wk_py_finish);
WK_ENTRY(wk_py_carry);
WK_ENTRY(wk_py_explain_transpose);
WK_ENTRY(wk_py_transpose);
WK_ENTRY(wk_py_stencil1d);
WK_ENTRY(wk_py_histogram);
WK_ENTRY(wk_py_warp_histogram);
WK_ENTRY(wk_py_run_length);
WK_ENTRY(wk_py_unique_counts);
WK_ENTRY(wk_py_dot);
WK_ENTRY(wk_py_segment_reduce);
WK_ENTRY(wk_py_group);
WK_ENTRY(wk_py_cumsum);
WK_ENTRY(wk_py_lanes);
WK_ENTRY(wk_py_smem_tile);
WK_ENTRY(wk_py_lane_reads);
WK_ENTRY(wk_py_operand);
WK_ENTRY(wk_py_empty);
WK_ENTRY(wk_py_upload);
/* foreign(address, shape, strides or None, typestr, readonly, stream or None, stream's owner or None,
 *         ordinal of the GPU, -1 or None, owner). believed: a library says so of its own array; else the
 *         ordinal is that of arrays of no elements. */
WK_ENTRY(wk_py_foreign);
PyObject *wk_foreign(PyObject *module, PyObject *const *args, int believed);
WK_ENTRY(wk_py_register);
WK_ENTRY(wk_py_call);
PyObject *wk_py_unmasked(PyObject *module, PyObject *object);

int wk_check_count(const char *name, Py_ssize_t count, Py_ssize_t wanted);

PyObject *wk_py_rows(PyObject *module, PyObject *ignored);
PyObject *wk_py_devices(PyObject *module, PyObject *ignored);
PyObject *wk_py_device_info(PyObject *module, PyObject *args);
PyObject *wk_py_trim(PyObject *module, PyObject *args);
PyObject *wk_py_default_device(PyObject *module, PyObject *ignored);
PyObject *wk_py_check_device(PyObject *module, PyObject *args);
PyObject *wk_py_set_default_device(PyObject *module, PyObject *args);
PyObject *wk_py_config(PyObject *module, PyObject *ignored);
PyObject *wk_py_settings(PyObject *module, PyObject *ignored);
PyObject *wk_py_read_settings(PyObject *module, PyObject *ignored);

#endif
