/* Scalars. */

#ifndef TT_SCALARS_H
#define TT_SCALARS_H

#include "cpython.h"

/* Stores a scalar as an element of NumPy's type number `type`; returns its address, or 0 when Python must look at it. */
uintptr_t store_scalar(PyObject *x, int type, uint64_t *slot);

#endif
