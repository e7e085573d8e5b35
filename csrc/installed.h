/* What tinytrace tells this module once, when it is imported: functions of the runtime, and types. */

#ifndef TT_INSTALLED_H
#define TT_INSTALLED_H

#include "cpython.h"

extern uintptr_t (*pool_alloc)(size_t);
extern void (*pool_free)(uintptr_t, size_t);
extern int32_t (*program_call)(uintptr_t, uintptr_t *);
extern int32_t (*program_call_on_blocks)(uintptr_t, uintptr_t *, const size_t *, int32_t, int64_t, int64_t);
extern void (*parallel_for)(void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx, int64_t n, int64_t grain);

extern PyTypeObject *array_type; /* the Python subclass of ArrayBase */
extern PyTypeObject *numpy_type; /* numpy.ndarray */
extern PyObject *read_only_view; /* (aval, buffer or None, view or None) -> what Python sees of an Array */
extern PyObject *raise_status;   /* called with a program's non-zero status */

extern uintptr_t shared_memory, shared_bytes; /* where elements are that arrays share, and how many bytes of them */

static inline int is_shared_memory(uintptr_t address) { return address - shared_memory < shared_bytes; }

PyObject *set_pool(PyObject *module, PyObject *args);
PyObject *set_array_types(PyObject *module, PyObject *args);
PyObject *set_shared_memory(PyObject *module, PyObject *args);
PyObject *set_raise_status(PyObject *module, PyObject *function);

#endif
