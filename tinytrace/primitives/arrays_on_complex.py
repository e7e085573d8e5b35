"""Sums, products of arrays, and sorting of complex numbers: programs on their real and imaginary parts.

A sum of complex numbers is two sums in one loop, vectorised like those of floats; a matrix product is four of the
BLAS. Sorting goes by real parts, then by imaginary parts.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.dtypes import is_complex, part_dtype
from tinytrace.primitives.arithmetic import add, sub
from tinytrace.primitives.broadcasting import reduce_sum, reduce_sum_p
from tinytrace.primitives.complex_numbers import complex, imag, real
from tinytrace.primitives.contraction import DimensionNumbers, dot_general, dot_general_p
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.on_complex import means_on_parts
from tinytrace.primitives.sorting import sort_p


@means_on_parts(reduce_sum_p)
def _sum(x: Any, *, axes: Sequence[int]) -> Any:
    return complex(reduce_sum(real(x), axes), reduce_sum(imag(x), axes))


@means_on_parts(dot_general_p)
def _dot_general(x: Any, y: Any, *, dimension_numbers: DimensionNumbers, precision: Any,
                 preferred_element_type: np.dtype[Any] | None) -> Any:
    preferred = None if preferred_element_type is None else part_dtype(preferred_element_type)

    def product(a: Any, b: Any) -> Any:
        return dot_general(a, b, dimension_numbers, precision, preferred)

    if not is_complex(x.dtype):
        x = convert_element_type(x, y.dtype)
    if not is_complex(y.dtype):
        y = convert_element_type(y, x.dtype)
    (a, b), (c, d) = (real(x), imag(x)), (real(y), imag(y))
    return complex(sub(product(a, c), product(b, d)), add(product(a, d), product(b, c)))


@means_on_parts(sort_p)
def _sort(*args: Any, dimension: int, is_stable: bool, num_keys: int) -> list[Any]:
    split = [[real(x), imag(x)] if is_complex(x.dtype) else [x] for x in args]
    keys = sum(map(len, split[:num_keys]))
    flat = [part for parts in split for part in parts]
    parts = iter(sort_p.bind(*flat, dimension=dimension, is_stable=is_stable, num_keys=keys))
    return [complex(next(parts), next(parts)) if is_complex(x.dtype) else next(parts) for x in args]
