"""A tracer in 60 lines: call a function once with stand-ins, and write down what it does to them."""

import math
import string
from typing import NamedTuple


class Eqn(NamedTuple):
    """One equation, `out = op args`; an argument is the name of a variable or a number."""

    out: str
    op: str
    args: tuple


class Program(NamedTuple):
    """What tracing returns: the names of the inputs, the equations, and what the function returned."""

    inputs: list
    eqns: list
    result: object

    def __str__(self):
        lines = [f"    {out} = {op} {' '.join(map(str, args))}" for out, op, args in self.eqns]
        return "\n".join([f"{{ lambda ; {' '.join(self.inputs)}. let", *lines, f"  in ({self.result},) }}"])


class Tape:
    """The equations so far, and the letters that are left."""

    def __init__(self):
        self.eqns, self.letters = [], iter(string.ascii_letters)

    def new(self):
        return Tracer(self, next(self.letters))

    def record(self, op, *args):
        out = self.new()
        self.eqns.append(Eqn(out.name, op, tuple(map(atom, args))))
        return out


class Tracer:
    """Stands for a number that is not known yet: it has a name, and notes each operation on its tape."""

    def __init__(self, tape, name):
        self.tape, self.name = tape, name

    __add__ = lambda x, y: x.tape.record("add", x, y)
    __radd__ = lambda x, y: x.tape.record("add", y, x)
    __sub__ = lambda x, y: x.tape.record("sub", x, y)
    __rsub__ = lambda x, y: x.tape.record("sub", y, x)
    __mul__ = lambda x, y: x.tape.record("mul", x, y)
    __rmul__ = lambda x, y: x.tape.record("mul", y, x)
    __gt__ = lambda x, y: x.tape.record("gt", x, y)
    __lt__ = lambda x, y: x.tape.record("lt", x, y)
    __neg__ = lambda x: x.tape.record("neg", x)

    def __bool__(self):
        raise TypeError(f"{self.name} has no value while the function is traced, so it is neither true nor false")


def sin(x):
    return x.tape.record("sin", x) if isinstance(x, Tracer) else math.sin(x)


def where(condition, x, y):
    """`x` where the condition holds, else `y`: both are computed, and the choice is an operation like any other."""
    if isinstance(condition, Tracer):
        return condition.tape.record("where", condition, x, y)
    return x if condition else y


def atom(x):
    """How an operand stands in an equation: a tracer by its name, a number as it is."""
    return x.name if isinstance(x, Tracer) else x


def trace(f, n):
    """The program of `f`, a function of `n` numbers; `f` is called once, and never sees one."""
    tape = Tape()
    tracers = [tape.new() for _ in range(n)]
    result = f(*tracers)
    return Program([tracer.name for tracer in tracers], tape.eqns, atom(result))
