"""The interpreter of chapter 3, and rules to run it with: `interpret(rule, closed, *args)`."""

import itertools
import math

import tinytrace as jax
from tinytrace.core.jaxpr import Literal


def interpret(rule, closed, *args):
    """Runs a jaxpr with a meaning of one's own: `rule(name, *operands)` is the result of an equation."""
    values = dict(zip(closed.jaxpr.invars, args, strict=True))
    values |= zip(closed.jaxpr.constvars, closed.consts, strict=True)

    def read(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for eqn in closed.eqns:
        values[eqn.outvars[0]] = rule(eqn.primitive.name, *map(read, eqn.invars))
    return [read(atom) for atom in closed.jaxpr.outvars]


NUMBERS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y if y else math.nan if x == 0 or x != x else math.copysign(math.inf, x),
    "neg": lambda x: -x,
    "sin": lambda x: math.sin(x) if math.isfinite(x) else math.nan,
    "log": lambda x: math.log(x) if x > 0 else -math.inf if x == 0 else math.nan,
}


def compute(name, *operands):
    """The rule of ordinary numbers."""
    return NUMBERS[name](*operands)


def bounds(name, *operands):
    """The rule of intervals: where a result lies, if its operands lie between these ends."""
    ends = [x if isinstance(x, tuple) else (x, x) for x in operands]
    corners = [compute(name, *choice) for choice in itertools.product(*ends)]
    return min(corners), max(corners)


def slopes(name, *operands):
    """The rule of values with slopes, for products and sums."""
    (x, dx), (y, dy) = [p if isinstance(p, tuple) else (p, 0.0) for p in operands]
    return (x * y, dx * y + x * dy) if name == "mul" else (x + y, dx + dy)


def jaxpr_of(f, inputs):
    """The program of a function of so many numbers."""
    return jax.make_jaxpr(f)(*[1.0] * inputs)
