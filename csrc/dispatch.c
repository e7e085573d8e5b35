/* FastCallable: a function with a table from keys to what answers such calls; and the module. See cpython.h. */

#include "arrays.h"
#include "calls.h"
#include "counter.h"
#include "eager.h"
#include "entry.h"
#include "guards.h"
#include "indexing.h"
#include "installed.h"
#include "keys.h"
#include "libraries.h"
#include "own_code.h"
#include "private_files.h"
#include "traces.h"

static long long epoch;                                 /* what was learnt for an earlier epoch is out of date */
static PyTypeObject CallableType;
static PyObject *shorten;                               /* called with what a known call raised */
static int paused;                                      /* somebody sees all calls: everything is a miss */

/* --- FastCallable --------------------------------------------------------------------------------------------- */

typedef struct Callable {
    PyObject_HEAD
    PyObject *table; /* key -> entry; NULL while nothing is known */
    PyObject *miss;  /* miss(self, *args, **kwargs) answers what the table does not */
    PyObject *static_names, *attributes, *weakrefs;
    struct Callable *known; /* whose table answers: its own, where this is NULL */
    uint64_t static_bits;   /* which positional arguments are static */
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

static PyObject *run(PyObject *entry, PyObject **leaves, Py_ssize_t n, PyObject *args, PyObject *kwargs) {
    if (Py_TYPE(entry) == &EntryType)
        return run_entry(entry, leaves, n);
    return Py_TYPE(entry) == &EagerType ? run_eagerly(entry, leaves, n) : PyObject_Call(entry, args, kwargs);
}

/* What answers calls of this key: a new reference, or NULL, perhaps with an exception. Takes the reference to the key. */
static PyObject *look_up(Callable *self, PyObject *key) {
    PyObject *table = Py_NewRef(self->table); /* hashing or comparing may forget it */
    PyObject *entry = PyDict_GetItemWithError(table, key);
    Py_XINCREF(entry);
    if (!entry)
        drop_exception(); /* an unhashable static, or an __eq__ that raised: Python says so better */
    Py_DECREF(table);
    Py_DECREF(key);
    return entry;
}

/* The result of a call that is known; NULL, perhaps with an exception, when it is Python's. */
static PyObject *answer(Callable *self, PyObject *args, PyObject *kwargs) {
    Key key;
    PyObject *tuple = key_of(self->static_names, self->static_bits, args, kwargs, &key), *result = NULL;
    int is_known = tuple && (key.ran_python ? may_be_fast(self) : self->table != NULL);
    PyObject *entry = is_known ? look_up(self, tuple) : (Py_XDECREF(tuple), NULL);
    PyObject *known = entry && Py_TYPE(entry) == &GuardedType ? entry_behind(entry) : entry;
    if (known) {
        result = run(known, key.leaves.items, key.leaves.next - key.leaves.items, args, kwargs);
    }
    Py_XDECREF(entry);
    objects_clear(&key.leaves);
    return result;
}

/* miss(self, *args, **kwargs). The table holds no reference to the callable itself, and so no cycle. */
static PyObject *call_miss(Callable *self, PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (!self->miss)
        return PyErr_Format(PyExc_TypeError, "a %s that is not configured cannot be called", Py_TYPE(self)->tp_name);
    if (self->is_front)
        return PyObject_Call(self->miss, args, kwargs);
    PyObject *all = PyTuple_New(n + 1), *miss = Py_NewRef(self->miss), *result = NULL;
    if (all) {
        PyTuple_SET_ITEM(all, 0, Py_NewRef(self));
        for (Py_ssize_t i = 0; i < n; i++)
            PyTuple_SET_ITEM(all, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
        result = PyObject_Call(miss, all, kwargs);
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

static PyObject *callable_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    Callable *self = (Callable *)object, *known = self->known ? self->known : self;
    if (self->hands_back && !kwargs && PyTuple_GET_SIZE(args) == 1 && Py_TYPE(PyTuple_GET_ITEM(args, 0)) == array_type)
        return Py_NewRef(PyTuple_GET_ITEM(args, 0));
    PyObject *result = may_be_fast(known) ? answer(known, args, kwargs) : NULL;
    if (!result && PyErr_Occurred() && self->is_front)
        shorten_error();
    return result || PyErr_Occurred() ? result : call_miss(self, args, kwargs);
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
    PyObject *tuple = key_of(self->static_names, self->static_bits, args, PyDict_GET_SIZE(kwargs) ? kwargs : NULL, &key);
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
    self->before = ring.before;
    self->after = &ring;
    ring.before->after = self;
    ring.before = self;
    return (PyObject *)self;
}

static int callable_traverse(PyObject *object, visitproc visit, void *arg) {
    Callable *self = (Callable *)object;
    Py_VISIT(self->table);
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
static PyObject *forget(PyObject *module, PyObject *nothing) {
    size_t count = 0, taken = 0;
    (void)module, (void)nothing;
    epoch++;
    for (Callable *each = ring.after; each != &ring; each = each->after)
        count += each->table != NULL;
    PyObject **tables = PyMem_Calloc(count + 1, sizeof *tables);
    if (!tables)
        return PyErr_NoMemory();
    for (Callable *each = ring.after; each != &ring; each = each->after)
        if (each->table)
            tables[taken++] = each->table, each->table = NULL;
    while (taken > 0)
        Py_DECREF(tables[--taken]);
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

static PyTypeObject CallableType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.FastCallable",
    .tp_doc = "A function whose known calls are answered from a table; all others go to `miss`.",
    .tp_basicsize = sizeof(Callable), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = callable_new, .tp_dealloc = callable_dealloc, .tp_traverse = callable_traverse,
    .tp_clear = callable_clear, .tp_call = callable_call, .tp_methods = callable_methods, .tp_getset = callable_getset,
    .tp_dictoffset = offsetof(Callable, attributes), .tp_weaklistoffset = offsetof(Callable, weakrefs)};

/* --- the module ----------------------------------------------------------------------------------------------- */

static PyObject *set_paused(PyObject *module, PyObject *on) {
    int truth = PyObject_IsTrue(on);
    (void)module;
    if (truth < 0)
        return NULL;
    paused = truth;
    Py_RETURN_NONE;
}

static PyObject *set_shorten(PyObject *module, PyObject *function) {
    (void)module;
    Py_XSETREF(shorten, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *current_epoch(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    return PyLong_FromLongLong(epoch);
}

/* call_entry(entry, *leaves): what a known call does; NotImplemented where Python must look at the leaves first. */
static PyObject *call_entry(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n < 1 || (Py_TYPE(args[0]) != &EntryType && Py_TYPE(args[0]) != &EagerType))
        return PyErr_Format(PyExc_TypeError, "call_entry takes a FastEntry or an EagerEntry, and leaves");
    PyObject *result = run(args[0], (PyObject **)args + 1, n - 1, NULL, NULL);
    return result || PyErr_Occurred() ? result : Py_NewRef(Py_NotImplemented);
}

static PyMethodDef functions[] = {
    {"set_pool", set_pool, METH_VARARGS, "set_pool(alloc, free, call): the addresses of the runtime's functions"},
    {"set_array_types", set_array_types, METH_VARARGS,
     "set_array_types(Array, ndarray, read_only_view): what results are made as, and how Python sees them"},
    {"live_arrays", live_arrays, METH_NOARGS, "live_arrays(): the Arrays that have elements, newest first"},
    {"array_copied", array_copied, METH_O, "array_copied(array): another array with a block of its own"},
    {"array_counted", (PyCFunction)(void (*)(void))array_counted, METH_FASTCALL,
     "array_counted(aval, start, step, count, width): start, start + step, ..., integers of so many bytes"},
    {"array_filled", (PyCFunction)(void (*)(void))array_filled, METH_FASTCALL,
     "array_filled(aval, element, count): an array of so many elements, each of which is these bytes"},
    {"array_of_view", (PyCFunction)(void (*)(void))array_of_view, METH_FASTCALL,
     "array_of_view(aval, view): an array whose elements are those of a read-only NumPy array"},
    {"call_entry", (PyCFunction)(void (*)(void))call_entry, METH_FASTCALL,
     "call_entry(entry, *leaves): what a known call does; NotImplemented where Python must look at the leaves"},
    {"set_getitem", set_getitem, METH_O, "set_getitem(function): what answers x[index] where the index is not plain"},
    {"rows", rows, METH_VARARGS,
     "rows(array, aval, start, stop): its parts along the first axis, of type aval, as views of the same elements"},
    {"set_node_kinds", set_node_kinds, METH_O, "set_node_kinds(kinds): class -> how such a node of a tree is taken apart"},
    {"set_numpy", set_numpy, METH_VARARGS, 
     "set_numpy(asarray, quiet_context, set_quicksorts): what eager calls need of NumPy, and who takes its quicksorts"},
    {"set_shared_memory", set_shared_memory, METH_VARARGS,
     "set_shared_memory(address, nbytes): where elements are that arrays share until somebody looks at them"},
    {"set_raise_status", set_raise_status, METH_O, "set_raise_status(function): called with a status that is not 0"},
    {"set_shorten", set_shorten, METH_O, "set_shorten(function): called with what a known call of a front raised"},
    {"set_paused", set_paused, METH_O, "set_paused(on): while on, every call is a miss"},
    {"set_context", set_context, METH_O, "set_context(context): what stands for this thread's own settings in keys"},
    {"held_by", held_by, METH_VARARGS, "held_by(module, package, deep): a number for what a module holds"},
    {"read_private", read_private, METH_VARARGS,
     "read_private(folders, files, owner, other_owner): the bytes of files that only these can have written"},
    {"load_copy", load_copy, METH_VARARGS, "load_copy(bytes, name): a library, from a file in memory with these bytes"},
    {"load_file", load_file, METH_O, "load_file(path): a library, from a file"},
    {"symbol_of", symbol_of, METH_VARARGS, "symbol_of(library, name): the address of what a library calls so"},
    {"forget", forget, METH_NOARGS, "forget(): every table is empty from now on, and a new epoch begins"},
    {"current_epoch", current_epoch, METH_NOARGS, "current_epoch(): its number, to be read before a call is looked at"},
    {"calls_counted", calls_counted, METH_NOARGS, "calls_counted(): how many calls all HitCounters have counted"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "tinytrace._dispatch",
                                    .m_doc = "The hit path of jitted calls, which tinytrace/api/jit.py defines; loading.",
                                    .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__dispatch(void) {
    PyTypeObject *types[] = {&BufferType, &ArrayBaseType, &EntryType, &HitCounterType, &EagerType, &GuardedType, &CallableType,
                             &TraceStateType, &TraceScopeType};
    PyObject *self = PyModule_Create(&module);
    array_mapping.mp_subscript = array_subscript;
    array_sequence.sq_item = array_item;
    if (!self)
        return NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (PyModule_AddType(self, types[i]) < 0)
            return NULL;
    return add_entry_constants(self) ? NULL : self;
}
