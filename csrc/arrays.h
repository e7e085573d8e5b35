/* Arrays. */

#ifndef TT_ARRAYS_H
#define TT_ARRAYS_H

#include "buffers.h"

/* An Array. Its elements are in `buffer`, which is set once and stays, or as long as that is NULL in `view`: all of it, or
   rows of it, which are made a NumPy array when one is needed (`array_view`). Both are NULL when it is deleted. Whoever
   reads the elements owns a reference to the buffer or the view while he does. */
typedef struct Array {
    PyObject_HEAD
    PyObject *aval;
    PyObject *buffer; /* a Buffer, or NULL */
    PyObject *view;   /* the NumPy array that holds the elements, or NULL */
    char *part;       /* where the rows of `view` begin, along its first axis, that the elements are; NULL: it is all of it */
    Py_ssize_t rows;  /* how many; ONE_ROW: one, without that axis */
    PyObject *seen;   /* what Python sees of them, which cannot be written; NULL until somebody looks */
    PyObject *weakrefs;
    struct Array *before, *after; /* all of them, in a ring */
} Array;

extern PyTypeObject ArrayBaseType;
/* `x[index]`, and what makes an Array a sequence in C: whoever makes the module fills them in before the type is ready. */
extern PyMappingMethods array_mapping;
extern PySequenceMethods array_sequence;

/* New references, or NULL with an exception. */
PyObject *array_of(PyObject *aval, PyObject *buffer);
PyObject *array_of_view(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *array_filled(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *live_arrays(PyObject *module, PyObject *nothing);
PyObject *array_copied(PyObject *module, PyObject *array);
PyObject *array_counted(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* The Array of the rows that begin at `part` of what a NumPy array holds. */
PyObject *array_of_part(PyObject *aval, PyObject *view, char *part, Py_ssize_t rows);

/* The NumPy array that holds the elements, borrowed; NULL, without an exception where none does. */
PyObject *array_make_view(Array *array);
static inline PyObject *array_view(Array *array) { return array->part ? array_make_view(array) : array->view; }

/* What NumPy computes with: the view, or what Python sees. */
PyObject *array_elements(Array *array);

/* Gives an Array whose elements are NumPy's their copy in a block of the pool, unless another thread was faster. */
void array_settle(Array *array, PyObject *buffer);

/* Takes its elements away; they live on where others have them too. */
void array_delete(Array *array);

/* Does somebody hold the NumPy array that Python sees? Then the elements stay where they are, and as they are. */
int array_is_looked_at(Array *array);

/* Are its elements in a block that nobody else has, but for `borrowed` references of the caller's? */
int array_owns(Array *array, Py_ssize_t borrowed);

/* Another Array of the same elements: a new reference; NULL with an exception, or without one when it is deleted. */
PyObject *array_again(Array *array, PyObject *aval);

#endif
