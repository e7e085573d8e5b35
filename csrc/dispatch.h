/* What the files of the extension module tinytrace._dispatch share: its types and the runtime's functions.

   The module is the hit path of a jitted call, in the fewest steps: a key of interned avals, one lookup, one call by
   address. What it does is defined by tinytrace/api/jit.py, which stands behind every miss; tests hold both equal. A
   call that is in any way unusual is a miss, and Python decides. */

#ifndef TT_DISPATCH_H
#define TT_DISPATCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdint.h>

typedef struct { /* a block of the pool */
    PyObject_HEAD
    uintptr_t address;
    size_t nbytes;
} Buffer;

typedef struct {
    PyObject_HEAD
    PyObject *aval, *buffer, *view, *weakrefs;
    uintptr_t address; /* 0: not known yet, the elements are in the view */
} Array;

extern PyTypeObject BufferType, ArrayBaseType, EntryType, EagerType;
extern PyTypeObject *array_type; /* the Python subclass of ArrayBase */
extern PyTypeObject *numpy_type; /* numpy.ndarray */
extern PyObject *raise_status;   /* called with a program's non-zero status */

extern uintptr_t (*pool_alloc)(size_t);
extern void (*pool_free)(uintptr_t, size_t);
extern int32_t (*program_call)(uintptr_t, uintptr_t *);

/* New references, or NULL with an exception. */
PyObject *buffer_of(size_t nbytes);
PyObject *array_of(PyObject *aval, PyObject *buffer);
PyObject *array_of_view(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* Runs the program of a FastEntry on these leaves. Returns NULL without an exception when Python must do it. */
PyObject *run_entry(PyObject *entry, PyObject **leaves);

/* The same for an EagerEntry: NumPy computes. */
PyObject *run_eagerly(PyObject *entry, PyObject **leaves);
PyObject *set_numpy(PyObject *module, PyObject *args);

int add_entry_constants(PyObject *module); /* 0, or -1 with an exception */

#endif
