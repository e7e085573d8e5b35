"""Comparisons: eq ne lt le gt ge. The result is bool; a comparison with NaN is false, except `ne`.

eq_to, lt_to and le_to compare in the total order of floats: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.dtypes import BOOL, is_float
from tinytrace.core.formulas import Formula, call, cast
from tinytrace.primitives.elementwise import ANY_OR_KEY, CONSTANT, ORDERED, Elementwise, NDArray

eq_p = Elementwise("eq", [ANY_OR_KEY, ANY_OR_KEY], operator.eq, {"fiubcKV": lambda x, y: x.equals(y)}, CONSTANT,
                   result=BOOL, laws="commutative")
ne_p = Elementwise("ne", [ANY_OR_KEY, ANY_OR_KEY], operator.ne, {"fiubcKV": lambda x, y: x.differs(y)}, CONSTANT,
                   result=BOOL, laws="commutative")
lt_p = Elementwise("lt", [ORDERED, ORDERED], np.less, lambda x, y: x < y, CONSTANT, result=BOOL)
le_p = Elementwise("le", [ORDERED, ORDERED], np.less_equal, lambda x, y: x <= y, CONSTANT, result=BOOL)
gt_p = Elementwise("gt", [ORDERED, ORDERED], np.greater, lambda x, y: x > y, CONSTANT, result=BOOL)
ge_p = Elementwise("ge", [ORDERED, ORDERED], np.greater_equal, lambda x, y: x >= y, CONSTANT, result=BOOL)


def _ordinal(x: NDArray) -> NDArray:
    """Return integers that are ordered as the elements of `x` are in the total order."""
    if not is_float(x.dtype):
        return x
    bits = np.ascontiguousarray(x).reshape(x.shape).view(np.dtype(f"int{8 * x.dtype.itemsize}"))
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _ordinal_in_c(x: Formula) -> Formula:
    """Return what `_ordinal` does to the widened element of an operand."""
    if x.dtype is None or not is_float(x.dtype):
        return x
    width = 64 if x.dtype.itemsize == 8 else 32
    bits = cast(f"int{width}_t", call("bits", x))
    return bits ^ ((bits >> width - 1) & ((1 << width - 1) - 1))


def _total(name: str, compare: np.ufunc, in_c: Callable[[Formula, Formula], Formula]) -> Elementwise:
    """One comparison in the total order; integers are compared as they are."""
    return Elementwise(name, [ORDERED, ORDERED], lambda x, y: compare(_ordinal(x), _ordinal(y)),
                       lambda x, y: in_c(_ordinal_in_c(x), _ordinal_in_c(y)), CONSTANT, result=BOOL)


eq_to_p = _total("eq_to", np.equal, Formula.equals)
lt_to_p = _total("lt_to", np.less, Formula.__lt__)
le_to_p = _total("le_to", np.less_equal, Formula.__le__)


def eq(x: Any, y: Any) -> Any:
    """Is `x == y`, element by element? Returns bool of the common shape.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.eq.html.

    >>> eq(np.int32(3), np.int32(3))
    Array(True, dtype=bool)
    """
    return eq_p.bind(x, y)


def ne(x: Any, y: Any) -> Any:
    """Is `x != y`, element by element? Returns bool of the common shape.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.ne.html.

    >>> ne(np.float32("nan"), np.float32("nan"))
    Array(True, dtype=bool)
    """
    return ne_p.bind(x, y)


def lt(x: Any, y: Any) -> Any:
    """Is `x < y`, element by element? Returns bool of the common shape.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.lt.html.

    >>> lt(np.int32(1), np.int32(3))
    Array(True, dtype=bool)
    """
    return lt_p.bind(x, y)


def le(x: Any, y: Any) -> Any:
    """Is `x <= y`, element by element? Returns bool of the common shape.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.le.html.

    >>> le(np.int32(3), np.int32(3))
    Array(True, dtype=bool)
    """
    return le_p.bind(x, y)


def gt(x: Any, y: Any) -> Any:
    """Is `x > y`, element by element? Returns bool of the common shape.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.gt.html.

    >>> gt(np.int32(1), np.int32(3))
    Array(False, dtype=bool)
    """
    return gt_p.bind(x, y)


def ge(x: Any, y: Any) -> Any:
    """Is `x >= y`, element by element? Returns bool of the common shape.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.ge.html.

    >>> ge(np.int32(3), np.int32(3))
    Array(True, dtype=bool)
    """
    return ge_p.bind(x, y)
