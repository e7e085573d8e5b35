"""`jax.scipy.cluster.vq`: which code of a book is nearest to each observation."""
from __future__ import annotations

import operator

from tinytrace import numpy as jnp
from tinytrace.api.vmapping import vmap
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, promote_dtypes_inexact
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Value, Value]:
    """Return the number of the code that is nearest to each row of `obs`, and how far it is; check_finite: ignored.

    Raises: ValueError unless both are vectors of numbers, or both matrices of rows.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.cluster.vq.vq.html.

    >>> jax.scipy.cluster.vq.vq(jnp.array([[1.0, 2.0], [5.0, 4.0]]), jnp.array([[1.0, 1.0], [5.0, 4.0]]))
    (Array([0, 1], dtype=int32), Array([1., 0.], dtype=float32))
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    rows, codes = promote_dtypes_inexact(obs, code_book)
    if rows.ndim != codes.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if rows.ndim == 1:
        rows, codes = rows[..., None], codes[..., None]
    if rows.ndim != 2:
        raise ValueError("ndim different than 1 or 2 are not supported")
    distances = vmap(lambda row: jnp.linalg.norm(row[None] - codes, axis=-1))(rows)
    code = jnp.argmin(distances, axis=-1)
    return code, vmap(operator.getitem)(distances, code)


__all__ = ["vq"]
