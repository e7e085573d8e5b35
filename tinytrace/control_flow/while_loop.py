"""`while`: a loop whose length only its condition knows.

Operands are cond_consts..., body_consts..., carry...; the condition maps (cond_consts, carry) to a bool and the body
maps (body_consts, carry) to the next carry. Under `vmap` the condition may answer for each batch element: then the
leading axis of every carry is the batch, the loop runs while any element wants to, and elements that are done rest.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

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
from tinytrace.control_flow.effects import does_io
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Var, jaxpr_as_fun
from tinytrace.core.kinds import Kind, Loop
from tinytrace.core.named_axes import Axis
from tinytrace.core.tangents import Zero
from tinytrace.primitives.broadcasting import repeat_along
from tinytrace.primitives.shaping import moveaxis
from tinytrace.transforms.binders import prune_outputs
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace, partial_eval_jaxpr
from tinytrace.transforms.policy import Policy, partial_eval_jaxpr_custom
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.vmap import batch, batch_jaxpr
from tinytrace.transforms.zeros import instantiate_zeros
from tinytrace.util import cache_by_jaxpr

Dims = Sequence[int | None]


class While(WithPrograms):
    """`carry = while[cond_jaxpr body_jaxpr ...] cond_consts body_consts carry`."""

    name = "while"
    multiple_results = True
    compiled_eagerly = True

    def effects(self, *avals: ShapedArray, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr,
                **params: Any) -> frozenset[Any]:
        return cond_jaxpr.effects | body_jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, body_jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return body_jaxpr.out_avals

    def impl(self, *args: Any, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int,
             body_nconsts: int) -> list[Any]:
        cond_consts, body_consts, carry = split([stored(x) for x in args], cond_nconsts, body_nconsts)
        while True:
            wanted, = run_body(cond_jaxpr, [*cond_consts, *carry])
            if not wanted.any():
                return carry
            new = run_body(body_jaxpr, [*body_consts, *carry])
            if wanted.ndim:
                new = [np.where(wanted.reshape(wanted.shape + (1,) * (x.ndim - wanted.ndim)), x, old)
                       for x, old in zip(new, carry, strict=True)]
            carry = new

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, cond_jaxpr: ClosedJaxpr,
            body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents]
        _, consts_move, init_move = split(moving, cond_nconsts, body_nconsts)
        (jvp, _), carry_move = fixpoint(init_move, lambda carry_move: _with_flags(
            jvp_jaxpr(body_jaxpr, consts_move + carry_move, carry_move)))
        cond_consts, body_consts, init = split(primals, cond_nconsts, body_nconsts)
        _, consts_t, init_t = split(tangents, cond_nconsts, body_nconsts)
        consts_dot = keep(consts_t, consts_move)
        init_dot = list(map(instantiate_zeros, keep(init_t, carry_move)))
        num_carry, num_dot = len(init), len(init_dot)
        body = rearranged(jvp, beside([body_nconsts, num_carry], [len(consts_dot), num_dot]),
                          tuple(range(num_carry + num_dot)))
        outs = self.bind(*cond_consts, *body_consts, *consts_dot, *init, *init_dot, cond_nconsts=cond_nconsts,
                         cond_jaxpr=_ignoring(cond_jaxpr, tuple(body.in_avals[-num_dot:] if num_dot else ())),
                         body_nconsts=body_nconsts + len(consts_dot), body_jaxpr=body)
        carry, carry_dot = split(outs, num_carry)
        return carry, merge(carry_move, map(Zero.from_primal_value, drop(carry, carry_move)), carry_dot)

    def partial_eval(self, trace: JaxprTrace, args: Sequence[Any], **params: Any) -> Any:
        # What is known is computed now, and all of the loop is run again for the unknown carries: nothing can be
        # saved from a loop of unknown length.
        unknown = [not trace.is_known(x) for x in args]
        cond_uk, consts_uk, init_uk = split(unknown, params["cond_nconsts"], params["body_nconsts"])
        (body, _, _, _), carry_uk = fixpoint(init_uk, lambda carry_uk: _with_flags(
            partial_eval_jaxpr(params["body_jaxpr"], consts_uk + carry_uk, carry_uk), 2))
        cond, _, (pred_uk,), _ = partial_eval_jaxpr(params["cond_jaxpr"], cond_uk + carry_uk, False)
        outs = trace.record(self, args, params)
        if pred_uk or all(unknown):
            return outs
        num_known = len(carry_uk) - sum(carry_uk)
        body = prune_outputs(body, [i < num_known for i in range(len(body.out_avals))])
        known_outs = self.bind(*drop(args, cond_uk + consts_uk + carry_uk), cond_jaxpr=cond, body_jaxpr=body,
                               cond_nconsts=len(cond_uk) - sum(cond_uk), body_nconsts=len(consts_uk) - sum(consts_uk))
        return merge(carry_uk, known_outs, keep(outs, carry_uk))

    @staticmethod
    def partial_eval_eqn(saveable: Policy, unknowns_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn) -> Any:
        return _partial_eval_eqn(unknowns_in, inst_in, eqn)

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> NoReturn:
        raise ValueError("Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic "
                         "start/stop values. Try using lax.scan, or using fori_loop with static start/stop.")

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Dims, *, cond_jaxpr: ClosedJaxpr,
                    body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int) -> tuple[Any, Any]:
        cond_dims, const_dims, init_dims = split(dims, cond_nconsts, body_nconsts)
        consts_mapped, init_mapped = _mapped(const_dims), _mapped(init_dims)
        _, carry_mapped = fixpoint(init_mapped, lambda carry_mapped: _with_flags(
            batch_jaxpr(body_jaxpr, axis, consts_mapped + carry_mapped, carry_mapped)))
        _, (pred_mapped,) = batch_jaxpr(cond_jaxpr, axis, _mapped(cond_dims) + carry_mapped, False)
        if pred_mapped and does_io(self.effects(cond_jaxpr=cond_jaxpr, body_jaxpr=body_jaxpr)):
            raise NotImplementedError("IO effects not supported in while_loop with batched predicate")
        # With one condition per element all carries are batched; otherwise a condition that is batched already, by
        # an outer vmap, keeps its axes in front of ours.
        ndim = cond_jaxpr.out_avals[0].ndim
        carry_dims: list[int | None] = [0] * len(init_dims) if pred_mapped else \
            [ndim if mapped else None for mapped in carry_mapped]
        body = _batched(body_jaxpr, axis, (*const_dims, *carry_dims), tuple(carry_dims))
        cond = _batched(cond_jaxpr, axis, (*cond_dims, *carry_dims), (0 if pred_mapped else None,))
        consts, init = args[:cond_nconsts + body_nconsts], args[cond_nconsts + body_nconsts:]
        new_init = [x if to is None else repeat_along(x, axis.size, to) if dim is None else moveaxis(x, dim, to)
                    for x, dim, to in zip(init, init_dims, carry_dims, strict=True)]
        outs = self.bind(*consts, *new_init, cond_nconsts=cond_nconsts, cond_jaxpr=cond, body_nconsts=body_nconsts,
                         body_jaxpr=body)
        return outs, carry_dims

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, cond_jaxpr: ClosedJaxpr,
              body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int) -> Kind:
        return Loop(body_jaxpr, body_nconsts, len(out_avals), cond=cond_jaxpr, cond_num_consts=cond_nconsts)


while_p = While()


def _partial_eval_eqn(unknowns_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn) -> Any:
    """Split a while equation under a checkpoint policy: the staged part runs the whole loop again."""
    params = eqn.params
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    cond_uk, consts_uk, init_uk = split(unknowns_in, params["cond_nconsts"], params["body_nconsts"])
    halves, carry_uk = fixpoint(init_uk, lambda carry_uk: _with_flags(
        partial_eval_jaxpr_custom(body.jaxpr, consts_uk + carry_uk, True, carry_uk, True, _save_nothing), 2))
    cond_halves = partial_eval_jaxpr_custom(cond.jaxpr, cond_uk + carry_uk, True, False, True, _save_nothing)
    wanted = [v for v, inst in zip(eqn.invars, inst_in, strict=True) if isinstance(v, Var) and not inst]
    everything = [True] * len(carry_uk)
    if cond_halves.out_unknowns[0]:
        return None, eqn, everything, everything, wanted
    known_params = {"cond_jaxpr": ClosedJaxpr(cond_halves.known, cond.consts),
                    "body_jaxpr": ClosedJaxpr(halves.known, body.consts),
                    "cond_nconsts": len(cond_uk) - sum(cond_uk), "body_nconsts": len(consts_uk) - sum(consts_uk)}
    known = eqn.replace(invars=drop(eqn.invars, cond_uk + consts_uk + carry_uk), outvars=drop(eqn.outvars, carry_uk),
                        params=known_params, effects=halves.known.effects | cond_halves.known.effects)
    return known, eqn, carry_uk, everything, wanted


def _save_nothing(*args: Any, **params: Any) -> bool:
    return False


def _with_flags(result: Any, position: int = 1) -> tuple[Any, list[bool]]:
    return result, result[position]


def _mapped(dims: Dims) -> list[bool]:
    return [dim is not None for dim in dims]


@cache_by_jaxpr
def _ignoring(closed: ClosedJaxpr, more: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    """Return a condition that takes further inputs, the tangents, and does not look at them."""
    invars = [*closed.jaxpr.invars, *map(Var, more)]
    return ClosedJaxpr(closed.jaxpr.replace(invars=invars, debug_info=None), closed.consts)


@cache_by_jaxpr
def _batched(closed: ClosedJaxpr, axis: Axis, in_dims: tuple[int | None, ...],
             out_dims: tuple[int | None, ...]) -> ClosedJaxpr:
    """Vectorize a jaxpr from inputs batched along `in_dims` to outputs batched along `out_dims`."""
    in_avals = [aval if dim is None else aval.update(shape=(*aval.shape[:dim], axis.size, *aval.shape[dim:]))
                for aval, dim in zip(closed.in_avals, in_dims, strict=True)]
    return trace_to_closed_jaxpr(lambda *args: batch(jaxpr_as_fun(closed), axis, args, in_dims, lambda: out_dims),
                                 in_avals)
