/* The machine code of `np.add` for float32 is a function of addresses and strides, which the ufunc names in a table that
   is part of NumPy's C API. For small arrays it is called directly, on blocks of the pool: the bits are NumPy's, and what
   NumPy does around it (looking for the loop, settings of warnings, an array for the result) is three times the work. */

#include "loops.h"
#include "arrays.h"
#include "calls.h"
#include "installed.h"
#include "own_loops.h"
#include "scalars.h"
#include "views.h"
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tinytrace_numpy
#define PY_UFUNC_UNIQUE_SYMBOL tinytrace_ufunc
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

enum { MOST_BYTES = 1 << 16 }; /* of a result: for longer ones NumPy lets other threads run meanwhile */

static Py_ssize_t count_of(PyObject *aval) {
    PyObject *shape = PyObject_GetAttrString(aval, "shape");
    Py_ssize_t count = shape && PyTuple_Check(shape) ? 1 : -1;
    for (Py_ssize_t i = 0; count > 0 && i < PyTuple_GET_SIZE(shape); i++) {
        Py_ssize_t length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        count = length > 0 && length <= MOST_BYTES ? count * length : -1;
        count = count <= MOST_BYTES ? count : -1;
    }
    Py_XDECREF(shape);
    PyErr_Clear(); /* of lengths that are no numbers: then there is no loop */
    return count;
}

/* Reads what the loop takes, and looks it up: in the ufunc, or by its name among our own. Returns 0 if there is none. */
static int find_loop(PyObject *function, Py_ssize_t index, PyObject *types, PyObject *result, Loop *loop) {
    int out_type, is_own = PyUnicode_Check(function);
    Py_ssize_t n = PyTuple_GET_SIZE(types);
    PyUFuncObject *u = is_own ? NULL : (PyUFuncObject *)function; /* Python has asked for its types */
    int is_ufunc = u && !strcmp(Py_TYPE(function)->tp_name, "numpy.ufunc");
    if (index < 0 || n > MOST_OPERANDS || (u && !(is_ufunc && index < u->ntypes && u->nout == 1 && u->nin == n)))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(types, i), "iin", &loop->places[i], &loop->types[i], &loop->widths[i]))
            return 0;
    if (!PyArg_ParseTuple(result, "in", &out_type, &loop->widths[n]))
        return 0;
    loop->n = (int)n;
    loop->data = u && u->data ? u->data[index] : NULL;
    const char *own = is_own ? PyUnicode_AsUTF8(function) : NULL;
    loop->run = u ? u->functions[index] : own ? own_loop(own, out_type, loop->widths[n]) : NULL;
    return loop->run != NULL;
}

static int read_rows(PyObject *rows, Loop *loop) {
    PyObject *steps;
    if (rows == Py_None)
        return 1;
    if (!PyArg_ParseTuple(rows, "nO!", &loop->rows, &PyTuple_Type, &steps) || PyTuple_GET_SIZE(steps) != loop->n
        || loop->rows <= 0 || loop->count % loop->rows)
        return 0;
    for (int i = 0; i < loop->n; i++)
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, i), "pp", &loop->by_row[i], &loop->in_row[i]))
            return 0;
    return 1;
}

/* Reads the loop number k. Returns 0 if there is no such loop, perhaps with an exception. */
static int read_loop(PyObject *which, PyObject *aval, int k, Py_ssize_t n_constants, Loop *loop) {
    PyObject *function, *types, *result, *rows;
    Py_ssize_t index;
    if (!PyTuple_Check(which) || !PyArg_ParseTuple(which, "OnO!O!nO", &function, &index, &PyTuple_Type, &types,
                                                   &PyTuple_Type, &result, &loop->count, &rows))
        return 0;
    if (loop->count < 0)
        loop->count = count_of(aval);
    if (!find_loop(function, index, types, result, loop) || (loop->count > 0 && !read_rows(rows, loop)))
        return 0;
    for (int i = 0; i < loop->n; i++)
        if (loop->places[i] < -n_constants || loop->places[i] >= MADE + k)
            return 0;
    return 1;
}

static int are_arrays(PyObject *constants) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(constants); k++)
        if (Py_TYPE(PyTuple_GET_ITEM(constants, k)) != array_type)
            return 0;
    return 1;
}

static int are_short(const Loops *loops) {
    for (int k = 0; k < loops->n; k++)
        if (loops->loops[k].count <= 0 || loops->loops[k].count * loops->loops[k].widths[loops->loops[k].n] > MOST_BYTES)
            return 0;
    return 1;
}

void free_loops(Loops *loops) {
    PyMem_Free(loops->loops);
    Py_XDECREF(loops->constants);
    *loops = (Loops){.loops = NULL};
}

int loops_of(PyObject *which, PyObject *aval, Loops *loops) {
    PyObject *each, *constants;
    *loops = (Loops){.loops = NULL};
    if (which == Py_None)
        return 0;
    if (!PyArg_ParseTuple(which, "O!O!", &PyTuple_Type, &each, &PyTuple_Type, &constants))
        return -1;
    Py_ssize_t n = PyTuple_GET_SIZE(each);
    int is_found = n > 0 && n <= MOST_LOOPS && are_arrays(constants);
    if (!(loops->loops = PyMem_Calloc(n > 0 ? (size_t)n : 1, sizeof *loops->loops)))
        return PyErr_NoMemory(), -1;
    loops->constants = Py_NewRef(constants);
    for (; is_found && loops->n < n; loops->n++)
        is_found = read_loop(PyTuple_GET_ITEM(each, loops->n), aval, loops->n, PyTuple_GET_SIZE(constants),
                             &loops->loops[loops->n]);
    if (!is_found && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "there is no inner loop %R for one result", which);
    if (!is_found || !are_short(loops))
        free_loops(loops);
    return is_found ? 0 : -1;
}

/* Where the elements of an Array are, or of what a loop made: as many as of the result, or one. NULL when NumPy must
   look at it. */
static char *elements_of(PyObject *operand, int type, Py_ssize_t width, Py_ssize_t count, Py_ssize_t *stride) {
    int is_made = Py_TYPE(operand) == &BufferType;
    Array *array = is_made ? NULL : (Array *)operand;
    PyObject *buffer = is_made ? operand : array->buffer, *view = is_made ? NULL : array->view;
    char *elements = NULL;
    Py_ssize_t size = 0;
    if (buffer) {
        elements = (char *)((Buffer *)buffer)->address;
        size = (Py_ssize_t)((Buffer *)buffer)->nbytes / width;
    } else if (view && Py_TYPE(view) == numpy_type && PyArray_TYPE((PyArrayObject *)view) == type)
        elements = elements_in_order(view, array->part, array->rows, &size);
    *stride = size == count ? width : 0;
    return size == count || size == 1 ? elements : NULL;
}

/* Python's number as the one element that it stands for; 0 when NumPy must look at it. */
static int store_number(PyObject *x, int type, uint64_t *slot) {
    if (!PyLong_Check(x) || (type != NPY_FLOAT && type != NPY_DOUBLE))
        return (PyFloat_CheckExact(x) || PyLong_Check(x)) && store_scalar(x, type, slot) != 0;
    int overflow;
    long integer = PyLong_AsLongAndOverflow(x, &overflow);
    if (overflow || integer != (int32_t)integer)
        return 0;
    if (type == NPY_FLOAT)
        *(float *)slot = (float)integer;
    else
        *(double *)slot = (double)integer;
    return 1;
}

/* How many elements of an operand there are, where the result has rows. */
static Py_ssize_t size_of(const Loop *loop, int i) {
    return (loop->by_row[i] ? loop->rows : 1) * (loop->in_row[i] ? loop->count / loop->rows : 1);
}

/* What the operands of a loop are: leaves, constants, what earlier loops made. The caller owns them. */
static void find_operands(const Loop *loop, PyObject **leaves, PyObject *constants, PyObject **made, PyObject **operands) {
    for (int i = 0; i < loop->n; i++) {
        int place = loop->places[i];
        operands[i] = place < 0 ? PyTuple_GET_ITEM(constants, -1 - place) : place < MADE ? leaves[place] : made[place - MADE];
    }
}

/* Their addresses, and how far they are from one element to the next and from one row to the next. */
static int find_addresses(const Loop *loop, PyObject **operands, uint64_t *scalars, char **addresses, Py_ssize_t *strides,
                          Py_ssize_t *row_strides) {
    for (int i = 0; i < loop->n; i++) {
        Py_ssize_t width = loop->widths[i], wanted = loop->rows ? size_of(loop, i) : loop->count;
        addresses[i] = (char *)&scalars[i];
        strides[i] = row_strides[i] = 0;
        if (Py_TYPE(operands[i]) != array_type && Py_TYPE(operands[i]) != &BufferType) {
            if (!store_number(operands[i], loop->types[i], &scalars[i]))
                return 0;
            continue;
        }
        if (!(addresses[i] = elements_of(operands[i], loop->types[i], width, wanted, &strides[i])))
            return 0;
        if (loop->rows) {
            strides[i] = loop->in_row[i] ? width : 0;
            row_strides[i] = !loop->by_row[i] ? 0 : loop->in_row[i] ? width * (loop->count / loop->rows) : width;
        }
    }
    return 1;
}

static void run_rows(const Loop *loop, char **addresses, const Py_ssize_t *strides, const Py_ssize_t *row_strides) {
    Py_ssize_t rows = loop->rows ? loop->rows : 1, length = loop->count / rows;
    for (Py_ssize_t row = 0; row < rows; row++) {
        char *at[MOST_OPERANDS + 1];
        for (int i = 0; i <= loop->n; i++)
            at[i] = addresses[i] + row * row_strides[i];
        loop->run(at, &length, strides, loop->data);
    }
}

static int is_scattered(PyObject *leaf) {
    PyObject *view = Py_TYPE(leaf) == array_type ? ((Array *)leaf)->view : NULL;
    Py_ssize_t size;
    return view && Py_TYPE(view) == numpy_type && !elements_in_order(view, ((Array *)leaf)->part, ((Array *)leaf)->rows, &size);
}

/* Elements that do not lie in order, as those of `x.T`, are copied, once: whoever reads them again finds them in order. */
static int gather(const Loop *loop, PyObject **operands) {
    for (int i = 0; i < loop->n; i++)
        if (is_scattered(operands[i])
            && !array_in_block((Array *)operands[i], loop->types[i],
                               loop->rows ? size_of(loop, i) : loop->count, loop->widths[i]))
            return 0;
    return 1;
}

static PyObject *run_loop(const Loop *loop, PyObject **operands) {
    uint64_t scalars[MOST_OPERANDS];
    char *addresses[MOST_OPERANDS + 1];
    Py_ssize_t strides[MOST_OPERANDS + 1], row_strides[MOST_OPERANDS + 1], width = loop->widths[loop->n];
    PyObject *result = gather(loop, operands) ? buffer_of((size_t)(loop->count * width)) : NULL;
    if (!result)
        return NULL;
    /* From here to the end no Python code runs: what is read stays. */
    if (!find_addresses(loop, operands, scalars, addresses, strides, row_strides)) {
        Py_DECREF(result);
        return NULL;
    }
    addresses[loop->n] = (char *)((Buffer *)result)->address;
    strides[loop->n] = width;
    row_strides[loop->n] = loop->rows ? width * (loop->count / loop->rows) : 0;
    run_rows(loop, addresses, strides, row_strides);
    if (PyErr_Occurred())
        Py_CLEAR(result);
    return result;
}

PyObject *run_loops(const Loops *loops, PyObject **leaves) {
    PyObject *operands[MOST_OPERANDS], *made[MOST_LOOPS], *result = NULL;
    int k = 0;
    for (; k < loops->n; k++) {
        find_operands(&loops->loops[k], leaves, loops->constants, made, operands);
        if (!(result = made[k] = run_loop(&loops->loops[k], operands)))
            break;
    }
    for (int i = 0; i < k && i < loops->n - 1; i++)
        Py_DECREF(made[i]);
    return result;
}
