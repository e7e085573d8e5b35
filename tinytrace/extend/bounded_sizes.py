"""Sizes that are values, for `jax._src.core`: the element type `bint` of integers up to a bound, and arrays of it.

    lengths = lax.convert_element_type(jnp.array([3, 1, 4]), bint(5))
    jax.vmap(lambda n: jnp.arange(n, dtype="int32").sum())(lengths)         # 3, 0, 6

Under `vmap` the element `n` is the size of ragged axes: see `interpreters.jumbles`.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import INT32
from tinytrace.core.tree_registry import register_pytree_node
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.records import dataclass


@dataclass(frozen=True)
class bint:  # noqa: N801  (JAX's name)
    """The type of integers from 0 to `bound`.

    >>> str(bint(5))
    'bint{≤5}'
    """

    bound: int

    @property
    def name(self) -> str:
        """The name of the type."""
        return f"bint{{≤{self.bound}}}"

    def __str__(self) -> str:
        return self.name

    def array_of(self, x: Any) -> DArray:
        """Return integers as an array of this type; that none is above the bound is the caller's word.

        Raises: TypeError for what are no integers.
        """
        x = x.data if isinstance(x, DArray) else x
        if aval_of(x).dtype.kind not in "iu":
            raise TypeError(f"sizes are integers: {self} cannot hold elements of type {aval_of(x).dtype.name}")
        return DArray(self, convert_element_type(x, INT32))


class DArray:
    """Sizes: an array of integers of type `bint`. A node of trees, with its `data`, int32, as the one child.

    >>> bint(5).array_of(np.int32([3, 1, 4]))
    bint{≤5}[3] with value: [3 1 4]
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, dtype: bint, data: Any) -> None:
        self.dtype, self.data = dtype, data

    shape = property(lambda self: np.shape(self.data))
    ndim = property(lambda self: len(self.shape))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __repr__(self) -> str:
        if not self.shape:
            return f"{self.data}{{≤{self.dtype.bound}}}"
        return f"{self.dtype}[{','.join(map(str, self.shape))}] with value: {self.data}"


register_pytree_node(DArray, lambda x: ((x.data,), x.dtype), lambda dtype, children: DArray(dtype, *children))
