"""The Schur and the Hessenberg form of a matrix, and functions of matrices that are computed from them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import complex_dtype
from tinytrace.lax import linalg as lax_linalg
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_complex


def schur(a: Any, output: str = "real") -> tuple[Value, Value]:
    """Return t and z with `a = z @ t @ z^H` for f32[..., n, n], where z is unitary.

    output: "real" leaves a 2 by 2 block on the diagonal of t for each pair of complex eigenvalues of a real matrix;
    "complex" makes t triangular.
    Raises: ValueError for another `output`.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.schur.html.

    >>> jax.scipy.linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    return _schur(a, output)


@library_jit("output")
def _schur(a: Any, output: str) -> tuple[Value, Value]:
    if output == "complex":
        a = a.astype(complex_dtype(a.dtype))
    return lax_linalg.schur(a)  # type: ignore[no-any-return]


@library_jit("check_finite")
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Value, Value]:  # noqa: N803
    """Return the complex Schur form and basis made of a real form T and basis Z: f32[n, n].

    Raises: ValueError unless both are squares of one size.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.rsf2csf.html.

    >>> t, z = jax.scipy.linalg.rsf2csf(jnp.array([[0.0, 1.0], [-1.0, 0.0]]), jnp.eye(2))
    >>> jnp.diag(t)
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    t, z = jnp.asarray(T), jnp.asarray(Z)
    for name, x in (("T", t), ("Z", z)):
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"Input '{name}' must be square.")
    if t.shape[0] != z.shape[0]:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    t, z = promote_dtypes_complex(t, z)
    eps = jnp.finfo(t.dtype).eps
    n = t.shape[0]
    if n == 1:
        return t, z

    def step(i: Any, state: Any) -> Any:
        m = n - i
        t, z = state
        t, z = lax.cond(jnp.abs(t[m, m - 1]) > eps * (jnp.abs(t[m - 1, m - 1]) + jnp.abs(t[m, m])), _without_block,
                        lambda m, t, z: (t, z), m, t, z)
        return t.at[m, m - 1].set(0.0), z

    return lax.fori_loop(1, n, step, (t, z))  # type: ignore[no-any-return]


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Value:  # noqa: N803
    """Return the principal square root of f32[n, n], as complex numbers.

    Source: Higham, "Computing real square roots of a real matrix" (1987), by the complex Schur form.
    Raises: NotImplementedError for a larger `blocksize`.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.sqrtm.html.

    >>> jax.scipy.linalg.sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    return _sqrtm(A)


@library_jit()
def _sqrtm(A: ArrayLike) -> Value:  # noqa: N803
    t, z = schur(A, output="complex")
    root = _sqrtm_triu(t)
    exact = lax.Precision.HIGHEST
    return jnp.matmul(jnp.matmul(z, root, precision=exact), jnp.conj(z.T), precision=exact)


@library_jit()
def _sqrtm_triu(T: Any) -> Value:  # noqa: N803
    diagonal = jnp.sqrt(jnp.diag(T))
    n = diagonal.size
    root = jnp.diag(diagonal)

    def rows(l: Any, data: Any) -> Any:  # noqa: E741
        j, u = data
        i = j - 1 - l
        s = lax.fori_loop(i + 1, j, lambda k, total: total + u[i, k] * u[k, j], 0.0)
        value = jnp.where(T[i, j] == s, 0.0, (T[i, j] - s) / (diagonal[i] + diagonal[j]))
        return j, u.at[i, j].set(value)

    def columns(j: Any, u: Any) -> Any:
        return lax.fori_loop(0, j, rows, (j, u))[1]

    return lax.fori_loop(0, n, columns, root)


def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:  # noqa: N803
    """Return the function of a matrix f32[n, n] that `func` is of numbers; with an estimate of its error unless `disp`.

    Source: Golub and Van Loan, "Matrix Computations" (1996), algorithm 11.1.1: eigenvalues should be distinct.
    Raises: ValueError unless the matrix is square.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.funm.html.

    >>> jax.scipy.linalg.funm(jnp.array([[2.0, 0.0], [0.0, 3.0]]), lambda x: x**2).real
    Array([[4., 0.],
           [0., 9.]], dtype=float32)
    """
    a = jnp.asarray(A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected square array_like input")
    t, z = rsf2csf(*schur(a))
    f = jnp.diag(func(jnp.diag(t)))
    f = f.astype(t.dtype)
    f, smallest = _algorithm_11_1_1(f, t)
    f = z @ f @ z.conj().T
    if disp:
        return f
    tolerance = jnp.finfo(jnp.float32 if f.dtype == np.complex64 else jnp.float64).eps
    smallest = jnp.where(smallest == 0.0, tolerance, smallest)
    return f, jnp.where(jnp.any(jnp.isinf(f)), jnp.inf, jnp.minimum(1, jnp.maximum(
        tolerance, tolerance / smallest * jnp.linalg.norm(jnp.triu(t, 1), 1))))


@library_jit("calc_q", "check_finite", "overwrite_a")
def hessenberg(a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return h, zero below its first subdiagonal, with `a = q @ h @ q^H` for f32[..., n, n]; and q if `calc_q`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.hessenberg.html.

    >>> jax.scipy.linalg.hessenberg(jnp.array([[1.0, 2.0, 0.0], [1.0, 0.0, 1.0], [0.0, 3.0, 4.0]]))[2, 0]
    Array(0., dtype=float32)
    """
    n = jnp.shape(a)[-1]
    if n == 0:
        return (jnp.zeros_like(a), jnp.zeros_like(a)) if calc_q else jnp.zeros_like(a)
    reduced, taus = lax_linalg.hessenberg(a)
    h = jnp.triu(reduced, -1)
    if not calc_q:
        return h
    q = lax_linalg.householder_product(reduced[..., 1:, :-1], taus)
    batch, dtype = reduced.shape[:-2], reduced.dtype
    q = jnp.block([[jnp.ones((*batch, 1, 1), dtype=dtype), jnp.zeros((*batch, 1, n - 1), dtype=dtype)],
                   [jnp.zeros((*batch, n - 1, 1), dtype=dtype), q]])
    return h, q


# --- steps -------------------------------------------------------------------------------------------------------

def _without_block(m: Any, t: Any, z: Any) -> tuple[Value, Value]:
    """Return t and z turned so that the 2 by 2 block of t that ends at (m, m) is triangular."""
    n = t.shape[0]
    mu = jnp.linalg.eigvals(lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))) - t[m, m]
    r = jnp.linalg.norm(jnp.array([mu[0], t[m, m - 1]])).astype(t.dtype)
    c = mu[0] / r
    s = t[m, m - 1] / r
    turn = jnp.array([[c.conj(), s], [-s, c]], dtype=t.dtype)
    rows = lax.dynamic_slice_in_dim(t, m - 1, 2, axis=0)
    behind = jnp.arange(n) >= m - 1
    turned = turn @ jnp.where(behind, rows, 0)
    t = lax.dynamic_update_slice_in_dim(t, jnp.where(~behind, rows, turned), m - 1, axis=0)
    columns = lax.dynamic_slice_in_dim(t, m - 1, 2, axis=1)
    above = jnp.arange(n)[:, jnp.newaxis] < m + 1
    turned = jnp.where(above, columns, 0) @ turn.conj().T
    t = lax.dynamic_update_slice_in_dim(t, jnp.where(~above, columns, turned), m - 1, axis=1)
    basis = lax.dynamic_slice_in_dim(z, m - 1, 2, axis=1)
    return t, lax.dynamic_update_slice_in_dim(z, basis @ turn.conj().T, m - 1, axis=1)


@library_jit()
def _algorithm_11_1_1(F: Any, T: Any) -> tuple[Value, Value]:  # noqa: N803
    """Fill in F above its diagonal, one diagonal after the other; also return the smallest gap between eigenvalues."""
    n = T.shape[0]
    smallest = jnp.abs(T[0, 0])

    def diagonals(p: Any, state: Any) -> Any:
        _, f, smallest = lax.fori_loop(1, n - p + 1, elements, (p, *state))
        return f, smallest

    def elements(i: Any, state: Any) -> Any:
        p, f, smallest = state
        j = i + p
        s = T[i - 1, j - 1] * (f[j - 1, j - 1] - f[i - 1, i - 1])
        t_row, t_column = T[i - 1], T[:, j - 1]
        f_row, f_column = f[i - 1], f[:, j - 1]
        between = (jnp.arange(n) >= i) & (jnp.arange(n) < j - 1)
        value = (jnp.where(between, t_row, 0) @ jnp.where(between, f_column, 0)
                 - jnp.where(between, f_row, 0) @ jnp.where(between, t_column, 0))
        s = s + value
        gap = T[j - 1, j - 1] - T[i - 1, i - 1]
        s = jnp.where(gap != 0, s / gap, s)
        f = f.at[i - 1, j - 1].set(s)
        return p, f, jnp.minimum(smallest, jnp.abs(gap))

    return lax.fori_loop(1, n, diagonals, (F, smallest))  # type: ignore[no-any-return]


__all__ = ["funm", "hessenberg", "rsf2csf", "schur", "sqrtm"]
