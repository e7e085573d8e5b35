"""The determinant, and its logarithm."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import is_complex
from tinytrace.lax import linalg as lax_linalg
from tinytrace.numpy.arithmetic import abs
from tinytrace.numpy.array_creation import array, asarray, ones, zeros_like
from tinytrace.numpy.bits import logical_or
from tinytrace.numpy.classification import isinf, isnan, real
from tinytrace.numpy.cumulative import cumprod
from tinytrace.numpy.exponential import exp, log
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.linalg.systems import solve
from tinytrace.numpy.promotion import ArrayLike, Value, broadcast_to, check_arraylike, promote_dtypes_inexact
from tinytrace.numpy.ranges import arange, ix_
from tinytrace.numpy.rearranging import tile
from tinytrace.numpy.reductions import any, prod, sum
from tinytrace.numpy.searching import where
from tinytrace.numpy.statistics import count_nonzero
from tinytrace.numpy.triangular import diagonal, trace
from tinytrace.records import NamedTuple


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Value
    logabsdet: Value


@library_jit("method")
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Return the sign of the determinant, and the logarithm of its size, which does not overflow.

    >>> jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]])).sign
    Array(-1., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.slogdet.html.
    """
    check_arraylike("jnp.linalg.slogdet", a)
    a, = promote_dtypes_inexact(asarray(a))
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {shape}")
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'.")
    return SlogdetResult(*(_slogdet_qr(a) if method == "qr" else _slogdet_lu(a)))


@custom_jvp
def _slogdet_lu(a: Value) -> tuple[Value, Value]:
    dtype = a.dtype
    lu, pivot, _ = lax_linalg.lu(a)
    diag = diagonal(lu, axis1=-2, axis2=-1)
    is_zero = any(diag == array(0, dtype=dtype), axis=-1)
    parity = _count_swaps(pivot, a.shape[-1])
    if is_complex(dtype):
        sign = prod(diag / abs(diag).astype(dtype), axis=-1)
    else:
        sign = array(1, dtype=dtype)
        parity = parity + count_nonzero(diag < 0, axis=-1)
    sign = where(is_zero, array(0, dtype=dtype), sign * array(-2 * (parity % 2) + 1, dtype=dtype))
    logdet = where(is_zero, array(-np.inf, dtype=dtype), sum(log(abs(diag)).astype(dtype), axis=-1))
    return sign, real(logdet)


def _count_swaps(pivot: Value, n: int) -> Value:
    """Return how many rows were exchanged: their parity is the sign of the permutation."""
    iota = lax.expand_dims(arange(n, dtype=pivot.dtype), range(pivot.ndim - 1))
    return count_nonzero(pivot != iota, axis=-1)


@custom_jvp
def _slogdet_qr(a: Value) -> tuple[Value, Value]:
    """The determinant of the triangle, and of the orthogonal factor, which is 1 or -1."""
    if is_complex(a.dtype):
        raise NotImplementedError("slogdet method='qr' not implemented for complex inputs")
    q, r = lax_linalg.qr(a, full_matrices=False)
    diag = diagonal(r, axis1=-2, axis2=-1)
    return prod(lax.sign(diag), axis=-1) * lax.round(det(q)), sum(log(abs(diag)), axis=-1)


@_slogdet_qr.defjvp
@_slogdet_lu.defjvp
def _slogdet_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    sign, logdet = slogdet(x)
    logdet_dot = trace(solve(x, t), axis1=-1, axis2=-2)
    if not is_complex(x.dtype):
        return (sign, logdet), (zeros_like(sign), logdet_dot)
    turn = logdet_dot - real(logdet_dot).astype(logdet_dot.dtype)
    return (sign, logdet), (turn * sign, real(logdet_dot))


@library_jit()
def det(a: ArrayLike) -> Value:
    """Return the determinant of each matrix of f32[..., n, n].

    >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.det.html.
    """
    check_arraylike("jnp.linalg.det", a)
    a, = promote_dtypes_inexact(asarray(a))
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"Argument to _det() must have shape [..., n, n], got {shape}")
    return {2: _det_2x2, 3: _det_3x3}.get(shape[-1], _det)(a)


def _det_2x2(a: Value) -> Value:
    return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]


def _det_3x3(a: Value) -> Value:
    return (a[..., 0, 0] * a[..., 1, 1] * a[..., 2, 2] + a[..., 0, 1] * a[..., 1, 2] * a[..., 2, 0]
            + a[..., 0, 2] * a[..., 1, 0] * a[..., 2, 1] - a[..., 0, 2] * a[..., 1, 1] * a[..., 2, 0]
            - a[..., 0, 0] * a[..., 1, 2] * a[..., 2, 1] - a[..., 0, 1] * a[..., 1, 0] * a[..., 2, 2])


@custom_jvp
def _det(a: Value) -> Value:
    sign, logdet = slogdet(a)
    return sign * exp(logdet).astype(sign.dtype)


@_det.defjvp
def _det_jvp(primals: Any, tangents: Any) -> tuple[Value, Value]:
    (x,), (t,) = primals, tangents
    y, z = _cofactor_solve(x, t)
    return y, trace(z, axis1=-1, axis2=-2)


def _cofactor_solve(a: Value, b: Value) -> tuple[Value, Value]:
    """Return the determinant of `a` and `det(a) inv(a) b`, which exists for a singular matrix too (of rank n - 1).

    Source: JAX, `jax._src.numpy.linalg._cofactor_solve`.
    """
    a, = promote_dtypes_inexact(asarray(a))
    b, = promote_dtypes_inexact(asarray(b))
    if a.shape[-1] == 1:
        return a[..., 0, 0], b
    lu, pivots, permutation = lax_linalg.lu(a)
    batch = lax.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    x = broadcast_to(b, batch + b.shape[-2:])
    lu = broadcast_to(lu, batch + lu.shape[-2:])
    diag = diagonal(lu, axis1=-2, axis2=-1)
    sign = asarray(-2 * (_count_swaps(pivots, a.shape[-1]) % 2) + 1, dtype=a.dtype)
    partial_det = cumprod(diag, axis=-1) * sign[..., None]
    lu = lu.at[..., -1, -1].set(1.0 / partial_det[..., -2])
    permutation = broadcast_to(permutation, (*batch, a.shape[-1]))
    grid = ix_(*(lax.iota(np.int32, n) for n in (*batch, 1)))
    # A rank below n - 1 makes all cofactors zero.
    d = ones(x.shape[:-1], x.dtype)
    d = lax_linalg.triangular_solve(lu, d, left_side=True, lower=False)
    d = any(logical_or(isnan(d), isinf(d)), axis=-1)
    d = tile(d[..., None, None], d.ndim * (1,) + x.shape[-2:])
    x = where(d, zeros_like(x), x)
    x = x[(*grid[:-1], permutation, slice(None))]
    x = lax_linalg.triangular_solve(lu, x, left_side=True, lower=True, unit_diagonal=True)
    x = concatenate((x[..., :-1, :] * partial_det[..., -1, None, None], x[..., -1:, :]), axis=-2)
    x = lax_linalg.triangular_solve(lu, x, left_side=True, lower=False)
    return partial_det[..., -1], where(d, zeros_like(x), x)
