/* Arrays as the hit path of jitted calls sees them: Buffer, a block of the pool, and ArrayBase, the four fields of an
   Array (tinytrace/core/array.py says what they mean). */

#include "dispatch.h"

/* --- Buffer --------------------------------------------------------------------------------------------------- */

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

static PyMemberDef buffer_members[] = {
    {"address", T_ULONGLONG, offsetof(Buffer, address), READONLY, "where the block lies"},
    {"nbytes", T_PYSSIZET, offsetof(Buffer, nbytes), READONLY, "its size"},
    {NULL, 0, 0, 0, NULL}};

PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.Buffer",
    .tp_doc = "Buffer(nbytes): a block from the runtime's pool, given back when the last array that sees it dies.",
    .tp_basicsize = sizeof(Buffer), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = buffer_new,
    .tp_dealloc = buffer_dealloc, .tp_members = buffer_members};

/* --- ArrayBase ------------------------------------------------------------------------------------------------ */

static int array_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *aval, *buffer, *view = Py_None;
    static char *names[] = {"aval", "buffer", "view", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O", names, &aval, &buffer, &view))
        return -1;
    Array *array = (Array *)self;
    Py_XSETREF(array->aval, Py_NewRef(aval));
    Py_XSETREF(array->buffer, Py_NewRef(buffer));
    Py_XSETREF(array->view, Py_NewRef(view));
    array->address = Py_IS_TYPE(buffer, &BufferType) ? ((Buffer *)buffer)->address : 0;
    return 0;
}

static void array_dealloc(PyObject *self) {
    Array *array = (Array *)self;
    if (array->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(array->aval);
    Py_XDECREF(array->buffer);
    Py_XDECREF(array->view);
    Py_TYPE(self)->tp_free(self); /* the subclass's own deallocator, which called this one, gives its type back */
}

static PyMemberDef array_members[] = {
    {"aval", T_OBJECT_EX, offsetof(Array, aval), READONLY, "the type of the array"},
    {"_buffer", T_OBJECT, offsetof(Array, buffer), 0, "the pooled block, None while the elements are NumPy's"},
    {"_view", T_OBJECT, offsetof(Array, view), 0, "the NumPy view, None until somebody looks"},
    {"_address", T_ULONGLONG, offsetof(Array, address), 0, "where the elements lie, 0 if not known yet"},
    {NULL, 0, 0, 0, NULL}};

PyTypeObject ArrayBaseType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.ArrayBase",
    .tp_doc = "The four fields of an Array; see core/array.py.", .tp_basicsize = sizeof(Array),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .tp_new = PyType_GenericNew, .tp_init = array_init,
    .tp_dealloc = array_dealloc, .tp_members = array_members, .tp_weaklistoffset = offsetof(Array, weakrefs)};

PyObject *array_of(PyObject *aval, PyObject *buffer) {
    Array *array = (Array *)array_type->tp_alloc(array_type, 0);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(aval);
    array->buffer = Py_NewRef(buffer);
    array->view = Py_NewRef(Py_None);
    array->address = ((Buffer *)buffer)->address;
    return (PyObject *)array;
}

/* array_of_view(aval, view): what ArrayBase.__init__ does for the result of a NumPy operation, at a quarter of its cost */
PyObject *array_of_view(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 2)
        return PyErr_Format(PyExc_TypeError, "array_of_view takes 2 arguments, got %zd", n);
    Array *array = (Array *)array_type->tp_alloc(array_type, 0);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(args[0]);
    array->buffer = Py_NewRef(Py_None);
    array->view = Py_NewRef(args[1]);
    return (PyObject *)array;
}
