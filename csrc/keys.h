/* Keys of calls. */

#ifndef TT_KEYS_H
#define TT_KEYS_H

#include "cpython.h"

enum { FEW = 64 }; /* as many objects need no memory of their own */

struct objects { /* all of them owned */
    PyObject **items, **next, **end, *few[FEW];
};

typedef struct {
    struct objects tokens; /* types, avals, dict keys, lengths, static values */
    struct objects leaves; /* the dynamic leaves, in the order of reading */
    int depth, ran_python; /* ran_python: tables and settings may be others than before */
    int is_plain;          /* are tokens that are the same today equal tomorrow? */
} Key;

/* Reads the key of a call, and its leaves; 0 when it has none here. Whether it has one or not, the caller gives up tokens
   and leaves by objects_clear. All of static_names are plain strings. */
int read_key(PyObject *static_names, uint64_t static_bits, PyObject *const *args, Py_ssize_t n, PyObject *kwargs,
             Key *key);
/* The key as a tuple, which takes the tokens; NULL, perhaps with an exception, when there is no memory. */
PyObject *key_tuple(Key *key);
/* Are the tokens those of a tuple, each of them the same object, or an equal int or string? */
int key_is_same(const Key *key, PyObject *tuple);
/* Are the arguments Arrays alone, whose key would have the tokens of a tuple? */
int arrays_have_key(PyObject *const *args, Py_ssize_t n, PyObject *tuple);
void objects_clear(struct objects *self);

/* Are the calls of this thread Python's? */
int calls_are_pythons(void);
PyObject *set_context(PyObject *module, PyObject *context);
PyObject *set_node_kinds(PyObject *module, PyObject *kinds);

#endif
