/* FastEntry: what is known of a compiled call. */

#ifndef TT_ENTRY_H
#define TT_ENTRY_H

#include "cpython.h"

enum { FROM_KERNEL, FROM_LEAF, CONSTANT };

struct input {
    uintptr_t fixed; /* the address of a closed-over constant, 0 for a leaf */
    size_t nbytes, size; /* size: how many elements */
    int leaf; /* which leaf it is */
    int type; /* NumPy's number of its dtype, -1 for one that only Arrays have */
};

struct output {
    int source, at; /* FROM_KERNEL: which one; FROM_LEAF: which leaf */
    PyObject *constant;
};

/* An array that the caller gives up: it is deleted when the program begins. */
struct donation {
    int leaf;
    int input, made; /* the computed output that is in its place, and which input it is; -1: none is */
};

typedef struct {
    PyObject_HEAD
    PyObject *owner;     /* keeps the program and its constants alive */
    PyObject *out_avals; /* of all outputs */
    PyObject *unflatten; /* list of outputs -> result, None for a single leaf; the type of tuples for one of leaves */
    PyObject *counter;   /* a HitCounter, or NULL */
    uintptr_t entry;
    size_t workspace;
    int n_inputs, n_computed, n_outputs, n_donations;
    int n_leaves; /* as many it looks at, at least */
    struct donation *donations;
    Py_ssize_t block, count; /* block > 0: the program takes `block` elements, a call takes `count` */
    Py_ssize_t grain;        /* so many blocks a thread takes at least; 0: all are the caller's */
    size_t *steps;           /* then, per buffer: bytes from one block to the next, 0 for one that stays */
    struct input *inputs;
    size_t *out_bytes; /* of computed outputs */
    struct output *outputs;
} Entry;

extern PyTypeObject EntryType;

int add_entry_constants(PyObject *module); /* 0, or -1 with an exception */

#endif
