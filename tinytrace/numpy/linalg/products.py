"""Products and views of matrices under the names of the array API: they work on the last axes."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tinytrace import lax
from tinytrace.api.library import remembered
from tinytrace.numpy import contraction, triangular
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.einsum import einsum
from tinytrace.numpy.promotion import ArrayLike, DTypeLike, Value, check_arraylike


@remembered("precision")
def multi_dot(arrays: Sequence[ArrayLike], *, precision: Any = None) -> Value:
    """Return the product of several matrices, in the order that takes the fewest multiplications.

    >>> jnp.linalg.multi_dot([jnp.ones((2, 9)), jnp.ones((9, 9)), jnp.ones(9)])
    Array([81., 81.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.multi_dot.html.
    """
    check_arraylike("jnp.linalg.multi_dot", *arrays)
    arrs = [asarray(a) for a in arrays]
    shapes = [a.shape for a in arrs]
    if len(arrs) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(arrs)}")
    if not (arrs[0].ndim in (1, 2) and arrs[-1].ndim in (1, 2) and all(a.ndim == 2 for a in arrs[1:-1])):
        raise ValueError("multi_dot: input arrays must all be two-dimensional, except for the first and last array "
                         f"which may be 1 or 2 dimensional. Got array shapes {shapes}")
    if any(a[-1] != b[0] for a, b in itertools.pairwise(shapes)):
        raise ValueError("multi_dot: last dimension of each array must match first dimension of following array. "
                         f"Got array shapes {shapes}")
    axes: list[tuple[int, ...]] = [(i, i + 1) for i in range(len(arrs))]
    if arrs[0].ndim == 1:
        axes[0] = axes[0][1:]
    if arrs[-1].ndim == 1:
        axes[-1] = axes[-1][:1]
    return einsum(*itertools.chain(*zip(arrs, axes, strict=True)), optimize="optimal", precision=precision)


@remembered("axis")
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Value:
    """Return the cross product of vectors of three elements along `axis`.

    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.cross.html.
    """
    check_arraylike("jnp.linalg.outer", x1, x2)
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
                         f"{x1.shape[axis]=} and {x2.shape[axis]=}")
    return contraction.cross(x1, x2, axis=axis)


@remembered()
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return all products of an element of `x1: f32[n]` and one of `x2: f32[m]`: f32[n, m].

    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.outer.html.
    """
    check_arraylike("jnp.linalg.outer", x1, x2)
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} {x2.ndim=}")
    return x1[:, None] * x2[None, :]


@remembered()
def matrix_transpose(x: ArrayLike, /) -> Value:
    """Exchange the last two axes.

    >>> jnp.linalg.matrix_transpose(jnp.array([[1, 2, 3]])).shape
    (3, 1)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_transpose.html.
    """
    check_arraylike("jnp.linalg.matrix_transpose", x)
    arr = asarray(x)
    ndim = arr.ndim
    if ndim < 2:
        raise ValueError(f"matrix_transpose requres at least 2 dimensions; got {ndim=}")
    return lax.transpose(arr, (*range(ndim - 2), ndim - 1, ndim - 2))


@remembered("axis", "precision", "preferred_element_type")
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: Any = None,
           preferred_element_type: DTypeLike = None) -> Value:
    """Return the products of vectors along `axis`.

    >>> jnp.linalg.vecdot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.vecdot.html.
    """
    check_arraylike("jnp.linalg.vecdot", x1, x2)
    return contraction.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


@remembered("precision", "preferred_element_type")
def matmul(x1: ArrayLike, x2: ArrayLike, /, *, precision: Any = None, preferred_element_type: DTypeLike = None
           ) -> Value:
    """Return the products of matrices in the last two axes, as `@`.

    >>> jnp.linalg.matmul(jnp.eye(2), jnp.array([3.0, 4.0]))
    Array([3., 4.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.matmul.html.
    """
    check_arraylike("jnp.linalg.matmul", x1, x2)
    return contraction.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


@remembered("axes", "precision", "preferred_element_type")
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2, precision: Any = None,
              preferred_element_type: DTypeLike = None) -> Value:
    """Sum the products over pairs of axes.

    >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.tensordot.html.
    """
    check_arraylike("jnp.linalg.tensordot", x1, x2)
    return contraction.tensordot(x1, x2, axes=axes, precision=precision, preferred_element_type=preferred_element_type)


@remembered("offset")
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Value:
    """Return a diagonal of the matrices in the last two axes.

    >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.diagonal.html.
    """
    check_arraylike("jnp.linalg.diagonal", x)
    return triangular.diagonal(x, offset=offset, axis1=-2, axis2=-1)


@remembered("offset", "dtype")
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Value:
    """Return the sum of a diagonal of the matrices in the last two axes.

    >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.trace.html.
    """
    check_arraylike("jnp.linalg.trace", x)
    return triangular.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)
