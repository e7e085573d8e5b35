"""Sums of exponentials whose terms would overflow."""
from __future__ import annotations

from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.library import remembered
from tinytrace.core.dtypes import is_complex
from tinytrace.numpy.promotion import ArrayLike, promote_args_inexact
from tinytrace.numpy.reductions import axis_names, reduction_axes


@remembered("axis", "keepdims", "return_sign")
def logsumexp(a: ArrayLike, axis: Any = None, b: ArrayLike | None = None, keepdims: bool = False,
              return_sign: bool = False, where: ArrayLike | None = None) -> Any:
    """Return the logarithm of the sum of `b * exp(a)` over `axis`, without overflow; with its sign if asked.

    >>> jax.scipy.special.logsumexp(jnp.array([1000.0, 1000.0]))
    Array(1000.6932, dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.logsumexp.html.
    """
    if b is None:
        a, = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
        a = jnp.where(b != 0, a, -jnp.inf)
    axes = reduction_axes(a, axis)
    all_axes: tuple[int | str, ...] = (*axis_names(axis), *axes)
    largest = jnp.max(a.real, axis=all_axes, keepdims=keepdims, where=where, initial=-jnp.inf)
    largest = lax.stop_gradient(lax.select(jnp.isfinite(largest), largest, lax.full_like(largest, 0)))
    around = largest if keepdims else lax.expand_dims(largest, axes)
    terms = lax.exp(lax.sub(a, around.astype(a.dtype)))
    if b is not None:
        terms = lax.mul(terms, b)
    total = jnp.sum(terms, axis=all_axes, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    size = jnp.abs(total) if return_sign or not is_complex(a.dtype) else total
    out = lax.add(lax.log(size), largest.astype(size.dtype))
    if return_sign:
        return out, sign
    return out if b is None or is_complex(out.dtype) else jnp.where(sign < 0, jnp.array(np.nan, dtype=out.dtype), out)
