/* `x[index]` outside of traces, where the index is plain: integers in range, slices, `...` and None. The result is a
   NumPy view of the same elements; every other index is Python's (tinytrace/numpy/indexing.py). */

#include "indexing.h"
#include "arrays.h"
#include "installed.h"
#include "traces.h"
#include "views.h"
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tinytrace_numpy
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

enum { MAX_AVALS = 4096 };

static PyObject *getitem; /* what answers all other indices */
static PyObject *avals;   /* (aval of an array, shape) -> the aval of its part */
static PyObject *update_name;

struct part {
    char *data;
    int ndim, axis; /* of the part; how many axes of the array are dealt with */
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
};

enum { REMEMBERED_AXES = 4 };
static struct {
    PyObject *of, *aval; /* the latest answer, aval of an array and of its part: most parts are like the one before */
    int ndim;
    npy_intp dims[REMEMBERED_AXES];
} latest;

/* Each returns 1, or 0 where the index is Python's to understand. */
static int at_position(struct part *part, PyArrayObject *x, PyObject *index) {
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(index, &overflow);
    npy_intp size = PyArray_DIM(x, part->axis);
    if (overflow || i < -size || i >= size)
        return 0;
    part->data += (i < 0 ? i + size : i) * PyArray_STRIDE(x, part->axis);
    part->axis++;
    return 1;
}

static int is_bound(PyObject *x) { return x == Py_None || PyLong_CheckExact(x); }

static int along_slice(struct part *part, PyArrayObject *x, PyObject *index) {
    PySliceObject *slice = (PySliceObject *)index;
    Py_ssize_t start, stop, step;
    if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)
        || PySlice_Unpack(index, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return 0;
    }
    npy_intp stride = PyArray_STRIDE(x, part->axis);
    part->dims[part->ndim] = PySlice_AdjustIndices(PyArray_DIM(x, part->axis), &start, &stop, step);
    part->strides[part->ndim] = stride * step;
    if (part->dims[part->ndim])
        part->data += start * stride;
    part->ndim++, part->axis++;
    return 1;
}

static int whole_axes(struct part *part, PyArrayObject *x, int until) {
    for (; part->axis < until; part->axis++, part->ndim++) {
        part->dims[part->ndim] = PyArray_DIM(x, part->axis);
        part->strides[part->ndim] = PyArray_STRIDE(x, part->axis);
    }
    return 1;
}

static int read_entries(struct part *part, PyArrayObject *x, PyObject **entries, Py_ssize_t n) {
    int axes = 0, ellipses = 0, added = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        axes += PyLong_CheckExact(entries[i]) || PySlice_Check(entries[i]);
        ellipses += entries[i] == Py_Ellipsis;
        added += entries[i] == Py_None;
    }
    if (axes > PyArray_NDIM(x) || ellipses > 1 || PyArray_NDIM(x) + n > NPY_MAXDIMS || !(axes + added))
        return 0; /* too many of something; or nothing: then the array itself is the result */
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *entry = entries[i];
        if (PyLong_CheckExact(entry) ? !at_position(part, x, entry)
            : PySlice_Check(entry)   ? !along_slice(part, x, entry)
            : entry == Py_Ellipsis   ? !whole_axes(part, x, part->axis + PyArray_NDIM(x) - axes)
                                     : entry != Py_None)
            return 0;
        if (entry == Py_None) {
            part->dims[part->ndim] = 1;
            part->strides[part->ndim++] = 0;
        }
    }
    return whole_axes(part, x, PyArray_NDIM(x));
}

static PyObject *look_up_aval(PyObject *aval, const struct part *part);

/* The aval of a part of an array; a new reference. */
static PyObject *aval_of_part(PyObject *aval, const struct part *part) {
    size_t bytes = (size_t)part->ndim * sizeof *part->dims;
    if (aval == latest.of && part->ndim == latest.ndim && !memcmp(part->dims, latest.dims, bytes))
        return Py_NewRef(latest.aval);
    PyObject *found = look_up_aval(aval, part);
    if (found && part->ndim <= REMEMBERED_AXES) {
        latest.ndim = part->ndim;
        memcpy(latest.dims, part->dims, bytes);
        PyObject *of = latest.of, *before = latest.aval;
        latest.of = Py_NewRef(aval), latest.aval = Py_NewRef(found);
        Py_XDECREF(of); /* may run Python code: everything is in place */
        Py_XDECREF(before);
    }
    return found;
}

/* The same from the table, or by Python. */
static PyObject *look_up_aval(PyObject *aval, const struct part *part) {
    PyObject *shape = PyTuple_New(part->ndim);
    for (int i = 0; shape && i < part->ndim; i++) {
        PyObject *size = PyLong_FromSsize_t(part->dims[i]);
        if (!size)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, i, size);
    }
    PyObject *key = shape ? PyTuple_Pack(2, aval, shape) : NULL;
    PyObject *found = key ? PyDict_GetItemWithError(avals, key) : NULL;
    Py_XINCREF(found);
    if (key && !found && !PyErr_Occurred()) {
        found = PyObject_CallMethodOneArg(aval, update_name, shape);
        if (PyDict_GET_SIZE(avals) >= MAX_AVALS)
            PyDict_Clear(avals);
        if (found && PyDict_SetItem(avals, key, found) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(key);
    Py_XDECREF(shape);
    return found;
}

/* Is a part, made by one entry, rows of a NumPy array that follow one another? */
static int is_rows(const struct part *part, PyArrayObject *x) {
    return part->ndim == PyArray_NDIM(x) && part->dims[0] > 0 && part->strides[0] == PyArray_STRIDE(x, 0);
}

/* NULL without an exception where the index is Python's. */
static PyObject *part_of(PyObject *self, PyObject *index) {
    PyObject *view = array_elements((Array *)self), *result = NULL;
    if (!view)
        return NULL;
    PyArrayObject *x = (PyArrayObject *)view;
    struct part part = {.data = PyArray_BYTES(x)};
    int is_tuple = PyTuple_CheckExact(index);
    if (read_entries(&part, x, is_tuple ? &PyTuple_GET_ITEM(index, 0) : &index, is_tuple ? PyTuple_GET_SIZE(index) : 1)) {
        PyObject *aval = aval_of_part(((Array *)self)->aval, &part), *piece = NULL;
        if (aval && PyLong_CheckExact(index))
            result = array_of_part(aval, view, part.data, ONE_ROW);
        else if (aval && PySlice_Check(index) && is_rows(&part, x))
            result = array_of_part(aval, view, part.data, part.dims[0]);
        else if (aval)
            piece = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef(PyArray_DESCR(x)), part.ndim,
                                         part.dims, part.strides, part.data, 0, NULL);
        if (piece && PyArray_SetBaseObject((PyArrayObject *)piece, Py_NewRef(view)) == 0)
            result = array_of_view(NULL, (PyObject *[]){aval, piece}, 2);
        Py_XDECREF(piece);
        Py_XDECREF(aval);
    }
    Py_DECREF(view);
    return result;
}

PyObject *array_subscript(PyObject *self, PyObject *index) {
    PyObject *result = getitem && Py_TYPE(self) == array_type && at_bottom() ? part_of(self, index) : NULL;
    if (result || PyErr_Occurred())
        return result;
    return getitem ? PyObject_CallFunctionObjArgs(getitem, self, index, NULL)
                   : PyErr_Format(PyExc_TypeError, "arrays have no indices yet");
}

PyObject *array_item(PyObject *self, Py_ssize_t i) {
    PyObject *index = PyLong_FromSsize_t(i);
    PyObject *result = index ? array_subscript(self, index) : NULL;
    Py_XDECREF(index);
    return result;
}

/* rows(array, aval, start, stop) */
PyObject *rows(PyObject *module, PyObject *args) {
    PyObject *array, *aval;
    Py_ssize_t start, stop;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!Onn", &ArrayBaseType, &array, &aval, &start, &stop))
        return NULL;
    PyObject *view = array_elements((Array *)array), *list = NULL;
    if (view && PyObject_TypeCheck(view, numpy_type) && PyArray_NDIM((PyArrayObject *)view) > 0 && start >= 0
        && start <= stop && stop <= PyArray_DIM((PyArrayObject *)view, 0))
        list = PyList_New(stop - start);
    else if (view)
        PyErr_Format(PyExc_IndexError, "there are no rows from %zd to %zd", start, stop);
    for (Py_ssize_t i = start; list && i < stop; i++) {
        char *at = PyArray_BYTES((PyArrayObject *)view) + i * PyArray_STRIDE((PyArrayObject *)view, 0);
        PyObject *row = array_of_part(aval, view, at, ONE_ROW);
        if (row)
            PyList_SET_ITEM(list, i - start, row);
        else
            Py_CLEAR(list);
    }
    Py_XDECREF(view);
    return list;
}

/* set_getitem(function): what answers `x[index]` where the index is not plain, or something is traced */
PyObject *set_getitem(PyObject *module, PyObject *function) {
    (void)module;
    if (!avals && (!(avals = PyDict_New()) || !(update_name = PyUnicode_InternFromString("update"))))
        return NULL;
    Py_XSETREF(getitem, Py_NewRef(function));
    Py_RETURN_NONE;
}
