"""The polar decomposition: a matrix is a unitary matrix times a positive semidefinite one.

Source: Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition" (2010).
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.config import default_matmul_precision
from tinytrace.extend.language import concrete_or_error
from tinytrace.numpy.promotion import ArrayLike, Value
from tinytrace.primitives.factorization import qr, svd
from tinytrace.primitives.triangular import cholesky, triangular_solve

__all__ = ["polar", "qdwh"]


@library_jit("side", "method")
def polar(a: ArrayLike, side: str = "right", *, method: str = "qdwh", eps: float | None = None,
          max_iterations: int | None = None) -> tuple[Value, Value]:
    """Return a unitary u and a positive semidefinite p with `a = u @ p` (side="right") or `a = p @ u` ("left").

    method: "qdwh", for f32[m, n] with m >= n (of "left": m < n), or "svd".
    Raises: ValueError for other words and other than two dimensions, NotImplementedError for other shapes.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.polar.html.

    >>> jax.scipy.linalg.polar(jnp.array([[0.0, -2.0], [3.0, 0.0]]), method="svd")[1].round(4)
    Array([[3., 0.],
           [0., 2.]], dtype=float32)
    """
    with default_matmul_precision("float32"):
        x = jnp.asarray(a)
        if x.ndim != 2:
            raise ValueError("The input `a` must be a 2-D array.")
        if side not in ("right", "left"):
            raise ValueError("The argument `side` must be either 'right' or 'left'.")
        if method == "qdwh":
            return _polar_by_qdwh(x, side, eps)
        if method != "svd":
            raise ValueError(f"Unknown polar decomposition method {method}.")
        u, s, vh = svd(x, full_matrices=False)
        s = s.astype(u.dtype)
        unitary = u @ vh
        if side == "right":
            return unitary, (vh.T.conj() * s[None, :]) @ vh
        return unitary, (u * s[None, :]) @ u.T.conj()


def _polar_by_qdwh(x: Any, side: str, eps: float | None) -> tuple[Value, Value]:
    m, n = x.shape
    if m >= n and side == "right":
        unitary, positive, _, _ = qdwh(x, is_hermitian=False, eps=eps)
        return unitary, positive
    if m < n and side == "left":
        x = x.T.conj()
        unitary, positive, _, _ = qdwh(x, is_hermitian=False, eps=eps)
        positive = positive.T.conj()
        return unitary.T.conj(), positive
    raise NotImplementedError("method='qdwh' only supports mxn matrices where m < n where side='right' and m >= n "
                              f"side='left', got {x.shape} with {side=}")


@library_jit("is_hermitian", "max_iterations", "eps")
def qdwh(x: Any, *, is_hermitian: bool = False, max_iterations: int | None = None, eps: float | None = None,
         dynamic_shape: tuple[Any, Any] | None = None) -> tuple[Value, Value, Value, Value]:
    """Return unitary u and positive h with `u @ h = x` for f32[m, n], how many iterations it took, and if it converged.

    eps: the precision, of the dtype if None.  dynamic_shape: the rows and columns that count; others are zeros.
    Raises: ValueError for more columns than rows.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.qdwh.html.

    >>> lax.linalg.qdwh(jnp.array([[2.0, 0.0], [0.0, 3.0]]))[3]
    Array(True, dtype=bool)
    """
    most = 10 if max_iterations is None else concrete_or_error(
        int, max_iterations, "The `max_iterations` argument must be statically specified to use `qdwh` within JAX "
                             "transformations.")
    m, n = x.shape
    if m < n:
        raise ValueError("The input matrix of shape M x N must have M >= N.")
    if dynamic_shape is not None:
        m, n = dynamic_shape
        x = _masked(x, (m, n))
    with default_matmul_precision("float32"):
        return _qdwh(x, m, n, most, eps)


def _qdwh(x: Any, m: Any, n: Any, max_iterations: int, eps: float | None) -> tuple[Value, Value, Value, Value]:
    if eps is None:
        eps = float(jnp.finfo(x.dtype).eps)
    one_norm = jnp.linalg.norm(x, ord=1)
    inf_norm = jnp.linalg.norm(x, ord=jnp.inf)
    inverse = lax.rsqrt(one_norm) * lax.rsqrt(inf_norm)
    inverse = jnp.where(one_norm == 0, 1, inverse)
    u = x * inverse.astype(x.dtype)
    tolerance = jnp.cbrt(10.0 * eps / 2.0)
    by_qr, by_cholesky = _coefficients(eps, max_iterations)

    def step(k: Any, state: Any, update: Callable[..., Any], coefficients: Any, test: bool) -> Any:
        u, _ = state
        params = (2.6666666666666665, 3, 0.3333333333333333) if coefficients is None \
            else lax.dynamic_index_in_dim(coefficients, k, keepdims=False)
        before = u
        u = update(u, m, n, params)
        return u, jnp.linalg.norm(u - before) > tolerance if test else True

    def steps(u: Any, coefficients: list[Any], **kwargs: Any) -> Any:
        if not coefficients:
            return u, True
        listed = jnp.array(coefficients).astype(x.dtype)
        return lax.fori_loop(0, len(listed), partial(step, coefficients=listed, **kwargs), (u, True))

    u, _ = steps(u, by_qr, update=_qr_step, test=False)
    u, unfinished = steps(u, by_cholesky, update=_cholesky_step, test=True)

    def is_unfinished(state: Any) -> Any:
        k, _, unfinished = state
        return jnp.logical_and(unfinished, k < max_iterations)

    def one_more(state: Any) -> Any:
        k, u, unfinished = state
        u, unfinished = step(k, (u, unfinished), _cholesky_step, None, test=True)
        return k + 1, u, unfinished

    count, u, unfinished = lax.while_loop(is_unfinished, one_more, (len(by_qr) + len(by_cholesky), u, unfinished))
    u = 1.5 * u - 0.5 * u @ (u.T.conj() @ u)  # a step of Newton and Schulz, for accuracy
    h = u.T.conj() @ x
    h = (h + h.T.conj()) / 2
    return u, h, count, jnp.logical_not(unfinished)


def _coefficients(eps: float, most: int) -> tuple[list[Any], list[Any]]:
    """Return those of steps by QR, which an ill-conditioned matrix needs first, and of the cheaper ones by Cholesky."""
    by_qr: list[Any] = []
    by_cholesky: list[Any] = []
    bound = eps
    tolerance = 10.0 * eps / 2.0
    while bound + tolerance < 1 and len(by_qr) + len(by_cholesky) < most:
        square = bound * bound
        d = (4 * (1 / square - 1) / square)**(1 / 3)
        root = (1.0 + d)**(1 / 2)
        a = root + (2 - d + 2 * (2 - square) / (square * root))**(1 / 2)
        b = (a - 1)**2 / 4
        c = a + b - 1
        bound = bound * (a + b * square) / (1 + c * square)
        e = b / c
        if c > 100:
            by_qr.append(((a - e) / c**(1 / 2), c**(1 / 2), e))
        else:
            by_cholesky.append((a - e, c, e))
    return by_qr, by_cholesky


def _qr_step(u: Any, m: Any, n: Any, params: Any) -> Any:
    scaled, root, e = params
    rows, columns = u.shape
    y = root * u
    identity = jnp.eye(columns, dtype=u.dtype)
    padded = lax.pad(y, jnp.array(0, y.dtype), [(0, columns, 0), (0, 0, 0)])
    y = lax.dynamic_update_slice_in_dim(padded, identity, m, axis=0)
    q, _ = qr(y, full_matrices=False)
    q1 = _masked(lax.slice(q, (0, 0), (rows, columns)), (m, n))
    q2 = lax.dynamic_slice_in_dim(q, m, columns, axis=0)
    q2 = _masked(q2, (n, n)).T.conj()
    return e * u + scaled * (q1 @ q2)


def _cholesky_step(u: Any, m: Any, n: Any, params: Any) -> Any:
    difference, c, e = params
    columns = u.shape[1]
    x = c * (u.T.conj() @ u) + jnp.eye(columns, dtype=u.dtype)
    x = _masked(x, (n, n), jnp.eye(columns, dtype=x.dtype))
    y = cholesky(x, symmetrize_input=False)
    z = triangular_solve(y, u.T, left_side=True, lower=True, conjugate_a=True).conj()
    z = triangular_solve(y, z, left_side=True, lower=True, transpose_a=True, conjugate_a=True).T.conj()
    return e * u + difference * z


def _masked(x: Any, sizes: tuple[Any, ...], alternative: Any = 0) -> Any:
    """Return `x` where its index is less than the sizes, elsewhere the alternative."""
    mask: Any = None
    for axis, size in enumerate(sizes):
        inside = lax.broadcasted_iota(jnp.int32, x.shape, axis) < size
        mask = inside if mask is None else mask & inside
    return jnp.where(mask, x, alternative)
