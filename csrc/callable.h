/* FastCallable, and what is done to all of them. */

#ifndef TT_CALLABLE_H
#define TT_CALLABLE_H

#include "cpython.h"

extern PyTypeObject CallableType;

/* Functions of the module: see there. */
PyObject *call_entry(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *current_epoch(PyObject *module, PyObject *nothing);
PyObject *forget(PyObject *module, PyObject *nothing);
PyObject *set_paused(PyObject *module, PyObject *on);
PyObject *set_shorten(PyObject *module, PyObject *function);

#endif
