"""`jax.lib.xla_client`: types of JAX's C++ half, by its older name."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.array import Array as ArrayImpl
from tinytrace.core.array import Device as Device
from tinytrace.errors import JaxRuntimeError as XlaRuntimeError
from tinytrace.lib import xla_extension as _xla
from tinytrace.util import lazy_names

__getattr__ = lazy_names("tinytrace", {"HloSharding": "gspmd_sharding"}, __name__)


class Shape:
    """The type of an array, or of a tuple of them: what `Device.transfer_from_outfeed` is told."""

    def __init__(self, pyval: Any) -> None:
        self._pyval = pyval

    def is_tuple(self) -> bool:
        """Is it that of a tuple?"""
        return isinstance(self._pyval, tuple)

    def tuple_shapes(self) -> list[Shape]:
        """Return those of the elements."""
        return list(map(Shape, self._pyval))

    def dimensions(self) -> tuple[int, ...]:
        """Return the sizes."""
        return np.shape(self._pyval)

    def numpy_dtype(self) -> np.dtype[Any]:
        """Return the dtype."""
        return np.asarray(self._pyval).dtype

    def with_major_to_minor_layout_if_absent(self) -> Shape:
        """Return this type: arrays lie in this order anyway."""
        return self


def shape_from_pyval(pyval: Any) -> Shape:
    """Return the type of an array or of a tuple of arrays."""
    return Shape(pyval)


__all__ = ["ArrayImpl", "Device", "Shape", "XlaRuntimeError", "_xla", "shape_from_pyval"]
