"""`scan`: a loop with a known number of steps, a carry, sliced inputs `xs` and stacked outputs `ys`.

Operands are consts..., carry..., xs...; the body maps (consts, carry, one slice of xs) to (carry, one slice of ys).
`linear` marks the operands in which the equation is linear: the tangents, after differentiation.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import (
    WithPrograms,
    beside,
    drop,
    fixpoint,
    keep,
    merge,
    rearranged,
    run_body,
    split,
    stored,
)
from tinytrace.control_flow.scan_split import partial_eval_scan, partial_eval_scan_eqn
from tinytrace.core.array import storage_dtype
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_closed_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn
from tinytrace.core.kinds import Kind, Loop
from tinytrace.core.named_axes import Axis
from tinytrace.core.tangents import UndefinedPrimal, Zero
from tinytrace.errors import long_type
from tinytrace.primitives.broadcasting import repeat_along
from tinytrace.primitives.shaping import moveaxis
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.transpose import backward_pass
from tinytrace.transforms.vmap import batch_jaxpr
from tinytrace.transforms.zeros import add_tangents, instantiate_zeros, zeros
from tinytrace.util import cache_by_jaxpr


class Scan(WithPrograms):
    """`carry, ys = scan[jaxpr length reverse ...] consts carry xs`, one step per slice along axis 0 of xs."""

    name = "scan"
    multiple_results = True
    compiled_eagerly = True

    def effects(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_carry: int,
                      **params: Any) -> list[ShapedArray]:
        carry, ys = split(jaxpr.out_avals, num_carry)
        return [*carry, *(stacked(length, y) for y in ys)]

    def check_params(self, *avals: ShapedArray, **params: Any) -> None:
        def whole(x: Any) -> bool:
            return type(x) is int and x >= 0

        for name, wanted, fits in (
            ("linear", "tuple of bool", lambda x: type(x) is tuple and all(type(one) is bool for one in x)),
            ("reverse", "bool", lambda x: type(x) is bool), ("num_consts", "non-negative int", whole),
            ("num_carry", "non-negative int", whole),
            ("unroll", "positive int", lambda x: whole(x) and x > 0),
        ):  # fmt: skip
            if not fits(params[name]):
                raise TypeError(f"invalid scan param {name} of type {type(params[name]).__name__}, {wanted} required: "
                                f"{params[name]}")
        jaxpr, carry = params["jaxpr"], slice(params["num_consts"], params["num_consts"] + params["num_carry"])
        if len(avals) != len(params["linear"]) or len(avals) != len(jaxpr.in_avals):
            raise TypeError(f"scan called with {len(avals)} operands, but its jaxpr takes {len(jaxpr.in_avals)}")
        taken, given = jaxpr.in_avals[carry], jaxpr.out_avals[:params["num_carry"]]
        if [(aval.shape, aval.dtype) for aval in taken] != [(aval.shape, aval.dtype) for aval in given]:
            raise TypeError("scan input carry input and output types mismatch: \n"
                            + "\nvs\n".join(" ".join(map(long_type, avals)) for avals in (taken, given)))

    def impl(self, *args: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, num_consts: int, num_carry: int,
             **params: Any) -> list[Any]:
        consts, carry, xs = split([stored(x) for x in args], num_consts, num_carry)
        ys = [np.empty((length, *y.shape), storage_dtype(y)) for y in jaxpr.out_avals[num_carry:]]
        for i in reversed(range(length)) if reverse else range(length):
            carry, y_slices = split(run_body(jaxpr, [*consts, *carry, *(x[i] for x in xs)]), num_carry)
            for y, y_slice in zip(ys, y_slices, strict=True):
                y[i] = y_slice
        return [*carry, *ys]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, num_consts: int,
            num_carry: int, linear: tuple[bool, ...], **params: Any) -> tuple[Any, Any]:
        num_ys = len(jaxpr.out_avals) - num_carry
        consts_move, init_move, xs_move = split([type(t) is not Zero for t in tangents], num_consts, num_carry)

        def step(carry_move: list[bool]) -> tuple[Any, list[bool]]:
            moved = jvp_jaxpr(jaxpr, consts_move + carry_move + xs_move, carry_move + [False] * num_ys)
            return moved, moved[1][:num_carry]

        (jvp, out_move), carry_move = fixpoint(init_move, step)
        moving = consts_move + carry_move + xs_move
        dots = [sum(consts_move), sum(carry_move), sum(xs_move)]
        sizes = [num_consts, num_carry, len(xs_move)]
        order = beside(sizes, dots)
        operands = [*primals, *map(instantiate_zeros, keep(tangents, moving))]
        lin = [*linear, *[True] * sum(dots)]
        outs = self.bind(*(operands[i] for i in order), num_consts=num_consts + dots[0], num_carry=num_carry + dots[1],
                         jaxpr=rearranged(jvp, order, beside([num_carry, num_ys], [dots[1], sum(out_move) - dots[1]])),
                         linear=tuple(lin[i] for i in order), **params)
        carry, carry_dot, ys, ys_dot = split(outs, num_carry, dots[1], num_ys)
        zeros_out = map(Zero.from_primal_value, drop(carry + ys, out_move))
        return carry + ys, merge(out_move, zeros_out, carry_dot + ys_dot)

    def partial_eval(self, trace: Any, args: Sequence[Any], **params: Any) -> Any:
        return partial_eval_scan(self, trace, args, **params)

    partial_eval_eqn = staticmethod(partial_eval_scan_eqn)

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        params = eqn.params
        num_consts, num_carry = params["num_consts"], params["num_carry"]
        used_carry, used_ys = split(used_outs, num_carry)
        num_xs = len(eqn.invars) - num_consts - num_carry

        def step(used_carry: list[bool]) -> tuple[Any, list[bool]]:
            smaller = dce_closed_jaxpr(params["jaxpr"], used_carry + used_ys,
                                       [False] * num_consts + used_carry + [False] * num_xs)
            return smaller, smaller[1][num_consts:num_consts + num_carry]

        (jaxpr, used_ins), used_carry = fixpoint(used_carry, step)
        new_params = {**params, "jaxpr": jaxpr, "linear": tuple(keep(params["linear"], used_ins)),
                      "num_consts": sum(used_ins[:num_consts]), "num_carry": sum(used_carry)}
        return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), params=new_params, effects=jaxpr.effects,
                                     outvars=keep(eqn.outvars, used_carry + used_ys))

    def transpose(self, cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
                  linear: tuple[bool, ...], reverse: bool, **params: Any) -> Sequence[Any]:
        # consts [res, T d], carry [T c], xs [T a, eres]   becomes   consts [res], carry [CT d, CT c], xs [CT b, eres]
        consts_lin, _, xs_lin = split(linear, num_consts, num_carry)
        num_res, num_eres = len(consts_lin) - sum(consts_lin), len(xs_lin) - sum(xs_lin)
        if any(consts_lin[:num_res]) or any(xs_lin[len(xs_lin) - num_eres:]):
            raise NotImplementedError("transpose of a scan whose linear operands are not in their places")
        res, eres = args[:num_res], args[len(args) - num_eres:]
        ct_carry, ct_ys = split(cts, num_carry)
        ys_move = tuple(type(ct) is not Zero for ct in ct_ys)
        ct_carry = list(map(instantiate_zeros, ct_carry))
        ct_consts = [zeros(aval) for aval in jaxpr.in_avals[num_res:num_consts]]
        transposed = _transpose_body(jaxpr, num_res, num_consts - num_res, num_eres, ys_move)
        operands = [*res, *ct_consts, *ct_carry, *keep(ct_ys, ys_move), *eres]
        lin = [False] * num_res + [True] * (len(operands) - num_res - num_eres) + [False] * num_eres
        outs = self.bind(*operands, jaxpr=transposed, num_consts=num_res, num_carry=len(ct_consts) + num_carry,
                         linear=tuple(lin), reverse=not reverse, **params)
        return [*[None] * num_res, *outs, *[None] * num_eres]

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ClosedJaxpr,
                    num_consts: int, num_carry: int, **params: Any) -> tuple[Any, Any]:
        num_ys = len(jaxpr.out_avals) - num_carry
        consts_mapped, init_mapped, xs_mapped = split([d is not None for d in dims], num_consts, num_carry)

        def step(carry_mapped: list[bool]) -> tuple[Any, list[bool]]:
            batched = batch_jaxpr(jaxpr, axis, consts_mapped + carry_mapped + xs_mapped,
                                  carry_mapped + [False] * num_ys)
            return batched, batched[1][:num_carry]

        (batched, out_mapped), carry_mapped = fixpoint(init_mapped, step)
        consts, init, xs = split(list(zip(args, dims, strict=True)), num_consts, num_carry)
        operands = [x if d is None else moveaxis(x, d, 0) for x, d in consts]
        operands += [x if not m else repeat_along(x, axis.size, 0) if d is None else moveaxis(x, d, 0)
                     for (x, d), m in zip(init, carry_mapped, strict=True)]
        operands += [x if d is None else moveaxis(x, d, 1) for x, d in xs]
        outs = self.bind(*operands, jaxpr=batched, num_consts=num_consts, num_carry=num_carry, **params)
        return outs, [(0 if i < num_carry else 1) if m else None for i, m in enumerate(out_mapped)]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr,
              length: int, reverse: bool, num_consts: int, num_carry: int, unroll: int, **params: Any) -> Kind:
        return Loop(jaxpr, num_consts, num_carry, length=length, reverse=reverse, unroll=unroll)


def stacked(length: int, aval: ShapedArray) -> ShapedArray:
    """Return the type of `length` values of type `aval` along a new leading axis."""
    return aval.update(shape=(length, *aval.shape))


@cache_by_jaxpr
def _transpose_body(closed: ClosedJaxpr, num_res: int, num_consts: int, num_eres: int,
                    ys_move: tuple[bool, ...]) -> ClosedJaxpr:
    """Turn (res, T d, T c, T a, eres) -> (T c, T b) into (res, CT d, CT c, CT b, eres) -> (CT d, CT c, CT a).

    The cotangent of a const is a sum over all steps, so it is carried.
    """
    num_carry = len(closed.out_avals) - len(ys_move)
    num_xs = len(closed.in_avals) - num_res - num_consts - num_carry - num_eres
    res_avals, lin_avals, eres_avals = split(closed.in_avals, num_res, num_consts + num_carry + num_xs)
    carry_avals, y_avals = split(closed.out_avals, num_carry)

    def transposed(*args: Any) -> list[Any]:
        res, ct_consts, ct_carry, ct_ys, eres = split(args, num_res, num_consts, num_carry, sum(ys_move))
        cts = [*ct_carry, *merge(ys_move, map(Zero, drop(y_avals, ys_move)), ct_ys)]
        primals = [*res, *map(UndefinedPrimal, lin_avals), *eres]
        found = backward_pass(closed.jaxpr, closed.consts, primals, cts)
        _, new_consts, new_carry_and_xs, _ = split(found, num_res, num_consts, num_carry + num_xs)
        sums = [instantiate_zeros(add_tangents(a, b)) for a, b in zip(ct_consts, new_consts, strict=True)]
        return sums + [instantiate_zeros(ct) for ct in new_carry_and_xs]

    return trace_to_closed_jaxpr(transposed, [*res_avals, *lin_avals[:num_consts], *carry_avals,
                                              *keep(y_avals, ys_move), *eres_avals])


scan_p = Scan()
