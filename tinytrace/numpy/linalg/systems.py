"""Linear systems: solve, inv, and powers of a matrix."""
from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.api.vmapping import vmap
from tinytrace.lax import linalg as lax_linalg
from tinytrace.lax.linear_solve import custom_linear_solve
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.promotion import ArrayLike, Value, broadcast_to, check_arraylike, promote_dtypes_inexact
from tinytrace.numpy.ranges import eye
from tinytrace.numpy.shapes import moveaxis
from tinytrace.numpy.vectorization import vectorize


@library_jit()
def solve(a: ArrayLike, b: ArrayLike) -> Value:
    """Return the x with `a @ x = b`, for `a: f32[..., n, n]` and `b: f32[n]` or `f32[..., n, k]`.

    >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.solve.html.
    """
    check_arraylike("jnp.linalg.solve", a, b)
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    vector = b.ndim == 1
    if not vector and a.ndim == b.ndim + 1:
        warnings.warn("jnp.linalg.solve: batched 1D solves with b.ndim > 1 are deprecated, and in the future will be "
                      "treated as a batched 2D solve. Use solve(a, b[..., None])[..., 0] to avoid this warning.",
                      category=FutureWarning, stacklevel=4)
        vector = True
    return vectorize(_solve, signature="(m,m),(m)->(m)" if vector else "(m,m),(m,n)->(m,n)")(a, b)


def _solve(a: Value, b: Value) -> Value:
    """Solve with a factorization that is made once, for `a`, its transpose and all derivatives."""
    check_shapes(a, b)
    shape = tuple(n_a if n_b == 1 else n_b for n_a, n_b in zip((*a.shape[:-1], 1), b.shape, strict=False))
    b = lax.broadcast_in_dim(b, shape, range(b.ndim))
    factors, _, permutation = lax_linalg.lu(lax.stop_gradient(a))

    def solved(b: Value) -> Value:
        return custom_linear_solve(lambda x: matvec(a, x), b,
                                   lambda _, x: lu_solve(factors, permutation, x, 0),
                                   lambda _, x: lu_solve(factors, permutation, x, 1))

    if a.ndim == b.ndim + 1:
        return solved(b)
    return vmap(solved, b.ndim - 1, max(a.ndim, b.ndim) - 1)(b)


def check_shapes(a: Value, b: Value) -> None:
    """Raise a ValueError unless `a` is square and `b` has as many rows."""
    if not (a.ndim >= 2 and b.ndim in (a.ndim, a.ndim - 1) and a.shape[-1] == a.shape[-2] == b.shape[a.ndim - 2]):
        raise ValueError("The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or b=[..., m]; "
                         f"got a={a.shape} and b={b.shape}")


def matvec(a: Value, x: Value) -> Value:
    """Return `a @ x` for `a: f32[..., m, n]` and vectors `x: f32[..., n]`."""
    batch = lax.broadcast_shapes(a.shape[:-2], x.shape[:-1])
    axes = list(range(len(batch)))
    a, x = _broadcast_to(a, (*batch, *a.shape[-2:])), _broadcast_to(x, (*batch, x.shape[-1]))
    return lax.dot_general(a, x, (([a.ndim - 1], [x.ndim - 1]), (axes, axes)), precision=lax.Precision.HIGHEST)


def _broadcast_to(x: Value, shape: tuple[int, ...]) -> Value:
    return lax.broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))


def lu_solve(lu: Value, permutation: Value, b: Value, trans: int = 0) -> Value:
    """Solve `a @ x = b`, or with `a.T` (trans 1) or `a.conj().T` (2), for `lu, _, permutation = lax.linalg.lu(a)`."""
    return _lu_solve(lu, permutation, b, trans)


@library_jit(static_argnums=(3,))
def _lu_solve(lu: Value, permutation: Value, b: Value, trans: int) -> Value:
    is_vector = lu.ndim == b.ndim + 1
    b = b[..., None] if is_vector else b
    batch = lax.broadcast_shapes(lu.shape[:-2], permutation.shape[:-1], b.shape[:-2])
    lu = _broadcast_to(lu, (*batch, *lu.shape[-2:]))
    permutation = _broadcast_to(permutation, (*batch, permutation.shape[-1]))
    b = _broadcast_to(b, (*batch, *b.shape[-2:]))
    solve_one: Callable[..., Any] = partial(_lu_solve_one, trans=trans)
    for _ in batch:
        solve_one = vmap(solve_one, in_axes=(0, 0, 0))
    x = solve_one(lu, permutation, b)
    return x[..., 0] if is_vector else x


def _lu_solve_one(lu: Value, permutation: Value, b: Value, trans: int) -> Value:
    x = lax.reshape(b, (lu.shape[0], math.prod(b.shape[1:])))
    options: dict[str, Any] = {"left_side": True, "transpose_a": bool(trans), "conjugate_a": trans == 2}
    if not trans:
        x = x[permutation, :]
        x = lax_linalg.triangular_solve(lu, x, lower=True, unit_diagonal=True, **options)
        x = lax_linalg.triangular_solve(lu, x, lower=False, **options)
    else:
        x = lax_linalg.triangular_solve(lu, x, lower=False, **options)
        x = lax_linalg.triangular_solve(lu, x, lower=True, unit_diagonal=True, **options)
        _, order = lax.sort_key_val(permutation, lax.iota(np.int32, permutation.shape[0]))
        x = x[order, :]
    return lax.reshape(x, b.shape)


@library_jit()
def inv(a: ArrayLike) -> Value:
    """Return the inverse of each matrix of f32[..., n, n]; inf or nan if there is none.

    >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.inv.html.
    """
    check_arraylike("jnp.linalg.inv", a)
    arr = asarray(a)
    if arr.ndim < 2 or arr.shape[-1] != arr.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {arr.shape}.")
    return solve(arr, lax.broadcast(eye(arr.shape[-1], dtype=arr.dtype), arr.shape[:-2]))


@library_jit("n")
def matrix_power(a: ArrayLike, n: int) -> Value:
    """Return `a @ a @ ...`, n times; of the inverse for a negative n.

    >>> jnp.linalg.matrix_power(jnp.array([[1.0, 1.0], [0.0, 1.0]]), 5)
    Array([[1., 5.],
           [0., 1.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_power.html.
    """
    check_arraylike("jnp.linalg.matrix_power", a)
    arr, = promote_dtypes_inexact(asarray(a))
    if arr.ndim < 2:
        raise TypeError(f"{arr.ndim}-dimensional array given. Array must be at least two-dimensional")
    if arr.shape[-2] != arr.shape[-1]:
        raise TypeError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if n == 0:
        return broadcast_to(eye(arr.shape[-2], dtype=arr.dtype), arr.shape)
    if n < 0:
        arr, n = inv(arr), -n
    if n == 3:
        return arr @ arr @ arr
    power, result = arr, None
    while True:  # the power of each binary digit of n
        n, digit = divmod(n, 2)
        if digit:
            result = power if result is None else result @ power
        if n == 0:
            return result
        power = power @ power


def tensorinv(a: ArrayLike, ind: int = 2) -> Value:
    """Return the inverse with respect to `tensordot(a, b, ind)`.

    >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 2, 2)).shape
    (2, 2, 2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.tensorinv.html.
    """
    check_arraylike("tensorinv", a)
    arr, ind = asarray(a), operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    rows, columns = arr.shape[:ind], arr.shape[ind:]
    flat = math.prod(rows), math.prod(columns)
    if flat[0] != flat[1]:
        raise ValueError("tensorinv is only possible when the product of the first `ind` dimensions equals that of "
                         f"the remaining dimensions. got {arr.shape=} with {ind=}.")
    return inv(arr.reshape(flat)).reshape(*columns, *rows)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Value:
    """Return the x with `tensordot(a, x, x.ndim) = b`.

    >>> jnp.linalg.tensorsolve(jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2)))
    Array([1., 1., 1., 1.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.tensorsolve.html.
    """
    check_arraylike("tensorsolve", a, b)
    a, b = asarray(a), asarray(b)
    if axes is not None:
        a = moveaxis(a, axes, len(axes) * (a.ndim - 1,))
    out_shape = a.shape[b.ndim:]
    if a.shape[:b.ndim] != b.shape:
        raise ValueError("After moving axes to end, leading shape of a must match shape of b. "
                         f"got a.shape={a.shape}, b.shape={b.shape}")
    if b.size != math.prod(out_shape):
        raise ValueError("Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); "
                         f"got a.shape={a.shape}, b.ndim={b.ndim}.")
    return solve(a.reshape(b.size, math.prod(out_shape)), b.ravel()).reshape(out_shape)
