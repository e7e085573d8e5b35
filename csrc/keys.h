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
} Key;

/* The key of a call as a tuple, and its leaves, which the caller gives up by objects_clear; NULL, perhaps with an
   exception, when it has none here. All of static_names are plain strings. */
PyObject *key_of(PyObject *static_names, uint64_t static_bits, PyObject *args, PyObject *kwargs, Key *key);
void objects_clear(struct objects *self);

/* Are the calls of this thread Python's? */
int calls_are_pythons(void);
PyObject *set_context(PyObject *module, PyObject *context);
PyObject *set_node_kinds(PyObject *module, PyObject *kinds);

#endif
