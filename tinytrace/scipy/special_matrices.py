"""Matrices with a structure: block diagonal, Toeplitz, Hilbert."""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.numpy.array_creation import asarray, empty, zeros
from tinytrace.numpy.classification import conjugate
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, promote_dtypes
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.shapes import atleast_2d


@library_jit()
def block_diag(*arrs: ArrayLike) -> Value:
    """Return the matrix with `arrs` on its diagonal, one after the other, and zeros elsewhere.

    Raises: ValueError for arrays of more than two dimensions.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.block_diag.html.

    >>> jax.scipy.linalg.block_diag(jnp.array([[1.0, 2.0]]), 3.0)
    Array([[1., 2., 0.],
           [0., 0., 3.]], dtype=float32)
    """
    arrs = tuple(promote_dtypes(*arrs)) if arrs else (zeros((1, 0)),)
    for k, x in enumerate(arrs):
        if np.ndim(x) > 2:
            raise ValueError("Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got "
                             f"{x} at argument {k}.")
    whole, *rest = [atleast_2d(x) for x in arrs]
    zero = whole.dtype.type(0)
    for block in rest:
        columns = block.shape[1]
        block = lax.pad(block, zero, ((0, 0, 0), (whole.shape[-1], 0, 0)))
        whole = lax.concatenate([lax.pad(whole, zero, ((0, 0, 0), (0, columns, 0))), block], dimension=0)
    return whole


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Value:
    """Return the matrix with first column `c` and first row `r` (`conj(c)` if None) that is constant along diagonals.

    The first element of `r` is not looked at.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.toeplitz.html.

    >>> jax.scipy.linalg.toeplitz(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 1, 2],
           [3, 2, 1]], dtype=int32)
    """
    if r is None:
        check_arraylike("toeplitz", c)
        r = conjugate(asarray(c))
    else:
        check_arraylike("toeplitz", c, r)
    column, row = asarray(c).flatten(), asarray(r).flatten()
    if not column.size or not row.size:
        return empty((column.size, row.size), dtype=np.promote_types(column.dtype, row.dtype))
    diagonals = concatenate((column[::-1], row[1:]))
    return diagonals[arange(column.size - 1, -1, -1)[:, None] + arange(row.size)[None]]


@library_jit("n")
def hilbert(n: int) -> Value:
    """Return the matrix f32[n, n] of `1 / (i + j + 1)`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.hilbert.html.

    >>> jax.scipy.linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    a = lax.broadcasted_iota(np.float64, (n, 1), 0)
    return 1 / (a + a.T + 1)
