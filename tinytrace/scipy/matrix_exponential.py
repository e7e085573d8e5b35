"""The exponential of a matrix, by Pade approximants of a scaled matrix and repeated squaring."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.autodiff import jvp
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import part_dtype
from tinytrace.numpy import linalg
from tinytrace.numpy.array_creation import array, asarray, full_like
from tinytrace.numpy.comparison import maximum
from tinytrace.numpy.contraction import dot
from tinytrace.numpy.exponential import log2
from tinytrace.numpy.positions import digitize
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_inexact
from tinytrace.numpy.ranges import arange, eye
from tinytrace.numpy.rounding import floor
from tinytrace.numpy.vectorization import vectorize
from tinytrace.scipy.systems import solve_triangular


@library_jit("upper_triangular", "max_squarings")
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Value:  # noqa: N803
    """Return the sum of `A ** k / k!`, powers being of matrices, for f32[..., n, n] or c64; nan where A is too large.

    max_squarings: how often `A` may be halved before the approximation.
    Raises: ValueError unless matrices are square.
    Source: A. Al-Mohy and N. Higham, "A new scaling and squaring algorithm for the matrix exponential" (2009).
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.expm.html.

    >>> jax.scipy.linalg.expm(jnp.array([[0.0, 1.0], [0.0, 0.0]]))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    a, = promote_dtypes_inexact(A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={a.shape!r}.")
    if a.ndim > 2:
        one = partial(expm, upper_triangular=upper_triangular, max_squarings=max_squarings)
        return vectorize(one, signature="(n,n)->(n,n)")(a)
    p, q, squarings = _calc_P_Q(asarray(a))

    def computed(operands: tuple[Value, Value, Value]) -> Value:
        _, p, q = operands
        r = solve_triangular(q, p) if upper_triangular else linalg.solve(q, p)
        return _squaring(r, squarings, max_squarings)

    return lax.cond(squarings > max_squarings, lambda operands: full_like(operands[0], np.nan), computed, (a, p, q))


@library_jit("method", "compute_expm")
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None,  # noqa: N803
                 compute_expm: bool = True) -> Any:
    """Return `expm(A)` and its derivative in the direction `E`, or the derivative alone.

    Raises: ValueError unless both are square matrices of one size.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.expm_frechet.html.

    >>> jax.scipy.linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a, e = asarray(A), asarray(E)
    for name, x in (("A", a), ("E", e)):
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise ValueError(f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}")
    if a.shape != e.shape:
        raise ValueError(f"expected A and E to be the same shape, got A.shape={a.shape} E.shape={e.shape}")
    value, derivative = jvp(partial(expm, upper_triangular=False, max_squarings=16), (a,), (e,))
    return (value, derivative) if compute_expm else derivative


@library_jit()
def _calc_P_Q(a: Value) -> tuple[Value, Value, Value]:  # noqa: N802  (the name is JAX's)
    """Return numerator and denominator for `a`, halved until its norm is small enough, and how often that is."""
    if part_dtype(a.dtype) not in _LIMITS:
        raise TypeError(f"A.dtype={a.dtype} is not supported.")
    largest, limits = _LIMITS[part_dtype(a.dtype)]
    norm = linalg.norm(a, 1)
    squarings = maximum(0, floor(log2(norm / largest)))
    a = a / 2 ** squarings.astype(a.dtype)
    limits = array(limits, dtype=norm.dtype)
    u, v = lax.switch(digitize(norm, limits), _APPROXIMANTS[:len(limits) + 1], a)
    return u + v, -u + v, squarings


@library_jit(static_argnums=(2,))
def _squaring(r: Value, squarings: Value, max_squarings: int) -> Value:
    """Square `r` so many times, of a number of times that is known beforehand: so it can be differentiated."""
    def step(x: Value, i: Value) -> tuple[Value, None]:
        return lax.cond(i < squarings, lambda x: _product(x, x), lambda x: x, x), None

    return lax.scan(step, r, arange(max_squarings, dtype=squarings.dtype))[0]


def _approximant(b: Sequence[float], a: Value) -> tuple[Value, Value]:
    """Return the odd and the even part of the polynomial of `a` with coefficients `b`."""
    identity = eye(a.shape[0], dtype=a.dtype)
    powers = [_product(a, a)]
    for _ in range(2, len(b) // 2):
        powers.append(_product(powers[-1], powers[0]))
    odd, even = b[1::2], b[0::2]
    return _product(a, _sum_of_powers(odd, powers, identity)), _sum_of_powers(even, powers, identity)


def _approximant13(a: Value) -> tuple[Value, Value]:
    """The same for the coefficients of degree 13, with three powers of `a` alone."""
    b = _DEGREE_13
    identity = eye(a.shape[0], dtype=a.dtype)
    a2 = _product(a, a)
    a4 = _product(a2, a2)
    a6 = _product(a4, a2)
    low_odd, low_even = (c[:4] for c in (b[1::2], b[0::2]))
    high_odd = _product(a6, b[13] * a6 + b[11] * a4 + b[9] * a2)
    u = _product(a, high_odd + low_odd[3] * a6 + low_odd[2] * a4 + low_odd[1] * a2 + low_odd[0] * identity)
    high_even = _product(a6, b[12] * a6 + b[10] * a4 + b[8] * a2)
    return u, high_even + low_even[3] * a6 + low_even[2] * a4 + low_even[1] * a2 + low_even[0] * identity


def _sum_of_powers(coefficients: Sequence[float], powers: Sequence[Value], identity: Value) -> Value:
    """Return the sum, the highest power first, as the digits of the result depend on it."""
    total: Any = None
    for c, power in zip(reversed(coefficients), [*reversed(powers), identity], strict=True):
        total = c * power if total is None else total + c * power
    return total


def _product(a: Value, b: Value) -> Value:
    return dot(a, b, precision=lax.Precision.HIGHEST)


_DEGREE_3 = (120.0, 60.0, 12.0, 1.0)
_DEGREE_5 = (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0)
_DEGREE_7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_DEGREE_9 = (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0, 1.0)
_DEGREE_13 = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
              10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)
_APPROXIMANTS: list[Callable[[Any], Any]] = [
    *(partial(_approximant, b) for b in (_DEGREE_3, _DEGREE_5, _DEGREE_7, _DEGREE_9)), _approximant13]

_LIMITS: dict[Any, tuple[float, list[float]]] = {
    np.dtype(np.float32): (3.925724783138660, [4.258730016922831e-001, 1.880152677804762e+000]),
    np.dtype(np.float64): (5.371920351148152, [1.495585217958292e-002, 2.539398330063230e-001, 9.504178996162932e-001,
                                               2.097847961257068e+000]),
}
"""The largest norm for which the highest degree will do, and those for which lower ones do."""
