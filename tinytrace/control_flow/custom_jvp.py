"""`custom_jvp_call`: a function whose derivative the user has written.

It exists in three forms. Called, it is two Python functions (the function and its rule) that the current trace
chooses between. Staged, it is an equation that holds the function as a jaxpr and the rule as a thunk, which traces it
when somebody differentiates. Compiled or transposed, it is the function alone.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.bodies import run_body
from tinytrace.control_flow.effects import custom_derivatives_allowed_effects
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr, jaxpr_as_fun
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.tangents import SymbolicZero
from tinytrace.core.trace import current_trace, set_current_trace
from tinytrace.transforms.staging import DynamicJaxprTrace, hoist_consts, trace_to_jaxpr
from tinytrace.transforms.transpose import backward_pass

FlatFunction = Callable[..., Sequence[Any]]


class CustomJvpCall(Primitive):
    """`outs = custom_jvp_call[call_jaxpr jvp_jaxpr_thunk num_consts symbolic_zeros] *consts *args`."""

    name = "custom_jvp_call"
    multiple_results = True

    def call(self, fun: FlatFunction, jvp: FlatFunction, *args: Any, symbolic_zeros: bool) -> Any:
        """Apply `fun`, whose rule is `jvp(*primals, *tangents) -> [*outs, *out_tangents]`, under the current trace."""
        return current_trace().process_custom_jvp_call(self, fun, jvp, args, {"symbolic_zeros": symbolic_zeros})

    def stage(self, trace: DynamicJaxprTrace, fun: FlatFunction, jvp: FlatFunction, args: Sequence[Any],
              params: dict[str, Any]) -> Any:
        """Record one equation in `trace`; the rule is traced when it is needed."""
        avals = [aval_of(x) for x in args]
        with set_current_trace(trace):
            jaxpr, consts = trace_to_jaxpr(fun, avals)
        closed = ClosedJaxpr(hoist_consts(jaxpr), ())
        return trace.process_primitive(self, [*consts, *args], {
            "call_jaxpr": closed, "jvp_jaxpr_thunk": JvpThunk(jvp, avals), "num_consts": len(consts), **params})

    def bind(self, *args: Any, **params: Any) -> Any:
        """Without `call_jaxpr` the first two operands are the function and its rule, as `call` takes them."""
        if "call_jaxpr" not in params:
            return self.call(*args, **params)
        jvp = _unstaged_rule(params["jvp_jaxpr_thunk"], params["num_consts"])
        return self.call(jaxpr_as_fun(params["call_jaxpr"]), jvp, *args, symbolic_zeros=params["symbolic_zeros"])

    def effects(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return call_jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return call_jaxpr.out_avals

    def check_params(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any) -> None:
        custom_derivatives_allowed_effects.refuse_others(call_jaxpr.effects, "`custom_jvp`")

    def impl(self, *args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        return run_body(call_jaxpr, args)

    jvp = refuse("the JVP trace calls the user's rule instead")

    def transpose(self, cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> Sequence[Any]:
        # Only a linear function arrives here, already differentiated: its rule has done its work.
        return backward_pass(call_jaxpr.jaxpr, call_jaxpr.consts, args, cts)

    batch = refuse("the batch trace batches the function and its rule instead")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, call_jaxpr: ClosedJaxpr,
              **params: Any) -> Kind:
        return Call(call_jaxpr)


class JvpThunk:
    """Traces the user's rule on demand: `thunk(*zeros) -> (jaxpr, consts, out_zeros)`.

    `zeros` says which input tangents are symbolic zeros; the jaxpr takes the primals and the other tangents, and
    gives the outputs and those of their tangents that `out_zeros` does not mark.
    """

    def __init__(self, jvp: FlatFunction, in_avals: Sequence[ShapedArray]) -> None:
        self._jvp, self._in_avals = jvp, in_avals
        self._traced: dict[tuple[bool, ...], tuple[Jaxpr, list[Any], list[bool]]] = {}

    def __call__(self, *zeros: bool) -> tuple[Jaxpr, list[Any], list[bool]]:
        if zeros not in self._traced:
            self._traced[zeros] = self._trace(zeros)
        return self._traced[zeros]

    def _trace(self, zeros: tuple[bool, ...]) -> tuple[Jaxpr, list[Any], list[bool]]:
        tangent_avals = [a.to_tangent_aval() for a in self._in_avals]
        out_zeros: list[bool] = []

        def rule(*args: Any) -> list[Any]:
            primals, given = args[:len(zeros)], iter(args[len(zeros):])
            tangents = [SymbolicZero(a) if zero else next(given)
                        for a, zero in zip(tangent_avals, zeros, strict=True)]
            outs = self._jvp(*primals, *tangents)
            half = len(outs) // 2
            out_zeros[:] = [type(t) is SymbolicZero for t in outs[half:]]
            return [*outs[:half], *(t for t in outs[half:] if type(t) is not SymbolicZero)]

        given_avals = [a for a, zero in zip(tangent_avals, zeros, strict=True) if not zero]
        jaxpr, consts = trace_to_jaxpr(rule, [*self._in_avals, *given_avals])
        return jaxpr, consts, out_zeros

    def __repr__(self) -> str:
        return f"<function _memoize.<locals>.memoized at {id(self):#x}>"  # as JAX prints it


def _unstaged_rule(thunk: Callable[..., Any], num_consts: int) -> FlatFunction:
    """Return the rule of an equation as a function again: the opposite of `stage`."""

    def jvp(*args: Any) -> list[Any]:
        half = len(args) // 2
        primals, tangents = args[num_consts:half], args[half + num_consts:]
        jaxpr, consts, out_zeros = thunk(*(type(t) is SymbolicZero for t in tangents))
        given = [t for t in tangents if type(t) is not SymbolicZero]
        outs = eval_jaxpr(jaxpr, consts, *primals, *given)
        moved = iter(outs[len(out_zeros):])
        out_tangents = [SymbolicZero(aval_of(p).to_tangent_aval()) if zero else next(moved)
                        for p, zero in zip(outs[:len(out_zeros)], out_zeros, strict=True)]
        return [*outs[:len(out_zeros)], *out_tangents]

    return jvp


custom_jvp_call_p = CustomJvpCall()
