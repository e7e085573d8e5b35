"""`jax.typing`: what stands for arrays and their types in annotations.

Both are unions: libraries take them apart to check the types of arguments while a program runs.
See https://jax.readthedocs.io/en/latest/jax.typing.html.
"""
from typing import Any, Protocol, Union, runtime_checkable

import numpy as np

from tinytrace.core.basearray import Array


@runtime_checkable
class SupportsDType(Protocol):
    """What has a dtype, such as `jnp.float32`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""


ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007  (printed as JAX's)
DTypeLike = Union[str, type[Any], np.dtype, SupportsDType]  # noqa: UP007

__all__ = ["ArrayLike", "DTypeLike"]
