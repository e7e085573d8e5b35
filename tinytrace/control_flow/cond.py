"""`cond`: one of several branches, chosen by an index; the other branches are not evaluated.

Branches have one type: what only one of them needs (a constant, a residual) all of them take, and what only one of
them gives the others give as zeros.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import WithPrograms, drop, either, keep, merge, run_body
from tinytrace.control_flow.cond_split import partial_eval_cond, partial_eval_cond_eqn
from tinytrace.control_flow.effects import does_io
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_closed_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, eval_jaxpr
from tinytrace.core.kinds import Branch, Kind
from tinytrace.core.named_axes import Axis
from tinytrace.core.tangents import UndefinedPrimal, Zero, is_undefined_primal
from tinytrace.primitives.broadcasting import batch_dim_at_front, broadcast_in_dim
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.select import select, select_n
from tinytrace.primitives.shaping import moveaxis
from tinytrace.primitives.stop_gradient import stop_gradient
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.transpose import backward_pass
from tinytrace.transforms.vmap import batch_jaxpr
from tinytrace.transforms.zeros import instantiate_zeros
from tinytrace.util import cache_by_jaxpr

Branches = tuple[ClosedJaxpr, ...]


class Cond(WithPrograms):
    """`outs = cond[branches] index *operands`: branch number `index` (an int32 in range) of the operands."""

    name = "cond"
    multiple_results = True
    compiled_eagerly = True

    def effects(self, *avals: ShapedArray, branches: Branches) -> frozenset[Any]:
        return frozenset().union(*(b.effects for b in branches))

    def abstract_eval(self, *avals: ShapedArray, branches: Branches) -> list[ShapedArray]:
        return branches[0].out_avals

    def check_params(self, *avals: ShapedArray, branches: Branches) -> None:
        if type(branches) is not tuple or not all(isinstance(branch, ClosedJaxpr) for branch in branches):
            raise TypeError(f"invalid cond param branches of type {type(branches).__name__}, tuple of ClosedJaxpr "
                            f"required: {branches}")
        counts = [len(branch.in_avals) for branch in branches]
        for i, count in enumerate(counts):
            if count != counts[0]:
                raise TypeError(f"cond branch 0 takes {counts[0]} inputs, branch {i} takes {count}")
        if len(avals) != counts[0] + 1:
            raise TypeError(f"cond called with {len(avals) - 1} non-predicate operands, but branches take {counts[0]} "
                            "inputs")

    def impl(self, index: Any, *args: Any, branches: Branches) -> list[Any]:
        return run_body(branches[min(max(int(index), 0), len(branches) - 1)], args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, branches: Branches) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents[1:]]
        out_moving = _any_branch([jvp_jaxpr(b, moving, False)[1] for b in branches])
        moved = tuple(jvp_jaxpr(b, moving, out_moving)[0] for b in branches)
        outs = self.bind(*primals, *keep(tangents[1:], moving), branches=moved)
        primals_out, count = outs[:len(out_moving)], len(out_moving)
        zeros = map(Zero.from_primal_value, drop(primals_out, out_moving))
        return primals_out, merge(out_moving, zeros, outs[count:])

    def partial_eval(self, trace: Any, args: Sequence[Any], *, branches: Branches) -> Any:
        return partial_eval_cond(self, trace, args, branches)

    partial_eval_eqn = staticmethod(partial_eval_cond_eqn)

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        branches: Branches = eqn.params["branches"]
        used_ops = _any_branch([dce_closed_jaxpr(b, used_outs)[1] for b in branches])
        smaller = tuple(dce_closed_jaxpr(b, used_outs, used_ops)[0] for b in branches)
        used_ins = [True, *used_ops]
        return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), outvars=keep(eqn.outvars, used_outs),
                                     params={"branches": smaller}, effects=self.effects(branches=smaller))

    def transpose(self, cts: Sequence[Any], index: Any, *args: Any, branches: Branches) -> Sequence[Any]:
        linear = [is_undefined_primal(x) for x in args]
        num_res = len(args) - sum(linear)
        cts = list(map(instantiate_zeros, cts))
        outs = self.bind(index, *args[:num_res], *cts,
                         branches=tuple(_transpose_branch(b, num_res) for b in branches))
        return [None, *merge(linear, [None] * num_res, outs)]

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    branches: Branches) -> tuple[Any, Any]:
        if dims[0] is not None:
            if does_io(self.effects(branches=branches)):
                raise NotImplementedError("IO effect not supported in vmap-of-cond.")
            return _select_branches(args, dims, axis, branches)
        mapped = [dim is not None for dim in dims[1:]]
        ops = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(args[1:], dims[1:], strict=True)]
        out_mapped = _any_branch([batch_jaxpr(b, axis, mapped, False)[1] for b in branches])
        batched = tuple(batch_jaxpr(b, axis, mapped, out_mapped)[0] for b in branches)
        return self.bind(args[0], *ops, branches=batched), [0 if m else None for m in out_mapped]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, branches: Branches) -> Kind:
        return Branch(branches)


cond_p = Cond()


def _any_branch(flags: Sequence[Sequence[bool]]) -> list[bool]:
    """Return what is marked in at least one branch."""
    result = list(flags[0])
    for more in flags[1:]:
        result = either(result, more)
    return result


@cache_by_jaxpr
def _transpose_branch(closed: ClosedJaxpr, num_res: int) -> ClosedJaxpr:
    """Turn (residuals, T a) -> T b into (residuals, CT b) -> CT a."""

    def transposed(*args: Any) -> list[Any]:
        primals = [*args[:num_res], *map(UndefinedPrimal, closed.in_avals[num_res:])]
        cts = backward_pass(closed.jaxpr, closed.consts, primals, args[num_res:])
        return [instantiate_zeros(ct) for ct in cts[num_res:]]

    return trace_to_closed_jaxpr(transposed, [*closed.in_avals[:num_res], *closed.out_avals])


def _select_branches(args: Sequence[Any], dims: Sequence[int | None], axis: Axis, branches: Branches
                     ) -> tuple[list[Any], list[int]]:
    """Evaluate all branches on the whole batch, and choose for each element.

    An element gets through a branch that it does not take without a gradient: `select(chosen, x, stop_gradient(x))`.
    """
    index, *ops = (batch_dim_at_front(x, dim, axis.size) for x, dim in zip(args, dims, strict=True))
    batched = [batch_jaxpr(b, axis, [True] * len(ops), True)[0] for b in branches]
    outs = []
    for i, branch in enumerate(batched):
        chosen = eq(index, const_like(index, i))
        inputs = [_select(chosen, x, stop_gradient(x)) for x in ops]
        outs.append(eval_jaxpr(branch.jaxpr, branch.consts, *inputs))
    results = [select_n(_spread(index, cases[0]), *cases) for cases in zip(*outs, strict=True)]
    return results, [0] * len(results)


def _select(chosen: Any, x: Any, y: Any) -> Any:
    return select(_spread(chosen, x), x, y)


def _spread(which: Any, x: Any) -> Any:
    """Repeat a choice per element over the axes of the element."""
    return which if np.ndim(which) == np.ndim(x) else broadcast_in_dim(which, np.shape(x), tuple(range(np.ndim(which))))
