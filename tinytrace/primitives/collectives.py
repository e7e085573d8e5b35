"""Collectives that reduce over a named axis (psum, pmax, pmin), and `axis_index`, the place along one.

A collective stands in a program only as long as the axis that it names is not mapped over. What takes it out is the
`vmap` (or the `pmap`) that binds the name: the rule for that axis, `batch_named`, makes of a `psum` over the name a sum
over the batched axis, which all elements share. With a mapped axis of another name the collective stays what it is, and
its operands are batched: that is the rule `batch`. Integers among the axes are axes of the operand itself, and are all
that is left when the program is compiled. Source: `jax.lax.psum` and its kin, JAX 0.4.35.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, dtype_of, is_weak
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis, as_names, axis_size, check_bound
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.tangents import Zero
from tinytrace.core.trace import Tracer
from tinytrace.core.trees import tree_flatten, tree_map
from tinytrace.primitives.broadcasting import Reducer, broadcast, reduce_sum, reduce_sum_p
from tinytrace.primitives.checks import canonicalize_axis
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import iota
from tinytrace.primitives.reduction import reduce_max_p, reduce_min_p
from tinytrace.primitives.shaping import NDArray, moveaxis

Groups = tuple[tuple[int, ...], ...] | None
NOT_YET_GONE = "vmap over the named axis takes it out of the program before it runs"


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the sum of each leaf of `x` over the axis, or the axes, of this name; all elements get the same.

    The sum of a number that does not depend on the axis is a number: `psum(1, "i")` is the size of the axis.

    Raises: NameError where no axis has the name.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.psum.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([1., 3.]))
    Array([0.25, 0.75], dtype=float32)
    """
    axes, groups = _axes_and_groups(axis_name, axis_index_groups)
    leaves, tree = tree_flatten(x)
    leaves = [convert_element_type(leaf, np.int32) if dtype_of(leaf) == np.bool_ else leaf for leaf in leaves]
    return tree.unflatten(psum_p.bind(*leaves, axes=tuple(axes), axis_index_groups=groups))


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the mean of each leaf of `x` over the named axis.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.pmean.html.
    """
    total = psum(x, axis_name=axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name=axis_name, axis_index_groups=axis_index_groups)
    return tree_map(lambda leaf: leaf / count, total)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the largest element of each leaf of `x` over the named axis.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.pmax.html.
    """
    axes, groups = _axes_and_groups(axis_name, axis_index_groups)
    leaves, tree = tree_flatten(x)
    return tree.unflatten(pmax_p.bind(*leaves, axes=axes, axis_index_groups=groups))


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the smallest element of each leaf of `x` over the named axis.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.pmin.html.
    """
    axes, groups = _axes_and_groups(axis_name, axis_index_groups)
    leaves, tree = tree_flatten(x)
    return tree.unflatten(pmin_p.bind(*leaves, axes=axes, axis_index_groups=groups))


def axis_index(axis_name: Any) -> Any:
    """Return the place along the named axis, from 0; of several axes the last one runs fastest.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.axis_index.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.vmap(lambda x: x + 10 * jax.lax.axis_index("i"), axis_name="i")(jnp.zeros(3, int))
    Array([ 0, 10, 20], dtype=int32)
    """
    return axis_index_p.bind(axis_name=axis_name)


def groups_as_tuples(axis_index_groups: Any) -> Groups:
    """Return groups of places along an axis as they stand in parameters."""
    return None if axis_index_groups is None else tuple(map(tuple, axis_index_groups))


def refuse_groups(groups: Groups, axis: Axis, message: str) -> None:
    """Raise NotImplementedError, as JAX does under vmap, unless the only group is the axis of one element."""
    if groups is not None and (axis.size, groups) != (1, ((0,),)):
        raise NotImplementedError(message)


def _axes_and_groups(axis_name: Any, axis_index_groups: Any) -> tuple[Any, Groups]:
    axes = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    if axis_index_groups is not None:
        if any(isinstance(axis, int) for axis in axes):
            raise ValueError("axis_index_groups only supported for sums over just named axes")
        if {i for group in axis_index_groups for i in group} != set(range(sum(map(len, axis_index_groups)))):
            raise ValueError("axis_index_groups must cover all indices exactly once")
    return axes, groups_as_tuples(axis_index_groups)


class Collective(Primitive):
    """An operation over named axes: those in the parameter `over`."""

    over = "axis_name"
    composite = True

    def axis_names(self, params: dict[str, Any]) -> tuple[Any, ...]:
        return as_names(params[self.over])

    def bind(self, *args: Any, **params: Any) -> Any:
        check_bound(self.axis_names(params))
        return super().bind(*args, **params)

    def batch_along(self, axis: Axis, args: Any, dims: Any, **params: Any) -> Any:
        if axis.has_name and axis.name in self.axis_names(params):
            return self.batch_named(axis, args, dims, **params)
        return self.batch(args, dims, **params)

    def batch_named(self, axis: Axis, *args: Any, **params: Any) -> Any:
        """Answer as `batch` does, for the axis that the operation names."""
        raise NotImplementedError(self.name)


class AllReduce(Collective):
    """`b = psum[axes=('i', 0) axis_index_groups=None] a: f32[n, m]` is f32[m]: folded over named and own axes."""

    multiple_results = True
    over = "axes"

    def __init__(self, name: str, reducer: Reducer, shared: Callable[[Any, int], Any]) -> None:
        self.reducer, self.shared = reducer, shared
        super().__init__(name)

    def abstract_eval(self, *avals: ShapedArray, axes: Sequence[Any], axis_index_groups: Groups) -> list[ShapedArray]:
        own = _own(axes)
        if axis_index_groups is not None and own:
            raise ValueError(f"axis_index_groups can only be used with reductions over named axes, but got: {axes}")
        return [self.reducer.abstract_eval(aval, axes=own).update(weak_type=False) if own
                else aval.update(weak_type=False) for aval in avals]

    def impl(self, *args: NDArray, axes: Sequence[Any], axis_index_groups: Groups) -> list[NDArray]:
        check_bound(as_names(axes))
        return [self.reducer.impl(x, axes=_own(axes)) if axes else x for x in args]

    jvp = refuse("JAX has none, for it would need the place of the extreme element")
    transpose = refuse("it is not linear")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, axes: Sequence[Any],
              axis_index_groups: Groups) -> tuple[Any, Any]:
        if not _own(axes):
            return self.bind(*args, axes=axes, axis_index_groups=axis_index_groups), dims
        _refuse_groups_in_vmap(axis_index_groups, Axis(0))
        shifted = tuple(axis + 1 if isinstance(axis, int) else axis for axis in axes)
        outs = self._reduced(args, dims, tuple(axes), shifted)
        return outs, [None if dim is None else 0 for dim in dims]

    def batch_named(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    axes: Sequence[Any], axis_index_groups: Groups) -> tuple[Any, Any]:
        _refuse_groups_in_vmap(axis_index_groups, axis)
        args = [self.shared(x, axis.size) if dim is None else x for x, dim in zip(args, dims, strict=True)]
        rest = tuple(other for other in axes if other != axis.name)
        here = tuple(other + 1 if isinstance(other, int) else 0 if other == axis.name else other for other in axes)
        return self._reduced(args, dims, rest, here), [None] * len(args)

    def _reduced(self, args: Sequence[Any], dims: Sequence[int | None], axes_of_shared: tuple[Any, ...],
                 axes_of_mapped: tuple[Any, ...]) -> list[Any]:
        """Reduce what all elements share over some axes, and batches, their axes in front, over others."""
        outs: list[Any] = [None] * len(args)
        for axes, places in ((axes_of_shared, [i for i, dim in enumerate(dims) if dim is None]),
                             (axes_of_mapped, [i for i, dim in enumerate(dims) if dim is not None])):
            operands = [moveaxis(args[i], dims[i], 0) if dims[i] else args[i] for i in places]  # type: ignore[arg-type]
            if places:
                reduced = self.bind(*operands, axes=axes, axis_index_groups=None)
                for i, x in zip(places, reduced, strict=True):
                    outs[i] = x
        return outs

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, axes: Sequence[Any],
              axis_index_groups: Groups) -> Kind:
        check_bound(as_names(axes))
        operands = [Var(aval) for aval in in_avals]
        results: list[Atom] = [Var(aval) for aval in out_avals] if axes else list(operands)
        eqns = [JaxprEqn([x], [y], self.reducer, {"axes": _own(axes)})  # type: ignore[list-item]
                for x, y in zip(operands, results, strict=True)] if axes else []
        return Call(ClosedJaxpr(Jaxpr([], operands, results, eqns), []))


class PSum(AllReduce):
    """The sum. Its derivative is itself; its transpose is itself, for every element's result counts every operand."""

    def bind(self, *args: Any, **params: Any) -> Any:
        """Sums of values that depend on no axis are computed where they stand: as often as there are elements."""
        if any(isinstance(x, Tracer) for x in args):
            return super().bind(*args, **params)
        axes, groups = params["axes"], params["axis_index_groups"]
        size = math.prod(map(axis_size, as_names(axes))) if groups is None else len(groups[0])
        return [_number_like(x, size) * self._over_own(x, _own(axes)) for x in args]

    @staticmethod
    def _over_own(x: Any, axes: tuple[int, ...]) -> Any:
        ndim = getattr(x, "ndim", 0)
        return reduce_sum(x, [canonicalize_axis(axis, ndim) for axis in axes]) if axes else x

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        outs = self.bind(*primals, **params)
        moving = [i for i, t in enumerate(tangents) if type(t) is not Zero or t.aval.dtype != FLOAT0]
        moved = self.bind(*[_instantiated(tangents[i]) for i in moving], **params)
        out_tangents = [Zero.from_primal_value(x) for x in outs]
        for i, t in zip(moving, moved, strict=True):
            out_tangents[i] = t
        return outs, out_tangents

    def transpose(self, cts: Sequence[Any], *args: Any, axes: Sequence[Any], axis_index_groups: Groups) -> list[Any]:
        own = _own(axes)
        if own:
            cts = [ct if type(ct) is Zero else reduce_sum_p.transpose(ct, x, axes=own)[0]
                   for ct, x in zip(cts, args, strict=True)]
        nonzero = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
        sums = self.bind(*[cts[i] for i in nonzero], axes=as_names(axes), axis_index_groups=axis_index_groups)
        found = dict(zip(nonzero, sums, strict=True))
        return [found.get(i) for i in range(len(args))]


class AxisIndex(Collective):
    """`a = axis_index[axis_name=i]` is i32[]: the place along the axis."""

    name = "axis_index"
    composite = False

    def bind(self, *args: Any, **params: Any) -> Any:
        """With several names it is a sum of products of the places along each axis."""
        axis_name = params["axis_name"]
        if not isinstance(axis_name, (tuple, list)):
            return super().bind(axis_name=axis_name)
        index, inner = 0, 1
        for name in reversed(axis_name):
            index += super().bind(axis_name=name) * inner
            inner *= axis_size(name)
        return index

    def abstract_eval(self, *, axis_name: Any) -> ShapedArray:
        check_bound([axis_name])
        return ShapedArray((), np.dtype(np.int32))

    impl = refuse(NOT_YET_GONE)
    jvp = refuse("it has no operands")
    transpose = refuse("it has no operands")
    batch = refuse("it has no operands, and is asked for by the axis that it names")

    def batch_named(self, axis: Axis, args: Any, dims: Any, **params: Any) -> tuple[Any, int]:
        return iota(np.int32, axis.size), 0

    lower = refuse(NOT_YET_GONE)


def _own(axes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(axis for axis in axes if isinstance(axis, int))


def _refuse_groups_in_vmap(groups: Groups, axis: Axis) -> None:
    refuse_groups(groups, axis, "axis_index_groups not supported in vmap collectives. Please open a feature request!")


def _number_like(x: Any, number: int) -> Any:
    """Return a number of the type of `x`: Python's, where `x` is one of these or weakly typed as they are."""
    dtype = np.dtype(dtype_of(x))
    if np.ndim(x) == 0 and is_weak(x):
        return {"f": float, "c": complex}.get(dtype.kind, int)(number)
    return np.array(number, dtype)


def _instantiated(tangent: Any) -> Any:
    if type(tangent) is not Zero:
        return tangent
    aval: ShapedArray = tangent.aval
    return broadcast(convert_element_type(0, aval.dtype, aval.weak_type), aval.shape)


psum_p = PSum("psum", reduce_sum_p, lambda x, size: size * x)
pmax_p = AllReduce("pmax", reduce_max_p, lambda x, size: x)
pmin_p = AllReduce("pmin", reduce_min_p, lambda x, size: x)
axis_index_p = AxisIndex()
