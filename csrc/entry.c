/* FastEntry: a compiled call that needs no Python any more. It knows where each input comes from, how to store it where
   it is no Array, which buffers the outputs need, and calls the program by its address (calls.c). */

#include "entry.h"
#include "counter.h"

static int entry_traverse(PyObject *self, visitproc visit, void *arg) {
    Entry *e = (Entry *)self;
    for (int i = 0; e->outputs && i < e->n_outputs; i++)
        Py_VISIT(e->outputs[i].constant);
    Py_VISIT(e->owner);
    Py_VISIT(e->out_avals);
    Py_VISIT(e->unflatten);
    return 0;
}

static void entry_dealloc(PyObject *self) {
    Entry *e = (Entry *)self;
    PyObject_GC_UnTrack(self);
    for (int i = 0; e->outputs && i < e->n_outputs; i++)
        Py_XDECREF(e->outputs[i].constant);
    PyMem_Free(e->inputs);
    PyMem_Free(e->steps);
    PyMem_Free(e->donations);
    PyMem_Free(e->out_bytes);
    PyMem_Free(e->outputs);
    Py_XDECREF(e->owner);
    Py_XDECREF(e->out_avals);
    Py_XDECREF(e->unflatten);
    Py_XDECREF(e->counter);
    PyObject_GC_Del(self);
}

static int read_tables(Entry *e, PyObject *inputs, PyObject *out_bytes, PyObject *outputs) {
    for (int i = 0; i < e->n_inputs; i++) {
        struct input *in = &e->inputs[i];
        unsigned long long fixed;
        Py_ssize_t nbytes, size;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(inputs, i), "Kiinn", &fixed, &in->leaf, &in->type, &nbytes, &size))
            return 0;
        in->fixed = (uintptr_t)fixed;
        in->nbytes = (size_t)nbytes;
        in->size = (size_t)size;
        if (!fixed && in->leaf >= e->n_leaves)
            e->n_leaves = in->leaf + 1;
    }
    for (int i = 0; i < e->n_computed; i++)
        e->out_bytes[i] = PyLong_AsSize_t(PyTuple_GET_ITEM(out_bytes, i));
    for (int i = 0; i < e->n_outputs; i++) {
        struct output *out = &e->outputs[i];
        PyObject *constant;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(outputs, i), "iiO", &out->source, &out->at, &constant))
            return 0;
        out->constant = Py_NewRef(constant);
        if (out->source == FROM_LEAF && out->at >= e->n_leaves)
            e->n_leaves = out->at + 1;
    }
    return !PyErr_Occurred();
}

static int read_blocks(Entry *e, PyObject *blocks) {
    PyObject *steps;
    Py_ssize_t n = e->n_inputs + e->n_computed;
    if (blocks == Py_None)
        return 1;
    if (!PyArg_ParseTuple(blocks, "nnO!n", &e->block, &e->count, &PyTuple_Type, &steps, &e->grain))
        return 0;
    if (PyTuple_GET_SIZE(steps) != n || e->block <= 0 || e->count < 0 || e->workspace) {
        PyErr_SetString(PyExc_ValueError, "a program on blocks has a step per buffer and no workspace");
        return 0;
    }
    if (!(e->steps = PyMem_Calloc((size_t)n, sizeof *e->steps)))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        e->steps[i] = PyLong_AsSize_t(PyTuple_GET_ITEM(steps, i));
    return !PyErr_Occurred();
}

static int read_donations(Entry *e, PyObject *donations) {
    Py_ssize_t n = PyTuple_GET_SIZE(donations);
    if (n && !(e->donations = PyMem_Calloc((size_t)n, sizeof *e->donations)))
        return 0;
    for (; e->n_donations < n; e->n_donations++) {
        struct donation *d = &e->donations[e->n_donations];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(donations, e->n_donations), "iii", &d->leaf, &d->input, &d->made))
            return 0;
        if (d->leaf < 0 || d->input >= e->n_inputs || d->made >= e->n_computed || (d->input < 0) != (d->made < 0)
            || (d->input >= 0 && e->inputs[d->input].nbytes != e->out_bytes[d->made])) {
            PyErr_SetString(PyExc_ValueError, "a donated input and its output are of one size");
            return 0;
        }
        if (d->leaf >= e->n_leaves)
            e->n_leaves = d->leaf + 1;
    }
    return 1;
}

/* FastEntry(owner, entry, workspace, inputs, out_bytes, outputs, out_avals, unflatten, blocks=None, counter=None,
             donations=())
     inputs: (address or 0, leaf, type, nbytes, size) each;  outputs: (source, index, constant or None) each;
     blocks: (elements that the program takes, elements of a call, bytes of a block per input and computed output,
              blocks that a thread takes at least, 0 for all)
     donations: (leaf, input or -1, computed output or -1) each */
static PyObject *entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *owner, *inputs, *out_bytes, *outputs, *out_avals, *unflatten, *blocks = Py_None, *counter = Py_None;
    PyObject *donations = NULL;
    unsigned long long address;
    Py_ssize_t workspace;
    (void)type, (void)kwargs;
    if (!PyArg_ParseTuple(args, "OKnO!O!O!O!O|OOO!", &owner, &address, &workspace, &PyTuple_Type, &inputs, &PyTuple_Type,
                          &out_bytes, &PyTuple_Type, &outputs, &PyTuple_Type, &out_avals, &unflatten, &blocks, &counter,
                          &PyTuple_Type, &donations))
        return NULL;
    if (counter != Py_None && Py_TYPE(counter) != &HitCounterType)
        return PyErr_Format(PyExc_TypeError, "calls are counted by a HitCounter, or by nobody: None");
    Py_ssize_t n_in = PyTuple_GET_SIZE(inputs), n_computed = PyTuple_GET_SIZE(out_bytes);
    Py_ssize_t n_out = PyTuple_GET_SIZE(outputs);
    Entry *e = PyObject_GC_New(Entry, &EntryType);
    if (!e)
        return NULL;
    e->owner = Py_NewRef(owner);
    e->out_avals = Py_NewRef(out_avals);
    e->unflatten = Py_NewRef(unflatten);
    e->counter = counter == Py_None ? NULL : Py_NewRef(counter);
    e->entry = (uintptr_t)address;
    e->workspace = (size_t)workspace;
    e->n_inputs = (int)n_in, e->n_computed = (int)n_computed, e->n_outputs = (int)n_out;
    e->block = e->count = e->grain = e->n_leaves = 0;
    e->steps = NULL;
    e->donations = NULL;
    e->n_donations = 0;
    e->inputs = PyMem_Calloc((size_t)n_in, sizeof *e->inputs);
    e->out_bytes = PyMem_Calloc((size_t)n_computed, sizeof *e->out_bytes);
    e->outputs = PyMem_Calloc((size_t)n_out, sizeof *e->outputs);
    int complete = e->inputs && e->out_bytes && e->outputs && read_tables(e, inputs, out_bytes, outputs)
                   && read_blocks(e, blocks) && (!donations || read_donations(e, donations));
    PyObject_GC_Track(e);
    if (complete)
        return (PyObject *)e;
    Py_DECREF(e);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

PyTypeObject EntryType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.FastEntry",
    .tp_doc = "A compiled call: where its inputs, outputs and constants are.", .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = entry_new, .tp_dealloc = entry_dealloc,
    .tp_traverse = entry_traverse};

int add_entry_constants(PyObject *module) {
    return PyModule_AddIntConstant(module, "FROM_KERNEL", FROM_KERNEL)
           || PyModule_AddIntConstant(module, "FROM_LEAF", FROM_LEAF)
           || PyModule_AddIntConstant(module, "CONSTANT", CONSTANT);
}
