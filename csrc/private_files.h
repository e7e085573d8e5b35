/* Files that only this user can have written, read in one step of Python's. */

#ifndef TT_PRIVATE_FILES_H
#define TT_PRIVATE_FILES_H

#include "cpython.h"

PyObject *read_private(PyObject *module, PyObject *args);

#endif
