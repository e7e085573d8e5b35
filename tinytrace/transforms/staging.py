"""Staging: run a Python function on tracers that record every operation, and return the jaxpr they wrote.

Every operation under a `DynamicJaxprTrace` becomes an equation, also those that touch no argument ("omnistaging"), so
the program that comes out is the whole program. Values from outside become constants: scalars turn into literals,
arrays and tracers of enclosing traces into constvars. Source: JAX pull request 3370; autodidax part 2.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from tinytrace.config import config
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DebugInfo, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.primitive import Primitive
from tinytrace.core.printer import eqn_to_text
from tinytrace.core.source_info import SourceInfo, replay
from tinytrace.core.trace import Trace, Tracer, current_trace, leaked_tracer_error
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.transforms.scope import running
from tinytrace.util import PACKAGE_FOLDER

FlatFunction = Callable[..., Sequence[Any]]


def trace_to_jaxpr(fun: FlatFunction, in_avals: Sequence[ShapedArray],
                   debug_info: DebugInfo | None = None) -> tuple[Jaxpr, list[Any]]:
    """Trace `fun`, a function of flat arrays to a flat sequence of arrays.

    Returns the jaxpr and the values of its constvars, among which may be tracers of enclosing traces.
    """
    if config.no_tracing and debug_info is not None:
        raise RuntimeError(f"re-tracing function {debug_info.function} for `{debug_info.traced_for}`, but 'no_tracing' "
                           "is set")
    trace = DynamicJaxprTrace(current_trace(), debug_info)
    around, replay.scopes = replay.scopes, ()
    try:
        with running(trace):
            outvars = _record(trace, fun, in_avals)
        jaxpr, consts = completed(*trace.to_jaxpr(outvars))
    finally:
        replay.scopes = around
        trace.finish()
    if config.enable_checks:
        check_jaxpr(jaxpr)
    return jaxpr, consts


when_complete: list[Callable[[Jaxpr, list[Any]], tuple[Jaxpr, list[Any]]]] = []
"""What is done to each jaxpr and its constants, for rules of others than rooms."""


def completed(jaxpr: Jaxpr, consts: list[Any]) -> tuple[Jaxpr, list[Any]]:
    """Return a jaxpr and its constants as `when_complete` leaves them."""
    for change in when_complete:
        jaxpr, consts = change(jaxpr, consts)
    return jaxpr, consts


def _record(trace: DynamicJaxprTrace, fun: FlatFunction, in_avals: Sequence[ShapedArray]) -> list[Atom]:
    tracers = [trace.new_arg(aval) for aval in in_avals]
    return [trace.to_atom(x) for x in fun(*tracers)]


def trace_to_closed_jaxpr(fun: FlatFunction, in_avals: Sequence[ShapedArray],
                          debug_info: DebugInfo | None = None) -> ClosedJaxpr:
    """Trace `fun` and close the jaxpr over its constants."""
    return ClosedJaxpr(*trace_to_jaxpr(fun, in_avals, debug_info))


def hoist_consts(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with its constvars as leading inputs (closed-over values become arguments)."""
    if not jaxpr.constvars:
        return jaxpr
    debug = jaxpr.debug_info
    if debug is not None:
        debug = debug._replace(arg_names=(None,) * len(jaxpr.constvars) + debug.arg_names)
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars], debug_info=debug)


class DynamicJaxprTracer(Tracer):
    """Stands for the value of one variable of the jaxpr being written."""

    __slots__ = ("_source", "_var", "aval")
    aval: ShapedArray

    def __init__(self, trace: DynamicJaxprTrace, var: Atom, source: SourceInfo | None) -> None:
        self._trace = trace
        self.aval = var.aval
        self._var = var
        self._source = source

    def _origin_msg(self) -> str:
        trace = self._trace
        assert isinstance(trace, DynamicJaxprTrace)
        if not trace.alive:
            return f"\nThis DynamicJaxprTracer was created on line {self._source or '<unknown>'}"
        return "\n" + trace.origin(self._var) if trace.debug_info is not None and isinstance(self._var, Var) else ""


class DynamicJaxprTrace(Trace):
    """Writes one jaxpr: its equations so far, its inputs, and the constants it met."""

    name = "DynamicJaxprTrace"
    takes_programs = True

    def __init__(self, parent: Trace, debug_info: DebugInfo | None = None) -> None:
        self.parent = parent
        self.debug_info = debug_info
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self._consts: dict[int, tuple[Var, Any]] = {}
        self._folded_consts: list[JaxprEqn] = []  # equations that were not written: they would hand on a constant
        self._level = parent.level + 1
        self.inlined = 0
        """How many inlined library functions, one in the other, are being run."""

    @property
    def level(self) -> int:
        return self._level

    def new_arg(self, aval: ShapedArray) -> DynamicJaxprTracer:
        """Return the tracer of a new input."""
        var = Var(aval)
        self.invars.append(var)
        return DynamicJaxprTracer(self, var, user_source())

    def to_atom(self, x: Any) -> Atom:
        """Return the variable or literal that `x` is in this jaxpr; a foreign value becomes a constant."""
        if isinstance(x, DynamicJaxprTracer) and x._trace is self:
            return x._var
        if isinstance(x, Tracer):
            x._assert_live()
            return self._constvar(x, x.aval)
        aval = aval_of(x)
        if hasattr(x, "__jax_array__"):
            return self.to_atom(x.__jax_array__())
        if aval.shape == () and (type(x) in _PYTHON_NUMBERS or isinstance(x, (np.ndarray, np.generic))):
            return Literal(_literal_value(x, aval), aval)
        return self._constvar(x, aval)

    def _constvar(self, x: Any, aval: ShapedArray) -> Var:
        entry = self._consts.get(id(x))
        if entry is None:
            if isinstance(x, Tracer) and not self._encloses(x._trace):
                raise leaked_tracer_error(x)
            entry = self._consts[id(x)] = Var(aval), x  # holding x keeps its id from being used again
        return entry[0]

    def _encloses(self, trace: Trace) -> bool:
        outer = self.parent
        while outer is not None and outer.tag is not trace.tag:
            outer = outer.parent
        return outer is not None

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        invars = [x._var if type(x) is DynamicJaxprTracer and x._trace is self else self.to_atom(x) for x in args]
        if primitive.fold is not None:
            atom = primitive.fold(invars[0], **params)
            if atom is not None:
                source = user_source()
                if isinstance(atom, Var) and type(args[0]) is not DynamicJaxprTracer:
                    self._folded_consts.append(JaxprEqn(invars, [Var(atom.aval)], primitive, params, source=source))
                return DynamicJaxprTracer(self, atom, source)
        out_avals, effects = _type_of_result(primitive, [v.aval for v in invars], params)
        source = user_source()
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in out_avals]
            self.eqns.append(JaxprEqn(invars, outvars, primitive, params, effects, source))
            return [DynamicJaxprTracer(self, var, source) for var in outvars]
        var = Var(out_avals)
        self.eqns.append(JaxprEqn(invars, [var], primitive, params, effects, source))
        return DynamicJaxprTracer(self, var, source)

    def process_custom_jvp_call(self, primitive: Primitive, fun: Callable[..., Any], jvp: Callable[..., Any],
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        return primitive.stage(self, fun, jvp, args, params)  # type: ignore[attr-defined]

    def process_custom_vjp_call(self, primitive: Primitive, fun: Callable[..., Any], fwd: Callable[..., Any],
                                bwd: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
        return primitive.stage(self, fun, fwd, bwd, args, params)  # type: ignore[attr-defined]

    def to_jaxpr(self, outvars: Sequence[Atom]) -> tuple[Jaxpr, list[Any]]:
        """Return what was written, with unread results dropped (`_`) and unread constants removed."""
        used: set[Atom] = {v for v in outvars if isinstance(v, Var)}
        for eqn in self.eqns:
            used.update(v for v in eqn.invars if isinstance(v, Var))
        for eqn in self.eqns:
            if not used.issuperset(eqn.outvars):
                eqn.outvars = [v if v in used else DropVar(v.aval) for v in eqn.outvars]
        consts = [(var, x) for var, x in self._consts.values() if var in used]
        jaxpr = Jaxpr([var for var, _ in consts], self.invars, outvars, self.eqns, debug_info=self.debug_info)
        return jaxpr, [np.asarray(x, var.aval.dtype) if isinstance(x, (int, float)) else x for var, x in consts]

    def finish(self) -> None:
        """End the trace: its tracers are dead from now on."""
        self.alive = False
        self.eqns, self.invars, self._consts = [], [], {}

    def origin(self, var: Var) -> str:
        """Say which arguments `var` depends on, or which operations made it."""
        active = {var}
        literals: set[int] = set()
        for eqn in reversed(self.eqns):
            if active.intersection(eqn.outvars):
                active.difference_update(eqn.outvars)
                active.update(v for v in eqn.invars if isinstance(v, Var))
                literals.update(id(x.val) for x in eqn.invars if isinstance(x, Literal))
        constvars = {v for v, _ in self._consts.values()} & active
        makers = [eqn for eqn in self._folded_consts if eqn.invars[0] in constvars]
        constvars.difference_update(eqn.invars[0] for eqn in makers)
        makers += [eqn for eqn in self.eqns if any(id(x.val) in literals if isinstance(x, Literal) else x in constvars
                                                   for x in eqn.invars)]
        positions = [i for i, v in enumerate(self.invars) if v in active]
        assert self.debug_info is not None
        text = f"The error occurred while tracing the function {self.debug_info.function} for " \
               f"{self.debug_info.traced_for}. "
        names = [self.debug_info.arg_names[i] for i in positions if i < len(self.debug_info.arg_names)]
        if names and len(names) == len(positions) and all(name is not None for name in names):
            return text + _depends_on([str(name) for name in names])
        return text + _became_a_tracer(makers or self._eqns_without_inputs(var)) if positions or makers else text

    def _eqns_without_inputs(self, var: Var) -> list[JaxprEqn]:
        return [eqn for eqn in self.eqns if var in eqn.outvars]


def _type_of_result(primitive: Primitive, avals: list[ShapedArray], params: dict[str, Any]
                    ) -> tuple[Any, frozenset[Any]]:
    """Return the aval (or avals) of a result, and the effects; remembered for operations without parameters."""
    if params or not primitive.remembers_types:
        return primitive.abstract_eval(*avals, **params), primitive.effects(*avals, **params)
    key = primitive, config.enable_x64, *avals
    found = _result_types.get(key)
    if found is None:
        if len(_result_types) > 8192:
            _result_types.clear()
        found = _result_types[key] = primitive.abstract_eval(*avals), primitive.effects(*avals)
    return found


_result_types: dict[tuple[Any, ...], tuple[Any, frozenset[Any]]] = {}


def _depends_on(names: list[str]) -> str:
    plural = "s" if len(names) > 1 else ""
    listed = names[0] if len(names) == 1 else \
        f"{names[0]} and {names[1]}" if len(names) == 2 else f"{', '.join(names[:-1])}, and {names[-1]}"
    return ("This concrete value was not available in Python because it depends on the "
            f"value{plural} of the argument{plural} {listed}.")


def _became_a_tracer(eqns: list[JaxprEqn]) -> str:
    lines = [f"  operation {eqn_to_text(_with_constvars(eqn))}\n"
             f"    from line {eqn.source or '<unknown>'}" for eqn in eqns[:5]]
    more = "\n\n(Additional originating lines are not shown.)" if len(eqns) > 5 else ""
    return "This value became a tracer due to JAX operations on these lines:\n\n" + "\n\n".join(lines) + more


def _with_constvars(eqn: JaxprEqn) -> JaxprEqn:
    """Return an equation as it was before constants became literals: one variable for each."""
    variables = {id(x.val): Var(x.aval) for x in eqn.invars if isinstance(x, Literal)}
    return eqn.replace(invars=[variables[id(x.val)] if isinstance(x, Literal) else x for x in eqn.invars])


_PYTHON_NUMBERS = frozenset([bool, int, float, complex])
"""What a literal may hold; values of their subclasses (members of an IntEnum, say) are constants of the program."""


def _literal_value(x: Any, aval: ShapedArray) -> Any:
    if type(x) in _PYTHON_NUMBERS:
        return x
    value = np.asarray(x, aval.dtype)
    return value if isinstance(x, np.ndarray) else value[()]  # which of the two it was decides what `fold` may do


# --- the user's line -------------------------------------------------------------------------------------------

_is_internal: dict[str, bool] = {}  # by file name: code objects as keys would live for ever


def user_source() -> SourceInfo | None:
    """Return the innermost frame outside this package, or the line of the equation that is run again."""
    source, scopes = replay.source, replay.scopes
    if source is not None:
        return source if source.scopes == scopes else SourceInfo(source.code, source.instruction, scopes)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        internal = _is_internal.get(file)
        if internal is None:
            internal = is_internal(file)
        if not internal:
            return SourceInfo(code, frame.f_lasti, scopes)
        frame = frame.f_back
    return None


def is_internal(file: str) -> bool:
    """Is a file one of this package, or of the standard library's that call for it? No equation is written there."""
    if len(_is_internal) > 8192:  # as many files are cells of notebooks, or texts that were executed
        _is_internal.clear()
    internal = file.startswith(PACKAGE_FOLDER) or file.endswith(("contextlib.py", "functools.py"))
    _is_internal[file] = internal
    return internal


def one_equation(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
    """Return the program whose only equation is `primitive` with `params` on inputs of type `avals`."""

    def equation(*xs: Any) -> Any:
        out = primitive.bind(*xs, **params)
        return out if primitive.multiple_results else [out]

    return trace_to_closed_jaxpr(equation, avals)
