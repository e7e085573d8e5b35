"""`jax.experimental.pjit`: `jit` by its name from before it knew of shardings."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.api.jit import jit
from tinytrace.control_flow.pjit import pjit_p as pjit_p


def pjit(fun: Callable[..., Any], in_shardings: Any = None, out_shardings: Any = None, **options: Any) -> Any:
    """Return `jit(fun, in_shardings=in_shardings, out_shardings=out_shardings, **options)`.

    >>> pjit(lambda x: 2 * x)(3)
    Array(6, dtype=int32, weak_type=True)
    """
    return jit(fun, in_shardings=in_shardings, out_shardings=out_shardings, **options)
