/* Calls that NumPy answers. */

#ifndef TT_EAGER_H
#define TT_EAGER_H

#include "cpython.h"

extern PyTypeObject EagerType;

/* Calls the NumPy function of an EagerEntry with these leaves, n of them, which the caller owns. Returns NULL without an
   exception when Python must do it. */
PyObject *run_eagerly(PyObject *entry, PyObject **leaves, Py_ssize_t n);
PyObject *set_numpy(PyObject *module, PyObject *args);

#endif
