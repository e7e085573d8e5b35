"""Collectives that move elements along a named axis: ppermute, pbroadcast, all_gather, all_to_all, psum_scatter.

Under the `vmap` that binds the name each is a rearrangement of the batch: a permutation is a gather, a gathered axis
is the batch axis as an axis of the array. See `collectives.py` for what all collectives have in common.
Source: `jax.lax.all_gather` and its kin, JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import dtype_of, is_weak
from tinytrace.core.named_axes import Axis, as_names
from tinytrace.core.primitive import refuse
from tinytrace.core.trees import tree_map
from tinytrace.primitives.broadcasting import broadcast, broadcast_in_dim, expand_dims, reduce_sum, squeeze
from tinytrace.primitives.checks import canonicalize_axis, inserted
from tinytrace.primitives.collectives import (
    NOT_YET_GONE,
    Collective,
    Groups,
    axis_index,
    groups_as_tuples,
    psum,
    refuse_groups,
)
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import full_like
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import moveaxis, transpose

Batched = tuple[Any, int | None]


def ppermute(x: Any, axis_name: Any, perm: Any) -> Any:
    """Return each leaf of `x` sent along the named axis: `perm` is a list of pairs (from which place, to which place).

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.ppermute.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(jnp.arange(3.0))
    Array([2., 0., 1.], dtype=float32)
    """
    pairs = tuple(map(tuple, perm))
    return tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=axis_name, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Return each leaf of `x` rearranged along the named axis: place `i` gets what stood at `perm[i]`.

    Raises: ValueError when `perm` is no permutation.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.pshuffle.html.
    """
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Return each leaf of `x` as it is at place `source` of the named axis."""
    return tree_map(lambda leaf: pbroadcast_p.bind(leaf, axis_name=axis_name, source=source), x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swap the named axis with axis `axis` of each leaf of `x`, which has the same size.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.pswapaxes.html.
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None,
               tiled: bool = False) -> Any:
    """Make the named axis an axis of each leaf of `x`, at `concat_axis`, and map over its axis `split_axis` instead.

    Raises: ValueError when `split_axis` has not the size of the named axis, or with `tiled` no multiple of it.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.all_to_all.html.
    """
    groups = groups_as_tuples(axis_index_groups)
    return tree_map(lambda leaf: _all_to_all(leaf, axis_name, split_axis, concat_axis, groups, tiled), x)


def _all_to_all(x: Any, axis_name: Any, split: int, concat: int, groups: Groups, tiled: bool) -> Any:
    size = psum(1, axis_name, axis_index_groups=groups)
    if tiled:
        if x.shape[split] % size != 0:
            raise ValueError(f"The size of all_to_all split_axis ({x.shape[split]}) has to be divisible by the size of "
                             f"the named axis {axis_name} ({size})")
    elif size != x.shape[split]:
        raise ValueError("all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but "
                         f"they are {size} and {x.shape[split]} respectively.")
    elif split < concat:
        concat += 1  # where it is once the axis that is split is gone
        x = expand_dims(x, (concat,))
    elif concat < split:
        x = expand_dims(x, (concat,))
        split += 1
    out = all_to_all_p.bind(x, split_axis=split, concat_axis=concat, axis_name=axis_name, axis_index_groups=groups,
                            tiled=tiled)
    return out if tiled or split == concat else squeeze(out, (split,))


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False) -> Any:
    """Return what each leaf of `x` is at all places of the named axis, along a new axis `axis` (`tiled`: one that is).

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.all_gather.html.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.all_gather(x, "i"), axis_name="i")(jnp.arange(2.0))
    Array([[0., 1.],
           [0., 1.]], dtype=float32)
    """
    groups = groups_as_tuples(axis_index_groups)
    size = psum(1, axis_name, axis_index_groups=groups)
    return tree_map(lambda leaf: all_gather_p.bind(
        leaf, all_gather_dimension=canonicalize_axis(axis, np.ndim(leaf) + (not tiled)), axis_name=axis_name,
        axis_index_groups=groups, axis_size=size, tiled=tiled), x)


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None,
                 tiled: bool = False) -> Any:
    """Return the sum over the named axis, of which place `i` keeps only the part at `i` along `scatter_dimension`.

    Raises: ValueError when that axis has not the size of the named one, or with `tiled` no multiple of it.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.psum_scatter.html.
    """
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)
    groups = groups_as_tuples(axis_index_groups)
    return tree_map(lambda leaf: reduce_scatter_p.bind(
        leaf, axis_name=axis_name, scatter_dimension=scatter_dimension, axis_index_groups=groups, axis_size=size,
        tiled=tiled), x)


# --- rooms -----------------------------------------------------------------------------------------------------

class Move(Collective):
    """The family: one operand, in which it is linear; nothing is left of it when the program is compiled."""

    impl = refuse(NOT_YET_GONE)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(*tangents, **params)

    lower = refuse(NOT_YET_GONE)


class PPermute(Move):
    """`b = ppermute[axis_name=i perm=((0, 1), (1, 0))] a` has the type of a: its elements change places along i."""

    name = "ppermute"

    def abstract_eval(self, x: ShapedArray, **params: Any) -> ShapedArray:
        return x

    def transpose(self, ct: Any, x: Any, *, axis_name: Any, perm: Any) -> list[Any]:
        return [ppermute(ct, axis_name, [(target, source) for source, target in perm])]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Batched:
        return self.bind(*args, **params), dims[0]

    def batch_named(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    axis_name: Any, perm: Any) -> Batched:
        (x,), (dim,), rest = args, dims, _others(axis_name, axis)
        if rest and axis.size == 1:
            return self.bind(x, perm=perm, axis_name=rest), dim
        if rest:
            raise NotImplementedError("ppermute batcher only supports a single axis")
        if len(perm) != axis.size:
            raise AssertionError("Permutation doesn't match the axis size!")
        if dim is None:
            return x, dim
        sources = np.zeros(axis.size, int)
        for source, target in perm:
            sources[target] = source
        return x.take(sources, dim), dim


class PBroadcast(Move):
    """`b = pbroadcast[axis_name=i source=0] a` has the type of a: everybody gets the a of one place."""

    name = "pbroadcast"

    def abstract_eval(self, x: ShapedArray, **params: Any) -> ShapedArray:
        return x

    def transpose(self, ct: Any, x: Any, *, axis_name: Any, source: int) -> list[Any]:
        is_source = axis_index(axis_name) == source
        total = convert_element_type(psum(ct, axis_name), dtype_of(ct), is_weak(ct))
        return [select(is_source, total, full_like(ct, 0))]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Batched:
        return self.bind(*args, **params), dims[0]

    def batch_named(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    axis_name: Any, source: int) -> Batched:
        (x,), (dim,) = args, dims
        if _others(axis_name, axis):
            raise NotImplementedError("pbroadcast batcher only supports a single axis")
        if not 0 <= source < axis.size:
            raise AssertionError("collective broadcast doesn't fit in the axis size!")
        return (x, dim) if dim is None else (x.take(np.full(axis.size, source), dim), dim)


class AllGather(Move):
    """`b = all_gather[all_gather_dimension=0 axis_name=i axis_size=4 ...] a: f32[n]` is f32[4,n]."""

    name = "all_gather"

    def abstract_eval(self, x: ShapedArray, *, all_gather_dimension: int, axis_name: Any, axis_index_groups: Groups,
                      axis_size: int, tiled: bool) -> ShapedArray:
        sizes = list(x.shape)
        if tiled:
            sizes[all_gather_dimension] *= axis_size
        else:
            sizes.insert(all_gather_dimension, axis_size)
        return x.update(shape=tuple(sizes))

    def transpose(self, ct: Any, x: Any, *, all_gather_dimension: int, axis_name: Any, axis_index_groups: Groups,
                  axis_size: int, tiled: bool) -> list[Any]:
        return [psum_scatter(ct, axis_name, scatter_dimension=all_gather_dimension,
                             axis_index_groups=axis_index_groups, tiled=tiled)]

    def batch(self, args: Sequence[Any], dims: Sequence[Any], *, all_gather_dimension: int, tiled: bool,
              **params: Any) -> Batched:
        (x,), (dim,) = args, dims
        if dim <= all_gather_dimension:
            all_gather_dimension += 1
        elif not tiled:
            dim += 1
        return self.bind(x, all_gather_dimension=all_gather_dimension, tiled=tiled, **params), dim

    def batch_named(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    all_gather_dimension: int, axis_name: Any, axis_index_groups: Groups, axis_size: int,
                    tiled: bool) -> Batched:
        _check_whole(axis, axis_name, axis_index_groups, axis_size)
        (x,), (dim,) = args, dims
        if dim is None:
            shape = inserted(np.shape(x), all_gather_dimension, axis_size)
            own = [i for i in range(len(shape)) if i != all_gather_dimension]
            out = broadcast_in_dim(x, shape, own)
        else:
            out = moveaxis(x, dim, all_gather_dimension)
        return (_joined(out, all_gather_dimension) if tiled else out), None


class ReduceScatter(Move):
    """`b = reduce_scatter[scatter_dimension=0 axis_name=i axis_size=4 ...] a: f32[4,n]` is f32[n]: part of a sum."""

    name = "reduce_scatter"

    def abstract_eval(self, x: ShapedArray, *, axis_name: Any, scatter_dimension: int, axis_index_groups: Groups,
                      axis_size: int, tiled: bool) -> ShapedArray:
        sizes, size = list(x.shape), x.shape[scatter_dimension]
        if tiled:
            if size % axis_size:
                raise ValueError(f"tiled reduce_scatter operand scatter dimension size {size} must be divisible by "
                                 f"shard_count {axis_size}")
            sizes[scatter_dimension] = size // axis_size
        else:
            if size != axis_size:
                raise ValueError(f"reduce_scatter operand scatter dimension size {size} must match shard count "
                                 f"{axis_size}")
            del sizes[scatter_dimension]
        return x.update(shape=tuple(sizes))

    def transpose(self, ct: Any, x: Any, *, axis_name: Any, scatter_dimension: int, axis_index_groups: Groups,
                  axis_size: int, tiled: bool) -> list[Any]:
        return [all_gather(ct, axis_name, axis_index_groups=axis_index_groups, axis=scatter_dimension, tiled=tiled)]

    def batch(self, args: Sequence[Any], dims: Sequence[Any], *, scatter_dimension: int, tiled: bool,
              **params: Any) -> Batched:
        (x,), (dim,) = args, dims
        if dim <= scatter_dimension:
            scatter_dimension += 1
        elif not tiled:
            dim -= 1  # an axis before it is taken away (JAX 0.4.35 adds 1, and fails)
        return self.bind(x, scatter_dimension=scatter_dimension, tiled=tiled, **params), dim

    def batch_named(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    axis_name: Any, scatter_dimension: int, axis_index_groups: Groups, axis_size: int,
                    tiled: bool) -> Batched:
        _check_whole(axis, axis_name, axis_index_groups, axis_size)
        (x,), (dim,) = args, dims
        total = x * axis_size if dim is None else reduce_sum(x, (dim,))
        return (_cut(total, scatter_dimension, axis_size) if tiled else total), scatter_dimension


class AllToAll(Move):
    """`b = all_to_all[split_axis=0 concat_axis=1 axis_name=i ...] a: f32[4,n]` is f32[1,4*n] over an axis of size 4."""

    name = "all_to_all"

    def abstract_eval(self, x: ShapedArray, *, axis_name: Any, split_axis: int, concat_axis: int,
                      axis_index_groups: Groups, tiled: bool) -> ShapedArray:
        size = psum(1, axis_name) if axis_index_groups is None else len(axis_index_groups[0])
        sizes = list(x.shape)
        assert sizes[split_axis] % size == 0, (sizes[split_axis], size)
        sizes[split_axis] //= size
        sizes[concat_axis] *= size
        return x.update(shape=tuple(sizes), weak_type=False)

    def transpose(self, ct: Any, x: Any, *, axis_name: Any, split_axis: int, concat_axis: int,
                  axis_index_groups: Groups, tiled: bool) -> list[Any]:
        return [self.bind(ct, axis_name=axis_name, split_axis=concat_axis, concat_axis=split_axis,
                          axis_index_groups=axis_index_groups, tiled=tiled)]

    def batch(self, args: Sequence[Any], dims: Sequence[Any], *, split_axis: int, concat_axis: int,
              **params: Any) -> Batched:
        (x,), (dim,) = args, dims
        return self.bind(x, split_axis=split_axis + (dim <= split_axis), concat_axis=concat_axis + (dim <= concat_axis),
                         **params), dim

    def batch_named(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *,
                    axis_name: Any, split_axis: int, concat_axis: int, axis_index_groups: Groups,
                    tiled: bool) -> Batched:
        refuse_groups(axis_index_groups, axis, "Please open a feature request!")
        (x,), (dim,) = args, dims
        if dim is None:
            x, dim = broadcast(x, (axis.size,)), 0
        names = as_names(axis_name)
        place = names.index(axis.name)
        if len(names) > 1:
            return self._one_of_several(axis, x, dim, names[:place], names[place + 1:], split_axis, concat_axis, tiled)
        if split_axis != concat_axis:
            joined = _joined(moveaxis(x, dim, concat_axis), concat_axis)
            return _cut(joined, split_axis, axis.size), split_axis
        cut = split_axis + (dim <= split_axis)
        x = _cut(x, cut, axis.size)
        inner = dim + (cut <= dim)
        return _joined(_swapped(x, inner, cut), cut), dim

    def _one_of_several(self, axis: Axis, x: Any, dim: int, major: Any, minor: Any, split: int, concat: int,
                        tiled: bool) -> Batched:
        """Split along an axis that stands between others: the parts are collected in three axes in front."""
        x = expand_dims(moveaxis(x, dim, 0), (0, 2))
        split, concat = split + 3, concat + 3
        params = {"axis_index_groups": None, "tiled": tiled}
        if major:
            x = self.bind(x, axis_name=major, split_axis=split, concat_axis=0, **params)
        x = _cut(x, split, axis.size)
        mapped = split
        concat += split <= concat
        split += 1
        if minor:
            x = self.bind(x, axis_name=minor, split_axis=split, concat_axis=2, **params)
        x = _joined(_joined(x, 0), 0)
        x = _joined(moveaxis(x, 0, concat - 3), concat - 3)
        return x, mapped - 3


def _others(axis_name: Any, axis: Axis) -> tuple[Any, ...]:
    return tuple(name for name in as_names(axis_name) if name != axis.name)


def _check_whole(axis: Axis, axis_name: Any, groups: Groups, size: int) -> None:
    """Raise NotImplementedError unless the axis is the only one, and not in groups."""
    refuse_groups(groups, axis, "axis_index_groups not supported in vmap")
    if _others(axis_name, axis):
        raise NotImplementedError(f"all_gather and psum_scatter work over one axis under vmap, not over {axis_name} "
                                  f"with {size} elements: apply them over one name after the other")


def _cut(x: Any, axis: int, parts: int) -> Any:
    """Return `x` with an axis cut into parts, along an axis of their own in front of it."""
    shape = np.shape(x)
    if shape[axis] % parts:
        raise ValueError(f"axis {axis} of {shape} is to be cut into {parts} parts: its size must be a multiple of that")
    return x.reshape(*shape[:axis], parts, shape[axis] // parts, *shape[axis + 1:])


def _joined(x: Any, axis: int) -> Any:
    """Return `x` with an axis and the next one as one."""
    shape = np.shape(x)
    return x.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:])


def _swapped(x: Any, one: int, other: int) -> Any:
    order = list(range(np.ndim(x)))
    order[one], order[other] = order[other], order[one]
    return transpose(x, order)


ppermute_p = PPermute()
pbroadcast_p = PBroadcast()
all_gather_p = AllGather()
reduce_scatter_p = ReduceScatter()
all_to_all_p = AllToAll()
