"""`jax.pmap`: a function mapped over devices, of which there is one: over an axis of size 1.

In a program it is the equation `xla_pmap`, as in JAX; on one device that is `vmap` over the axis. Longer axes are
traced, and refused in JAX's words where they would be computed.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.jit import jit
from tinytrace.api.signatures import debug_info, function_name, not_an_array, signature_of
from tinytrace.api.traced_calls import check_output
from tinytrace.api.vmapping import mapped_size
from tinytrace.api_util import donation_vector
from tinytrace.control_flow.effects import ordered_effects
from tinytrace.control_flow.xla_pmap import check_devices, xla_pmap_p
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, abstract_type_of, is_valid_type
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.named_axes import Axis, TemporaryName, binding
from tinytrace.core.placements import placed_again
from tinytrace.core.trace import Tracer, is_eager
from tinytrace.core.tree_paths import broadcast_prefix, prefix_errors
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinytrace.numpy import asarray, stack
from tinytrace.pmap_sharding import PmapSharding
from tinytrace.records import NamedTuple
from tinytrace.tracebacks import api_boundary
from tinytrace.transforms.staging import hoist_consts, trace_to_jaxpr


def pmap(fun: Callable[..., Any], axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Sequence[int] = (), devices: Any = None, backend: str | None = None,
         axis_size: int | None = None, donate_argnums: int | Sequence[int] = (),
         global_arg_shapes: Any = None) -> PmapFunction:
    """Return `fun` mapped over the devices: each argument has an axis of their number, which is 1.

    Collectives in `fun`, such as `lax.psum`, call the axis `axis_name`.

    Raises, when it is called: ValueError for a longer axis.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.pmap.html.

    >>> import numpy as np
    >>> pmap(lambda x: 2 * x)(np.float32([[1, 2]]))
    Array([[2., 4.]], dtype=float32)
    >>> pmap(lambda x: 2 * x)(np.float32([1, 2]))
    Traceback (most recent call last):
    ValueError: compiling computation that requires 2 logical devices, but only 1 XLA devices are available ...
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(leaf) is not int for leaf in tree_leaves(axes)):
            raise TypeError(f"pmap {name} must be an int, None, or (nested) container with those types as leaves, but "
                            f"got {axes}.")
    options = _Options(TemporaryName() if axis_name is None else axis_name, axis_size, in_axes, out_axes,
                       _as_tuple(static_broadcasted_argnums), _as_tuple(donate_argnums), backend,
                       devices if devices is None else tuple(devices))
    return PmapFunction(fun, options)


_ABOUT_KEYWORDS = (
    "\n\nWhen some arguments are passed by keyword to the pmapped function, they are not included in the comparison to "
    "`in_axes`. Instead, each argument passed by keyword is mapped over its leading axis. See the description of "
    "`in_axes` in the `pmap` docstring: https://jax.readthedocs.io/en/latest/_autosummary/jax.pmap.html#jax.pmap")


def _as_tuple(numbers: int | Sequence[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


class _Options(NamedTuple):
    """What was asked of `pmap`."""

    axis_name: Any
    axis_size: int | None
    in_axes: Any
    out_axes: Any
    statics: tuple[int, ...]
    donated: tuple[int, ...]
    backend: str | None
    devices: tuple[Any, ...] | None


class PmapFunction:
    """What `pmap` returns."""

    def __init__(self, fun: Callable[..., Any], options: _Options) -> None:
        functools.update_wrapper(self, fun, updated=())
        self._fun, self._options = fun, options
        self._jitted = jit(self._run, static_argnums=options.statics)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._fun)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check(args)
        return self._run_eagerly(args, kwargs) if is_eager() else self._bind(args, kwargs, runs=False)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Return the program before it is compiled, as `jit(f).lower` does."""
        self._check(args)
        return self._jitted.lower(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        self._jitted.clear_cache()

    def __repr__(self) -> str:
        return f"<PmapFunction object at {id(self):#x}>"

    def _check(self, args: Sequence[Any]) -> None:
        devices, statics = self._options.devices, self._options.statics
        if devices is not None and not devices:
            raise ValueError("'devices' argument to pmap must be non-empty, or None.")
        if statics and max(statics) >= len(args):
            raise ValueError(f"pmapped function has static_broadcasted_argnums={statics} but was called with only "
                             f"{len(args)} positional argument{'s' if len(args) > 1 else ''}. All static broadcasted "
                             "arguments must be passed positionally.")

    def _run_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results, axes = self._jitted(*args, **kwargs), self._options.out_axes
        if type(axes) is int:
            return _along_devices(results, axes)
        leaves, tree = tree_flatten(results)
        return tree_unflatten(tree, list(map(_along_devices, leaves, self._flat_out_axes(tree))))

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return self._bind(args, kwargs, runs=True)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any], runs: bool) -> Any:
        """Leave the equation behind: trace the function of one element with the name of the axis bound."""
        options = self._options
        dynamic = tuple(x for k, x in enumerate(args) if k not in options.statics)
        leaves, in_tree = tree_flatten((dynamic, kwargs))
        in_axes = self._flat_in_axes(len(args), dynamic, kwargs)
        size = mapped_size("pmap", self._fun, dynamic, kwargs, leaves, in_axes)
        if options.axis_size is not None and options.axis_size != size:
            raise ValueError(f"Specified axis_size {options.axis_size} doesn't match received axis_size {size}.")
        with binding(Axis(size, options.axis_name)):
            closed, consts, out_tree = self._traced(args, kwargs, leaves, in_tree, in_axes)
        ordered = ordered_effects.filter_in(closed.effects)
        if ordered:
            raise ValueError("Ordered effects not supported in `pmap`." if runs else
                             f"Ordered effects not supported for map primitives: {ordered}")
        if runs:
            check_devices(size, closed, options.devices)
        flags = donation_vector(options.donated, (), in_tree)
        outs = xla_pmap_p.bind(
            *consts, *leaves, axis_name=options.axis_name, axis_size=size, backend=options.backend, call_jaxpr=closed,
            devices=options.devices, donated_invars=((False,) * len(consts) + flags), global_axis_size=size,
            in_axes=((None,) * len(consts) + tuple(in_axes)), name=function_name(self._fun),
            is_explicit_global_axis_size=options.axis_size is not None,
            out_axes=tuple(_inside(aval, axis) for aval, axis in zip(
                closed.out_avals, self._flat_out_axes(out_tree), strict=True)))
        return tree_unflatten(out_tree, outs)

    def _flat_in_axes(self, count: int, dynamic: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
        axes = self._options.in_axes
        if isinstance(axes, tuple) and len(axes) == count:
            axes = tuple(axis for k, axis in enumerate(axes) if k not in self._options.statics)
        try:
            return broadcast_prefix((axes, 0), (dynamic, kwargs), is_leaf=lambda x: x is None)
        except ValueError:
            error, *_ = prefix_errors((axes, 0), (dynamic, kwargs))
            raise ValueError(
                f"{error('pmap in_axes')}\n\nThe 'full pytree' here is the tuple of arguments passed positionally to "
                "the pmapped function, and the value of `in_axes` must be a tree prefix of that tuple. But it was not "
                f"a prefix.{_ABOUT_KEYWORDS if kwargs else ''}\n\n"
                "Check that the value of the `in_axes` argument to `pmap` is a tree prefix of the tuple "
                "of arguments passed positionally to the pmapped function.") from None

    def _flat_out_axes(self, out_tree: PyTreeDef) -> list[int | None]:
        outs = tree_unflatten(out_tree, [0] * out_tree.num_leaves)
        try:
            return broadcast_prefix(self._options.out_axes, outs, is_leaf=lambda x: x is None)
        except ValueError:
            error, *_ = prefix_errors(self._options.out_axes, outs)
            raise ValueError(
                f"{error('pmap out_axes')}\n\nThe full pytree is the output of the pmapped function. Ensure that the "
                "`out_axes` argument to `pmap` is a pytree prefix of the pmapped function's output.") from None

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], in_tree: PyTreeDef,
                in_axes: Sequence[int | None]) -> tuple[ClosedJaxpr, list[Any], PyTreeDef]:
        out_tree: list[PyTreeDef] = []

        def flat_fun(*elements: Any) -> list[Any]:
            positional, keyword = tree_unflatten(in_tree, elements)
            rest = iter(positional)
            complete = [x if k in self._options.statics else next(rest) for k, x in enumerate(args)]
            outs, tree = tree_flatten(self._fun(*complete, **keyword))
            for out in outs:
                check_output(out)
            out_tree.append(tree)
            return outs

        info = debug_info(self._fun, "pmap", signature_of(self._fun), args, kwargs)
        avals = [_element(self._type_of(x), axis) for x, axis in zip(leaves, in_axes, strict=True)]
        jaxpr, consts = trace_to_jaxpr(flat_fun, avals, info)
        return ClosedJaxpr(hoist_consts(jaxpr), ()), consts, out_tree[0]

    def _type_of(self, x: Any) -> ShapedArray:
        if not is_valid_type(x):
            raise not_an_array(self._fun, x, None)
        return abstract_type_of(x)


def _element(aval: ShapedArray, axis: int | None) -> ShapedArray:
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], *aval.shape[axis:][1:]))


def _inside(aval: ShapedArray, axis: int | None) -> int | None:
    """Return where the axis of devices lies in an array of such elements, counted from the front."""
    if axis is not None and not -aval.ndim - 1 <= axis <= aval.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {aval.ndim + 1}")
    return axis if axis is None else axis % (aval.ndim + 1)


def device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """Return a tree of arrays with an axis of the devices in front, along which they are repeated: of size 1.

    >>> import numpy as np
    >>> device_put_replicated(np.float32([1, 2]), [None])
    Array([[1., 2.]], dtype=float32)
    """
    _check_devices(devices)
    return _along_devices(tree_map(lambda leaf: asarray(leaf)[None], x), 0)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Return trees of arrays, one for each device, as one with an axis of the devices in front.

    Raises: ValueError when there is not one tree for each device.
    """
    _check_devices(devices)
    if len(shards) != len(devices):
        raise ValueError(f"len(shards) = {len(shards)} must equal len(devices) = {len(devices)}.")
    return _along_devices(tree_map(lambda *leaves: stack(leaves), *shards), 0)


def _along_devices(x: Any, axis: int | None) -> Any:
    """Return a tree of arrays that say in their `sharding` that this axis of theirs lies along the devices."""
    if isinstance(x, Array):
        return placed_again(x, PmapSharding.of_result(len(x.aval.shape), axis))
    return x if isinstance(x, Tracer) else tree_map(lambda leaf: _along_devices(leaf, axis), x)


def _check_devices(devices: Sequence[Any]) -> None:
    if len(devices) != 1:
        raise ValueError(f"{len(devices)} devices: there is one, jax.devices()[0]")
