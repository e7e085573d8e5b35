"""Convolution over any number of spatial dimensions, with strides, dilations and groups: conv_general_dilated.

It is a matrix product of the windows of the image with the kernel, and so are both of its transposes; where each
channel has kernels of its own it is a sum of shifted images (`convolution_by_taps`), and of an image with holes it is
several (`convolution_by_phases`). An image is padded first, where it lies: nothing that reads windows asks whether one
hangs over, and the code generator gathers them a block at a time.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0, KeyType, canonicalize_dtype, dtype_of, is_float
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.checks import check_same_dtypes, inserted, remaining, without
from tinytrace.primitives.composite import Composite
from tinytrace.primitives.contraction import Bilinear, dot_general
from tinytrace.primitives.convolution_by_phases import convolved_by_phases, phases_of
from tinytrace.primitives.convolution_by_taps import is_short, summed_over_taps
from tinytrace.primitives.convolution_dimensions import ConvDimensionNumbers, conv_dimension_numbers
from tinytrace.primitives.creation import full
from tinytrace.primitives.elementwise import zero_like
from tinytrace.primitives.precision import canonicalize_precision, is_algorithm
from tinytrace.primitives.shaping import inverse_permutation, reshape, rev, transpose
from tinytrace.primitives.slicing import dilated, pad
from tinytrace.primitives.windows import Ints, Pads, padtype_to_pads, transposed_pads, window_counts, windows


def conv_general_dilated(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Pads,
                         lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
                         dimension_numbers: Any = None, feature_group_count: int = 1, batch_group_count: int = 1,
                         precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Slide kernel `rhs` over image `lhs` and sum the products (without flipping the kernel).

    dimension_numbers: three strings such as ("NHWC", "HWIO", "NHWC"); by default ("NCHW", "OIHW", "NCHW").
    padding: "SAME", "SAME_LOWER", "VALID", or (low, high) for each spatial dimension.
    Raises: ValueError or TypeError when the shapes and numbers do not fit.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.conv_general_dilated.html.

    >>> conv_general_dilated(np.float32([[[1, 2, 3]]]), np.float32([[[1, 1]]]), (1,), "VALID")
    Array([[[3., 5.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(np.shape(lhs), np.shape(rhs), dimension_numbers)
    ones = (1,) * (np.ndim(lhs) - 2)
    if isinstance(padding, str):
        if lhs_dilation is not None and tuple(lhs_dilation) != (1,) * len(lhs_dilation):
            raise ValueError("String padding is not implemented for transposed convolution using this op. Please "
                             "either exactly specify the required padding or use conv_transpose.")
        window = [dilated(np.shape(rhs)[axis], step - 1)
                  for axis, step in zip(numbers.rhs_spec[2:], rhs_dilation or ones, strict=True)]
        pads: Pads = padtype_to_pads([np.shape(lhs)[axis] for axis in numbers.lhs_spec[2:]], window, window_strides,
                                     padding)
    else:
        pads = _explicit_pads(padding)
    return conv_general_dilated_p.bind(
        lhs, rhs, window_strides=tuple(window_strides), padding=tuple(pads), lhs_dilation=tuple(lhs_dilation or ones),
        rhs_dilation=tuple(rhs_dilation or ones), dimension_numbers=numbers, feature_group_count=feature_group_count,
        batch_group_count=batch_group_count, precision=canonicalize_precision(precision),
        preferred_element_type=None if preferred_element_type is None else canonicalize_dtype(preferred_element_type))


def conv(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str, precision: Any = None,
         preferred_element_type: Any = None) -> Any:
    """Convolve with padding "SAME" or "VALID" and default dimension numbers.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.conv.html.
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str | Pads,
                              lhs_dilation: Sequence[int] | None, rhs_dilation: Sequence[int] | None,
                              precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Convolve with dilations and default dimension numbers; see `conv_general_dilated`."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_transpose(lhs: Any, rhs: Any, strides: Sequence[int], padding: str | Pads,
                   rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
                   transpose_kernel: bool = False, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Convolve with a stride that enlarges the image, as "deconvolution" layers do.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.conv_transpose.html.
    """
    ndim = np.ndim(lhs)
    if dimension_numbers is None:
        defaults = {2: ("NC", "IO", "NC"), 3: ("NHC", "HIO", "NHC"), 4: ("NHWC", "HWIO", "NHWC"),
                    5: ("NHWDC", "HWDIO", "NHWDC")}
        if ndim not in defaults:
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        dimension_numbers = defaults[ndim]
    numbers = conv_dimension_numbers(np.shape(lhs), np.shape(rhs), dimension_numbers)
    if padding in ("SAME", "VALID"):
        steps = rhs_dilation or (1,) * (ndim - 2)
        widths = [dilated(np.shape(rhs)[axis], step - 1)
                  for axis, step in zip(numbers.rhs_spec[2:], steps, strict=True)]
        padding = [enlarging_pads(width, stride, padding == "SAME")
                   for width, stride in zip(widths, strides, strict=True)]
    if transpose_kernel:
        order = list(range(ndim))
        out_feature, in_feature = numbers.rhs_spec[:2]
        order[out_feature], order[in_feature] = in_feature, out_feature
        rhs = transpose(rev(rhs, numbers.rhs_spec[2:]), order)
    return conv_general_dilated(lhs, rhs, (1,) * (ndim - 2), padding, strides, rhs_dilation, numbers,
                                precision=precision, preferred_element_type=preferred_element_type)


# --- the room --------------------------------------------------------------------------------------------------

class ConvGeneralDilated(Composite, Bilinear):
    """`conv_general_dilated[...] image: f32[n,c,h,w] kernel: f32[o,c,kh,kw]` is f32[n,o,h',w']."""

    name = "conv_general_dilated"

    def abstract_eval(self, lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: ConvDimensionNumbers,
                      feature_group_count: int, batch_group_count: int, preferred_element_type: np.dtype[Any] | None,
                      precision: Any, **window: Any) -> ShapedArray:
        _check_groups(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
        lhs_spec, rhs_spec, out_spec = dimension_numbers
        strides, pads = window["window_strides"], window["padding"]
        if len(rhs_spec) - 2 != len(strides):
            raise ValueError("conv_general_dilated window and window_strides must have the same number of dimensions, "
                             f"but got {len(rhs_spec) - 2} and {len(strides)}")
        if len(pads) != len(lhs_spec) - 2:
            raise TypeError(f"Wrong number of explicit pads for convolution: expected {len(lhs_spec) - 2}, got "
                            f"{len(pads)}.")
        image, kernel = [lhs.shape[axis] for axis in lhs_spec], [rhs.shape[axis] for axis in rhs_spec]
        padded = [dilated(size, step - 1) + low + high
                  for size, step, (low, high) in zip(image[2:], window["lhs_dilation"], pads, strict=True)]
        if any(size < 0 for size in padded):
            raise ValueError("Negative padding is larger than the size of the corresponding dimension: got "
                             f"padding={pads} for lhs_shape[2:]={tuple(image[2:])}")
        counts = window_counts(tuple(image[2:]), tuple(kernel[2:]), strides, pads, window["lhs_dilation"],
                               window["rhs_dilation"])
        shape = (image[0] // batch_group_count, kernel[0], *counts)
        dtype = _checked_dtype(lhs, rhs, preferred_element_type)
        return ShapedArray(tuple(shape[k] for k in inverse_permutation(out_spec)), dtype,
                           lhs.weak_type and rhs.weak_type)

    def program(self, lhs: Any, rhs: Any, **params: Any) -> Any:
        found = phases_of(np.shape(lhs), np.shape(rhs), **params)
        return self._of_windows(lhs, rhs, **params) if found is None else \
            convolved_by_phases(conv_general_dilated, lhs, rhs, found, params)

    def _of_windows(self, lhs: Any, rhs: Any, *, window_strides: Ints, padding: Pads, lhs_dilation: Ints,
                    rhs_dilation: Ints, dimension_numbers: ConvDimensionNumbers, feature_group_count: int,
                    batch_group_count: int, precision: Any, preferred_element_type: np.dtype[Any] | None) -> Any:
        lhs_spec, rhs_spec, out_spec = dimension_numbers
        kernel = transpose(rhs, rhs_spec)
        features, depth, *taps = np.shape(kernel)
        if (*padding, *lhs_dilation) != ((0, 0),) * len(padding) + (1,) * len(padding):
            around = dict(zip(lhs_spec[2:], zip(padding, lhs_dilation, strict=True), strict=True))
            config = [around.get(axis, ((0, 0), 1)) for axis in range(len(lhs_spec))]
            lhs = pad(lhs, zero_like(lhs), [(low, high, step - 1) for (low, high), step in config])
        image = transpose(lhs, lhs_spec)
        if depth == 1 and feature_group_count > 1 and is_short(taps):
            dtype = _checked_dtype(aval_of(lhs), aval_of(rhs), preferred_element_type)
            out = summed_over_taps(image, reshape(kernel, (features, *taps)), window_strides, rhs_dilation, dtype)
            return transpose(out, inverse_permutation(out_spec))
        if is_algorithm(precision):  # of products only: here it means nothing, as in JAX
            precision = None
        ones = (1,) * len(lhs_spec)
        every = windows(image, zero_like(lhs), (1, 1, *taps), (1, 1, *window_strides), ((0, 0),) * len(lhs_spec),
                        ones, (1, 1, *rhs_dilation))
        batch, _, *places = np.shape(every)[:len(lhs_spec)]
        groups = feature_group_count * batch_group_count
        g, n, batch = int(groups > 1), len(places), batch // batch_group_count
        if g:  # one more dimension: before the channels, or before the batch
            outer = (groups, batch) if batch_group_count > 1 else (batch, groups)
            every = reshape(every, (*outer, depth, *places, *taps))
            kernel = reshape(kernel, (groups, features // groups, depth, *taps))
        else:
            every = reshape(every, (batch, depth, *places, *taps))
        group, of_batch = ((0,), (1,)) if batch_group_count > 1 else ((1,) * g, (0,))
        over, inside = tuple(range(2 + g, 2 + g + n)), tuple(range(2 + g + n, 2 + g + 2 * n))  # places and taps
        depths = tuple(range(1 + g, 2 + g + n)), tuple(range(g, 1 + g + n))
        groups_first = ((0,) * g, (0,) * g)
        last = len(lhs_spec) - 1
        if lhs_spec[1] == last:  # channels are neighbours: a row is the channels of each tap
            rows = transpose(every, (*group, *of_batch, *over, *inside, 1 + g))
            taps_first = transpose(kernel, (*range(g), *range(2 + g, 2 + g + n), 1 + g, g))
            depths = tuple(range(1 + g + n, 2 + g + 2 * n)), tuple(range(g, 1 + g + n))
            out = dot_general(rows, taps_first, (depths, groups_first), precision, preferred_element_type)
            out = transpose(out, (g, *range(g), 1 + g + n, *range(1 + g, 1 + g + n)))
        elif g or lhs_spec[0] == last:  # examples are neighbours: a column is the taps of each channel
            columns = transpose(every, (*group, 1 + g, *inside, *over, *of_batch))
            out = dot_general(kernel, columns, (depths, groups_first), precision, preferred_element_type)
            out = transpose(out, (1 + g + n, *range(1 + g), *range(1 + g, 1 + g + n)))
        else:  # places are neighbours, for each example
            columns = transpose(every, (0, 1, *inside, *over))
            kernels = broadcast_in_dim(kernel, (batch, *np.shape(kernel)), tuple(range(1, 3 + n)))
            depths = tuple(range(2, 3 + n)), tuple(range(1, 2 + n))
            out = dot_general(kernels, columns, (depths, ((0,), (0,))), precision, preferred_element_type)
        # Now out is [batch, group, feature, places].
        return transpose(reshape(out, (batch, features, *places)), inverse_permutation(out_spec))

    def transpose(self, ct: Any, lhs: Any, rhs: Any, **params: Any) -> Sequence[Any]:
        if is_undefined_primal(lhs):
            return [_transposed_image(ct, lhs.aval, rhs, **params), None]
        return [None, _transposed_kernel(ct, lhs, rhs.aval, **params)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: ConvDimensionNumbers,
              feature_group_count: int, batch_group_count: int, **params: Any) -> tuple[Any, Any]:
        (lhs, rhs), (dim, rhs_dim) = args, dims
        (lhs_batch, lhs_feature, *_), (rhs_out, *_), (out_batch, out_feature, *_) = dimension_numbers
        size = np.shape(lhs)[dim] if dim is not None else np.shape(rhs)[rhs_dim]
        groups = max(feature_group_count, batch_group_count)
        if size == 0:
            return self._of_nothing(args, dims, dimension_numbers=dimension_numbers, **params,
                                    feature_group_count=feature_group_count, batch_group_count=batch_group_count), 0

        def convolved(lhs: Any, rhs: Any) -> Any:
            return conv_general_dilated(lhs, rhs, dimension_numbers=dimension_numbers,
                                        feature_group_count=feature_group_count,
                                        batch_group_count=batch_group_count, **params)

        if dim is not None and rhs_dim is not None:  # examples become groups
            if batch_group_count > 1:
                lhs, batch_group_count = _joined(dim, lhs_batch, lhs), batch_group_count * size
            else:
                lhs, feature_group_count = _joined(dim, lhs_feature, lhs), feature_group_count * size
            return _split(out_feature, size, convolved(lhs, _joined(rhs_dim, rhs_out, rhs))), out_feature
        if dim is not None:  # examples join the batch, inside its groups
            lhs = _joined(dim, lhs_batch, lhs) if batch_group_count == 1 \
                else _joined_inside(dim, lhs_batch, batch_group_count, lhs)
            return _split(out_batch, size, convolved(lhs, rhs)), out_batch
        assert rhs_dim is not None
        if groups == 1:  # kernels join the output features
            return _split(out_feature, size, convolved(lhs, _joined(rhs_dim, rhs_out, rhs))), out_feature
        out = convolved(lhs, _joined_inside(rhs_dim, rhs_out, groups, rhs))
        out = _split(out_feature + 1, size, _split(out_feature, groups, out))
        return _joined(out_feature, out_feature + 1, out), out_feature

    def _of_nothing(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        avals = [ShapedArray(np.shape(x) if dim is None else without(np.shape(x), (dim,)), dtype_of(x))
                 for x, dim in zip(args, dims, strict=True)]
        out = self.abstract_eval(*avals, **params)
        return full((0, *out.shape), 0, out.dtype)


conv_general_dilated_p = ConvGeneralDilated()


def _transposed_image(ct: Any, lhs: ShapedArray, rhs: Any, *, window_strides: Ints, padding: Pads, lhs_dilation: Ints,
                      rhs_dilation: Ints, dimension_numbers: ConvDimensionNumbers, feature_group_count: int,
                      batch_group_count: int, precision: Any, preferred_element_type: Any) -> Any:
    """Return the cotangent of the image: convolve the cotangent, spread by the stride, with the reversed kernel."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    shape, kernel_shape = lhs.shape, np.shape(rhs)
    groups = max(feature_group_count, batch_group_count)
    if groups > 1:  # the group moves from the kernel's output features to its input features
        rhs = _joined(rhs_spec[0], rhs_spec[1], _split(rhs_spec[0], groups, rhs))
    pads = transposed_pads([shape[k] for k in lhs_spec[2:]], [kernel_shape[k] for k in rhs_spec[2:]], window_strides,
                           [np.shape(ct)[k] for k in out_spec[2:]], padding, lhs_dilation, rhs_dilation)
    out = conv_general_dilated(
        ct, rev(rhs, rhs_spec[2:]), lhs_dilation, pads, window_strides, rhs_dilation,
        ConvDimensionNumbers(out_spec, _features_swapped(rhs_spec), lhs_spec), groups, 1, precision,
        preferred_element_type)
    if batch_group_count > 1:
        out = _joined(lhs_spec[1], lhs_spec[0], _split(lhs_spec[1], batch_group_count, out))
    return out


def _transposed_kernel(ct: Any, lhs: Any, rhs: ShapedArray, *, window_strides: Ints, padding: Pads, lhs_dilation: Ints,
                       rhs_dilation: Ints, dimension_numbers: ConvDimensionNumbers, feature_group_count: int,
                       batch_group_count: int, precision: Any, preferred_element_type: Any) -> Any:
    """Return the cotangent of the kernel: convolve the image with the cotangent, features and batch exchanged."""
    if np.size(ct) == 0:
        return Zero(rhs)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for image, kernel, place, stride, (low, _), base, step in zip(
            lhs_spec[2:], rhs_spec[2:], out_spec[2:], window_strides, padding, lhs_dilation, rhs_dilation, strict=True):
        reach = dilated(rhs.shape[kernel], step - 1)
        spread = dilated(np.shape(ct)[place], stride - 1)
        pads.append((low, spread - dilated(np.shape(lhs)[image], base - 1) + reach - low - 1))
    return conv_general_dilated(
        lhs, ct, rhs_dilation, pads, lhs_dilation, window_strides,
        ConvDimensionNumbers(*map(_features_swapped, (lhs_spec, out_spec, rhs_spec))),
        batch_group_count, feature_group_count, precision, preferred_element_type)


def _features_swapped(spec: Ints) -> Ints:
    return (spec[1], spec[0], *spec[2:])


def _joined(source: int, destination: int, x: Any) -> Any:
    """Merge dimension `source` into the one that is number `destination` without it, as its slower part."""
    shape = list(without(np.shape(x), (source,)))
    shape[destination] *= np.shape(x)[source]
    return reshape(x, shape, inserted(remaining(np.ndim(x), (source,)), destination, source))


def _split(axis: int, size: int, x: Any) -> Any:
    """Split a dimension into two, of which the slower has `size`."""
    shape = np.shape(x)
    return reshape(x, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1:]))


def _joined_inside(source: int, destination: int, groups: int, x: Any) -> Any:
    """Merge dimension `source` into `destination` (numbered without it), inside the groups that this consists of."""
    x = _split(destination + (source <= destination), groups, x)
    x = _joined(source + (destination < source), destination + 1, x)
    return _joined(destination, destination, x)


def _explicit_pads(padding: Any) -> Pads:
    try:
        return tuple((operator.index(low), operator.index(high)) for low, high in padding)
    except (ValueError, TypeError) as error:
        raise ValueError("padding argument to conv_general_dilated should be a string or a sequence of (low, high) "
                         f"pairs, got {padding}") from error


def enlarging_pads(width: int, stride: int, same: bool) -> tuple[int, int]:
    """Return the padding that makes a transposed convolution undo the shape of one with SAME (or VALID) padding.

    >>> enlarging_pads(3, 2, same=True)
    (2, 1)
    """
    if same:
        total = width + stride - 2
        before = width - 1 if stride > width - 1 else -(-total // 2)
    else:
        total = width + stride - 2 + max(width - stride, 0)
        before = width - 1
    return before, total - before


def _check_groups(lhs: ShapedArray, rhs: ShapedArray, numbers: ConvDimensionNumbers, feature_groups: int,
                  batch_groups: int) -> None:
    def check(good: bool, message: str) -> None:
        if not good:
            raise ValueError(f"conv_general_dilated {message}")

    check(lhs.ndim == rhs.ndim,
          f"lhs and rhs must have the same number of dimensions, but got {lhs.shape} and {rhs.shape}.")
    batch, channels = (lhs.shape[axis] for axis in numbers.lhs_spec[:2])
    features, kernel_channels = (rhs.shape[axis] for axis in numbers.rhs_spec[:2])
    check(feature_groups > 0, f"feature_group_count must be a positive integer, got {feature_groups}.")
    check(channels % feature_groups == 0, "feature_group_count must divide lhs feature dimension size, but "
                                          f"{feature_groups} does not divide {channels}.")
    check(channels // feature_groups == kernel_channels,
          "lhs feature dimension size divided by feature_group_count must equal the rhs input feature dimension size, "
          f"but {channels} // {feature_groups} != {kernel_channels}.")
    check(features % feature_groups == 0, "rhs output feature dimension size must be a multiple of "
                                          f"feature_group_count, but {features} is not a multiple of {feature_groups}.")
    check(batch_groups > 0, f"batch_group_count must be a positive integer, got {batch_groups}.")
    check(batch % batch_groups == 0, "batch_group_count must divide lhs batch dimension size, but "
                                     f"{batch_groups} does not divide {batch}.")
    check(features % batch_groups == 0, "rhs output feature dimension size must be a multiple of batch_group_count, "
                                        f"but {features} is not a multiple of {batch_groups}.")
    if batch_groups > 1 and feature_groups > 1:
        raise ValueError("At most one of batch_group_count and feature_group_count may be > 1, got batch_group_count="
                         f"{batch_groups} and feature_group_count={feature_groups}")


def _checked_dtype(lhs: ShapedArray, rhs: ShapedArray, preferred: np.dtype[Any] | None) -> Any:
    if lhs.dtype == FLOAT0 or isinstance(lhs.dtype, KeyType):
        raise TypeError(f"conv_general_dilated does not accept dtype {lhs.str_short()} at position 0.")
    check_same_dtypes("conv_general_dilated", lhs, rhs)
    if preferred is None:
        return lhs.dtype
    if preferred.kind == "b" or (is_float(lhs.dtype) and not is_float(preferred)):
        raise TypeError("Input type is incompatible with `preferred_element_type`. The compatible combinations of "
                        "(input_type, preferred_element_type) are (integral, integral), (integral, floating), "
                        "(floating, floating), (complex, complex.")
    if lhs.dtype.kind == "i" and preferred.kind == "u":
        raise TypeError("`preferred_element_type` must have the same signedness as the original type.")
    if preferred.itemsize < lhs.dtype.itemsize:
        raise TypeError("`preferred_element_type` must not be narrower than the original type.")
    return preferred
