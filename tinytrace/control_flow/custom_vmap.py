"""`custom_vmap_call`: a function whose meaning on a batch the user has written.

The equation holds the function as a jaxpr and the rule as a Python function. Batching it calls the rule, which leaves
no such equation behind. Differentiating it gives an equation of the same kind: its function is the jvp of the function
and its rule the jvp of the rule. Source: `jax.custom_batching.custom_vmap`.

A rule is flat here: `rule(size, batched, leaves) -> (outs, out_batched)`. Which leaves are batched, along axis 0, says
`batched`, and `out_batched` says so of the results.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.bodies import CallsProgram, either
from tinytrace.core.avals import aval_of, is_valid_type
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import ClosedJaxpr, eval_jaxpr
from tinytrace.core.named_axes import Axis
from tinytrace.core.primitive import refuse
from tinytrace.core.trace import is_eager
from tinytrace.core.tree_operations import treedef_tuple
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten
from tinytrace.primitives.shaping import moveaxis, reshape
from tinytrace.primitives.slicing import slice_in_dim
from tinytrace.transforms.jvp import jvp, jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace
from tinytrace.transforms.vmap import run_batched
from tinytrace.transforms.zeros import instantiate_zeros

Rule = Callable[[int, list[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class CustomVmapCall(CallsProgram):
    """`outs = custom_vmap_call[call={...} in_tree out_tree rule] *consts *args`."""

    name = "custom_vmap_call"
    called = "call"

    def bind(self, *args: Any, **params: Any) -> Any:
        if is_eager():
            return eval_jaxpr(params["call"].jaxpr, params["call"].consts, *args)
        return super().bind(*args, **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, call: ClosedJaxpr, in_tree: PyTreeDef,
            out_tree: PyTreeDef, rule: Rule) -> tuple[Any, Any]:
        moving, _ = jvp_jaxpr(call, [True] * len(primals), True)
        primal = {"call": call, "in_tree": in_tree, "out_tree": out_tree, "rule": rule}
        outs = self.bind(*primals, *map(instantiate_zeros, tangents), call=moving, rule=JvpOfRule(rule, primal),
                         in_tree=treedef_tuple((in_tree, in_tree)), out_tree=treedef_tuple((out_tree, out_tree)))
        half = len(outs) // 2
        return outs[:half], outs[half:]

    def partial_eval(self, trace: JaxprTrace, args: Sequence[Any], *, rule: Rule, **params: Any) -> Any:
        """Record the equation; if it is a jvp at a known point, compute what does not depend on the tangents."""
        outs = trace.record(self, args, {"rule": rule, **params})
        primals = args[:len(args) // 2]
        if isinstance(rule, JvpOfRule) and all(map(trace.is_known, primals)):
            outs[:len(outs) // 2] = self.bind(*primals, **rule.primal)
        return outs

    transpose = refuse("its batching rule is one of primals and tangents together; for reverse mode put a custom_vjp "
                       "around the function")

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, rule: Rule, **params: Any
                    ) -> tuple[Any, Any]:
        operands = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(args, dims, strict=True)]
        outs, batched = rule(axis.size, [dim is not None for dim in dims], operands)
        return outs, [0 if b else None for b in batched]


class UserRule:
    """The rule that the user wrote, `rule(axis_size, in_batched, *args) -> (out, out_batched)`, made flat."""

    def __init__(self, rule: Callable[..., Any], num_consts: int, in_tree: PyTreeDef, out_tree: PyTreeDef) -> None:
        self.rule, self.num_consts, self.in_tree, self.out_tree = rule, num_consts, in_tree, out_tree
        self.name = getattr(rule, "__name__", "<unnamed rule>")

    def __call__(self, size: int, batched: list[bool], leaves: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        if any(batched[:self.num_consts]):
            raise ValueError(f"the function of custom vmap rule ({self.name}) closes over a value that vmap maps. The "
                             "rule cannot see that it is batched: pass the value as an argument instead.")
        in_batched = tree_unflatten(self.in_tree, batched[self.num_consts:])
        args = tree_unflatten(self.in_tree, leaves[self.num_consts:])
        out, out_batched = self.rule(size, list(in_batched), *args)
        outs, tree = tree_flatten(out)
        marks, marks_tree = tree_flatten(out_batched)
        self._check_structures(tree, marks_tree)
        for x, mark in zip(outs, marks, strict=True):
            self._check_output(x, mark, size)
        return outs, [bool(mark) for mark in marks]

    def _check_structures(self, tree: PyTreeDef, marks_tree: PyTreeDef) -> None:
        if tree != marks_tree:
            raise ValueError("structure of output value and output batching specification returned by custom vmap "
                             f"rule ({self.name}) do not match.\nOutput values: {tree}\nBatching spec: {marks_tree}")
        if tree != self.out_tree:
            raise ValueError(f"structure of output returned by custom vmap rule ({self.name}) does not match that of "
                             "original custom-vmapped function.\n"
                             f"Original output: {self.out_tree}\nRule output: {tree}")

    def _check_output(self, x: Any, mark: bool, size: int) -> None:
        if not is_valid_type(x):
            raise TypeError(f"Output from batched function {x!r} with type {type(x)} is not a valid JAX type")
        if mark and aval_of(x).shape[:1] != (size,):
            raise ValueError(f"custom vmap rule ({self.name}) says that an output of type {aval_of(x).str_short()} is "
                             f"batched, but its axis 0 has not the size of the batch, {size}.")

    def __repr__(self) -> str:
        return str(self.rule)


class JvpOfRule:
    """The jvp of a rule: it takes primals and tangents and gives results and their tangents, each batched or not.

    The rule is told that an argument is batched if both its primal and its tangent are. If only one of them is, the jvp
    of the rule is itself vectorized over that batch. `primal`: the parameters of the equation that was differentiated.
    """

    def __init__(self, rule: Rule, primal: dict[str, Any]) -> None:
        self.rule, self.primal = rule, primal

    def __call__(self, size: int, batched: list[bool], leaves: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        half = len(leaves) // 2
        # An integer has no tangent that could be batched or not: only its primal counts.
        both = [p and (t or aval_of(x).dtype == FLOAT0)
                for p, t, x in zip(batched[:half], batched[half:], leaves[half:], strict=True)]
        dims = [0 if b and not seen and aval_of(x).dtype != FLOAT0 else None
                for b, seen, x in zip(batched, both * 2, leaves, strict=True)]
        of_rule: list[bool] = []

        def moving(*leaves: Any) -> list[Any]:
            def function(*primals: Any) -> list[Any]:
                outs, of_rule[:] = self.rule(size, both, primals)
                return outs

            outs, tangents, _ = jvp(function, leaves[:half], leaves[half:])
            return [*outs, *tangents]

        outs, out_dims = run_batched(moving, Axis(size), object(), leaves, dims)
        out_batched = of_rule * 2
        outs = [x if dim is None else _one_batch(moveaxis(x, dim, 0), in_rule, size)
                for x, dim, in_rule in zip(outs, out_dims, out_batched, strict=True)]
        return outs, either(out_batched, [dim is not None for dim in out_dims])

    def __repr__(self) -> str:
        return f"<function custom_vmap_jvp.<locals>.jvp_of_rule_rule at {id(self):#x}>"  # as JAX prints it


def _one_batch(x: Any, in_rule: bool, size: int) -> Any:
    """Return the batch `x`; if the rule batched its elements too, element `i` of it is element `i` of element `i`."""
    if not in_rule:
        return x
    rows = reshape(x, (size * size, *aval_of(x).shape[2:]))
    return slice_in_dim(rows, 0, None, size + 1)  # the diagonal


custom_vmap_call_p = CustomVmapCall()
