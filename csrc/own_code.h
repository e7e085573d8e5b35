/* What the modules of tinytrace hold. */

#ifndef TT_OWN_CODE_H
#define TT_OWN_CODE_H

#include "cpython.h"

PyObject *held_by(PyObject *module, PyObject *args);

#endif
