"""Axes whose size differs from element to element: what `vmap` maps over ragged arrays.

Sizes are numbers when a program is traced, so an element is padded to the bound of its sizes, and a `RaggedTracer`
knows which of its axes are ragged, and the true `Size` of each. An operation goes to a rule, which computes on the
padded element in the trace below (that of a `vmap`, which knows nothing of this) and says what sizes the result has.
What folds an axis away sees what changes nothing in the padding. A primitive without a rule refuses.

Source: the rules for `RaggedAxis` in `jax.interpreters.batching` of JAX 0.4.35.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, VaryingSize, aval_of
from tinytrace.core.dtypes import FLOAT0, INT32, is_inexact
from tinytrace.core.monoids import identity
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import SymbolicZero
from tinytrace.core.trace import Trace, Tracer, current_trace, set_current_trace
from tinytrace.primitives.argminmax import ArgReducer
from tinytrace.primitives.broadcasting import Reducer, broadcast_in_dim
from tinytrace.primitives.comparison import lt
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import broadcasted_iota, full
from tinytrace.primitives.cumulative import Cumulative
from tinytrace.primitives.elementwise import Elementwise
from tinytrace.primitives.select import select
from tinytrace.transforms.scope import running
from tinytrace.util import unzip

Sizes = Mapping[int, "Size"]
"""By axis: its size, where that is no number."""
Result = tuple[Any, Sizes]
_DENSE: Sizes = {}


class Size(VaryingSize):
    """The size of an axis of one element: the number `length`, from 0 to `bound`; what is computed with it is an array.

    As the size that it is, it equals itself alone, and no number: it differs from element to element.
    """

    def __init__(self, length: Any, bound: int) -> None:
        self.length, self.bound = length, bound

    def __jax_array__(self) -> Any:
        return self.length

    def __index__(self) -> int:
        raise TypeError("the size of a ragged axis is no integer that Python could use: it differs from element to "
                        f"element of the batch, up to {self.bound}")

    def __lt__(self, other: Any) -> Any:
        return self._answer(other, lambda number: self.bound < number, lambda number: number <= 0, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._answer(other, lambda number: self.bound <= number, lambda number: number < 0, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._answer(other, lambda number: number < 0, lambda number: self.bound <= number, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._answer(other, lambda number: number <= 0, lambda number: self.bound < number, "__ge__")

    def _answer(self, other: Any, yes: Callable[[int], bool], no: Callable[[int], bool], compare: str) -> Any:
        """Compare with what is the same for all lengths, where it is; else by the length."""
        if type(other) is int and (yes(other) or no(other)):
            return yes(other)
        if other is self:
            return compare in ("__le__", "__ge__")
        return getattr(self.length, compare)(other.length if isinstance(other, Size) else other)

    @staticmethod
    def array_type(shape: tuple[Any, ...], dtype: Any, weak_type: bool = False) -> ShapedArray:
        """Return the type of an array with such sizes."""
        return RaggedArray(shape, dtype, weak_type)

    def __repr__(self) -> str:
        return "[dynamic]"


def _of_length(name: str) -> Callable[..., Any]:
    return lambda self, *others: getattr(self.length, name)(*others)


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod",
              "rmod", "pow", "rpow", "neg"):
    setattr(Size, f"__{_name}__", _of_length(f"__{_name}__"))


class RaggedArray(ShapedArray):
    """The type of an element with ragged axes: its shape has `Size`s in it. Types of this kind are not remembered."""

    __slots__ = ()

    def __new__(cls, shape: tuple[Any, ...], dtype: Any, weak_type: bool = False) -> ShapedArray:  # type: ignore[misc]
        if not any(isinstance(d, Size) for d in shape):
            return ShapedArray(shape, dtype, weak_type)
        aval = object.__new__(cls)
        for name, value in (("shape", shape), ("dtype", dtype), ("weak_type", weak_type)):
            object.__setattr__(aval, name, value)
        return aval

    def update(self, shape: tuple[Any, ...] | None = None, dtype: Any = None,
               weak_type: bool | None = None) -> ShapedArray:
        """Return this type with some fields replaced."""
        return RaggedArray(self.shape if shape is None else shape, self.dtype if dtype is None else dtype,
                           self.weak_type if weak_type is None else weak_type)

    def strip_weak_type(self) -> ShapedArray:
        return self.update(weak_type=False)

    def to_tangent_aval(self) -> ShapedArray:
        return self if is_inexact(self.dtype) else self.update(dtype=FLOAT0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedArray) and (self.shape, self.dtype, self.weak_type) == (
            other.shape, other.dtype, other.weak_type)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))


class RaggedTracer(Tracer):
    """One element with ragged axes: `val`, padded, and the `sizes` of those axes."""

    __slots__ = ("sizes", "val")

    def __init__(self, trace: RaggedTrace, val: Any, sizes: Sizes) -> None:
        super().__init__(trace)
        self.val, self.sizes = val, sizes

    @property
    def aval(self) -> ShapedArray:
        aval = aval_of(self.val)
        return RaggedArray(_with_sizes(aval.shape, self.sizes), aval.dtype, aval.weak_type)

    def _contents(self) -> list[tuple[str, Any]]:
        return [("val", self.val), ("sizes", dict(self.sizes))]


class RaggedTrace(Trace):
    """The trace of a function of elements with ragged axes."""

    name = "RaggedTrace"
    inlines_calls = property(lambda self: True)  # a program is traced for sizes that are numbers

    def __init__(self, parent: Trace, tag: object = None) -> None:
        self.parent: Trace = parent
        self._tag = tag or object()

    @property
    def tag(self) -> object:
        return self._tag

    def join(self, val: Any, sizes: Sizes) -> Any:
        """Return the element: a plain value where no axis is ragged."""
        return RaggedTracer(self, val, sizes) if sizes else val

    def split(self, x: Any) -> Result:
        """Return the padded element and the sizes of its ragged axes."""
        if isinstance(x, RaggedTracer) and x._trace.tag is self._tag:
            return x.val, x.sizes
        return (x.length if isinstance(x, Size) else x), {}

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        vals, sizes = unzip(map(self.split, args))
        with set_current_trace(self.parent):
            if not any(sizes) and not any(_varies(value) for value in params.values()):
                return primitive.bind(*vals, **params)
            out, out_sizes = _rule_of(primitive)(primitive, vals, sizes, **params)
        return self.join(out, out_sizes)

    def process_custom_jvp_call(self, primitive: Primitive, fun: Callable[..., Any], jvp: Callable[..., Any],
                                args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Let the trace below choose between the function and its rule, both of padded elements."""
        vals, sizes = unzip(map(self.split, args))
        fun, jvp = _OnPadded(self, fun, lambda: sizes), _OnPadded(self, jvp, lambda: sizes * 2)
        outs = self.parent.process_custom_jvp_call(primitive, fun, jvp, vals, params)
        return list(map(self.join, outs, fun.out_sizes or jvp.out_sizes[:len(outs)]))

    def process_custom_vjp_call(self, primitive: Primitive, fun: Callable[..., Any], fwd: Callable[..., Any],
                                bwd: Callable[..., Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Let the trace below choose between the function and its two rules, all of padded elements."""
        vals, sizes = unzip(map(self.split, args))
        fun = _OnPadded(self, fun, lambda: sizes)
        fwd = _OnPadded(self, fwd, lambda: [s for own in sizes for s in (own, _DENSE)])
        bwd = _OnPadded(self, bwd, lambda: fwd.out_sizes)
        outs = self.parent.process_custom_vjp_call(primitive, fun, fwd, bwd, vals, params)
        return list(map(self.join, outs, fun.out_sizes or fwd.out_sizes[-len(outs):]))


class _OnPadded:
    """A function of elements as one of padded elements, over whichever trace it is called; keeps the sizes of results.
    """

    def __init__(self, trace: RaggedTrace, fun: Callable[..., Any], in_sizes: Callable[[], Sequence[Sizes]]) -> None:
        self.trace, self.fun, self.in_sizes = trace, fun, in_sizes
        self.out_sizes: list[Sizes] = []

    def __call__(self, *vals: Any) -> list[Any]:
        trace = RaggedTrace(current_trace(), self.trace.tag)
        with running(trace):
            outs = self.fun(*[x if isinstance(x, SymbolicZero) else trace.join(x, sizes)
                              for x, sizes in zip(vals, self.in_sizes(), strict=True)])
            vals_out, self.out_sizes = unzip(map(trace.split, outs))
        return vals_out


def ragged_outputs(fun: Callable[..., Sequence[Any]], elements: Sequence[Result]) -> list[Result]:
    """Return what a function of elements answers, padded, and the sizes of the ragged axes of each result."""
    trace = RaggedTrace(current_trace())
    with running(trace):
        outs = fun(*[trace.join(x, sizes) for x, sizes in elements])
        return [(x, {}) if isinstance(x, Size) else trace.split(x) for x in outs]


# --- the rules: (primitive, padded operands, their sizes, **params) -> (padded result, its sizes) -------------------

def _rule_of(primitive: Primitive) -> Callable[..., Result]:
    rule = ragged_rules.get(primitive.name)
    if rule is not None:
        return rule
    found = next((rule for family, rule in _FAMILIES if isinstance(primitive, family)), None)
    if found is None:
        raise NotImplementedError(
            f"'{primitive.name}' cannot be applied along ragged axes, whose sizes differ from element to element: what "
            "can is elementwise, or moves, repeats, adds or folds axes away, or multiplies matrices. Pad to one size "
            "and mask by the lengths instead.")
    return found


def _elementwise(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], **params: Any) -> Result:
    shapes = [_with_sizes(np.shape(x), s) for x, s in zip(vals, sizes, strict=True)]
    ndim, out = max(map(len, shapes)), []
    for axis in range(ndim):
        distinct = {shape[axis] for shape in shapes if len(shape) == ndim} - {1}
        if len(distinct) > 1:
            texts = ", ".join(map(str, shapes))
            raise TypeError(f"{primitive.name} got incompatible shapes for broadcasting: {texts}.")
        out.append(distinct.pop() if distinct else 1)
    return primitive.bind(*vals, **params), _sizes_in(out)


def _iota(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, shape: Sequence[Any],
          **params: Any) -> Result:
    return primitive.bind(shape=_padded(shape), **params), _sizes_in(shape)


def _broadcast_in_dim(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, shape: Sequence[Any],
                      broadcast_dimensions: Sequence[int]) -> Result:
    (x,), (own,) = vals, sizes
    given = _with_sizes(np.shape(x), own)
    if any(d not in (1, shape[to]) for d, to in zip(given, broadcast_dimensions, strict=True)):
        raise TypeError("broadcast_in_dim operand dimension sizes must either be 1, or be equal to their corresponding "
                        f"dimensions in the target broadcast shape; got operand of shape {given}, target broadcast "
                        f"shape {shape}, broadcast_dimensions {broadcast_dimensions} ")
    return primitive.bind(x, shape=_padded(shape), broadcast_dimensions=broadcast_dimensions), _sizes_in(shape)


def _transpose(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, permutation: Sequence[int]
               ) -> Result:
    (x,), (own,) = vals, sizes
    return (primitive.bind(x, permutation=permutation),
            {to: own[axis] for to, axis in enumerate(permutation) if axis in own})


def _reshape(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, new_sizes: Sequence[Any],
             dimensions: Any) -> Result:
    (x,), (own,) = vals, sizes
    given = _with_sizes(np.shape(x), own)
    if dimensions is not None or [d for d in given if d != 1] != [d for d in new_sizes if d != 1]:
        raise TypeError(f"reshape of a ragged array can add and remove axes of size 1 only, got {given} and the new "
                        f"shape {tuple(new_sizes)}")
    return primitive.bind(x, new_sizes=_padded(new_sizes), dimensions=None), _sizes_in(new_sizes)


def _squeeze(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, dimensions: Sequence[int]) -> Result:
    (x,), (own,) = vals, sizes
    if any(axis in own for axis in dimensions):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one, got "
                         f"shape={_with_sizes(np.shape(x), own)} and dimensions={tuple(dimensions)}")
    return primitive.bind(x, dimensions=dimensions), _without_axes(own, dimensions)


def _fold(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, axes: Sequence[int],
          **params: Any) -> Result:
    (x,), (own,) = vals, sizes
    combine = primitive.combine.removeprefix("arg")  # type: ignore[attr-defined]
    x = masked(x, {axis: own[axis] for axis in axes if axis in own}, combine)
    return primitive.bind(x, axes=axes, **params), _without_axes(own, axes)


def _cumulative(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, axis: int,
                reverse: bool) -> Result:
    (x,), (own,) = vals, sizes
    if reverse and axis in own:  # the padding comes first
        x = masked(x, {axis: own[axis]}, primitive.combine)  # type: ignore[attr-defined]
    return primitive.bind(x, axis=axis, reverse=reverse), own


def _dot_general(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, dimension_numbers: Any,
                 **params: Any) -> Result:
    shapes = [_with_sizes(np.shape(x), own) for x, own in zip(vals, sizes, strict=True)]
    (contracted, batched) = dimension_numbers
    for pair in dimension_numbers:
        taken = [[shape[axis] for axis in axes] for shape, axes in zip(shapes, pair, strict=True)]
        if taken[0] != taken[1]:
            raise TypeError(f"dot_general requires contracting and batch dimensions to have equal sizes, got "
                            f"{taken[0]} and {taken[1]}: sizes that are ragged are equal when they are one size")
    vals = [masked(x, own, "sum") for x, own in zip(vals, sizes, strict=True)]
    free = [[d for axis, d in enumerate(shape) if axis not in {*contracted[k], *batched[k]}]
            for k, shape in enumerate(shapes)]
    out = [*(shapes[0][axis] for axis in batched[0]), *free[0], *free[1]]
    return primitive.bind(*vals, dimension_numbers=dimension_numbers, **params), _sizes_in(out)


def _slice(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, start_indices: Sequence[Any],
           limit_indices: Sequence[Any], strides: Sequence[int] | None) -> Result:
    (x,), (own,) = vals, sizes
    whole = all((start_indices[axis], limit_indices[axis], (strides or {axis: 1})[axis]) == (0, size, 1)
                for axis, size in own.items())
    if not whole or len(own) != len(_sizes_in(limit_indices)):
        raise TypeError("slice can take all of a ragged axis only, whose size differs from element to element, got "
                        f"start_indices={tuple(start_indices)} and limit_indices={tuple(limit_indices)} of shape "
                        f"{_with_sizes(np.shape(x), own)}")
    return primitive.bind(x, start_indices=start_indices, limit_indices=_padded(limit_indices), strides=strides), own


def _concatenate(primitive: Primitive, vals: Sequence[Any], sizes: Sequence[Sizes], *, dimension: int) -> Result:
    if any(dimension in own for own in sizes) or any(dict(own) != dict(sizes[0]) for own in sizes):
        raise TypeError("ragged arrays can be concatenated only along another axis than a ragged one, with the same "
                        f"sizes: got {[_with_sizes(np.shape(x), own) for x, own in zip(vals, sizes, strict=True)]}")
    return primitive.bind(*vals, dimension=dimension), sizes[0]


ragged_rules: dict[str, Callable[..., Result]] = {
    "iota": _iota, "broadcast_in_dim": _broadcast_in_dim, "transpose": _transpose, "reshape": _reshape,
    "squeeze": _squeeze, "dot_general": _dot_general, "slice": _slice, "concatenate": _concatenate,
    "select_n": _elementwise, "convert_element_type": _elementwise, "copy": _elementwise,
    "stop_gradient": _elementwise,
}  # fmt: skip
_FAMILIES: list[tuple[type, Callable[..., Result]]] = [
    (Elementwise, _elementwise), (Reducer, _fold), (ArgReducer, _fold), (Cumulative, _cumulative)]


def masked(x: Any, sizes: Sizes, combine: str) -> Any:
    """Return an element with padding that does not change what `combine` makes of it."""
    shape, dtype = np.shape(x), aval_of(x).dtype
    for axis, size in sizes.items():
        length = broadcast_in_dim(convert_element_type(size.length, INT32), shape, ())
        inside = lt(broadcasted_iota(INT32, shape, axis), length)
        x = select(inside, x, full(shape, identity(combine, dtype), dtype))
    return x


# --- shapes --------------------------------------------------------------------------------------------------------

def _with_sizes(shape: Sequence[int], sizes: Sizes) -> tuple[Any, ...]:
    return tuple(sizes.get(axis, d) for axis, d in enumerate(shape))


def _sizes_in(shape: Sequence[Any]) -> dict[int, Size]:
    return {axis: d for axis, d in enumerate(shape) if isinstance(d, Size)}


def _padded(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple(d.bound if isinstance(d, Size) else d for d in shape)


def _without_axes(sizes: Sizes, axes: Sequence[int]) -> dict[int, Size]:
    return {axis - sum(gone < axis for gone in axes): size for axis, size in sizes.items() if axis not in axes}


def _varies(param: Any) -> bool:
    return isinstance(param, tuple) and any(isinstance(d, Size) for d in param)
