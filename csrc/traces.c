/* The trace that operations of a thread go to: TraceState reads it, TraceScope sets it for a `with` block.

   Both are C because Python's signal handlers run between two steps of Python code. A Ctrl-C comes before a scope is
   entered or inside its block, and never between, so that the trace is what it was before whatever is interrupted. */

#include "dispatch.h"

typedef struct {
    PyObject_HEAD
    PyObject *bottom;
} TraceState;

typedef struct {
    PyObject_HEAD
    PyObject *trace;    /* where operations inside of the block go to */
    PyObject *previous; /* where they went before it, NULL for the bottom */
    int entered;
} TraceScope;

static _Thread_local PyObject *current; /* owned; NULL: the bottom, where operations are computed at once */
static PyObject *bottom_trace;

int at_bottom(void) { return current == NULL; }

/* TraceState(bottom): there is one, and every thread begins at the bottom. */
static PyObject *state_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *bottom;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &bottom))
        return NULL;
    TraceState *self = PyObject_New(TraceState, type);
    if (!self)
        return NULL;
    self->bottom = Py_NewRef(bottom);
    Py_XSETREF(bottom_trace, Py_NewRef(bottom));
    return (PyObject *)self;
}

static void state_dealloc(PyObject *self) {
    Py_DECREF(((TraceState *)self)->bottom);
    PyObject_Free(self);
}

static PyObject *state_trace(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(current ? current : ((TraceState *)self)->bottom);
}

static PyGetSetDef state_getset[] = {
    {"trace", state_trace, NULL, "the trace that operations of this thread go to", NULL}, {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject TraceStateType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.TraceState",
    .tp_doc = "TraceState(bottom): `trace` is the trace that operations of this thread go to.",
    .tp_basicsize = sizeof(TraceState), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = state_new,
    .tp_dealloc = state_dealloc, .tp_getset = state_getset};

/* TraceScope(trace) */
static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *trace;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O", &trace))
        return NULL;
    TraceScope *self = PyObject_New(TraceScope, type);
    if (!self)
        return NULL;
    self->trace = Py_NewRef(trace);
    self->previous = NULL;
    self->entered = 0;
    return (PyObject *)self;
}

static void scope_dealloc(PyObject *self) {
    Py_DECREF(((TraceScope *)self)->trace);
    Py_XDECREF(((TraceScope *)self)->previous);
    PyObject_Free(self);
}

static PyObject *scope_enter(PyObject *object, PyObject *nothing) {
    TraceScope *self = (TraceScope *)object;
    (void)nothing;
    if (self->entered) {
        PyErr_SetString(PyExc_RuntimeError, "a scope of a trace is entered twice");
        return NULL;
    }
    self->entered = 1;
    self->previous = current;
    current = self->trace == bottom_trace ? NULL : Py_NewRef(self->trace);
    Py_RETURN_NONE;
}

static PyObject *scope_exit(PyObject *object, PyObject *exception) {
    TraceScope *self = (TraceScope *)object;
    (void)exception;
    if (self->entered) {
        PyObject *ended = current;
        current = self->previous;
        self->previous = NULL;
        self->entered = 0;
        Py_XDECREF(ended);
    }
    Py_RETURN_NONE;
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, "send this thread's operations to the trace"},
    {"__exit__", scope_exit, METH_VARARGS, "send them where they went before"},
    {NULL, NULL, 0, NULL}};

PyTypeObject TraceScopeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.TraceScope",
    .tp_doc = "TraceScope(trace): inside of a `with` block, this thread's operations go to `trace`.",
    .tp_basicsize = sizeof(TraceScope), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = scope_new,
    .tp_dealloc = scope_dealloc, .tp_methods = scope_methods};
