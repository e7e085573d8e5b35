/* The hit path of a jitted call, in the fewest steps: a key of interned avals, one lookup, one call by address.

   What it does is defined by tinytrace/api/jit.py, which stands behind every miss; tests hold both equal. It knows
   three types: Buffer (a block of the pool), ArrayBase (aval, buffer, view, address) and FastCallable (a function with a
   table from keys to FastEntry). A call that is in any way unusual is a miss, and Python decides. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <math.h>
#include <stdint.h>

enum { MAX_TOKENS = 128, MAX_LEAVES = 64, MAX_BUFFERS = 192 };

static uintptr_t (*pool_alloc)(size_t);
static void (*pool_free)(uintptr_t, size_t);
static int32_t (*program_call)(uintptr_t, uintptr_t *);
static PyObject *trace_state, *eval_trace, *trace_name; /* calls are fast while trace_state.trace is eval_trace */
static PyObject *raise_status;                          /* called with a program's non-zero status */
static PyTypeObject *array_type;                        /* the Python subclass of ArrayBase */
static long long epoch;                                 /* tables filled in an earlier epoch are empty */
static int paused;                                      /* settings are overridden somewhere: everything is a miss */

/* --- Buffer --------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    uintptr_t address;
    size_t nbytes;
} Buffer;

static PyTypeObject BufferType;

static PyObject *buffer_of(size_t nbytes) {
    uintptr_t address = pool_alloc(nbytes);
    if (!address)
        return PyErr_Format(PyExc_MemoryError, "Unable to allocate an array of %zu bytes", nbytes);
    Buffer *self = PyObject_New(Buffer, &BufferType);
    if (!self) {
        pool_free(address, nbytes);
        return NULL;
    }
    self->address = address;
    self->nbytes = nbytes;
    return (PyObject *)self;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Py_ssize_t nbytes;
    (void)type, (void)kwargs;
    if (!PyArg_ParseTuple(args, "n", &nbytes))
        return NULL;
    if (nbytes < 0)
        return PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes", nbytes);
    return buffer_of((size_t)nbytes);
}

static void buffer_dealloc(PyObject *self) {
    pool_free(((Buffer *)self)->address, ((Buffer *)self)->nbytes);
    PyObject_Free(self);
}

static PyMemberDef buffer_members[] = {
    {"address", T_ULONGLONG, offsetof(Buffer, address), READONLY, "where the block lies"},
    {"nbytes", T_PYSSIZET, offsetof(Buffer, nbytes), READONLY, "its size"},
    {NULL, 0, 0, 0, NULL}};

static PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.Buffer",
    .tp_doc = "Buffer(nbytes): a block from the runtime's pool, given back when the last array that sees it dies.",
    .tp_basicsize = sizeof(Buffer), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = buffer_new,
    .tp_dealloc = buffer_dealloc, .tp_members = buffer_members};

/* --- ArrayBase ------------------------------------------------------------------------------------------------ */

typedef struct {
    PyObject_HEAD
    PyObject *aval, *buffer, *view, *weakrefs;
    uintptr_t address; /* 0: not known yet, the elements are in the view */
} Array;

static int array_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *aval, *buffer, *view = Py_None;
    static char *names[] = {"aval", "buffer", "view", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O", names, &aval, &buffer, &view))
        return -1;
    Array *array = (Array *)self;
    Py_XSETREF(array->aval, Py_NewRef(aval));
    Py_XSETREF(array->buffer, Py_NewRef(buffer));
    Py_XSETREF(array->view, Py_NewRef(view));
    array->address = Py_IS_TYPE(buffer, &BufferType) ? ((Buffer *)buffer)->address : 0;
    return 0;
}

static void array_dealloc(PyObject *self) {
    Array *array = (Array *)self;
    if (array->weakrefs)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(array->aval);
    Py_XDECREF(array->buffer);
    Py_XDECREF(array->view);
    Py_TYPE(self)->tp_free(self); /* the subclass's own deallocator, which called this one, gives its type back */
}

static PyMemberDef array_members[] = {
    {"aval", T_OBJECT_EX, offsetof(Array, aval), READONLY, "the type of the array"},
    {"_buffer", T_OBJECT, offsetof(Array, buffer), 0, "the pooled block, None while the elements are NumPy's"},
    {"_view", T_OBJECT, offsetof(Array, view), 0, "the NumPy view, None until somebody looks"},
    {"_address", T_ULONGLONG, offsetof(Array, address), 0, "where the elements lie, 0 if not known yet"},
    {NULL, 0, 0, 0, NULL}};

static PyTypeObject ArrayBaseType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.ArrayBase",
    .tp_doc = "The four fields of an Array; see core/array.py.", .tp_basicsize = sizeof(Array),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .tp_new = PyType_GenericNew, .tp_init = array_init,
    .tp_dealloc = array_dealloc, .tp_members = array_members, .tp_weaklistoffset = offsetof(Array, weakrefs)};

static PyObject *array_of(PyObject *aval, PyObject *buffer) {
    Array *array = (Array *)array_type->tp_alloc(array_type, 0);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(aval);
    array->buffer = Py_NewRef(buffer);
    array->view = Py_NewRef(Py_None);
    array->address = ((Buffer *)buffer)->address;
    return (PyObject *)array;
}

/* array_of_view(aval, view): what ArrayBase.__init__ does for the result of a NumPy operation, at a quarter of its cost */
static PyObject *array_of_view(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (n != 2)
        return PyErr_Format(PyExc_TypeError, "array_of_view takes 2 arguments, got %zd", n);
    Array *array = (Array *)array_type->tp_alloc(array_type, 0);
    if (!array)
        return NULL;
    array->aval = Py_NewRef(args[0]);
    array->buffer = Py_NewRef(Py_None);
    array->view = Py_NewRef(args[1]);
    return (PyObject *)array;
}

/* --- keys ----------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *tokens[MAX_TOKENS]; /* borrowed: types, avals, dict keys, lengths, static values */
    PyObject *leaves[MAX_LEAVES]; /* borrowed: the dynamic leaves, in the order of reading */
    int n_tokens, n_leaves;
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

/* --- FastEntry ------------------------------------------------------------------------------------------------ */

enum { FROM_KERNEL, FROM_LEAF, CONSTANT };

typedef struct {
    PyObject_HEAD
    PyObject *owner;     /* keeps the program and its constants alive */
    PyObject *out_avals; /* of all outputs */
    PyObject *constants; /* of outputs that are constants, None elsewhere */
    PyObject *unflatten; /* list of outputs -> result, None for a single leaf */
    uintptr_t entry;
    size_t workspace;
    int n_inputs, n_kernel_outputs, n_outputs;
    uintptr_t fixed[MAX_BUFFERS];            /* addresses of closed-over constants, 0 for leaves */
    int leaf[MAX_BUFFERS];                   /* which leaf an input is */
    char scalar[MAX_BUFFERS];                /* how a Python scalar is stored: struct code, 0 for arrays */
    size_t out_bytes[MAX_BUFFERS];           /* of kernel outputs */
    int source[MAX_BUFFERS], at[MAX_BUFFERS]; /* where output i comes from */
} Entry;

static void entry_dealloc(PyObject *self) {
    Entry *e = (Entry *)self;
    Py_XDECREF(e->owner);
    Py_XDECREF(e->out_avals);
    Py_XDECREF(e->constants);
    Py_XDECREF(e->unflatten);
    PyObject_Free(self);
}

static PyTypeObject EntryType;

/* FastEntry(owner, entry, workspace, inputs, out_bytes, outputs, out_avals, unflatten)
     inputs: (address or 0, leaf, scalar code or "") each;  outputs: (source, index, constant or None) each */
static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *owner, *inputs, *out_bytes, *outputs, *out_avals, *unflatten;
    unsigned long long address;
    Py_ssize_t workspace;
    (void)type, (void)kwargs;
    if (!PyArg_ParseTuple(args, "OKnO!O!O!O!O", &owner, &address, &workspace, &PyTuple_Type, &inputs, &PyTuple_Type,
                          &out_bytes, &PyTuple_Type, &outputs, &PyTuple_Type, &out_avals, &unflatten))
        return NULL;
    Py_ssize_t n_in = PyTuple_GET_SIZE(inputs), n_kernel = PyTuple_GET_SIZE(out_bytes);
    Py_ssize_t n_out = PyTuple_GET_SIZE(outputs);
    if (n_in + n_kernel + 1 > MAX_BUFFERS || n_out > MAX_BUFFERS)
        return PyErr_Format(PyExc_ValueError, "too many buffers for the fast path: %zd", n_in + n_kernel + 1);
    Entry *e = PyObject_New(Entry, &EntryType);
    if (!e)
        return NULL;
    e->owner = Py_NewRef(owner);
    e->out_avals = Py_NewRef(out_avals);
    e->constants = PyTuple_New(n_out);
    e->unflatten = Py_NewRef(unflatten);
    e->entry = (uintptr_t)address;
    e->workspace = (size_t)workspace;
    e->n_inputs = (int)n_in, e->n_kernel_outputs = (int)n_kernel, e->n_outputs = (int)n_out;
    for (Py_ssize_t i = 0; i < n_in; i++) {
        unsigned long long fixed;
        const char *code;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(inputs, i), "Kis", &fixed, &e->leaf[i], &code))
            goto fail;
        e->fixed[i] = (uintptr_t)fixed;
        e->scalar[i] = code[0];
    }
    for (Py_ssize_t i = 0; i < n_kernel; i++)
        e->out_bytes[i] = PyLong_AsSize_t(PyTuple_GET_ITEM(out_bytes, i));
    for (Py_ssize_t i = 0; e->constants && i < n_out; i++) {
        PyObject *constant;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(outputs, i), "iiO", &e->source[i], &e->at[i], &constant))
            goto fail;
        PyTuple_SET_ITEM(e->constants, i, Py_NewRef(constant));
    }
    if (e->constants && !PyErr_Occurred())
        return (PyObject *)e;
fail:
    Py_DECREF(e);
    return NULL;
}

static PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.FastEntry",
    .tp_doc = "A compiled call: where its inputs, outputs and constants are.", .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = entry_new, .tp_dealloc = entry_dealloc};

/* Store a Python scalar as the array element it stands for; 0 when it does not fit. */
static int store_scalar(PyObject *x, char code, uint64_t *slot) {
    double real = 0;
    long long integer = 0;
    int overflow = 0;
    if (PyFloat_CheckExact(x))
        real = PyFloat_AS_DOUBLE(x);
    else if ((integer = PyLong_AsLongLongAndOverflow(x, &overflow)), overflow)
        return 0;
    switch (code) {
    case 'f': *(float *)slot = (float)real; return 1;
    case 'd': *(double *)slot = real; return 1;
    case 'i': *(int32_t *)slot = (int32_t)integer; return integer == (int32_t)integer;
    case 'q': *(int64_t *)slot = (int64_t)integer; return 1;
    case '?': *(uint8_t *)slot = (uint8_t)(x == Py_True); return 1;
    default: return 0;
    }
}

static PyObject *collect_outputs(Entry *e, PyObject **leaves, PyObject **made) {
    PyObject *results = e->unflatten == Py_None ? NULL : PyList_New(e->n_outputs);
    if (!results && e->unflatten != Py_None)
        return NULL;
    for (int i = 0; i < e->n_outputs; i++) {
        PyObject *x, *aval = PyTuple_GET_ITEM(e->out_avals, i);
        if (e->source[i] == FROM_KERNEL)
            x = array_of(aval, made[e->at[i]]);
        else
            x = Py_NewRef(e->source[i] == FROM_LEAF ? leaves[e->at[i]] : PyTuple_GET_ITEM(e->constants, i));
        if (!x || !results) {
            Py_XDECREF(results);
            return x;
        }
        PyList_SET_ITEM(results, i, x);
    }
    PyObject *tree = PyObject_CallOneArg(e->unflatten, results);
    Py_DECREF(results);
    return tree;
}

/* Run the program on these leaves. Returns NULL without an exception when Python must do it. */
static PyObject *run(Entry *e, PyObject **leaves) {
    uintptr_t buffers[MAX_BUFFERS];
    uint64_t scalars[MAX_BUFFERS];
    PyObject *made[MAX_BUFFERS], *result = NULL;
    int n = e->n_inputs, n_made = 0;
    for (int i = 0; i < e->n_outputs; i++) /* an input handed through must be an Array of just this aval */
        if (e->source[i] == FROM_LEAF && (Py_TYPE(leaves[e->at[i]]) != array_type
                                          || ((Array *)leaves[e->at[i]])->aval != PyTuple_GET_ITEM(e->out_avals, i)))
            return NULL;
    for (int i = 0; i < n; i++) {
        PyObject *leaf = e->fixed[i] ? NULL : leaves[e->leaf[i]];
        if (!leaf)
            buffers[i] = e->fixed[i];
        else if (Py_TYPE(leaf) == array_type)
            buffers[i] = ((Array *)leaf)->address;
        else
            buffers[i] = store_scalar(leaf, e->scalar[i], &scalars[i]) ? (uintptr_t)&scalars[i] : 0;
        if (!buffers[i])
            return NULL;
    }
    for (; n_made < e->n_kernel_outputs; n_made++) {
        made[n_made] = buffer_of(e->out_bytes[n_made]);
        if (!made[n_made])
            goto done;
        buffers[n + n_made] = ((Buffer *)made[n_made])->address;
    }
    if (e->workspace && !(buffers[n + n_made] = pool_alloc(e->workspace))) {
        PyErr_NoMemory();
        goto done;
    }
    int32_t status = 0;
    if (e->n_kernel_outputs) {
        Py_BEGIN_ALLOW_THREADS
        status = program_call(e->entry, buffers);
        Py_END_ALLOW_THREADS
    }
    if (e->workspace)
        pool_free(buffers[n + n_made], e->workspace);
    if (status) {
        PyObject *nothing = PyObject_CallFunction(raise_status, "i", (int)status);
        Py_XDECREF(nothing);
    } else
        result = collect_outputs(e, leaves, made);
done:
    while (n_made > 0)
        Py_DECREF(made[--n_made]);
    return result;
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
    key->n_tokens = key->n_leaves = 0;
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

static PyObject *key_tuple(Key *key) {
    PyObject *tuple = PyTuple_New(key->n_tokens);
    for (int i = 0; tuple && i < key->n_tokens; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(key->tokens[i]));
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

static PyObject *callable_call(PyObject *object, PyObject *args, PyObject *kwargs) {
    Callable *self = (Callable *)object;
    Key key;
    if (may_be_fast(self) && read_call(self, args, kwargs, &key)) {
        PyObject *tuple = key_tuple(&key);
        if (!tuple)
            return NULL;
        PyObject *entry = PyDict_GetItemWithError(self->table, tuple);
        Py_DECREF(tuple);
        if (entry) {
            Py_INCREF(entry);
            for (int i = 0; i < key.n_leaves; i++) /* another thread may empty the list or dict they came from */
                Py_INCREF(key.leaves[i]);
            PyObject *result = run((Entry *)entry, key.leaves);
            for (int i = 0; i < key.n_leaves; i++)
                Py_DECREF(key.leaves[i]);
            Py_DECREF(entry);
            if (result || PyErr_Occurred())
                return result;
        } else if (PyErr_Occurred())
            PyErr_Clear(); /* an unhashable static, or an __eq__ that raised: Python says so better */
    }
    return PyObject_Call(self->miss, args, kwargs);
}

static PyObject *callable_learn(PyObject *object, PyObject *arguments) {
    Callable *self = (Callable *)object;
    PyObject *args, *kwargs, *entry;
    Key key;
    if (!PyArg_ParseTuple(arguments, "O!O!O!", &PyTuple_Type, &args, &PyDict_Type, &kwargs, &EntryType, &entry))
        return NULL;
    if (self->epoch != epoch || PyDict_GET_SIZE(self->table) > 4096)
        PyDict_Clear(self->table);
    self->epoch = epoch;
    if (!read_call(self, args, PyDict_GET_SIZE(kwargs) ? kwargs : NULL, &key))
        Py_RETURN_FALSE;
    PyObject *tuple = key_tuple(&key);
    if (!tuple)
        return NULL;
    int failed = PyDict_SetItem(self->table, tuple, entry);
    Py_DECREF(tuple);
    return failed ? NULL : Py_NewRef(Py_True);
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

static PyObject *set_array_type(PyObject *module, PyObject *type) {
    (void)module;
    Py_XSETREF(array_type, (PyTypeObject *)Py_NewRef(type));
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
    {"set_array_type", set_array_type, METH_O, "set_array_type(type): what results are made as"},
    {"array_of_view", (PyCFunction)(void (*)(void))array_of_view, METH_FASTCALL,
     "array_of_view(aval, view): an array whose elements are those of a read-only NumPy array"},
    {"set_trace_state", set_trace_state, METH_VARARGS, "set_trace_state(state, bottom, raise_status)"},
    {"set_paused", set_paused, METH_O, "set_paused(on): while on, every call is a miss"},
    {"forget", forget, METH_NOARGS, "forget(): every table is empty from now on"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "tinytrace._dispatch",
                                    .m_doc = "The hit path of jitted calls; defined by tinytrace/api/jit.py.",
                                    .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__dispatch(void) {
    PyTypeObject *types[] = {&BufferType, &ArrayBaseType, &EntryType, &CallableType};
    PyObject *self = PyModule_Create(&module);
    if (!self || !(trace_name = PyUnicode_InternFromString("trace")))
        return NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (PyModule_AddType(self, types[i]) < 0)
            return NULL;
    if (PyModule_AddIntConstant(self, "FROM_KERNEL", FROM_KERNEL) || PyModule_AddIntConstant(self, "FROM_LEAF", FROM_LEAF)
        || PyModule_AddIntConstant(self, "CONSTANT", CONSTANT))
        return NULL;
    return self;
}
