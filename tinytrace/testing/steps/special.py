"""Steps over the rest of the elementwise operations: each function on an interval on which it is smooth and bounded."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from tinytrace.records import NamedTuple
from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.steps.choice import can_round, choose, choose_or_add, pair
from tinytrace.testing.values import Value

FLOAT32 = np.dtype("float32")


class Smooth(NamedTuple):
    """A function of one number on an interval, where it is at most `bound` and no steeper than `slope`."""

    text: str
    low: float
    high: float
    bound: float
    slope: float


SMOOTH = [
    Smooth("lax.tan({})", -1.2, 1.2, 2.6, 7.7), Smooth("lax.sinh({})", -2, 2, 3.7, 3.8),
    Smooth("lax.cosh({})", -2, 2, 3.8, 3.7), Smooth("lax.asin({})", -0.9, 0.9, 1.2, 2.3),
    Smooth("lax.acos({})", -0.9, 0.9, 2.7, 2.3), Smooth("lax.atan({})", -4, 4, 1.4, 1),
    Smooth("lax.asinh({})", -4, 4, 2.1, 1), Smooth("lax.acosh({})", 1.1, 4, 2.1, 2.2),
    Smooth("lax.atanh({})", -0.9, 0.9, 1.5, 5.3), Smooth("lax.exp2({})", -4, 2, 4, 2.8),
    Smooth("lax.expm1({})", -4, 2, 6.4, 7.4), Smooth("lax.log({})", 0.1, 4, 2.4, 10),
    Smooth("lax.log1p({})", -0.9, 4, 2.4, 10), Smooth("lax.rsqrt({})", 0.1, 4, 3.2, 16),
    Smooth("lax.cbrt({})", 0.2, 4, 1.6, 1), Smooth("lax.erf({})", -4, 4, 1, 1.2),
    Smooth("lax.erfc({})", -4, 4, 2, 1.2), Smooth("lax.erf_inv({})", -0.9, 0.9, 1.2, 3.5),
    Smooth("lax.lgamma({})", 0.3, 4, 1.8, 4), Smooth("lax.digamma({})", 0.3, 4, 3.6, 12),
    Smooth("lax.bessel_i0e({})", -3, 3, 1, 1), Smooth("lax.bessel_i1e({})", -3, 3, 0.5, 1),
    Smooth("jnp.arctan2({}, 1.5)", -4, 4, 1.3, 1), Smooth("jnp.power({}, 1.5)", 0.3, 3, 5.2, 2.6),
    Smooth("jax.scipy.special.gammainc(1.5, {})", 0.5, 3, 1, 1),
    Smooth("jax.scipy.special.gammaincc(1.5, {})", 0.5, 3, 1, 1),
    Smooth("lax.igamma_grad_a(jnp.full_like({0}, 1.5), {0})", 0.5, 3, 1, 2),
    Smooth("lax.random_gamma_grad(jnp.full_like({0}, 1.5), {0})", 0.5, 3, 3, 3),
    Smooth("jax.scipy.special.zeta({}, 2.0)", 1.5, 4, 2, 6),
    Smooth("jax.scipy.special.polygamma(1, {})", 0.5, 3, 5, 17),
    Smooth("jax.scipy.special.betainc(1.5, 2.0, {})", 0.2, 0.8, 1, 2),
]  # fmt: skip


DIFFERENTIABLE = [function for function in SMOOTH if not re.search("_grad|zeta", function.text)]
"""Those that have a jvp rule: three have none, as in JAX."""


def smooth(draw: st.DrawFn, block: Block) -> Value | None:
    """A special function on its interval."""
    return _smooth(draw, block, SMOOTH)


def differentiable(draw: st.DrawFn, block: Block) -> Value | None:
    """A special function on its interval that has a derivative."""
    return _smooth(draw, block, DIFFERENTIABLE)


def _smooth(draw: st.DrawFn, block: Block, functions: Sequence[Smooth]) -> Value | None:
    x = choose_or_add(draw, block, lambda v: can_round(block, v) and v.dtype == FLOAT32, (2,), "float32")
    if x is None or not can_round(block, x):
        return None
    function = draw_from(draw, functions)
    inside = f"jnp.clip({x.name}, {function.low}, {function.high})"
    error = function.slope * (x.error + x.epsilon) + 8 * x.epsilon * max(1.0, function.bound)
    clipped = block.add(inside, x.shape, x.dtype, max(abs(function.low), abs(function.high)), x.error)
    return block.add(function.text.format(clipped.name), x.shape, x.dtype, function.bound, error)


def rounding_to_less(draw: st.DrawFn, block: Block) -> Value | None:
    """`round`, `reduce_precision` and `is_finite` of exact floats."""
    x = choose(draw, block, lambda v: v.dtype == FLOAT32 and v.is_exact)
    if x is None:
        return None
    text = draw_from(draw, ["jnp.round({})", "lax.reduce_precision({}, 8, 10)", "lax.is_finite({})"])
    dtype = np.dtype("bool") if "finite" in text else x.dtype
    return block.add(text.format(x.name), x.shape, dtype, math.inf)


def next_number(draw: st.DrawFn, block: Block) -> Value | None:
    """`nextafter`, away from zero: denormal numbers are left out."""
    operands = pair(draw, block, lambda v: v.dtype == FLOAT32 and v.is_exact)
    if operands is None:
        return None
    x, y, shape = operands
    return block.add(f"jnp.nextafter(jnp.maximum({x.name}, 1.0), {y.name})", shape, x.dtype, math.inf)


def total_order(draw: st.DrawFn, block: Block) -> Value | None:
    """Comparisons in which the zeros differ; NaNs, whose signs are anybody's choice, are left out."""
    x = choose_or_add(draw, block, lambda v: v.is_tame and v.is_exact, (2,), "float32")
    if x is None or not x.is_tame:
        return None
    name = draw_from(draw, ["eq_to", "lt_to", "le_to"])
    return block.add(f"lax.{name}_p.bind({x.name}, -{x.name})", x.shape, np.dtype("bool"), 1.0)


def bits(draw: st.DrawFn, block: Block) -> Value | None:
    """`population_count`, `clz` and `bitcast_convert_type` of integers."""
    x = choose(draw, block, lambda v: v.is_int)
    if x is None:
        return None
    other = np.dtype(f"{'int' if x.dtype.kind == 'u' else 'uint'}{8 * x.dtype.itemsize}")
    texts = ["lax.population_count({})", "lax.clz({})", f"lax.bitcast_convert_type({{}}, '{other}')"]
    text = draw_from(draw, texts)
    return block.add(text.format(x.name), x.shape, other if "bitcast" in text else x.dtype, math.inf)


def clamping(draw: st.DrawFn, block: Block) -> Value | None:
    """`clamp` between two numbers."""
    x = choose(draw, block, lambda v: v.dtype in (FLOAT32, np.dtype("int32")))
    if x is None:
        return None
    low, high = ("-2.0", "2.0") if x.is_float else ("-2", "2")
    return block.add(f"lax.clamp({low}, {x.name}, {high})", x.shape, x.dtype, 2.0, x.error)


def handing_on(draw: st.DrawFn, block: Block) -> Value | None:
    """What gives its operand: copies, barriers, names."""
    x = choose(draw, block, lambda v: True)
    assert x is not None
    texts = ["jnp.copy({})", "lax.optimization_barrier({})", "lax.stop_gradient({})", "jax.device_put({})",
             "jax.ad_checkpoint.checkpoint_name({}, 'kept')", "jax.lax.copy_p.bind({})",
             "jax.core.call_p.bind(jax.extend.linear_util.wrap_init(lambda x_: [x_]), {})[0]"]
    return block.add(draw_from(draw, texts).format(x.name), x.shape, x.dtype, x.bound, x.error)
