/* Compiled calls. */

#ifndef TT_ENTRY_H
#define TT_ENTRY_H

#include "cpython.h"

extern PyTypeObject EntryType;

/* Runs the program of a FastEntry on these leaves, n of them, which the caller owns. Returns NULL without an exception
   when Python must do it. */
PyObject *run_entry(PyObject *entry, PyObject **leaves, Py_ssize_t n);

int add_entry_constants(PyObject *module); /* 0, or -1 with an exception */

#endif
