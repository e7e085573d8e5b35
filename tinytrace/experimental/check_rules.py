"""The `checkify` interpreter: a program is run equation by equation, and an error goes along.

    error, outs = run_checked(closed, errors, error, *args)

An operation with a rule in `RULES` adds to the error what it finds; loops, branches and calls carry it through the
programs inside of them. Every other operation is done as it stands.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.control_flow.custom_jvp import custom_jvp_call_p
from tinytrace.control_flow.custom_vjp import custom_vjp_call_p
from tinytrace.control_flow.pjit import pjit_p
from tinytrace.control_flow.remat import remat_p
from tinytrace.control_flow.shard_map import AxisNames, binding_axes, shard_map_p
from tinytrace.control_flow.xla_pmap import xla_pmap_p
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import is_inexact
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun
from tinytrace.core.named_axes import Axis, binding
from tinytrace.core.primitive import Primitive
from tinytrace.core.source_info import replayed_source
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_map, tree_unflatten
from tinytrace.experimental.checked_errors import (
    DivisionByZeroError,
    Error,
    ErrorEffect,
    NaNError,
    OOBError,
    checked,
)
from tinytrace.transforms.binders import move_binders_to_front, prune_outputs
from tinytrace.transforms.staging import hoist_consts, trace_to_closed_jaxpr

Errors: TypeAlias = "frozenset[type]"
Checked: TypeAlias = "tuple[Error, Sequence[Any]]"
Rule: TypeAlias = "Callable[..., Checked]"
RULES: dict[Primitive, Rule] = {}
"""By primitive: maps (errors, error, eqn, *operands) to the error after it, and the results as a list."""


def run_checked(closed: ClosedJaxpr, errors: Errors, error: Error, *args: Any) -> tuple[Error, list[Any]]:
    """Run `closed` on `args`; return the error to which all is added that is found of the kinds `errors`."""
    jaxpr = closed.jaxpr
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else env[atom]

    with replayed_source() as replay:
        for eqn in jaxpr.eqns:
            replay.source = eqn.source
            rule: Rule = RULES.get(eqn.primitive, _unchecked)
            error, outs = rule(errors, error, eqn, *map(read, eqn.invars))
            env.update(zip(eqn.outvars, outs, strict=True))
    return error, [read(atom) for atom in jaxpr.outvars]


def _bound(eqn: JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    outs = eqn.primitive.bind(*operands, **eqn.params)
    return list(outs) if eqn.primitive.multiple_results else [outs]


def _unchecked(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    return error, _bound(eqn, operands)


# --- what single operations find ---------------------------------------------------------------------------------

def _check_nan(errors: Errors, error: Error, eqn: JaxprEqn, outs: Sequence[Any]) -> Error:
    if NaNError not in errors:
        return error
    found = [jnp.any(jnp.isnan(x)) for x in outs if is_inexact(aval_of(x).dtype)]
    if not found:
        return error
    any_nan = jnp.any(jnp.array(found)) if eqn.primitive.multiple_results else found[0]
    return checked(error, any_nan, NaNError(eqn.primitive.name))


def _nan_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    outs = _bound(eqn, operands)
    return _check_nan(errors, error, eqn, outs), outs


def _div_rule(errors: Errors, error: Error, eqn: JaxprEqn, x: Any, y: Any) -> Checked:
    if DivisionByZeroError in errors:
        error = checked(error, jnp.any(jnp.equal(y, 0)), DivisionByZeroError())
    return _nan_rule(errors, error, eqn, x, y)


def _oob(error: Error, name: str, mask: Any, indices: Any, axes: Sequence[int], shape: tuple[int, ...]) -> Error:
    """Add that one of `indices`, the last axis of which names `axes` of an array of `shape`, is out of bounds."""
    first = jnp.argmin(jnp.logical_not(mask))
    axis = jnp.array(axes)[jnp.unravel_index(first, np.shape(indices))[-1]]
    size, index = jnp.array(shape)[axis], jnp.ravel(indices)[first]
    payload = jnp.array([index, axis, size], dtype=np.int32)
    return checked(error, jnp.any(mask), OOBError(name, shape, payload))


def _window_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    outs = _bound(eqn, operands)
    shape, is_update = np.shape(operands[0]), eqn.primitive is lax.dynamic_update_slice_p
    if OOBError not in errors or not shape:
        return error, outs
    sizes = np.array(np.shape(operands[1]) if is_update else eqn.params["slice_sizes"])
    starts = jnp.array(operands[1 + is_update:])
    mask = (starts < 0) | (starts + sizes > np.array(shape))
    return _oob(error, eqn.primitive.name, mask, starts, range(len(shape)), shape), outs


def _gather_rule(errors: Errors, error: Error, eqn: JaxprEqn, operand: Any, indices: Any) -> Checked:
    outs = _bound(eqn, [operand, indices])
    axes = eqn.params["dimension_numbers"].start_index_map
    if OOBError not in errors or not np.size(indices):
        return error, outs
    largest = [np.shape(operand)[axis] - eqn.params["slice_sizes"][axis] for axis in axes]
    return _oob(error, "gather", _outside(indices, largest), indices, axes, np.shape(operand)), outs


def _scatter_rule(errors: Errors, error: Error, eqn: JaxprEqn, operand: Any, indices: Any, updates: Any) -> Checked:
    outs = _bound(eqn, [operand, indices, updates])
    if OOBError not in errors:
        return error, outs
    numbers, shape = eqn.params["dimension_numbers"], np.shape(operand)
    windows = iter(numbers.update_window_dims)
    sizes = [1 if axis in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
             else np.shape(updates)[next(windows)] for axis in range(len(shape))]
    axes = numbers.scatter_dims_to_operand_dims
    if axes and np.size(indices):
        largest = [shape[axis] - sizes[axis] for axis in axes]
        error = _oob(error, eqn.primitive.name, _outside(indices, largest), indices, axes, shape)
    return _check_nan(errors, error, eqn, outs), outs


def _outside(indices: Any, largest: Sequence[int]) -> Any:
    dtype = aval_of(indices).dtype
    most = np.minimum(np.array(largest, np.int64), np.iinfo(dtype).max).astype(dtype)
    return jnp.logical_or(jnp.less(indices, 0), jnp.greater(indices, most))


# --- programs inside of programs -----------------------------------------------------------------------------------

def checked_program(closed: ClosedJaxpr, errors: Errors, structure: PyTreeDef,
                    avals: Sequence[ShapedArray]) -> tuple[ClosedJaxpr, PyTreeDef, set[ErrorEffect]]:
    """Return the program from (error, operands) to (error, results), its structure, and the kinds of the error."""
    known: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        error = tree_unflatten(structure, values[:structure.num_leaves])
        after, outs = run_checked(closed, errors, error, *values[structure.num_leaves:])
        leaves, out_structure = tree_flatten((after, list(outs)))
        known.extend((out_structure, set(after._pred)))
        return leaves

    program = trace_to_closed_jaxpr(flat, avals)
    return program, *known


def _pjit_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    leaves, structure = tree_flatten(error)
    program, out_structure, _ = checked_program(eqn.params["jaxpr"], errors, structure, _avals(leaves, operands))
    params = {**eqn.params, "jaxpr": program,
              "donated_invars": (*[False] * len(leaves), *eqn.params["donated_invars"])}
    return _results(out_structure, pjit_p.bind(*leaves, *operands, **params))


def _remat_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    leaves, structure = tree_flatten(error)
    program, out_structure, _ = checked_program(eqn.params["jaxpr"], errors, structure, _avals(leaves, operands))
    hoisted = ClosedJaxpr(hoist_consts(program.jaxpr), ())
    outs = remat_p.bind(*program.consts, *leaves, *operands, **{**eqn.params, "jaxpr": hoisted})
    return _results(out_structure, outs)


def _pmap_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    """All devices start with the error before, and each has one of its own at the end: the first mistake is told."""
    params = eqn.params
    program = params["call_jaxpr"]
    leaves, structure = tree_flatten(error)
    with binding(Axis(params["axis_size"], params["axis_name"])):
        program, out_structure, _ = checked_program(program, errors, structure, [*_avals(leaves), *program.in_avals])
    found = out_structure.num_leaves - len(params["out_axes"])
    shared = len(program.consts) + len(leaves)
    outs = xla_pmap_p.bind(*program.consts, *leaves, *operands, **{
        **params, "call_jaxpr": ClosedJaxpr(hoist_consts(program.jaxpr), ()),
        "in_axes": ((None,) * shared + tuple(params["in_axes"])),
        "out_axes": ((0,) * found + tuple(params["out_axes"])),
        "donated_invars": ((False,) * shared + tuple(params["donated_invars"]))})
    after, results = _results(out_structure, outs)
    return _of_any(after), results


def _shard_map_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    """All devices start with the error before, and the errors at the end lie side by side."""
    params = eqn.params
    program, mesh = params["jaxpr"], params["mesh"]
    leaves, structure = tree_flatten(error)
    with binding_axes(mesh):
        checked, out_structure, _ = checked_program(program, errors, structure,
                                                    [*_avals(leaves), *program.in_avals])
        found = out_structure.num_leaves - len(params["out_names"])
        checked = trace_to_closed_jaxpr(lambda *args: [
            lax.expand_dims(x, (0,)) if k < found else x for k, x in enumerate(jaxpr_as_fun(checked)(*args))],
            checked.in_avals)
    shared = len(checked.consts) + len(leaves)
    outs = shard_map_p.bind(*checked.consts, *leaves, *operands, **{
        **params, "jaxpr": ClosedJaxpr(hoist_consts(checked.jaxpr), ()),
        "in_names": ((AxisNames(),) * shared + tuple(params["in_names"])),
        "out_names": ((AxisNames({0: tuple(mesh.axis_names)}),) * found + tuple(params["out_names"]))})
    return _results(out_structure, outs)


def _of_any(error: Error) -> Error:
    """Return the error of one of the devices that have one, if any has."""
    chosen = {}
    for kind, preds in error._pred.items():
        at = jnp.argsort(preds)[-1]
        chosen[kind] = tree_map(lambda x, at=at: x[at], (preds, error._code[kind], error._payload[kind]))
    pred, code, payload = ({kind: parts[k] for kind, parts in chosen.items()} for k in range(3))
    return Error(pred, code, error._metadata, payload)


def _custom_rule(name: str, errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    """What the function does is checked; its results keep the derivative that the user wrote, unless it checks."""
    program = eqn.params[name]
    error, outs = run_checked(program, errors, error, *map(lax.stop_gradient, operands))
    return error, outs if program.effects else _bound(eqn, operands)


def _cond_rule(errors: Errors, error: Error, eqn: JaxprEqn, index: Any, *operands: Any) -> Checked:
    leaves, structure = tree_flatten(error)
    branches = eqn.params["branches"]
    kinds = [checked_program(branch, errors, structure, _avals(leaves, operands))[2] for branch in branches]
    leaves, structure = tree_flatten(error.with_kinds(set().union(*kinds)))
    programs, structures, _ = zip(*(checked_program(branch, errors, structure, _avals(leaves, operands))
                                    for branch in branches), strict=True)
    outs = lax.cond_p.bind(index, *leaves, *operands, branches=tuple(programs))
    after, results = _results(structures[0], outs)
    for other in structures[1:]:
        after = after.with_metadata(_results(other, outs)[0]._metadata)
    return after, results


def _scan_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    params = eqn.params
    consts, rest = operands[:params["num_consts"]], operands[params["num_consts"]:]
    inner = params["jaxpr"].in_avals
    leaves, structure = tree_flatten(error)
    kinds = checked_program(params["jaxpr"], errors, structure, [*_avals(leaves), *inner])[2]
    leaves, structure = tree_flatten(error.with_kinds(kinds))
    program, out_structure, _ = checked_program(params["jaxpr"], errors, structure, [*_avals(leaves), *inner])
    program = move_binders_to_front(program, [False] * len(leaves) + [True] * len(consts) + [False] * len(rest))
    outs = lax.scan_p.bind(*consts, *leaves, *rest, **{
        **params, "jaxpr": program, "num_carry": params["num_carry"] + len(leaves),
        "linear": (*[False] * len(leaves), *params["linear"])})
    return _results(out_structure, outs)


def _while_rule(errors: Errors, error: Error, eqn: JaxprEqn, *operands: Any) -> Checked:
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    if cond.out_avals[0].shape:
        raise ValueError("Checkify does not support batched while-loops (checkify-of-vmap-of-while). \nHint: if "
                         "possible, move the vmap to the outer level to get vmap-of-checkify-of-while.")
    num_cond, num_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond_consts, body_consts = operands[:num_cond], operands[num_cond:num_cond + num_body]
    carry = operands[num_cond + num_body:]
    error, _ = run_checked(cond, errors, error, *cond_consts, *carry)
    turn = _body_and_cond(cond, body, num_cond)
    leaves, structure = tree_flatten(error)
    kinds = checked_program(turn, errors, structure, [*_avals(leaves), *turn.in_avals])[2]
    leaves, structure = tree_flatten(error.with_kinds(kinds))
    program, out_structure, _ = checked_program(turn, errors, structure, [*_avals(leaves), *turn.in_avals])
    kept = [False] * len(leaves)
    asked, _, _ = checked_program(cond, errors, structure, [*_avals(leaves), *cond.in_avals])
    asked = prune_outputs(asked, [*[False] * (len(asked.out_avals) - 1), True])
    outs = lax.while_p.bind(
        *cond_consts, *cond_consts, *body_consts, *leaves, *carry, cond_nconsts=num_cond,
        cond_jaxpr=move_binders_to_front(asked, kept + [True] * num_cond + [False] * len(carry)),
        body_nconsts=num_cond + num_body,
        body_jaxpr=move_binders_to_front(program, kept + [True] * (num_cond + num_body) + [False] * len(carry)))
    return _results(out_structure, outs)


def _body_and_cond(cond: ClosedJaxpr, body: ClosedJaxpr, num_cond: int) -> ClosedJaxpr:
    """Return the body after which the condition is asked too: what it finds belongs to the turn before."""

    def turn(*values: Any) -> list[Any]:
        outs = jaxpr_as_fun(body)(*values[num_cond:])
        jaxpr_as_fun(cond)(*values[:num_cond], *outs)
        return outs

    return trace_to_closed_jaxpr(turn, [*cond.in_avals[:num_cond], *body.in_avals])


def _avals(*groups: Sequence[Any]) -> list[ShapedArray]:
    return [aval_of(x) for group in groups for x in group]


def _results(structure: PyTreeDef, outs: Sequence[Any]) -> Checked:
    error, results = tree_unflatten(structure, outs)
    return error, results


_NAN_OPERATIONS = (
    "acos acosh add asin asinh atan2 atan atanh bessel_i0e bessel_i1e cbrt conv_general_dilated cos cosh cumlogsumexp "
    "cummax cummin cumprod cumsum digamma dot_general erf_inv erf erfc exp expm1 fft igamma_grad_a igamma igammac "
    "integer_pow lgamma linear_solve log1p log logistic mul pad pow psum random_gamma_grad reduce reduce_prod "
    "reduce_sum reduce_window reduce_window_sum regularized_incomplete_beta rem rsqrt sin sinh sqrt sub tan tanh")
RULES.update({getattr(lax, f"{name}_p"): _nan_rule for name in _NAN_OPERATIONS.split()})
RULES.update({getattr(lax, f"scatter{name}_p"): _scatter_rule for name in ("", "_add", "_mul", "_min", "_max")})
RULES.update({
    lax.div_p: _div_rule, lax.gather_p: _gather_rule, lax.dynamic_slice_p: _window_rule,
    lax.dynamic_update_slice_p: _window_rule, lax.cond_p: _cond_rule, lax.scan_p: _scan_rule, lax.while_p: _while_rule,
    pjit_p: _pjit_rule, remat_p: _remat_rule, custom_jvp_call_p: partial(_custom_rule, "call_jaxpr"),
    custom_vjp_call_p: partial(_custom_rule, "fun_jaxpr"), xla_pmap_p: _pmap_rule,
    shard_map_p: _shard_map_rule,
})
