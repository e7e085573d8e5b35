/* The trace that operations of a thread go to. */

#ifndef TT_TRACES_H
#define TT_TRACES_H

#include "cpython.h"

extern PyTypeObject TraceStateType, TraceScopeType;

/* Is nothing being traced in this thread? */
int at_bottom(void);

#endif
