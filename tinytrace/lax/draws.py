"""`lax.rng_uniform`: random numbers without a key, other ones in each run. `jax.random` is what programs want."""
from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.effects import DebugEffect
from tinytrace.core.array import array_from_host
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import is_float, is_integer
from tinytrace.core.own_primitive import OwnPrimitive
from tinytrace.interpreters.mlir import call_impl, register_lowering


class _Draw(DebugEffect):
    """Why two draws are not one: they may be left out and done again, and give other numbers."""


_draw = _Draw()
_generator, _one_at_a_time = np.random.Generator(np.random.Philox()), threading.Lock()


def rng_uniform(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """Return random numbers from `a` to below `b`, which no seed decides: un-jitted or jitted, others in each run.

    Raises: ValueError unless `a` and `b` are scalars of one dtype, TypeError unless they are numbers on the line.
    See https://docs.jax.dev/en/latest/_autosummary/jax.lax.rng_uniform.html.

    >>> x = rng_uniform(0.0, 1.0, (1000,))
    >>> bool((x >= 0).all() and (x < 1).all()), x.dtype
    (True, dtype('float32'))
    """
    return rng_uniform_p.bind(a, b, shape=tuple(shape))


def _type(a: ShapedArray, b: ShapedArray, *, shape: tuple[int, ...]) -> tuple[ShapedArray, set[Any]]:
    if a.dtype != b.dtype:
        raise ValueError(f"Arguments to rng_uniform must have identical dtypes, got {a.dtype} and {b.dtype}.")
    if a.shape or b.shape:
        raise ValueError(f"Arguments to rng_uniform must be scalars; got shapes {a.shape} and {b.shape}.")
    if not (is_float(a.dtype) or is_integer(a.dtype)):
        raise TypeError(f"rng_uniform draws integers or floats, not {a.dtype}")
    return a.update(shape=shape, weak_type=a.weak_type and b.weak_type), {_draw}


def _values(a: Any, b: Any, *, shape: tuple[int, ...]) -> Any:
    low, high = np.asarray(a), np.asarray(b)
    with _one_at_a_time:
        if low.dtype.kind in "iu":
            return _generator.integers(low, max(low + 1, high), shape, low.dtype)
        drawn = _generator.random(shape, np.float64 if low.dtype == np.float64 else np.float32)
    wide = (low + (high - low) * drawn).astype(low.dtype)
    return np.where(wide < high, wide, low)  # a sum may be rounded up to the end


def _eagerly(a: Any, b: Any, *, shape: tuple[int, ...]) -> Any:
    aval, _ = _type(aval_of(a), aval_of(b), shape=shape)
    low, high = (np.asarray(x, aval.dtype) for x in (a, b))
    return array_from_host(np.ascontiguousarray(_values(low, high, shape=shape)), aval)


rng_uniform_p = OwnPrimitive("rng_uniform")
rng_uniform_p.def_effectful_abstract_eval(_type)
rng_uniform_p.def_impl(_eagerly)
register_lowering(rng_uniform_p, call_impl)
