"""Ragged arrays for `vmap`: a `Jumble` is a batch of arrays whose sizes differ, padded, and the sizes.

    lengths = lax.convert_element_type(jnp.array([3, 1, 4]), bint(5))
    rows = jax.vmap(lambda n: jnp.arange(n, dtype="int32"), out_axes=batching.jumble_axis)(lengths)
    jax.vmap(jnp.sum, in_axes=batching.jumble_axis, axis_size=3)(rows)                # 3, 0, 6

`vmap` maps over one, and makes one, where `jumble_axis` stands for an axis; what happens to an element is told in
`transforms.ragged`. What lies in the padding of `data` means nothing.
Source: `jax.interpreters.batching` of JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import INT32
from tinytrace.core.jaxpr import Var
from tinytrace.core.tree_registry import register_pytree_node
from tinytrace.extend.bounded_sizes import DArray, bint
from tinytrace.extend.sized_types import DShapedArray
from tinytrace.records import NamedTuple, dataclass, replace
from tinytrace.transforms import vmappable
from tinytrace.transforms.ragged import Result, Size, Sizes, ragged_outputs


@dataclass(frozen=True)
class JumbleTy:
    """The type of a jumble, `binder:length => elt_ty`: what the elements are, by their number `binder`."""

    binder: Var
    length: int
    elt_ty: Any

    def __repr__(self) -> str:
        return f"Var{id(self.binder)}:{self.length} => {self.elt_ty}"

    replace = replace


@dataclass(frozen=True)
class IndexedAxisSize:
    """The size of an axis of element number `idx`: that of `lengths`, a `DArray`."""

    idx: Var
    lengths: Any

    def __repr__(self) -> str:
        return f"{self.lengths}.Var{id(self.idx)}"

    replace = replace


@dataclass(frozen=True)
class Jumble:
    """A batch of arrays whose sizes differ: its type, and the elements, padded, along axis 0 of `data`."""

    aval: JumbleTy
    data: Any


class JumbleAxis:
    """What `jumble_axis` is."""


jumble_axis = JumbleAxis()
"""What stands in `in_axes` and `out_axes` of `vmap` for a jumble."""


class RaggedAxis(NamedTuple):
    """Where the elements of a jumble lie in its data: along `stacked_axis`; and axes with their lengths."""

    stacked_axis: int
    ragged_axes: tuple[tuple[int, Any], ...]

    @property
    def size(self) -> int:
        """How many elements there are."""
        return len(self.ragged_axes[0][1])

    def move_stacked_axis(self, dst: int) -> RaggedAxis:
        """Return this with the elements along axis `dst`.

        >>> RaggedAxis(0, ((2, "sizes"),)).move_stacked_axis(2)
        RaggedAxis(stacked_axis=2, ragged_axes=((1, 'sizes'),))
        """
        def moved(axis: int) -> int:
            return axis + (self.stacked_axis > axis >= dst) - (self.stacked_axis < axis <= dst)

        return RaggedAxis(dst, tuple((moved(axis), sizes) for axis, sizes in self.ragged_axes))


# --- as trees: the lengths, and the data -----------------------------------------------------------------------------

def _flatten(jumble: Jumble) -> tuple[tuple[list[Any], Any], JumbleTy]:
    lengths: list[Any] = []
    shape: list[Any] = []
    for d in jumble.aval.elt_ty.shape:
        if isinstance(d, IndexedAxisSize):
            lengths.append(d.lengths)
            d = d.replace(lengths=len(lengths))
        shape.append(d)
    return (lengths, jumble.data), jumble.aval.replace(elt_ty=jumble.aval.elt_ty.update(shape=tuple(shape)))


def _unflatten(aval: JumbleTy, children: Any) -> Jumble:
    lengths, data = children
    shape = tuple(d.replace(lengths=lengths[d.lengths - 1]) if isinstance(d, IndexedAxisSize) else d
                  for d in aval.elt_ty.shape)
    return Jumble(aval.replace(elt_ty=aval.elt_ty.update(shape=shape)), data)


register_pytree_node(Jumble, _flatten, _unflatten)


# --- for vmap --------------------------------------------------------------------------------------------------------

class _Element(NamedTuple):
    """An element of a jumble, padded, and the sizes of its ragged axes."""

    val: Any
    sizes: Sizes


def _element_of_jumble(cont: Callable[..., Any], get_idx: Any, x: Jumble, spec: Any) -> _Element:
    if spec is not jumble_axis:
        raise TypeError("jumble input without using jumble_axis in_axes spec")
    sizes = {axis: _element_of_sizes(cont, get_idx, d.lengths, 0) for axis, d in enumerate(x.aval.elt_ty.shape)
             if isinstance(d, IndexedAxisSize)}
    return _Element(cont(x.data, 0), sizes)


def _element_of_sizes(cont: Callable[..., Any], get_idx: Any, x: DArray, spec: int) -> Size:
    if x.ndim != 1:
        raise TypeError(f"vmap maps over sizes that are one row, got {x}: an element of it is no size")
    return _made_of(cont, x)


def _made_of(cont: Callable[..., Any], x: DArray) -> Size:
    """Return the size that is an element of `x`, always the same one in a trace: two axes of that size are as long."""
    trace = cont.args[0]  # type: ignore[attr-defined]
    known: dict[int, Any] = trace.memo.setdefault(Size, {})
    if id(x.data) not in known:
        known[id(x.data)] = x, Size(cont(x.data, 0), x.dtype.bound)
    return known[id(x.data)][1]  # type: ignore[no-any-return]


def _batch_of_element(cont: Callable[..., Any], axis_size: int, x: _Element, spec: Any) -> Jumble:
    if spec is not jumble_axis:
        raise TypeError("ragged output without using jumble_axis out_axes spec")
    binder, aval = Var(ShapedArray((), INT32)), aval_of(x.val)
    shape = tuple(IndexedAxisSize(binder, _batch_of_size(cont, axis_size, x.sizes[axis], 0)) if axis in x.sizes else d
                  for axis, d in enumerate(aval.shape))
    elt_ty = DShapedArray(shape, aval.dtype, aval.weak_type)
    return Jumble(JumbleTy(binder, axis_size, elt_ty), cont(axis_size, x.val, 0))


def _batch_of_size(cont: Callable[..., Any], axis_size: int, x: Size, spec: Any) -> DArray:
    return DArray(bint(x.bound), cont(axis_size, x.length, spec))


def _batch_of_array(cont: Callable[..., Any], axis_size: int, x: Any, spec: Any) -> Jumble:
    """Return a jumble of arrays that have one size."""
    data = cont(axis_size, x, 0)
    elements = aval_of(data)
    aval = elements.update(shape=elements.shape[1:])
    return Jumble(JumbleTy(Var(ShapedArray((), INT32)), axis_size, aval), data)


def _run(fun: Callable[..., Sequence[Any]], elements: Sequence[Any]) -> list[Any]:
    """Call a function of elements, some of which are ragged."""
    outs: list[Result] = ragged_outputs(fun, [x if isinstance(x, _Element) else (x, {}) for x in elements])
    return [_Element(*x) if x[1] else x[0] for x in outs]


def _register() -> None:
    vmappable.register_vmappable(Jumble, JumbleAxis, int, _element_of_jumble, _batch_of_element, None)
    vmappable.register_vmappable(DArray, int, int, _element_of_sizes, _batch_of_size, None)
    vmappable.from_elt_handlers.update({_Element: _batch_of_element, Size: _batch_of_size,
                                        JumbleAxis: _batch_of_array})
    vmappable.element_runners.update({_Element: _run, Size: _run})


_register()
