/* Indices. */

#ifndef TT_INDEXING_H
#define TT_INDEXING_H

#include "cpython.h"

/* `x[index]`. */
PyObject *array_subscript(PyObject *array, PyObject *index);

/* The same for an integer, by which Python's sequences are read (`PySequence_GetItem`): NumPy asks whether there is it. */
PyObject *array_item(PyObject *array, Py_ssize_t i);

/* rows(array, aval, start, stop): its parts along the first axis, each of type `aval`, as views of the same elements. */
PyObject *rows(PyObject *module, PyObject *args);

PyObject *set_getitem(PyObject *module, PyObject *function);

#endif
