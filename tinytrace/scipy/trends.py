"""Trends of signals: what is left when a line, or the mean, is taken away."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_inexact


def detrend(data: ArrayLike, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None) -> Value:
    """Return `data` without its trend along `axis`: a line by least squares ("linear"), or the mean ("constant").

    bp: places where one line ends and the next begins, known when the program is traced.

    Raises: ValueError for other trends, and for places outside of the axis.

    >>> jax.scipy.signal.detrend(jnp.array([1.0, 4.0, 8.0]), type="constant").round(3)
    Array([-3.333, -0.333,  3.667], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.detrend.html.
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x, = promote_dtypes_inexact(jnp.asarray(data))
    if type == "constant":
        return x - x.mean(axis, keepdims=True)
    size = x.shape[axis]
    ends = np.unique(np.r_[0, bp, size])
    if ends[0] < 0 or ends[-1] > size:
        raise ValueError("Breakpoints must be non-negative and less than length of data along given axis.")
    x = jnp.moveaxis(x, axis, 0)
    shape = x.shape
    x = x.reshape(size, -1)
    for first, last in itertools.pairwise(ends):
        part = slice(first, last)
        x = x.at[part].add(-_line(x, part))
    return jnp.moveaxis(x.reshape(shape), 0, axis)


def _line(x: Value, part: slice) -> Value:
    """Return the lines that fit the columns of `x[part]` best, at its rows."""
    count = part.stop - part.start
    basis = jnp.vstack([jnp.ones(count, dtype=x.dtype),
                        jnp.arange(1, count + 1, dtype=x.dtype) / x.dtype.type(count)]).T
    slopes = jnp.linalg.lstsq(basis, x[part])[0]
    return jnp.matmul(basis, slopes, precision=lax.Precision.HIGHEST)
