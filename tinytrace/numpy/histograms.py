"""Histograms, covariances and correlations."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_integer
from tinytrace.numpy.arithmetic import abs, divide, true_divide
from tinytrace.numpy.array_creation import array, asarray, ones_like, zeros
from tinytrace.numpy.classification import imag, iscomplexobj, real
from tinytrace.numpy.contraction import dot
from tinytrace.numpy.cumulative import diff
from tinytrace.numpy.exponential import sqrt
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.positions import searchsorted
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    check_arraylike,
    concrete_index,
    promote_args_inexact,
    promote_dtypes_inexact,
    to_inexact_dtype,
)
from tinytrace.numpy.putting import ravel_multi_index
from tinytrace.numpy.ranges import ix_, linspace
from tinytrace.numpy.reductions import sum
from tinytrace.numpy.searching import bincount, clip, where
from tinytrace.numpy.shapes import atleast_2d, reshape, transpose
from tinytrace.numpy.statistics import average, ptp
from tinytrace.numpy.triangular import diag


@remembered("bins", "range")
def histogram_bin_edges(a: ArrayLike, bins: ArrayLike = 10, range: Any = None,
                        weights: ArrayLike | None = None) -> Value:
    """Return the edges f32[bins + 1] of equal bins over `range`, or over the values; `bins` itself if it is edges.

    >>> jnp.histogram_bin_edges(jnp.array([0.0, 4.0]), bins=2)
    Array([0., 2., 4.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.histogram_bin_edges.html.
    """
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    check_arraylike("histogram_bin_edges", a, bins)
    arr = asarray(a)
    dtype = to_inexact_dtype(arr.dtype)
    if np.ndim(bins) == 1:
        return asarray(bins, dtype=dtype)
    bins = concrete_index(bins, "bins argument of histogram_bin_edges")
    if range is None:
        range = [arr.min(), arr.max()]
    range = asarray(range, dtype=dtype)
    if range.shape != (2,):
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    low = where(ptp(range) == 0, range[0] - 0.5, range[0])
    high = where(ptp(range) == 0, range[1] + 0.5, range[1])
    return linspace(low, high, bins + 1, dtype=dtype)


@remembered("bins", "range", "density")
def histogram(a: ArrayLike, bins: ArrayLike = 10, range: Any = None, weights: ArrayLike | None = None,
              density: bool | None = None) -> tuple[Value, Value]:
    """Count the values (or sum their weights) in each bin; returns the counts and the edges of the bins.

    >>> jnp.histogram(jnp.array([1, 2, 1]), bins=2)
    (Array([2., 1.], dtype=float32), Array([1. , 1.5, 2. ], dtype=float32))

    See https://numpy.org/doc/stable/reference/generated/numpy.histogram.html.
    """
    if weights is None:
        check_arraylike("histogram", a, bins)
        a, = promote_dtypes_inexact(a)
        weights = ones_like(a)
    else:
        check_arraylike("histogram", a, bins, weights)
        if np.shape(a) != np.shape(weights):
            raise ValueError("weights should have the same shape as a.")
        a, weights = promote_dtypes_inexact(a, weights)
    edges = histogram_bin_edges(a, bins, range, weights)
    which = searchsorted(edges, a, side="right")
    which = where(a == edges[-1], len(edges) - 1, which)
    counts = zeros(len(edges), weights.dtype).at[which].add(weights)[1:]
    if density:
        counts = counts / diff(edges) / counts.sum()
    return counts, edges


@remembered("bins", "range", "density")
def histogram2d(x: ArrayLike, y: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None,
                density: bool | None = None) -> tuple[Value, Value, Value]:
    """Count the points (x, y) in each bin of a grid; returns the counts and the edges along both axes.

    >>> jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.histogram2d.html.
    """
    check_arraylike("histogram2d", x, y)
    if _is_sequence(bins) and len(bins) not in (1, 2):
        edges = asarray(bins)
        bins = [edges, edges]
    counts, edges_by_axis = histogramdd(transpose(asarray([x, y])), bins, range, weights, density)
    return counts, edges_by_axis[0], edges_by_axis[1]


@remembered("bins", "range", "density")
def histogramdd(sample: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike | None = None,
                density: bool | None = None) -> tuple[Value, list[Value]]:
    """Count the points `sample: f32[n, d]` in each bin of a grid; returns the counts and the edges per axis.

    >>> jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.histogramdd.html.
    """
    if weights is None:
        check_arraylike("histogramdd", sample)
        sample, = promote_dtypes_inexact(sample)
    else:
        check_arraylike("histogramdd", sample, weights)
        if np.shape(weights) != np.shape(sample)[:1]:
            raise ValueError("should have one weight for each sample.")
        sample, weights = promote_dtypes_inexact(sample, weights)
    count, dims = sample.shape
    if range is not None and (len(range) != dims or any(r is not None and np.shape(r)[0] != 2 for r in range)):
        raise ValueError(f"For sample.shape={(count, dims)}, range must be a sequence of {dims} pairs or Nones; got "
                         f"range={range!r}")
    per_axis = list(bins) if _is_sequence(bins) else [bins] * dims
    if len(per_axis) != dims:
        raise ValueError("should be a bin for each dimension.")
    places, edges = [], []
    for i, axis_bins in enumerate(per_axis):
        axis_edges = histogram_bin_edges(sample[:, i], axis_bins, None if range is None else range[i], weights)
        place = searchsorted(axis_edges, sample[:, i], side="right")
        places.append(where(sample[:, i] == axis_edges[-1], place - 1, place))
        edges.append(axis_edges)
    return _counts(sample, places, edges, weights, density), edges


def _is_sequence(bins: Any) -> bool:
    """Are there bins for each axis? They may be numbers and edges side by side, which make no array."""
    return isinstance(bins, (list, tuple)) or np.ndim(bins) > 0


def _counts(sample: Value, places: Sequence[Value], edges: Sequence[Value], weights: Value | None,
            density: bool | None) -> Value:
    """Count the points by their places along each axis; the outermost ones lie outside of the bins."""
    widths = [diff(e) for e in edges]
    shape = tuple(len(e) + 1 for e in edges)
    flat = ravel_multi_index(tuple(places), shape, mode="clip")
    counts = reshape(bincount(flat, weights, length=math.prod(shape)), shape)[(slice(1, -1),) * len(edges)]
    if density:
        counts = counts.astype(sample.dtype)
        counts = counts / counts.sum()
        for width in ix_(*widths):
            counts = counts / width
    return counts


# --- covariances -----------------------------------------------------------------------------------------------

@library_jit("rowvar", "bias", "ddof")
def cov(m: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
        fweights: ArrayLike | None = None, aweights: ArrayLike | None = None) -> Value:
    """Return the covariances f32[n, n] of the variables that are the rows of `m` (and `y`).

    fweights, aweights: how often each observation counts, and how much.

    >>> jnp.cov(jnp.array([[0.0, 2.0], [2.0, 0.0]]))
    Array([[ 2., -2.],
           [-2.,  2.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.cov.html.
    """
    if y is not None:
        m, y = promote_args_inexact("cov", m, y)
        if y.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
    else:
        m, = promote_args_inexact("cov", m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = _as_rows(m, rowvar)
    if x.shape[0] == 0:
        return array([]).reshape(0, 0)
    if y is not None:
        x = concatenate((x, _as_rows(y, rowvar)), axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    weights, aweights = _observation_weights(x, fweights, aweights)
    mean, total = average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        norm = x.shape[1] - ddof
    elif ddof == 0:
        norm = total
    elif aweights is None:
        norm = total - ddof
    else:
        norm = total - ddof * sum(weights * aweights) / total
    x = x - mean[:, None]
    x_t = x.T if weights is None else (x * lax.broadcast_to_rank(weights, x.ndim)).T
    return true_divide(dot(x, x_t.conj()), norm).squeeze()


def _as_rows(x: Value, rowvar: bool) -> Value:
    x = atleast_2d(x)
    return x.T if not rowvar and x.shape[0] != 1 else x


def _observation_weights(x: Value, fweights: Any, aweights: Any) -> tuple[Value | None, Value | None]:
    """Return the product of both, and the size of `aweights`."""
    weights = given = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        check_arraylike("cov", given)
        if np.ndim(given) > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if np.shape(given)[0] != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if name == "fweights" and not is_integer(aval_of(given).dtype):
            raise TypeError("fweights must be integer.")
        given = asarray(abs(given))
        weights = given if weights is None else weights * given
    return weights, given if aweights is not None else None


@library_jit("rowvar")
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True) -> Value:
    """Return the correlations f32[n, n] of the variables that are the rows of `x` (and `y`).

    >>> jnp.corrcoef(jnp.array([[0.0, 2.0], [2.0, 0.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.corrcoef.html.
    """
    check_arraylike("corrcoef", x)
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return divide(c, c)
    deviation = sqrt(real(diag(c))).astype(c.dtype)
    c = c / deviation[:, None] / deviation[None, :]
    parts = clip(real(c), -1, 1)
    return lax.complex(parts, clip(imag(c), -1, 1)) if iscomplexobj(c) else parts
