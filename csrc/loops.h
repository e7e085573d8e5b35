/* NumPy's inner loops, called without NumPy around them. */

#ifndef TT_LOOPS_H
#define TT_LOOPS_H

#include "cpython.h"

enum { MOST_OPERANDS = 4 };

/* The loop of a ufunc for operands of certain types; `run` is NULL where there is none. */
typedef struct {
    void (*run)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
    void *data;
    int n, types[MOST_OPERANDS]; /* operands, and NumPy's numbers of their dtypes */
    Py_ssize_t widths[MOST_OPERANDS + 1]; /* bytes of an element, the result's last */
    Py_ssize_t count; /* elements of the result */
} Loop;

/* Fills in the loop `which` of a ufunc, (index, types) or None, for a result of `aval`; 0, or -1 with an exception. */
int loop_of(PyObject *ufunc, PyObject *which, PyObject *aval, Loop *loop);

/* Runs it on leaves, which the caller owns. Returns a Buffer, or NULL: without an exception NumPy must do it. */
PyObject *run_loop(const Loop *loop, PyObject **leaves);

#endif
