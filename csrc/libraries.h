/* Loaded libraries as objects of Python's: each is closed when its object goes. */

#ifndef TT_LIBRARIES_H
#define TT_LIBRARIES_H

#include "cpython.h"

PyObject *load_copy(PyObject *module, PyObject *args);
PyObject *load_file(PyObject *module, PyObject *path);
PyObject *symbol_of(PyObject *module, PyObject *args);

#endif
