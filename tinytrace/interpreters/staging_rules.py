"""Rules that decide what is written into a jaxpr, and its frames, for `jax.interpreters.partial_eval`.

What is known without an equation the rooms of this package say themselves (`Primitive.fold`); these tables are for the
rules of others, and cost nothing while they are empty. Source: `jax.interpreters.partial_eval` of JAX 0.4.35.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.primitive import Primitive
from tinytrace.core.trace import current_trace, set_current_trace
from tinytrace.extend.lifting import full_raise
from tinytrace.extend.linear_util import WrappedFun
from tinytrace.interpreters.debug_information import for_messages
from tinytrace.interpreters.rule_tables import WrittenRules
from tinytrace.transforms import staging
from tinytrace.transforms.staging import DynamicJaxprTrace, trace_to_jaxpr

ConstFoldRule = Callable[[list[Any], JaxprEqn], tuple[list[Any], JaxprEqn | None]]
ForwardingRule = Callable[[JaxprEqn], tuple[list[Var | None], JaxprEqn | None]]


def _staging_rule(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return `bind` of a primitive whose rule is asked where a jaxpr is written."""
    usual = type(primitive).bind

    def bind(*args: Any, **params: Any) -> Any:
        trace: Any = current_trace()
        if isinstance(trace, DynamicJaxprTrace):
            return rule(trace, *(full_raise(trace, x) for x in args), **params)
        return usual(primitive, *args, **params)

    return bind


custom_staging_rules = WrittenRules("bind", _staging_rule)
"""`rule(trace, *tracers, **params)`, asked where a jaxpr is written; it answers with tracers."""


class _Folding(dict[Primitive, Callable[..., Any]]):
    """A table that is asked when a jaxpr is complete, as long as there are rules."""

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        super().__setitem__(primitive, rule)
        staging.when_complete[:] = [fold_and_forward]

    def __delitem__(self, primitive: Primitive) -> None:
        super().__delitem__(primitive)
        if not const_fold_rules and not forwarding_rules:
            staging.when_complete.clear()


const_fold_rules: dict[Primitive, ConstFoldRule] = _Folding()
"""`rule(consts_in, eqn) -> (consts_out, eqn or None)`; a constant that is not known is None."""
forwarding_rules: dict[Primitive, ForwardingRule] = _Folding()
"""`rule(eqn) -> (for each result the variable that it is, or None; eqn or None)`."""


def fold_and_forward(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
    """Apply both tables to a jaxpr that has been written: equations whose results are known or inputs are left out."""
    known: dict[Atom, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    same: dict[Atom, Atom] = {}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        left: JaxprEqn | None = eqn.replace(invars=[_atom(v, same, known) for v in eqn.invars])
        if (fold := const_fold_rules.get(eqn.primitive)) is not None and left is not None:
            values = [v.val if isinstance(v, Literal) else known.get(v) for v in left.invars]
            if any(value is not None for value in values):
                outs, left = fold(values, left)
                known.update((v, out) for v, out in zip(eqn.outvars, outs, strict=True) if out is not None)
        if left is not None and (forward := forwarding_rules.get(eqn.primitive)) is not None:
            variables, left = forward(left)
            same.update((v, to) for v, to in zip(eqn.outvars, variables, strict=True) if to is not None)
        eqns += [left] if left is not None else []
    outvars = [_atom(v, same, known) for v in jaxpr.outvars]
    read = {v for eqn in eqns for v in eqn.invars} | set(outvars)
    constvars = [v for v in known if isinstance(v, Var) and v in read]
    return jaxpr.replace(constvars=constvars, eqns=eqns, outvars=outvars), [known[v] for v in constvars]


def _atom(v: Atom, same: dict[Atom, Atom], known: dict[Atom, Any]) -> Atom:
    v = same.get(v, v)
    value = known.get(v)
    is_number = isinstance(value, (bool, int, float, complex, np.generic, np.ndarray)) and np.shape(value) == ()
    return Literal(value, v.aval) if is_number else v


# --- frames --------------------------------------------------------------------------------------------------------

class JaxprStackFrame:
    """What is written into one jaxpr: inside of `extend_jaxpr_stack` the trace writes here."""

    def __init__(self) -> None:
        self.gensym: Callable[[ShapedArray], Var] = Var
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.consts: dict[int, tuple[Var, Any]] = {}
        self.debug_info: Any = None

    @property
    def constvar_to_val(self) -> dict[Var, Any]:
        """The constants by variable."""
        return dict(self.consts.values())

    def add_eqn(self, eqn: JaxprEqn) -> None:
        """Write an equation."""
        self.eqns.append(eqn)

    def newvar(self, aval: ShapedArray) -> Var:
        """Return a variable of a type."""
        return self.gensym(aval)

    def to_jaxpr(self, trace: DynamicJaxprTrace, out_tracers: Sequence[Any]
                 ) -> tuple[Jaxpr, list[Any], list[Any]]:
        """Return the jaxpr of these results, its constants, and nothing: attributes are not tracked."""
        jaxpr, consts = staging.completed(*trace.to_jaxpr([trace.to_atom(x) for x in out_tracers]))
        return jaxpr, list(consts), []


@contextlib.contextmanager
def extend_jaxpr_stack(main: Any, frame: JaxprStackFrame) -> Iterator[None]:
    """Let the trace `main`, of `core.new_main(pe.DynamicJaxprTrace)`, write into `frame` inside the block."""
    before = main.eqns, main.invars, main._consts, main.debug_info
    main.eqns, main.invars, main._consts = frame.eqns, frame.invars, frame.consts
    main.debug_info = for_messages(frame.debug_info)
    try:
        with set_current_trace(main):
            yield
    finally:
        main.eqns, main.invars, main._consts, main.debug_info = before


Traced = tuple[Jaxpr, list[ShapedArray], list[Any], list[Any]]


def trace_to_subjaxpr_dynamic(fun: WrappedFun, main: Any, in_avals: Sequence[ShapedArray], *,
                              keep_inputs: Sequence[bool] | None = None, debug_info: Any = None) -> Traced:
    """Return the jaxpr of a flat function inside of the trace `main`, the types of its results, and its constants.

    keep_inputs: which inputs of the jaxpr are arguments of the function; its others are not read.
    """
    kept = [True] * len(in_avals) if keep_inputs is None else keep_inputs

    def called(*args: Any) -> Any:
        return fun.call_wrapped(*(x for x, keep in zip(args, kept, strict=True) if keep))

    with set_current_trace(main):
        jaxpr, consts = trace_to_jaxpr(called, in_avals, for_messages(debug_info))
    return jaxpr, [v.aval for v in jaxpr.outvars], consts, []


OutputType = tuple[tuple[ShapedArray, bool], ...]


def trace_to_subjaxpr_dynamic2(fun: WrappedFun, main: Any, debug_info: Any = None) -> tuple[Jaxpr, OutputType, Any]:
    """The same for a function that knows the types of its arguments, `fun.in_type`.

    Returns: the jaxpr; of each result the type, and that the function returns it; the constants.
    """
    assert fun.in_type is not None
    avals, explicit = [aval for aval, _ in fun.in_type], [keep for _, keep in fun.in_type]
    jaxpr, out_avals, consts, _ = trace_to_subjaxpr_dynamic(fun, main, avals, keep_inputs=explicit,
                                                            debug_info=debug_info)
    return jaxpr, tuple((aval, True) for aval in out_avals), consts


def trace_to_jaxpr_dynamic2(fun: WrappedFun, debug_info: Any = None) -> tuple[Jaxpr, OutputType, Any]:
    """The same over the current trace."""
    return trace_to_subjaxpr_dynamic2(fun, current_trace(), debug_info)


trace_to_jaxpr_final2 = trace_to_jaxpr_dynamic2
