"""Sorting by the host of programs, of arrays whose length no program was compiled for."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace._runtime import ffi, lib
from tinytrace.runtime.status import raise_status

_KINDS = {"b": 0, "u": 0, "i": 1, "f": 2}
_ZEROS_BY_SIGN = 32
"""How elements compare: TT_SIGNED, TT_FLOAT and TT_ZEROS_BY_SIGN of csrc/tt_host.h."""


def sorted_values(x: np.ndarray[Any, Any], zeros_by_sign: bool = False) -> np.ndarray[Any, Any]:
    """Return the elements of `x`, real numbers of NumPy's own types along one axis, in rising order as `lax.sort` does.

    The order is stable, which shows in the signs of zeros, and NaN comes last.  zeros_by_sign: -0 is less than 0.

    >>> sorted_values(np.array([3.0, np.nan, -1.0]))
    array([-1.,  3., nan])
    """
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    kind = _KINDS[x.dtype.kind] | _ZEROS_BY_SIGN * zeros_by_sign
    status = lib.tt_sort(x.itemsize, kind, 1, x.size, 1, ffi.from_buffer("char[]", x), ffi.from_buffer("char[]", out))
    if status:
        raise_status(status)
    return out
