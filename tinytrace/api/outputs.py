"""Where the outputs of a program come from: its inputs, constants, or what is computed."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tinytrace._dispatch import CONSTANT, FROM_KERNEL, FROM_LEAF
from tinytrace.api.concrete import as_array, held
from tinytrace.api.one_number import number_array, repeated_number
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from tinytrace.records import NamedTuple

Output: TypeAlias = tuple[int, int, "Array | None"]
"""(source, index, constant): FROM_LEAF, which input; FROM_KERNEL, which result; CONSTANT, 0 or ONE_NUMBER, an array."""
ONE_NUMBER = 1
"""The elements of a constant are one in memory: whoever writes to them has made them his own."""


class Outputs(NamedTuple):
    """What a program hands out, what it computes for that, and by which equations."""

    outputs: tuple[Output, ...]
    computed: tuple[Var, ...]
    eqns: Sequence[JaxprEqn]


def outputs_of(closed: ClosedJaxpr, avals: Sequence[ShapedArray], share_numbers: bool) -> Outputs:
    """Return where the outputs of a program come from, which are of the types `avals`.

    share_numbers: may an output that is one number everywhere be one element in memory, which nobody computes?
    """
    jaxpr = closed.jaxpr
    inputs = {v: i for i, v in enumerate(jaxpr.invars)}
    consts = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    computed: dict[Var, int] = {}
    numbers = {eqn.outvars[0]: x for eqn in jaxpr.eqns if (x := repeated_number(eqn)) is not None} \
        if share_numbers else {}

    def output(atom: Atom, aval: ShapedArray) -> Output:
        if isinstance(atom, Literal):
            return CONSTANT, 0, as_array(atom.val, aval)
        if atom in inputs:
            return FROM_LEAF, inputs[atom], None
        if atom in consts:
            return CONSTANT, 0, as_array(consts[atom], aval)
        if atom in numbers and (array := number_array(numbers[atom], aval)) is not None:
            return CONSTANT, ONE_NUMBER, array
        return FROM_KERNEL, computed.setdefault(atom, len(computed)), None

    outputs = tuple(output(atom, aval) for atom, aval in zip(jaxpr.outvars, avals, strict=True))
    eqns = jaxpr.eqns
    if any(source == CONSTANT and index == ONE_NUMBER for source, index, _ in outputs):
        eqns = dce_jaxpr(jaxpr.replace(outvars=list(computed)), [True] * len(computed), instantiate=True)[0].eqns
    return Outputs(outputs, tuple(computed), eqns)


def constant_of(index: int, constant: Array | None, aval: ShapedArray) -> Array:
    """Return an array of the elements of a constant, which stays when others are deleted."""
    return constant.again(aval) if constant is not None and index == ONE_NUMBER else held(constant, aval)
