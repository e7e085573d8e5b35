"""The Schur form of a matrix: an orthogonal basis in which it is triangular, but for pairs of complex eigenvalues."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import is_complex, is_inexact
from tinytrace.core.kinds import Kind
from tinytrace.primitives.factorization import Factorization
from tinytrace.primitives.lapack import NOTHING, by_lapack, ins, not_found, outs
from tinytrace.primitives.shaping import NDArray


def schur(x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable: Callable[..., Any] | None = None) -> Any:
    """Return t and z with z @ t @ z^H = x: f32[..., n, n], or t alone.

    Of real matrices t has a 2 by 2 block on its diagonal for each pair of complex eigenvalues, and is triangular
    otherwise; of complex matrices it is triangular.
    Raises: NotImplementedError for `sort_eig_vals`.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.schur.html.

    >>> schur(np.float32([[1, 2], [0, 3]]))[0]
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    return schur_p.bind(x, compute_schur_vectors=compute_schur_vectors, sort_eig_vals=sort_eig_vals,
                        select_callable=select_callable)


class Schur(Factorization):
    """`schur[compute_schur_vectors=True ...] a: f32[n,n]` is f32[n,n], f32[n,n]: the form, and its basis as columns."""

    name = "schur"

    def abstract_eval(self, x: ShapedArray, *, compute_schur_vectors: bool, sort_eig_vals: bool,
                      select_callable: Any) -> list[ShapedArray]:
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Argument to Schur decomposition must have shape [..., n, n], got shape {x.shape}")
        return [x] * (1 + compute_schur_vectors)

    def impl(self, x: NDArray, *, compute_schur_vectors: bool, sort_eig_vals: bool,
             select_callable: Any) -> list[NDArray]:
        _check(x.dtype, sort_eig_vals)
        t, z = np.empty_like(x), np.empty_like(x)
        for where in np.ndindex(x.shape[:-2]):
            try:
                t[where], z[where] = _deflated(x[where])
            except np.linalg.LinAlgError:  # an eigenvalue was not found, or there is a NaN
                t[where] = z[where] = not_found(x.dtype)
        return [t, z] if compute_schur_vectors else [t]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        raise NotImplementedError("The differentiation rules for the Schur factorization have not been implemented.")

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, compute_schur_vectors: bool, sort_eig_vals: bool,
                   select_callable: Any) -> Kind:
        x, = in_avals
        _check(x.dtype, sort_eig_vals)
        return by_lapack("gees", x, x.shape[-1], *ins(0), *outs(0), *(outs(1) if compute_schur_vectors else [NOTHING]))


def _check(dtype: np.dtype[Any], sort_eig_vals: bool) -> None:
    if sort_eig_vals:
        raise NotImplementedError("The sort feature of LAPACK's gees routine is not implemented.")
    if not is_inexact(dtype):
        raise NotImplementedError(f"Unsupported dtype {dtype}")


def _deflated(x: NDArray) -> tuple[NDArray, NDArray]:
    """Return the Schur form and its basis: one eigenvalue, or pair of them, after the other, in LAPACK's order."""
    n = len(x)
    t, z = x.copy(), np.eye(n, dtype=x.dtype)
    values = np.linalg.eigvals(x)
    k = 0
    while k < n:
        basis = np.linalg.svd(t[k:, k:] - values[k] * np.eye(n - k))[2][-1:].conj().T  # of the kernel
        size = 1
        if not is_complex(x.dtype):
            size = 1 + (values[k].imag != 0)
            basis = np.concatenate([basis.real, basis.imag], 1)[:, :size]
        _turn(t, z, k, np.linalg.qr(basis, "complete")[0].astype(x.dtype))
        t[k + size:, k:k + size] = 0
        if size == 2:  # a block has equal elements on its diagonal
            (p, above), (below, q) = t[k:k + 2, k:k + 2]
            angle = np.arctan2(q - p, above + below) / 2
            turn = np.eye(n - k, dtype=x.dtype)
            turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            _turn(t, z, k, turn)
        k += size
    return t, z


def _turn(t: NDArray, z: NDArray, k: int, q: NDArray) -> None:
    """Change the basis of the last dimensions, from number `k` on."""
    t[:, k:] = t[:, k:] @ q
    t[k:] = q.conj().T @ t[k:]
    z[:, k:] = z[:, k:] @ q


schur_p = Schur()
