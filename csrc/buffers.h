/* Blocks of the pool. */

#ifndef TT_BUFFERS_H
#define TT_BUFFERS_H

#include "cpython.h"

typedef struct {
    PyObject_HEAD
    uintptr_t address;
    size_t nbytes;
} Buffer;

extern PyTypeObject BufferType;

/* A new block; NULL with an exception. */
PyObject *buffer_of(size_t nbytes);

#endif
