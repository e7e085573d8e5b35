"""`custom_vjp_call_jaxpr`: a function whose reverse-mode derivative the user has written.

Called, it is three Python functions that the current trace chooses between; staged, an equation that holds the
function as a jaxpr, and its forward and backward rules as thunks. Differentiating runs the forward rule and leaves the
backward rule behind as the linear equation `custom_lin`, which transposition replaces by a call of it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.bodies import WithPrograms, run_body
from tinytrace.control_flow.effects import custom_derivatives_allowed_effects
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis, binding
from tinytrace.core.primitive import refuse
from tinytrace.core.tangents import SymbolicZero, Zero
from tinytrace.core.trace import current_trace, set_current_trace
from tinytrace.primitives.broadcasting import reduce_sum
from tinytrace.primitives.shaping import moveaxis
from tinytrace.transforms.custom_lin import CustomVJPException, custom_lin_p, tie_p
from tinytrace.transforms.staging import DynamicJaxprTrace, hoist_consts, trace_to_jaxpr
from tinytrace.transforms.vmap import batch_jaxpr, move_dim, run_batched
from tinytrace.transforms.zeros import instantiate_zeros

FlatFunction = Callable[..., Sequence[Any]]


class CustomVjpCall(WithPrograms):
    """`outs = custom_vjp_call_jaxpr[fun_jaxpr fwd_jaxpr_thunk bwd out_trees num_consts ...] *consts *args`."""

    name = "custom_vjp_call_jaxpr"
    multiple_results = True

    def call(self, fun: FlatFunction, fwd: FlatFunction, bwd: FlatFunction, *args: Any,
             out_trees: Callable[[], Any], symbolic_zeros: bool) -> Any:
        """Apply `fun` under the current trace.

        `fwd` takes every argument followed by whether it moves and gives [*residuals, *outs]; `bwd` takes the
        residuals and the outputs' cotangents and gives the arguments' cotangents.
        """
        params = {"out_trees": _Named(out_trees, "transformation_with_aux.<locals>.<lambda>"),
                  "symbolic_zeros": symbolic_zeros}
        return current_trace().process_custom_vjp_call(self, fun, fwd, _named(bwd), args, params)

    def stage(self, trace: DynamicJaxprTrace, fun: FlatFunction, fwd: FlatFunction, bwd: FlatFunction,
              args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record one equation in `trace`; the forward rule is traced when it is needed."""
        avals = [aval_of(x) for x in args]
        with set_current_trace(trace):
            jaxpr, consts = trace_to_jaxpr(fun, avals)
        return trace.process_primitive(self, [*consts, *args], {
            "fun_jaxpr": ClosedJaxpr(hoist_consts(jaxpr), ()), "fwd_jaxpr_thunk": FwdThunk(fwd, avals),
            "bwd": _named(bwd), "num_consts": len(consts), **params})

    def bind(self, *args: Any, **params: Any) -> Any:
        """Without `fun_jaxpr` the first three operands are the function and its rules, as `call` takes them."""
        return super().bind(*args, **params) if "fun_jaxpr" in params else self.call(*args, **params)

    def effects(self, *avals: ShapedArray, fun_jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return fun_jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, fun_jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return fun_jaxpr.out_avals

    def check_params(self, *avals: ShapedArray, fun_jaxpr: ClosedJaxpr, **params: Any) -> None:
        custom_derivatives_allowed_effects.refuse_others(fun_jaxpr.effects, "`custom_vjp`")

    def impl(self, *args: Any, fun_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        return run_body(fun_jaxpr, args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, fun_jaxpr: ClosedJaxpr,
            fwd_jaxpr_thunk: Callable[..., tuple[Jaxpr, list[Any]]], bwd: FlatFunction, num_consts: int,
            out_trees: Callable[[], Any], symbolic_zeros: bool) -> tuple[Any, Any]:
        if any(type(t) is not Zero for t in tangents[:num_consts]):
            raise CustomVJPException()
        args, moving = primals[num_consts:], tangents[num_consts:]
        fwd_jaxpr, fwd_consts = fwd_jaxpr_thunk(*(type(t) is not Zero for t in moving))
        outs = eval_jaxpr(fwd_jaxpr, fwd_consts, *args)
        num_res = out_trees()[1].num_leaves
        residuals, primals_out = outs[:num_res], outs[num_res:]
        out_tangents = custom_lin_p.bind(*residuals, *map(instantiate_zeros, moving), num_res=num_res, bwd=bwd,
                                         out_avals=[aval_of(x).to_tangent_aval() for x in primals_out],
                                         symbolic_zeros=symbolic_zeros)
        return primals_out, [tie_p.bind(x, t) for x, t in zip(primals_out, out_tangents, strict=True)]

    transpose = refuse("it is never linear: its derivative is custom_lin")

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, fun_jaxpr: ClosedJaxpr,
                    fwd_jaxpr_thunk: Callable[..., tuple[Jaxpr, list[Any]]], bwd: FlatFunction, num_consts: int,
                    **params: Any) -> tuple[Any, Any]:
        operands = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(args, dims, strict=True)]
        mapped = [dim is not None for dim in dims]
        batched, out_mapped = batch_jaxpr(fun_jaxpr, axis, mapped, False)
        fwd = _BatchedFwdThunk(fwd_jaxpr_thunk, axis, mapped[num_consts:])
        batched_bwd = _Named(_batched_bwd(bwd, axis, fwd, mapped[num_consts:]), "batch_custom_vjp_bwd.<locals>.new_bwd")
        outs = self.bind(*operands, fun_jaxpr=batched, fwd_jaxpr_thunk=fwd, bwd=batched_bwd, num_consts=num_consts,
                         **params)
        return outs, [0 if m else None for m in (fwd.out_mapped[-len(outs):] if fwd.out_mapped else out_mapped)]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, fun_jaxpr: ClosedJaxpr,
              **params: Any) -> Kind:
        return Call(fun_jaxpr)


class _Named:
    """A function that prints as the function of JAX that stands at its place in a jaxpr."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self._name = function, name

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __repr__(self) -> str:
        return f"<function {self._name} at {id(self):#x}>"


def _named(bwd: FlatFunction) -> FlatFunction:
    return bwd if isinstance(bwd, _Named) else _Named(bwd, "CustomVJPCallPrimitive.bind.<locals>.<lambda>")


class FwdThunk:
    """Traces the user's forward rule on demand: `thunk(*moving) -> (jaxpr, consts)`."""

    def __init__(self, fwd: FlatFunction, in_avals: Sequence[ShapedArray]) -> None:
        self._fwd, self._in_avals = fwd, in_avals
        self._traced: dict[tuple[bool, ...], tuple[Jaxpr, list[Any]]] = {}

    def __call__(self, *moving: bool) -> tuple[Jaxpr, list[Any]]:
        if moving not in self._traced:
            self._traced[moving] = trace_to_jaxpr(
                lambda *args: self._fwd(*(x for pair in zip(args, moving, strict=True) for x in pair)), self._in_avals)
        return self._traced[moving]

    def __repr__(self) -> str:
        return f"<function _memoize.<locals>.memoized at {id(self):#x}>"  # as JAX prints it


class _BatchedFwdThunk:
    """A `FwdThunk` for batches; knows, once it has been asked, which residuals and outputs are batched."""

    def __init__(self, thunk: Callable[..., tuple[Jaxpr, list[Any]]], axis: Axis, in_mapped: list[bool]) -> None:
        self._thunk, self._axis, self._in_mapped = thunk, axis, in_mapped
        self.out_mapped: list[bool] = []

    def __call__(self, *moving: bool) -> tuple[Jaxpr, list[Any]]:
        with binding(self._axis):  # the rule may be asked for where nothing is mapped any more
            fwd = ClosedJaxpr(*self._thunk(*moving))
        batched, self.out_mapped = batch_jaxpr(fwd, self._axis, self._in_mapped, False)
        return batched.jaxpr, batched.consts

    def __repr__(self) -> str:
        return f"<function _memoize.<locals>.memoized at {id(self):#x}>"  # as JAX prints it


def _batched_bwd(bwd: FlatFunction, axis: Axis, fwd: _BatchedFwdThunk, in_mapped: list[bool]) -> FlatFunction:
    """Batch a backward rule; an argument that all elements share gets the sum of its cotangents."""

    def batched(*residuals_and_cts: Any) -> list[Any]:
        dims = [None if not m or isinstance(x, SymbolicZero) else 0
                for x, m in zip(residuals_and_cts, fwd.out_mapped, strict=True)]
        elements = [SymbolicZero(x.aval.update(shape=x.shape[1:])) if m and isinstance(x, SymbolicZero) else x
                    for x, m in zip(residuals_and_cts, fwd.out_mapped, strict=True)]
        cts, ct_dims = run_batched(bwd, axis, object(), elements, dims)
        return [_sum_or_spread(ct, dim, m, axis.size) for ct, dim, m in zip(cts, ct_dims, in_mapped, strict=True)]

    return batched


def _sum_or_spread(ct: Any, dim: int | None, mapped: bool, size: int) -> Any:
    if isinstance(ct, SymbolicZero):
        return SymbolicZero(ct.aval.update(shape=(size, *ct.shape))) if mapped else ct
    if mapped:
        return move_dim(ct, size, dim, 0)
    return ct if dim is None else reduce_sum(ct, (dim,))


custom_vjp_call_p = CustomVjpCall()
