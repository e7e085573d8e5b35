"""Sets of concrete arrays, found by hashing and sorting (un-jitted `unique` and `isin`)."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import ShapedArray
from tinytrace.core.storage_types import STORAGE_TYPES
from tinytrace.numpy.promotion import ArrayLike, promote_dtypes
from tinytrace.runtime.sorting import sorted_values

MANY_PAIRS = 1 << 22
"""From so many pairs on sorting both sides is quicker than to compare them."""
MANY = 1 << 14
"""From so many elements on the host's sort is quicker than NumPy's hashing, up to a hundred times."""
EARLY = 4096
"""So many elements are looked at before all of them, for the first that is 0 or NaN."""


def distinct(x: np.ndarray[Any, Any]) -> Array:
    """Return the distinct elements of an array of one axis, sorted.

    Of 0 and -0, and of NaNs, the first one stays, as in a stable order.
    """
    found = _distinct_of_sorted(sorted_values(x, zeros_by_sign=True)) if x.size >= MANY else np.unique(x)
    if x.dtype.kind == "f":
        for is_it in (np.logical_not, np.isnan):
            if (which := is_it(found)).any():
                early = is_it(x[:EARLY])
                found[which] = x[(early if early.any() else is_it(x)).argmax()]
    return array_from_numpy(found, ShapedArray(found.shape, found.dtype))


def _distinct_of_sorted(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    is_new = np.ones(x.size, np.bool)
    np.not_equal(x[1:], x[:-1], out=is_new[1:])
    if x[-1] != x[-1]:
        is_new[np.searchsorted(x, np.nan) + 1:] = False
    return x[is_new]


def found_by_sorting(element: ArrayLike, test_elements: ArrayLike, invert: bool) -> Array | None:
    """Return the answer for many elements by NumPy, which sorts them; None where comparing all with all is as quick."""
    a, b = promote_dtypes(element, test_elements)
    if not type(a) is type(b) is Array or a.dtype.kind not in "biuf" or a.dtype in STORAGE_TYPES \
            or a.size * b.size < MANY_PAIRS:
        return None
    found = np.isin(a._value, b._value, invert=invert)
    return array_from_numpy(found, ShapedArray(found.shape, found.dtype))
