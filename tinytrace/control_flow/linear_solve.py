"""`custom_linear_solve`: a linear equation, solved by a program of the user's and differentiated as an equation.

With A x = b, solve finds x, and no derivative looks into how it does: A dx = db - dA x is another such equation, and
transposing it solves with the transpose of A. So the equation carries four programs: x -> A x, x -> A^T x, and the
solvers of both.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import WithPrograms, either, run_body, split
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, UnusedVar, eval_jaxpr, jaxpr_as_fun
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis
from tinytrace.core.primitive import param_type
from tinytrace.core.tangents import Zero
from tinytrace.core.trace import is_eager
from tinytrace.primitives.broadcasting import repeat_along
from tinytrace.primitives.elementwise import neg
from tinytrace.primitives.shaping import moveaxis
from tinytrace.records import NamedTuple
from tinytrace.transforms.jvp import jvp
from tinytrace.transforms.vmap import batch_jaxpr
from tinytrace.transforms.zeros import add_tangents


@param_type
class _LinearSolveTuple(NamedTuple):
    """One thing for each of the four programs. The name is what a jaxpr prints."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self) -> _LinearSolveTuple:
        return _LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


class LinearSolve(WithPrograms):
    """`x = custom_linear_solve[const_lengths=... jaxprs=...] *consts *b`: solve with `jaxprs.solve`."""

    name = "custom_linear_solve"
    multiple_results = True

    def bind(self, *args: Any, **params: Any) -> Any:
        if is_eager():
            solve, used = _solver(args, **params)
            return eval_jaxpr(solve.jaxpr, solve.consts, *used)
        return super().bind(*args, **params)

    def abstract_eval(self, *avals: ShapedArray, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
                      ) -> list[ShapedArray]:
        aux = jaxprs.solve.out_avals[len(jaxprs.matvec.out_avals):]
        return [*avals[sum(const_lengths):], *aux]

    def impl(self, *args: Any, **params: Any) -> list[Any]:
        return run_body(*_solver(args, **params))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        x = self.bind(*primals, **params)
        matvec_jaxpr = params["jaxprs"].matvec
        consts, _ = _split(primals, params["const_lengths"])
        const_tangents, rhs = _split(tangents, params["const_lengths"])
        size = len(rhs)
        if any(type(t) is not Zero for t in const_tangents.matvec):
            still = [Zero.from_primal_value(y) for y in x[:size]]
            _, moved, _ = jvp(jaxpr_as_fun(matvec_jaxpr), [*consts.matvec, *x[:size]],
                              [*const_tangents.matvec, *still])
            rhs = [add_tangents(t, neg(m)) for t, m in zip(rhs, moved, strict=True)]
        x_dot = self.bind(*_flat(consts), *rhs, **params)
        return x, [*x_dot[:size], *map(Zero.from_primal_value, x_dot[size:])]

    def transpose(self, cts: Sequence[Any], *args: Any, const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
                  ) -> Sequence[Any]:
        if jaxprs.transpose_solve is None:
            raise TypeError("transpose_solve required for backwards mode automatic differentiation of "
                            "custom_linear_solve")
        consts, b = _split(args, const_lengths)
        outs = self.bind(*_flat(consts.transpose()), *cts[:len(b)], const_lengths=const_lengths.transpose(),
                         jaxprs=jaxprs.transpose())
        return [None] * sum(const_lengths) + list(outs[:len(b)])

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple) -> tuple[Any, Any]:
        batched = [dim is not None for dim in dims]
        consts, b = _split([x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(args, dims, strict=True)],
                           const_lengths)
        const_batched, b_was = _split(batched, const_lengths)
        jaxprs, b_batched, x_batched = _batch_programs(jaxprs, axis, const_batched, b_was)
        b = [repeat_along(x, axis.size, 0) if now and not before else x
             for x, before, now in zip(b, b_was, b_batched, strict=True)]
        outs = self.bind(*_flat(consts), *b, const_lengths=const_lengths, jaxprs=jaxprs)
        return outs, [0 if is_batched else None for is_batched in x_batched]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple) -> Kind:
        solve: ClosedJaxpr = jaxprs.solve
        before, used = sum(const_lengths[:2]), const_lengths.solve
        ignored = [UnusedVar(aval) for aval in in_avals[:before]]
        also_ignored = [UnusedVar(aval) for aval in in_avals[before + used:sum(const_lengths)]]
        invars = solve.jaxpr.invars
        return Call(ClosedJaxpr(solve.jaxpr.replace(
            invars=[*ignored, *invars[:used], *also_ignored, *invars[used:]], debug_info=None), solve.consts))


linear_solve_p = LinearSolve()


def _split(args: Sequence[Any], const_lengths: _LinearSolveTuple) -> tuple[_LinearSolveTuple, list[Any]]:
    *consts, b = split(args, *const_lengths)
    return _LinearSolveTuple(*consts), b


def _flat(groups: _LinearSolveTuple) -> list[Any]:
    return [x for group in groups for x in group]


def _solver(args: Sequence[Any], const_lengths: _LinearSolveTuple, jaxprs: _LinearSolveTuple
            ) -> tuple[ClosedJaxpr, list[Any]]:
    """Return the program that finds x, and its arguments."""
    consts, b = _split(args, const_lengths)
    return jaxprs.solve, [*consts.solve, *b]


def _batch_programs(jaxprs: _LinearSolveTuple, axis: Axis, const_batched: _LinearSolveTuple, b_was: list[bool]
                    ) -> tuple[_LinearSolveTuple, list[bool], list[bool]]:
    """Vectorize all four; which parts of b and x are batched is found by going around until nothing changes."""
    matvec, vecmat, solve, transpose_solve = jaxprs
    num_x = len(matvec.out_avals)
    num_aux = len(solve.out_avals) - num_x
    b_batched, x_batched = b_was, [False] * (num_x + num_aux)
    while True:
        solve_new, solved = batch_jaxpr(solve, axis, const_batched.solve + b_batched, x_batched)
        vecmat_new, x_new = None, solved
        if vecmat is not None:
            vecmat_new, there = batch_jaxpr(vecmat, axis, const_batched.vecmat + b_batched, b_batched)
            x_new = either(there + [True] * num_aux, solved)
        matvec_new, back = batch_jaxpr(matvec, axis, const_batched.matvec + x_new[:num_x], b_batched)
        transpose_solve_new, b_new = None, either(back, b_was)
        if transpose_solve is not None:
            transpose_solve_new, there = batch_jaxpr(transpose_solve, axis,
                                                     const_batched.transpose_solve + x_new[:num_x], x_new)
            b_new = either(b_new, there[:num_x])
        if (x_new, b_new) == (x_batched, b_batched):
            return _LinearSolveTuple(matvec_new, vecmat_new, solve_new, transpose_solve_new), b_batched, solved
        x_batched, b_batched = x_new, b_new
