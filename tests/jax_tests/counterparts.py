"""What tinytrace has of JAX's insides under other names: the tests of numpy, linalg, random and scipy ask for these."""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from tinytrace.core import dtypes
from tinytrace.core.dtypes import KeyType
from tinytrace.numpy import promotion


class _KeyArray(type):
    """The type of a class whose instances are the arrays of typed keys: here they have no class of their own."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(getattr(x, "dtype", None), KeyType)


def is_accelerated(deprecation_id: str) -> bool:
    """Is what JAX deprecates an error already? It warns, as in JAX 0.4.35."""
    return False


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """`dtypes.canonicalize_dtype`, which passes on what no array can hold."""
    try:
        return dtypes.canonicalize_dtype(dtype)
    except TypeError:
        return np.dtype(dtype)


def to_inexact_dtype(dtype: Any) -> Any:
    """Return the type of floats for a type of integers, and any other as it is."""
    return promotion.to_inexact_dtype(np.dtype(dtype))


def convert_element_type(x: Any, dtype: Any = None, weak_type: bool = False) -> Any:
    """`lax.convert_element_type`, to a weak type too."""
    return promotion.convert(x, canonicalize_dtype(np.dtype(dtype)), weak_type)


COUNTERPARTS: dict[str, dict[str, Any]] = {
    "jax._src.deprecations": {"is_accelerated": is_accelerated},
    "jax._src.dtypes": {"canonicalize_dtype": canonicalize_dtype, "to_inexact_dtype": to_inexact_dtype,
                        },
    "jax._src.lax.lax": {"_convert_element_type": convert_element_type},
    "jax._src.numpy.util": {
        "promote_dtypes": promotion.promote_dtypes,
        "promote_dtypes_inexact": promotion.promote_dtypes_inexact,
    },
    "jax._src.prng": {
        "prngs": {name: types.SimpleNamespace(name=name, tag=tag, key_shape=(size,)) for name, tag, size in (
            ("threefry2x32", "fry", 2), ("rbg", "rbg", 4), ("unsafe_rbg", "urbg", 4))},
        "PRNGKeyArray": _KeyArray("PRNGKeyArray", (), {}),
        "KeyTy": KeyType,
    },
    "jax._src.util": {"NumpyComplexWarning": np.exceptions.ComplexWarning},
}
"""By module of JAX: names, and what they are here."""

NEWER_UFUNCS = ("matvec", "vecmat")
"""Ufuncs of NumPy since 2.2, which these tests do not know: they take each ufunc for one that maps elements."""
