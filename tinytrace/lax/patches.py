"""Windows of an image as a channel each, and convolutions with a kernel of its own at every place."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace.primitives.contraction import dot_general
from tinytrace.primitives.convolution import conv_general_dilated
from tinytrace.primitives.convolution_dimensions import conv_dimension_numbers
from tinytrace.primitives.triangular import identity_matrix

Padding = str | Sequence[tuple[int, int]]


def conv_general_dilated_patches(lhs: Any, filter_shape: Sequence[int], window_strides: Sequence[int], padding: Padding,
                                 lhs_dilation: Sequence[int] | None = None, rhs_dilation: Sequence[int] | None = None,
                                 dimension_numbers: Any = None, precision: Any = None,
                                 preferred_element_type: Any = None) -> Any:
    """Return the windows that a convolution would see, as channels: `lhs: f[n, c, h, w]` gives f[n, c * size, h', w'].

    See https://docs.jax.dev/en/latest/_autosummary/jax.lax.conv_general_dilated_patches.html.

    >>> lax.conv_general_dilated_patches(jnp.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float32)
    """
    lhs, shape = jnp.asarray(lhs), tuple(filter_shape)
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *shape), dimension_numbers)
    size, channels = math.prod(shape), lhs.shape[numbers.lhs_spec[1]]
    one_each = jnp.broadcast_to(identity_matrix(lhs.dtype, size), (channels, size, size))
    kernel = jnp.moveaxis(one_each.reshape(channels * size, 1, *shape), (0, 1), numbers.rhs_spec[:2])
    return conv_general_dilated(lhs, kernel, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
                                feature_group_count=channels, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_general_dilated_local(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: Padding,
                               filter_shape: Sequence[int], lhs_dilation: Sequence[int] | None = None,
                               rhs_dilation: Sequence[int] | None = None, dimension_numbers: Any = None,
                               precision: Any = None) -> Any:
    """Convolve with a kernel of its own at every place: `rhs: f[o, c * size, h', w']`.

    See https://docs.jax.dev/en/latest/_autosummary/jax.lax.conv_general_dilated_local.html.

    >>> lax.conv_general_dilated_local(jnp.arange(4.0).reshape(1, 1, 4), jnp.ones((1, 2, 3)), (1,), "VALID", (2,))
    Array([[[1., 3., 5.]]], dtype=float32)
    """
    lhs, rhs = jnp.asarray(lhs), jnp.asarray(rhs)
    patches = conv_general_dilated_patches(lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation,
                                           dimension_numbers, precision)
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *filter_shape), dimension_numbers)
    places = np.argsort(numbers.out_spec[2:])
    batch = [numbers.out_spec[2:][i] for i in places], [numbers.rhs_spec[2:][i] for i in places]
    out = dot_general(patches, rhs, (([numbers.out_spec[1]], [numbers.rhs_spec[1]]), batch), precision=precision)
    return jnp.moveaxis(out, (-2, -1), numbers.out_spec[:2])
