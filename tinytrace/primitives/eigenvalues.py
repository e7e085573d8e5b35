"""Eigenvalues and eigenvectors of matrices that need not be symmetric: complex numbers, also of real matrices."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import complex_dtype, dtype_of
from tinytrace.core.kinds import Kind
from tinytrace.primitives.arithmetic import mul
from tinytrace.primitives.broadcasting import reduce_sum
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.factorization import Factorization
from tinytrace.primitives.lapack import NOTHING, by_lapack, ins, not_found, outs
from tinytrace.primitives.lu import lu, rows_at
from tinytrace.primitives.shaping import NDArray
from tinytrace.primitives.triangular import swapped, triangular_solve


def eig(x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True) -> Any:
    """Return the eigenvalues of x: f32[..., n, n], and the left and the right eigenvectors, as columns, if asked for.

    Left eigenvectors are those of the conjugate transpose, for the conjugate eigenvalues. Only eigenvalues alone can be
    differentiated. See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.eig.html.

    >>> eig(np.float32([[0, 1], [-1, 0]]))[0]
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    return eig_p.bind(x, compute_left_eigenvectors=compute_left_eigenvectors,
                      compute_right_eigenvectors=compute_right_eigenvectors)


class Eig(Factorization):
    """`eig[compute_left_eigenvectors=False ...] a: f32[n,n]` is c64[n], and c64[n,n] for either kind of vectors."""

    name = "eig"

    def abstract_eval(self, x: ShapedArray, *, compute_left_eigenvectors: bool,
                      compute_right_eigenvectors: bool) -> list[ShapedArray]:
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError("Argument to nonsymmetric eigendecomposition must have shape [..., n, n], got shape "
                             f"{x.shape}")
        self.check_matrix(x, "nonsymmetric eigen")
        vectors = x.update(dtype=complex_dtype(x.dtype))
        count = compute_left_eigenvectors + compute_right_eigenvectors
        return [vectors.update(shape=x.shape[:-1]), *[vectors] * count]

    def impl(self, x: NDArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool) -> list[NDArray]:
        dtype = complex_dtype(x.dtype)
        values, left, right = np.empty(x.shape[:-1], dtype), np.empty(x.shape, dtype), np.empty(x.shape, dtype)
        for where in np.ndindex(x.shape[:-2]):
            try:
                values[where], right[where] = np.linalg.eig(x[where])
                if compute_left_eigenvectors:
                    rows = np.linalg.inv(right[where]).conj().T
                    left[where] = rows / np.linalg.norm(rows, axis=0)
            except np.linalg.LinAlgError:  # it did not converge, or there are too few vectors
                values[where] = left[where] = right[where] = not_found(dtype)
        return [values, *[left] * compute_left_eigenvectors, *[right] * compute_right_eigenvectors]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, compute_left_eigenvectors: bool,
            compute_right_eigenvectors: bool) -> tuple[Any, Any]:
        if compute_left_eigenvectors or compute_right_eigenvectors:
            raise NotImplementedError("The derivatives of eigenvectors are not implemented, only eigenvalues. See "
                                      "https://github.com/jax-ml/jax/issues/2748 for discussion.")
        (a,), (t,) = primals, tangents
        values, vectors = eig(a, compute_left_eigenvectors=False)
        turned = _solved(vectors, convert_element_type(t, dtype_of(vectors)))
        return [values], [reduce_sum(mul(turned, swapped(vectors)), (np.ndim(a) - 1,))]

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, compute_left_eigenvectors: bool,
                   compute_right_eigenvectors: bool) -> Kind:
        x, = in_avals
        left = outs(1) if compute_left_eigenvectors else [NOTHING]
        right = outs(1 + compute_left_eigenvectors) if compute_right_eigenvectors else [NOTHING]
        return by_lapack("geev", x, x.shape[-1], *ins(0), *outs(0), *left, *right)


def _solved(a: Any, b: Any) -> Any:
    factors, _, rows = lu(a)
    below = triangular_solve(factors, rows_at(b, rows), left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(factors, below, left_side=True, lower=False)


eig_p = Eig()
