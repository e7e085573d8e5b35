/* The module tinytrace._dispatch: its classes and functions. See cpython.h. */

#include "arrays.h"
#include "callable.h"
#include "counter.h"
#include "eager.h"
#include "entry.h"
#include "guards.h"
#include "indexing.h"
#include "installed.h"
#include "keys.h"
#include "libraries.h"
#include "own_code.h"
#include "own_loops.h"
#include "private_files.h"
#include "traces.h"
#include "trees.h"

static PyMethodDef functions[] = {
    {"set_pool", set_pool, METH_VARARGS,
     "set_pool(alloc, free, call, call_on_blocks, parallel_for): the addresses of the runtime's functions"},
    {"set_array_types", set_array_types, METH_VARARGS,
     "set_array_types(Array, ndarray, read_only_view): what results are made as, and how Python sees them"},
    {"live_arrays", live_arrays, METH_NOARGS, "live_arrays(): the Arrays that have elements, newest first"},
    {"array_copied", array_copied, METH_O, "array_copied(array): another array with a block of its own"},
    {"array_counted", (PyCFunction)(void (*)(void))array_counted, METH_FASTCALL,
     "array_counted(aval, start, step, count, width): start, start + step, ..., integers of so many bytes"},
    {"array_filled", (PyCFunction)(void (*)(void))array_filled, METH_FASTCALL,
     "array_filled(aval, element, count): an array of so many elements, each of which is these bytes"},
    {"array_of_view", (PyCFunction)(void (*)(void))array_of_view, METH_FASTCALL,
     "array_of_view(aval, view): an array whose elements are those of a read-only NumPy array"},
    {"call_entry", (PyCFunction)(void (*)(void))call_entry, METH_FASTCALL,
     "call_entry(entry, *leaves): what a known call does; NotImplemented where Python must look at the leaves"},
    {"set_getitem", set_getitem, METH_O, "set_getitem(function): what answers x[index] where the index is not plain"},
    {"rows", rows, METH_VARARGS,
     "rows(array, aval, start, stop): its parts along the first axis, of type aval, as views of the same elements"},
    {"set_node_kinds", set_node_kinds, METH_O, "set_node_kinds(kinds): class -> how such a node of a tree is taken apart"},
    {"set_trees", set_trees, METH_VARARGS, "set_trees(kinds, treedef, leaf, interned, make_treedef): what trees are made of"},
    {"flatten_into", (PyCFunction)(void (*)(void))flatten_into, METH_FASTCALL,
     "flatten_into(leaves, tree, is_leaf=None): the tree's structure; its leaves are appended to a list"},
    {"append_leaves", (PyCFunction)(void (*)(void))append_leaves, METH_FASTCALL,
     "append_leaves(leaves, tree): the tree's leaves are appended to a list"},
    {"built", (PyCFunction)(void (*)(void))built, METH_FASTCALL,
     "built(treedef, leaves): the tree with the leaves of a list, which has as many as it should"},
    {"subtrees", (PyCFunction)(void (*)(void))subtrees, METH_FASTCALL,
     "subtrees(treedef, tree): what stands in a tree where a structure has its leaves"},
    {"set_numpy", set_numpy, METH_VARARGS, 
     "set_numpy(asarray, quiet_context, set_quicksorts): what eager calls need of NumPy, and who takes its quicksorts"},
    {"set_shared_memory", set_shared_memory, METH_VARARGS,
     "set_shared_memory(address, nbytes): where elements are that arrays share until somebody looks at them"},
    {"set_raise_status", set_raise_status, METH_O, "set_raise_status(function): called with a status that is not 0"},
    {"set_shorten", set_shorten, METH_O, "set_shorten(function): called with what a known call of a front raised"},
    {"set_paused", set_paused, METH_O, "set_paused(on): while on, every call is a miss"},
    {"set_context", set_context, METH_O, "set_context(context): what stands for this thread's own settings in keys"},
    {"held_by", held_by, METH_VARARGS, "held_by(module, package, deep): a number for what a module holds"},
    {"read_private", read_private, METH_VARARGS,
     "read_private(folders, files, owner, other_owner): the bytes of files that only these can have written"},
    {"load_copy", load_copy, METH_VARARGS, "load_copy(bytes, name): a library, from a file in memory with these bytes"},
    {"load_file", load_file, METH_O, "load_file(path): a library, from a file"},
    {"symbol_of", symbol_of, METH_VARARGS, "symbol_of(library, name): the address of what a library calls so"},
    {"forget", forget, METH_NOARGS, "forget(): every table is empty from now on, and a new epoch begins"},
    {"has_own_loop", has_own_loop, METH_VARARGS,
     "has_own_loop(name, type, width): is there an inner loop of ours for an operation, or a function of csrc/math?"},
    {"current_epoch", current_epoch, METH_NOARGS, "current_epoch(): its number, to be read before a call is looked at"},
    {"calls_counted", calls_counted, METH_NOARGS, "calls_counted(): how many calls all HitCounters have counted"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "tinytrace._dispatch",
                                    .m_doc = "The hit path of jitted calls, which tinytrace/api/jit.py defines; loading.",
                                    .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__dispatch(void) {
    PyTypeObject *types[] = {&BufferType, &ArrayBaseType, &EntryType, &HitCounterType, &EagerType, &GuardedType, &CallableType,
                             &TraceStateType, &TraceScopeType};
    PyObject *self = PyModule_Create(&module);
    array_mapping.mp_subscript = array_subscript;
    array_sequence.sq_item = array_item;
    if (!self)
        return NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (PyModule_AddType(self, types[i]) < 0)
            return NULL;
    return add_entry_constants(self) ? NULL : self;
}
