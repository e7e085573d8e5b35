/* Buffer: a block of the runtime's pool, owned by the arrays that see it. */

#include "buffers.h"
#include "installed.h"

PyObject *buffer_of(size_t nbytes) {
    uintptr_t address = pool_alloc(nbytes);
    if (!address)
        return PyErr_Format(PyExc_MemoryError, "Unable to allocate an array of %zu bytes", nbytes);
    Buffer *self = PyObject_New(Buffer, &BufferType);
    if (!self) {
        pool_free(address, nbytes);
        return NULL;
    }
    self->address = address;
    self->nbytes = nbytes;
    return (PyObject *)self;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Py_ssize_t nbytes;
    (void)type, (void)kwargs;
    if (!PyArg_ParseTuple(args, "n", &nbytes)) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_SetString(PyExc_MemoryError, "Unable to allocate an array larger than the address space");
        return NULL;
    }
    if (nbytes < 0)
        return PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes", nbytes);
    return buffer_of((size_t)nbytes);
}

static void buffer_dealloc(PyObject *self) {
    pool_free(((Buffer *)self)->address, ((Buffer *)self)->nbytes);
    PyObject_Free(self);
}

/* The buffer protocol, for reading: a NumPy array made of it can never be made writable. */
static int buffer_get(PyObject *self, Py_buffer *view, int flags) {
    Buffer *buffer = (Buffer *)self;
    return PyBuffer_FillInfo(view, self, (void *)buffer->address, (Py_ssize_t)buffer->nbytes, 1, flags);
}

static PyBufferProcs buffer_protocol = {.bf_getbuffer = buffer_get};

static PyMemberDef buffer_members[] = {
    {"address", T_ULONGLONG, offsetof(Buffer, address), READONLY, "where the block lies"},
    {"nbytes", T_PYSSIZET, offsetof(Buffer, nbytes), READONLY, "its size"},
    {NULL, 0, 0, 0, NULL}};

PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.Buffer",
    .tp_doc = "Buffer(nbytes): a block from the runtime's pool, given back when the last array that sees it dies.",
    .tp_basicsize = sizeof(Buffer), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = buffer_new,
    .tp_dealloc = buffer_dealloc, .tp_members = buffer_members, .tp_as_buffer = &buffer_protocol};
