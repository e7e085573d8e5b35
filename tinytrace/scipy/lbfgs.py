"""Minimization by L-BFGS: the inverse Hessian is known by the last steps and the changes of the gradient along them.

Source: Nocedal and Wright, "Numerical Optimization" (2006), algorithms 7.4 and 7.5; complex numbers as in Sorber, Van
Barel and De Lathauwer, "Unconstrained optimization of real functions in complex variables" (2012).
"""
from __future__ import annotations

from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.gradients import value_and_grad
from tinytrace.records import NamedTuple
from tinytrace.scipy.line_search import Objective, line_search


class LbfgsState(NamedTuple):
    """Where a minimization is, or has ended."""

    converged: Any
    failed: Any
    step: Any
    evaluations: Any
    x: Any
    value: Any
    gradient: Any
    steps: Any
    """The last steps, newest last: f32[maxcor, n]."""
    changes: Any
    """What the gradient changed by."""
    inverse_products: Any
    """1 over the product of each change and its step."""
    scale: Any
    """Of the identity, which the inverse Hessian is at first."""
    status: Any
    """0: the gradient is small; 1: too many steps; 2, 3: too many evaluations; 4: no progress; 5: no step was found."""


def lbfgs(fun: Objective, x0: Any, maxiter: float | None = None, norm: Any = np.inf, maxcor: int = 10,
          ftol: float = 2.220446049250313e-09, gtol: float = 1e-05, maxfun: float | None = None,
          maxgrad: float | None = None, maxls: int = 20) -> LbfgsState:
    """Minimize `fun`, a real function of `x0: f32[n]` or c64[n].

    maxcor: steps that are remembered.  ftol, gtol: progress that is too small, a gradient that is small enough.
    maxfun, maxgrad: evaluations.  maxls: lengths that are tried for a step.
    """
    n = len(x0)
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = n * 200
    limits = [np.inf if most is None else most for most in (maxgrad, maxfun, maxiter)]
    value, gradient = value_and_grad(fun)(x0)
    history = jnp.zeros((maxcor, n), dtype=x0.dtype)

    def step(state: LbfgsState) -> LbfgsState:
        direction = _direction(state)
        found = line_search(fun, state.x, direction, state.value, None, state.gradient, maxiter=maxls)
        s = found.length.astype(direction.dtype) * direction
        y = found.gradient - state.gradient
        product = jnp.real(_dot(y, s))
        scale = product / jnp.real(_dot(jnp.conj(y), y))
        status = jnp.where(state.value - found.value < ftol, 4, jnp.array(0))
        for code, count, most in zip((3, 2, 1), (state.evaluations, state.evaluations, state.step), limits,
                                     strict=True):
            status = jnp.where(count >= most, code, status)
        status = jnp.where(found.failed, 5, status)
        converged = jnp.linalg.norm(found.gradient, ord=norm) < gtol
        return LbfgsState(
            converged, (status > 0) & ~converged, state.step + 1, state.evaluations + found.evaluations,
            (state.x + s).astype(state.x.dtype), found.value.astype(state.value.dtype),
            found.gradient.astype(state.gradient.dtype), _remembered(state.steps, s), _remembered(state.changes, y),
            _remembered(state.inverse_products, jnp.reciprocal(product).astype(y.dtype)),
            scale.astype(state.gradient.dtype), jnp.where(converged, 0, status))

    start = LbfgsState(False, False, 0, 1, x0, value, gradient, history, history, history[:, 0],
                       jnp.ones((), gradient.dtype), jnp.array(0))
    return lax.while_loop(  # type: ignore[no-any-return]
        lambda state: ~state.converged & ~state.failed, step, start)


def _direction(state: LbfgsState) -> Any:
    """Return minus the inverse Hessian times the gradient, by the recursion of two loops."""
    most = len(state.inverse_products)
    dtype = state.inverse_products.dtype
    count = jnp.where(state.step < most, state.step, most)

    def backward(j: Any, carry: Any) -> Any:
        q, factors = carry
        i = most - 1 - j
        factor = state.inverse_products[i] * _dot(jnp.conj(state.steps[i]), q).real.astype(dtype)
        return q - factor * jnp.conj(state.changes[i]), factors.at[i].set(factor)

    q, factors = lax.fori_loop(0, count, backward, (-jnp.conj(state.gradient), jnp.zeros_like(state.inverse_products)))

    def forward(j: Any, q: Any) -> Any:
        i = most - count + j
        factor = state.inverse_products[i] * _dot(state.changes[i], q).real.astype(dtype)
        return q + (factors[i] - factor) * state.steps[i]

    return lax.fori_loop(0, count, forward, state.scale * q)


def _remembered(history: Any, new: Any) -> Any:
    return jnp.roll(history, -1, axis=0).at[-1].set(new)


def _dot(x: Any, y: Any) -> Any:
    return jnp.dot(x, y, precision=lax.Precision.HIGHEST)
