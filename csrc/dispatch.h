/* What the files of the extension module tinytrace._dispatch share: its types and the runtime's functions.

   The module is the hit path of a jitted call, in the fewest steps: a key of interned avals, one lookup, one call by
   address. What it does is defined by tinytrace/api/jit.py, which stands behind every miss; tests hold both equal. A
   call that is in any way unusual is a miss, and Python decides.

   The rule of ownership: whatever is used after Python code may have run is owned, not borrowed. Python code runs
   wherever something is hashed, compared, called, allocated with a garbage collection or given up, and it may empty the
   very list, table or argument that an object came from. */

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

/* An Array. Its elements are in `buffer`, which is set once and stays, or as long as that is NULL in `view`. */
typedef struct {
    PyObject_HEAD
    PyObject *aval;
    PyObject *buffer; /* a Buffer, or NULL */
    PyObject *view;   /* the NumPy array that holds the elements, or NULL */
    PyObject *seen;   /* what Python sees of them, which cannot be written; NULL until somebody looks */
    PyObject *weakrefs;
} Array;

enum { FEW = 64 }; /* as many objects need no memory of their own */

struct objects { /* all of them owned */
    PyObject **items, **next, **end, *few[FEW];
};

typedef struct {
    struct objects tokens; /* types, avals, dict keys, lengths, static values */
    struct objects leaves; /* the dynamic leaves, in the order of reading */
    int depth;
} Key;

extern PyTypeObject BufferType, ArrayBaseType, EntryType, HitCounterType, EagerType, TraceStateType, TraceScopeType;
extern PyTypeObject *array_type; /* the Python subclass of ArrayBase */
extern PyTypeObject *numpy_type; /* numpy.ndarray */
extern PyObject *read_only_view; /* (aval, buffer or None, view or None) -> what Python sees of an Array */
extern PyObject *raise_status;   /* called with a program's non-zero status */

extern uintptr_t (*pool_alloc)(size_t);
extern void (*pool_free)(uintptr_t, size_t);
extern int32_t (*program_call)(uintptr_t, uintptr_t *);

/* New references, or NULL with an exception. */
PyObject *buffer_of(size_t nbytes);
PyObject *array_of(PyObject *aval, PyObject *buffer);
PyObject *array_of_view(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* What NumPy computes with: the view, or what Python sees. */
PyObject *array_elements(Array *array);

/* Gives an Array whose elements are NumPy's their copy in a block of the pool, unless another thread was faster. */
void array_settle(Array *array, PyObject *buffer);

/* The key of a call as a tuple, and its leaves, which the caller gives up by objects_clear; NULL, perhaps with an
   exception, when it has none here. All of static_names are plain strings. */
PyObject *key_of(PyObject *static_names, uint64_t static_bits, PyObject *args, PyObject *kwargs, Key *key);
void objects_clear(struct objects *self);

/* Is nothing being traced in this thread? */
int at_bottom(void);

/* Runs the program of a FastEntry on these leaves, which the caller owns. Returns NULL without an exception when Python
   must do it. */
PyObject *run_entry(PyObject *entry, PyObject **leaves);

/* How many calls all HitCounters together have counted. */
PyObject *calls_counted(PyObject *module, PyObject *nothing);

/* The same for an EagerEntry: NumPy computes. */
PyObject *run_eagerly(PyObject *entry, PyObject **leaves);
PyObject *set_numpy(PyObject *module, PyObject *args);

/* A read-only NumPy array over a block, which it keeps alive; None where Python must make it. */
PyObject *view_of_buffer(PyObject *aval, PyObject *buffer);

/* `x[index]`. */
PyObject *array_subscript(PyObject *array, PyObject *index);
PyObject *set_getitem(PyObject *module, PyObject *function);
PyObject *view_of(PyObject *module, PyObject *array);

/* `x[index]`. */
PyObject *array_subscript(PyObject *array, PyObject *index);
PyObject *set_getitem(PyObject *module, PyObject *function);

int nothing_is_traced(void); /* by this thread */

/* Drops an exception that Python finds again and says better; 0 when it must be passed on, as Ctrl-C must. */
int drop_exception(void);

int add_entry_constants(PyObject *module); /* 0, or -1 with an exception */

#endif
