"""Complex numbers that are divided by a known positive number: in some ten steps, where any divisor takes fifty.

    b:c64[n] = div a (3+0j)

The result is the same to the bit, infinities, NaN and the signs of zeros included; see `on_complex.py`.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal
from tinytrace.primitives.arithmetic import div_p
from tinytrace.primitives.composite import recorded
from tinytrace.primitives.on_complex import quotient_by_positive


def by_positive_number(eqn: JaxprEqn, operands: Sequence[Atom]) -> ClosedJaxpr | None:
    """Return the program of a division, if it is one of complex numbers by a finite positive number.

    operands: the equation's, as far as they are known where it is called.
    """
    if eqn.primitive is not div_p or not isinstance(operands[1], Literal):
        return None
    value = np.asarray(operands[1].val)
    if value.dtype.kind != "c" or value.ndim or value.imag != 0 or np.signbit(value.imag):
        return None
    return _program(*[x.aval for x in operands]) if 0 < value.real < np.inf else None


@functools.lru_cache(maxsize=256)
def _program(x: ShapedArray, y: ShapedArray) -> ClosedJaxpr:
    return recorded(quotient_by_positive, [x, y])
