/* The key of a call: types, avals, lengths, names and static values, in the order of reading. Two calls with equal keys
   have the same answer.

   Tuples, lists, dicts, named tuples, dataclasses that are registered and leaves are read in C. Other registered nodes
   are taken apart by their own functions, which are Python code and may change any list or dict that is being read.
   So what is read is owned while it is read, its size is looked at before every item, and what has changed has no key. */

#include "keys.h"
#include "arrays.h"
#include "installed.h"
#include <math.h>
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tinytrace_numpy
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

enum {
    MOST = 1 << 20, /* a list that is in itself twice has a key of 2^depth tokens: Python says so better */
    DEEPEST = 1000,
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

static _Thread_local PyObject *context; /* owned: stands for the settings that this thread overrides; NULL: none */
static _Thread_local int has_no_keys;

int calls_are_pythons(void) { return has_no_keys; }

/* set_context(context): what stands for this thread's own settings from now on, None for those of the process, or False:
   its calls are Python's */
PyObject *set_context(PyObject *module, PyObject *given) {
    PyObject *before = context;
    (void)module;
    has_no_keys = given == Py_False;
    context = given == Py_False || given == Py_None ? NULL : Py_NewRef(given);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyObject *node_kinds, *reader_name; /* class -> its kind; "reader" */

/* set_node_kinds(kinds) */
PyObject *set_node_kinds(PyObject *module, PyObject *kinds) {
    (void)module;
    if (!PyDict_Check(kinds))
        return PyErr_Format(PyExc_TypeError, "the kinds of nodes are a dict, got %R", kinds);
    if (!reader_name && !(reader_name = PyUnicode_InternFromString("reader")))
        return NULL;
    Py_XSETREF(node_kinds, Py_NewRef(kinds));
    Py_RETURN_NONE;
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
    key->is_plain = 0; /* the bytes are made anew */
    return read_leaf(key, x, (PyObject *)numpy_type) && push(key, (PyObject *)PyArray_DESCR(array))
           && push_new(key, PyBytes_FromStringAndSize((const char *)PyArray_DIMS(array), size));
}

/* A NumPy scalar: its dtype. */
static int read_numpy_scalar(Key *key, PyObject *x) {
    return read_leaf(key, x, (PyObject *)&PyGenericArrType_Type) && push_new(key, (PyObject *)PyArray_DescrFromScalar(x));
}

static int begin_node(Key *key, PyObject *type, Py_ssize_t n) {
    return key->depth++ < DEEPEST && push(key, type) && push_new(key, PyLong_FromSsize_t(n));
}

static int end_node(Key *key) {
    key->depth--;
    return 1;
}

static int read_tuple(Key *key, PyObject *x) {
    Py_ssize_t n = PyTuple_GET_SIZE(x);
    if (!begin_node(key, (PyObject *)Py_TYPE(x), n))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!read_argument(key, PyTuple_GET_ITEM(x, i)))
            return 0;
    return end_node(key);
}

static int read_list(Key *key, PyObject *x) {
    Py_ssize_t n = PyList_GET_SIZE(x);
    if (!begin_node(key, (PyObject *)Py_TYPE(x), n))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (i >= PyList_GET_SIZE(x) || !read_argument(key, PyList_GET_ITEM(x, i)))
            return 0;
    return end_node(key);
}

static int read_dict(Key *key, PyObject *x) {
    PyObject *name, *value;
    Py_ssize_t position = 0, n = PyDict_GET_SIZE(x), left = n;
    if (!begin_node(key, (PyObject *)Py_TYPE(x), n))
        return 0;
    for (; PyDict_Next(x, &position, &name, &value); left--)
        if (!left || !(PyUnicode_CheckExact(name) || PyLong_CheckExact(name)) || !push(key, name)
            || !read_argument(key, value))
            return 0;
    return !left && end_node(key);
}

static int is_minus_zero(double x) { return x == 0 && signbit(x); }

/* 1, 1.0 and True are equal, and so are tuples of them: types tell them apart. So are 0.0 and -0.0, which has a mark;
   complex numbers with it are Python's. */
static int push_types(Key *key, PyObject *x) {
    if (!push(key, (PyObject *)Py_TYPE(x)))
        return 0;
    if (PyFloat_Check(x) && is_minus_zero(PyFloat_AS_DOUBLE(x)) && !push(key, Py_Ellipsis))
        return 0;
    if (PyComplex_Check(x) && (is_minus_zero(PyComplex_RealAsDouble(x)) || is_minus_zero(PyComplex_ImagAsDouble(x))))
        return 0;
    for (Py_ssize_t i = 0, n = PyTuple_CheckExact(x) ? PyTuple_GET_SIZE(x) : 0; i < n; i++)
        if (!push_types(key, PyTuple_GET_ITEM(x, i)))
            return 0;
    return 1;
}

static int read_static(Key *key, PyObject *x) {
    if (PyFloat_Check(x) && isnan(PyFloat_AS_DOUBLE(x))) /* nan equals nothing, itself included */
        return 0;
    PyTypeObject *type = Py_TYPE(x); /* others may change, and be equal to something else then */
    key->is_plain &= type == &PyLong_Type || type == &PyBool_Type || type == &PyUnicode_Type || x == Py_None;
    if (!push_types(key, x))
        return 0;
    return PyList_CheckExact(x) ? push_new(key, PyList_AsTuple(x)) : push(key, x); /* `axes=[0, 1]` */
}

/* Attributes of a dataclass: those that are arguments, and those that are static. */
static int read_fields(Key *key, PyObject *x, PyObject *names, int (*read)(Key *key, PyObject *x)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *field = PyObject_GetAttr(x, PyTuple_GET_ITEM(names, i));
        int has_key = field && read(key, field);
        Py_XDECREF(field);
        if (!has_key)
            return 0;
    }
    return 1;
}

static int read_dataclass(Key *key, PyObject *x, PyObject *fields) {
    PyObject *dynamic = PyTuple_GET_ITEM(fields, 0), *fixed = PyTuple_GET_ITEM(fields, 1);
    return begin_node(key, (PyObject *)Py_TYPE(x), PyTuple_GET_SIZE(dynamic)) && read_fields(key, x, fixed, read_static)
           && read_fields(key, x, dynamic, read_argument) && end_node(key);
}

/* A node that a function takes apart: (children, static data). */
static int read_custom(Key *key, PyObject *x, PyObject *flatten) {
    PyObject *pair = PyObject_CallOneArg(flatten, x);
    int has_key = pair && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2;
    PyObject *children = has_key ? PySequence_Tuple(PyTuple_GET_ITEM(pair, 0)) : NULL;
    if ((has_key = children != NULL)) {
        has_key = begin_node(key, (PyObject *)Py_TYPE(x), PyTuple_GET_SIZE(children))
                  && read_static(key, PyTuple_GET_ITEM(pair, 1));
        for (Py_ssize_t i = 0; has_key && i < PyTuple_GET_SIZE(children); i++)
            has_key = read_argument(key, PyTuple_GET_ITEM(children, i));
        end_node(key);
    }
    Py_XDECREF(children);
    Py_XDECREF(pair);
    return has_key;
}

/* A node of a registered class, as its kind says (`reader` in core/node_kinds.py). Classes that are equal to others are
   Python's. */
static int read_registered(Key *key, PyObject *x) {
    PyTypeObject *type = Py_TYPE(x), *metaclass = Py_TYPE(type);
    if (!node_kinds || metaclass->tp_richcompare != PyType_Type.tp_richcompare
        || metaclass->tp_hash != PyType_Type.tp_hash)
        return 0;
    PyObject *kind = PyDict_GetItemWithError(node_kinds, (PyObject *)type);
    PyObject *reader = kind && kind != Py_None ? PyObject_GetAttr(kind, reader_name) : NULL;
    if (!reader || reader == Py_None) {
        Py_XDECREF(reader);
        return 0;
    }
    int has_key;
    if (reader == (PyObject *)&PyTuple_Type)
        has_key = PyTuple_Check(x) && read_tuple(key, x);
    else {
        key->ran_python = 1;
        key->is_plain = 0;
        has_key = PyTuple_Check(reader) ? read_dataclass(key, x, reader) : read_custom(key, x, reader);
    }
    Py_DECREF(reader);
    return has_key;
}

static int read_node(Key *key, PyObject *x) {
    PyTypeObject *type = Py_TYPE(x);
    int has_key;
    Py_INCREF(x); /* whoever holds it may give it up, when Python code runs */
    if (type == &PyTuple_Type)
        has_key = read_tuple(key, x);
    else if (type == &PyList_Type)
        has_key = read_list(key, x);
    else
        has_key = type == &PyDict_Type ? read_dict(key, x) : read_registered(key, x);
    Py_DECREF(x);
    return has_key;
}

static int read_argument(Key *key, PyObject *x) {
    PyTypeObject *type = Py_TYPE(x);
    if (type == array_type)
        return read_leaf(key, x, ((Array *)x)->aval);
    if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type || type == &PyComplex_Type)
        return read_leaf(key, x, (PyObject *)type);
    if (type == numpy_type)
        return read_numpy(key, x);
    if (x == Py_None)
        return push(key, x);
    int is_plain = type == &PyTuple_Type || type == &PyList_Type || type == &PyDict_Type;
    return !is_plain && PyArray_IsScalar(x, Generic) ? read_numpy_scalar(key, x) : read_node(key, x);
}

/* Is a keyword's argument static? All names are plain strings. None: all of them are. */
static int is_static_name(PyObject *names, PyObject *name) {
    if (names == Py_None)
        return 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (PyTuple_GET_ITEM(names, i) == name || PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0)
            return 1;
    return 0;
}

static int read_call(PyObject *static_names, uint64_t static_bits, PyObject *const *args, Py_ssize_t n, PyObject *kwargs,
                     Key *key) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(i < 64 && (static_bits >> i & 1) ? read_static(key, args[i]) : read_argument(key, args[i])))
            return 0;
    if (!kwargs)
        return 1;
    PyObject *name, *x;
    Py_ssize_t position = 0, left = PyDict_GET_SIZE(kwargs);
    for (; PyDict_Next(kwargs, &position, &name, &x); left--)
        if (!left || !PyUnicode_CheckExact(name) || !push(key, static_names) || !push(key, name)
            || !(is_static_name(static_names, name) ? read_static(key, x) : read_argument(key, x)))
            return 0;
    return !left;
}

int read_key(PyObject *static_names, uint64_t static_bits, PyObject *const *args, Py_ssize_t n, PyObject *kwargs,
             Key *key) {
    objects_init(&key->tokens);
    objects_init(&key->leaves);
    key->depth = key->ran_python = 0;
    key->is_plain = 1;
    Py_INCREF(static_names);
    int has_key = (!context || push(key, context)) && read_call(static_names, static_bits, args, n, kwargs, key);
    Py_DECREF(static_names);
    if (!has_key)
        drop_exception(); /* what a node's function raises, Python finds again and says better */
    return has_key;
}

PyObject *key_tuple(Key *key) {
    PyObject **tokens = key->tokens.items, *tuple = PyTuple_New(key->tokens.next - tokens);
    if (!tuple)
        return NULL;
    for (Py_ssize_t i = key->tokens.next - tokens; i > 0; i--)
        PyTuple_SET_ITEM(tuple, i - 1, tokens[i - 1]);
    key->tokens.next = tokens;
    return tuple;
}

/* Lengths above 256 are made anew for each call. To compare two ints or two strings of Python's own runs no code. */
static int is_same_token(PyObject *token, PyObject *other) {
    if (token == other)
        return 1;
    int are_known = Py_TYPE(token) == Py_TYPE(other) && (PyLong_CheckExact(token) || PyUnicode_CheckExact(token));
    return are_known && PyObject_RichCompareBool(token, other, Py_EQ) == 1;
}

int key_is_same(const Key *key, PyObject *tuple) {
    Py_ssize_t n = key->tokens.next - key->tokens.items;
    if (PyTuple_GET_SIZE(tuple) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_same_token(key->tokens.items[i], PyTuple_GET_ITEM(tuple, i)))
            return 0;
    return 1;
}

int arrays_have_key(PyObject *const *args, Py_ssize_t n, PyObject *tuple) {
    if (PyTuple_GET_SIZE(tuple) != n || context)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (Py_TYPE(args[i]) != array_type || ((Array *)args[i])->aval != PyTuple_GET_ITEM(tuple, i))
            return 0;
    return 1;
}
