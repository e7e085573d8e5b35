/* The trace that operations of a thread go to: TraceState reads it, TraceScope sets it for a `with` block.

   Both are C because Python's signal handlers run between two steps of Python code. A Ctrl-C comes before a scope is
   entered or inside its block, and never between, so that the trace is what it was before whatever is interrupted. For
   the same reason a scope is never entered by a generator (contextlib.contextmanager): one that is interrupted on its
   way out is closed some time later. The scopes of a thread are a stack, and leaving one leaves all that were entered
   after it: what is closed late changes nothing. */

#include "traces.h"

typedef struct TraceScope {
    PyObject_HEAD
    PyObject *trace;          /* where operations inside of the block go to */
    PyObject *ended;          /* called with the trace after its block, or NULL if the trace outlives the block */
    struct TraceScope *outer; /* the scope around this one, which this one owns while it is entered */
    int entered;
} TraceScope;

static _Thread_local TraceScope *innermost; /* owned */
static _Thread_local PyObject *current;     /* the innermost scope's; NULL: the bottom, which computes at once */
static PyObject *bottom_trace;

int at_bottom(void) { return current == NULL; }

static PyObject *state_trace(PyObject *self, void *unused) {
    (void)self, (void)unused;
    return Py_NewRef(current ? current : bottom_trace ? bottom_trace : Py_None);
}

static PyObject *state_set_bottom(PyObject *self, PyObject *trace) {
    (void)self;
    Py_XSETREF(bottom_trace, Py_NewRef(trace));
    Py_RETURN_NONE;
}

static PyGetSetDef state_getset[] = {
    {"trace", state_trace, NULL, "the trace that operations of this thread go to", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef state_methods[] = {
    {"set_bottom", state_set_bottom, METH_O, "set_bottom(trace): where every thread begins"}, {NULL, NULL, 0, NULL}};

PyTypeObject TraceStateType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.TraceState",
    .tp_doc = "TraceState(): `trace` is the trace that operations of this thread go to.",
    .tp_basicsize = sizeof(PyObject), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = PyType_GenericNew,
    .tp_getset = state_getset, .tp_methods = state_methods};

/* TraceScope(trace, ended=None) */
static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *trace, *ended = NULL;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O|O", &trace, &ended))
        return NULL;
    TraceScope *self = (TraceScope *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->trace = Py_NewRef(trace);
    self->ended = Py_XNewRef(ended);
    return (PyObject *)self;
}

static void scope_dealloc(PyObject *object) {
    TraceScope *self = (TraceScope *)object;
    Py_DECREF(self->trace);
    Py_XDECREF(self->ended);
    Py_TYPE(self)->tp_free(object);
}

static PyObject *scope_enter(PyObject *object, PyObject *nothing) {
    TraceScope *self = (TraceScope *)object;
    (void)nothing;
    if (self->entered) {
        PyErr_SetString(PyExc_RuntimeError, "a scope of a trace is entered twice");
        return NULL;
    }
    self->entered = 1;
    self->outer = innermost;
    innermost = (TraceScope *)Py_NewRef(object);
    current = self->trace == bottom_trace ? NULL : self->trace;
    Py_RETURN_NONE;
}

/* Was the scope entered by this thread, and not left since? (A collector of garbage may close it in another one.) */
static int is_open(const TraceScope *scope) {
    const TraceScope *open = innermost;
    while (open && open != scope)
        open = open->outer;
    return open != NULL;
}

/* Leave the innermost scope; a trace that ends with it is marked as dead. */
static void leave(void) {
    TraceScope *left = innermost;
    innermost = left->outer;
    current = innermost && innermost->trace != bottom_trace ? innermost->trace : NULL;
    left->outer = NULL;
    left->entered = 0;
    if (left->ended && PyObject_SetAttrString(left->trace, "alive", Py_False) < 0)
        PyErr_WriteUnraisable(left->trace);
    Py_DECREF(left);
}

static PyObject *scope_exit(PyObject *object, PyObject *exception) {
    TraceScope *self = (TraceScope *)object;
    if (!is_open(self))
        Py_RETURN_NONE;
    while (self->entered)
        leave();
    if (self->ended && PyTuple_GET_SIZE(exception) > 0 && PyTuple_GET_ITEM(exception, 0) == Py_None)
        return PyObject_CallOneArg(self->ended, self->trace);
    Py_RETURN_NONE;
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, "send this thread's operations to the trace"},
    {"__exit__", scope_exit, METH_VARARGS, "send them where they went before"},
    {NULL, NULL, 0, NULL}};

PyTypeObject TraceScopeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.TraceScope",
    .tp_doc = "TraceScope(trace, ended=None): inside of a `with` block, this thread's operations go to `trace`.\n\n"
              "With `ended` the trace is dead after the block, and a block that raises nothing calls `ended(trace)`.",
    .tp_basicsize = sizeof(TraceScope), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .tp_new = scope_new,
    .tp_dealloc = scope_dealloc, .tp_methods = scope_methods};
