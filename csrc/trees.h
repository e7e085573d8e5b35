/* Pytrees. */

#ifndef TT_TREES_H
#define TT_TREES_H

#include "cpython.h"

/* set_trees(kinds, PyTreeDef, leaf, interned, make_treedef): what trees are made of; see tinytrace/core/trees.py. */
PyObject *set_trees(PyObject *module, PyObject *args);

/* flatten_into(leaves, tree, is_leaf=None): the tree's structure; its leaves are appended to a list. */
PyObject *flatten_into(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* append_leaves(leaves, tree): the same without a structure. */
PyObject *append_leaves(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* built(treedef, leaves): the tree with the leaves of a list, which has as many as it should. */
PyObject *built(PyObject *module, PyObject *const *args, Py_ssize_t n);

/* subtrees(treedef, tree): what stands in a tree where a structure has its leaves. */
PyObject *subtrees(PyObject *module, PyObject *const *args, Py_ssize_t n);

#endif
