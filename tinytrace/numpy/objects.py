"""Questions about any object, and files: isscalar, load."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.array import Array
from tinytrace.core.dtypes import BFLOAT16
from tinytrace.core.trace import Tracer
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.promotion import Value


def isscalar(element: Any) -> bool:
    """Is `element` a number, or an array without dimensions?

    >>> jnp.isscalar(3), jnp.isscalar(jnp.array([3]))
    (True, False)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.isscalar.html.
    """
    if isinstance(element, (np.ndarray, Array, Tracer)):
        return element.ndim == 0
    if hasattr(element, "__jax_array__"):
        return isscalar(element.__jax_array__())
    return bool(np.isscalar(element)) and not isinstance(element, (str, bytes))


def load(file: Any, *args: Any, **kwargs: Any) -> Value:
    """Read an array from a file that `np.save` wrote.

    See https://numpy.org/doc/stable/reference/generated/numpy.load.html.
    """
    out = np.load(file, *args, **kwargs)
    if not isinstance(out, np.ndarray):
        return out
    if out.dtype == "V2":
        out = out.view(BFLOAT16)
    return asarray(out)
