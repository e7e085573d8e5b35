"""`custom_transpose_call`: a function that is linear in some arguments, and whose transpose the user has written.

Unlike the two programs of `linear_call` the transpose is a Python function. It is called when somebody transposes; in
an equation of a staged program it has become a thunk, which traces it once. Source: `jax.custom_transpose`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.bodies import CallsProgram, split
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, eval_jaxpr, jaxpr_as_fun
from tinytrace.core.primitive import refuse
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.core.trace import Tracer, current_trace, is_eager
from tinytrace.core.tree_prefixes import spread_prefix
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.transforms.staging import DynamicJaxprTrace, trace_to_closed_jaxpr, trace_to_jaxpr
from tinytrace.transforms.zeros import instantiate_zeros


class CustomTransposeCall(CallsProgram):
    """`outs = custom_transpose_call[call_jaxpr={...} transpose_jaxpr_thunk ...] *consts *residuals *linear`."""

    name = "custom_transpose_call"

    def bind(self, *args: Any, **params: Any) -> Any:
        if is_eager():
            return eval_jaxpr(params["call_jaxpr"].jaxpr, params["call_jaxpr"].consts, *args)
        if isinstance(current_trace(), DynamicJaxprTrace):
            params = _staged(args, **params)
        return super().bind(*args, **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        count = len(primals) - params["lin_tree"].num_leaves
        if any(type(t) is not Zero for t in tangents[:count]):
            raise NotImplementedError("JVP of custom transpose with respect to non-symbolic-zero residuals")
        outs = self.bind(*primals, **params)
        return outs, self.bind(*primals[:count], *map(instantiate_zeros, tangents[count:]), **params)

    def transpose(self, cts: Sequence[Any], *args: Any, res_tree: PyTreeDef, lin_tree: PyTreeDef,
                  transpose_jaxpr_thunk: UserTranspose | TransposeThunk, **params: Any) -> Sequence[Any]:
        count = len(args) - lin_tree.num_leaves
        _, res = split(args[:count], count - res_tree.num_leaves)
        if any(map(is_undefined_primal, args[:count])):
            raise NotImplementedError("a custom transpose function is transposed in its linear argument only: its "
                                      "residuals, and what it closes over, must not depend on what is transposed")
        return [None] * count + transpose_jaxpr_thunk(*res, *map(instantiate_zeros, cts))

    batch = refuse("a batching rule for it is not defined, in JAX neither")


def _staged(args: Sequence[Any], call_jaxpr: ClosedJaxpr, transpose_jaxpr_thunk: UserTranspose | TransposeThunk,
            **params: Any) -> dict[str, Any]:
    """Return the parameters of an equation: the program at the types of its operands, the rule as a thunk."""
    avals = [aval_of(x) for x in args]
    if isinstance(transpose_jaxpr_thunk, UserTranspose):
        last = len(avals) - params["lin_tree"].num_leaves
        res_avals = avals[last - params["res_tree"].num_leaves:last]
        transpose_jaxpr_thunk = TransposeThunk(transpose_jaxpr_thunk, [*res_avals, *map(_type, params["out_types"])])
    program = trace_to_closed_jaxpr(jaxpr_as_fun(call_jaxpr), avals)
    return {"call_jaxpr": program, "transpose_jaxpr_thunk": transpose_jaxpr_thunk, **params}


def _type(x: Any) -> ShapedArray:
    """Return the type that a type, a `ShapeDtypeStruct` or a value of that type stands for."""
    if isinstance(x, ShapedArray):
        return x
    return ShapedArray(tuple(x.shape), x.dtype) if hasattr(x, "shape") and hasattr(x, "dtype") else aval_of(x)


class UserTranspose:
    """The rule that the user wrote, made flat: leaves of residuals and cotangents in, one cotangent per input out."""

    def __init__(self, transpose: Callable[..., Any] | None, name: str, res_tree: PyTreeDef, lin_tree: PyTreeDef,
                 out_tree: PyTreeDef) -> None:
        self.transpose, self.name = transpose, name
        self.res_tree, self.lin_tree, self.out_tree = res_tree, lin_tree, out_tree

    def __call__(self, *leaves: Any) -> list[Any]:
        if self.transpose is None:
            raise TypeError(f"No transpose rule defined for custom_transpose function {self.name} using def_transpose.")
        res, cts = split(leaves, self.res_tree.num_leaves)
        ct_lin, tree = tree_flatten(self.transpose(tree_unflatten(self.res_tree, res),
                                                   tree_unflatten(self.out_tree, cts)))
        try:
            return spread_prefix(ct_lin, tree, self.lin_tree)
        except ValueError:
            rule = getattr(self.transpose, "__name__", "<unnamed transpose rule>")
            raise TypeError("structure of custom transpose rule's output does not prefix-match structure of primal "
                            f"function's linear inputs under custom transpose rule ({rule}).\nTranspose rule output: "
                            f"{tree}\nLinear primal inputs: {self.lin_tree}") from None


class TransposeThunk:
    """The rule as a program, traced on demand and once."""

    def __init__(self, rule: UserTranspose, in_avals: Sequence[ShapedArray]) -> None:
        self._rule, self._in_avals = rule, in_avals
        self._traced: tuple[Jaxpr, list[Any]] | None = None

    def __call__(self, *leaves: Any) -> list[Any]:
        if self._traced is None:
            self._traced = trace_to_jaxpr(self._rule, self._in_avals)
        jaxpr, consts = self._traced
        if any(isinstance(x, Tracer) for x in consts):  # the transposed program has no operands for them
            raise NotImplementedError(f"the transpose rule of custom_transpose function {self._rule.name} closes over "
                                      "a traced value in a staged program: pass the value as a residual instead")
        return eval_jaxpr(jaxpr, consts, *leaves)

    def __repr__(self) -> str:
        return f"<function _memoize.<locals>.memoized at {id(self):#x}>"  # as JAX prints it


custom_transpose_call_p = CustomTransposeCall()
