/* CPython, as all files of the extension module tinytrace._dispatch see it.

   The module is the hit path of a jitted call, in the fewest steps: a key of interned avals, one lookup, one call by
   address. What it does is defined by tinytrace/api/jit.py, which stands behind every miss; tests hold both equal. A
   call that is in any way unusual is a miss, and Python decides. Beside it stand the two steps of a hit on disk that no
   signal's handler may interrupt: reading what was stored, and loading it.

   Every file X.c has a header X.h with what it offers to those above it, and includes headers of files below it only:
   private_files, libraries, own_code; installed, traces, counter, scalars; buffers, views, arrays, indexing; trees, keys,
   entry, calls, math_loops, own_loops, loops, eager, guards; dispatch.

   The rule of ownership: whatever is used after Python code may have run is owned, not borrowed. Python code runs
   wherever something is hashed, compared, called, allocated with a garbage collection or given up, and it may empty the
   very list, table or argument that an object came from. */

#ifndef TT_CPYTHON_H
#define TT_CPYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdint.h>

/* Drops an exception that Python finds again and says better; 0 when it must be passed on, as Ctrl-C must. */
static inline int drop_exception(void) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return 0;
    PyErr_Clear();
    return 1;
}

#endif
