/* guards.c -- what no argument may be, whatever the operation: an array that is masked. */
#include "glue.h"

/* Of a subclass of ndarray. Nobody has a masked array who has not imported numpy.ma. */
static int
is_masked(PyObject *array)
{
    PyObject *name = PyUnicode_InternFromString("numpy.ma");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, "MaskedArray") : NULL;
    const int found = type ? PyObject_IsInstance(array, type) : PyErr_Occurred() ? -1 : 0;
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return found;
}

int
wk_check_unmasked(PyObject *object)
{
    if (!PyArray_Check(object) || PyArray_CheckExact(object)) return 0;
    const int masked = is_masked(object);
    if (masked > 0)
        PyErr_SetString(
            PyExc_TypeError,
            "masked arrays are not taken, since no operation looks at the mask: "
            "pass a.filled(...), or a.data, with where=~a.mask where that is taken");
    return masked ? -1 : 0;
}

/* unmasked(object) -> object, for the Python side. */
PyObject *
wk_py_unmasked(PyObject *Py_UNUSED(module), PyObject *object)
{
    return wk_check_unmasked(object) < 0 ? NULL : Py_NewRef(object);
}
