/* Inner loops, called without NumPy around them. */

#ifndef TT_LOOPS_H
#define TT_LOOPS_H

#include "cpython.h"

enum { MOST_OPERANDS = 4, MOST_LOOPS = 16 };

/* The loop of a function for operands of certain types; `run` is NULL where there is none. */
typedef struct {
    void (*run)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
    void *data;
    int n, types[MOST_OPERANDS]; /* operands, and NumPy's numbers of their dtypes */
    int places[MOST_OPERANDS];   /* which leaf each of them is; -1, -2, ...: which constant; MADE, ...: what which loop made */
    Py_ssize_t widths[MOST_OPERANDS + 1]; /* bytes of an element, the result's last */
    Py_ssize_t count; /* elements of the result */
    Py_ssize_t rows;  /* where operands are broadcast: of so many rows, over which the loop runs; else 0 */
    int by_row[MOST_OPERANDS], in_row[MOST_OPERANDS]; /* then: has each row its own elements, has it more than one? */
} Loop;

/* A few loops, one after the other: the last one makes the result. None: n is 0. */
typedef struct {
    Loop *loops;
    int n;
    PyObject *constants; /* a tuple of Arrays */
} Loops;

enum { MADE = 1 << 20 }; /* see places */

/* Fills in the loops `which` for a result of `aval`; 0, or -1 with an exception. which: None, or (loops, constants) with
   loops of (a ufunc or the name of one of our loops, the number of the ufunc's, ((place, type, width), ...), (type, width)
   of the result, its elements or -1 for those of `aval`, (rows, ((by_row, in_row), ...)) or None). */
int loops_of(PyObject *which, PyObject *aval, Loops *loops);
void free_loops(Loops *loops);

/* Runs them on leaves, which the caller owns. Returns a Buffer, or NULL: without an exception NumPy must do it. */
PyObject *run_loops(const Loops *loops, PyObject **leaves);

#endif
