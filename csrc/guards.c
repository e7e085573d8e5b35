/* Guarded(entry, guards): a guard is a dict or a list, a tuple of what it held, of a dict each key and its value by turns,
   and whose __dict__ it was, or None. What is compared is which objects there are, so no Python code runs. */

#include "guards.h"

typedef struct {
    PyObject_HEAD
    PyObject *entry, *guards;
} Guarded;

static int dict_holds(PyObject *dict, PyObject *held) {
    Py_ssize_t n = PyTuple_GET_SIZE(held), position = 0, i = 0;
    PyObject *key, *value;
    if (2 * PyDict_GET_SIZE(dict) != n)
        return 0;
    for (; PyDict_Next(dict, &position, &key, &value); i += 2)
        if (i + 1 >= n || key != PyTuple_GET_ITEM(held, i) || value != PyTuple_GET_ITEM(held, i + 1))
            return 0;
    return i == n;
}

static int list_holds(PyObject *list, PyObject *held) {
    Py_ssize_t n = PyTuple_GET_SIZE(held);
    if (PyList_GET_SIZE(list) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyList_GET_ITEM(list, i) != PyTuple_GET_ITEM(held, i))
            return 0;
    return 1;
}

static int is_dict_of(PyObject *dict, PyObject *owner) {
    PyObject *now = PyObject_GenericGetDict(owner, NULL);
    if (!now)
        PyErr_Clear();
    Py_XDECREF(now);
    return now == dict;
}

static int holds(PyObject *guard) {
    PyObject *container = PyTuple_GET_ITEM(guard, 0), *held = PyTuple_GET_ITEM(guard, 1), *owner = PyTuple_GET_ITEM(guard, 2);
    if (owner != Py_None && !is_dict_of(container, owner))
        return 0;
    return PyDict_CheckExact(container) ? dict_holds(container, held) : list_holds(container, held);
}

PyObject *entry_behind(PyObject *object) {
    Guarded *self = (Guarded *)object;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->guards); i++)
        if (!holds(PyTuple_GET_ITEM(self->guards, i)))
            return NULL;
    return self->entry;
}

static PyObject *guarded_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *entry, *guards;
    if (!PyArg_ParseTuple(args, "OO!", &entry, &PyTuple_Type, &guards) || (kwargs && PyDict_GET_SIZE(kwargs)))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "Guarded takes no keywords");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(guards); i++) {
        PyObject *guard = PyTuple_GET_ITEM(guards, i), *container;
        if (!PyTuple_CheckExact(guard) || PyTuple_GET_SIZE(guard) != 3 || !PyTuple_CheckExact(PyTuple_GET_ITEM(guard, 1))
            || !(container = PyTuple_GET_ITEM(guard, 0), PyDict_CheckExact(container) || PyList_CheckExact(container)))
            return PyErr_Format(PyExc_TypeError, "a guard is a dict or a list, what it holds, and whose it is, got %R", guard);
    }
    Guarded *self = (Guarded *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->entry = Py_NewRef(entry);
    self->guards = Py_NewRef(guards);
    return (PyObject *)self;
}

static int guarded_traverse(PyObject *object, visitproc visit, void *arg) {
    Guarded *self = (Guarded *)object;
    Py_VISIT(self->entry);
    Py_VISIT(self->guards);
    return 0;
}

static void guarded_dealloc(PyObject *object) {
    Guarded *self = (Guarded *)object;
    PyObject_GC_UnTrack(object);
    Py_XDECREF(self->entry);
    Py_XDECREF(self->guards);
    Py_TYPE(object)->tp_free(object);
}

PyTypeObject GuardedType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.Guarded",
    .tp_doc = "Guarded(entry, guards): what answers calls as long as some containers hold what they held.",
    .tp_basicsize = sizeof(Guarded), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = guarded_new,
    .tp_dealloc = guarded_dealloc, .tp_traverse = guarded_traverse};
