/* NumPy arrays over blocks of the pool; and NumPy itself, which is imported here for all files. */

#include "views.h"
#include "buffers.h"
#include "copies.h"
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tinytrace_numpy
#include <numpy/arrayobject.h>

static PyObject *dtype_name, *shape_name; /* NULL: NumPy is not imported yet */

int import_numpy(void) {
    if (PyArray_ImportNumPyAPI() < 0)
        return -1;
    dtype_name = PyUnicode_InternFromString("dtype");
    shape_name = PyUnicode_InternFromString("shape");
    return dtype_name && shape_name ? 0 : -1;
}

static PyObject *view_of_elements(PyObject *buffer, PyObject *dtype, PyObject *shape) {
    npy_intp dims[NPY_MAXDIMS];
    Py_ssize_t ndim = PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : -1;
    if (!PyArray_DescrCheck(dtype) || ndim < 0 || ndim > NPY_MAXDIMS)
        Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < ndim; i++)
        if ((dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i))) == -1 && PyErr_Occurred())
            return NULL;
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(dtype), (int)ndim, dims, NULL,
                                          (void *)((Buffer *)buffer)->address, NPY_ARRAY_CARRAY_RO, NULL);
    if (view && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(buffer)) < 0)
        Py_CLEAR(view);
    return view;
}

PyObject *view_of_buffer(PyObject *aval, PyObject *buffer) {
    if (!shape_name) /* during the import */
        Py_RETURN_NONE;
    PyObject *dtype = PyObject_GetAttr(aval, dtype_name), *view = NULL;
    PyObject *shape = dtype ? PyObject_GetAttr(aval, shape_name) : NULL;
    if (shape)
        view = view_of_elements(buffer, dtype, shape);
    Py_XDECREF(dtype);
    Py_XDECREF(shape);
    return view;
}

int is_held_by_others(PyObject *view) {
    PyObject *base = PyArray_BASE((PyArrayObject *)view); /* of views of a view, where that is a NumPy array itself */
    return Py_REFCNT(view) > 1 || (base && PyArray_CheckExact(base) && Py_REFCNT(base) > 1);
}

uintptr_t elements_of_view(PyObject *view) { return (uintptr_t)PyArray_DATA((PyArrayObject *)view); }

PyObject *view_of_part(PyObject *view, char *part, Py_ssize_t rows) {
    PyArrayObject *x = (PyArrayObject *)view;
    int first = rows == ONE_ROW, ndim = PyArray_NDIM(x);
    npy_intp dims[NPY_MAXDIMS];
    memcpy(dims, PyArray_DIMS(x), (size_t)ndim * sizeof *dims);
    dims[0] = rows;
    PyObject *made = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(x)), ndim - first,
                                          dims + first, PyArray_STRIDES(x) + first, part, 0, NULL);
    if (made && PyArray_SetBaseObject((PyArrayObject *)made, Py_NewRef(view)) < 0)
        Py_CLEAR(made);
    return made;
}

char *elements_in_order(PyObject *view, char *part, Py_ssize_t rows, Py_ssize_t *size) {
    PyArrayObject *x = (PyArrayObject *)view;
    if (!PyArray_CHKFLAGS(x, NPY_ARRAY_CARRAY_RO) || !PyArray_ISNBO(PyArray_DESCR(x)->byteorder))
        return NULL;
    *size = part ? PyArray_SIZE(x) / PyArray_DIM(x, 0) * (rows == ONE_ROW ? 1 : rows) : PyArray_SIZE(x);
    return part ? part : PyArray_DATA(x);
}

PyObject *block_of_view(PyObject *view) {
    PyArrayObject *x = (PyArrayObject *)view;
    PyObject *block = buffer_of((size_t)PyArray_NBYTES(x));
    if (block)
        copy_strided((char *)((Buffer *)block)->address, PyArray_DATA(x), PyArray_NDIM(x), PyArray_DIMS(x),
                     PyArray_STRIDES(x), (size_t)PyArray_ITEMSIZE(x));
    return block;
}

PyObject *view_of_view(PyObject *view) {
    PyArrayObject *x = (PyArrayObject *)view;
    if (!shape_name) /* during the import */
        Py_RETURN_NONE;
    PyObject *seen = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(x)), PyArray_NDIM(x),
                                          PyArray_DIMS(x), PyArray_STRIDES(x), PyArray_DATA(x), 0, NULL);
    /* A base that is no array and no buffer: NumPy then refuses to make the view writeable. */
    PyObject *base = seen ? PyTuple_Pack(1, view) : NULL;
    if (seen && (!base || PyArray_SetBaseObject((PyArrayObject *)seen, base) < 0))
        Py_CLEAR(seen);
    return seen;
}
