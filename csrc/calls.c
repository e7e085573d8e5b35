/* The call of a FastEntry: from leaves to addresses, and from blocks to results. */

#include "calls.h"
#include "arrays.h"
#include "copies.h"
#include "counter.h"
#include "entry.h"
#include "installed.h"
#include "scalars.h"
#include "views.h"
#include <string.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>

enum { NO_MEMORY = 1 }; /* TT_NO_MEMORY of tt_host.h */
enum { FEW = 64 };       /* calls with as many buffers need no memory of their own */

/* --- inputs ----------------------------------------------------------------------------------------------------

   A call owns every block that it reads for as long as it reads: `pins` holds them. Each function returns the address
   of the elements, or 0 when Python must look at the argument. */

/* Has the array as many elements as its aval says? It had when the key was read; its owner may have changed it since. */
static int has_size(PyArrayObject *array, size_t wanted) {
    size_t size = 1;
    for (int i = 0; i < PyArray_NDIM(array); i++)
        size *= (size_t)PyArray_DIM(array, i);
    return size == wanted;
}

/* The elements of a NumPy array in a new buffer; 64-bit numbers may become 32-bit ones, as they do without x64. Typed
   keys, of a type that NumPy does not number, are eight bytes each. */
static uintptr_t copy_elements(PyObject *x, const struct input *in, PyObject **buffer) {
    PyArrayObject *array = (PyArrayObject *)x;
    int type = PyArray_DESCR(array)->type_num, contiguous = PyArray_CHKFLAGS(array, NPY_ARRAY_CARRAY_RO);
    int narrows = (type == NPY_DOUBLE && in->type == NPY_FLOAT) || (type == NPY_LONG && in->type == NPY_INT);
    int fits = type == in->type || (narrows && contiguous) || (in->type < 0 && type == NPY_ULONG);
    if (!fits || !PyArray_ISNBO(PyArray_DESCR(array)->byteorder) || !has_size(array, in->size)
        || !(*buffer = buffer_of(in->nbytes)))
        return 0;
    const void *from = PyArray_DATA(array);
    uintptr_t to = ((Buffer *)*buffer)->address;
    if (!contiguous) /* then it has elements */
        copy_strided((char *)to, from, PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array),
                     in->nbytes / in->size);
    else if (!narrows)
        memcpy((void *)to, from, in->nbytes);
    else if (type == NPY_DOUBLE)
        for (size_t i = 0; i < in->size; i++)
            ((float *)to)[i] = (float)((const double *)from)[i];
    else
        for (size_t i = 0; i < in->size; i++)
            ((int32_t *)to)[i] = (int32_t)((const npy_long *)from)[i];
    return to;
}

/* The elements of rows that lie in order. */
static int copy_rows(const Array *array, const struct input *in, PyObject **buffer) {
    Py_ssize_t size;
    const char *from = PyArray_TYPE((PyArrayObject *)array->view) == in->type
                           ? elements_in_order(array->view, array->part, array->rows, &size) : NULL;
    if (!from || (size_t)size != in->size || !(*buffer = buffer_of(in->nbytes)))
        return 0;
    memcpy((void *)((Buffer *)*buffer)->address, from, in->nbytes);
    return 1;
}

/* An Array; one whose elements are NumPy's gets a block for good. */
static uintptr_t array_address(Array *array, const struct input *in, PyObject **pin) {
    PyObject *buffer = NULL;
    if (!array->buffer && array->view && Py_TYPE(array->view) == numpy_type
        && ((array->part && copy_rows(array, in, &buffer)) || (array_view(array) && copy_elements(array->view, in, &buffer))))
        array_settle(array, buffer);
    Py_XDECREF(buffer);
    if (!array->buffer)
        return 0;
    *pin = Py_NewRef(array->buffer);
    return ((Buffer *)array->buffer)->address;
}

int array_in_block(Array *array, int type, Py_ssize_t size, Py_ssize_t width) {
    struct input in = {.type = type, .size = (size_t)size, .nbytes = (size_t)(size * width)};
    PyObject *block = NULL;
    int has_block = array_address(array, &in, &block) != 0;
    Py_XDECREF(block);
    return has_block;
}

static inline uintptr_t address_of(const struct input *in, PyObject **leaves, uint64_t *slot, PyObject **pin) {
    if (in->fixed)
        return in->fixed;
    PyObject *leaf = leaves[in->leaf];
    if (Py_TYPE(leaf) == array_type)
        return array_address((Array *)leaf, in, pin);
    return Py_TYPE(leaf) == numpy_type ? copy_elements(leaf, in, pin) : store_scalar(leaf, in->type, slot);
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
        if (!((Array *)leaf)->buffer && !((Array *)leaf)->view) /* deleted */
            return 0;
    }
    return 1;
}

/* What is handed through, and constants, before the program runs: meanwhile another thread may delete the argument. What
   a jitted function hands through is a new Array of the same elements: who deletes one of the two keeps the other.
   Operations may give the operand itself. NULL stands for what the program computes. Returns 0, perhaps with an
   exception, when it is Python's. */
static int hold_outputs(Entry *e, PyObject **leaves, PyObject **outputs) {
    for (int i = 0; i < e->n_outputs; i++) {
        struct output *out = &e->outputs[i];
        if (out->source == FROM_KERNEL)
            continue;
        PyObject *x = out->source == FROM_LEAF ? leaves[out->at] : out->constant;
        int is_operand = out->source == FROM_LEAF && !e->counter && !e->donations;
        outputs[i] = Py_TYPE(x) == array_type && !is_operand
                         ? array_again((Array *)x, PyTuple_GET_ITEM(e->out_avals, i))
                         : Py_NewRef(x);
        if (!outputs[i])
            return 0;
    }
    return 1;
}

static PyObject *output_of(Entry *e, int i, PyObject **outputs, PyObject **made) {
    if (outputs[i])
        return Py_NewRef(outputs[i]);
    return array_of(PyTuple_GET_ITEM(e->out_avals, i), made[e->outputs[i].at]);
}

/* A tuple, which is most functions' tree, is made here. */
static PyObject *collect_outputs(Entry *e, PyObject **outputs, PyObject **made) {
    if (e->unflatten == Py_None)
        return output_of(e, 0, outputs, made);
    int is_tuple = e->unflatten == (PyObject *)&PyTuple_Type;
    PyObject *results = is_tuple ? PyTuple_New(e->n_outputs) : PyList_New(e->n_outputs);
    for (int i = 0; results && i < e->n_outputs; i++) {
        PyObject *x = output_of(e, i, outputs, made);
        if (!x)
            Py_CLEAR(results);
        else if (is_tuple)
            PyTuple_SET_ITEM(results, i, x);
        else
            PyList_SET_ITEM(results, i, x);
    }
    if (!results || is_tuple)
        return results;
    PyObject *tree = PyObject_CallOneArg(e->unflatten, results);
    Py_DECREF(results);
    return tree;
}

/* --- donations -------------------------------------------------------------------------------------------------- */

/* Is each donated array an argument once, and not deleted? Else Python says what is wrong. */
static int may_donate(Entry *e, PyObject **leaves) {
    for (int k = 0; k < e->n_donations; k++) {
        PyObject *leaf = leaves[e->donations[k].leaf];
        if (Py_TYPE(leaf) != array_type)
            continue;
        if (!((Array *)leaf)->buffer && !((Array *)leaf)->view)
            return 0;
        for (int i = 0; i < e->n_inputs; i++)
            if (!e->inputs[i].fixed && e->inputs[i].leaf != e->donations[k].leaf && leaves[e->inputs[i].leaf] == leaf)
                return 0;
        for (int i = 0; i < e->n_outputs; i++)
            if (e->outputs[i].source == FROM_LEAF && e->outputs[i].at != e->donations[k].leaf
                && leaves[e->outputs[i].at] == leaf)
                return 0;
        for (int i = 0; i < k; i++)
            if (leaves[e->donations[i].leaf] == leaf)
                return 0;
    }
    return 1;
}

/* The block for a computed output: that of the donated input in whose place it is, or where others have that too, or it
   is no block, a copy of it. */
static PyObject *block_for(Entry *e, int made, PyObject **leaves, uintptr_t *buffers, PyObject **pins) {
    for (int k = 0; k < e->n_donations; k++) {
        int i = e->donations[k].input;
        if (e->donations[k].made != made)
            continue;
        PyObject *leaf = leaves[e->donations[k].leaf];
        if (pins[i] && (Py_TYPE(leaf) == array_type ? array_owns((Array *)leaf, 1) : Py_REFCNT(pins[i]) == 1))
            return Py_NewRef(pins[i]);
        PyObject *copy = buffer_of(e->out_bytes[made]);
        if (copy) {
            memcpy((void *)((Buffer *)copy)->address, (void *)buffers[i], e->out_bytes[made]);
            buffers[i] = ((Buffer *)copy)->address;
        }
        return copy;
    }
    return buffer_of(e->out_bytes[made]);
}

/* Before the program runs, so that no other thread sees what it writes, and in one step with `block_for`: no Python code
   runs in between. An array whose elements somebody looks at stays: its place was not taken. */
static void delete_donated(Entry *e, PyObject **leaves) {
    for (int k = 0; k < e->n_donations; k++) {
        PyObject *leaf = leaves[e->donations[k].leaf];
        if (Py_TYPE(leaf) == array_type && !array_is_looked_at((Array *)leaf))
            array_delete((Array *)leaf);
    }
}

/* --- the call -------------------------------------------------------------------------------------------------- */

/* The last of some elements over and over: twice as many with each copy. */
static void fill_up(char *copy, size_t width, size_t left, size_t block) {
    char *rest = copy + left * width;
    memcpy(rest, rest - width, width);
    for (size_t done = 1, missing = block - left; done < missing; done *= 2)
        memcpy(rest + done * width, rest, (done < missing - done ? done : missing - done) * width);
}

/* Fewer elements than a block: on copies that are filled up with the last of them. */
static int32_t call_on_few(Entry *e, uintptr_t *buffers, uintptr_t *copies, size_t left) {
    int n = e->n_inputs + e->n_computed;
    size_t size = 0, block = (size_t)e->block;
    for (int i = 0; i < n; i++)
        size += (e->steps[i] + 63) & ~(size_t)63;
    uintptr_t scratch = pool_alloc(size), at = scratch;
    if (!scratch)
        return NO_MEMORY;
    for (int i = 0; i < n; i++) {
        size_t width = e->steps[i] / block;
        copies[i] = width ? at : buffers[i];
        at += (e->steps[i] + 63) & ~(size_t)63;
        if (width && i < e->n_inputs) {
            memcpy((void *)copies[i], (void *)buffers[i], left * width);
            fill_up((char *)copies[i], width, left, block);
        }
    }
    int32_t status = program_call(e->entry, copies);
    for (int i = e->n_inputs; i < n; i++)
        memcpy((void *)buffers[i], (void *)copies[i], left * (e->steps[i] / block));
    pool_free(scratch, size);
    return status;
}

/* A program that is elementwise takes arrays of any length, a block at a time. `copies` is room for the addresses. */
static int32_t call_on_blocks(Entry *e, uintptr_t *buffers, uintptr_t *copies) {
    int32_t n = e->n_inputs + e->n_computed;
    int32_t status = program_call_on_blocks(e->entry, buffers, e->steps, n, e->count / e->block, e->grain);
    size_t left = (size_t)(e->count % e->block);
    if (status || !left)
        return status;
    if (e->count < e->block)
        return call_on_few(e, buffers, copies, left);
    for (int32_t i = 0; i < n; i++) /* the last block begins among elements that are there already: they stay the same */
        buffers[i] -= ((size_t)e->block - left) * (e->steps[i] / (size_t)e->block);
    return program_call(e->entry, buffers);
}

static int32_t call_program(Entry *e, uintptr_t *buffers, uintptr_t *copies) {
    int32_t status;
    uintptr_t *workspace = &buffers[e->n_inputs + e->n_computed];
    if (e->workspace && !(*workspace = pool_alloc(e->workspace)))
        return NO_MEMORY;
    Py_BEGIN_ALLOW_THREADS
    status = e->block ? call_on_blocks(e, buffers, copies) : program_call(e->entry, buffers);
    Py_END_ALLOW_THREADS
    if (e->workspace)
        pool_free(*workspace, e->workspace);
    return status;
}

/* A call needs four words per buffer: addresses (inputs, computed outputs, workspace); scalars, one per input; pins,
   which are owned: the block that an input is in, or NULL, then the blocks of computed outputs; and addresses again,
   for the last elements of a call on blocks. And a word per output that is not computed. */
static PyObject *run_in(Entry *e, PyObject **leaves, uintptr_t *buffers, uint64_t *scalars, PyObject **pins,
                        uintptr_t *copies, PyObject **outputs) {
    PyObject **made = pins + e->n_inputs, *result = NULL;
    int n_read = 0, n_made = 0;
    memset(outputs, 0, (size_t)e->n_outputs * sizeof *outputs);
    for (; n_read < e->n_inputs; n_read++) {
        pins[n_read] = NULL;
        if (!(buffers[n_read] = address_of(&e->inputs[n_read], leaves, &scalars[n_read], &pins[n_read])))
            goto done;
    }
    if (!hold_outputs(e, leaves, outputs))
        goto done;
    for (; n_made < e->n_computed; n_made++) {
        made[n_made] = e->donations ? block_for(e, n_made, leaves, buffers, pins) : buffer_of(e->out_bytes[n_made]);
        if (!made[n_made])
            goto done;
        buffers[n_read + n_made] = ((Buffer *)made[n_made])->address;
    }
    delete_donated(e, leaves);
    int32_t status = e->entry ? call_program(e, buffers, copies) : 0;
    if (status)
        Py_XDECREF(PyObject_CallFunction(raise_status, "i", (int)status));
    else
        result = collect_outputs(e, outputs, made);
done:
    while (n_made > 0)
        Py_DECREF(made[--n_made]);
    while (n_read > 0)
        Py_XDECREF(pins[--n_read]);
    for (int i = 0; i < e->n_outputs; i++)
        Py_XDECREF(outputs[i]);
    return result;
}

PyObject *run_entry(PyObject *entry, PyObject **leaves, Py_ssize_t n_leaves) {
    Entry *e = (Entry *)entry;
    if (n_leaves < e->n_leaves || !can_hand_through(e, leaves) || (e->donations && !may_donate(e, leaves)))
        return NULL;
    uint64_t few[4 * FEW], *memory = few;
    size_t n = (size_t)e->n_inputs + (size_t)e->n_computed + 1, words = 4 * n + (size_t)e->n_outputs;
    if (words > 4 * FEW && !(memory = PyMem_Malloc(words * sizeof *memory)))
        return PyErr_NoMemory();
    PyObject *result = run_in(e, leaves, (uintptr_t *)memory, memory + n, (PyObject **)(memory + 2 * n),
                              (uintptr_t *)(memory + 3 * n), (PyObject **)(memory + 4 * n));
    if (memory != few)
        PyMem_Free(memory);
    if (result && e->counter)
        count((HitCounter *)e->counter);
    return result;
}
