"""Systems without an exact solution: least squares and the pseudo-inverse."""
from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.jit import jit
from tinytrace.api.library import is_staging, library_jit, remembered
from tinytrace.numpy.arithmetic import divide
from tinytrace.numpy.array_creation import array, asarray, empty
from tinytrace.numpy.classification import conj
from tinytrace.numpy.contraction import matmul
from tinytrace.numpy.linalg.factorizations import conjugate_transpose, svd
from tinytrace.numpy.linalg.norms import norm
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, promote_dtypes_inexact
from tinytrace.numpy.scalar_types import finfo
from tinytrace.numpy.searching import where


@remembered("rcond", "numpy_resid")
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False) -> Any:
    """Return the x that minimises the squares of `a @ x - b`, their sums, the rank, and the singular values of `a`.

    numpy_resid: leave the sums out where NumPy does; then it cannot be jitted.

    >>> jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))[0]
    Array([1.9999999], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.lstsq.html.
    """
    check_arraylike("jnp.linalg.lstsq", a, b)
    return _lstsq(a, b, rcond) if is_staging() and not numpy_resid else _least_squares(a, b, rcond, numpy_resid)


def _least_squares(a: Any, b: Any, rcond: Any, numpy_resid: bool) -> Any:
    a, b = promote_dtypes_inexact(a, b)
    if a.shape[0] != b.shape[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim != 2:
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    m, n = a.shape
    if a.size == 0:
        s, rank, x = empty(0, dtype=a.dtype), array(0, dtype=int), empty((n, *b.shape[1:]), dtype=a.dtype)
    else:
        eps = finfo(a.dtype).eps
        rcond = eps * max(n, m) if rcond is None else where(rcond < 0, eps, rcond)
        u, s, vt = svd(a, full_matrices=False)
        mask = s >= array(rcond, dtype=s.dtype) * s[0]
        rank = mask.sum()
        safe = where(mask, s, 1).astype(a.dtype)
        inverse = where(mask, 1 / safe, 0)[:, None]
        exact = lax.Precision.HIGHEST
        projected = matmul(u.conj().T, b, precision=exact)
        x = matmul(vt.conj().T, inverse * projected, precision=exact)
    if numpy_resid and (rank < n or m <= n):
        residuals = asarray([])
    else:
        difference = b - matmul(a, x, precision=lax.Precision.HIGHEST)
        residuals = norm(difference, axis=0) ** 2
    return x.ravel() if is_vector else x, residuals, rank, s


_lstsq = jit(partial(_least_squares, numpy_resid=False))


def pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *,
         rcond: ArrayLike | None = None) -> Value:
    """Return the pseudo-inverse f32[..., n, m] of `a: f32[..., m, n]`; `rcond` is the name of old of `rtol`.

    >>> jnp.linalg.pinv(jnp.array([[2.0], [0.0]]))
    Array([[0.5, 0. ]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.pinv.html.
    """
    if rcond is not None:
        warnings.warn("The rcond argument for linalg.pinv is deprecated. Please use rtol instead.",
                      DeprecationWarning, stacklevel=2)
        rtol = rcond
    return _pinv(a, rtol, hermitian)


@partial(custom_jvp, nondiff_argnums=(1, 2))
@library_jit("hermitian")
def _pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False) -> Value:
    check_arraylike("jnp.linalg.pinv", a)
    arr, = promote_dtypes_inexact(asarray(a))
    m, n = arr.shape[-2:]
    if m == 0 or n == 0:
        return empty((*arr.shape[:-2], n, m), arr.dtype)
    arr = conj(arr)
    if rtol is None:
        rtol = 10.0 * max(m, n) * array(finfo(arr.dtype).eps)
    rtol = asarray(rtol)
    u, s, vh = svd(arr, full_matrices=False, hermitian=hermitian)
    rtol = lax.expand_dims(rtol[..., None], range(s.ndim - rtol.ndim - 1))
    s = where(s > rtol * s[..., 0:1], s, np.inf).astype(u.dtype)
    result = matmul(vh.mT, divide(u.mT, s[..., None]), precision=lax.Precision.HIGHEST)
    return lax.convert_element_type(result, arr.dtype)


def _symmetrized(x: Value) -> Value:
    return (x + conjugate_transpose(x)) / 2


@_pinv.defjvp
def _pinv_jvp(rtol: Any, hermitian: bool, primals: Any, tangents: Any) -> tuple[Value, Value]:
    """Source: Golub and Pereyra 1973, The differentiation of pseudo-inverses, theorem 4.3."""
    (a,), (t,) = primals, tangents
    p = pinv(a, rtol=rtol, hermitian=hermitian)
    if hermitian:
        a, t = _symmetrized(a), _symmetrized(t)

    def dot(x: Value, y: Value) -> Value:
        return matmul(x, y, precision=lax.Precision.HIGHEST)

    m, n = a.shape[-2:]
    if m >= n:
        s = dot(dot(p, conjugate_transpose(p)), conjugate_transpose(t))
        r = dot(dot(conjugate_transpose(t), conjugate_transpose(p)), p)
        return p, dot(-dot(p, t), p) + s - dot(dot(s, a), p) + r - dot(dot(p, a), r)
    s = dot(p, dot(conjugate_transpose(p), conjugate_transpose(t)))
    r = dot(conjugate_transpose(t), dot(conjugate_transpose(p), p))
    return p, dot(-p, dot(t, p)) + s - dot(s, dot(a, p)) + r - dot(p, dot(a, r))
