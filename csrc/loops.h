/* Inner loops, called without NumPy around them. */

#ifndef TT_LOOPS_H
#define TT_LOOPS_H

#include "cpython.h"

enum { MOST_OPERANDS = 4 };

/* The loop of a function for operands of certain types; `run` is NULL where there is none. */
typedef struct {
    void (*run)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
    void *data;
    int n, types[MOST_OPERANDS]; /* operands, and NumPy's numbers of their dtypes */
    int places[MOST_OPERANDS];   /* which leaf each of them is */
    Py_ssize_t widths[MOST_OPERANDS + 1]; /* bytes of an element, the result's last */
    Py_ssize_t count; /* elements of the result */
    Py_ssize_t rows;  /* where operands are broadcast: of so many rows, over which the loop runs; else 0 */
    int by_row[MOST_OPERANDS], in_row[MOST_OPERANDS]; /* then: has each row its own elements, has it more than one? */
} Loop;

/* Fills in the loop `which` for a result of `aval`; 0, or -1 with an exception. which: (a ufunc or the name of one of our
   loops, the number of the ufunc's, ((leaf, type, width), ...), (type, width) of the result, (rows, ((by_row, in_row),
   ...)) or None), or None. */
int loop_of(PyObject *which, PyObject *aval, Loop *loop);

/* Runs it on leaves, which the caller owns. Returns a Buffer, or NULL: without an exception NumPy must do it. */
PyObject *run_loop(const Loop *loop, PyObject **leaves);

#endif
