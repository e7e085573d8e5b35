/* NumPy arrays over blocks of the pool. */

#ifndef TT_VIEWS_H
#define TT_VIEWS_H

#include "cpython.h"

int import_numpy(void); /* 0, or -1 with an exception */

/* A read-only NumPy array over a block, which it keeps alive; None where Python must make it. */
PyObject *view_of_buffer(PyObject *aval, PyObject *buffer);

/* Is a NumPy array that the caller has a reference to somebody else's too, or one that sees the same memory? */
int is_held_by_others(PyObject *view);

/* Where the elements of a NumPy array lie; and their copy, in order, in a new block. */
uintptr_t elements_of_view(PyObject *view);
PyObject *block_of_view(PyObject *view);

/* The rows that begin at `part` of what a NumPy array holds, along its first axis, as many as `rows` says or ONE_ROW, which
   then is no axis; a new reference. */
enum { ONE_ROW = -1 };
PyObject *view_of_part(PyObject *view, char *part, Py_ssize_t rows);

/* Where the elements lie of a NumPy array, or of its rows that begin at `part`, and how many; NULL where they do not lie
   in order. */
char *elements_in_order(PyObject *view, char *part, Py_ssize_t rows, Py_ssize_t *size);

/* The same elements as a NumPy array that cannot be made writeable; a new reference, or None during the import. */
PyObject *view_of_view(PyObject *view);

#endif
