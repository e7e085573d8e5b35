/* FastCallable: a function with a table from keys to what answers such calls. See cpython.h. */

#include "callable.h"
#include "arrays.h"
#include "calls.h"
#include "eager.h"
#include "entry.h"
#include "guards.h"
#include "installed.h"
#include "keys.h"
#include "traces.h"
#include <string.h>

static long long epoch;                                 /* what was learnt for an earlier epoch is out of date */
static PyObject *shorten;                               /* called with what a known call raised */
static int paused;                                      /* somebody sees all calls: everything is a miss */

typedef struct Callable {
    PyObject_HEAD
    PyObject *table; /* key -> entry; NULL while nothing is known */
    PyObject *miss;  /* miss(self, *args, **kwargs) answers what the table does not */
    PyObject *last_key, *last_entry; /* those of the table that answered the last call, or NULL, both */
    long long changes;               /* how often the table has been another one */
    PyObject *static_names, *attributes, *weakrefs;
    struct Callable *known; /* whose table answers: its own, where this is NULL */
    uint64_t static_bits;   /* which positional arguments are static */
    vectorcallfunc vectorcall;
    int enabled;
    int is_front;    /* it stands in front of `miss`, which is called as if it were not there */
    int hands_back;  /* an Array alone is its own answer */
    struct Callable *before, *after; /* all of them, in a ring */
} Callable;

enum { MOST_ENTRIES = 4096 }; /* of one table */

static Callable ring = {.before = &ring, .after = &ring};

static inline int may_be_fast(Callable *self) {
    return self->table && !paused && !calls_are_pythons() && self->enabled && at_bottom();
}

/* The arguments of a call; kwargs may be NULL. */
struct call {
    PyObject *const *args;
    Py_ssize_t n;
    PyObject *kwargs;
};

static PyObject *run(PyObject *entry, PyObject **leaves, Py_ssize_t n, struct call c) {
    if (Py_TYPE(entry) == &EntryType)
        return run_entry(entry, leaves, n);
    return Py_TYPE(entry) == &EagerType ? run_eagerly(entry, leaves, n)
                                        : PyObject_VectorcallDict(entry, c.args, (size_t)c.n, c.kwargs);
}

/* The table is another one from now on. */
static void forget_last(Callable *self) {
    PyObject *key = self->last_key, *entry = self->last_entry;
    self->changes++;
    self->last_key = self->last_entry = NULL;
    Py_XDECREF(key); /* may run Python code: everything is in place */
    Py_XDECREF(entry);
}

static void keep_last(Callable *self, PyObject *key, PyObject *entry) {
    forget_last(self);
    self->last_key = Py_NewRef(key);
    self->last_entry = Py_NewRef(entry);
}

/* What answers calls of this key: a new reference, or NULL, perhaps with an exception. Most calls have the same types as
   the last one: then neither a tuple is made nor a hash computed. */
static PyObject *look_up(Callable *self, Key *key) {
    if (self->last_key && key->is_plain && key_is_same(key, self->last_key))
        return Py_NewRef(self->last_entry);
    PyObject *tuple = key_tuple(key);
    if (!tuple)
        return NULL;
    long long changes = self->changes;
    PyObject *table = Py_NewRef(self->table); /* hashing or comparing may forget it */
    PyObject *entry = PyDict_GetItemWithError(table, tuple);
    Py_XINCREF(entry);
    if (!entry)
        drop_exception(); /* an unhashable static, or an __eq__ that raised: Python says so better */
    else if (key->is_plain && changes == self->changes)
        keep_last(self, tuple, entry);
    Py_DECREF(table);
    Py_DECREF(tuple);
    return entry;
}

/* Takes the reference to the entry; see `answer`. */
static PyObject *run_known(PyObject *entry, PyObject **leaves, Py_ssize_t n, struct call c) {
    PyObject *known = entry && Py_TYPE(entry) == &GuardedType ? entry_behind(entry) : entry;
    PyObject *result = known ? run(known, leaves, n, c) : NULL;
    Py_XDECREF(entry);
    return result;
}

/* The result of a call that is known; NULL, perhaps with an exception, when it is Python's. */
static PyObject *answer(Callable *self, struct call c) {
    if (self->last_key && !c.kwargs && !self->static_bits && arrays_have_key(c.args, c.n, self->last_key))
        return run_known(Py_NewRef(self->last_entry), (PyObject **)c.args, c.n, c);
    Key key;
    int has_key = read_key(self->static_names, self->static_bits, c.args, c.n, c.kwargs, &key);
    int is_known = has_key && (key.ran_python ? may_be_fast(self) : self->table != NULL);
    PyObject *entry = is_known ? look_up(self, &key) : NULL;
    objects_clear(&key.tokens);
    PyObject *result = run_known(entry, key.leaves.items, key.leaves.next - key.leaves.items, c);
    objects_clear(&key.leaves);
    return result;
}

/* miss(self, *args, **kwargs). The table holds no reference to the callable itself, and so no cycle. */
static PyObject *call_miss(Callable *self, struct call c) {
    if (!self->miss)
        return PyErr_Format(PyExc_TypeError, "a %s that is not configured cannot be called", Py_TYPE(self)->tp_name);
    PyObject *all = PyTuple_New(c.n + !self->is_front), *miss = Py_NewRef(self->miss), *result = NULL;
    if (all) {
        if (!self->is_front)
            PyTuple_SET_ITEM(all, 0, Py_NewRef(self));
        for (Py_ssize_t i = 0; i < c.n; i++)
            PyTuple_SET_ITEM(all, i + !self->is_front, Py_NewRef(c.args[i]));
        result = PyObject_Call(miss, all, c.kwargs);
        Py_DECREF(all);
    }
    Py_DECREF(miss);
    return result;
}

/* Lets Python shorten the traceback of what a known call raised, as the function behind a front does of what it raises. */
static void shorten_error(void) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback)
        PyException_SetTraceback(error, traceback);
    Py_XDECREF(shorten ? PyObject_CallOneArg(shorten, error) : NULL);
    PyErr_Clear();
    Py_XSETREF(traceback, PyException_GetTraceback(error));
    PyErr_Restore(type, error, traceback);
}

static PyObject *call(Callable *self, struct call c) {
    Callable *known = self->known ? self->known : self;
    if (self->hands_back && !c.kwargs && c.n == 1 && Py_TYPE(c.args[0]) == array_type)
        return Py_NewRef(c.args[0]);
    PyObject *result = may_be_fast(known) ? answer(known, c) : NULL;
    if (result)
        return result;
    if (PyErr_Occurred() && self->is_front)
        shorten_error();
    return PyErr_Occurred() ? NULL : call_miss(self, c);
}

static PyObject *callable_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    return call((Callable *)object, (struct call){&PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), kwargs});
}

/* The same without a tuple of the arguments; keywords become a dict. */
static PyObject *callable_vectorcall(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
    struct call c = {args, PyVectorcall_NARGS(flags), NULL};
    int is_plain = !names || PyTuple_GET_SIZE(names) == 0;
    if (is_plain && Py_TYPE(object)->tp_call == callable_call)
        return call((Callable *)object, c);
    PyObject *tuple = PyTuple_New(c.n), *kwargs = is_plain ? NULL : PyDict_New(), *result = NULL;
    int complete = tuple && (is_plain || kwargs);
    for (Py_ssize_t i = 0; complete && i < c.n; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; complete && !is_plain && i < PyTuple_GET_SIZE(names); i++)
        complete = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), args[c.n + i]) == 0;
    if (complete) /* the class may have been given another way to be called */
        result = Py_TYPE(object)->tp_call(object, tuple, kwargs);
    Py_XDECREF(tuple);
    Py_XDECREF(kwargs);
    return result;
}

/* Puts an entry into the table, which is emptied first when it is full. */
static int put(Callable *self, PyObject *key, PyObject *entry) {
    PyObject *full = NULL;
    if (self->table && PyDict_GET_SIZE(self->table) >= MOST_ENTRIES)
        full = self->table, self->table = NULL;
    if (!self->table && !(self->table = PyDict_New())) {
        Py_XDECREF(full);
        return -1;
    }
    PyObject *table = Py_NewRef(self->table); /* hashing or comparing may forget it */
    int failed = PyDict_SetItem(table, key, entry);
    forget_last(self); /* comparing may have called it, and been answered by what is no longer there */
    Py_DECREF(table);
    Py_XDECREF(full);
    return failed;
}

static PyObject *callable_learn(PyObject *object, PyObject *arguments) {
    Callable *self = (Callable *)object;
    PyObject *args, *kwargs, *entry;
    long long begun = epoch;
    Key key;
    if (!PyArg_ParseTuple(arguments, "O!O!O|L", &PyTuple_Type, &args, &PyDict_Type, &kwargs, &entry, &begun))
        return NULL;
    /* An answer under settings of an earlier epoch is no answer under others. */
    if (!self->enabled || paused || calls_are_pythons() || begun != epoch)
        Py_RETURN_FALSE;
    int has_key = read_key(self->static_names, self->static_bits, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args),
                           PyDict_GET_SIZE(kwargs) ? kwargs : NULL, &key);
    PyObject *tuple = has_key ? key_tuple(&key) : NULL;
    objects_clear(&key.tokens);
    objects_clear(&key.leaves);
    if (!tuple)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    if (key.ran_python && (paused || begun != epoch)) {
        Py_DECREF(tuple);
        Py_RETURN_FALSE;
    }
    int failed = put(self, tuple, entry);
    Py_DECREF(tuple);
    if (failed && !drop_exception()) /* an unhashable static value: such calls are Python's */
        return NULL;
    return PyBool_FromLong(!failed);
}

/* _configure(miss, static_positions, static_names): called once by the subclass's __init__ */
static PyObject *callable_configure(PyObject *object, PyObject *args) {
    Callable *self = (Callable *)object;
    PyObject *miss, *positions, *names;
    uint64_t bits = 0;
    int enabled = 1;
    if (!PyArg_ParseTuple(args, "OO!O", &miss, &PyTuple_Type, &positions, &names))
        return NULL;
    if (names != Py_None && !PyTuple_Check(names))
        return PyErr_Format(PyExc_TypeError, "static_names is a tuple, or None: all keywords are static");
    for (Py_ssize_t i = 0; names != Py_None && i < PyTuple_GET_SIZE(names); i++)
        enabled &= PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i)); /* others may be equal to anything */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (place == -1 && PyErr_Occurred())
            return NULL;
        if (place < 0 || place >= 64)
            enabled = 0; /* counted from the end: depends on the call */
        else
            bits |= (uint64_t)1 << place;
    }
    self->static_bits = bits;
    self->enabled = enabled;
    Py_XSETREF(self->miss, Py_NewRef(miss));
    Py_XSETREF(self->static_names, Py_NewRef(names));
    Py_CLEAR(self->table);
    forget_last(self);
    Py_RETURN_NONE;
}

/* _stand_before(function, hands_back=False): calls that are not known are the function's */
static PyObject *callable_stand_before(PyObject *object, PyObject *args) {
    Callable *self = (Callable *)object;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "O|p", &function, &self->hands_back))
        return NULL;
    self->is_front = 1;
    Py_XSETREF(self->miss, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* _know_by(other): what is known is in the table of another callable */
static PyObject *callable_know_by(PyObject *object, PyObject *other) {
    if (!PyObject_TypeCheck(other, &CallableType))
        return PyErr_Format(PyExc_TypeError, "expected a FastCallable, got %R", other);
    Py_XSETREF(((Callable *)object)->known, (Callable *)Py_NewRef(other));
    Py_RETURN_NONE;
}

static PyObject *callable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    Callable *self = (Callable *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->vectorcall = callable_vectorcall;
    if (type->tp_call == callable_call) /* before Python 3.12 a class in Python does not inherit it */
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    self->before = ring.before;
    self->after = &ring;
    ring.before->after = self;
    ring.before = self;
    return (PyObject *)self;
}

static int callable_traverse(PyObject *object, visitproc visit, void *arg) {
    Callable *self = (Callable *)object;
    Py_VISIT(self->table);
    Py_VISIT(self->last_key);
    Py_VISIT(self->last_entry);
    Py_VISIT(self->miss);
    Py_VISIT(self->known);
    Py_VISIT(self->static_names);
    Py_VISIT(self->attributes);
    return 0;
}

static int callable_clear(PyObject *object) {
    Callable *self = (Callable *)object;
    self->enabled = 0;
    Py_CLEAR(self->table);
    forget_last(self);
    Py_CLEAR(self->miss);
    Py_CLEAR(self->known);
    Py_CLEAR(self->attributes);
    return 0;
}

static void callable_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Callable *self = (Callable *)object;
    PyObject_GC_UnTrack(object);
    self->before->after = self->after;
    self->after->before = self->before;
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    callable_clear(object);
    Py_CLEAR(self->static_names);
    type->tp_free(object); /* the subclass's own deallocator, which called this one, gives its type back */
}

/* Empties every table, at once. What is given up may run Python code, so all tables are taken out of the ring first. */
PyObject *forget(PyObject *module, PyObject *nothing) {
    size_t count = 0, taken = 0;
    (void)module, (void)nothing;
    epoch++;
    for (Callable *each = ring.after; each != &ring; each = each->after)
        count += each->table != NULL;
    PyObject **tables = PyMem_Calloc(3 * count + 1, sizeof *tables);
    if (!tables)
        return PyErr_NoMemory();
    for (Callable *each = ring.after; each != &ring; each = each->after)
        if (each->table) {
            PyObject *given_up[] = {each->table, each->last_key, each->last_entry};
            each->table = each->last_key = each->last_entry = NULL;
            each->changes++;
            memcpy(&tables[taken], given_up, sizeof given_up);
            taken += 3;
        }
    while (taken > 0)
        Py_XDECREF(tables[--taken]);
    PyMem_Free(tables);
    Py_RETURN_NONE;
}

static PyMethodDef callable_methods[] = {
    {"_configure", callable_configure, METH_VARARGS,
     "_configure(miss, static_positions, static_names): miss(self, *args, **kwargs) answers what is not known"},
    {"_stand_before", callable_stand_before, METH_VARARGS,
     "_stand_before(function, hands_back=False): function(*args, **kwargs) answers what is not known; hands_back: an Array\n"
     "alone is its own answer"},
    {"_know_by", callable_know_by, METH_O, "_know_by(other): what another callable knows is known"},
    {"_learn", callable_learn, METH_VARARGS,
     "_learn(args, kwargs, entry, epoch): answer such calls with `entry` from now on, unless the epoch has ended"},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef callable_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject CallableType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.FastCallable",
    .tp_doc = "A function whose known calls are answered from a table; all others go to `miss`.",
    .tp_basicsize = sizeof(Callable), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC
                                                      | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Callable, vectorcall), .tp_new = callable_new, .tp_dealloc = callable_dealloc, .tp_traverse = callable_traverse,
    .tp_clear = callable_clear, .tp_call = callable_call, .tp_methods = callable_methods, .tp_getset = callable_getset,
    .tp_dictoffset = offsetof(Callable, attributes), .tp_weaklistoffset = offsetof(Callable, weakrefs)};

/* --- all of them ------------------------------------------------------------------------------------------------ */

PyObject *set_paused(PyObject *module, PyObject *on) {
    int truth = PyObject_IsTrue(on);
    (void)module;
    if (truth < 0)
        return NULL;
    paused = truth;
    Py_RETURN_NONE;
}

PyObject *set_shorten(PyObject *module, PyObject *function) {
    (void)module;
    Py_XSETREF(shorten, Py_NewRef(function));
    Py_RETURN_NONE;
}

PyObject *current_epoch(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    return PyLong_FromLongLong(epoch);
}

/* call_entry(entry, *leaves): what a known call does; NotImplemented where Python must look at the leaves first. */
PyObject *call_entry(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n < 1 || (Py_TYPE(args[0]) != &EntryType && Py_TYPE(args[0]) != &EagerType))
        return PyErr_Format(PyExc_TypeError, "call_entry takes a FastEntry or an EagerEntry, and leaves");
    PyObject *result = run(args[0], (PyObject **)args + 1, n - 1, (struct call){NULL, 0, NULL});
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
}
