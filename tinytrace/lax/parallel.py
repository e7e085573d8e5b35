"""The collectives by the name of JAX's file, and two that JAX has only there: where along an axis an extreme lies."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.dtypes import dtype_of
from tinytrace.primitives.collective_moves import all_gather as all_gather
from tinytrace.primitives.collective_moves import all_gather_p as all_gather_p
from tinytrace.primitives.collective_moves import all_to_all as all_to_all
from tinytrace.primitives.collective_moves import all_to_all_p as all_to_all_p
from tinytrace.primitives.collective_moves import pbroadcast as pbroadcast
from tinytrace.primitives.collective_moves import ppermute as ppermute
from tinytrace.primitives.collective_moves import ppermute_p as ppermute_p
from tinytrace.primitives.collective_moves import pshuffle as pshuffle
from tinytrace.primitives.collective_moves import psum_scatter as psum_scatter
from tinytrace.primitives.collective_moves import pswapaxes as pswapaxes
from tinytrace.primitives.collective_moves import reduce_scatter_p as reduce_scatter_p
from tinytrace.primitives.collectives import axis_index as axis_index
from tinytrace.primitives.collectives import axis_index_p as axis_index_p
from tinytrace.primitives.collectives import pmax as pmax
from tinytrace.primitives.collectives import pmax_p as pmax_p
from tinytrace.primitives.collectives import pmean as pmean
from tinytrace.primitives.collectives import pmin as pmin
from tinytrace.primitives.collectives import pmin_p as pmin_p
from tinytrace.primitives.collectives import psum as psum
from tinytrace.primitives.collectives import psum_p as psum_p
from tinytrace.primitives.creation import full
from tinytrace.primitives.select import select


def pargmin(x: Any, axis_name: Any) -> Any:
    """Return the first place along the named axis at which `x` is smallest.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.vmap(lambda x: pargmin(x, "i"), axis_name="i", out_axes=None)(jnp.array([3.0, 1.0, 1.0]))
    Array(1, dtype=int32)
    """
    return _place_of(x, pmin, axis_name)


def pargmax(x: Any, axis_name: Any) -> Any:
    """Return the first place along the named axis at which `x` is largest."""
    return _place_of(x, pmax, axis_name)


def _place_of(x: Any, extreme: Any, axis_name: Any) -> Any:
    if isinstance(axis_name, (tuple, list)):
        raise TypeError(f"pargmin only accepts a single axis, got {axis_name}")
    place, shape = axis_index(axis_name), np.shape(x)
    nowhere = np.iinfo(dtype_of(place)).max
    places = select(extreme(x, axis_name) == x, full(shape, place), full(shape, nowhere, dtype_of(place)))
    return pmin(places, axis_name)
