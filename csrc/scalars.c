/* Scalars of Python and NumPy as the one element of an array. */

#include "scalars.h"
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tinytrace_numpy
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

static uintptr_t store_complex(double real, double imaginary, uint64_t *slot) {
    float parts[2] = {(float)real, (float)imaginary};
    memcpy(slot, parts, sizeof parts);
    return (uintptr_t)slot;
}

/* A NumPy scalar. 64-bit numbers may become 32-bit ones, as in `copy_elements`. */
static uintptr_t store_numpy_scalar(PyObject *x, int type, uint64_t *slot) {
    PyArray_Descr *dtype = PyArray_DescrFromScalar(x);
    int own = dtype ? dtype->type_num : NPY_NOTYPE, is_number = PyTypeNum_ISNUMBER(own) || own == NPY_BOOL;
    union { double real; npy_long integer; uint64_t word; } value = {.word = 0};
    if (!dtype)
        PyErr_Clear();
    else if (is_number && PyDataType_ELSIZE(dtype) <= (npy_intp)sizeof value)
        PyArray_ScalarAsCtype(x, &value);
    else
        own = NPY_NOTYPE;
    Py_XDECREF(dtype);
    if (own == type && is_number)
        *slot = value.word;
    else if (own == NPY_DOUBLE && type == NPY_FLOAT)
        *(float *)slot = (float)value.real;
    else if (own == NPY_LONG && type == NPY_INT)
        *(int32_t *)slot = (int32_t)value.integer;
    else
        return 0;
    return (uintptr_t)slot;
}

/* A Python scalar, as the array element it stands for. */
static uintptr_t store_python_scalar(PyObject *x, int type, uint64_t *slot) {
    double real = 0;
    long long integer = 0;
    int overflow = 0;
    if (PyFloat_CheckExact(x))
        real = PyFloat_AS_DOUBLE(x);
    else if (PyComplex_CheckExact(x))
        return type == NPY_CFLOAT ? store_complex(PyComplex_RealAsDouble(x), PyComplex_ImagAsDouble(x), slot) : 0;
    else if ((integer = PyLong_AsLongLongAndOverflow(x, &overflow)), overflow)
        return 0;
    switch (type) {
    case NPY_FLOAT: *(float *)slot = (float)real; break;
    case NPY_DOUBLE: *(double *)slot = real; break;
    case NPY_INT: *(int32_t *)slot = (int32_t)integer; break;
    case NPY_LONG: *(int64_t *)slot = (int64_t)integer; break;
    case NPY_BOOL: *(uint8_t *)slot = (uint8_t)(x == Py_True); break;
    default: return 0;
    }
    return type == NPY_INT && integer != (int32_t)integer ? 0 : (uintptr_t)slot;
}

uintptr_t store_scalar(PyObject *x, int type, uint64_t *slot) {
    int is_pythons = PyFloat_CheckExact(x) || PyLong_Check(x) || PyComplex_CheckExact(x);
    return is_pythons ? store_python_scalar(x, type, slot) : store_numpy_scalar(x, type, slot);
}
