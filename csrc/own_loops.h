/* Inner loops as NumPy's ufuncs have them, for operations that are none of its ufuncs. */

#ifndef TT_OWN_LOOPS_H
#define TT_OWN_LOOPS_H

#include "math_loops.h"

/* The loop of an operation, for elements of NumPy's type number `type`, so many bytes each; NULL where there is none. */
inner_loop own_loop(const char *name, int type, Py_ssize_t width);

PyObject *has_own_loop(PyObject *module, PyObject *args); /* has_own_loop(name, type, width): is there one? */

#endif
