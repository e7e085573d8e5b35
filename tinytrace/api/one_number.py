"""How calls are answered whose result is one number everywhere: with another array of the same one element.

Nothing is compiled for them and nothing is written, whatever the size (`core/one_number.py`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace._dispatch import CONSTANT, FastEntry
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import KeyType
from tinytrace.core.jaxpr import ClosedJaxpr, Literal
from tinytrace.core.one_number import array_of_number
from tinytrace.primitives.broadcasting import broadcast_in_dim_p


def number_entry(x: Any, aval: ShapedArray, unflatten: Callable[[list[Any]], Any] | None = None) -> FastEntry | None:
    """Return what answers calls by an array of the type `aval` that is `x` everywhere; None where it cannot."""
    if isinstance(aval.dtype, KeyType) or not aval.size:
        return None
    array = array_of_number(np.asarray(x).astype(aval.dtype).tobytes(), aval)
    return None if array is None else FastEntry((), 0, 0, (), (), ((CONSTANT, 0, array),), (aval,), unflatten)


def entry_of_number(closed: ClosedJaxpr, unflatten: Callable[[list[Any]], Any] | None) -> FastEntry | None:
    """Return what answers calls of a program that does nothing but repeat a number; None for other programs."""
    eqns = closed.jaxpr.eqns
    if len(eqns) != 1 or eqns[0].primitive is not broadcast_in_dim_p or closed.jaxpr.outvars != eqns[0].outvars:
        return None
    x = eqns[0].invars[0]
    return number_entry(x.val, closed.out_avals[0], unflatten) if isinstance(x, Literal) else None


__all__ = ["entry_of_number", "number_entry"]
