"""`xla_pmap`: a program that is mapped over devices, of which there is one. It is what `pmap` leaves in a jaxpr.

Its program may ask for the name of the axis of devices, which is why each rule traces with the name bound. On one
device the axis has one element, and mapping over it is what `vmap` does: that is how the equation is computed. So a
longer axis can be traced and transformed, and is refused when it is to be compiled.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.bodies import WithPrograms, drop, keep, merge, run_body
from tinytrace.control_flow.closed_call import call_param_updaters, updated
from tinytrace.core import views
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun, subjaxprs
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis, binding
from tinytrace.core.placements import placed_again
from tinytrace.core.primitive import registry
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.core.trace import current_trace, is_eager
from tinytrace.errors import too_few_devices
from tinytrace.primitives.broadcasting import squeeze
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace, partial_eval_jaxpr
from tinytrace.transforms.staging import hoist_consts, trace_to_closed_jaxpr, trace_to_jaxpr
from tinytrace.transforms.transpose import transpose_jaxpr
from tinytrace.transforms.vmap import batch_jaxpr_axes, move_dim, run_batched
from tinytrace.util import cache_by_jaxpr

Dims = Sequence[int | None]


class MapPrimitive(WithPrograms):
    """`b = xla_pmap[axis_name=i axis_size=1 call_jaxpr={...} in_axes=(0,) out_axes=(0,) ...] a: f32[1,n]`."""

    multiple_results = True
    map_primitive = True
    compiled_eagerly = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.run: Callable[..., Any] | None = None

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Let `impl(fun, *args, **params)` compute the map of a function outside of traces."""
        self.run = impl
        return impl

    def binds(self, params: dict[str, Any]) -> Sequence[Any]:
        return (params["axis_name"],)

    def bind(self, *args: Any, **params: Any) -> Any:
        """Without `call_jaxpr` the first operand is a `linear_util.WrappedFun`, to be traced at the types of elements.

        Then `out_axes_thunk` tells the axes of the results once it has been.
        """
        if "call_jaxpr" not in params:
            fun, *operands = args
            return current_trace().process_call(self, fun, operands, params)
        if not is_eager():
            return super().bind(*args, **params)
        check_devices(params["axis_size"], params["call_jaxpr"], params.get("devices"))
        place = views.sharding.PmapSharding.of_result
        return [placed_again(x, place(x.ndim, axis))
                for x, axis in zip(super().bind(*args, **params), params["out_axes"], strict=True)]

    def bind_function(self, fun: Any, *args: Any, out_axes_thunk: Callable[[], Dims], **params: Any) -> Any:
        """Apply the map of a function: run it as `def_impl` says, else leave the equation of its jaxpr behind."""
        if is_eager() and self.run is not None:
            return self.run(fun, *args, out_axes_thunk=out_axes_thunk, **params)
        in_axes = params.pop("in_axes")
        avals = [_element(aval_of(x), axis) for x, axis in zip(args, in_axes, strict=True)]
        with binding(_axis(params)):
            jaxpr, consts = trace_to_jaxpr(fun.call_wrapped, avals)
        flags = params.pop("donated_invars", (False,) * len(args))
        params |= {"call_jaxpr": ClosedJaxpr(hoist_consts(jaxpr), ()), "in_axes": (*[None] * len(consts), *in_axes),
                   "out_axes": tuple(out_axes_thunk()), "donated_invars": (*[False] * len(consts), *flags)}
        return self.bind(*consts, *args,
                         **updated(call_param_updaters, self, params, [True] * len(args), len(consts)))

    def post_process(self, trace: Any, out_tracers: Sequence[Any], params: dict[str, Any]) -> Any:
        """Let a trace take results apart that a mapped function closes over."""
        return trace.post_process_map(self, out_tracers, params)

    def effects(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return call_jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr, axis_size: int, out_axes: Dims,
                      **params: Any) -> list[ShapedArray]:
        return [aval if axis is None else aval.update(shape=(*aval.shape[:axis], axis_size, *aval.shape[axis:]))
                for aval, axis in zip(call_jaxpr.out_avals, out_axes, strict=True)]

    def impl(self, *args: Any, **params: Any) -> list[Any]:
        return run_body(_over_one_device(params), args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, call_jaxpr: ClosedJaxpr, in_axes: Dims,
            out_axes: Dims, donated_invars: Sequence[bool], **params: Any) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents]
        with binding(_axis(params)):
            jvp, out_moving = jvp_jaxpr(call_jaxpr, moving, False)
        outs = self.bind(*primals, *keep(tangents, moving), call_jaxpr=jvp,
                         in_axes=(*in_axes, *keep(in_axes, moving)), out_axes=(*out_axes, *keep(out_axes, out_moving)),
                         donated_invars=(*donated_invars, *keep(donated_invars, moving)), **params)
        primals_out = outs[:len(out_moving)]
        zeros = map(Zero.from_primal_value, drop(primals_out, out_moving))
        return primals_out, merge(out_moving, zeros, outs[len(out_moving):])

    def partial_eval(self, trace: JaxprTrace, args: Sequence[Any], *, call_jaxpr: ClosedJaxpr, in_axes: Dims,
                     out_axes: Dims, donated_invars: Sequence[bool], **params: Any) -> Any:
        """Residuals lie along axis 0 of the devices, on the way out of the known half and into the unknown one."""
        unknown = [not trace.is_known(x) for x in args]
        with binding(_axis(params)):
            known, rest, out_unknown, res_avals = partial_eval_jaxpr(call_jaxpr, unknown, False)
        residual_axes = (0,) * len(res_avals)
        outs = self.bind(*drop(args, unknown), call_jaxpr=known, in_axes=tuple(drop(in_axes, unknown)),
                         out_axes=(*drop(out_axes, out_unknown), *residual_axes),
                         donated_invars=tuple(drop(donated_invars, unknown)), **params)
        num_outs = len(out_unknown) - sum(out_unknown)
        unknown_outs = trace.record(
            self, [*map(trace.new_residual, outs[num_outs:]), *keep(args, unknown)],
            {**params, "call_jaxpr": rest, "in_axes": (*residual_axes, *keep(in_axes, unknown)),
             "out_axes": tuple(keep(out_axes, out_unknown)),
             "donated_invars": (*[False] * len(residual_axes), *keep(donated_invars, unknown))})
        return merge(out_unknown, outs[:num_outs], unknown_outs)

    def transpose(self, cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, in_axes: Dims, out_axes: Dims,
                  donated_invars: Sequence[bool], name: str, **params: Any) -> Sequence[Any]:
        """Add the cotangents of all devices up for an operand that they share."""
        linear = [is_undefined_primal(x) for x in args]
        nonzero = [type(ct) is not Zero for ct in cts]
        with binding(_axis(params)):
            transposed, received = transpose_jaxpr(call_jaxpr, linear, nonzero)
        operands = [*drop(args, linear), *keep(cts, nonzero)]
        axes = keep(in_axes, received)
        outs = self.bind(*operands, call_jaxpr=transposed,
                         in_axes=(*drop(in_axes, linear), *keep(out_axes, nonzero)),
                         out_axes=tuple(axis or 0 for axis in axes), donated_invars=(False,) * len(operands),
                         name=f"transpose({name})", **params)
        outs = [ct.sum(0) if axis is None else ct for ct, axis in zip(outs, axes, strict=True)]
        return merge(received, [None] * (len(args) - sum(received)), outs)

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Dims, *, call_jaxpr: ClosedJaxpr, in_axes: Dims,
                    out_axes: Dims, **params: Any) -> tuple[Any, Any]:
        """Batch the program: two axes of one array, that of the batch and that of the devices, make room for another.
        """
        inner = [_taken_out(dim, device) for dim, device in zip(dims, in_axes, strict=True)]
        with binding(_axis(params)):
            batched, out_dims = batch_jaxpr_axes(call_jaxpr, axis, inner)
        outs = self.bind(*args, call_jaxpr=batched, in_axes=tuple(
            _put_in(device, dim, after=True) for device, dim in zip(in_axes, dims, strict=True)), out_axes=tuple(
            _put_in(device, dim) for device, dim in zip(out_axes, out_dims, strict=True)), **params)
        return outs, [_put_in(dim, device, after=True) for dim, device in zip(out_dims, out_axes, strict=True)]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return Call(_over_one_device(params))


def check_devices(size: int, program: ClosedJaxpr, devices: Sequence[Any] | None) -> None:
    """Raise ValueError, as JAX does where a mapped function is called, when there are not as many devices as it needs.

    These are as many as its axis has elements, each as many as functions mapped in it need.
    """
    needed, given = size * _replicas(program.jaxpr), 1 if devices is None else len(devices)
    if needed == given:
        return
    if devices is None:
        raise ValueError(f"compiling computation that requires {needed} logical devices, but only 1 XLA devices are "
                         f"available (num_replicas={needed})")
    shown = ", ".join(map(str, devices))
    if needed == size:
        raise ValueError("Leading axis size of input to pmapped function must equal the number of local devices passed "
                         f"to pmap. Got axis_size={size}, num_local_devices={given}.\n(Local devices available to "
                         f"pmap: {shown})")
    raise ValueError(f"pmapped function requires {needed} local devices to run due to nested pmapped or other parallel "
                     f"functions, but only {given} are available.\n(outer axis size: {size}, local devices available "
                     f"to pmap: {shown})")


def _replicas(jaxpr: Jaxpr) -> int:
    found = [1]
    for eqn in jaxpr.eqns:
        is_map = eqn.primitive is xla_pmap_p
        if is_map and eqn.params["devices"] is not None:
            raise ValueError("Nested pmap with explicit devices argument.")
        found += [(eqn.params["axis_size"] if is_map else 1) * _replicas(inner) for inner in subjaxprs(eqn.params)]
    return max(found)


def _axis(params: dict[str, Any]) -> Axis:
    return Axis(params["axis_size"], params["axis_name"])


def _element(aval: ShapedArray, axis: int | None) -> ShapedArray:
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1:]))


def _taken_out(dim: int | None, other: int | None) -> int | None:
    """Return where axis `dim` is once axis `other` is gone."""
    return dim if dim is None or other is None or dim <= other else dim - 1


def _put_in(dim: int | None, other: int | None, after: bool = False) -> int | None:
    """Return where axis `dim` is once axis `other` is there; `after`: also when both are said to be at one place."""
    if dim is None or other is None:
        return dim
    return dim + 1 if other < dim or (after and other == dim) else dim


def _over_one_device(params: dict[str, Any]) -> ClosedJaxpr:
    """Return the program of an equation without the name: mapped, as by `vmap`, over its axis of one element.

    Raises: ValueError, as in JAX, when the axis has more elements than there are devices.
    """
    size = params["axis_size"]
    if size != 1:
        raise too_few_devices(size, params["name"])
    return _mapped(params["call_jaxpr"], _axis(params), tuple(params["in_axes"]), tuple(params["out_axes"]))


@cache_by_jaxpr
def _mapped(closed: ClosedJaxpr, axis: Axis, in_axes: Dims, out_axes: Dims) -> ClosedJaxpr:
    def mapped(*args: Any) -> list[Any]:
        outs, dims = run_batched(jaxpr_as_fun(closed), axis, object(), args, in_axes)
        return [_moved(x, dim, wanted) for x, dim, wanted in zip(outs, dims, out_axes, strict=True)]

    in_avals = [aval if dim is None else aval.update(shape=(*aval.shape[:dim], axis.size, *aval.shape[dim:]))
                for aval, dim in zip(closed.in_avals, in_axes, strict=True)]
    return trace_to_closed_jaxpr(mapped, in_avals)


def _moved(x: Any, dim: int | None, wanted: int | None) -> Any:
    if wanted is None:
        return x if dim is None else squeeze(x, (dim,))
    return move_dim(x, 1, dim, wanted)


xla_pmap_p = registry["xla_pmap"] = MapPrimitive("xla_pmap")
