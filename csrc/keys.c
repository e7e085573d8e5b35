/* The key of a call: types, avals, lengths, names and static values, in the order of reading. Two calls with equal keys
   have the same answer. */

#include "keys.h"
#include "arrays.h"
#include "installed.h"
#include <math.h>
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

enum {
    MOST = 1 << 18, /* a list that is in itself twice has a key of 2^depth tokens: Python says so better */
    DEEPEST = 100,
};

static inline void objects_init(struct objects *self) {
    self->items = self->next = self->few;
    self->end = self->few + FEW;
}

void objects_clear(struct objects *self) {
    PyObject **items = self->items;
    for (PyObject **each = self->next; each != items;)
        Py_DECREF(*--each);
    if (items != self->few)
        PyMem_Free(items);
}

static __attribute__((cold, noinline)) int objects_grow(struct objects *self) {
    size_t count = (size_t)(self->next - self->items), bytes = count * sizeof(PyObject *);
    if (count >= MOST)
        return 0;
    PyObject **more = PyMem_Realloc(self->items == self->few ? NULL : self->items, 2 * bytes);
    if (!more)
        return 0;
    if (self->items == self->few)
        memcpy(more, self->few, bytes);
    self->items = more;
    self->next = more + count;
    self->end = more + 2 * count;
    return 1;
}

/* Each returns 1 when the argument has a key here, 0 when Python must look at it. */
static int read_argument(Key *key, PyObject *x);

static inline int append(struct objects *self, PyObject *x) {
    if (self->next == self->end && !objects_grow(self))
        return 0;
    *self->next++ = Py_NewRef(x);
    return 1;
}

static inline int push(Key *key, PyObject *token) { return append(&key->tokens, token); }

static inline int read_leaf(Key *key, PyObject *x, PyObject *token) {
    return append(&key->leaves, x) && push(key, token);
}

/* Takes the reference to a token that was made for the key. */
static int push_new(Key *key, PyObject *token) {
    if (!token) {
        PyErr_Clear(); /* no memory for it here */
        return 0;
    }
    int pushed = push(key, token);
    Py_DECREF(token);
    return pushed;
}

/* A NumPy array: its dtype and shape. */
static int read_numpy(Key *key, PyObject *x) {
    PyArrayObject *array = (PyArrayObject *)x;
    Py_ssize_t size = (Py_ssize_t)sizeof(npy_intp) * PyArray_NDIM(array);
    return read_leaf(key, x, (PyObject *)numpy_type) && push(key, (PyObject *)PyArray_DESCR(array))
           && push_new(key, PyBytes_FromStringAndSize((const char *)PyArray_DIMS(array), size));
}

static int read_items(Key *key, PyObject *x, PyObject **items, Py_ssize_t n) {
    if (key->depth == DEEPEST || !push(key, (PyObject *)Py_TYPE(x)) || !push_new(key, PyLong_FromSsize_t(n)))
        return 0;
    key->depth++;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!read_argument(key, items[i]))
            return 0;
    key->depth--;
    return 1;
}

static int read_dict(Key *key, PyObject *x) {
    PyObject *name, *value;
    Py_ssize_t position = 0, n = PyDict_GET_SIZE(x);
    if (key->depth == DEEPEST || !push(key, (PyObject *)Py_TYPE(x)) || !push_new(key, PyLong_FromSsize_t(n)))
        return 0;
    key->depth++;
    while (PyDict_Next(x, &position, &name, &value))
        if (!PyUnicode_CheckExact(name) || !push(key, name) || !read_argument(key, value))
            return 0;
    key->depth--;
    return 1;
}

/* Reading runs no Python code: the containers of a call stay as they are until all of it is read. */
static int read_argument(Key *key, PyObject *x) {
    PyTypeObject *type = Py_TYPE(x);
    if (type == array_type)
        return read_leaf(key, x, ((Array *)x)->aval);
    if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type)
        return read_leaf(key, x, (PyObject *)type);
    if (type == numpy_type)
        return read_numpy(key, x);
    if (type == &PyTuple_Type)
        return read_items(key, x, &PyTuple_GET_ITEM(x, 0), PyTuple_GET_SIZE(x));
    if (type == &PyList_Type)
        return read_items(key, x, ((PyListObject *)x)->ob_item, PyList_GET_SIZE(x));
    if (type == &PyDict_Type)
        return read_dict(key, x);
    return x == Py_None && push(key, x);
}

static int read_static(Key *key, PyObject *x) {
    if (PyFloat_Check(x) && isnan(PyFloat_AS_DOUBLE(x))) /* nan equals nothing, itself included */
        return 0;
    return push(key, (PyObject *)Py_TYPE(x)) && push(key, x);
}

/* Is a keyword's argument static? All names are plain strings: no Python code runs. None: all of them are. */
static int is_static_name(PyObject *names, PyObject *name) {
    if (names == Py_None)
        return 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (PyTuple_GET_ITEM(names, i) == name || PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0)
            return 1;
    return 0;
}

static int read_call(PyObject *static_names, uint64_t static_bits, PyObject *args, PyObject *kwargs, Key *key) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = PyTuple_GET_ITEM(args, i);
        if (!(i < 64 && (static_bits >> i & 1) ? read_static(key, x) : read_argument(key, x)))
            return 0;
    }
    if (!kwargs)
        return 1;
    PyObject *name, *x;
    Py_ssize_t position = 0;
    while (PyDict_Next(kwargs, &position, &name, &x))
        if (!PyUnicode_CheckExact(name) || !push(key, static_names) || !push(key, name)
            || !(is_static_name(static_names, name) ? read_static(key, x) : read_argument(key, x)))
            return 0;
    return 1;
}

/* The key of a call as a tuple, which takes the tokens; NULL, perhaps with an exception, when it has none here. */
PyObject *key_of(PyObject *static_names, uint64_t static_bits, PyObject *args, PyObject *kwargs, Key *key) {
    objects_init(&key->tokens);
    objects_init(&key->leaves);
    key->depth = 0;
    int has_key = read_call(static_names, static_bits, args, kwargs, key);
    PyObject *tuple = has_key ? PyTuple_New(key->tokens.next - key->tokens.items) : NULL;
    if (tuple) {
        PyObject **tokens = key->tokens.items;
        for (Py_ssize_t i = key->tokens.next - tokens; i > 0; i--)
            PyTuple_SET_ITEM(tuple, i - 1, tokens[i - 1]);
        key->tokens.next = tokens;
    }
    objects_clear(&key->tokens);
    return tuple;
}
