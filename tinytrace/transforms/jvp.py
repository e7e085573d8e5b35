"""Forward-mode differentiation: carry a tangent beside every value.

A `JVPTracer` is a pair (primal, tangent). An operation on such pairs goes to the primitive's rule

    jvp(primals, tangents, **params) -> (primal_out, tangent_out)        f(x), f'(x) dx

which computes both by binding other primitives; they go to the trace below (`parent`), so differentiating twice is
two traces on top of each other, and a value of the outer one is a plain value to the inner one: perturbations cannot
be confused. A tangent that is zero is the symbol `Zero(aval)`: a rule is called only when some tangent is not `Zero`,
and a result whose tangent is `Zero` goes on as a plain value. Integers have tangents of type float0, always `Zero`.

Source: Griewank and Walther, "Evaluating Derivatives", chapter 3; JAX, autodidax part 1.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0, dtype_of
from tinytrace.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from tinytrace.core.primitive import Primitive
from tinytrace.core.source_info import transformed
from tinytrace.core.tangents import Zero, from_symbolic_zero, to_symbolic_zero
from tinytrace.core.trace import Trace, Tracer, current_trace, leaked_tracer_error, set_current_trace
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.transforms.custom_lin import CustomJVPException, CustomVJPException, custom_lin_p, tie_p
from tinytrace.transforms.scope import running
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.zeros import as_result, instantiate_zeros
from tinytrace.util import cache_by_jaxpr, unzip

FlatFunction = Callable[..., Any]


def jvp(fun: FlatFunction, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False,
        instantiate: bool | Sequence[bool] = True, named: bool = True) -> tuple[list[Any], list[Any], list[Any]]:
    """Run `fun`, a function of flat arrays to a flat list of arrays, on `primals` that move along `tangents`.

    With `has_aux`, `fun` returns two lists, and the second is not differentiated. Where `instantiate` holds, a zero
    output tangent becomes an array of zeros; elsewhere it stays a `Zero`. `named`: whether name stacks show it.

    Returns: the outputs, their tangents, and the primal values of the second list.
    """
    trace = JVPTrace(current_trace())
    with running(trace), transformed("jvp") if named else contextlib.nullcontext():
        outs, out_tangents, aux = _run(trace, fun, primals, tangents, has_aux)
    for x in outs:  # no operation has asked for those that `fun` only hands on
        if isinstance(x, Tracer) and not x._trace.alive:
            raise leaked_tracer_error(x)
    wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
    return outs, [instantiate_zeros(t) if want else t for t, want in zip(out_tangents, wanted, strict=True)], aux


def _run(trace: JVPTrace, fun: FlatFunction, primals: Sequence[Any], tangents: Sequence[Any],
         has_aux: bool) -> tuple[list[Any], list[Any], list[Any]]:
    outs = fun(*map(trace.join, primals, tangents))
    outs, aux = outs if has_aux else (outs, [])
    return *unzip(map(trace.split, outs)), list(map(trace.primal, aux))


class JVPTracer(Tracer):
    """A value and its tangent, which is not `Zero`."""

    __module__ = "tinytrace.interpreters.ad"  # where users look for it
    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any) -> None:
        super().__init__(trace)
        self.primal = primal
        self.tangent = tangent

    @property
    def aval(self) -> ShapedArray:
        return aval_of(self.primal)

    def to_concrete_value(self) -> Any:
        return self.primal.to_concrete_value() if isinstance(self.primal, Tracer) else np.asarray(self.primal)

    def _assert_live(self) -> None:
        # Asked by a trace below that meets this tracer: during a custom rule that closes over it, in good faith.
        if self._trace.running_rule is not None:  # type: ignore[attr-defined]
            raise self._trace.running_rule()  # type: ignore[attr-defined]
        super()._assert_live()

    def _contents(self) -> list[tuple[str, Any]]:
        return [("primal", self.primal), ("tangent", self.tangent)]


class JVPTrace(Trace):
    """One differentiation."""

    name = "JVPTrace"

    def __init__(self, parent: Trace) -> None:
        self.parent: Trace = parent
        self.running_rule: type[Exception] | None = None
        """The complaint if the custom rule that is running meets a tracer of this trace."""

    def join(self, primal: Any, tangent: Any) -> Any:
        """Return the value that stands for the pair: a plain one when it does not move."""
        if type(tangent) is Zero or dtype_of(tangent) == FLOAT0:
            return primal
        return JVPTracer(self, primal, tangent)

    def split(self, x: Any) -> tuple[Any, Any]:
        """Return the primal and the tangent of `x`; values of other traces do not move."""
        if isinstance(x, JVPTracer) and x._trace is self:
            return x.primal, x.tangent
        return x, Zero.from_primal_value(x)

    def primal(self, x: Any) -> Any:
        """Return what `x` is where nothing moves: any object at all, a text among what `has_aux` hands on."""
        return x.primal if isinstance(x, JVPTracer) and x._trace is self else x

    def weak_as_primals(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of a jitted function: in it a tangent is weakly typed where its primal is."""
        return tuple(self._weak_as_primal(x) if type(x) is JVPTracer and x._trace is self else x for x in args)

    def _weak_as_primal(self, x: JVPTracer) -> JVPTracer:
        tangent, weak = aval_of(x.tangent), aval_of(x.primal).weak_type
        if tangent.weak_type == weak:
            return x
        with set_current_trace(self.parent):
            return JVPTracer(self, x.primal, convert_element_type_p.bind(
                x.tangent, new_dtype=tangent.dtype, weak_type=weak))

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        primals, tangents = unzip(map(self.split, args))
        with set_current_trace(self.parent):
            if _all_zero(tangents):
                return primitive.bind(*primals, **params)
            out, out_tangent = primitive.jvp(primals, tangents, **params)
            if primitive.multiple_results:
                return [self.join(x, as_result(t)) for x, t in zip(out, out_tangent, strict=True)]
            return self.join(out, as_result(out_tangent))

    def process_custom_jvp_call(self, primitive: Primitive, fun: FlatFunction, jvp: FlatFunction, args: Sequence[Any],
                                params: dict[str, Any]) -> Any:
        """Call the user's rule: `jvp(*primals, *tangents)` gives `[*primals_out, *tangents_out]`."""
        primals, tangents = unzip(map(self.split, args))
        if _all_zero(tangents):
            with self._custom_rule(CustomJVPException):
                return self.parent.process_custom_jvp_call(primitive, fun, jvp, primals, params)
        with self._custom_rule(CustomJVPException), set_current_trace(self.parent):
            seen = map(to_symbolic_zero if params.get("symbolic_zeros") else instantiate_zeros, tangents)
            outs = jvp(*primals, *seen)
        half = len(outs) // 2
        return [self.join(x, from_symbolic_zero(t)) for x, t in zip(outs[:half], outs[half:], strict=True)]

    def process_custom_vjp_call(self, primitive: Primitive, fun: FlatFunction, fwd: FlatFunction, bwd: FlatFunction,
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Call the user's forward rule now and leave the backward rule behind as the linear primitive `custom_lin`.

        `fwd` takes each value followed by whether it moves, and gives `[*residuals, *outs]`; `params["out_trees"]()`
        gives the trees of the outputs and of the residuals.
        """
        primals, tangents = unzip(map(self.split, args))
        if _all_zero(tangents):
            with self._custom_rule(CustomVJPException):
                return self.parent.process_custom_vjp_call(primitive, fun, fwd, bwd, primals, params)
        with self._custom_rule(CustomVJPException), set_current_trace(self.parent):
            outs = fwd(*[x for p, t in zip(primals, tangents, strict=True) for x in (p, type(t) is not Zero)])
            num_res = params["out_trees"]()[1].num_leaves
            residuals, primals_out = outs[:num_res], outs[num_res:]
            tangents_out = custom_lin_p.bind(
                *residuals, *map(instantiate_zeros, tangents), num_res=num_res, bwd=bwd,
                out_avals=[aval_of(x).to_tangent_aval() for x in primals_out],
                symbolic_zeros=params.get("symbolic_zeros", False))
            tangents_out = map(tie_p.bind, primals_out, tangents_out)
        return list(map(self.join, primals_out, tangents_out))

    @contextlib.contextmanager
    def _custom_rule(self, complaint: type[Exception]) -> Iterator[None]:
        previous, self.running_rule = self.running_rule, complaint
        try:
            yield
        finally:
            self.running_rule = previous


# --- jaxprs ----------------------------------------------------------------------------------------------------

def jvp_jaxpr(closed: ClosedJaxpr, nonzeros: Sequence[bool],
              instantiate: bool | Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
    """Differentiate a jaxpr with respect to the inputs marked in `nonzeros`.

    Returns: the jaxpr of (inputs, tangents of the marked ones) to (outputs, tangents of those that have one), and
    which outputs have one: those that move and those marked in `instantiate`.
    """
    wanted = (instantiate,) * len(closed.out_avals) if isinstance(instantiate, bool) else tuple(instantiate)
    jaxpr, out_nonzeros = _jvp_jaxpr(closed, tuple(nonzeros), wanted)
    return jaxpr, list(out_nonzeros)


@cache_by_jaxpr
def _jvp_jaxpr(closed: ClosedJaxpr, nonzeros: tuple[bool, ...],
               instantiate: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    out_nonzeros: list[bool] = []

    def moving(*args: Any) -> list[Any]:
        primals, moved = args[:len(nonzeros)], iter(args[len(nonzeros):])
        tangents = [next(moved) if nonzero else Zero.from_primal_value(p)
                    for p, nonzero in zip(primals, nonzeros, strict=True)]
        outs, out_tangents, _ = jvp(jaxpr_as_fun(closed), primals, tangents, instantiate=instantiate, named=False)
        out_nonzeros[:] = [type(t) is not Zero for t in out_tangents]
        return outs + [t for t in out_tangents if type(t) is not Zero]

    tangent_avals = [aval.to_tangent_aval() for aval, nonzero in zip(closed.in_avals, nonzeros, strict=True) if nonzero]
    return trace_to_closed_jaxpr(moving, closed.in_avals + tangent_avals), out_nonzeros


def _all_zero(tangents: Sequence[Any]) -> bool:
    return all(type(t) is Zero for t in tangents)
