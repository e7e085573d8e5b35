/* Counters of calls. */

#ifndef TT_COUNTER_H
#define TT_COUNTER_H

#include "cpython.h"

/* How often calls of one kind were answered, and when the last of them was: its number among all that were counted. */
typedef struct {
    PyObject_HEAD
    long long hits, last;
} HitCounter;

extern PyTypeObject HitCounterType;
extern long long counted; /* calls, by all counters together */

static inline void count(HitCounter *counter) {
    counter->hits++;
    counter->last = ++counted;
}

PyObject *calls_counted(PyObject *module, PyObject *nothing);

#endif
