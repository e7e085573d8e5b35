/* FastEntry: a compiled call that needs no Python any more. It knows where each input comes from, how to store it where
   it is no Array, which buffers the outputs need, and calls the program by its address. */

#include "dispatch.h"
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

enum { MAX_BUFFERS = 192, NO_MEMORY = 1 }; /* TT_NO_MEMORY of tt_host.h */

enum { FROM_KERNEL, FROM_LEAF, CONSTANT };

struct input {
    uintptr_t fixed; /* the address of a closed-over constant, 0 for a leaf */
    size_t nbytes;
    int leaf; /* which leaf it is */
    int type; /* NumPy's number of its dtype, -1 for one that only Arrays have */
};

struct output {
    int source, at; /* FROM_KERNEL: which one; FROM_LEAF: which leaf */
    PyObject *constant;
};

typedef struct {
    PyObject_HEAD
    PyObject *owner;     /* keeps the program and its constants alive */
    PyObject *out_avals; /* of all outputs */
    PyObject *unflatten; /* list of outputs -> result, None for a single leaf */
    uintptr_t entry;
    size_t workspace;
    int n_inputs, n_computed, n_outputs;
    struct input *inputs;
    size_t *out_bytes; /* of computed outputs */
    struct output *outputs;
} Entry;

static void entry_dealloc(PyObject *self) {
    Entry *e = (Entry *)self;
    for (int i = 0; e->outputs && i < e->n_outputs; i++)
        Py_XDECREF(e->outputs[i].constant);
    PyMem_Free(e->inputs);
    PyMem_Free(e->out_bytes);
    PyMem_Free(e->outputs);
    Py_XDECREF(e->owner);
    Py_XDECREF(e->out_avals);
    Py_XDECREF(e->unflatten);
    PyObject_Free(self);
}

static int read_tables(Entry *e, PyObject *inputs, PyObject *out_bytes, PyObject *outputs) {
    for (int i = 0; i < e->n_inputs; i++) {
        struct input *in = &e->inputs[i];
        unsigned long long fixed;
        Py_ssize_t nbytes;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(inputs, i), "Kiin", &fixed, &in->leaf, &in->type, &nbytes))
            return 0;
        in->fixed = (uintptr_t)fixed;
        in->nbytes = (size_t)nbytes;
    }
    for (int i = 0; i < e->n_computed; i++)
        e->out_bytes[i] = PyLong_AsSize_t(PyTuple_GET_ITEM(out_bytes, i));
    for (int i = 0; i < e->n_outputs; i++) {
        struct output *out = &e->outputs[i];
        PyObject *constant;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(outputs, i), "iiO", &out->source, &out->at, &constant))
            return 0;
        out->constant = Py_NewRef(constant);
    }
    return !PyErr_Occurred();
}

/* FastEntry(owner, entry, workspace, inputs, out_bytes, outputs, out_avals, unflatten)
     inputs: (address or 0, leaf, type, nbytes) each;  outputs: (source, index, constant or None) each */
static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *owner, *inputs, *out_bytes, *outputs, *out_avals, *unflatten;
    unsigned long long address;
    Py_ssize_t workspace;
    (void)type, (void)kwargs;
    if (!PyArg_ParseTuple(args, "OKnO!O!O!O!O", &owner, &address, &workspace, &PyTuple_Type, &inputs, &PyTuple_Type,
                          &out_bytes, &PyTuple_Type, &outputs, &PyTuple_Type, &out_avals, &unflatten))
        return NULL;
    Py_ssize_t n_in = PyTuple_GET_SIZE(inputs), n_computed = PyTuple_GET_SIZE(out_bytes);
    Py_ssize_t n_out = PyTuple_GET_SIZE(outputs);
    if (n_in + n_computed + 1 > MAX_BUFFERS || n_out > MAX_BUFFERS)
        return PyErr_Format(PyExc_ValueError, "too many buffers for the fast path: %zd", n_in + n_computed + 1);
    Entry *e = PyObject_New(Entry, &EntryType);
    if (!e)
        return NULL;
    e->owner = Py_NewRef(owner);
    e->out_avals = Py_NewRef(out_avals);
    e->unflatten = Py_NewRef(unflatten);
    e->entry = (uintptr_t)address;
    e->workspace = (size_t)workspace;
    e->n_inputs = (int)n_in, e->n_computed = (int)n_computed, e->n_outputs = (int)n_out;
    e->inputs = PyMem_Calloc((size_t)n_in, sizeof *e->inputs);
    e->out_bytes = PyMem_Calloc((size_t)n_computed, sizeof *e->out_bytes);
    e->outputs = PyMem_Calloc((size_t)n_out, sizeof *e->outputs);
    if (e->inputs && e->out_bytes && e->outputs && read_tables(e, inputs, out_bytes, outputs))
        return (PyObject *)e;
    Py_DECREF(e);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.FastEntry",
    .tp_doc = "A compiled call: where its inputs, outputs and constants are.", .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_new = entry_new, .tp_dealloc = entry_dealloc};

int add_entry_constants(PyObject *module) {
    return PyModule_AddIntConstant(module, "FROM_KERNEL", FROM_KERNEL)
           || PyModule_AddIntConstant(module, "FROM_LEAF", FROM_LEAF)
           || PyModule_AddIntConstant(module, "CONSTANT", CONSTANT);
}

/* --- inputs ----------------------------------------------------------------------------------------------------

   Each function returns the address of the elements, or 0 when Python must look at the argument. */

/* A Python scalar, as the array element it stands for. */
static uintptr_t store_scalar(PyObject *x, int type, uint64_t *slot) {
    double real = 0;
    long long integer = 0;
    int overflow = 0;
    if (PyFloat_CheckExact(x))
        real = PyFloat_AS_DOUBLE(x);
    else if ((integer = PyLong_AsLongLongAndOverflow(x, &overflow)), overflow)
        return 0;
    switch (type) {
    case NPY_FLOAT: *(float *)slot = (float)real; break;
    case NPY_DOUBLE: *(double *)slot = real; break;
    case NPY_INT: *(int32_t *)slot = (int32_t)integer; break;
    case NPY_LONG: *(int64_t *)slot = (int64_t)integer; break;
    case NPY_BOOL: *(uint8_t *)slot = (uint8_t)(x == Py_True); break;
    default: return 0;
    }
    return type == NPY_INT && integer != (int32_t)integer ? 0 : (uintptr_t)slot;
}

/* The elements of a NumPy array in a new buffer; 64-bit numbers may become 32-bit ones, as they do without x64. */
static uintptr_t copy_elements(PyObject *x, const struct input *in, PyObject **buffer) {
    PyArrayObject *array = (PyArrayObject *)x;
    int type = PyArray_DESCR(array)->type_num;
    int narrows = (type == NPY_DOUBLE && in->type == NPY_FLOAT) || (type == NPY_LONG && in->type == NPY_INT);
    if (!PyArray_CHKFLAGS(array, NPY_ARRAY_CARRAY_RO) || !PyArray_ISNBO(PyArray_DESCR(array)->byteorder)
        || (type != in->type && !narrows) || !(*buffer = buffer_of(in->nbytes)))
        return 0;
    const void *from = PyArray_DATA(array);
    uintptr_t to = ((Buffer *)*buffer)->address;
    size_t count = in->nbytes / sizeof(float);
    if (!narrows)
        memcpy((void *)to, from, in->nbytes);
    else if (type == NPY_DOUBLE)
        for (size_t i = 0; i < count; i++)
            ((float *)to)[i] = (float)((const double *)from)[i];
    else
        for (size_t i = 0; i < count; i++)
            ((int32_t *)to)[i] = (int32_t)((const npy_long *)from)[i];
    return to;
}

/* An Array; one whose elements are NumPy's gets a buffer for good. */
static uintptr_t array_address(Array *array, const struct input *in) {
    PyObject *buffer = NULL;
    if (array->address || !array->view || Py_TYPE(array->view) != numpy_type)
        return array->address;
    uintptr_t address = copy_elements(array->view, in, &buffer);
    if (address) {
        Py_XSETREF(array->buffer, buffer);
        Py_XSETREF(array->view, Py_NewRef(Py_None));
        array->address = address;
    }
    return address;
}

static uintptr_t address_of(const struct input *in, PyObject **leaves, uint64_t *slot, PyObject **copy) {
    if (in->fixed)
        return in->fixed;
    PyObject *leaf = leaves[in->leaf];
    if (Py_TYPE(leaf) == array_type)
        return array_address((Array *)leaf, in);
    return Py_TYPE(leaf) == numpy_type ? copy_elements(leaf, in, copy) : store_scalar(leaf, in->type, slot);
}

/* --- outputs --------------------------------------------------------------------------------------------------- */

/* An input that is handed through must be an Array of just this aval: anything else is Python's to convert. */
static int can_hand_through(Entry *e, PyObject **leaves) {
    for (int i = 0; i < e->n_outputs; i++) {
        if (e->outputs[i].source != FROM_LEAF)
            continue;
        PyObject *leaf = leaves[e->outputs[i].at];
        if (Py_TYPE(leaf) != array_type || ((Array *)leaf)->aval != PyTuple_GET_ITEM(e->out_avals, i))
            return 0;
    }
    return 1;
}

static PyObject *collect_outputs(Entry *e, PyObject **leaves, PyObject **made) {
    PyObject *results = e->unflatten == Py_None ? NULL : PyList_New(e->n_outputs);
    if (!results && e->unflatten != Py_None)
        return NULL;
    for (int i = 0; i < e->n_outputs; i++) {
        struct output *out = &e->outputs[i];
        PyObject *x = out->source == FROM_KERNEL ? array_of(PyTuple_GET_ITEM(e->out_avals, i), made[out->at])
                      : Py_NewRef(out->source == FROM_LEAF ? leaves[out->at] : out->constant);
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

/* --- the call -------------------------------------------------------------------------------------------------- */

static int32_t call_program(Entry *e, uintptr_t *buffers) {
    int32_t status;
    uintptr_t *workspace = &buffers[e->n_inputs + e->n_computed];
    if (e->workspace && !(*workspace = pool_alloc(e->workspace)))
        return NO_MEMORY;
    Py_BEGIN_ALLOW_THREADS
    status = program_call(e->entry, buffers);
    Py_END_ALLOW_THREADS
    if (e->workspace)
        pool_free(*workspace, e->workspace);
    return status;
}

PyObject *run_entry(PyObject *entry, PyObject **leaves) {
    Entry *e = (Entry *)entry;
    uintptr_t buffers[MAX_BUFFERS];
    uint64_t scalars[MAX_BUFFERS];
    PyObject *copies[MAX_BUFFERS], *made[MAX_BUFFERS], *result = NULL;
    int n_read = 0, n_made = 0;
    if (!can_hand_through(e, leaves))
        return NULL;
    for (; n_read < e->n_inputs; n_read++) {
        copies[n_read] = NULL;
        if (!(buffers[n_read] = address_of(&e->inputs[n_read], leaves, &scalars[n_read], &copies[n_read])))
            goto done;
    }
    for (; n_made < e->n_computed; n_made++) {
        if (!(made[n_made] = buffer_of(e->out_bytes[n_made])))
            goto done;
        buffers[n_read + n_made] = ((Buffer *)made[n_made])->address;
    }
    int32_t status = e->n_computed ? call_program(e, buffers) : 0;
    if (status)
        Py_XDECREF(PyObject_CallFunction(raise_status, "i", (int)status));
    else
        result = collect_outputs(e, leaves, made);
done:
    while (n_made > 0)
        Py_DECREF(made[--n_made]);
    while (n_read > 0)
        Py_XDECREF(copies[--n_read]);
    return result;
}
