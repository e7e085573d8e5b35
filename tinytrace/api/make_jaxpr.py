"""`make_jaxpr`: show the program that a function is."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinytrace.api.jit_cache import TracedFunction
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.api.signatures import ArgNums, Statics, resolve_argnums
from tinytrace.api.traced_calls import FunctionCalls
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.named_axes import Axis, binding
from tinytrace.core.trees import PyTreeDef
from tinytrace.tracebacks import api_boundary


def make_jaxpr(fun: Callable[..., Any], static_argnums: ArgNums = (), axis_env: Any = None,
               return_shape: bool = False, abstracted_axes: Any = None) -> Callable[..., Any]:
    """Return a function that, given example arguments of `fun`, returns its ClosedJaxpr.

    With `return_shape`, returns (jaxpr, tree of ShapeDtypeStructs). Traces are those of `jit`: a second call of one
    kind, or one after a jitted call, does not run `fun`. `axis_env`, pairs of a name and a size, are the named axes
    that collectives in `fun` may ask for.

    Raises: TypeError if `fun` is not callable or an argument is no array.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.make_jaxpr.html.

    >>> import tinytrace as jax
    >>> print(jax.make_jaxpr(lambda x: x * 2 + 1)(3.0))
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0; c:f32[] = add b 1.0 in (c,) }
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    axes = [Axis(size, name) for name, size in axis_env or ()]
    calls = FunctionCalls(fun, Statics(resolve_argnums(None, static_argnums, None, "static").nums, ()))

    @functools.wraps(fun)
    @api_boundary
    def make(*args: Any, **kwargs: Any) -> Any:
        with binding(*axes):
            traced = calls.trace_of(args, kwargs)
        closed = _closed_over(traced)
        return (closed, _shapes(closed, traced.out_tree)) if return_shape else closed

    if hasattr(fun, "__name__"):
        make.__name__ = f"make_jaxpr({fun.__name__})"
        make.__qualname__ = f"make_jaxpr({getattr(fun, '__qualname__', fun.__name__)})"  # which a jnp.ufunc lacks
    else:
        make.__name__ = make.__qualname__ = "<unnamed function>"
    make.__module__ = "jax"
    return make


def _shapes(closed: ClosedJaxpr, tree: PyTreeDef) -> Any:
    return tree.unflatten([ShapeDtypeStruct(a.shape, a.dtype) for a in closed.out_avals])


def _closed_over(traced: TracedFunction) -> ClosedJaxpr:
    """Return what was traced; values of enclosing functions, which lead its inputs, as its constants."""
    jaxpr, count = traced.closed.jaxpr, len(traced.consts)
    if not count:
        return traced.closed
    invars, info = jaxpr.invars, jaxpr.debug_info
    if info is not None:
        info = info._replace(arg_names=info.arg_names[count:])
    return ClosedJaxpr(jaxpr.replace(constvars=invars[:count], invars=invars[count:], debug_info=info), traced.consts)
