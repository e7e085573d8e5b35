"""What a program of this chapter means: `run(program, *numbers)`. Chapter 3 builds it step by step."""

import math
import operator

OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "gt": operator.gt,
    "lt": operator.lt,
    "sin": math.sin,
    "where": lambda condition, x, y: x if condition else y,
}


def run(program, *numbers):
    """The number that a program gives for these inputs."""
    known = dict(zip(program.inputs, numbers, strict=True))

    def value(atom):
        return known[atom] if isinstance(atom, str) else atom

    for out, op, args in program.eqns:
        known[out] = OPERATIONS[op](*map(value, args))
    return value(program.result)
