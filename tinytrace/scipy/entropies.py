"""Logarithms times their arguments, which are zero at zero: entropies and log-odds."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import remembered
from tinytrace.numpy.array_creation import zeros_like
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like


@remembered(elementwise=True)
def expit(x: ArrayLike) -> Value:
    """Return the logistic function `1 / (1 + exp(-x))`.

    >>> jax.scipy.special.expit(jnp.array([0.0, 1.0]))
    Array([0.5      , 0.7310586], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.expit.html.
    """
    x, = promote_args_inexact("expit", x)
    return lax.logistic(x)


@custom_jvp
def logit(x: ArrayLike) -> Value:
    """Return `log(x / (1 - x))`, the inverse of expit.

    >>> jax.scipy.special.logit(jnp.array([0.5, 0.75]))
    Array([0.       , 1.0986123], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.logit.html.
    """
    x, = promote_args_inexact("logit", x)
    return lax.log(lax.div(x, lax.sub(const_like(x, 1), x)))


logit.defjvps(lambda g, ans, x: lax.div(g, lax.mul(x, lax.sub(const_like(x, 1), x))))
logit = remembered(elementwise=True)(logit)


@custom_jvp
def xlogy(x: ArrayLike, y: ArrayLike) -> Value:
    """Return `x * log(y)`, and 0 where x is 0.

    >>> jax.scipy.special.xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 1.0]))
    Array([0., 0.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.xlogy.html.
    """
    x, y = promote_args_inexact("xlogy", x, y)
    present = x != 0.0
    return where(present, lax.mul(x, lax.log(y)), zeros_like(x))


@xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> tuple[Value, Value]:
    (x, y), (x_dot, y_dot) = primals, tangents
    out = xlogy(x, y)
    return out, (x_dot * lax.log(y) + y_dot * x / y).astype(out.dtype)


xlogy = remembered(elementwise=True)(xlogy)


@custom_jvp
def xlog1py(x: ArrayLike, y: ArrayLike) -> Value:
    """Return `x * log(1 + y)`, and 0 where x is 0.

    >>> jax.scipy.special.xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 0.0]))
    Array([0., 0.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.xlog1py.html.
    """
    x, y = promote_args_inexact("xlog1py", x, y)
    present = x != 0.0
    return where(present, lax.mul(x, lax.log1p(y)), zeros_like(x))


@xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> tuple[Value, Value]:
    (x, y), (x_dot, y_dot) = primals, tangents
    out = xlog1py(x, y)
    return out, (x_dot * lax.log1p(y) + y_dot * x / (1 + y)).astype(out.dtype)


xlog1py = remembered(elementwise=True)(xlog1py)


@custom_jvp
@remembered(elementwise=True)
def _xlogx(x: Value) -> Value:
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals: Any, tangents: Any) -> tuple[Value, Value]:
    (x,), (x_dot,) = primals, tangents
    return _xlogx(x), x_dot * (lax.log(x) + 1)


@remembered()
def entr(x: ArrayLike) -> Value:
    """Return the entropy `-x * log(x)` of each element; 0 at 0, -inf below.

    >>> jax.scipy.special.entr(jnp.array([0.0, 1.0]))
    Array([-0., -0.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.entr.html.
    """
    x, = promote_args_inexact("entr", x)
    return lax.select(lax.lt(x, const_like(x, 0)), lax.full_like(x, -np.inf), lax.neg(_xlogx(x)))


@remembered()
def rel_entr(p: ArrayLike, q: ArrayLike) -> Value:
    """Return the relative entropy `p * log(p / q)` of each pair; 0 where p is 0, inf where only q is.

    >>> jax.scipy.special.rel_entr(jnp.array([0.0, 1.0]), jnp.array([1.0, 1.0]))
    Array([0., 0.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.rel_entr.html.
    """
    p, q = promote_args_inexact("rel_entr", p, q)
    zero = const_like(p, 0.0)
    both = lax.bitwise_and(lax.gt(p, zero), lax.gt(q, zero))
    one_is_zero = lax.bitwise_and(lax.eq(p, zero), lax.ge(q, zero))
    safe_p, safe_q = where(both, p, 1), where(both, q, 1)
    value = lax.sub(_xlogx(safe_p), xlogy(safe_p, safe_q))
    return where(both, value, where(one_is_zero, zero, np.inf))


@remembered()
def kl_div(p: ArrayLike, q: ArrayLike) -> Value:
    """Return `rel_entr(p, q) - p + q`, whose sum is the Kullback-Leibler divergence.

    >>> jax.scipy.special.kl_div(jnp.array([0.0, 1.0]), jnp.array([1.0, 1.0]))
    Array([1., 0.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.kl_div.html.
    """
    p, q = promote_args_inexact("kl_div", p, q)
    return rel_entr(p, q) - p + q
