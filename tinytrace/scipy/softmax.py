"""softmax and log_softmax as SciPy calls them: over all axes unless told."""
from __future__ import annotations

from typing import Any

from tinytrace import nn
from tinytrace.numpy.promotion import ArrayLike, Value


def softmax(x: ArrayLike, /, *, axis: Any = None) -> Value:
    """Return `exp(x)` scaled so that it sums to 1 over `axis`, which is all axes by default.

    >>> softmax(jnp.array([0.0, 0.0]))
    Array([0.5, 0.5], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.softmax.html.
    """
    return nn.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, /, *, axis: Any = None) -> Value:
    """Return the logarithm of `softmax`, without overflow.

    >>> log_softmax(jnp.array([0.0, 0.0]))
    Array([-0.6931472, -0.6931472], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.log_softmax.html.
    """
    return nn.log_softmax(x, axis=axis)
