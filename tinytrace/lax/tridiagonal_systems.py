"""tridiagonal_solve: linear systems with three diagonals, by elimination along them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, FLOAT64, dtype_of
from tinytrace.core.primitive import refuse
from tinytrace.core.tangents import Zero
from tinytrace.lax.control_flow import scan
from tinytrace.primitives.arithmetic import div, mul, sub
from tinytrace.primitives.broadcasting import batch_dim_at_front, expand_dims
from tinytrace.primitives.composite import Composite
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.creation import full
from tinytrace.primitives.elementwise import filled_like
from tinytrace.primitives.shaping import moveaxis, reshape, rev, transpose
from tinytrace.primitives.slicing import slice_in_dim


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """Return x with A @ x = b: f32[..., m, n], where A has the diagonals dl, d and du: f32[..., m], lowest first.

    Row i of A is `dl[i], d[i], du[i]` in columns i - 1, i and i + 1; dl[0] and du[m - 1] are zeros.
    Raises: ValueError for sizes and types that do not fit, and fewer than three rows.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.tridiagonal_solve.html.

    >>> d = jnp.array([2.0, 2.0, 2.0])
    >>> lax.linalg.tridiagonal_solve(0 * d, d, 0 * d, jnp.ones((3, 1)))[:, 0]
    Array([0.5, 0.5, 0.5], dtype=float32)
    """
    if dl.shape != d.shape or d.shape != du.shape:
        raise ValueError(f"dl={dl.shape}, d={d.shape} and du={du.shape} must all be `[m]`")
    m = dl.shape[-1]
    if m < 3:
        raise ValueError(f"m ({m}) must be >= 3")
    ldb, n = b.shape[-2:]
    if ldb < max(1, m):
        raise ValueError(f"Leading dimension of b={ldb} must be ≥ max(1, {m})")
    if dl.dtype != d.dtype or d.dtype != du.dtype or du.dtype != b.dtype:
        raise ValueError(f"dl={dl.dtype}, d={d.dtype}, du={du.dtype} and b={b.dtype} must be the same dtype,")
    if dl.dtype not in (FLOAT32, FLOAT64):
        raise ValueError(f"Only f32/f64 are supported, got {dl.dtype}")
    return tridiagonal_solve_p.bind(dl, d, du, b, m=m, n=n, ldb=ldb, t=dl.dtype)


class TridiagonalSolve(Composite):
    """`tridiagonal_solve[ldb=3 m=3 n=1 t=float32] dl: f32[m] d: f32[m] du: f32[m] b: f32[m,n]` is f32[m,n]."""

    name = "tridiagonal_solve"
    jvp = refuse("JAX has no rule for it either: take lax.custom_linear_solve around it")

    def abstract_eval(self, dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray,
                      **params: Any) -> ShapedArray:
        return b.update(weak_type=all(x.weak_type for x in (dl, d, du, b)))

    def program(self, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> Any:
        dl, d, du, b = _last_first(dl), _last_first(d), _last_first(du), _last_first(_last_first(b))

        def pivots(ratio: Any, x: Any) -> Any:
            d, du, dl = x
            ratio = div(du, sub(d, mul(dl, ratio)))
            return ratio, ratio

        def forward(y: Any, x: Any) -> Any:
            b, d, ratio, dl = x
            y = div(sub(b, _times(dl, y)), expand_dims(sub(d, mul(dl, ratio)), (0,)))
            return y, y

        def backward(x: Any, row: Any) -> Any:
            y, ratio = row
            x = sub(y, _times(ratio, x))
            return x, x

        def first(x: Any) -> Any:
            return reshape(slice_in_dim(x, 0, 1), np.shape(x)[1:])

        _, ratios = scan(pivots, div(first(du), first(d)), (d, du, dl))
        before = concatenate([full((1, *np.shape(ratios)[1:]), 0, dtype_of(ratios)),
                              slice_in_dim(ratios, 0, np.shape(ratios)[0] - 1)], 0)
        start = div(first(b), expand_dims(first(d), (0,)))
        last, y = scan(forward, start, (b, d, before, dl))
        _, x = scan(backward, last, (rev(y, (0,)), rev(ratios, (0,))))
        return _first_last(_first_last(rev(x, (0,))))

    def transpose(self, ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> Sequence[Any]:
        if type(ct) is Zero:
            return [None, None, None, Zero(b.aval)]
        m = np.shape(d)[-1]
        zero = slice_in_dim(filled_like(d, 0), 0, 1, axis=-1)  # of the transpose the diagonals beside d change places
        below = concatenate([zero, slice_in_dim(du, 0, m - 1, axis=-1)], np.ndim(d) - 1)
        above = concatenate([slice_in_dim(dl, 1, m, axis=-1), zero], np.ndim(d) - 1)
        return [None, None, None, tridiagonal_solve(below, d, above, ct)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        dl, d, du, b = args
        if dims[3] is not None and all(dim is None for dim in dims[:3]):  # more right sides
            b = moveaxis(b, dims[3], -2)
            *batch, rows, copies, columns = np.shape(b)
            out = tridiagonal_solve(dl, d, du, reshape(b, (*batch, rows, copies * columns)))
            return reshape(out, np.shape(b)), np.ndim(b) - 2
        size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        dl, d, du, b = (batch_dim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True))
        return tridiagonal_solve(dl, d, du, b), 0


def _times(x: Any, y: Any) -> Any:
    return mul(expand_dims(x, (0,)), y)


def _last_first(x: Any) -> Any:
    ndim = np.ndim(x)
    return transpose(x, (ndim - 1, *range(ndim - 1)))


def _first_last(x: Any) -> Any:
    return transpose(x, (*range(1, np.ndim(x)), 0))


tridiagonal_solve_p = TridiagonalSolve()
