/* call.c -- how the Python side runs a function of a plug-in's that takes long. */
#include "glue.h"
#include "settings.h"

/* call(function, argument) -> int: int (*)(void *) at an address, with the GIL released. Ctrl-C stops
 * the kernels that it launches, and its exception is raised when they have stopped. */
PyObject *
wk_py_call(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (wk_check_count("call", count, 2) < 0) return NULL;
    void *function = PyLong_AsVoidPtr(args[0]);
    void *argument = function ? PyLong_AsVoidPtr(args[1]) : NULL;
    if (argument == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "an address is not 0");
        return NULL;
    }
    const wk_settings *settings = wk_settings_now();
    wk_error error = {.status = WK_OK};
    if (settings->error.status)
        wk_fail_as(&error, &settings->error);
    else if (wk_within_handler())
        WK_FAIL(&error, WK_EDEVICE,
                "a signal's handler cannot run a kernel within another call's wait");
    if (error.status) {
        wk_raise(wk_state_of(module), &error);
        return NULL;
    }
    wk_release release;
    wk_release_gil(&release);
    const int result = ((int (*)(void *))function)(argument);
    const int stopped = wk_was_interrupted();
    wk_take_gil(&release);
    return stopped ? NULL : PyLong_FromLong(result);
}
