/* Inner loops as NumPy's ufuncs have them, for operations that are none of its ufuncs. */

#ifndef TT_OWN_LOOPS_H
#define TT_OWN_LOOPS_H

#include "cpython.h"

typedef void (*inner_loop)(char **addresses, const Py_ssize_t *count, const Py_ssize_t *strides, void *data);

/* The loop of an operation, for elements of NumPy's type number `type`, so many bytes each; NULL where there is none. */
inner_loop own_loop(const char *name, int type, Py_ssize_t width);

PyObject *has_fused_loops(PyObject *module, PyObject *nothing); /* are there those of fma, fms and fnma? */

#endif
