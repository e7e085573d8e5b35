/* Trees are taken apart into leaves and a treedef, and put together. What both are is told by tinytrace/core/trees.py;
   tinytrace/pure/trees.py is the same in Python, and tests hold both equal.

   Tuples, lists, dicts and named tuples are read here. Other nodes are taken apart, matched and made by their kinds
   (tinytrace/core/node_kinds.py), and so is what does not fit, for its error. That is Python code, and may change what is
   being read: the children of a node are a tuple of their own before any of it runs. */

#include "trees.h"

enum { DEEPEST = 10000 }; /* levels of a tree: more might need more stack than there is, whatever Python's limit is */

static struct {
    PyObject *kinds, *treedef, *leaf, *interned, *make_treedef;
    PyObject *tuple, *list, *dict, *none;   /* the kinds of these, which nobody can register again */
    Py_ssize_t kind, data, children, token; /* where a treedef has them */
} trees;
static PyObject *flatten_name, *match_name, *reader_name, *unflatten_name;

/* What a treedef has at an offset; borrowed, and as long as the treedef is there. */
static inline PyObject *field(PyObject *treedef, Py_ssize_t offset) { return *(PyObject **)((char *)treedef + offset); }

/* --- what trees are made of ---------------------------------------------------------------------------------------- */

/* Where the objects of a class with __slots__ have the one of a name; -1 with an error if there is none. */
static Py_ssize_t offset_of(PyObject *cls, const char *name) {
    PyObject *member = PyObject_GetAttrString(cls, name);
    Py_ssize_t offset = -1;
    if (member && Py_IS_TYPE(member, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)member)->d_member->offset;
    else if (member)
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", cls, name);
    Py_XDECREF(member);
    return offset;
}

static int find_kind(PyObject **kind, PyTypeObject *type) {
    PyObject *found = PyObject_GetItem(trees.kinds, (PyObject *)type);
    if (!found)
        return -1;
    Py_XSETREF(*kind, found);
    return 0;
}

static int intern_name(PyObject **name, const char *text) {
    return *name || (*name = PyUnicode_InternFromString(text)) ? 0 : -1;
}

PyObject *set_trees(PyObject *module, PyObject *args) {
    PyObject *kinds, *treedef, *leaf, *interned, *make_treedef;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!OO!O", &PyDict_Type, &kinds, &PyType_Type, &treedef, &leaf, &PyDict_Type, &interned,
                          &make_treedef))
        return NULL;
    if (!PyObject_TypeCheck(leaf, (PyTypeObject *)treedef))
        return PyErr_Format(PyExc_TypeError, "the leaf is no %R", treedef);
    if ((trees.kind = offset_of(treedef, "_kind")) < 0 || (trees.data = offset_of(treedef, "_data")) < 0
        || (trees.children = offset_of(treedef, "_children")) < 0 || (trees.token = offset_of(treedef, "_token")) < 0)
        return NULL;
    if (intern_name(&flatten_name, "flatten") < 0 || intern_name(&match_name, "match") < 0
        || intern_name(&reader_name, "reader") < 0 || intern_name(&unflatten_name, "unflatten") < 0)
        return NULL;
    Py_XSETREF(trees.kinds, Py_NewRef(kinds));
    if (find_kind(&trees.tuple, &PyTuple_Type) < 0 || find_kind(&trees.list, &PyList_Type) < 0
        || find_kind(&trees.dict, &PyDict_Type) < 0 || find_kind(&trees.none, Py_TYPE(Py_None)) < 0)
        return NULL;
    Py_XSETREF(trees.interned, Py_NewRef(interned));
    Py_XSETREF(trees.make_treedef, Py_NewRef(make_treedef));
    Py_XSETREF(trees.leaf, Py_NewRef(leaf));
    Py_XSETREF(trees.treedef, Py_NewRef(treedef));
    Py_RETURN_NONE;
}

/* The kind of a node, None for a leaf. */
static PyObject *kind_of(PyObject *tree) {
    PyObject *type = (PyObject *)Py_TYPE(tree);
    PyObject *kind = PyTuple_CheckExact(tree)  ? trees.tuple
                     : PyList_CheckExact(tree) ? trees.list
                     : PyDict_CheckExact(tree) ? trees.dict
                                               : PyDict_GetItemWithError(trees.kinds, type);
    if (kind)
        return Py_NewRef(kind);
    return PyErr_Occurred() ? NULL : PyObject_GetItem(trees.kinds, type); /* a type that is new is looked at */
}

/* Goes one level down; 0 with an error where that is too deep. */
static int descend(int depth) {
    if (depth < DEEPEST)
        return !Py_EnterRecursiveCall(" while looking at a tree");
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded while looking at a tree");
    return 0;
}

/* --- taken apart --------------------------------------------------------------------------------------------------- */

/* The values of a dict by some keys, as a tuple; NULL, perhaps with an error, where it lacks one. */
static PyObject *values_at(PyObject *dict, PyObject *keys) {
    PyObject *values = PyTuple_New(PyTuple_GET_SIZE(keys));
    for (Py_ssize_t i = 0; values && i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *value = PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(keys, i));
        if (value)
            PyTuple_SET_ITEM(values, i, Py_NewRef(value));
        else
            Py_CLEAR(values);
    }
    return values;
}

/* The same by its sorted keys, which are the data; NULL, perhaps with an error, where it has no such order. */
static PyObject *values_by_keys(PyObject *tree, PyObject **data) {
    PyObject *keys = PyDict_Keys(tree), *sorted = NULL, *values = NULL;
    if (keys && (PyList_GET_SIZE(keys) < 2 || PyList_Sort(keys) == 0) && (sorted = PyList_AsTuple(keys)))
        values = values_at(tree, sorted);
    Py_XDECREF(keys);
    if (values)
        *data = sorted;
    else
        Py_XDECREF(sorted);
    return values;
}

/* What a kind says. */
static PyObject *children_by_kind(PyObject *kind, PyObject *tree, PyObject **data) {
    PyObject *pair = PyObject_CallMethodOneArg(kind, flatten_name, tree), *children = NULL;
    if (pair && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2)
        children = PySequence_Tuple(PyTuple_GET_ITEM(pair, 0));
    else if (pair)
        PyErr_Format(PyExc_TypeError, "%R.flatten(...) is no pair", kind);
    if (children)
        *data = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    Py_XDECREF(pair);
    return children;
}

/* Is a node of this kind a tuple with other methods, which are not asked? -1: error. */
static int is_read_as_tuple(PyObject *kind, PyObject *tree) {
    if (!PyTuple_Check(tree))
        return 0;
    PyObject *reader = PyObject_GetAttr(kind, reader_name);
    Py_XDECREF(reader);
    return reader ? reader == (PyObject *)&PyTuple_Type : -1;
}

/* The children of a node, as a tuple, and its data. */
static PyObject *children_of(PyObject *kind, PyObject *tree, PyObject **data) {
    if (kind == trees.dict) {
        PyObject *values = values_by_keys(tree, data);
        return values ? values : drop_exception() ? children_by_kind(kind, tree, data) : NULL;
    }
    int is_tuple = kind == trees.tuple ? 1 : kind == trees.list || kind == trees.none ? 0 : is_read_as_tuple(kind, tree);
    if (is_tuple < 0)
        return NULL;
    if (!is_tuple && kind != trees.list && kind != trees.none)
        return children_by_kind(kind, tree, data);
    *data = Py_NewRef(Py_None);
    return is_tuple ? Py_NewRef(tree) : kind == trees.list ? PyList_AsTuple(tree) : PyTuple_New(0);
}

/* Are data that equal these the same in every respect? 1 == True is not. */
static inline int is_exact(PyObject *data) { return data == Py_None || PyUnicode_CheckExact(data); }

static int are_exact(PyObject *data) {
    if (!PyTuple_CheckExact(data))
        return is_exact(data);
    Py_ssize_t i = PyTuple_GET_SIZE(data);
    while (i > 0 && is_exact(PyTuple_GET_ITEM(data, i - 1)))
        i--;
    return i == 0;
}

/* The treedef that was made of such parts before; NULL if there is none, or with an error. */
static PyObject *known_treedef(PyObject *kind, PyObject *data, PyObject *parts) {
    Py_ssize_t n = PyTuple_GET_SIZE(parts);
    PyObject *tokens = are_exact(data) ? PyTuple_New(n) : NULL, *known = NULL;
    for (Py_ssize_t i = 0; tokens && i < n; i++) {
        PyObject *token = field(PyTuple_GET_ITEM(parts, i), trees.token);
        if (token && token != Py_None)
            PyTuple_SET_ITEM(tokens, i, Py_NewRef(token));
        else
            Py_CLEAR(tokens);
    }
    PyObject *key = tokens ? PyTuple_Pack(3, kind, data, tokens) : NULL;
    if (key)
        known = Py_XNewRef(PyDict_GetItemWithError(trees.interned, key));
    Py_XDECREF(key);
    Py_XDECREF(tokens);
    return known;
}

static PyObject *treedef_of(PyObject *kind, PyObject *data, PyObject *parts) {
    PyObject *known = known_treedef(kind, data, parts);
    return known || PyErr_Occurred() ? known : PyObject_CallFunctionObjArgs(trees.make_treedef, kind, data, parts, NULL);
}

/* Is the descent to stop here? -1: error. */
static int is_said_to_be_leaf(PyObject *is_leaf, PyObject *tree) {
    PyObject *answer = is_leaf ? PyObject_CallOneArg(is_leaf, tree) : Py_NewRef(Py_False);
    int yes = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return yes;
}

static PyObject *flatten(PyObject *leaves, PyObject *tree, PyObject *is_leaf, int depth) {
    int stop = is_said_to_be_leaf(is_leaf, tree);
    PyObject *kind = stop < 0 ? NULL : stop ? Py_NewRef(Py_None) : kind_of(tree), *data = NULL, *treedef = NULL;
    if (!kind)
        return NULL;
    if (kind == Py_None) {
        Py_DECREF(kind);
        return PyList_Append(leaves, tree) < 0 ? NULL : Py_NewRef(trees.leaf);
    }
    PyObject *children = children_of(kind, tree, &data);
    PyObject *parts = children ? PyTuple_New(PyTuple_GET_SIZE(children)) : NULL;
    if (parts && descend(depth)) {
        Py_ssize_t i = 0, n = PyTuple_GET_SIZE(children);
        for (PyObject *part; i < n && (part = flatten(leaves, PyTuple_GET_ITEM(children, i), is_leaf, depth + 1)); i++)
            PyTuple_SET_ITEM(parts, i, part);
        Py_LeaveRecursiveCall();
        if (i == n)
            treedef = treedef_of(kind, data, parts);
    }
    Py_XDECREF(parts);
    Py_XDECREF(children);
    Py_XDECREF(data);
    Py_DECREF(kind);
    return treedef;
}

static int are_given(const char *name, PyObject *list, Py_ssize_t n, Py_ssize_t least, Py_ssize_t most) {
    if (n < least || n > most || !PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "%s takes a list and a tree", name), 0;
    return trees.leaf ? 1 : (PyErr_SetString(PyExc_RuntimeError, "set_trees was not called"), 0);
}

PyObject *flatten_into(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (!are_given("flatten_into", n ? args[0] : Py_None, n, 2, 3))
        return NULL;
    return flatten(args[0], args[1], n == 3 && args[2] != Py_None ? args[2] : NULL, 0);
}

/* 0, or -1 with an error. */
static int collect_leaves(PyObject *leaves, PyObject *tree, int depth) {
    PyObject *kind = kind_of(tree), *data = NULL;
    if (!kind || kind == Py_None) {
        Py_XDECREF(kind);
        return kind ? PyList_Append(leaves, tree) : -1;
    }
    PyObject *children = children_of(kind, tree, &data);
    int status = -1;
    if (children && descend(depth)) {
        status = 0;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(children) && !status; i++)
            status = collect_leaves(leaves, PyTuple_GET_ITEM(children, i), depth + 1);
        Py_LeaveRecursiveCall();
    }
    Py_XDECREF(children);
    Py_XDECREF(data);
    Py_DECREF(kind);
    return status;
}

PyObject *append_leaves(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    (void)module;
    if (!are_given("append_leaves", n ? args[0] : Py_None, n, 2, 2) || collect_leaves(args[0], args[1], 0) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* --- put together -------------------------------------------------------------------------------------------------- */

static PyObject *dict_of(PyObject *keys, PyObject *values) {
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < PyTuple_GET_SIZE(keys); i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(keys, i), PyTuple_GET_ITEM(values, i)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *node_of(PyObject *kind, PyObject *data, PyObject *values) {
    if (kind == trees.tuple)
        return Py_NewRef(values);
    if (kind == trees.list)
        return PySequence_List(values);
    if (kind == trees.none)
        return Py_NewRef(Py_None);
    if (kind == trees.dict && PyTuple_CheckExact(data) && PyTuple_GET_SIZE(data) == PyTuple_GET_SIZE(values))
        return dict_of(data, values);
    return PyObject_CallMethodObjArgs(kind, unflatten_name, data, values, NULL);
}

/* The tree with the leaves from number *next on, which is moved behind them. */
static PyObject *build(PyObject *treedef, PyObject *leaves, Py_ssize_t *next, int depth) {
    PyObject *kind = field(treedef, trees.kind), *parts = field(treedef, trees.children), *tree = NULL;
    if (kind == Py_None && *next < PyList_GET_SIZE(leaves))
        return Py_NewRef(PyList_GET_ITEM(leaves, (*next)++));
    if (!kind || kind == Py_None || !parts || !PyTuple_Check(parts))
        return PyErr_Format(PyExc_ValueError, "there are too few leaves for a PyTreeDef");
    Py_ssize_t i = 0, n = PyTuple_GET_SIZE(parts);
    PyObject *values = PyTuple_New(n);
    if (values && descend(depth)) {
        for (PyObject *value; i < n && (value = build(PyTuple_GET_ITEM(parts, i), leaves, next, depth + 1)); i++)
            PyTuple_SET_ITEM(values, i, value);
        Py_LeaveRecursiveCall();
        if (i == n)
            tree = node_of(kind, field(treedef, trees.data), values);
    }
    Py_XDECREF(values);
    return tree;
}

static int is_treedef(PyObject *const *args, Py_ssize_t n) {
    if (n == 2 && trees.treedef && PyObject_TypeCheck(args[0], (PyTypeObject *)trees.treedef))
        return 1;
    PyErr_SetString(PyExc_TypeError, "expected a PyTreeDef and one more argument");
    return 0;
}

PyObject *built(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    Py_ssize_t next = 0;
    (void)module;
    if (!is_treedef(args, n))
        return NULL;
    if (!PyList_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "leaves are a list, got %R", args[1]);
    return build(args[0], args[1], &next, 0);
}

/* --- matched ------------------------------------------------------------------------------------------------------- */

/* The values of a dict that has these keys and no others; NULL, perhaps with an error, if it has not. */
static PyObject *values_of(PyObject *keys, PyObject *dict) {
    if (!PyDict_CheckExact(dict) || !PyTuple_CheckExact(keys) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys))
        return NULL;
    return values_at(dict, keys);
}

/* The children of a tree that is a node like that of a structure; who does not fit is told so by the kind. */
static PyObject *matched(PyObject *kind, PyObject *data, Py_ssize_t arity, PyObject *tree) {
    PyObject *children = NULL;
    if (kind == trees.tuple && PyTuple_CheckExact(tree) && PyTuple_GET_SIZE(tree) == arity)
        return Py_NewRef(tree);
    if (kind == trees.list && PyList_CheckExact(tree) && PyList_GET_SIZE(tree) == arity)
        return PyList_AsTuple(tree);
    if (kind == trees.dict && ((children = values_of(data, tree)) || !drop_exception()))
        return children;
    PyObject *count = PyLong_FromSsize_t(arity);
    PyObject *given = count ? PyObject_CallMethodObjArgs(kind, match_name, data, count, tree, NULL) : NULL;
    children = given ? PySequence_Tuple(given) : NULL;
    Py_XDECREF(count);
    Py_XDECREF(given);
    if (children && PyTuple_GET_SIZE(children) != arity) {
        PyErr_SetString(PyExc_ValueError, "a node has another number of children than its structure");
        Py_CLEAR(children);
    }
    return children;
}

/* Appends them backwards, as JAX goes: of several misfits it is the last that is told. 0, or -1 with an error. */
static int collect(PyObject *treedef, PyObject *tree, PyObject *backwards, int depth) {
    PyObject *kind = field(treedef, trees.kind), *parts = field(treedef, trees.children);
    if (kind == Py_None)
        return PyList_Append(backwards, tree);
    if (!kind || !parts || !PyTuple_Check(parts))
        return PyErr_SetString(PyExc_ValueError, "this PyTreeDef is empty"), -1;
    Py_ssize_t left = PyTuple_GET_SIZE(parts);
    PyObject *children = matched(kind, field(treedef, trees.data), left, tree);
    int status = -1;
    if (children && descend(depth)) {
        for (status = 0; left > 0 && !status; left--)
            status = collect(PyTuple_GET_ITEM(parts, left - 1), PyTuple_GET_ITEM(children, left - 1), backwards, depth + 1);
        Py_LeaveRecursiveCall();
    }
    Py_XDECREF(children);
    return status;
}

PyObject *subtrees(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    PyObject *found = NULL;
    (void)module;
    if (!is_treedef(args, n) || !(found = PyList_New(0)))
        return NULL;
    if (collect(args[0], args[1], found, 0) < 0 || PyList_Reverse(found) < 0)
        Py_CLEAR(found);
    return found;
}
