"""Partial evaluation of a jaxpr under a policy: what `checkpoint` saves, and what it computes again.

Every variable has two marks: *unknown*: it depends on an unknown input, so only the staged part can compute it; and
*inst*: its value is at hand in the staged part. Each equation goes where its marks and the policy say:

    some operand unknown            staged part only
    all known, policy says save     known part; a result becomes a residual if the staged part reads it
    all known, policy says no       both parts: computed again, from operands that become residuals where necessary

A primitive with jaxprs inside may split its equation instead of choosing for all of it:

    partial_eval_eqn(saveable, unknowns_in, inst_in, eqn)
        -> (known eqn or None, staged eqn or None, unknowns_out, inst_out, residual variables)

The policy is asked `saveable(primitive, *in_avals, **params) -> bool`.
Source: https://jax.readthedocs.io/en/latest/notebooks/autodiff_remat.html.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinytrace.records import NamedTuple
from tinytrace.util import cache_by_jaxpr

Policy = Callable[..., bool]
Flags = bool | Sequence[bool]


class Split(NamedTuple):
    """A jaxpr in two parts; the first `num_res` inputs of `staged` are the last outputs of `known`."""

    known: Jaxpr
    staged: Jaxpr
    out_unknowns: list[bool]
    out_inst: list[bool]
    num_res: int


def partial_eval_jaxpr_custom(jaxpr: Jaxpr, in_unknowns: Sequence[bool], in_inst: Flags, ensure_out_unknowns: Flags,
                              ensure_out_inst: Flags, saveable: Policy) -> Split:
    """Split `jaxpr`; the `ensure` flags mark outputs that must be unknown, or at hand in the staged part, in any case.

    `known` maps (inputs not unknown) to (outputs not unknown, residuals); `staged` maps (residuals, inputs at hand)
    to (outputs at hand).
    """
    ins, outs = len(jaxpr.invars), len(jaxpr.outvars)
    return _split(jaxpr, tuple(in_unknowns), _spread(in_inst, ins), _spread(ensure_out_unknowns, outs),
                  _spread(ensure_out_inst, outs), saveable)


@cache_by_jaxpr
def _split(jaxpr: Jaxpr, in_unknowns: tuple[bool, ...], in_inst: tuple[bool, ...],
           ensure_out_unknowns: tuple[bool, ...], ensure_out_inst: tuple[bool, ...], saveable: Policy) -> Split:
    splitter = _Splitter(saveable)
    splitter.write(jaxpr.constvars, [False] * len(jaxpr.constvars), [True] * len(jaxpr.constvars))
    splitter.write(jaxpr.invars, in_unknowns, in_inst)
    for eqn in jaxpr.eqns:
        splitter.visit(eqn)
    marks = [splitter.read(v) for v in jaxpr.outvars]
    for v, ensure in zip(jaxpr.outvars, ensure_out_inst, strict=True):
        if ensure:
            splitter.need(v)
    out_unknowns = [unknown or ensure for (unknown, _), ensure in zip(marks, ensure_out_unknowns, strict=True)]
    out_inst = [inst or ensure for (_, inst), ensure in zip(marks, ensure_out_inst, strict=True)]
    residuals = list(splitter.residuals)
    known = jaxpr.replace(invars=_where(jaxpr.invars, in_unknowns, False),
                          outvars=[*_where(jaxpr.outvars, out_unknowns, False), *residuals],
                          eqns=splitter.known, debug_info=None)
    staged = jaxpr.replace(invars=[*residuals, *_where(jaxpr.invars, in_inst, True)],
                           outvars=_where(jaxpr.outvars, out_inst, True), eqns=splitter.staged, debug_info=None)
    return Split(known, staged, out_unknowns, out_inst, len(residuals))


class _Splitter:
    """The marks of each variable so far, and the two lists of equations."""

    def __init__(self, saveable: Policy) -> None:
        self.saveable = saveable
        self.marks: dict[Atom, tuple[bool, bool]] = {}
        self.known: list[JaxprEqn] = []
        self.staged: list[JaxprEqn] = []
        self.residuals: dict[Var, None] = {}  # in the order in which they were first needed

    def read(self, v: Atom) -> tuple[bool, bool]:
        """Return (unknown, at hand in the staged part)."""
        return self.marks[v] if isinstance(v, Var) else (False, True)

    def write(self, variables: Sequence[Var], unknowns: Sequence[bool], inst: Sequence[bool]) -> None:
        self.marks.update(zip(variables, zip(unknowns, inst, strict=True), strict=True))

    def need(self, v: Atom) -> None:
        """Make `v` available to the staged part."""
        if isinstance(v, Var) and not self.read(v)[1]:
            self.residuals.setdefault(v)

    def visit(self, eqn: JaxprEqn) -> None:
        unknowns, inst = [self.read(v)[0] for v in eqn.invars], [self.read(v)[1] for v in eqn.invars]
        results = len(eqn.outvars)
        if eqn.primitive.partial_eval_eqn is not None:
            known, staged, unknowns_out, inst_out, residuals = eqn.primitive.partial_eval_eqn(
                self.saveable, unknowns, inst, eqn)
            self.known += [known] if known is not None else []
            self.staged += [staged] if staged is not None else []
            self.residuals.update(dict.fromkeys(residuals))
            self.write(eqn.outvars, unknowns_out, inst_out)
        elif any(unknowns):
            self.stage(eqn)
            self.write(eqn.outvars, [True] * results, [True] * results)
        else:
            self.known.append(eqn)
            saved = bool(eqn.effects) or self.saveable(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
            if not saved:
                self.stage(eqn)
            self.write(eqn.outvars, [False] * results, [not saved] * results)

    def stage(self, eqn: JaxprEqn) -> None:
        for v in eqn.invars:
            self.need(v)
        self.staged.append(eqn)


def _spread(flags: Flags, count: int) -> tuple[bool, ...]:
    return (flags,) * count if isinstance(flags, bool) else tuple(flags)


def _where(items: Sequence[Any], flags: Sequence[bool], wanted: bool) -> list[Any]:
    return [x for x, flag in zip(items, flags, strict=True) if flag is wanted]
