"""`zeros`, `ones` and `empty`: arrays of one number, by shape and dtype.

What a shape and a dtype come to is found out once; from then on the answer is another array of the same one element
(`core/one_number.py`), whatever its size.
"""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace._dispatch import FastCallable, current_epoch
from tinytrace.api.one_number import number_entry
from tinytrace.core.array import array_of_own
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import KeyType
from tinytrace.core.trace import is_eager
from tinytrace.numpy.promotion import Value, float_dtype, shape_tuple, user_dtype
from tinytrace.primitives.creation import full_aval, full_of_number


class Filled(FastCallable):
    """A function of a shape and a dtype, None for floats: an array that is `number` everywhere."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self._configure(Filled._first_call, (0, 1), ("dtype",))

    def _first_call(self, shape: Any, dtype: Any) -> Value:
        epoch = current_epoch()
        aval = full_aval(shape, float_dtype() if dtype is None else dtype, int) if is_eager() else None
        if aval is None:
            return self._of_any(shape, dtype)
        if (entry := number_entry(self.number, aval)) is not None:
            for args, kwargs in self._ways(shape, dtype):
                self._learn(args, kwargs, entry, epoch)
        return full_of_number(self.number, aval)

    @staticmethod
    def _ways(shape: Any, dtype: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Return the positional and keyword arguments by which users ask for these."""
        return [((shape, dtype), {}), ((shape,), {"dtype": dtype}), *([((shape,), {})] if dtype is None else [])]

    def _of_any(self, shape: Any, dtype: Any) -> Value:
        """Answer while something is traced, or for what must be looked at, or refused."""
        if isinstance(shape, types.GeneratorType):
            raise TypeError("expected sequence object with len >= 0 or a single integer")
        if isinstance(dtype, int) and isinstance(shape, int):
            raise TypeError(f"Cannot interpret '{dtype}' as a data type.\n\nDid you accidentally write "
                            f"`jax.numpy.{self.name}({shape}, {dtype})` when you meant "
                            f"`jax.numpy.{self.name}(({shape}, {dtype}))`, i.e. with a single tuple argument for the "
                            "shape?")
        shape, dtype = shape_tuple(shape), user_dtype(dtype, self.name) or float_dtype()
        if is_eager() and not isinstance(dtype, KeyType) and min(shape, default=0) >= 0:
            filled = np.full(shape, self.number, dtype) if self.number else np.zeros(shape, dtype)
            return array_of_own(filled, ShapedArray(shape, dtype))
        return lax.full(shape, self.number, dtype)


zeros, ones, empty = Filled("zeros", 0), Filled("ones", 1), Filled("empty", 0)
