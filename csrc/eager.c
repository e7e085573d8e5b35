/* EagerEntry: a call of a library function that NumPy answers, with nothing in between. It knows which NumPy function
   to call, what to make of Python scalars, and the types of the results; tinytrace/api/eager.py says where it comes
   from. NumPy's warnings of divisions by zero, overflows and invalid values are off while it runs. */

#include "eager.h"
#include "arrays.h"
#include "counter.h"
#include "installed.h"
#include "loops.h"
#include "views.h"
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tinytrace_numpy
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

enum { FEW = 16, SPARE_CONTEXTS = 8 }; /* FEW: as many operands need no memory of their own */

typedef struct {
    PyObject_HEAD
    PyObject *function;     /* of NumPy arrays; returns one, a Buffer that it has filled, or a sequence of arrays. None:
                               what loops cannot take, Python must look at */
    PyObject *scalar_types; /* per leaf: what a Python scalar or a NumPy array becomes, None for an Array */
    PyObject *out_avals;
    PyObject *unflatten; /* list of results -> result, None for a single one */
    Loops loops;         /* what computes small results without NumPy around it, if anything does */
    long long left;      /* after so many calls Python is asked for something better; negative: never */
    PyObject *counter;   /* a HitCounter, or NULL */
} Eager;

static PyObject *as_ndarray, *quiet_context; /* numpy.asarray; makes a context in which NumPy does not warn */
static PyObject *spare[SPARE_CONTEXTS];      /* contexts that nobody is in: each serves one call at a time */
static int n_spare;

static int eager_traverse(PyObject *self, visitproc visit, void *arg) {
    Eager *e = (Eager *)self;
    Py_VISIT(e->function);
    Py_VISIT(e->scalar_types);
    Py_VISIT(e->out_avals);
    Py_VISIT(e->unflatten);
    Py_VISIT(e->loops.constants);
    return 0;
}

static void eager_dealloc(PyObject *self) {
    Eager *e = (Eager *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(e->function);
    Py_XDECREF(e->scalar_types);
    Py_XDECREF(e->out_avals);
    Py_XDECREF(e->unflatten);
    free_loops(&e->loops);
    Py_XDECREF(e->counter);
    PyObject_GC_Del(self);
}

/* EagerEntry(function, scalar_types, loops, out_avals, unflatten, calls=-1, counter=None) */
static PyObject *eager_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *scalar_types, *which, *out_avals, *unflatten, *counter = Py_None;
    long long calls = -1;
    Loops loops = {.loops = NULL};
    (void)type, (void)kwargs;
    if (!PyArg_ParseTuple(args, "OO!OO!O|LO", &function, &PyTuple_Type, &scalar_types, &which, &PyTuple_Type, &out_avals,
                          &unflatten, &calls, &counter))
        return NULL;
    if (counter != Py_None && Py_TYPE(counter) != &HitCounterType)
        return PyErr_Format(PyExc_TypeError, "calls are counted by a HitCounter, or by nobody: None");
    int is_single = unflatten == Py_None && PyTuple_GET_SIZE(out_avals) == 1;
    if (is_single && loops_of(which, PyTuple_GET_ITEM(out_avals, 0), &loops) < 0)
        return NULL;
    Eager *e = PyObject_GC_New(Eager, &EagerType);
    if (!e) {
        free_loops(&loops);
        return NULL;
    }
    e->function = Py_NewRef(function);
    e->scalar_types = Py_NewRef(scalar_types);
    e->out_avals = Py_NewRef(out_avals);
    e->unflatten = Py_NewRef(unflatten);
    e->loops = loops;
    e->left = calls;
    e->counter = counter == Py_None ? NULL : Py_NewRef(counter);
    PyObject_GC_Track(e);
    return (PyObject *)e;
}

static PyObject *eager_is_spent(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((Eager *)self)->left == 0);
}

static PyGetSetDef eager_getset[] = {
    {"is_spent", eager_is_spent, NULL, "has it answered as many calls as it may?", NULL}, {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject EagerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tinytrace._dispatch.EagerEntry",
    .tp_doc = "A call that NumPy answers: its function, and the types of scalars and results.",
    .tp_basicsize = sizeof(Eager), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = eager_new,
    .tp_dealloc = eager_dealloc, .tp_traverse = eager_traverse, .tp_getset = eager_getset};

/* NumPy's function that sorts numbers of a type in place; it asks nothing of Python. Those before NumPy 2 are slow. */
static uintptr_t quicksort_of(int type) {
    if (PyArray_RUNTIME_VERSION < NPY_2_0_API_VERSION)
        return 0;
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    uintptr_t function = (uintptr_t)PyDataType_GetArrFuncs(descr)->sort[NPY_QUICKSORT];
    Py_DECREF(descr);
    return function;
}

/* set_numpy(asarray, quiet_context, set_quicksorts) */
PyObject *set_numpy(PyObject *module, PyObject *args) {
    PyObject *asarray, *quiet;
    unsigned long long set_quicksorts;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOK", &asarray, &quiet, &set_quicksorts))
        return NULL;
    if (import_numpy() < 0)
        return NULL;
    const uintptr_t quicksorts[] = {quicksort_of(NPY_UINT32), quicksort_of(NPY_UINT64), quicksort_of(NPY_INT32),
                                    quicksort_of(NPY_INT64), quicksort_of(NPY_FLOAT32), quicksort_of(NPY_FLOAT64)};
    ((void (*)(const uintptr_t *))(uintptr_t)set_quicksorts)(quicksorts);
    Py_XSETREF(as_ndarray, Py_NewRef(asarray));
    Py_XSETREF(quiet_context, Py_NewRef(quiet));
    Py_RETURN_NONE;
}

/* --- the call -------------------------------------------------------------------------------------------------- */

/* What NumPy sees of a leaf; NULL without an exception when Python must look at it. */
static PyObject *operand_of(PyObject *leaf, PyObject *scalar_type) {
    if (Py_TYPE(leaf) == array_type)
        return array_elements((Array *)leaf);
    PyObject *scalar = PyObject_CallOneArg(scalar_type, leaf);
    if (!scalar)
        drop_exception(); /* it does not fit: Python says so better */
    return scalar;
}

static PyObject *call_on(Eager *e, PyObject **leaves) {
    PyObject *few[FEW], **operands = few, *result = NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(e->scalar_types), k = 0;
    if (n > FEW && !(operands = PyMem_Malloc((size_t)n * sizeof *operands)))
        return PyErr_NoMemory();
    while (k < n && (operands[k] = operand_of(leaves[k], PyTuple_GET_ITEM(e->scalar_types, k))))
        k++;
    if (k == n)
        result = PyObject_Vectorcall(e->function, operands, (size_t)n, NULL);
    while (k > 0)
        Py_DECREF(operands[--k]);
    if (operands != few)
        PyMem_Free(operands);
    return result;
}

static PyObject *call_quietly(Eager *e, PyObject **leaves) {
    PyObject *context = n_spare ? spare[--n_spare] : PyObject_CallNoArgs(quiet_context);
    if (!context || PyContext_Enter(context)) {
        Py_XDECREF(context);
        return NULL;
    }
    PyObject *result = call_on(e, leaves);
    if (PyContext_Exit(context))
        Py_CLEAR(result);
    if (n_spare < SPARE_CONTEXTS)
        spare[n_spare++] = context;
    else
        Py_DECREF(context);
    return result;
}

/* The Array of a block of the pool. Takes the reference. */
static PyObject *wrap_buffer(PyObject *buffer, PyObject *aval) {
    PyObject *array = array_of(aval, buffer);
    Py_DECREF(buffer);
    return array;
}

/* The Array of one of NumPy's results, which becomes read-only. Takes the reference. */
static PyObject *wrap(PyObject *value, PyObject *aval) {
    if (value && Py_TYPE(value) == &BufferType)
        return wrap_buffer(value, aval);
    if (value && Py_TYPE(value) != numpy_type)
        Py_SETREF(value, PyObject_CallOneArg(as_ndarray, value));
    if (!value)
        return NULL;
    PyArray_CLEARFLAGS((PyArrayObject *)value, NPY_ARRAY_WRITEABLE);
    PyObject *array = array_of_view(NULL, (PyObject *[]){aval, value}, 2);
    Py_DECREF(value);
    return array;
}

static PyObject *wrap_all(Eager *e, PyObject *values) {
    Py_ssize_t n = PyTuple_GET_SIZE(e->out_avals);
    PyObject *results = PyList_New(n);
    for (Py_ssize_t i = 0; results && i < n; i++) {
        PyObject *array = wrap(PySequence_GetItem(values, i), PyTuple_GET_ITEM(e->out_avals, i));
        if (array)
            PyList_SET_ITEM(results, i, array);
        else
            Py_CLEAR(results);
    }
    PyObject *tree = results ? PyObject_CallOneArg(e->unflatten, results) : NULL;
    Py_XDECREF(results);
    return tree;
}

/* What NumPy's results are to the caller. Takes the reference. */
static PyObject *as_arrays(Eager *e, PyObject *result) {
    if (!result || e->unflatten == Py_None)
        return result ? wrap(result, PyTuple_GET_ITEM(e->out_avals, 0)) : NULL;
    PyObject *tree = wrap_all(e, result);
    Py_DECREF(result);
    return tree;
}

PyObject *run_eagerly(PyObject *entry, PyObject **leaves, Py_ssize_t n) {
    Eager *e = (Eager *)entry;
    if (n != PyTuple_GET_SIZE(e->scalar_types) || !e->left)
        return NULL;
    e->left -= e->left > 0;
    PyObject *result = e->loops.n ? run_loops(&e->loops, leaves) : NULL;
    if (!result && !PyErr_Occurred() && e->function != Py_None)
        result = call_quietly(e, leaves);
    result = as_arrays(e, result);
    if (result && e->counter)
        count((HitCounter *)e->counter);
    return result;
}
