"""`shard_map`: a program that each device of a mesh runs on its part of the operands; there is one device.

Its part of an array is the whole. What the program may ask for are the axes of the mesh, which have names and size 1:
each rule traces with the names bound, and the equation is computed as the program mapped over them.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import WithPrograms, drop, keep, merge, run_body
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis, binding
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.arithmetic import div
from tinytrace.primitives.broadcasting import broadcast, squeeze
from tinytrace.primitives.collectives import psum
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.shaping import reshape
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace, partial_eval_jaxpr
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.transpose import transpose_jaxpr
from tinytrace.transforms.vmap import batch_jaxpr_axes, run_batched
from tinytrace.util import cache_by_jaxpr


class AxisNames(dict[int, tuple[Any, ...]]):
    """For each axis of an array that is cut, the axes of the mesh along which it is: `{0: ('i',)}`."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def behind(self, dim: int | None) -> AxisNames:
        """Return the names when the array has one more axis, `dim`."""
        return AxisNames({axis + (dim is not None and dim <= axis): names for axis, names in self.items()})

    def unmentioned(self, mesh: Any) -> list[Any]:
        """Return the axes of the mesh along which the array is not cut."""
        mentioned = {name for names in self.values() for name in names}
        return [name for name in mesh.axis_names if name not in mentioned]


def axes_of(mesh: Any) -> tuple[Axis, ...]:
    """Return the axes of a mesh as named axes."""
    return tuple(Axis(size, name) for name, size in mesh.shape_tuple)


def binding_axes(mesh: Any) -> contextlib.AbstractContextManager[None]:
    """Bind the names of the axes of a mesh for what is traced inside the block."""
    return binding(*axes_of(mesh))


class ShardMap(WithPrograms):
    """`b = shard_map[in_names=({0: ('i',)},) jaxpr={...} mesh=Mesh('i': 1) out_names=({},) ...] a`."""

    name = "shard_map"
    multiple_results = True
    compiled_eagerly = True

    def binds(self, params: dict[str, Any]) -> Sequence[Any]:
        return tuple(params["mesh"].axis_names)

    def effects(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return jaxpr.out_avals

    def impl(self, *args: Any, jaxpr: ClosedJaxpr, mesh: Any, **params: Any) -> list[Any]:
        return run_body(_on_one_device(jaxpr, axes_of(mesh)), args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, mesh: Any,
            in_names: Sequence[AxisNames], out_names: Sequence[AxisNames], **params: Any) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents]
        with binding_axes(mesh):
            jvp, out_moving = jvp_jaxpr(jaxpr, moving, False)
        outs = self.bind(*primals, *keep(tangents, moving), jaxpr=jvp, mesh=mesh,
                         in_names=(*in_names, *keep(in_names, moving)),
                         out_names=(*out_names, *keep(out_names, out_moving)), **params)
        primals_out = outs[:len(out_moving)]
        zeros = map(Zero.from_primal_value, drop(primals_out, out_moving))
        return primals_out, merge(out_moving, zeros, outs[len(out_moving):])

    def partial_eval(self, trace: JaxprTrace, args: Sequence[Any], *, jaxpr: ClosedJaxpr, mesh: Any,
                     in_names: Sequence[AxisNames], out_names: Sequence[AxisNames], check_rep: bool,
                     **params: Any) -> Any:
        """Residuals lie along axis 0, cut along all axes of the mesh: those without an axis get one."""
        unknown = [not trace.is_known(x) for x in args]
        with binding_axes(mesh):
            known, rest, out_unknown, res_avals = partial_eval_jaxpr(jaxpr, unknown, False)
            known = _with_axes(known, len(known.out_avals) - len(res_avals), res_avals)
            rest = _without_axes(rest, res_avals)
        residual_names = (AxisNames({0: tuple(mesh.axis_names)}),) * len(res_avals)
        params = {**params, "mesh": mesh}
        outs = self.bind(*drop(args, unknown), jaxpr=known, in_names=tuple(drop(in_names, unknown)),
                         out_names=(*drop(out_names, out_unknown), *residual_names), check_rep=check_rep, **params)
        num_outs = len(out_unknown) - sum(out_unknown)
        unknown_outs = trace.record(
            self, [*map(trace.new_residual, outs[num_outs:]), *keep(args, unknown)],
            {**params, "jaxpr": rest, "in_names": (*residual_names, *keep(in_names, unknown)),
             "out_names": tuple(keep(out_names, out_unknown)), "check_rep": False})
        return merge(out_unknown, outs[:num_outs], unknown_outs)

    def transpose(self, cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, mesh: Any, in_names: Sequence[AxisNames],
                  out_names: Sequence[AxisNames], rewrite: bool, **params: Any) -> Sequence[Any]:
        """Without the rewriting nobody knows what is shared: a cotangent is a part, and parts are added up."""
        linear = [is_undefined_primal(x) for x in args]
        nonzero = [type(ct) is not Zero for ct in cts]
        operands = keep(cts, nonzero)
        with binding_axes(mesh):
            transposed, received = _transposed(jaxpr, tuple(linear), tuple(nonzero))
            if not rewrite:
                transposed = _summed(transposed, [names.unmentioned(mesh) for names in keep(in_names, received)])
        if not rewrite:
            sizes = [np.prod([mesh.shape[name] for name in names.unmentioned(mesh)])
                     for names in keep(out_names, nonzero)]
            operands = [ct if size == 1 else div(ct, const_like(ct, size))
                        for ct, size in zip(operands, sizes, strict=True)]
        outs = self.bind(*operands, *drop(args, linear), jaxpr=transposed, mesh=mesh,
                         in_names=(*keep(out_names, nonzero), *drop(in_names, linear)),
                         out_names=tuple(keep(in_names, received)), rewrite=rewrite, **params)
        return merge(received, [None] * (len(args) - sum(received)), outs)

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ClosedJaxpr,
                    mesh: Any, in_names: Sequence[AxisNames], out_names: Sequence[AxisNames],
                    **params: Any) -> tuple[Any, Any]:
        with binding_axes(mesh):
            batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims)
        outs = self.bind(*args, jaxpr=batched, mesh=mesh,
                         in_names=tuple(names.behind(dim) for names, dim in zip(in_names, dims, strict=True)),
                         out_names=tuple(names.behind(dim) for names, dim in zip(out_names, out_dims, strict=True)),
                         **params)
        return outs, out_dims

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr,
              mesh: Any, **params: Any) -> Kind:
        return Call(_on_one_device(jaxpr, axes_of(mesh)))


@cache_by_jaxpr
def _on_one_device(closed: ClosedJaxpr, axes: tuple[Axis, ...]) -> ClosedJaxpr:
    """Return the program without the names: mapped over the axes, of one element each, the first of them outermost."""

    def over(rest: Sequence[Axis], args: Sequence[Any]) -> list[Any]:
        if not rest:
            return list(jaxpr_as_fun(closed)(*args))
        outs, dims = run_batched(lambda *xs: over(rest[1:], xs), rest[0], object(), args, [None] * len(args))
        return [x if dim is None else squeeze(x, (dim,)) for x, dim in zip(outs, dims, strict=True)]

    return trace_to_closed_jaxpr(lambda *args: over(axes, args), closed.in_avals)


def _transposed(closed: ClosedJaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
                ) -> tuple[ClosedJaxpr, list[bool]]:
    """Return the program from (cotangents, known operands) to the cotangents of the others, and which receive one."""
    known, rest, unknown, res_avals = partial_eval_jaxpr(closed, linear, False)
    seen, first = keep(nonzero, unknown), len(unknown) - sum(unknown)
    transposed, received = transpose_jaxpr(rest, [False] * len(res_avals) + [True] * sum(linear), seen)
    of_cts = [is_unknown for is_unknown, flag in zip(unknown, nonzero, strict=True) if flag]  # of others for nothing
    of_linear = received[len(res_avals):]

    def program(*args: Any) -> list[Any]:
        cts = [ct for ct, flag in zip(args, of_cts, strict=False) if flag]
        residuals = jaxpr_as_fun(known)(*args[sum(nonzero):])[first:]
        return list(jaxpr_as_fun(transposed)(*residuals, *cts)[sum(received) - sum(of_linear):])

    by_place = iter(of_linear)
    out_avals = keep(closed.out_avals, nonzero)
    return (trace_to_closed_jaxpr(program, [*(a.to_tangent_aval() for a in out_avals), *drop(closed.in_avals, linear)]),
            [flag and next(by_place) for flag in linear])


def _changed(closed: ClosedJaxpr, avals: Sequence[ShapedArray], before: Callable[[list[Any]], list[Any]],
             after: Callable[[list[Any]], list[Any]]) -> ClosedJaxpr:
    """Return the program of operands `avals` that changes these first and the results afterwards."""
    return trace_to_closed_jaxpr(lambda *args: after(list(jaxpr_as_fun(closed)(*before(list(args))))), avals)


def _with_axes(known: ClosedJaxpr, first: int, residuals: Sequence[ShapedArray]) -> ClosedJaxpr:
    if all(aval.shape for aval in residuals):
        return known
    return _changed(known, known.in_avals, lambda args: args, lambda outs: [
        *outs[:first], *(x if np.shape(x) else broadcast(x, (1,)) for x in outs[first:])])


def _without_axes(rest: ClosedJaxpr, residuals: Sequence[ShapedArray]) -> ClosedJaxpr:
    if all(aval.shape for aval in residuals):
        return rest
    avals = [aval if aval.shape else aval.update(shape=(1,)) for aval in residuals]
    return _changed(rest, [*avals, *rest.in_avals[len(avals):]], lambda args: [
        *(x if aval.shape else reshape(x, ()) for x, aval in zip(args, residuals, strict=False)),
        *args[len(avals):]], lambda outs: outs)


def _summed(closed: ClosedJaxpr, axes: Sequence[list[Any]]) -> ClosedJaxpr:
    return _changed(closed, closed.in_avals, lambda args: args, lambda outs: [
        psum(x, tuple(names)) for x, names in zip(outs, axes, strict=True)])


shard_map_p = ShardMap()
