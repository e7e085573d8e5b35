"""`print_saved_residuals`: what reverse mode keeps in memory between the forward and the backward pass."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.flattening import FlatFunction
from tinytrace.api.signatures import argument_names, signature_of
from tinytrace.control_flow.remat import name_p
from tinytrace.core.avals import aval_of
from tinytrace.core.jaxpr import Jaxpr, JaxprEqn, Literal
from tinytrace.core.trees import tree_flatten
from tinytrace.transforms.linearize import linearize
from tinytrace.transforms.staging import trace_to_jaxpr


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print type and origin of each value that differentiating `f` at these arguments would save.

    Source: `jax.ad_checkpoint.print_saved_residuals`.

    >>> import tinytrace.numpy as jnp
    >>> print_saved_residuals(lambda x, y: x * y, 1.0, 2.0)
    f32[] from the argument x
    f32[] from the argument y
    """
    leaves, in_tree = tree_flatten((args, kwargs))
    flat_fun = FlatFunction(lambda args, kwargs: f(*args, **kwargs), in_tree)
    jaxpr, _ = trace_to_jaxpr(lambda *xs: linearize(flat_fun, xs).residuals, [aval_of(x) for x in leaves])
    for line in saved_residuals(jaxpr, argument_names(signature_of(f), args, kwargs)):
        print(line)


def saved_residuals(jaxpr: Jaxpr, names: Sequence[str]) -> list[str]:
    """Describe each output of `jaxpr`, whose inputs are called `names`."""
    lines = [f"{v.aval.str_short()} from a literal" for v in jaxpr.outvars if isinstance(v, Literal)]
    saved = set(jaxpr.outvars)
    lines += [f"{v.aval.str_short()} from a constant" for v in jaxpr.constvars if v in saved]
    lines += [f"{v.aval.str_short()} from the argument {name}"
              for v, name in zip(jaxpr.invars, names, strict=True) if v in saved]
    named = {eqn.invars[0]: eqn for eqn in jaxpr.eqns if eqn.primitive is name_p}
    for eqn in jaxpr.eqns:
        lines += [f"{v.aval.str_short()} {_origin(named.get(v, eqn))} from {eqn.source or '<unknown>'}"
                  for v in eqn.outvars if v in saved]
    return lines


def _origin(eqn: JaxprEqn) -> str:
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}'"
    if eqn.primitive.name == "pjit":
        return f"output of jitted function '{eqn.params['name']}'"
    return f"output of {eqn.primitive.name}"
