"""`jax._src.dtypes`: what `jax.dtypes` has, and the classes of extended types."""
from __future__ import annotations

import abc
from typing import Any

from tinytrace.core.dtypes import KeyType, TypePromotionError, dtype_of
from tinytrace.core.dtypes import is_weak as is_weakly_typed
from tinytrace.core.dtypes import short_name as short_dtype_name
from tinytrace.dtypes import bfloat16, canonicalize_dtype, extended, float0, iinfo, issubdtype, prng_key, result_type
from tinytrace.dtypes import finfo as finfo
from tinytrace.dtypes import scalar_type_of as scalar_type_of

DType = Any


class ExtendedDType(abc.ABC):  # noqa: B024  (a name for a type that is elsewhere)
    """A type of elements that NumPy does not have: that of random keys."""


ExtendedDType.register(KeyType)


def dtype(x: Any, *, canonicalize: bool = False) -> Any:
    """Return the dtype of a value or a type; with `canonicalize` the one that an array of it has.

    Raises: ValueError for None; TypeError for what has none.
    """
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    return dtype_of(x, canonicalize)


__all__ = ["DType", "ExtendedDType", "TypePromotionError", "bfloat16", "canonicalize_dtype", "dtype", "extended",
           "finfo", "float0", "iinfo", "is_weakly_typed", "issubdtype", "prng_key", "result_type", "scalar_type_of",
           "short_dtype_name"]
