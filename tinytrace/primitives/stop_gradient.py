"""`stop_gradient`: the identity whose derivative is zero."""
from __future__ import annotations

from typing import Any

from tinytrace.core.dtypes import dtype_of, is_inexact
from tinytrace.core.trees import tree_map
from tinytrace.primitives.elementwise import ANY_OR_KEY, CONSTANT, Elementwise, itself


def stop_gradient(x: Any) -> Any:
    """Return `x`, a pytree, as a value that does not depend on anything, as far as derivatives can tell.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.stop_gradient.html.

    >>> stop_gradient(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    return tree_map(lambda leaf: stop_gradient_p.bind(leaf) if is_inexact(dtype_of(leaf)) else leaf, x)


stop_gradient_p = Elementwise("stop_gradient", [ANY_OR_KEY], lambda x: x, {"fiubcKV": itself}, CONSTANT, ulp=0)
