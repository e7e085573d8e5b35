"""`stop_gradient`: the identity whose derivative is zero."""
from __future__ import annotations

from typing import Any

from tinytrace.config import config
from tinytrace.core.array import Array
from tinytrace.core.dtypes import dtype_of, is_inexact
from tinytrace.core.trace import is_eager
from tinytrace.core.trees import tree_map
from tinytrace.primitives.elementwise import ANY_OR_KEY, CONSTANT, Elementwise, itself


def stop_gradient(x: Any) -> Any:
    """Return `x`, a pytree, as a value that does not depend on anything, as far as derivatives can tell.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.stop_gradient.html.

    >>> stop_gradient(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    return tree_map(_stopped, x)


def _stopped(leaf: Any) -> Any:
    if not is_inexact(dtype_of(leaf)):
        return leaf
    if type(leaf) is Array and is_eager() and not config.checks_results:
        return leaf.again(leaf.aval)
    return stop_gradient_p.bind(leaf)


stop_gradient_p = Elementwise("stop_gradient", [ANY_OR_KEY], lambda x: x, {"fiubcKV": itself}, CONSTANT, ulp=0)
