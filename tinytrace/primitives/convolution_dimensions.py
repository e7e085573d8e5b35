"""Which dimensions of image, kernel and result of a convolution are what: as users write it, and as positions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.primitive import param_type
from tinytrace.primitives.windows import Ints
from tinytrace.records import NamedTuple


@param_type
class ConvDimensionNumbers(NamedTuple):
    """Which dimensions of image, kernel and result are what.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.ConvDimensionNumbers.html.
    """

    lhs_spec: Ints
    """batch, feature, spatial..."""
    rhs_spec: Ints
    """out feature, in feature, spatial..."""
    out_spec: Ints
    """batch, feature, spatial..."""


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                           dimension_numbers: Any) -> ConvDimensionNumbers:
    """Return dimension numbers, given as strings or not at all, as positions; raises TypeError when they make no sense.

    >>> conv_dimension_numbers((1, 9, 3), (4, 3, 5), ("NWC", "WIO", "NWC"))
    ConvDimensionNumbers(lhs_spec=(0, 2, 1), rhs_spec=(2, 1, 0), out_spec=(0, 2, 1))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError("convolution requires lhs and rhs ndim to be equal, got "
                        f"{len(lhs_shape)} and {len(rhs_shape)}.")
    if dimension_numbers is None:
        order = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(order, order, order)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(f"convolution dimension_numbers must be tuple/list or None, got {type(dimension_numbers)}.")
    if len(dimension_numbers) != 3:
        raise TypeError("convolution dimension_numbers list/tuple must be length 3, got "
                        f"{len(dimension_numbers)}.")
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError("convolution dimension_numbers elements must be strings, got "
                        f"{tuple(map(type, dimension_numbers))}.")
    for k, spec in enumerate(dimension_numbers):
        if len(spec) != len(lhs_shape):
            raise TypeError(f"convolution dimension_numbers[{k}] must have len equal to the ndim of lhs and rhs, got "
                            f"{len(spec)} for lhs and rhs shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}.")
    return positions(tuple(dimension_numbers))


def positions(specs: tuple[str, str, str]) -> ConvDimensionNumbers:
    """Return what letters say as positions: N, C of image and result, O, I of the kernel, and others for space.

    Raises: TypeError unless each of them is there once.

    >>> positions(("NHWC", "HWIO", "NHWC")).rhs_spec
    (3, 2, 0, 1)
    """
    features = (("N", "C"), ("O", "I"), ("N", "C"))
    for k, (spec, (first, second)) in enumerate(zip(specs, features, strict=True)):
        if not spec.count(first) == spec.count(second) == 1:
            raise TypeError(f"convolution dimension_numbers[{k}] must contain the characters '{first}' and '{second}' "
                            f"exactly once, got {spec}.")
        if len(spec) != len(set(spec)):
            raise TypeError(f"convolution dimension_numbers[{k}] cannot have duplicate characters, got {spec}.")
    spatial = [set(spec) - set(pair) for spec, pair in zip(specs, features, strict=True)]
    if not spatial[0] == spatial[1] == spatial[2]:
        raise TypeError("convolution dimension_numbers elements must each have the same set of spatial characters, got "
                        f"{specs}.")
    order = [c for c in specs[1] if c not in "OI"]
    return ConvDimensionNumbers(*(tuple(map(spec.index, (*pair, *order)))
                                  for spec, pair in zip(specs, features, strict=True)))
