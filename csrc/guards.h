/* Guarded: what answers calls as long as some containers hold what they held. See cpython.h. */

#ifndef TT_GUARDS_H
#define TT_GUARDS_H

#include "cpython.h"

extern PyTypeObject GuardedType;

/* What answers such calls, borrowed; NULL, without an exception, when a container holds something else. */
PyObject *entry_behind(PyObject *guarded);

#endif
