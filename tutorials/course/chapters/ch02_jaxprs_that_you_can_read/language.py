"""What chapter 2 needs besides tinytrace: a picture of a jaxpr, and the programs of chapter 1 from a text of few words."""

from course.chapters.ch01_a_tracer_in_60_lines.tracer import Eqn, Program
from tinytrace.core.printer import VarNames


def program(text):
    """A program of chapter 1 from `"a b: c = a b; d = c a -> d"`: inputs, equations (all of them sums), result."""
    inputs, rest = text.split(":")
    eqns, result = rest.split("->")
    pairs = [eqn.split("=") for eqn in eqns.split(";") if eqn.strip()]
    return Program(inputs.split(), [Eqn(out.strip(), "add", tuple(args.split())) for out, args in pairs], result.strip())


def rows(closed):
    """A jaxpr as inputs and equations in words, for `draw_program`."""
    names = VarNames()
    inputs = [names[v] for v in closed.jaxpr.invars]
    eqns = [(names[eqn.outvars[0]], eqn.primitive.name, [names[v] for v in eqn.invars]) for eqn in closed.eqns]
    return inputs, eqns
