"""The three-argument `where`, on which much of this package stands."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import BOOL
from tinytrace.numpy.promotion import Value, broadcast_arrays, promote_dtypes
from tinytrace.primitives.elementwise import zero_like


@library_jit(elementwise=True)
def _where(condition: Any, x: Any, y: Any) -> Value:
    if aval_of(condition).dtype != BOOL:
        condition = lax.ne(condition, zero_like(condition))
    x, y = promote_dtypes(x, y)
    if np.ndim(condition) == 0:  # select_n takes a scalar condition as it is
        x, y = broadcast_arrays(x, y)
    else:
        condition, x, y = broadcast_arrays(condition, x, y)
    return lax.select(condition, x, y) if 0 not in np.shape(x) else x


choose_where = _where
"""The three-argument `where`, for the functions of this package."""
