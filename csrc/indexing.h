/* Indices. */

#ifndef TT_INDEXING_H
#define TT_INDEXING_H

#include "cpython.h"

/* `x[index]`. */
PyObject *array_subscript(PyObject *array, PyObject *index);
PyObject *set_getitem(PyObject *module, PyObject *function);

#endif
