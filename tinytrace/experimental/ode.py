"""`jax.experimental.ode`: solutions of ordinary differential equations, with their derivatives.

`odeint` goes in steps of Dormand and Prince's pair of Runge-Kutta methods, whose two answers, of the orders 5 and 4,
tell the error of a step. Between the ends of a step a polynomial tells the solution. Derivatives come from a second
equation, solved backwards in time.

Sources: Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980); Shampine, "Some practical Runge-Kutta
formulas" (1986); Chen and others, "Neural ordinary differential equations" (2018), appendix C.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.autodiff import vjp
from tinytrace.api.custom_rules import closure_convert, custom_vjp
from tinytrace.api.jit import jit
from tinytrace.api.vmapping import vmap
from tinytrace.core.avals import is_valid_type
from tinytrace.core.dtypes import is_complex
from tinytrace.core.trees import tree_leaves, tree_map
from tinytrace.flatten_util import ravel_pytree
from tinytrace.numpy.promotion import Value, promote_dtypes_inexact

__all__ = ["odeint"]

Dynamics = Callable[..., Any]


def odeint(func: Dynamics, y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
           mxstep: float = jnp.inf, hmax: float = jnp.inf) -> Any:
    """Solve dy/dt = func(y, t, *args) from `y0`, an array or a pytree of them, at `t[0]`.

    t: f32[n], rising; args: arrays, or pytrees of them, with regard to which one may differentiate.
    rtol, atol: a step may be wrong by atol + rtol * |y|.  mxstep: the most steps between two times.
    hmax: the longest step.

    Returns: y at each of `t`, its leaves with a leading axis of n.
    Raises: TypeError when `t` is no array of floats, or a leaf of `args` no array.

    >>> from tinytrace.experimental.ode import odeint
    >>> odeint(lambda y, t, rate: -rate * y, jnp.array(1.0), jnp.array([0.0, 1.0, 2.0]), 0.5).round(4)
    Array([1.    , 0.6065, 0.3679], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.integrate.odeint.html.
    """
    for arg in tree_leaves(args):
        if not _is_array(arg):
            raise TypeError(f"The contents of odeint *args must be arrays or scalars, but got {arg}.")
    if not hasattr(t, "dtype") or not jnp.issubdtype(t.dtype, jnp.floating):
        raise TypeError(f"t must be an array of floats, but got {t}.")
    converted, consts = closure_convert(func, y0, t[0], *args)
    return _odeint_wrapper(converted, rtol, atol, mxstep, hmax, y0, t, *args, *consts)


@partial(jit, static_argnums=(0, 1, 2, 3, 4))
def _odeint_wrapper(func: Dynamics, rtol: float, atol: float, mxstep: float, hmax: float, y0: Any, ts: Value,
                    *args: Any) -> Any:
    """Solve for one vector, to which all leaves are joined."""
    y0, unravel = ravel_pytree(y0)

    def raveled(y: Value, t: Value, *args: Any) -> Value:
        return ravel_pytree(func(unravel(y), t, *args))[0]

    return vmap(unravel)(_odeint(raveled, rtol, atol, mxstep, hmax, y0, ts, *args))


@partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _odeint(func: Dynamics, rtol: float, atol: float, mxstep: float, hmax: float, y0: Value, ts: Value, *args: Any
            ) -> Value:
    """Return f32[n, m], the solution at `ts: f32[n]` from `y0: f32[m]`."""

    def dynamics(y: Value, t: Value) -> Value:
        return func(y, t, *args)

    def go_to(state: list[Any], time: Value) -> tuple[list[Any], Value]:
        """Step until `time` is passed, and look back to it."""

        def is_before(state: list[Any]) -> Value:
            i, _, _, t, dt, _, _ = state
            return (t < time) & (i < mxstep) & (dt > 0)

        def step(state: list[Any]) -> list[Any]:
            i, y, f, t, dt, before, curve = state
            next_y, next_f, error, slopes = _step(dynamics, y, f, t, dt)
            next_t = t + dt
            ratio = _error_ratio(error, rtol, atol, y, next_y)
            next_curve = _curve(y, next_y, slopes, dt)
            next_dt = jnp.clip(_step_size(dt, ratio), min=0.0, max=hmax)
            accepted = [i + 1, next_y, next_f, next_t, next_dt, t, next_curve]
            rejected = [i + 1, y, f, t, next_dt, before, curve]
            is_accepted = ratio <= 1.0
            return [jnp.where(is_accepted, new, old) for new, old in zip(accepted, rejected, strict=True)]

        _, *state = lax.while_loop(is_before, step, [0, *state])
        _, _, t, _, before, curve = state
        place = (time - before) / (t - before)
        return state, jnp.polyval(curve, place.astype(curve.dtype))

    f0 = dynamics(y0, ts[0])
    dt = jnp.clip(_first_step_size(dynamics, ts[0], y0, 4, rtol, atol, f0), min=0.0, max=hmax)
    curve = jnp.array([y0] * 5)
    _, ys = lax.scan(go_to, [y0, f0, ts[0], dt, ts[0], curve], ts[1:])
    return jnp.concatenate((y0[None], ys))


def _odeint_fwd(func: Dynamics, rtol: float, atol: float, mxstep: float, hmax: float, y0: Value, ts: Value, *args: Any
                ) -> tuple[Value, Any]:
    ys = _odeint(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def _odeint_bwd(func: Dynamics, rtol: float, atol: float, mxstep: float, hmax: float, residuals: Any, ct: Value
                ) -> tuple[Any, ...]:
    """Solve the adjoint equation from the last time to the first, adding the cotangent of each time on the way."""
    ys, ts, args = residuals

    def adjoint(state: Any, minus_t: Value, *args: Any) -> tuple[Any, ...]:
        y, y_ct, *_ = state
        slope, pullback = vjp(func, y, -minus_t, *args)
        return (-slope, *pullback(y_ct))

    def go_back(state: Any, i: Value) -> tuple[Any, Value]:
        y_ct, t0_ct, args_ct = state
        t_ct = jnp.dot(func(ys[i], ts[i], *args), ct[i]).real  # of moving this time; time is real
        t0_ct = t0_ct - t_ct
        _, *ends = odeint(adjoint, (ys[i], y_ct, t0_ct, args_ct), jnp.array([-ts[i], -ts[i - 1]]), *args,
                          rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax)
        y_ct, t0_ct, args_ct = tree_map(lambda pair: pair[1], tuple(ends))
        return (y_ct + ct[i - 1], t0_ct, args_ct), t_ct

    _ = ct[-1]  # JAX's program asks for it here too
    start = (ct[-1], 0.0, tree_map(jnp.zeros_like, args))
    (y_ct, t0_ct, args_ct), ts_ct = lax.scan(go_back, start, jnp.arange(len(ts) - 1, 0, -1))
    return (y_ct, jnp.concatenate([jnp.array([t0_ct]), ts_ct[::-1]]), *args_ct)


_odeint.defvjp(_odeint_fwd, _odeint_bwd)


def _is_array(x: Any) -> bool:
    try:
        return is_valid_type(x)
    except TypeError:
        return False


# --- a step ------------------------------------------------------------------------------------------------------

_TIMES = [1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0, 0]
_STAGES = [
    [1 / 5, 0, 0, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
]
_FIFTH_ORDER = _STAGES[-1]
_FOURTH_ORDER = [1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60]
_ERROR = [fifth - fourth for fifth, fourth in zip(_FIFTH_ORDER, _FOURTH_ORDER, strict=True)]
_MIDDLE = [6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2, -2691868925 / 45128329728 / 2,
           187940372067 / 1594534317056 / 2, -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2]
"""Weights of the seven slopes: at each stage, at the end by two orders, and for the solution in the middle."""


def _step(func: Dynamics, y: Value, f: Value, t: Value, dt: Value) -> tuple[Value, Value, Value, Value]:
    """Return y and its slope after `dt`, the estimate of the error, and the seven slopes f32[7, m]."""
    times = jnp.array(_TIMES, dtype=dt.dtype)
    stages = jnp.array(_STAGES, dtype=f.dtype)
    fifth_order = jnp.array(_FIFTH_ORDER, dtype=f.dtype)
    error = jnp.array(_ERROR, dtype=f.dtype)

    def stage(i: Value, slopes: Value) -> Value:
        time = t + dt * times[i - 1]
        place = y + dt.astype(f.dtype) * jnp.dot(stages[i - 1, :], slopes)
        return slopes.at[i, :].set(func(place, time))

    slopes = jnp.zeros((7, f.shape[0]), f.dtype).at[0, :].set(f)
    slopes = lax.fori_loop(1, 7, stage, slopes)
    next_y = dt.astype(f.dtype) * jnp.dot(fifth_order, slopes) + y
    next_error = dt.astype(f.dtype) * jnp.dot(error, slopes)
    return next_y, slopes[-1], next_error, slopes


def _curve(y0: Value, y1: Value, slopes: Value, dt: Value) -> Value:
    """Return f32[5, m], the polynomials on [0, 1] with the ends, the slopes there and the middle of a step."""
    middle_weights = jnp.array(_MIDDLE, dtype=y0.dtype)
    y_mid = y0 + dt.astype(y0.dtype) * jnp.dot(middle_weights, slopes)
    dy0, dy1, dt = slopes[0], slopes[-1], dt.astype(y0.dtype)
    return jnp.asarray((
        -2.0 * dt * dy0 + 2.0 * dt * dy1 - 8.0 * y0 - 8.0 * y1 + 16.0 * y_mid,
        5.0 * dt * dy0 - 3.0 * dt * dy1 + 18.0 * y0 + 14.0 * y1 - 32.0 * y_mid,
        -4.0 * dt * dy0 + dt * dy1 - 11.0 * y0 - 5.0 * y1 + 16.0 * y_mid,
        dt * dy0,
        y0,
    ))


def _error_ratio(error: Value, rtol: float, atol: float, y0: Value, y1: Value) -> Value:
    """Return how many times the error that is allowed a step made, in the mean over y."""
    allowed = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    ratio = error / allowed.astype(error.dtype)
    return jnp.sqrt(jnp.mean(ratio.real ** 2 + ratio.imag ** 2 if is_complex(ratio.dtype) else ratio ** 2))


def _step_size(dt: Value, ratio: Value) -> Value:
    """Return the length of the next step: nine tenths of what would make the error as large as is allowed.

    At most ten times the last; not less than it after a step that was accepted, and than a fifth of it otherwise.
    """
    least = jnp.where(ratio < 1, 1.0, 0.2)
    factor = jnp.minimum(10.0, jnp.maximum(ratio ** (-1.0 / 5.0) * 0.9, least))
    return jnp.where(ratio == 0, dt * 10.0, dt * factor)


def _first_step_size(func: Dynamics, t0: Value, y0: Value, order: int, rtol: float, atol: float, f0: Value) -> Value:
    """Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I", section II.4."""
    y0, f0 = promote_dtypes_inexact(y0, f0)
    dtype = y0.dtype
    scale = atol + jnp.abs(y0) * rtol
    d0 = jnp.linalg.norm(y0 / scale.astype(dtype))
    d1 = jnp.linalg.norm(f0 / scale.astype(dtype))
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    f1 = func(y0 + h0.astype(dtype) * f0, t0 + h0)
    d2 = jnp.linalg.norm((f1 - f0) / scale.astype(dtype)) / h0
    h1 = jnp.where((d1 <= 1e-15) & (d2 <= 1e-15), jnp.maximum(1e-6, h0 * 1e-3),
                   (0.01 / jnp.maximum(d1, d2)) ** (1.0 / (order + 1.0)))
    return jnp.minimum(100.0 * h0, h1)
