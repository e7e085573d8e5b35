/* What tinytrace tells this module once, when it is imported. */

#include "installed.h"

uintptr_t (*pool_alloc)(size_t);
void (*pool_free)(uintptr_t, size_t);
int32_t (*program_call)(uintptr_t, uintptr_t *);
int32_t (*program_call_on_blocks)(uintptr_t, uintptr_t *, const size_t *, int32_t, int64_t, int64_t);
void (*parallel_for)(void (*)(void *, int64_t, int64_t), void *, int64_t, int64_t);
PyTypeObject *array_type, *numpy_type;
PyObject *read_only_view, *raise_status;
uintptr_t shared_memory, shared_bytes;

PyObject *set_pool(PyObject *module, PyObject *args) {
    unsigned long long alloc, release, call, on_blocks, loop;
    (void)module;
    if (!PyArg_ParseTuple(args, "KKKKK", &alloc, &release, &call, &on_blocks, &loop))
        return NULL;
    pool_alloc = (uintptr_t(*)(size_t))(uintptr_t)alloc;
    pool_free = (void (*)(uintptr_t, size_t))(uintptr_t)release;
    program_call = (int32_t(*)(uintptr_t, uintptr_t *))(uintptr_t)call;
    program_call_on_blocks =
        (int32_t(*)(uintptr_t, uintptr_t *, const size_t *, int32_t, int64_t, int64_t))(uintptr_t)on_blocks;
    parallel_for = (void (*)(void (*)(void *, int64_t, int64_t), void *, int64_t, int64_t))(uintptr_t)loop;
    Py_RETURN_NONE;
}

PyObject *set_array_types(PyObject *module, PyObject *args) {
    PyTypeObject *own, *numpy;
    PyObject *view;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyType_Type, &own, &PyType_Type, &numpy, &view))
        return NULL;
    Py_XSETREF(array_type, (PyTypeObject *)Py_NewRef(own));
    Py_XSETREF(numpy_type, (PyTypeObject *)Py_NewRef(numpy));
    Py_XSETREF(read_only_view, Py_NewRef(view));
    Py_RETURN_NONE;
}

PyObject *set_shared_memory(PyObject *module, PyObject *args) {
    unsigned long long address, nbytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "KK", &address, &nbytes))
        return NULL;
    shared_memory = (uintptr_t)address;
    shared_bytes = (uintptr_t)nbytes;
    Py_RETURN_NONE;
}

PyObject *set_raise_status(PyObject *module, PyObject *function) {
    (void)module;
    Py_XSETREF(raise_status, Py_NewRef(function));
    Py_RETURN_NONE;
}
