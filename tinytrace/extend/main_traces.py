"""Transformations of one's own in the way of JAX 0.4.35: `jax.core.new_main`, `Trace`, `MainTrace`.

    class Counting(jax.core.Trace):
        pure = lift = sublift = lambda self, x: CountedTracer(self, x)
        def process_primitive(self, primitive, tracers, params): ...

    with jax.core.new_main(Counting) as main:
        trace = main.with_cur_sublevel()

A `MainTrace` is a transformation that is running; its class is instantiated anew for each operation. Here a thread
has a current trace and each trace knows its parent (`core/trace.py`): a main trace stands in that chain as a `Scope`.
An operation on its tracers goes to its class, and what that binds goes to the parent; other operations go to the
parent at once. So there is no stack to search. A trace of this package is its own main trace (`extend/lifting.py`).
"""
from __future__ import annotations

import contextlib
from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tinytrace.config import config
from tinytrace.core import trace as traces
from tinytrace.core.jaxpr import jaxpr_as_fun
from tinytrace.core.named_axes import Axis, no_axis_name
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import Tracer, current_trace, leaked_tracer_error, set_current_trace
from tinytrace.extend.final_style import apply_todos, process_env_traces_call, process_env_traces_map, transformed_axes
from tinytrace.extend.lifting import full_lower
from tinytrace.extend.linear_util import WrappedFun, wrap_init
from tinytrace.extend.sublevels import MainTrace, Sublevel, check_leaks
from tinytrace.interpreters import recipes
from tinytrace.transforms.jvp import JVPTrace
from tinytrace.transforms.partial_eval import JaxprTrace
from tinytrace.transforms.scope import running
from tinytrace.transforms.staging import DynamicJaxprTrace
from tinytrace.transforms.vmap import BatchTrace


class _AnyTrace(ABCMeta):
    """All traces are instances of `Trace`, also those that do not derive from it."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, traces.Trace) if cls.__name__ == "Trace" else super().__instancecheck__(x)


class Trace(traces.Trace, metaclass=_AnyTrace):
    """What is done to an operation on tracers of a main trace: derive from it, and say so in `process_primitive`.

    `pure` makes a tracer of a value that is none, `lift` of a tracer of a trace further out, `sublift` of one of an
    outer sublevel.
    """

    main: Any = None
    level: Any = None
    sublevel: Any = None

    def __init__(self, main: MainTrace, sublevel: Sublevel) -> None:
        self.main, self.level, self.sublevel = main, main.level, sublevel

    @property
    def tag(self) -> object:
        return self.main

    def full_raise(self, x: Any) -> Any:
        """Return `x` as a tracer of this trace.

        Raises: UnexpectedTracerError for one of a trace or sublevel further in.
        """
        if not isinstance(x, Tracer):
            return self.pure(x)
        x._assert_live()
        theirs: Any = x._trace
        if theirs.main is self.main:
            if theirs.sublevel == self.sublevel:
                return x
            if theirs.sublevel < self.sublevel:
                return self.sublift(x)
            raise leaked_tracer_error(x, f"Can't lift sublevels {theirs.sublevel} to {self.sublevel}")
        if isinstance(theirs.main, MainTrace) and theirs.level > self.level:
            raise leaked_tracer_error(x, f"Can't lift level {x} to {self}")
        return self.lift(x)

    def pure(self, x: Any) -> Any:
        raise NotImplementedError("must override")

    def lift(self, tracer: Tracer) -> Any:
        raise NotImplementedError("must override")

    def sublift(self, tracer: Tracer) -> Any:
        raise NotImplementedError("must override")

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        raise NotImplementedError("must override")

    def process_call(self, call_primitive: Primitive, f: WrappedFun, tracers: Sequence[Any], params: dict[str, Any]
                     ) -> Any:
        raise NotImplementedError(f"{type(self)} must override process_call to handle call-like primitives")

    def process_map(self, map_primitive: Primitive, f: WrappedFun, tracers: Sequence[Any], params: dict[str, Any]
                    ) -> Any:
        raise NotImplementedError(f"{type(self)} must override process_map to handle map-like primitives")

    def process_custom_jvp_call(self, primitive: Primitive, fun: Any, jvp: Any,  # type: ignore[override]
                                tracers: Sequence[Any], **params: Any) -> Any:
        raise NotImplementedError(f"{type(self)} must override process_custom_jvp_call to handle custom_jvp primitives")

    def process_custom_vjp_call(self, primitive: Primitive, fun: Any, fwd: Any,  # type: ignore[override]
                                bwd: Any, tracers: Sequence[Any], **params: Any) -> Any:
        raise NotImplementedError(f"{type(self)} must override process_custom_vjp_call to handle custom_vjp primitives")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(level={self.level}/{self.sublevel})"


class Scope(traces.Trace):
    """Where a main trace stands in the chain of traces.

    dynamic: whether it gets operations on no tracers too; base: whether it gets those alone that are on none.
    """

    main: Any = None
    takes_programs = True

    def __init__(self, main: MainTrace, parent: traces.Trace, dynamic: bool, base: bool = False) -> None:
        self.main, self.parent, self.dynamic, self.base = main, parent, dynamic, base

    @property
    def tag(self) -> object:
        return self.main

    def __repr__(self) -> str:
        return repr(self.main)

    def _is_asked(self, args: Sequence[Any]) -> bool:
        mains = [x._trace.main for x in args if isinstance(x, Tracer)]
        return any(main is self.main for main in mains) or (self.dynamic and not (self.base and mains))

    def _below(self) -> traces.Trace:
        assert self.parent is not None
        return self.parent

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if not self._is_asked(args):
            with set_current_trace(self._below()):
                return primitive.bind(*args, **params)
        if primitive.map_primitive:
            return self._process_program(primitive, args, params)
        # What a rule binds goes below, but for what it binds on tracers of its own, as in a program that it interprets.
        with set_current_trace(Scope(self.main, self._below(), dynamic=False)):
            trace = self.main.with_cur_sublevel()
            out = trace.process_primitive(primitive, list(map(trace.full_raise, args)), params)
        return list(map(full_lower, out)) if primitive.multiple_results else full_lower(out)

    def _process_program(self, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Let the class say what becomes of a program that is mapped; JAX gives it the function before it is traced."""
        params = dict(params)
        closed, axes = params.pop("call_jaxpr"), params.pop("out_axes")
        fun = jaxpr_as_fun(closed)
        fun.__name__ = params["name"]
        return self.process_call(primitive, wrap_init(fun), args, {**params, "out_axes_thunk": lambda: axes})

    def process_call(self, primitive: Any, fun: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Let the class say what becomes of a call; what its rule binds, a function of values, goes below."""
        if self._is_asked(args):
            trace = self.main.with_cur_sublevel()
            process = trace.process_map if primitive.map_primitive else trace.process_call
            return list(map(full_lower, process(primitive, fun, list(map(trace.full_raise, args)), params)))
        end = process_env_traces_map if primitive.map_primitive else process_env_traces_call
        fun, aux = end(fun, primitive, self.main.level - 1, tuple(params.items()))
        if primitive.map_primitive:
            axes = params["out_axes_thunk"]
            params = {**params, "out_axes_thunk": lambda: transformed_axes(axes(), aux()[1])}
        outs = self._below().process_call(primitive, wrap_init(self._over(fun.call_wrapped)), args, params)
        return apply_todos(aux()[0] if primitive.map_primitive else aux(), outs)

    def process_custom_jvp_call(self, primitive: Primitive, fun: Any, jvp: Any, args: Sequence[Any],
                                params: dict[str, Any]) -> Any:
        if not self._is_asked(args):
            return self._below().process_custom_jvp_call(primitive, self._over(fun), self._over(jvp), args, params)
        trace = self.main.with_cur_sublevel()
        outs = trace.process_custom_jvp_call(primitive, wrap_init(fun), wrap_init(jvp),
                                             list(map(trace.full_raise, args)), **params)
        return list(map(full_lower, outs))

    def process_custom_vjp_call(self, primitive: Primitive, fun: Any, fwd: Any, bwd: Any, args: Sequence[Any],
                                params: dict[str, Any]) -> Any:
        if not self._is_asked(args):
            return self._below().process_custom_vjp_call(primitive, self._over(fun), self._over(fwd),
                                                         self._over(bwd), args, params)
        trace = self.main.with_cur_sublevel()
        outs = trace.process_custom_vjp_call(primitive, wrap_init(fun), wrap_init(fwd), wrap_init(bwd),
                                             list(map(trace.full_raise, args)), **params)
        return list(map(full_lower, outs))

    def _over(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Return `fun`, which makes tracers of this scope, to be called under whichever trace asks for it."""
        def over(*args: Any) -> Any:
            with set_current_trace(Scope(self.main, current_trace(), self.dynamic, self.base)):
                return fun(*args)

        return over


# --- starting one --------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def new_main(trace_type: type[Any], dynamic: bool = False, **payload: Any) -> Iterator[Any]:
    """Run a transformation in the block: of one's own, or one of `ad.JVPTrace`, `batching.BatchTrace`, and so on.

    dynamic: whether operations on no tracers at all belong to it as well.
    """
    parent = current_trace()
    start = next((start for known, start in _OURS.items() if issubclass(trace_type, known)), None)
    if start is not None:
        trace = start(parent, **payload)
        with running(trace):
            yield trace
        return
    main = MainTrace(parent.level + 1, trace_type, **payload)
    with set_current_trace(Scope(main, parent, dynamic)):
        yield main
    if config.check_tracer_leaks:
        check_leaks("trace", main)


@contextlib.contextmanager
def new_base_main(trace_type: type[Any], **payload: Any) -> Iterator[Any]:
    """Let a class of one's own compute what belongs to no transformation, in the block: operations on plain values."""
    if any(issubclass(trace_type, known) for known in _OURS):
        with new_main(trace_type, **payload) as trace:
            yield trace
        return
    main = MainTrace(0, trace_type, **payload)
    with set_current_trace(Scope(main, current_trace(), dynamic=True, base=True)):
        yield main
    if config.check_tracer_leaks:
        check_leaks("trace", main)


class _Batch(BatchTrace):
    """A batch of which nobody has said the size: that of the first operand that is batched."""

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if self.axis.size is None:
            sizes = [x.shape[dim] for x, dim in map(self.split, args) if dim is not None]
            self.resize(*sizes[:1])
        return super().process_primitive(primitive, args, params)

    def resize(self, *size: int) -> None:
        """Say the size, if it is known."""
        for known in size:
            self.axis = Axis(known, self.axis.name)
            self.axes = (self.axis,)


    @classmethod
    def start(cls, parent: traces.Trace, axis_name: Any = no_axis_name, spmd_axis_name: Any = None) -> _Batch:
        """Return one over `parent`."""
        trace = cls(parent, Axis(None, axis_name), None)  # type: ignore[arg-type]
        trace._tag = trace
        return trace


_OURS: dict[type[Any], Callable[..., traces.Trace]] = {
    JVPTrace: JVPTrace, BatchTrace: _Batch.start, JaxprTrace: recipes.start,
    DynamicJaxprTrace: DynamicJaxprTrace, traces.EvalTrace: lambda parent: traces.EvalTrace()}
"""How a trace of this package is started over another one."""
