/* The machine code of `np.add` for float32 is a function of addresses and strides, which the ufunc names in a table that
   is part of NumPy's C API. For small arrays it is called directly, on blocks of the pool: the bits are NumPy's, and what
   NumPy does around it (looking for the loop, settings of warnings, an array for the result) is three times the work. */

#include "loops.h"
#include "arrays.h"
#include "installed.h"
#include "scalars.h"
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tinytrace_numpy
#define PY_UFUNC_UNIQUE_SYMBOL tinytrace_ufunc
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

enum { MOST_BYTES = 1 << 16 }; /* of a result: for longer ones NumPy lets other threads run meanwhile */

static Py_ssize_t count_of(PyObject *aval) {
    PyObject *shape = PyObject_GetAttrString(aval, "shape");
    Py_ssize_t count = shape && PyTuple_Check(shape) ? 1 : -1;
    for (Py_ssize_t i = 0; count > 0 && i < PyTuple_GET_SIZE(shape); i++) {
        Py_ssize_t length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        count = length > 0 && length <= MOST_BYTES ? count * length : -1;
        count = count <= MOST_BYTES ? count : -1;
    }
    Py_XDECREF(shape);
    PyErr_Clear(); /* of lengths that are no numbers: then there is no loop */
    return count;
}

int loop_of(PyObject *ufunc, PyObject *which, PyObject *aval, Loop *loop) {
    PyObject *types;
    int index;
    *loop = (Loop){.run = NULL};
    if (which == Py_None)
        return 0;
    if (!PyArg_ParseTuple(which, "iO!", &index, &PyTuple_Type, &types))
        return -1;
    PyUFuncObject *u = (PyUFuncObject *)ufunc; /* Python has asked for its types */
    if (strcmp(Py_TYPE(ufunc)->tp_name, "numpy.ufunc") || index < 0 || index >= u->ntypes || u->nout != 1
        || u->nin != PyTuple_GET_SIZE(types) || u->nin > MOST_OPERANDS) {
        PyErr_Format(PyExc_ValueError, "%R has no inner loop %R for one result", ufunc, which);
        return -1;
    }
    for (int i = 0; i <= u->nin; i++) {
        PyArray_Descr *dtype = PyArray_DescrFromType(u->types[index * (u->nin + 1) + i]);
        if (!dtype)
            return -1;
        loop->widths[i] = PyDataType_ELSIZE(dtype);
        Py_DECREF(dtype);
        if (i < u->nin)
            loop->types[i] = u->types[index * (u->nin + 1) + i];
    }
    loop->n = u->nin;
    loop->count = count_of(aval);
    if (loop->count <= 0 || loop->count * loop->widths[u->nin] > MOST_BYTES)
        return 0;
    loop->data = u->data ? u->data[index] : NULL;
    loop->run = u->functions[index];
    return 0;
}

/* Where the elements of an Array are: as many as of the result, or one. NULL when NumPy must look at it. */
static char *elements_of(Array *array, int type, Py_ssize_t width, Py_ssize_t count, Py_ssize_t *stride) {
    PyArrayObject *view = (PyArrayObject *)array->view;
    char *elements = NULL;
    Py_ssize_t size = 0;
    if (array->buffer) {
        elements = (char *)((Buffer *)array->buffer)->address;
        size = (Py_ssize_t)((Buffer *)array->buffer)->nbytes / width;
    } else if (view && Py_TYPE(view) == numpy_type && PyArray_TYPE(view) == type
               && PyArray_CHKFLAGS(view, NPY_ARRAY_CARRAY_RO) && PyArray_ISNBO(PyArray_DESCR(view)->byteorder)) {
        elements = PyArray_DATA(view);
        size = PyArray_SIZE(view);
    }
    *stride = size == count ? width : 0;
    return size == count || size == 1 ? elements : NULL;
}

/* Python's number as the one element that it stands for; 0 when NumPy must look at it. */
static int store_number(PyObject *x, int type, uint64_t *slot) {
    if (!PyLong_Check(x) || (type != NPY_FLOAT && type != NPY_DOUBLE))
        return (PyFloat_CheckExact(x) || PyLong_Check(x)) && store_scalar(x, type, slot) != 0;
    int overflow;
    long integer = PyLong_AsLongAndOverflow(x, &overflow);
    if (overflow || integer != (int32_t)integer)
        return 0;
    if (type == NPY_FLOAT)
        *(float *)slot = (float)integer;
    else
        *(double *)slot = (double)integer;
    return 1;
}

PyObject *run_loop(const Loop *loop, PyObject **leaves) {
    uint64_t scalars[MOST_OPERANDS];
    char *addresses[MOST_OPERANDS + 1];
    Py_ssize_t strides[MOST_OPERANDS + 1];
    PyObject *result = buffer_of((size_t)(loop->count * loop->widths[loop->n]));
    if (!result)
        return NULL;
    /* From here to the end no Python code runs: what is read stays. */
    for (int i = 0; i < loop->n; i++) {
        addresses[i] = (char *)&scalars[i];
        strides[i] = 0;
        int is_array = Py_TYPE(leaves[i]) == array_type;
        if (is_array)
            addresses[i] = elements_of((Array *)leaves[i], loop->types[i], loop->widths[i], loop->count, &strides[i]);
        if (is_array ? !addresses[i] : !store_number(leaves[i], loop->types[i], &scalars[i])) {
            Py_DECREF(result);
            return NULL;
        }
    }
    addresses[loop->n] = (char *)((Buffer *)result)->address;
    strides[loop->n] = loop->widths[loop->n];
    loop->run(addresses, &loop->count, strides, loop->data);
    if (PyErr_Occurred())
        Py_CLEAR(result);
    return result;
}
