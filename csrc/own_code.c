/* What the modules of tinytrace hold, as a number that changes when somebody puts another value there.

   tinytrace/own_code.py asks for it before a program is looked up on disk: ten thousand values, in half a millisecond.
   Values are known by their addresses. */

#include "own_code.h"

struct digest {
    uint64_t value;
    const char *package; /* functions in a list are those of its modules */
    int is_foreign;
};

static void add(struct digest *digest, const PyObject *value) {
    digest->value = (digest->value ^ (uintptr_t)value) * 0x9E3779B97F4A7C15u;
    digest->value ^= digest->value >> 29;
}

static void add_values(struct digest *digest, PyObject *dict) {
    Py_ssize_t at = 0;
    PyObject *name, *value;
    while (PyDict_Next(dict, &at, &name, &value))
        add(digest, value);
}

/* Methods of classes of values are written when they are first of use: tinytrace/records.py. */
static const char *const later[] = {"__init__", "__new__", "__dataclass_fields__", "__dataclass_params__"};
enum { LATER = sizeof later / sizeof *later };
static PyObject *written_later[LATER]; /* interned, as the names of attributes are: they are compared by address */
static PyObject *of_module;            /* "__module__" */

static int intern_names(void) {
    for (int i = 0; i < LATER; i++)
        if (!written_later[i] && !(written_later[i] = PyUnicode_InternFromString(later[i])))
            return -1;
    return of_module || (of_module = PyUnicode_InternFromString("__module__")) ? 0 : -1;
}

static void add_attributes(struct digest *digest, PyObject *class_dict) {
    Py_ssize_t at = 0;
    PyObject *name, *value;
    while (PyDict_Next(class_dict, &at, &name, &value)) {
        int is_written_later = 0;
        for (int i = 0; i < LATER; i++)
            is_written_later |= name == written_later[i];
        if (!is_written_later)
            add(digest, value);
    }
}

static void add_items(struct digest *digest, PyObject *list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        add(digest, item);
        PyObject *module = PyFunction_Check(item) ? PyFunction_GET_MODULE(item) : NULL;
        const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
        if (name && strncmp(name, digest->package, strlen(digest->package)))
            digest->is_foreign = 1;
    }
}

/* What is a constant by its name: PASSES, OPERATIONS. */
static int is_constant(PyObject *name) {
    const char *text = PyUnicode_AsUTF8(name);
    int has_letter = 0;
    for (; text && *text; text++) {
        if (*text >= 'a' && *text <= 'z')
            return 0;
        has_letter |= *text >= 'A' && *text <= 'Z';
    }
    return has_letter;
}

/* Is it an instance, with attributes, of a class of the package's? */
static int is_own_object(const struct digest *digest, PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || !type->tp_dictoffset || !type->tp_dict)
        return 0;
    PyObject *module = PyDict_GetItem(type->tp_dict, of_module);
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    return name && !strncmp(name, digest->package, strlen(digest->package));
}

/* The attributes of a class that a module defines, the elements of its tables, the attributes of its objects. */
static int add_inside(struct digest *digest, PyObject *value, PyObject *module_name, int deep) {
    if (PyType_Check(value)) {
        PyObject *dict = ((PyTypeObject *)value)->tp_dict;
        PyObject *own = dict ? PyDict_GetItem(dict, of_module) : NULL;
        if (own && PyUnicode_Check(own) && !PyUnicode_Compare(own, module_name))
            add_attributes(digest, dict);
    } else if (PyDict_CheckExact(value)) {
        if (deep)
            add_values(digest, value);
    } else if (PyList_CheckExact(value)) {
        add_items(digest, value);
    } else if (deep && is_own_object(digest, value)) {
        PyObject *dict = PyObject_GenericGetDict(value, NULL);
        if (!dict)
            return -1;
        add_values(digest, dict);
        Py_DECREF(dict);
    }
    return 0;
}

/* Does a value count, of a module's? Not what it remembers, nor other modules. */
static int counts(const struct digest *digest, PyObject *name, PyObject *value, int deep) {
    if (PyModule_Check(value) || !PyUnicode_Check(name))
        return 0;
    return PyCallable_Check(value) || (deep && is_own_object(digest, value)) || is_constant(name);
}

/* held_by(module, package, deep): a number for the functions, classes, objects and constants of a module, and for what
   is in them; -1 if a list in it holds a function from outside the package. deep: in dicts and in objects too. */
PyObject *held_by(PyObject *self, PyObject *args) {
    PyObject *module, *name, *value;
    struct digest digest = {0};
    Py_ssize_t at = 0;
    int deep, failed = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!sp", &PyModule_Type, &module, &digest.package, &deep) || intern_names())
        return NULL;
    PyObject *dict = PyModule_GetDict(module), *module_name = PyDict_GetItemString(dict, "__name__");
    if (!module_name || !PyUnicode_Check(module_name))
        return PyErr_Format(PyExc_TypeError, "a module without a name");
    while (!failed && PyDict_Next(dict, &at, &name, &value)) {
        if (!counts(&digest, name, value, deep))
            continue;
        add(&digest, value);
        Py_INCREF(value); /* what an object's attributes are may take a collection to tell, which runs anything */
        failed = add_inside(&digest, value, module_name, deep);
        Py_DECREF(value);
    }
    if (failed)
        return NULL;
    return digest.is_foreign ? PyLong_FromLong(-1) : PyLong_FromUnsignedLongLong(digest.value);
}
