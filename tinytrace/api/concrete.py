"""Concrete values as the Arrays that programs take."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.array import Array, array_from_host
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, DType
from tinytrace.core.numpy_calls import to_numpy

SCALARS = (float, int, bool)
"""Python's numbers that calls without Python understand."""


def as_array(x: Any, aval: ShapedArray) -> Any:
    """Return a concrete value as an Array of type `aval` (no copy where possible); of dtype float0 as NumPy's."""
    if aval.dtype == FLOAT0:
        return np.asarray(x)
    if type(x) is Array:
        return x if x.aval is aval else x.again(aval)
    return array_from_host(np.asarray(to_numpy(x, aval)), aval)


def held(x: Any, aval: ShapedArray) -> Any:
    """Return a value as an Array that nobody else has: it stays when the user deletes his, or gives it away."""
    if type(x) is Array:
        x.block  # noqa: B018  (its elements are copied there once, for both)
        return x.again(aval)
    return as_array(x, aval)


def leaf_type(leaf: Any) -> type:
    """Return what a call is told of a leaf by its type: NumPy's scalars are arrays of one element."""
    return np.ndarray if isinstance(leaf, np.generic) else type(leaf)


def type_number(dtype: DType) -> int:
    """Return NumPy's number of a dtype, by which the hit path stores what is no Array; -1 if it has none."""
    return dtype.num if isinstance(dtype, np.dtype) else -1
