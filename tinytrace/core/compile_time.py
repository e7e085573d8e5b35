"""`ensure_compile_time_eval`: inside of a traced function, compute at once what depends on no tracer.

The rule is one sentence: an operation belongs to the innermost trace among its operands' traces, and to the bottom
when no operand is a tracer. Source: https://docs.jax.dev/en/latest/_autosummary/jax.ensure_compile_time_eval.html.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import Trace, Tracer, TraceScope, bottom_trace, current_trace, set_current_trace
from tinytrace.core.trees import tree_leaves


def ensure_compile_time_eval() -> CompileTimeScope:
    """Inside the block, run operations on concrete values at once; operations on tracers are traced as ever.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> def f(x):
    ...     with jax.ensure_compile_time_eval():
    ...         n = int(jnp.sum(jnp.ones(3)))
    ...         return x + n
    >>> jax.jit(f)(1.0)
    Array(4., dtype=float32, weak_type=True)
    """
    enclosing = current_trace()
    return CompileTimeScope(enclosing if enclosing is bottom_trace else CompileTimeTrace(enclosing))


class CompileTimeScope(TraceScope, contextlib.ContextDecorator):
    """What `ensure_compile_time_eval` returns: it can decorate a function too, and looks for the trace at each call."""

    def _recreate_cm(self) -> CompileTimeScope:
        return ensure_compile_time_eval()


class CompileTimeTrace(Trace):
    """Hands each operation to the trace of its operands."""

    name = "EvalTrace"

    def __init__(self, parent: Trace) -> None:
        self.parent: Trace = parent

    @property
    def level(self) -> int:
        return self.parent.level

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        trace = _innermost(args)
        with set_current_trace(trace):
            return trace.process_primitive(primitive, args, params)

    def process_custom_jvp_call(self, primitive: Primitive, fun: Callable[..., Any], jvp: Callable[..., Any],
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        trace = _innermost(args)
        if trace is bottom_trace:  # `fun` may close over tracers
            return super().process_custom_jvp_call(primitive, fun, jvp, args, params)
        return trace.process_custom_jvp_call(primitive, fun, jvp, args, params)

    def process_custom_vjp_call(self, primitive: Primitive, fun: Callable[..., Any], fwd: Callable[..., Any],
                                bwd: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
        trace = _innermost(args)
        if trace is bottom_trace:
            return super().process_custom_vjp_call(primitive, fun, fwd, bwd, args, params)
        return trace.process_custom_vjp_call(primitive, fun, fwd, bwd, args, params)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a library function under the innermost trace among its arguments."""
        with set_current_trace(_innermost(tree_leaves((args, kwargs)))):
            return function(*args, **kwargs)


def _innermost(operands: Iterable[Any]) -> Trace:
    innermost: Trace = bottom_trace
    for x in operands:
        if isinstance(x, Tracer):
            x._assert_live()
            if innermost is bottom_trace or x._trace.level > innermost.level:
                innermost = x._trace
    return innermost
