/* ArrayBase, the fields of an Array as the hit path of jitted calls sees them (tinytrace/core/array.py says what they
   mean). */

#include "arrays.h"
#include "copies.h"
#include "installed.h"
#include "views.h"
#include <string.h>

static Array ring = {.before = &ring, .after = &ring};

/* A new Array without elements. Python's collector, which would visit each of them again and again, has nothing to find
   in one: no object that an Array holds leads back to it. */
static Array *array_made(PyTypeObject *type) {
    int is_visited = type != array_type; /* a subclass may have attributes */
    Array *array = is_visited ? (Array *)type->tp_alloc(type, 0) : PyObject_GC_New(Array, type);
    if (!array)
        return NULL;
    if (!is_visited) {
        array->aval = array->buffer = array->view = array->seen = array->weakrefs = NULL;
        array->part = NULL;
    }
    array->before = ring.before;
    array->after = &ring;
    ring.before->after = array;
    ring.before = array;
    return array;
}

/* live_arrays(): the Arrays that have elements, newest first */
PyObject *live_arrays(PyObject *module, PyObject *nothing) {
    size_t count = 0, found = 0;
    (void)module, (void)nothing;
    for (Array *each = ring.before; each != &ring; each = each->before)
        count++;
    PyObject **arrays = PyMem_Calloc(count + 1, sizeof *arrays); /* making a list may run Python code */
    if (!arrays)
        return PyErr_NoMemory();
    for (Array *each = ring.before; each != &ring; each = each->before)
        if (Py_TYPE(each) == array_type && Py_REFCNT(each) > 0 && (each->buffer || each->view))
            arrays[found++] = Py_NewRef(each);
    PyObject *list = PyList_New((Py_ssize_t)found);
    for (size_t i = 0; i < found; i++)
        if (list)
            PyList_SET_ITEM(list, (Py_ssize_t)i, arrays[i]);
        else
            Py_DECREF(arrays[i]);
    PyMem_Free(arrays);
    return list;
}

/* A given object, NULL for None. */
static PyObject *or_null(PyObject *x) { return x == Py_None ? NULL : Py_NewRef(x); }

/* ArrayBase(aval, buffer, view): all of an Array is there from the beginning, and __init__ changes nothing. */
static PyObject *array_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *aval, *buffer, *view = Py_None;
    static char *names[] = {"aval", "buffer", "view", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O", names, &aval, &buffer, &view))
        return NULL;
    if (buffer != Py_None && Py_TYPE(buffer) != &BufferType)
        return PyErr_Format(PyExc_TypeError, "an Array's elements are in a Buffer or a NumPy array, got %R", buffer);
    if (buffer == Py_None && !PyObject_TypeCheck(view, numpy_type))
        return PyErr_Format(PyExc_TypeError, "an Array needs elements: a Buffer or a NumPy array, got %R", view);
    Array *array = array_made(type);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(aval);
    array->buffer = or_null(buffer);
    array->view = or_null(view);
    return (PyObject *)array;
}

static int array_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)self, (void)args, (void)kwargs;
    return 0;
}

static void array_dealloc(PyObject *self) {
    Array *array = (Array *)self;
    array->before->after = array->after;
    array->after->before = array->before;
    if (array->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(array->aval);
    Py_XDECREF(array->buffer);
    Py_XDECREF(array->view);
    Py_XDECREF(array->seen);
    Py_TYPE(self)->tp_free(self); /* the subclass's own deallocator, which called this one, gives its type back */
}

PyObject *array_make_view(Array *array) {
    PyObject *whole = array->view, *view = view_of_part(whole, array->part, array->rows);
    if (!view)
        return NULL;
    array->view = view;
    array->part = NULL;
    Py_DECREF(whole); /* the view has it */
    return view;
}

int array_is_looked_at(Array *array) { return array->seen && is_held_by_others(array->seen); }

void array_settle(Array *array, PyObject *buffer) {
    if (array->buffer || !array->view) /* another thread reads that block: it stays; or the array is deleted */
        return;
    PyObject *view = array->view, *seen = array_is_looked_at(array) ? NULL : array->seen;
    array->buffer = Py_NewRef(buffer);
    array->view = NULL;
    array->part = NULL;
    if (seen) /* what somebody holds stays what Python sees */
        array->seen = NULL;
    Py_XDECREF(view); /* may run Python code: everything is in place */
    Py_XDECREF(seen);
}

/* _settle(buffer): the block that holds the elements for good; `buffer`, or the one that another thread filled first;
   None when the array has been deleted meanwhile */
static PyObject *array_settle_method(PyObject *self, PyObject *buffer) {
    if (Py_TYPE(buffer) != &BufferType)
        return PyErr_Format(PyExc_TypeError, "expected a Buffer, got %R", buffer);
    array_settle((Array *)self, buffer);
    return Py_NewRef(((Array *)self)->buffer ? ((Array *)self)->buffer : Py_None);
}

void array_delete(Array *array) {
    PyObject *buffer = array->buffer, *view = array->view, *seen = array->seen;
    array->buffer = array->view = array->seen = NULL;
    array->part = NULL;
    Py_XDECREF(buffer); /* may run Python code: everything is in place */
    Py_XDECREF(view);
    Py_XDECREF(seen);
}

int array_owns(Array *array, Py_ssize_t borrowed) {
    Buffer *buffer = (Buffer *)array->buffer;
    if (!buffer || array_is_looked_at(array))
        return 0;
    /* What Python saw before the array was settled is NumPy's memory, and has no reference to the block. */
    int sees_block = array->seen && elements_of_view(array->seen) == buffer->address;
    return Py_REFCNT(buffer) == 1 + sees_block + borrowed;
}

PyObject *array_again(Array *array, PyObject *aval) {
    Array *again = array_made(array_type);
    if (!again)
        return NULL;
    if (!array->buffer && !array->view) { /* what was given up by that allocation deleted it */
        Py_DECREF(again);
        return NULL;
    }
    again->aval = Py_NewRef(aval);
    again->buffer = Py_XNewRef(array->buffer);
    again->view = Py_XNewRef(array->view);
    again->part = array->part;
    again->rows = array->rows;
    return (PyObject *)again;
}

static PyObject *array_delete_method(PyObject *self, PyObject *nothing) {
    (void)nothing;
    array_delete((Array *)self);
    Py_RETURN_NONE;
}

static PyObject *array_get_view(PyObject *self, void *unused) {
    (void)unused;
    PyObject *view = array_view((Array *)self);
    return view || PyErr_Occurred() ? Py_XNewRef(view) : Py_NewRef(Py_None);
}

static PyObject *array_deleted(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(!((Array *)self)->buffer && !((Array *)self)->view);
}

static PyObject *array_looked_at(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(array_is_looked_at((Array *)self));
}

/* What Python sees may be handed on, to somebody who writes to it: that is a block of the array's own, never memory that
   arrays share. */
static int leave_shared_memory(Array *array) {
    PyObject *view = array_view(array);
    if (!view && PyErr_Occurred())
        return 0;
    if (!view || Py_TYPE(view) != numpy_type || !is_shared_memory(elements_of_view(view)))
        return 1;
    PyObject *block = block_of_view(view);
    if (block)
        array_settle(array, block);
    Py_XDECREF(block);
    return block != NULL;
}

static PyObject *array_value(PyObject *self, void *unused) {
    Array *array = (Array *)self;
    (void)unused;
    if (array->seen)
        return Py_NewRef(array->seen);
    if (!leave_shared_memory(array))
        return NULL;
    PyObject *aval = Py_NewRef(array->aval), *buffer = Py_NewRef(array->buffer ? array->buffer : Py_None);
    PyObject *view = Py_NewRef(array->view ? array->view : Py_None); /* all of it: there is no part any more */
    PyObject *seen = buffer != Py_None                ? view_of_buffer(aval, buffer)
                     : Py_TYPE(view) == numpy_type ? view_of_view(view)
                                                   : Py_NewRef(Py_None);
    if (seen == Py_None)
        Py_SETREF(seen, PyObject_CallFunctionObjArgs(read_only_view, aval, buffer, view, NULL));
    Py_DECREF(aval);
    Py_DECREF(buffer);
    Py_DECREF(view);
    if (seen && !array->seen && (array->buffer || array->view)) /* it is not deleted meanwhile */
        array->seen = Py_NewRef(seen);
    return seen;
}

PyObject *array_elements(Array *array) {
    return array->view ? Py_XNewRef(array_view(array)) : array_value((PyObject *)array, NULL);
}

/* memoryview(array): NumPy describes the elements. */
static int array_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    PyObject *value = PyObject_CallMethod(self, "__array__", NULL);
    int status = value ? PyObject_GetBuffer(value, view, flags) : -1;
    Py_XDECREF(value);
    if (!value)
        view->obj = NULL;
    if (status < 0 && drop_exception())
        PyErr_SetString(PyExc_BufferError, "an array's buffer is read-only, and there is none for typed keys and for "
                                           "dtypes that Python's module struct lacks, as bfloat16");
    return status;
}

static PyBufferProcs array_buffer = {.bf_getbuffer = array_getbuffer};

static PyMemberDef array_members[] = {
    {"aval", T_OBJECT_EX, offsetof(Array, aval), READONLY, "the type of the array"},
    {"_buffer", T_OBJECT, offsetof(Array, buffer), READONLY, "the pooled block, None while the elements are NumPy's"},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef array_getset[] = {
    {"_value", array_value, NULL, "the elements as a NumPy array that cannot be written (no copy)", NULL},
    {"_view", array_get_view, NULL, "the NumPy array that holds the elements, or None", NULL},
    {"_deleted", array_deleted, NULL, "has it no elements any more?", NULL},
    {"_looked_at", array_looked_at, NULL, "does somebody hold what `_value` gave?", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef array_methods[] = {
    {"_settle", array_settle_method, METH_O, "_settle(buffer): the block that holds the elements from now on"},
    {"_delete", array_delete_method, METH_NOARGS, "_delete(): it has no elements from now on"},
    {NULL, NULL, 0, NULL}};

PyMappingMethods array_mapping;
PySequenceMethods array_sequence;

PyTypeObject ArrayBaseType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.ArrayBase",
    .tp_doc = "The fields of an Array; see core/array.py.", .tp_basicsize = sizeof(Array),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .tp_new = array_new, .tp_init = array_init,
    .tp_dealloc = array_dealloc, .tp_members = array_members, .tp_getset = array_getset, .tp_methods = array_methods,
    .tp_as_mapping = &array_mapping, .tp_as_sequence = &array_sequence, .tp_as_buffer = &array_buffer,
    .tp_weaklistoffset = offsetof(Array, weakrefs)};

PyObject *array_of(PyObject *aval, PyObject *buffer) {
    Array *array = array_made(array_type);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(aval);
    array->buffer = Py_NewRef(buffer);
    return (PyObject *)array;
}

PyObject *array_of_part(PyObject *aval, PyObject *view, char *part, Py_ssize_t rows) {
    Array *array = array_made(array_type);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(aval);
    array->view = Py_NewRef(view);
    array->part = part;
    array->rows = rows;
    return (PyObject *)array;
}

/* array_filled(aval, element, count): an array of so many elements, each of which is these bytes */
PyObject *array_filled(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 3 || !PyBytes_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "array_filled takes a type, bytes and a number");
    Py_ssize_t width = PyBytes_GET_SIZE(args[1]), count = PyLong_AsSsize_t(args[2]);
    if (count < 0 || (width && count > PY_SSIZE_T_MAX / width))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "an array has no %zd elements", count);
    PyObject *buffer = buffer_of((size_t)(width * count));
    if (!buffer)
        return NULL;
    fill_elements((char *)((Buffer *)buffer)->address, (size_t)(width * count), PyBytes_AS_STRING(args[1]),
                  (size_t)width);
    PyObject *array = array_of(args[0], buffer);
    Py_DECREF(buffer);
    return array;
}

#if defined(__GNUC__) && !defined(__clang__)
#define IN_VECTORS __attribute__((optimize("O3")))
#else
#define IN_VECTORS
#endif

/* In vectors: without them 100,000 numbers take five times as long. Vectors of every CPU can add, not all multiply. */
#define COUNT(NAME, WORD)                                                                     \
    IN_VECTORS static void NAME(WORD *to, WORD start, WORD step, Py_ssize_t count) {          \
        for (Py_ssize_t i = 0; i < count; i++, start += step)                                 \
            to[i] = start;                                                                    \
    }
COUNT(count_words, uint32_t)
COUNT(count_long_words, uint64_t)

/* array_counted(aval, start, step, count, width): start, start + step, ..., integers of so many bytes, which hold them */
PyObject *array_counted(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 5)
        return PyErr_Format(PyExc_TypeError, "array_counted takes 5 arguments, got %zd", n);
    long long start = PyLong_AsLongLong(args[1]), step = PyLong_AsLongLong(args[2]);
    Py_ssize_t count = PyLong_AsSsize_t(args[3]), width = PyLong_AsSsize_t(args[4]);
    if (PyErr_Occurred())
        return NULL;
    if (count < 0 || count > PY_SSIZE_T_MAX / 8 || (width != 4 && width != 8))
        return PyErr_Format(PyExc_ValueError, "an array has no %zd integers of %zd bytes", count, width);
    PyObject *buffer = buffer_of((size_t)(count * width));
    if (!buffer)
        return NULL;
    void *to = (void *)((Buffer *)buffer)->address;
    if (width == 4)
        count_words(to, (uint32_t)start, (uint32_t)step, count);
    else
        count_long_words(to, (uint64_t)start, (uint64_t)step, count);
    PyObject *array = array_of(args[0], buffer);
    Py_DECREF(buffer);
    return array;
}

/* array_copied(array): another array with a block of its own; Python says of a deleted one that it is. */
PyObject *array_copied(PyObject *module, PyObject *array) {
    (void)module;
    if (Py_TYPE(array) != array_type)
        return PyErr_Format(PyExc_TypeError, "array_copied takes an Array, got %R", array);
    PyObject *buffer = ((Array *)array)->buffer, *elements = buffer ? NULL : array_elements((Array *)array), *copy = NULL;
    if (buffer && (copy = buffer_of(((Buffer *)buffer)->nbytes)))
        memcpy((void *)((Buffer *)copy)->address, (void *)((Buffer *)buffer)->address, ((Buffer *)buffer)->nbytes);
    else if (elements)
        copy = block_of_view(elements);
    Py_XDECREF(elements);
    PyObject *result = copy ? array_of(((Array *)array)->aval, copy) : NULL;
    Py_XDECREF(copy);
    return result;
}

/* array_of_view(aval, view): what ArrayBase(...) does for the result of a NumPy operation, at a quarter of its cost */
PyObject *array_of_view(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 2)
        return PyErr_Format(PyExc_TypeError, "array_of_view takes 2 arguments, got %zd", n);
    if (!PyObject_TypeCheck(args[1], numpy_type))
        return PyErr_Format(PyExc_TypeError, "array_of_view takes a NumPy array, got %R", args[1]);
    Array *array = array_made(array_type);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(args[0]);
    array->view = Py_NewRef(args[1]);
    return (PyObject *)array;
}
