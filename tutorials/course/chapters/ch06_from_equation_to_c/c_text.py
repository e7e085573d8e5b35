"""What the exercises of chapter 6 are built with: signs, the frame of a C function, and ways to run what was written."""

import numpy as np

import tinytrace as jax
from course.c_interpreter import run_c

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def function(inputs, outputs, lines):
    """A C function of arrays `in0`, `in1`, ..., `out0`, ... with these lines in it."""
    arguments = [f"const float *in{i}" for i in range(inputs)] + [f"float *out{i}" for i in range(outputs)]
    return "\n".join([f"void entry({', '.join(arguments)}) {{", *(f"    {line}" for line in lines), "}", ""])


def visits(nest, shape):
    """The indices that a loop nest goes through, in order, each as one number: 12 is i0 = 1, i1 = 2."""
    digits = [f"i{k} * {10 ** (len(shape) - 1 - k)}" for k in range(len(shape))]
    body = [f"seen[n[0]] = {' + '.join(digits) or '0'};", "n[0] = n[0] + 1;"]
    seen, n = np.zeros(64, np.int64), np.zeros(1, np.int64)
    run_c("\n".join(["void entry(int64_t *seen, int64_t *n) {", *nest(shape, body), "}"]), seen, n)
    return seen[: n[0]].tolist()


def expression(name, *operands):
    """The C of one operation: a solution of exercise 6.1."""
    if name in SIGNS:
        return f"(({operands[0]}) {SIGNS[name]} ({operands[1]}))"
    return f"(-({operands[0]}))" if name == "neg" else f"{name}f({', '.join(operands)})"


def literal(x):
    """The C of a number: a solution of exercise 6.2."""
    return f"({float(x)!r}f)"


def run_emitted(emit, f, *rows):
    """Traces `f` for rows of numbers, lets `emit` write the C, and runs that."""
    arrays = [np.array(row, np.float32) for row in rows]
    closed = jax.make_jaxpr(f)(*arrays)
    outs = [np.zeros(len(rows[0]), np.float32) for _ in closed.jaxpr.outvars]
    run_c(emit(closed), *arrays, *outs)
    return outs
