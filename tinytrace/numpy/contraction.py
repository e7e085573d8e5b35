"""Products of vectors, matrices and tensors: dot, matmul, tensordot, inner, outer, cross, kron; all `dot_general`."""
from __future__ import annotations

from functools import partial
from typing import Any

from tinytrace import lax
from tinytrace.api.library import inline_jit, library_jit, remembered
from tinytrace.core.dtypes import DType, dtype_of, is_complex, result_type_and_weak
from tinytrace.numpy.array_creation import array, asarray, zeros_like
from tinytrace.numpy.powers import power
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    as_array,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    concrete_index,
    convert,
    promote_dtypes,
    user_dtype,
)
from tinytrace.numpy.shapes import expand_dims, moveaxis, ravel
from tinytrace.numpy.vectorization import vectorize
from tinytrace.primitives.elementwise import const_like


@inline_jit("precision", "preferred_element_type")
def dot(a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None) -> Value:
    """Return the product of vectors or matrices: the last axis of `a` with the second to last of `b`.

    >>> jnp.dot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.dot.html.
    """
    check_arraylike("dot", a, b)
    a, b = as_array(a), as_array(b)
    dtype, weak_type = _result_type("dot", preferred_element_type, a, b)
    if a.ndim == 0 or b.ndim == 0:
        contracted: Any = ((), ())
    else:
        contracted = ((a.ndim - 1,), (max(0, b.ndim - 2),))
    result = lax.dot_general(a, b, (contracted, ((), ())), precision=precision, preferred_element_type=dtype)
    return convert(result, dtype, weak_type)


def _result_type(function: str, preferred: Any, *operands: Value) -> tuple[DType, bool]:
    """Return the dtype and weak type of a product."""
    preferred = user_dtype(preferred, function)
    return result_type_and_weak(*operands) if preferred is None else (preferred, False)


@inline_jit("precision", "preferred_element_type")
def matmul(a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None) -> Value:
    """Return the matrix product, of the last two axes; the others broadcast. This is `a @ b`.

    Raises: ValueError for scalars and for batch axes that do not fit, TypeError for inner sizes that differ.

    >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
    Array([3, 7], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.matmul.html.
    """
    check_arraylike("matmul", a, b)
    a, b = as_array(a), as_array(b)
    for i, x in enumerate((a, b)):
        if x.ndim < 1:
            raise ValueError(f"matmul input operand {i} must have ndim at least 1, but it has ndim {x.ndim}")
    dtype, weak_type = _result_type("matmul", preferred_element_type, a, b)
    axes = _BatchAxes(a.shape, b.shape)
    a, b = lax.squeeze(a, axes.a_squeezed), lax.squeeze(b, axes.b_squeezed)
    result = lax.dot_general(a, b, (((a.ndim - 1,), (b.ndim - 1 - axes.b_is_matrix,)), (axes.a_batch, axes.b_batch)),
                             precision=precision, preferred_element_type=dtype)
    return convert(lax.transpose(result, axes.order), dtype, weak_type)


class _BatchAxes:
    """How the batch axes of two operands of matmul meet: paired, or one operand's alone where the other has size 1."""

    def __init__(self, a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
        self.b_is_matrix = len(b_shape) > 1
        self.a_squeezed: list[int] = []
        self.b_squeezed: list[int] = []
        self.a_batch: list[int] = []
        self.b_batch: list[int] = []
        paired: list[Any] = []
        a_only: list[Any] = []
        b_only: list[Any] = []
        n = max(len(a_shape), len(b_shape), 2) - 2
        a_sizes = (None,) * (n - len(a_shape[:-2])) + a_shape[:-2]
        b_sizes = (None,) * (n - len(b_shape[:-2])) + b_shape[:-2]
        for i, (p, q) in enumerate(zip(a_sizes, b_sizes, strict=True)):
            if p is None:
                b_only.append(i)
            elif q is None:
                a_only.append(i)
            elif p == 1:
                b_only.append(i)
                self.a_squeezed.append(len(paired) + len(a_only) + len(self.a_squeezed))
            elif q == 1:
                a_only.append(i)
                self.b_squeezed.append(len(paired) + len(b_only) + len(self.b_squeezed))
            elif p == q:
                self.a_batch.append(len(paired) + len(a_only))
                self.b_batch.append(len(paired) + len(b_only))
                paired.append(i)
            else:
                raise ValueError(f"Incompatible shapes for matmul arguments: {a_shape} and {b_shape}")
        a_only += [n] * (len(a_shape) > 1)
        b_only += [n + (len(a_shape) > 1)] * self.b_is_matrix
        places = [*paired, *a_only, *b_only]
        self.order = sorted(range(len(places)), key=places.__getitem__)
        """The permutation that puts the axes of dot_general's result in order."""


@inline_jit("precision", "preferred_element_type")
def vdot(a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None) -> Value:
    """Return the dot product of the flattened arrays, of the conjugate of `a` where that is complex.

    >>> jnp.vdot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.vdot.html.
    """
    check_arraylike("vdot", a, b)
    a = lax.conj(a) if is_complex(dtype_of(a)) else a
    return dot(ravel(as_array(a)), ravel(as_array(b)), precision=precision,
               preferred_element_type=preferred_element_type)


@remembered("axis", "precision", "preferred_element_type")
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: Any = None,
           preferred_element_type: DTypeLike = None) -> Value:
    """Return the dot products of the vectors along `axis`; the other axes broadcast.

    >>> jnp.vecdot(jnp.ones((2, 3)), jnp.ones(3))
    Array([3., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.vecdot.html.
    """
    check_arraylike("jnp.vecdot", x1, x2)
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"axes must match; got shapes {x1.shape} and {x2.shape} with axis={axis!r}")
    product = partial(vdot, precision=precision, preferred_element_type=preferred_element_type)
    return vectorize(product, signature="(n),(n)->()")(moveaxis(x1, axis, -1), moveaxis(x2, axis, -1))


@remembered("axes", "precision", "preferred_element_type", static_argnums=(2,))
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2, *, precision: Any = None,
              preferred_element_type: DTypeLike = None) -> Value:
    """Return the sum of products over `axes`: the last of `a` with the first of `b`, or pairs of lists.

    >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.tensordot.html.
    """
    check_arraylike("tensordot", a, b)
    a, b = as_array(a), as_array(b)
    dtype, weak_type = _result_type("tensordot", preferred_element_type, a, b)
    result = lax.dot_general(a, b, (_contracted_axes(a, b, axes), ((), ())), precision=precision,
                             preferred_element_type=dtype)
    return convert(result, dtype, weak_type)


def _contracted_axes(a: Value, b: Value, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if type(axes) is int:
        if axes > min(a.ndim, b.ndim):
            raise TypeError(f"Number of tensordot axes (axes {axes}) exceeds input ranks ({a.shape} and {b.shape})")
        return tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    if not isinstance(axes, (tuple, list)) or len(axes) != 2:
        raise TypeError("tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples of ints.")
    first, second = axes
    if type(first) is type(second) is int:
        return (canonicalize_axis(first, a.ndim),), (canonicalize_axis(second, b.ndim),)
    if not isinstance(first, (tuple, list)) or not isinstance(second, (tuple, list)):
        raise TypeError("tensordot requires both axes lists to be either ints, tuples or lists, got "
                        f"{first} and {second}")
    if len(first) != len(second):
        raise TypeError(f"tensordot requires axes lists to have equal length, got {first} and {second}.")
    return canonicalize_axes(first, a.ndim), canonicalize_axes(second, b.ndim)


@inline_jit("precision", "preferred_element_type")
def inner(a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None) -> Value:
    """Return the sum of products over the last axes.

    >>> jnp.inner(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.inner.html.
    """
    check_arraylike("inner", a, b)
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return asarray(a, dtype=preferred_element_type) * asarray(b, dtype=preferred_element_type)
    return tensordot(a, b, (-1, -1), precision=precision, preferred_element_type=preferred_element_type)


@inline_jit()
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Value:
    """Return the products of each element of `a` with each of `b`: f32[n, m] of the flattened arrays.

    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.outer.html.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.outer is not supported.")
    check_arraylike("outer", a, b)
    a, b = promote_dtypes(a, b)
    return ravel(a)[:, None] * ravel(b)[None, :]


@library_jit("axisa", "axisb", "axisc", "axis")
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1,
          axis: int | None = None) -> Value:
    """Return the cross products of vectors of two or three elements along an axis.

    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.cross.html.
    """
    check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a0, a1, a2 = _three_parts(a)
    b0, b1, b2 = _three_parts(b)
    return moveaxis(array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]), 0, axisc)


def _three_parts(x: Value) -> tuple[Value, Value, Value]:
    first, second = x[..., 0], x[..., 1]
    return first, second, x[..., 2] if x.shape[-1] == 3 else zeros_like(first)


@library_jit()
def kron(a: ArrayLike, b: ArrayLike) -> Value:
    """Return the Kronecker product: blocks of `b`, each scaled by one element of `a`.

    >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2]))
    Array([ 1,  2, 10, 20], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.kron.html.
    """
    check_arraylike("kron", a, b)
    a, b = promote_dtypes(a, b)
    if a.ndim < b.ndim:
        a = expand_dims(a, range(b.ndim - a.ndim))
    elif b.ndim < a.ndim:
        b = expand_dims(b, range(a.ndim - b.ndim))
    shape = tuple(n * m for n, m in zip(a.shape, b.shape, strict=True))
    product = lax.mul(expand_dims(a, range(1, 2 * a.ndim, 2)), expand_dims(b, range(0, 2 * b.ndim, 2)))
    return product.reshape(shape)


@library_jit("N", "increasing")
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Value:
    """Return the powers of `x: f32[n]`, one row per element: from N - 1 down to 0, or up if `increasing`.

    >>> jnp.vander(jnp.array([1, 2, 3]))
    Array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.vander.html.
    """
    check_arraylike("vander", x)
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    count = x.shape[0] if N is None else concrete_index(N, "'N' argument of jnp.vander()")
    if count < 0:
        raise ValueError("N must be nonnegative")
    exponents = lax.iota(x.dtype, count)
    if not increasing:
        exponents = lax.sub(const_like(exponents, count - 1), exponents)
    return power(x[..., None], expand_dims(exponents, (0,)))

