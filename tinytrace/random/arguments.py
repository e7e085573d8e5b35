"""What the samplers ask of their arguments: float types, shapes that parameters broadcast to."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.core.avals import canonicalize_shape
from tinytrace.core.dtypes import DType, canonicalize_dtype, dtype_of, is_complex, is_float, warn_if_truncated

Shape = Sequence[int]


def user_dtype(dtype: Any) -> DType:
    """Return the type that a sampler is asked for in the width that arrays can have; warns when it is narrowed."""
    warn_if_truncated(dtype)
    return canonicalize_dtype(dtype)


def float_dtype(name: str, dtype: Any, wanted: str = "float") -> DType:
    """Return the type that a sampler is asked for: a float, or a complex one where `wanted` says so.

    Raises: ValueError if it is none.
    """
    canonical = user_dtype(dtype)
    if not (is_float(canonical) or ("complex" in wanted and is_complex(canonical))):
        raise ValueError(f"dtype argument to `{name}` must be a {wanted} dtype, got {dtype}")
    return canonical


def optional_shape(shape: Shape | None) -> tuple[int, ...] | None:
    """Return a shape as a tuple; None, which stands for the shape of the parameters, stays."""
    return None if shape is None else canonicalize_shape(shape)


def sample_shape(name: str, shape: tuple[int, ...] | None, *parameters: Any) -> tuple[int, ...]:
    """Return the shape of the samples: the one that is asked for, or that of the parameters.

    Raises: ValueError if the parameters do not broadcast to the shape that is asked for.
    """
    shapes = [np.shape(x) for x in parameters]
    if shape is None:
        return lax.broadcast_shapes(*shapes)
    check_broadcast(name, shape, *shapes)
    return shape


def check_broadcast(name: str, shape: tuple[int, ...], *parameters: tuple[int, ...]) -> None:
    """Raise a ValueError unless shapes of parameters broadcast to `shape`."""
    if parameters and shape != lax.broadcast_shapes(shape, *parameters):
        raise ValueError(f"{name} parameter shapes must be broadcast-compatible with shape argument, and the result "
                         f"of broadcasting the shapes must equal the shape argument, but got result "
                         f"{lax.broadcast_shapes(shape, *parameters)} for shape argument {shape}.")


def given_dtype(x: Any) -> DType:
    """Return the type in which a parameter comes, before 64 bits become 32."""
    return dtype_of(x, canonical=False)
