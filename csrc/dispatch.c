/* FastCallable: a function with a table from keys to what answers such calls; and the module. See dispatch.h. */

#include "dispatch.h"
#include <math.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

enum { MAX_TOKENS = 128, MAX_LEAVES = 64 };

uintptr_t (*pool_alloc)(size_t);
void (*pool_free)(uintptr_t, size_t);
int32_t (*program_call)(uintptr_t, uintptr_t *);
PyTypeObject *array_type, *numpy_type;
PyObject *raise_status;
static PyObject *trace_state, *eval_trace, *trace_name; /* calls are fast while trace_state.trace is eval_trace */
static long long epoch;                                 /* tables filled in an earlier epoch are empty */
static int paused;                                      /* settings are overridden somewhere: everything is a miss */

/* --- keys ----------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *tokens[MAX_TOKENS]; /* borrowed: types, avals, dict keys, lengths, static values */
    PyObject *leaves[MAX_LEAVES]; /* borrowed: the dynamic leaves, in the order of reading */
    PyObject *shapes[MAX_LEAVES]; /* owned: of NumPy arrays, among the tokens */
    int n_tokens, n_leaves, n_shapes;
} Key;

/* Each returns 1 when the argument has a key here, 0 when Python must look at it. */
static int read_argument(Key *key, PyObject *x);

static int push(Key *key, PyObject *token) {
    if (key->n_tokens == MAX_TOKENS)
        return 0;
    key->tokens[key->n_tokens++] = token;
    return 1;
}

static int read_leaf(Key *key, PyObject *x, PyObject *token) {
    if (key->n_leaves == MAX_LEAVES)
        return 0;
    key->leaves[key->n_leaves++] = x;
    return push(key, token);
}

/* A NumPy array: its dtype and shape. */
static int read_numpy(Key *key, PyObject *x) {
    PyArrayObject *array = (PyArrayObject *)x;
    Py_ssize_t size = (Py_ssize_t)sizeof(npy_intp) * PyArray_NDIM(array);
    if (!read_leaf(key, x, (PyObject *)numpy_type) || !push(key, (PyObject *)PyArray_DESCR(array)))
        return 0;
    PyObject *shape = PyBytes_FromStringAndSize((const char *)PyArray_DIMS(array), size);
    if (!shape) {
        PyErr_Clear();
        return 0;
    }
    key->shapes[key->n_shapes++] = shape;
    return push(key, shape);
}

static int read_items(Key *key, PyObject *x, PyObject **items, Py_ssize_t n) {
    if (!push(key, (PyObject *)Py_TYPE(x)) || n > 100)
        return 0;
    PyObject *length = PyLong_FromSsize_t(n); /* a cached small int: borrowing it is safe */
    Py_DECREF(length);
    if (!push(key, length))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!read_argument(key, items[i]))
            return 0;
    return 1;
}

static int read_dict(Key *key, PyObject *x) {
    PyObject *name, *value;
    Py_ssize_t position = 0, n = PyDict_GET_SIZE(x);
    if (!push(key, (PyObject *)Py_TYPE(x)) || n > 100)
        return 0;
    PyObject *length = PyLong_FromSsize_t(n);
    Py_DECREF(length);
    if (!push(key, length))
        return 0;
    while (PyDict_Next(x, &position, &name, &value))
        if (!PyUnicode_CheckExact(name) || !push(key, name) || !read_argument(key, value))
            return 0;
    return 1;
}

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

/* --- FastCallable --------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *table, *miss, *static_names, *attributes, *weakrefs;
    uint64_t static_bits; /* which positional arguments are static */
    long long epoch;
    int enabled;
} Callable;

static int read_call(Callable *self, PyObject *args, PyObject *kwargs, Key *key) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = PyTuple_GET_ITEM(args, i);
        if (!(i < 64 && (self->static_bits >> i & 1) ? read_static(key, x) : read_argument(key, x)))
            return 0;
    }
    if (!kwargs)
        return 1;
    PyObject *name, *x;
    Py_ssize_t position = 0;
    while (PyDict_Next(kwargs, &position, &name, &x)) {
        int is_static = PySequence_Contains(self->static_names, name);
        if (is_static < 0)
            PyErr_Clear();
        if (is_static < 0 || !push(key, (PyObject *)self->static_names) || !push(key, name)
            || !(is_static ? read_static(key, x) : read_argument(key, x)))
            return 0;
    }
    return 1;
}

/* The key of a call as a tuple; NULL, perhaps without an exception, when it has none here. */
static PyObject *key_of(Callable *self, PyObject *args, PyObject *kwargs, Key *key) {
    key->n_tokens = key->n_leaves = key->n_shapes = 0;
    PyObject *tuple = read_call(self, args, kwargs, key) ? PyTuple_New(key->n_tokens) : NULL;
    for (int i = 0; tuple && i < key->n_tokens; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(key->tokens[i]));
    for (int i = 0; i < key->n_shapes; i++)
        Py_DECREF(key->shapes[i]);
    return tuple;
}

static int may_be_fast(Callable *self) {
    if (!self->enabled || paused || self->epoch != epoch)
        return 0;
    PyObject *trace = PyObject_GetAttr(trace_state, trace_name);
    Py_XDECREF(trace);
    if (!trace)
        PyErr_Clear();
    return trace == eval_trace;
}

static PyObject *run(PyObject *entry, PyObject **leaves, PyObject *args, PyObject *kwargs) {
    if (Py_TYPE(entry) == &EntryType)
        return run_entry(entry, leaves);
    return Py_TYPE(entry) == &EagerType ? run_eagerly(entry, leaves) : PyObject_Call(entry, args, kwargs);
}

/* The result of a call that is known; NULL, perhaps with an exception, when it is Python's. */
static PyObject *answer(Callable *self, PyObject *args, PyObject *kwargs) {
    Key key;
    PyObject *tuple = key_of(self, args, kwargs, &key);
    if (!tuple)
        return NULL;
    PyObject *entry = PyDict_GetItemWithError(self->table, tuple);
    Py_DECREF(tuple);
    if (!entry) {
        PyErr_Clear(); /* an unhashable static, or an __eq__ that raised: Python says so better */
        return NULL;
    }
    Py_INCREF(entry);
    for (int i = 0; i < key.n_leaves; i++) /* another thread may empty the list or dict they came from */
        Py_INCREF(key.leaves[i]);
    PyObject *result = run(entry, key.leaves, args, kwargs);
    for (int i = 0; i < key.n_leaves; i++)
        Py_DECREF(key.leaves[i]);
    Py_DECREF(entry);
    return result;
}

static PyObject *callable_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    Callable *self = (Callable *)object;
    PyObject *result = may_be_fast(self) ? answer(self, args, kwargs) : NULL;
    return result || PyErr_Occurred() ? result : PyObject_Call(self->miss, args, kwargs);
}

static PyObject *callable_learn(PyObject *object, PyObject *arguments) {
    Callable *self = (Callable *)object;
    PyObject *args, *kwargs, *entry;
    Key key;
    if (!PyArg_ParseTuple(arguments, "O!O!O", &PyTuple_Type, &args, &PyDict_Type, &kwargs, &entry))
        return NULL;
    if (self->epoch != epoch || PyDict_GET_SIZE(self->table) > 4096)
        PyDict_Clear(self->table);
    self->epoch = epoch;
    if (paused) /* an answer under overridden settings is no answer under others */
        Py_RETURN_FALSE;
    PyObject *tuple = key_of(self, args, PyDict_GET_SIZE(kwargs) ? kwargs : NULL, &key);
    if (!tuple)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    int failed = PyDict_SetItem(self->table, tuple, entry);
    Py_DECREF(tuple);
    if (failed && !PyErr_ExceptionMatches(PyExc_TypeError))
        return NULL;
    PyErr_Clear(); /* an unhashable static value: such calls are Python's */
    return PyBool_FromLong(!failed);
}

/* _configure(miss, static_positions, static_names): called once by JitFunction.__init__ */
static PyObject *callable_configure(PyObject *object, PyObject *args) {
    Callable *self = (Callable *)object;
    PyObject *miss, *positions, *names;
    if (!PyArg_ParseTuple(args, "OO!O!", &miss, &PyTuple_Type, &positions, &PyTuple_Type, &names))
        return NULL;
    Py_XSETREF(self->miss, Py_NewRef(miss));
    Py_XSETREF(self->static_names, Py_NewRef(names));
    Py_XSETREF(self->table, PyDict_New());
    self->enabled = self->table != NULL;
    self->epoch = epoch;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
        long place = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (place < 0 || place >= 64)
            self->enabled = 0; /* counted from the end: depends on the call */
        else
            self->static_bits |= (uint64_t)1 << place;
    }
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static int callable_traverse(PyObject *object, visitproc visit, void *arg) {
    Callable *self = (Callable *)object;
    Py_VISIT(self->table);
    Py_VISIT(self->miss);
    Py_VISIT(self->static_names);
    Py_VISIT(self->attributes);
    return 0;
}

static int callable_clear(PyObject *object) {
    Callable *self = (Callable *)object;
    Py_CLEAR(self->table);
    Py_CLEAR(self->miss);
    Py_CLEAR(self->static_names);
    Py_CLEAR(self->attributes);
    self->enabled = 0;
    return 0;
}

static void callable_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (((Callable *)object)->weakrefs)
        PyObject_ClearWeakRefs(object);
    callable_clear(object);
    type->tp_free(object); /* the subclass's own deallocator, which called this one, gives its type back */
}

static PyMethodDef callable_methods[] = {
    {"_configure", callable_configure, METH_VARARGS, "_configure(miss, static_positions, static_names)"},
    {"_learn", callable_learn, METH_VARARGS, "_learn(args, kwargs, entry): answer such calls with `entry` from now on"},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef callable_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject CallableType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.FastCallable",
    .tp_doc = "A function whose known calls are answered from a table; all others go to `miss`.",
    .tp_basicsize = sizeof(Callable), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew, .tp_dealloc = callable_dealloc, .tp_traverse = callable_traverse,
    .tp_clear = callable_clear, .tp_call = callable_call, .tp_methods = callable_methods, .tp_getset = callable_getset,
    .tp_dictoffset = offsetof(Callable, attributes), .tp_weaklistoffset = offsetof(Callable, weakrefs)};

/* --- the module ----------------------------------------------------------------------------------------------- */

static PyObject *set_pool(PyObject *module, PyObject *args) {
    unsigned long long alloc, release, call;
    (void)module;
    if (!PyArg_ParseTuple(args, "KKK", &alloc, &release, &call))
        return NULL;
    pool_alloc = (uintptr_t(*)(size_t))(uintptr_t)alloc;
    pool_free = (void (*)(uintptr_t, size_t))(uintptr_t)release;
    program_call = (int32_t(*)(uintptr_t, uintptr_t *))(uintptr_t)call;
    Py_RETURN_NONE;
}

static PyObject *set_array_types(PyObject *module, PyObject *args) {
    PyTypeObject *own, *numpy;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &own, &PyType_Type, &numpy))
        return NULL;
    Py_XSETREF(array_type, (PyTypeObject *)Py_NewRef(own));
    Py_XSETREF(numpy_type, (PyTypeObject *)Py_NewRef(numpy));
    Py_RETURN_NONE;
}

static PyObject *set_trace_state(PyObject *module, PyObject *args) {
    PyObject *state, *bottom, *status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO", &state, &bottom, &status))
        return NULL;
    Py_XSETREF(trace_state, Py_NewRef(state));
    Py_XSETREF(eval_trace, Py_NewRef(bottom));
    Py_XSETREF(raise_status, Py_NewRef(status));
    Py_RETURN_NONE;
}

static PyObject *set_paused(PyObject *module, PyObject *on) {
    (void)module;
    paused = PyObject_IsTrue(on);
    Py_RETURN_NONE;
}

static PyObject *forget(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    epoch++;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_pool", set_pool, METH_VARARGS, "set_pool(alloc, free, call): the addresses of the runtime's functions"},
    {"set_array_types", set_array_types, METH_VARARGS, "set_array_types(Array, ndarray): what results are made as"},
    {"array_of_view", (PyCFunction)(void (*)(void))array_of_view, METH_FASTCALL,
     "array_of_view(aval, view): an array whose elements are those of a read-only NumPy array"},
    {"set_numpy", set_numpy, METH_VARARGS, "set_numpy(asarray, quiet_context): what eager calls need of NumPy"},
    {"set_trace_state", set_trace_state, METH_VARARGS, "set_trace_state(state, bottom, raise_status)"},
    {"set_paused", set_paused, METH_O, "set_paused(on): while on, every call is a miss"},
    {"forget", forget, METH_NOARGS, "forget(): every table is empty from now on"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "tinytrace._dispatch",
                                    .m_doc = "The hit path of jitted calls; defined by tinytrace/api/jit.py.",
                                    .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__dispatch(void) {
    PyTypeObject *types[] = {&BufferType, &ArrayBaseType, &EntryType, &EagerType, &CallableType};
    PyObject *self = PyModule_Create(&module);
    if (!self || !(trace_name = PyUnicode_InternFromString("trace")))
        return NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (PyModule_AddType(self, types[i]) < 0)
            return NULL;
    return add_entry_constants(self) ? NULL : self;
}
