"""Shapes of convolutions, asked for without arrays."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.primitives.convolution import enlarging_pads
from tinytrace.primitives.convolution_dimensions import positions
from tinytrace.primitives.shaping import inverse_permutation
from tinytrace.primitives.windows import padtype_to_pads

Shape = tuple[int, ...]


def conv_general_permutations(dimension_numbers: tuple[str, str, str]) -> tuple[Shape, Shape, Shape]:
    """Return for image, kernel and result the places of batch, features and space: of ("NHWC", "HWIO", "NHWC").

    >>> conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    return tuple(positions(dimension_numbers))  # type: ignore[return-value]


def conv_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int], pads: Any,
                     batch_group_count: int = 1) -> Shape:
    """Return the shape of a convolution of an image [batch, features, *space] with a kernel [out, in, *space].

    Raises: TypeError for a wrong number of pads, ValueError for a padding below zero that takes more than there is.

    >>> conv_shape_tuple((1, 3, 8), (5, 3, 3), (1,), "VALID")
    (1, 5, 6)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(f"Wrong number of explicit pads for convolution: expected {len(lhs_shape) - 2}, got "
                        f"{len(pads)}.")
    padded = [size + low + high for size, (low, high) in zip(lhs_shape[2:], pads, strict=True)]
    if any(size < 0 for size in padded):
        raise ValueError("Negative padding is larger than the size of the corresponding dimension: got "
                         f"padding={pads} for lhs_shape[2:]={lhs_shape[2:]}")
    space = (max((size - width) // stride + 1, 0)
             for size, width, stride in zip(padded, rhs_shape[2:], strides, strict=False))
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *space)


def conv_general_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int],
                             padding: Any, dimension_numbers: tuple[str, str, str]) -> Shape:
    """Return the shape of a convolution whose dimensions are what `dimension_numbers` say.

    >>> conv_general_shape_tuple((1, 8, 3), (3, 3, 5), (1,), "SAME", ("NWC", "WIO", "NWC"))
    (1, 8, 5)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple([lhs_shape[k] for k in lhs], [rhs_shape[k] for k in rhs], window_strides, padding)
    return tuple(shape[k] for k in inverse_permutation(out))


def conv_transpose_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int],
                               padding: Any, dimension_numbers: tuple[str, str, str]) -> Shape:
    """Return the shape of a transposed convolution, whose stride enlarges the image.

    Raises: ValueError for a padding that is neither "SAME" nor "VALID" nor numbers.

    >>> conv_transpose_shape_tuple((1, 4, 3), (3, 3, 5), (2,), "SAME", ("NWC", "WIO", "NWC"))
    (1, 8, 5)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    image, kernel = [lhs_shape[k] for k in lhs], [rhs_shape[k] for k in rhs]
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            raise ValueError("Padding mode must be `SAME` or `VALID`.")
        padding = [enlarging_pads(width, stride, padding == "SAME")
                   for width, stride in zip(kernel[2:], window_strides, strict=True)]
    space = ((size - 1) * stride - width + 2 + sum(pads)
             for size, width, stride, pads in zip(image[2:], kernel[2:], window_strides, padding, strict=True))
    shape = (image[0], kernel[0], *space)
    return tuple(shape[k] for k in inverse_permutation(out))
