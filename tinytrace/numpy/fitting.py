"""polyfit: the polynomial that lies nearest to points."""
from __future__ import annotations

from typing import Any

from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import dtype_of
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.contraction import dot, outer, vander
from tinytrace.numpy.exponential import sqrt
from tinytrace.numpy.linalg import inv, lstsq
from tinytrace.numpy.promotion import ArrayLike, check_arraylike, concrete, promote_dtypes_inexact
from tinytrace.numpy.scalar_types import finfo


@library_jit("deg", "rcond", "full", "cov")
def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None = None, full: bool = False,
            w: ArrayLike | None = None, cov: bool | str = False) -> Any:
    """Return the coefficients f32[deg + 1], highest power first, that minimise the squared errors at `x`.

    w: the weight of each point. full: return residuals, rank, singular values and rcond too. cov: return the
    covariances of the coefficients too, "unscaled" or scaled so that the residuals are what the errors should be.

    >>> jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1)
    Array([2.0000002, 1.0000002], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.polyfit.html.
    """
    check_arraylike("polyfit", x, y, *(() if w is None else (w,)))
    deg = int(concrete(deg, "deg must be int"))
    order = deg + 1
    x, y = asarray(x), asarray(y)
    _check_points(x, y, deg)
    rcond = len(x) * finfo(dtype_of(x)).eps if rcond is None else rcond
    rcond = float(concrete(rcond, "rcond must be float"))
    lhs, rhs = vander(x, order), y
    if w is not None:
        w, = promote_dtypes_inexact(w)
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        lhs = lhs * w[:, None]
        rhs = rhs * (w[:, None] if rhs.ndim == 2 else w)
    scale = sqrt((lhs * lhs).sum(axis=0))  # columns of one length: powers of x differ by orders of magnitude
    lhs = lhs / scale[None, :]
    c, residuals, rank, s = lstsq(lhs, rhs, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, asarray(rcond)
    if not cov:
        return c
    covariances = inv(dot(lhs.T, lhs)) / outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if len(x) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = (residuals / (len(x) - order))[0]
    return c, (covariances if y.ndim == 1 else covariances[:, :, None]) * factor


def _check_points(x: Any, y: Any, deg: int) -> None:
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if not 1 <= y.ndim <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
