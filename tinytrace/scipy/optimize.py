"""`jax.scipy.optimize`: minimization by BFGS, whose steps come from `line_search`, or by L-BFGS.

Source: Nocedal and Wright, "Numerical Optimization" (1999), algorithm 6.1.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.gradients import value_and_grad
from tinytrace.records import NamedTuple
from tinytrace.scipy.lbfgs import lbfgs
from tinytrace.scipy.line_search import Objective, line_search
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """Where a minimization ended."""

    x: Any
    """The point, f[n]."""
    success: Any
    status: Any
    """0: the gradient is small; 1: too many steps; 3: no step was found between two; 5: the search took too long."""
    fun: Any
    """The value there."""
    jac: Any
    """The gradient there, f[n]."""
    hess_inv: Any
    """The estimate of the inverse Hessian, f[n, n]; None of L-BFGS."""
    nfev: Any
    """How often the function was evaluated."""
    njev: Any
    nit: Any
    """Steps."""


class _State(NamedTuple):
    converged: Any
    failed: Any
    step: Any
    evaluations: Any
    x: Any
    value: Any
    gradient: Any
    inverse_hessian: Any
    value_before: Any
    search_status: Any


def minimize(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str, tol: float | None = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """Minimize `fun(x, *args)`, a scalar, from `x0: f32[n]`; compiled and mapped as any function is.

    method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this", which takes complex numbers too.  tol,
    options["gtol"]: the gradient is small enough.  options: also maxiter (of steps), norm (of the gradient),
    line_search_maxiter; those of L-BFGS are the arguments of `lbfgs`.

    Raises: TypeError when `args` is no tuple; ValueError for another method.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.minimize.html.

    >>> import tinytrace.scipy.optimize
    >>> result = jax.scipy.optimize.minimize(lambda x: ((x - 2.0) ** 2).sum(), jnp.zeros(2), method="BFGS")
    >>> result.x, bool(result.success)
    (Array([2., 2.], dtype=float32), True)
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}")
    if method.lower() not in ("bfgs", "l-bfgs-experimental-do-not-rely-on-this"):
        raise ValueError(f"Method {method} not recognized")
    settings = dict(options or {})
    if tol is not None:
        settings.setdefault("gtol", tol)
    x0 = jnp.asarray(x0)
    if method.lower() == "bfgs":
        return _bfgs(lambda x: fun(x, *args), x0, **settings)
    end = lbfgs(lambda x: fun(x, *args), x0, **settings)
    return OptimizeResults(end.x, end.converged & ~end.failed, end.status, end.value, end.gradient, None,
                           end.evaluations, end.evaluations, end.step)


def _bfgs(fun: Objective, x0: Any, maxiter: int | None = None, norm: Any = np.inf, gtol: float = 1e-5,
          line_search_maxiter: int = 10) -> OptimizeResults:
    most = x0.size * 200 if maxiter is None else maxiter
    identity = jnp.eye(x0.shape[0], dtype=x0.dtype)

    def is_small(gradient: Any) -> Any:
        return jnp.linalg.norm(gradient, ord=norm) < gtol

    def step(state: _State) -> _State:
        direction = -jnp.dot(state.inverse_hessian, state.gradient)
        found = line_search(fun, state.x, direction, state.value, state.value_before, state.gradient,
                            maxiter=line_search_maxiter)
        s, y = found.length * direction, found.gradient - state.gradient
        rho = jnp.reciprocal(jnp.dot(y, s))
        w = identity - rho * (s[:, None] * y[None, :])
        updated = jnp.einsum("ij,jk,lk", w, state.inverse_hessian, w) + rho * s[:, None] * s[None, :]
        return _State(is_small(found.gradient), found.failed, state.step + 1, state.evaluations + found.evaluations,
                      state.x + s, found.value, found.gradient,
                      jnp.where(jnp.isfinite(rho), updated, state.inverse_hessian), state.value, found.status)

    value, gradient = value_and_grad(fun)(x0)
    state = _State(is_small(gradient), False, 0, 1, x0, value, gradient, identity,
                   value + jnp.linalg.norm(gradient) / 2, 0)
    end = lax.while_loop(lambda state: ~state.converged & ~state.failed & (state.step < most), step, state)
    status = jnp.where(end.failed, 2 + end.search_status, -1)
    status = jnp.where(end.converged, 0, jnp.where(end.step == most, 1, status))
    return OptimizeResults(end.x, end.converged & ~end.failed, status, end.value, end.gradient, end.inverse_hessian,
                           end.evaluations, end.evaluations, end.step)
