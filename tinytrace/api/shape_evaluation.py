"""`eval_shape`: the types of a function's results, without computing anything."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinytrace.api.jit import jit
from tinytrace.tracebacks import api_boundary


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of `fun(*args, **kwargs)` as a tree of `ShapeDtypeStruct`.

    Arguments may be ShapeDtypeStructs themselves.

    Raises: whatever calling `fun` on such shapes raises.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.eval_shape.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.eval_shape(jnp.dot, jax.ShapeDtypeStruct((200, 300), jnp.float32), jnp.ones((300, 5)))
    ShapeDtypeStruct(shape=(200, 5), dtype=float32)
    """
    try:
        hash(fun)
    except TypeError:
        fun = functools.partial(fun)
    return jit(fun).eval_shape(*args, **kwargs)
