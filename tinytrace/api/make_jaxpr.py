"""`make_jaxpr`: show the program that a function is."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.api.signatures import (
    ArgNums,
    Statics,
    debug_info,
    not_an_array,
    resolve_argnums,
    signature_of,
)
from tinytrace.api.traced_calls import check_output
from tinytrace.config import config
from tinytrace.core import views
from tinytrace.core.avals import abstract_type_of, is_valid_type
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.named_axes import Axis, binding
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.staging import trace_to_closed_jaxpr


def make_jaxpr(fun: Callable[..., Any], static_argnums: ArgNums = (), axis_env: Any = None,
               return_shape: bool = False, abstracted_axes: Any = None) -> Callable[..., Any]:
    """Return a function that, given example arguments of `fun`, returns its ClosedJaxpr.

    With `return_shape`, returns (jaxpr, tree of ShapeDtypeStructs). Each call traces anew. `axis_env`, pairs of a name
    and a size, are the named axes that collectives in `fun` may ask for.

    Raises: TypeError if `fun` is not callable or an argument is no array.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.make_jaxpr.html.

    >>> import tinytrace as jax
    >>> print(jax.make_jaxpr(lambda x: x * 2 + 1)(3.0))
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0; c:f32[] = add b 1.0 in (c,) }
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    axes = [Axis(size, name) for name, size in axis_env or ()]
    signature = signature_of(fun)
    statics = Statics(resolve_argnums(None, static_argnums, None, "static").nums, ())

    @functools.wraps(fun)
    @api_boundary
    def make(*args: Any, **kwargs: Any) -> Any:
        numbers = {n % len(args) for n in statics.nums} if args else set()
        dynamic = tuple(x for i, x in enumerate(args) if i not in numbers)
        leaves, tree = tree_flatten((dynamic, kwargs))
        info = debug_info(fun, "jit", signature, args, kwargs, statics)
        in_avals = []
        for i, leaf in enumerate(leaves):
            try:
                in_avals.append(abstract_type_of(leaf))
            except TypeError as error:
                if is_valid_type(leaf):
                    raise
                path = info.arg_names[i] if i < len(info.arg_names) else None
                raise not_an_array(fun, leaf, path) from error
        out_tree: list[PyTreeDef] = []

        def flat_fun(*tracers: Any) -> list[Any]:
            positional, keyword = tree_unflatten(tree, tracers)
            merged = list(positional)
            for i in sorted(numbers):
                merged.insert(i, args[i])
            out_leaves, treedef = tree_flatten(fun(*merged, **keyword))
            for leaf in out_leaves:
                check_output(leaf)
            out_tree.append(treedef)
            return out_leaves

        with binding(*axes):
            closed = _checked(trace_to_closed_jaxpr(flat_fun, in_avals, info))
        return (closed, _shapes(closed, out_tree[0])) if return_shape else closed

    if hasattr(fun, "__name__"):
        make.__name__ = f"make_jaxpr({fun.__name__})"
        make.__qualname__ = f"make_jaxpr({getattr(fun, '__qualname__', fun.__name__)})"  # which a jnp.ufunc lacks
    else:
        make.__name__ = make.__qualname__ = "<unnamed function>"
    make.__module__ = "jax"
    return make


def _shapes(closed: ClosedJaxpr, tree: PyTreeDef) -> Any:
    return tree.unflatten([ShapeDtypeStruct(a.shape, a.dtype) for a in closed.out_avals])


def _checked(closed: ClosedJaxpr) -> ClosedJaxpr:
    if config.debug_key_reuse:
        views.key_reuse.check_program(closed.jaxpr)
    return closed
