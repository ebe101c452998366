/* module.c -- module state and the table of functions; no arithmetic here. */
#define WK_IMPORT_ARRAY
#include "glue.h"
#include "dlpack.h"

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL, NULL

static PyMethodDef methods[] = {
    {"reduce", FAST(wk_py_reduce)},
    {"explain_reduce", FAST(wk_py_explain_reduce)},
    {"partial", FAST(wk_py_partial)},
    {"finish", FAST(wk_py_finish)},
    {"carry", FAST(wk_py_carry)},
    {"explain_transpose", FAST(wk_py_explain_transpose)},
    {"transpose", FAST(wk_py_transpose)},
    {"stencil1d", FAST(wk_py_stencil1d)},
    {"histogram", FAST(wk_py_histogram)},
    {"partial_weights", FAST(wk_py_partial_weights)},
    {"warp_histogram", FAST(wk_py_warp_histogram)},
    {"run_length", FAST(wk_py_run_length)},
    {"unique_counts", FAST(wk_py_unique_counts)},
    {"dot", FAST(wk_py_dot)},
    {"segment_reduce", FAST(wk_py_segment_reduce)},
    {"group", FAST(wk_py_group)},
    {"cumsum", FAST(wk_py_cumsum)},
    {"lanes", FAST(wk_py_lanes)},
    {"smem_tile", FAST(wk_py_smem_tile)},
    {"lane_reads", FAST(wk_py_lane_reads)},
    {"operand", FAST(wk_py_operand)},
    {"empty", FAST(wk_py_empty)},
    {"upload", FAST(wk_py_upload)},
    {"unmasked", wk_py_unmasked, METH_O, NULL},
    {"foreign", FAST(wk_py_foreign)},
    {"to_dlpack", FAST(wk_py_to_dlpack)},
    {"from_dlpack", FAST(wk_py_from_dlpack)},
    {"register", FAST(wk_py_register)},
    {"call", FAST(wk_py_call)},
    {"rows", wk_py_rows, METH_NOARGS, NULL},
    {"devices", wk_py_devices, METH_NOARGS, NULL},
    {"device_info", wk_py_device_info, METH_VARARGS, NULL},
    {"trim", wk_py_trim, METH_VARARGS, NULL},
    {"default_device", wk_py_default_device, METH_NOARGS, NULL},
    {"check_device", wk_py_check_device, METH_VARARGS, NULL},
    {"set_default_device", wk_py_set_default_device, METH_VARARGS, NULL},
    {"config", wk_py_config, METH_NOARGS, NULL},
    {"settings", wk_py_settings, METH_NOARGS, NULL},
    {"read_settings", wk_py_read_settings, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

wk_state *
wk_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* The folder this module was loaded from: the plug-ins lie beside it. */
static int
make_context(PyObject *module, wk_state *state)
{
    PyObject *file = PyModule_GetFilenameObject(module);
    PyObject *bytes = file ? PyUnicode_EncodeFSDefault(file) : NULL;
    Py_XDECREF(file);
    if (bytes == NULL) return -1;
    char *path = PyBytes_AS_STRING(bytes);
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
    state->context = wk_context_new(slash ? path : ".");
    Py_DECREF(bytes);
    if (state->context == NULL) PyErr_NoMemory();
    return state->context ? 0 : -1;
}

static int
exec_module(PyObject *module)
{
    wk_state *state = wk_state_of(module);
    import_array1(-1);
    PyObject *exceptions = PyImport_ImportModule("numpy.exceptions");
    if (exceptions == NULL) return -1;
    state->axis_error = PyObject_GetAttrString(exceptions, "AxisError");
    Py_DECREF(exceptions);
    if (state->axis_error == NULL) return -1;
    PyObject *numpy = PyImport_ImportModule("numpy");
    state->no_value = numpy ? PyObject_GetAttrString(numpy, "_NoValue") : NULL;
    Py_XDECREF(numpy);
    if (state->no_value == NULL) return -1;
    state->device_error = PyErr_NewExceptionWithDoc(
        "warpkit.DeviceError", "A device is missing, or a call of its driver failed.",
        PyExc_RuntimeError, NULL);
    if (PyModule_AddObjectRef(module, "DeviceError", state->device_error) < 0) return -1;
    if (wk_make_array_type(module, state) < 0) return -1;
    state->scope = PyContextVar_New("warpkit.device", NULL);
    if (state->scope == NULL || PyModule_AddObjectRef(module, "scope", state->scope) < 0)
        return -1;
    state->recycling = wk_recycler_new(&state->recycler);
    if (state->recycling == NULL) return -1;
    return make_context(module, state);
}

/* register(DeviceArray, adopt, choose): what _core calls of the Python side. */
PyObject *
wk_py_register(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    wk_state *state = wk_state_of(module);
    if (wk_check_count("register", count, 3) < 0) return NULL;
    if (!PyType_Check(args[0]) ||
        !PyType_IsSubtype((PyTypeObject *)args[0], state->base_type)) {
        PyErr_SetString(PyExc_TypeError, "the first must be a subclass of _core.DeviceArray");
        return NULL;
    }
    Py_XSETREF(state->array_type, (PyTypeObject *)Py_NewRef(args[0]));
    Py_XSETREF(state->adopt, Py_NewRef(args[1]));
    Py_XSETREF(state->choose, Py_NewRef(args[2]));
    Py_RETURN_NONE;
}

static int
traverse(PyObject *module, visitproc visit, void *arg)
{
    wk_state *state = wk_state_of(module);
    Py_VISIT(state->axis_error);
    Py_VISIT(state->no_value);
    Py_VISIT(state->device_error);
    Py_VISIT(state->memory_type);
    Py_VISIT(state->base_type);
    Py_VISIT(state->array_type);
    Py_VISIT(state->adopt);
    Py_VISIT(state->choose);
    Py_VISIT(state->recycling);
    Py_VISIT(state->scope);
    return wk_exchange_traverse(state, visit, arg);
}

static int
clear(PyObject *module)
{
    wk_state *state = wk_state_of(module);
    Py_CLEAR(state->axis_error);
    Py_CLEAR(state->no_value);
    Py_CLEAR(state->device_error);
    Py_CLEAR(state->memory_type);
    Py_CLEAR(state->base_type);
    Py_CLEAR(state->array_type);
    Py_CLEAR(state->adopt);
    Py_CLEAR(state->choose);
    Py_CLEAR(state->recycling);
    Py_CLEAR(state->scope);
    wk_exchange_clear(state);
    return 0;
}

static void
release(void *module)
{
    wk_state *state = wk_state_of(module);
    clear(module);
    if (state->context) wk_context_free(state->context);
    state->context = NULL;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)exec_module},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

struct PyModuleDef wk_module_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "warpkit._core", .m_size = sizeof(wk_state),
    .m_methods = methods,  .m_slots = slots,          .m_traverse = traverse,
    .m_clear = clear,      .m_free = release,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&wk_module_definition);
}
