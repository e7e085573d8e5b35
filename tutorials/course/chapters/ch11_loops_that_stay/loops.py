"""What chapter 11 needs: running without compiling, steps that are counted, types of carries, rounds of a parallel sum."""

import tinytrace as jax
from course.running import time_limit
from tinytrace.core.jaxpr import subjaxprs
from tinytrace.core.trace import interpreting


def ran(f, *args):
    """What a function gives, run by the interpreter, as Python numbers; a loop that does not end is ended soon."""
    with interpreting(), time_limit(0.3):
        return jax.tree.map(lambda x: x.tolist() if hasattr(x, "tolist") else x, f(*args))


def primitives(f, *args):
    """The names of the operations in a function's program, not looking into loops."""
    return [eqn.primitive.name for eqn in jax.make_jaxpr(f)(*args).eqns]


def equations(f, *args):
    """How many equations a function's program has, those inside of loops included."""

    def count(jaxpr):
        return len(jaxpr.eqns) + sum(count(inner) for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params))

    return count(jax.make_jaxpr(f)(*args).jaxpr)


def becomes(table):
    """The type of a carry after a step, by its type before: a table such as `"i32~ f32~, f32~ f32"`; else as it was."""
    pairs = dict(pair.split() for pair in table.split(", ") if pair)
    return lambda kind: pairs.get(kind, kind)


def recomputed(carry_before, length, every, i):
    """What `carry_before` gives for step i of a loop of this length, and how many steps it ran."""
    steps = []

    def step(carry, x):
        steps.append(x)
        return carry + x

    kept, carry = [], ""
    for k, x in enumerate("abcdefgh"[:length]):
        if k % every == 0:
            kept.append(carry)
        carry += x
    return [carry_before(i, kept, step, "abcdefgh"[:length], every), len(steps)]


def rounds(prefix, letters):
    """What `prefix` makes of some letters, and whether it took few rounds: at most two for each doubling of the length."""
    asked = []

    def join(left, right):
        asked.append(len(left))
        return [x + y for x, y in zip(left, right, strict=True)]

    result = prefix(join, list(letters))
    return [result, len(asked) <= 2 * max(len(letters) - 1, 0).bit_length()]
