"""Calls and maps of functions, for `jax.core`: `CallPrimitive("name").bind(fun, *args)`, and the steps of `bind`.

A program that takes these steps itself lets a trace of its choice process the call between them.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.control_flow.closed_call import CallPrimitive as CallPrimitive
from tinytrace.control_flow.xla_pmap import MapPrimitive as MapPrimitive
from tinytrace.extend.final_style import apply_todos, process_env_traces_call, process_env_traces_map, transformed_axes
from tinytrace.extend.lifting import full_lower
from tinytrace.extend.linear_util import WrappedFun
from tinytrace.extend.sublevels import new_sublevel
from tinytrace.extend.trace_state import find_top_trace

Continuation = Callable[[Any], Any]


def call_impl(f: WrappedFun, *args: Any, **params: Any) -> Any:
    """Return what a `linear_util.WrappedFun` returns: what a call computes."""
    with new_sublevel():
        return f.call_wrapped(*args)


def call_bind_with_continuation(primitive: CallPrimitive, fun: WrappedFun, *args: Any, **params: Any
                                ) -> tuple[Continuation, Any, WrappedFun, list[Any], dict[str, Any]]:
    """Return what `bind` does after a trace has processed the call, that trace, and what to give to it.

    >>> from tinytrace import core
    >>> from tinytrace.extend.linear_util import wrap_init
    >>> end, trace, *call = call_bind_with_continuation(core.call_p, wrap_init(lambda x: [x + 1.0]), 2.0)
    >>> end(trace.process_call(core.call_p, *call))
    [3.0]
    """
    top = find_top_trace(args)
    fun, todos = process_env_traces_call(fun, primitive, top.level, tuple(params.items()))

    def end(outs: Any) -> Any:
        return list(map(full_lower, apply_todos(todos(), outs)))

    return end, top, fun, list(map(top.full_raise, args)), params


def map_bind_with_continuation(primitive: MapPrimitive, fun: WrappedFun, *args: Any,
                               out_axes_thunk: Callable[[], Any], **params: Any
                               ) -> tuple[Continuation, Any, WrappedFun, list[Any], dict[str, Any]]:
    """Return the same for a map."""
    top = find_top_trace(args)
    aux: Callable[[], Any]
    params = {**params, "out_axes_thunk": lambda: transformed_axes(out_axes_thunk(), aux()[1])}
    fun, aux = process_env_traces_map(fun, primitive, top.level, tuple(params.items()))

    def end(outs: Any) -> Any:
        return list(map(full_lower, apply_todos(aux()[0], outs)))

    return end, top, fun, list(map(top.full_raise, args)), params


def map_bind(primitive: MapPrimitive, fun: WrappedFun, *args: Any, **params: Any) -> Any:
    """Map a function: what `primitive.bind` does."""
    end, top, fun, tracers, params = map_bind_with_continuation(primitive, fun, *args, **params)
    return end(top.process_map(primitive, fun, tracers, params))
