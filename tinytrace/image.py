"""`jax.image`: arrays resampled to other shapes.

Along each axis a result is a weighted sum of the elements near its place, the weights being a kernel's values at their
distances: one product with a matrix for each axis. Source: Turkowski, "Filters for common resampling tasks" (1990).
See https://jax.readthedocs.io/en/latest/jax.image.html.
"""
from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import canonicalize_shape
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_inexact,
)

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

Kernel = Callable[[Any], Any]


class ResizeMethod(enum.Enum):
    """How elements between elements are found."""

    NEAREST = 0
    """The nearest element."""
    LINEAR = 1
    """A line between two."""
    LANCZOS3 = 2
    """A windowed sinc over six."""
    LANCZOS5 = 3
    """A windowed sinc over ten."""
    CUBIC = 4
    """Keys' cubic polynomials over four."""

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method of that name: "bilinear" and "trilinear" are "linear", "bicubic" is "cubic".

        >>> jax.image.ResizeMethod.from_string("bicubic")
        <ResizeMethod.CUBIC: 4>
        """
        if s not in _NAMES:
            raise ValueError(f'Unknown resize method "{s}"')
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
}


def resize(image: ArrayLike, shape: Any, method: str | ResizeMethod, antialias: bool = True,
           precision: Any = lax.Precision.HIGHEST) -> Value:
    """Return `image` resampled to `shape`, of the same rank; axes that keep their size are not touched.

    method: a ResizeMethod or its name, "nearest", "linear", "cubic", "lanczos3", "lanczos5".
    antialias: where there are fewer elements than before, widen the kernel to see all of them.

    Raises: ValueError for a shape of another rank and for other names, TypeError for negative sizes.

    >>> jax.image.resize(jnp.array([1.0, 2.0]), (4,), "linear")
    Array([1.  , 1.25, 1.75, 2.  ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.image.resize.html.
    """
    return _resize(image, canonicalize_shape(shape), method, antialias, precision)


def scale_and_translate(image: ArrayLike, shape: Any, spatial_dims: Sequence[int], scale: ArrayLike,
                        translation: ArrayLike, method: str | ResizeMethod, antialias: bool = True,
                        precision: Any = lax.Precision.HIGHEST) -> Value:
    """Return `image` stretched by `scale: f32[k]` and moved by `translation: f32[k]` along the k axes `spatial_dims`.

    An element i, whose middle is at i + 0.5, goes to (i + 0.5) * scale + translation; what comes from outside of the
    image is 0.  shape: that of the result, of the same rank.  method, antialias: see `resize`; not "nearest".

    Raises: ValueError for a shape of another rank, for other names, and for fewer or more factors than axes.

    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> jax.image.scale_and_translate(x, (3,), (0,), jnp.array([1.0]), jnp.array([1.0]), "linear")
    Array([0., 1., 2.], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.image.scale_and_translate.html.
    """
    check_arraylike("scale_and_translate", image)
    shape = canonicalize_shape(shape)
    _check_shape(image, shape)
    kernel = _kernel(method)
    if kernel is None:
        raise ValueError("Nearest neighbor resampling is not currently supported for scale_and_translate.")
    image, = promote_dtypes_inexact(image)
    scale, translation = promote_dtypes_inexact(scale, translation)
    if spatial_dims and not scale.shape == translation.shape == (len(spatial_dims),):
        raise ValueError("scale and translation must have one element for each of spatial_dims, "
                         f"{tuple(spatial_dims)}; their shapes are {scale.shape} and {translation.shape}")
    return _resample(image, shape, spatial_dims, scale, translation, kernel, antialias, precision)


# --- steps -------------------------------------------------------------------------------------------------------

@library_jit(static_argnums=(1, 2, 3, 4))
def _resize(image: Any, shape: tuple[int, ...], method: str | ResizeMethod, antialias: bool, precision: Any) -> Value:
    check_arraylike("resize", image)
    _check_shape(image, shape)
    kernel = _kernel(method)
    if kernel is None:
        return _nearest(image, shape)
    image, = promote_dtypes_inexact(image)
    axes = _resized_axes(image, shape)
    scale = [shape[axis] / image.shape[axis] if shape[axis] else 1.0 for axis in axes]
    return _resample(image, shape, axes, scale, [0.0] * len(axes), kernel, antialias, precision)


def _nearest(image: Value, shape: tuple[int, ...]) -> Value:
    for axis in _resized_axes(image, shape):
        middles = (jnp.arange(shape[axis], dtype=np.float32) + 0.5) * image.shape[axis] / shape[axis]
        places = jnp.floor(middles.astype(np.float32)).astype(np.int32)
        image = image[(*[slice(None)] * axis, places)]
    return image


def _resample(image: Value, shape: tuple[int, ...], axes: Sequence[int], scale: Any, translation: Any, kernel: Kernel,
              antialias: bool, precision: Any) -> Value:
    """Multiply `image` along each of `axes` by its matrix of weights, in one einsum."""
    if not axes:
        return image
    operands: list[Any] = [image, list(range(image.ndim))]
    result = list(range(image.ndim))
    for i, axis in enumerate(canonicalize_axis(axis, image.ndim) for axis in axes):
        weights = _weights(image.shape[axis], shape[axis], scale[i], translation[i], kernel, antialias)
        result[axis] = image.ndim + i
        operands += [weights.astype(image.dtype), [axis, result[axis]]]
    return jnp.einsum(*operands, result, precision=precision)


def _weights(m: int, n: int, scale: Any, translation: Any, kernel: Kernel, antialias: bool) -> Value:
    """Return f32[m, n]: what each of m elements gives to each of n results. Columns sum to 1, or are 0 outside."""
    dtype = jnp.result_type(scale, translation)
    step = 1.0 / scale
    width = jnp.maximum(step, 1.0) if antialias else 1.0
    places = (jnp.arange(n, dtype=dtype) + 0.5) * step - translation * step - 0.5
    distances = jnp.abs(places[None, :] - jnp.arange(m, dtype=dtype)[:, None]) / width
    weights = kernel(distances)
    total = jnp.sum(weights, axis=0, keepdims=True)
    is_seen = jnp.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    weights = jnp.where(is_seen, jnp.divide(weights, jnp.where(total != 0, total, 1)), 0)
    is_inside = jnp.logical_and(places >= -0.5, places <= m - 0.5)
    return jnp.where(is_inside[None, :], weights, 0)


def _resized_axes(image: Value, shape: tuple[int, ...]) -> list[int]:
    return [axis for axis, size in enumerate(image.shape) if size != shape[axis]]


def _check_shape(image: Any, shape: tuple[int, ...]) -> None:
    if len(shape) != np.ndim(image):
        raise ValueError("shape must have length equal to the number of dimensions of x; "
                         f" {shape} vs {np.shape(image)}")
    if any(size < 0 for size in shape):
        raise TypeError(f"image shape must have every element be nonnegative, got {shape}.")


# --- kernels: functions of the distance --------------------------------------------------------------------------

def _kernel(method: str | ResizeMethod) -> Kernel | None:
    """Return the kernel of a method; None for the nearest element, which has none."""
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(f"method must be a ResizeMethod or the name of one, got {method!r}")
    return _KERNELS.get(method)


def _triangle(x: Value) -> Value:
    return jnp.maximum(0, 1 - jnp.abs(x))


def _cubic(x: Value) -> Value:
    """Keys, "Cubic convolution interpolation for digital image processing" (1981), equation 15."""
    y = ((1.5 * x - 2.5) * x) * x + 1.0
    y = jnp.where(x >= 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0, y)
    return jnp.where(x >= 2.0, 0.0, y)


def _lanczos(radius: float) -> Kernel:
    """sinc(x) sinc(x / radius): Duchon, "Lanczos filtering in one and two dimensions" (1979)."""

    def kernel(x: Value) -> Value:
        product = radius * jnp.sin(np.pi * x) * jnp.sin(np.pi * x / radius)
        y = jnp.where(x > 1e-3, jnp.divide(product, jnp.where(x != 0, np.pi**2 * x**2, 1)), 1)
        return jnp.where(x > radius, 0.0, y)

    return kernel


_KERNELS: dict[ResizeMethod, Kernel] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
}
