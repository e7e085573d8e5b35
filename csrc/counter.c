/* HitCounter: how often calls of one kind were answered, and when the last of them was. */

#include "counter.h"

long long counted;

static PyObject *counter_count(PyObject *self, PyObject *nothing) {
    (void)nothing;
    count((HitCounter *)self);
    Py_RETURN_NONE;
}

static PyObject *counter_touch(PyObject *self, PyObject *nothing) {
    (void)nothing;
    ((HitCounter *)self)->last = ++counted;
    Py_RETURN_NONE;
}

static PyMemberDef counter_members[] = {
    {"hits", T_LONGLONG, offsetof(HitCounter, hits), READONLY, "how many calls were counted"},
    {"last", T_LONGLONG, offsetof(HitCounter, last), READONLY, "the number of the last one among all calls"},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef counter_methods[] = {{"count", counter_count, METH_NOARGS, "count(): one call more"},
                                        {"touch", counter_touch, METH_NOARGS, "touch(): a use that is no hit"},
                                        {NULL, NULL, 0, NULL}};

PyTypeObject HitCounterType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.HitCounter",
    .tp_doc = "How often calls of one kind were answered, and which of all calls was the last of them.",
    .tp_basicsize = sizeof(HitCounter), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = PyType_GenericNew,
    .tp_members = counter_members, .tp_methods = counter_methods};

PyObject *calls_counted(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    return PyLong_FromLongLong(counted);
}
