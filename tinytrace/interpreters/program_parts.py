"""Programs taken apart and put together, for `jax.interpreters.partial_eval`; and the types of its rules.

Source: `jax.interpreters.partial_eval` of JAX 0.4.35.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NoReturn

from tinytrace.control_flow.bodies import keep
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Var, join_effects
from tinytrace.interpreters.partial_eval import PartialVal, convert_constvars_jaxpr, dce_jaxpr, trace_to_jaxpr_dynamic
from tinytrace.transforms import policy

Const = Val = Any
AbstractedAxisName = Hashable
AbstractedAxesSpec = dict[int, AbstractedAxisName] | tuple[AbstractedAxisName, ...]
PartialEvalCustomResult = tuple[JaxprEqn | None, JaxprEqn | None, Sequence[bool], Sequence[bool], list[Var]]
PartialEvalCustomRule = Callable[[Callable[..., Any], Sequence[bool], Sequence[bool], JaxprEqn],
                                 PartialEvalCustomResult]
DCERule = Callable[[list[bool], JaxprEqn], tuple[list[bool], JaxprEqn | None]]


def convert_invars_to_constvars(jaxpr: Jaxpr, n: int) -> Jaxpr:
    """Return a program whose first `n` inputs are its constants: the inverse of `convert_constvars_jaxpr`.

    >>> from tinytrace import make_jaxpr
    >>> convert_invars_to_constvars(make_jaxpr(lambda x, y: x * y)(1.0, 2.0).jaxpr, 1)
    { lambda a:f32[]; b:f32[]. let c:f32[] = mul a b in (c,) }
    """
    return jaxpr.replace(constvars=jaxpr.invars[:n], invars=jaxpr.invars[n:]) if n else jaxpr.replace()


def convert_envvars_to_constvars(jaxpr: Jaxpr, num_env_vars: int) -> Jaxpr:
    """Return a program whose first inputs are constants more."""
    return jaxpr.replace(constvars=[*jaxpr.constvars, *jaxpr.invars[:num_env_vars]],
                         invars=jaxpr.invars[num_env_vars:])


def dce_jaxpr_consts(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
                     ) -> tuple[Jaxpr, list[bool], list[bool]]:
    """Return a program without what the unused outputs alone need, and which constants and inputs are left."""
    count = len(jaxpr.constvars)
    kept = instantiate if isinstance(instantiate, bool) else [False] * count + list(instantiate)
    smaller, used = dce_jaxpr(convert_constvars_jaxpr(jaxpr), used_outputs, kept)
    return convert_invars_to_constvars(smaller, sum(used[:count])), used[:count], used[count:]


def dce_jaxpr_call_rule(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """The rule by which dead code is taken out of a call, whose program is the parameter `call_jaxpr`."""
    used, smaller = dce_jaxpr_closed_call_rule(used_outputs, eqn)
    return used, smaller if any(used) or any(used_outputs) or smaller.effects else None


def dce_jaxpr_closed_call_rule(used_outputs: list[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    """The same for a call that stays, even if nothing of it is used."""
    program = eqn.params["call_jaxpr"]
    is_closed = isinstance(program, ClosedJaxpr)
    smaller, used = dce_jaxpr(program.jaxpr if is_closed else program, used_outputs)
    params = {**eqn.params, "call_jaxpr": ClosedJaxpr(smaller, program.consts) if is_closed else smaller}
    return used, eqn.replace(invars=keep(eqn.invars, used), outvars=keep(eqn.outvars, used_outputs), params=params,
                             effects=smaller.effects)


@contextlib.contextmanager
def trivial_ctx(_: Any) -> Iterator[None]:
    """Do nothing around the block."""
    yield


def make_jaxpr_effects(constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Any],
                       eqns: Sequence[JaxprEqn]) -> Any:
    """Return the effects of a program of these equations."""
    return join_effects(eqns)


def partial_eval_jaxpr_custom(jaxpr: Jaxpr, in_unknowns: Sequence[bool], in_inst: bool | Sequence[bool],
                              ensure_out_unknowns: bool | Sequence[bool], ensure_out_inst: bool | Sequence[bool],
                              saveable: Callable[..., Any]) -> tuple[Jaxpr, Jaxpr, list[bool], list[bool], int]:
    """Split a program by what is known, under a policy of what may be saved.

    Returns: the known program, whose last outputs are residuals; the rest, whose first inputs are these; which outputs
      the rest computes, and which it has; the number of residuals. See `transforms/policy.py`.
    """
    parts = policy.partial_eval_jaxpr_custom(jaxpr, in_unknowns, in_inst, ensure_out_unknowns, ensure_out_inst,
                                             saveable)
    return parts.known, parts.staged, parts.out_unknowns, parts.out_inst, parts.num_res


def partition_pvals(pvals: Sequence[PartialVal]) -> tuple[list[bool], list[ShapedArray], list[Any]]:
    """Return which values are known, the types of those that are not, and those that are."""
    knowns = [pval.is_known() for pval in pvals]
    return (knowns, [pval.get_aval() for pval in keep(pvals, [not known for known in knowns])],
            [pval.get_known() for pval in keep(pvals, knowns)])


def partial_eval_jaxpr_custom_rule_not_implemented(name: str, saveable: Callable[..., Any], unks_in: Sequence[bool],
                                                   inst_in: Sequence[bool], eqn: JaxprEqn) -> NoReturn:
    """A rule for an equation that cannot be split under a policy of checkpoints: raises NotImplementedError."""
    raise NotImplementedError(f"custom-policy remat rule not implemented for {name}, open a feature request at "
                              "https://github.com/jax-ml/jax/issues!")


def trace_to_jaxpr_final(fun: Any, in_avals: Sequence[ShapedArray], debug_info: Any = None,
                         keep_inputs: Sequence[bool] | None = None) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """Return the jaxpr of a flat function, the types of its results, and its constants."""
    return trace_to_jaxpr_dynamic(fun, in_avals, debug_info, keep_inputs=keep_inputs)


# --- calls under a policy ------------------------------------------------------------------------------------------

ResAvalUpdater = Callable[[dict[str, Any], ShapedArray], ShapedArray]


def _unchanged(params: dict[str, Any], aval: ShapedArray) -> ShapedArray:
    return aval


def call_partial_eval_custom_rule(jaxpr_param_name: str, params_updater: Callable[..., Any],
                                  saveable: Callable[..., Any], unks_in: Sequence[bool], inst_in: Sequence[bool],
                                  eqn: JaxprEqn, *, res_aval: ResAvalUpdater = _unchanged,
                                  ctx: Callable[[Any], Any] = trivial_ctx) -> PartialEvalCustomResult:
    """The rule by which a call, whose program is one of its parameters, is split under a policy of checkpoints.

    Args:
      params_updater: `(unks_in, inst_in, kept_known, kept_staged, num_res, params_known, params_staged)` to the two.
      res_aval: the type of a residual outside of the call.
    """
    return _split_call(jaxpr_param_name, lambda *args: params_updater(*args[:4], *args[5:]), saveable, unks_in, inst_in,
                       eqn, res_aval, ctx, forward=False)


def closed_call_partial_eval_custom_rule(jaxpr_param_name: str, params_updater: Callable[..., Any],
                                         saveable: Callable[..., Any], unks_in: Sequence[bool],
                                         inst_in: Sequence[bool], eqn: JaxprEqn, *,
                                         res_aval: ResAvalUpdater = _unchanged) -> PartialEvalCustomResult:
    """The same where a residual that is a result of the call too is one result: `params_updater` gets the number of
    residuals that are results of their own before the number of all.
    """
    return _split_call(jaxpr_param_name, params_updater, saveable, unks_in, inst_in, eqn, res_aval, trivial_ctx,
                       forward=True)


def _split_call(name: str, update: Callable[..., Any], saveable: Callable[..., Any], unks_in: Sequence[bool],
                inst_in: Sequence[bool], eqn: JaxprEqn, res_aval: ResAvalUpdater, ctx: Callable[[Any], Any],
                forward: bool) -> PartialEvalCustomResult:
    program = eqn.params[name]
    closed = program if isinstance(program, ClosedJaxpr) else None
    with ctx(eqn.params):
        parts = policy.partial_eval_jaxpr_custom(program if closed is None else closed.jaxpr, unks_in, inst_in, False,
                                                 False, saveable)
    known, staged, num_res = parts.known, parts.staged, parts.num_res
    kept = [not unknown for unknown in parts.out_unknowns]
    outs_known = keep(eqn.outvars, kept)
    results = {id(v): i for i, v in enumerate(known.outvars[:len(outs_known)])
               if forward and not isinstance(outs_known[i], DropVar)}
    same = [results.get(id(v)) for v in known.outvars[len(outs_known):]]
    known = known.replace(outvars=[*known.outvars[:len(outs_known)],
                                   *(v for v, i in zip(known.outvars[len(outs_known):], same, strict=True)
                                     if i is None)])
    params = [{**eqn.params, name: part if closed is None else ClosedJaxpr(part, closed.consts)}
              for part in (known, staged)]
    params_known, params_staged = update(unks_in, inst_in, kept, parts.out_inst, same.count(None), num_res, *params)
    residuals = [Var(res_aval(params_known, v.aval)) if i is None else outs_known[i]
                 for v, i in zip(staged.invars[:num_res], same, strict=True)]
    own = [v for v, i in zip(residuals, same, strict=True) if i is None]
    eqn_known = eqn.replace(invars=keep(eqn.invars, [not unknown for unknown in unks_in]), params=params_known,
                            outvars=[*outs_known, *own], effects=known.effects)
    eqn_staged = eqn.replace(invars=[*residuals, *keep(eqn.invars, inst_in)], params=params_staged,
                             outvars=keep(eqn.outvars, parts.out_inst), effects=staged.effects)
    new = [x for x, inst in zip(eqn.invars, inst_in, strict=True) if isinstance(x, Var) and not inst]
    return eqn_known, eqn_staged, parts.out_unknowns, parts.out_inst, new + residuals
