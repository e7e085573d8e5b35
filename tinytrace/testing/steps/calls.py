"""Steps that call functions of the program: jitted, checkpointed, with rules of their own, on the host."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from tinytrace.testing.random_programs import Block, draw_from
from tinytrace.testing.steps.choice import can_round, choose, choose_or_add
from tinytrace.testing.values import Value

FLOAT32 = np.dtype("float32")

WITH_JVP = """{f} = jax.custom_jvp(lambda x_: -x_)
{f}.defjvp(lambda x_, t_: (-x_[0], -t_[0]))"""
WITH_VJP = """{f} = jax.custom_vjp(lambda x_: -x_)
{f}.defvjp(lambda x_: (-x_, None), lambda _, ct_: (-ct_,){options})"""

WITH_TRANSPOSE = """{f} = jax.custom_transpose.custom_transpose(lambda _, x_: -x_)
{f}.def_transpose(lambda _, ct_: -ct_)"""
BY_RULE = {
    "jax.custom_batching.sequential_vmap(lambda x_: -x_)({x})": "",
    "jax.custom_derivatives.linear_call(lambda _, x_: -x_, lambda _, ct_: -ct_, None, {x})": "",
    "{f}(jax.ShapeDtypeStruct(jnp.shape({x}), jnp.float32), None, {x})": WITH_TRANSPOSE,
}  # the call of a function that negates, and what is defined before it

COLLECTIVES = [
    "lax.pmax(row_, 'i')", "lax.pmin(row_, 'i')", "lax.pbroadcast(row_, 'i', 0)", "lax.all_gather(row_, 'i')[0]",
    "lax.ppermute(row_, 'i', [(k_, (k_ + 1) % {n}) for k_ in range({n})])",
    "lax.all_to_all(jnp.stack([row_] * {n}), 'i', 0, 0)[0]", "jnp.where(lax.axis_index('i') > 0, row_, row_)",
]  # of one row of {n}, exact
SUMS = ["lax.psum(row_, 'i')", "lax.psum_scatter(jnp.stack([row_] * {n}), 'i')"]
ONE_DEVICE = [
    "lax.with_sharding_constraint({x}, jax.sharding.SingleDeviceSharding(jax.devices()[0]))",
    "jax.pmap(lambda row_: lax.pmax(row_, 'i'), axis_name='i')({x}[None])[0]",
    "jax.experimental.shard_map.shard_map(lambda x_: lax.psum(x_, 'i'), jax.make_mesh((1,), ('i',)), "
    "in_specs=jax.sharding.PartitionSpec(), out_specs=jax.sharding.PartitionSpec())({x})",
]


def over_a_named_axis(draw: st.DrawFn, block: Block) -> Value | None:
    """A collective over the rows of an array, under `vmap`."""
    x = choose(draw, block, lambda v: len(v.shape) > 0 and v.shape[0] > 0 and (v.is_int or can_round(block, v)))
    if x is None:
        return None
    n, text = x.shape[0], draw_from(draw, COLLECTIVES + SUMS)
    bound, error = x.bound, x.error
    if text in SUMS:
        bound, error = (math.inf, 0.0) if x.is_int else (n * x.bound, n * (x.error + x.epsilon * n * x.bound))
    call = f"jax.vmap(lambda row_: {text.format(n=n)}, axis_name='i')({x.name})"
    return block.add(call, x.shape, x.dtype, bound, error)


def on_one_device(draw: st.DrawFn, block: Block) -> Value | None:
    """What says where arrays lie: `pmap` over one device, a sharding."""
    x = choose(draw, block, lambda v: v.is_float or v.is_int)
    if x is None:
        return None
    return block.add(draw_from(draw, ONE_DEVICE).format(x=x.name), x.shape, x.dtype, x.bound, x.error)


def calling(draw: st.DrawFn, block: Block) -> Value | None:
    """A call of a function that negates: under `jit`, under `checkpoint`, or with derivative rules of its own."""
    x = choose(draw, block, lambda v: v.is_float or v.is_int)
    if x is None:
        return None
    wrapped = draw_from(draw, ["jax.jit({})", "jax.checkpoint({})", "jvp", "vjp", "remat"])
    if wrapped.startswith("jax"):
        return block.add(f"{wrapped.format('lambda x_: -x_')}({x.name})", x.shape, x.dtype, x.bound, x.error)
    name = next(block.names)
    options = ", optimize_remat=True" if wrapped == "remat" else ""
    text = WITH_JVP if wrapped == "jvp" else WITH_VJP
    block.lines.append(text.format(f=name, options=options))
    return block.add(f"{name}({x.name})", x.shape, x.dtype, x.bound, x.error)


def calling_by_rule(draw: st.DrawFn, block: Block) -> Value | None:
    """A call of a function that negates, with its own rule of batching or transposing."""
    x = choose(draw, block, lambda v: v.dtype == FLOAT32)
    if x is None or block.depth:
        return None
    text, name = draw_from(draw, list(BY_RULE)), next(block.names)
    block.lines += [BY_RULE[text].format(f=name)] if BY_RULE[text] else []
    return block.add(text.format(f=name, x=x.name), x.shape, x.dtype, x.bound, x.error)


def differentiating(draw: st.DrawFn, block: Block) -> Value | None:
    """The derivative of a function with a rule of its own, inside the program: minus one everywhere."""
    x = choose(draw, block, lambda v: v.dtype == FLOAT32 and v.is_exact)
    if x is None or block.depth:
        return None
    name = next(block.names)
    options = draw_from(draw, ["", ", optimize_remat=True"])
    block.lines.append(WITH_VJP.format(f=name, options=options))
    outer = draw_from(draw, ["{}", "jax.checkpoint({})", "jax.vmap({})" if x.shape else "{}"]).format(name)
    return block.add(f"jax.grad(lambda x_: {outer}(x_).sum())({x.name})", x.shape, x.dtype, 1.0)


def recomputing(draw: st.DrawFn, block: Block) -> Value | None:
    """The derivative of a loop that is computed again on the way back."""
    x = choose_or_add(draw, block, lambda v: v.dtype == FLOAT32 and v.is_exact and v.is_tame, (2,), "float32")
    if x is None or block.depth:
        return None
    loop = "lax.scan(lambda c_, s_: (jnp.sin(c_), None), x_, None, length=2)[0].sum()"
    policy = draw_from(draw, ["", ", policy=jax.checkpoint_policies.everything_saveable"])
    text = f"jax.grad(jax.checkpoint(lambda x_: {loop}{policy}))({x.name})"
    return block.add(text, x.shape, x.dtype, 1.0, 16 * x.epsilon)


def choosing_a_platform(draw: st.DrawFn, block: Block) -> Value | None:
    """`lax.platform_dependent`."""
    x = choose(draw, block, lambda v: v.is_float or v.is_int)
    if x is None:
        return None
    text = f"lax.platform_dependent({x.name}, cpu=lambda x_: -x_, default=lambda x_: x_)"
    return block.add(text, x.shape, x.dtype, x.bound, x.error)


def calling_the_host(draw: st.DrawFn, block: Block) -> Value | None:
    """A callback: pure, with an effect, or for its effect only."""
    x = choose(draw, block, lambda v: v.is_float or v.is_int)
    if x is None or block.depth:
        return None
    kind = draw_from(draw, ["jax.pure_callback", "jax.experimental.io_callback", "jax.debug.callback"])
    if kind == "jax.debug.callback":
        block.lines.append(f"{kind}(lambda x_: None, {x.name})")
        return None
    options = ", vmap_method='sequential'" if kind == "jax.pure_callback" else ""
    return block.add(f"{kind}(np.negative, {x.name}, {x.name}{options})", x.shape, x.dtype, x.bound, x.error)
