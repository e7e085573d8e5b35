"""How the traces of this package answer to what JAX 0.4.35's have: `full_raise`, `pure`, `with_cur_sublevel`, ...

A value that is not a trace's own is a constant to it and needs no tracer (`core/trace.py`). Programs against JAX's
insides make one nevertheless, `trace.full_raise(x)`, to read its `primal` and `tangent`, or its `val` and `batch_dim`:
they get one that does not move, or that all elements share. Importing this module gives `core.trace.Trace` these
methods, as `install_methods` gives arrays theirs. A trace of this package is its own main trace.
"""
from __future__ import annotations

import functools
from typing import Any

from tinytrace.core.tangents import Zero
from tinytrace.core.trace import Trace, Tracer
from tinytrace.extend.sublevels import Sublevel
from tinytrace.transforms.jvp import JVPTrace, JVPTracer
from tinytrace.transforms.staging import DynamicJaxprTrace, DynamicJaxprTracer, user_source
from tinytrace.transforms.vmap import BatchTrace, BatchTracer


@functools.singledispatch
def pure(trace: Trace, x: Any) -> Any:
    """Return a value of other traces, or of none, as a trace takes it: most take it as it is."""
    return x


@pure.register
def _(trace: JVPTrace, x: Any) -> JVPTracer:
    return JVPTracer(trace, x, Zero.from_primal_value(x))


@pure.register
def _(trace: BatchTrace, x: Any) -> BatchTracer:
    return BatchTracer(trace, x, None)


@pure.register
def _(trace: DynamicJaxprTrace, x: Any) -> DynamicJaxprTracer:
    return DynamicJaxprTracer(trace, trace.to_atom(x), user_source())


def full_raise(trace: Trace, x: Any) -> Any:
    """Return `x` as a tracer of `trace`."""
    if not isinstance(x, Tracer):
        return pure(trace, x)
    x._assert_live()
    return x if x._trace.tag is trace.tag else pure(trace, x)


@functools.singledispatch
def full_lower(x: Any) -> Any:
    """Return a value without the tracers that say no more than what they hold."""
    lower = getattr(type(x), "full_lower", None) if isinstance(x, Tracer) else None
    return x if lower is None or lower is full_lower else lower(x)


@full_lower.register
def _(x: JVPTracer) -> Any:
    return full_lower(x.primal) if type(x.tangent) is Zero else x


@full_lower.register
def _(x: BatchTracer) -> Any:
    return full_lower(x.val) if x.dim is None else x


def _same(trace: Trace, x: Any = None) -> Any:
    return trace


for _name, _method in (("full_raise", full_raise), ("pure", pure), ("lift", pure), ("with_cur_sublevel", _same),
                       ("process_map", Trace.process_call),
                       ("trace_type", property(type)), ("payload", property(lambda trace: {})),
                       ("sublevel", property(lambda trace: Sublevel(0)))):
    setattr(Trace, _name, _method)
