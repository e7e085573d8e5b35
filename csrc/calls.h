/* Compiled calls. */

#ifndef TT_CALLS_H
#define TT_CALLS_H

#include "cpython.h"

/* Runs the program of a FastEntry on these leaves, n of them, which the caller owns. Returns NULL without an exception
   when Python must do it. */
PyObject *run_entry(PyObject *entry, PyObject **leaves, Py_ssize_t n);

#endif
