"""How calls are answered whose result is one number everywhere: with another array of the same one element.

Nothing is compiled for them and nothing is written, whatever the size (`core/one_number.py`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace._dispatch import CONSTANT, FastEntry
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import KeyType
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal
from tinytrace.core.one_number import array_of_number
from tinytrace.primitives.broadcasting import broadcast_in_dim_p


def number_entry(x: Any, aval: ShapedArray, unflatten: Callable[[list[Any]], Any] | None = None) -> FastEntry | None:
    """Return what answers calls by an array of the type `aval` that is `x` everywhere; None where it cannot."""
    array = number_array(x, aval)
    return None if array is None else FastEntry((), 0, 0, (), (), ((CONSTANT, 0, array),), (aval,), unflatten)


def number_array(x: Any, aval: ShapedArray) -> Array | None:
    """Return an array of the type `aval` that is `x` everywhere and has one element in memory; None where it cannot."""
    if isinstance(aval.dtype, KeyType) or not aval.size:
        return None
    return array_of_number(np.asarray(x).astype(aval.dtype).tobytes(), aval)


def repeated_number(eqn: JaxprEqn) -> Any:
    """Return the number that an equation repeats, None if it does something else."""
    x = eqn.invars[0] if eqn.primitive is broadcast_in_dim_p else None
    return x.val if isinstance(x, Literal) else None


def entry_of_number(closed: ClosedJaxpr, unflatten: Callable[[list[Any]], Any] | None) -> FastEntry | None:
    """Return what answers calls of a program that does nothing but repeat a number; None for other programs."""
    eqns = closed.jaxpr.eqns
    x = repeated_number(eqns[0]) if len(eqns) == 1 and closed.jaxpr.outvars == eqns[0].outvars else None
    return None if x is None else number_entry(x, closed.out_avals[0], unflatten)


__all__ = ["entry_of_number", "number_array", "number_entry", "repeated_number"]
