"""Comparisons: eq ne lt le gt ge. The result is bool; a comparison with NaN is false, except `ne`."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.dtypes import BOOL
from tinytrace.primitives.elementwise import ANY_OR_KEY, CONSTANT, ORDERED, Elementwise

eq_p = Elementwise("eq", [ANY_OR_KEY, ANY_OR_KEY], np.equal, "{0} == {1}", CONSTANT, result=BOOL)
ne_p = Elementwise("ne", [ANY_OR_KEY, ANY_OR_KEY], np.not_equal, "{0} != {1}", CONSTANT, result=BOOL)
lt_p = Elementwise("lt", [ORDERED, ORDERED], np.less, "{0} < {1}", CONSTANT, result=BOOL)
le_p = Elementwise("le", [ORDERED, ORDERED], np.less_equal, "{0} <= {1}", CONSTANT, result=BOOL)
gt_p = Elementwise("gt", [ORDERED, ORDERED], np.greater, "{0} > {1}", CONSTANT, result=BOOL)
ge_p = Elementwise("ge", [ORDERED, ORDERED], np.greater_equal, "{0} >= {1}", CONSTANT, result=BOOL)


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
