/* devices.c -- what there is: rows, devices, memory, configuration. */
#include "glue.h"
#include "cpu/isa.h"
#include "cpu/threads.h"
#include "settings.h"

PyObject *
wk_py_rows(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < wk_row_count; i++) {
        const wk_row *r = &wk_rows[i];
        PyObject *dtypes = PyList_New(0);
        for (int d = 0; dtypes && d < WK_DTYPES; d++) {
            if (!(r->dtypes >> d & 1)) continue;
            PyObject *name = PyUnicode_FromString(wk_dtype_names[d]);
            if (name == NULL || PyList_Append(dtypes, name) < 0) Py_CLEAR(dtypes);
            Py_XDECREF(name);
        }
        PyObject *row = dtypes ? Py_BuildValue("sssNOs", wk_op_names[r->op],
                                               wk_kind_names[r->backend], r->variant, dtypes,
                                               r->production ? Py_True : Py_False, r->teaches)
                               : NULL;
        if (row == NULL || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyObject *
wk_device_name(wk_kind kind, int ordinal)
{
    if (kind == WK_CUDA || ordinal > 0)
        return PyUnicode_FromFormat("%s:%d", wk_kind_names[kind], ordinal);
    return PyUnicode_FromString(wk_kind_names[kind]);
}

PyObject *
wk_py_devices(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    wk_state *state = wk_state_of(module);
    PyObject *list = PyList_New(0);
    for (int kind = 0; list && kind < WK_KINDS; kind++) {
        const int count = wk_load_slot(state, kind)->count;
        for (int i = 0; list && i < count; i++) {
            PyObject *name = wk_device_name(kind, i);
            if (name == NULL || PyList_Append(list, name) < 0) Py_CLEAR(list);
            Py_XDECREF(name);
        }
    }
    return list;
}

/* The backend of the device named in args, or NULL with an exception set. */
static const wk_backend *
backend_of(wk_state *state, PyObject *args, wk_device *device)
{
    wk_error error = {.status = WK_OK};
    if (!PyArg_ParseTuple(args, "O&", wk_device_arg, device)) return NULL;
    if (wk_choose_device(state, device) < 0) return NULL;
    wk_load_slot(state, device->kind);
    if (device->given == 2 || device->devices) {
        PyErr_SetString(PyExc_ValueError, "this takes one device, such as 'cuda:0'");
        return NULL;
    }
    const wk_slot *slot = wk_find_device(state->context, device->kind, device->ordinal, &error);
    if (slot == NULL) wk_raise(state, &error);
    return slot ? slot->backend : NULL;
}

PyObject *
wk_py_device_info(PyObject *module, PyObject *args)
{
    wk_state *state = wk_state_of(module);
    wk_device device;
    wk_device_info info;
    wk_error error = {.status = WK_OK};
    const wk_backend *backend = backend_of(state, args, &device);
    if (backend == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    backend->info(device.ordinal, &info, &error);
    Py_END_ALLOW_THREADS
    if (error.status != WK_OK) {
        wk_raise(state, &error);
        return NULL;
    }
    int64_t results_keep;
    const int64_t results = wk_recycler_waiting(state->recycler, &results_keep);
    return Py_BuildValue(
        "{s:N,s:s,s:i,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "device",
        wk_device_name(device.kind, device.ordinal), "name", info.name, "compute_capability",
        info.compute_capability, "total", (long long)info.memory_total, "free",
        (long long)info.memory_free, "pool_used", (long long)info.pool_used, "pool_reserved",
        (long long)info.pool_reserved, "pool_keep", (long long)info.pool_keep, "pool_limit",
        (long long)info.pool_limit, "staging", (long long)info.staging, "results",
        (long long)results, "results_keep", (long long)results_keep);
}

PyObject *
wk_py_trim(PyObject *module, PyObject *args)
{
    wk_state *state = wk_state_of(module);
    wk_device device;
    wk_error error = {.status = WK_OK};
    const wk_backend *backend = backend_of(state, args, &device);
    if (backend == NULL) return NULL;
    Py_BEGIN_ALLOW_THREADS
    backend->trim(device.ordinal, &error); /* waits for the device */
    wk_recycler_trim(state->recycler);
    Py_END_ALLOW_THREADS
    if (error.status != WK_OK) {
        wk_raise(state, &error);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The name of the device of calls that name none, or "auto"; of several a tuple. */
PyObject *
wk_py_default_device(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    wk_device device = {.given = 0};
    if (wk_choose_device(wk_state_of(module), &device) < 0) return NULL;
    if (device.given == 2) return PyUnicode_FromString("auto");
    if (device.devices == 0) return wk_device_name(device.kind, device.ordinal);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < 32; i++) {
        if (!(device.devices >> i & 1)) continue;
        PyObject *name = wk_device_name(device.kind, i);
        if (name == NULL || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    if (list) Py_SETREF(list, PyList_AsTuple(list));
    return list;
}

/* What device= takes, and is there; 0 with an exception set. */
static int
is_there(wk_state *state, PyObject *args, wk_device *device)
{
    if (!PyArg_ParseTuple(args, "O&", wk_device_arg, device)) return 0;
    const int several = device->given == 2 || device->devices;
    return !device->given || several || backend_of(state, args, device) != NULL;
}

PyObject *
wk_py_check_device(PyObject *module, PyObject *args)
{
    wk_device device;
    return is_there(wk_state_of(module), args, &device) ? Py_NewRef(Py_None) : NULL;
}

PyObject *
wk_py_set_default_device(PyObject *module, PyObject *args)
{
    wk_state *state = wk_state_of(module);
    wk_device device;
    if (!is_there(state, args, &device)) return NULL;
    state->preferred = device;
    Py_RETURN_NONE;
}

/* Every environment variable: (name, what it is set to or None, what it takes, what it is for). */
PyObject *
wk_py_settings(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const wk_settings *s = wk_settings_now();
    char takes[100];
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < WK_SETTINGS; i++) {
        wk_setting_takes(i, takes, sizeof takes);
        PyObject *text =
            s->of[i].text[0] ? PyUnicode_DecodeFSDefault(s->of[i].text) : Py_NewRef(Py_None);
        PyObject *one = text ? Py_BuildValue("sNss", wk_setting_title(i), text, takes,
                                             wk_setting_purpose(i))
                             : NULL;
        if (one == NULL || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* For tests, which change variables between calls. */
PyObject *
wk_py_read_settings(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    wk_settings_now(); /* the first reading, which would come later */
    wk_settings_read();
    Py_RETURN_NONE;
}

PyObject *
wk_py_config(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    wk_state *state = wk_state_of(module);
    PyObject *config = Py_BuildValue("{s:s,s:i,s:s}", "isa", wk_isa(), "threads",
                                     wk_thread_count(state->context), "settings",
                                     wk_settings_now()->error.text);
    for (int kind = WK_CUDA; config && kind < WK_KINDS; kind++) {
        const wk_slot *slot = wk_load_slot(state, kind);
        PyObject *one =
            Py_BuildValue("{s:i,s:s,s:s}", "count", slot->count, "build",
                          slot->plugin ? slot->plugin->build : "", "why", slot->why.text);
        if (one == NULL || PyDict_SetItemString(config, wk_kind_names[kind], one) < 0)
            Py_CLEAR(config);
        Py_XDECREF(one);
    }
    return config;
}
