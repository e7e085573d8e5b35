/* Compiled calls. */

#ifndef TT_CALLS_H
#define TT_CALLS_H

#include "arrays.h"

/* Runs the program of a FastEntry on these leaves, n of them, which the caller owns. Returns NULL without an exception
   when Python must do it. */
PyObject *run_entry(PyObject *entry, PyObject **leaves, Py_ssize_t n);

/* Gives an Array of so many elements of NumPy's type number `type` a block of the pool for good. 0, perhaps with an
   exception, when Python must do it. May run Python code. */
int array_in_block(Array *array, int type, Py_ssize_t size, Py_ssize_t width);

#endif
