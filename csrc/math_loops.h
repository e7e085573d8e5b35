/* Inner loops of the functions of csrc/math. */

#ifndef TT_MATH_LOOPS_H
#define TT_MATH_LOOPS_H

#include "cpython.h"

typedef void (*inner_loop)(char **addresses, const Py_ssize_t *count, const Py_ssize_t *strides, void *data);

/* The loop of a function, float to float; NULL where there is none, or the processor cannot run it. */
inner_loop math_loop(const char *name);

#endif
