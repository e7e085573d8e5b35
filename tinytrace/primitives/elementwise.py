"""The elementwise family: each element of the result comes from one element of each operand.

A regular operation is one statement, with the three meanings of it side by side:

    tanh_p = Elementwise("tanh", INEXACT, np.tanh, function("tanh"),
                         lambda g, out, x: mul(add(g, mul(g, out)), sub(one_like(x), out)),
                         ulp=(5, 3), laws="monotone odd")

that is: name, accepted dtypes of the operand, NumPy meaning, meaning in C (a function of csrc/math, or a formula as
`lambda x, y: x + y`), for each operand the rule that maps its tangent `g` (with the result and the operands at hand) to
a part of the result's tangent, and what is known: how exact C is, and which laws hold. Operands have one shape, or
are scalars, or have size 1 where others are larger. Source: the `naryop` contract of JAX 0.4.35.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import (
    FLOAT0,
    DType,
    KeyType,
    canonicalize_dtype,
    dtype_of,
    is_complex,
    is_float,
    is_inexact,
    is_weak,
    scalar_type_of,
)
from tinytrace.core.formulas import Formula, as_formula, call, operand
from tinytrace.core.kinds import Kind, Scalar
from tinytrace.core.operations import Operation, operation
from tinytrace.core.primitive import ALL, refuse
from tinytrace.core.storage_types import computed_type
from tinytrace.core.structure import typed_items
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.broadcasting import (
    batch_dim_at_front,
    broadcast_in_dim,
    expand_dims,
    reduce_sum,
    repeat_along,
)
from tinytrace.primitives.composite import OnParts, interpreted, not_of_complex
from tinytrace.primitives.shaping import moveaxis, reshape

NDArray: TypeAlias = "np.ndarray[Any, Any]"
Accepted: TypeAlias = tuple[str, ...]
Meaning: TypeAlias = "Callable[..., Formula] | Mapping[str, Callable[..., Formula]]"
Ulp: TypeAlias = "float | tuple[float | None, float | None] | None"
Partial: TypeAlias = Callable[..., Any]

# What an operand may be, in the order in which JAX names it.
FLOAT: Accepted = ("floating",)
INEXACT: Accepted = ("floating", "complexfloating")
NUMBER: Accepted = ("integer", "floating", "complexfloating")
SIGNED: Accepted = ("floating", "complexfloating", "signedinteger")
REAL: Accepted = ("integer", "floating")
INTEGER: Accepted = ("integer",)
BITS: Accepted = ("integer", "bool")
ORDERED: Accepted = ("integer", "floating", "bool")
ANY: Accepted = ("integer", "floating", "complexfloating", "bool")
ANY_OR_KEY: Accepted = (*ANY, "key")

CONSTANT = "constant"
"""In place of tangent rules: the result does not change with small changes of the operands, its tangent is zero."""


class Elementwise(OnParts):
    """One operation on elements: `out[i] = f(in0[i], in1[i], ...)`.

    accepts: the dtypes of the operand, or a list with one entry per operand.
    numpy: the meaning, over arrays of one dtype (or scalars): `numpy(*arrays, **params)`.
    c: the meaning in C: `c(*operands, **params)` gives a formula. It may be a mapping from dtype kinds of the first
       operand ("f", "iu", "b", "c") to such functions; a function alone is not for complex numbers.
    tangents: per operand a rule `(g, out, *operands, **params) -> tangent`; or CONSTANT; or none: not differentiable.
    result: the result's dtype; the first operand's when not given.
    ulp: by how many units in the last place the C may be off, or a pair for float32 and float64; 0: it is exact, 0.5:
       rounded once. Not given: what the formula tells.
    laws: names from `core.operations.LAWS`, with blanks between them.
    operation_name: the name in the operation's record, for a primitive that is another one's operation.
    """

    reads = ALL

    def __init__(self, name: str, accepts: Accepted | list[Accepted], numpy: Callable[..., Any], c: Meaning,
                 *tangents: Partial | str, result: np.dtype[Any] | None = None, ulp: Ulp = None, laws: str = "",
                 operation_name: str = "") -> None:
        super().__init__(name)
        self.accepts = accepts if isinstance(accepts, list) else [accepts]
        self.numpy, self.c, self.result = numpy, c, result
        self.ulp, self.laws, self.operation_name = ulp, laws.split(), operation_name or name
        self._operations: dict[Any, Operation] = {}
        self.constant = tangents == (CONSTANT,)
        self.tangents = [rule for rule in tangents if callable(rule)]

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        shape = self.result_shape(*avals)
        self.check_dtypes(*avals)
        return ShapedArray(shape, self.result_dtype(*avals, **params), all(aval.weak_type for aval in avals))

    def impl(self, *args: Any, **params: Any) -> Any:
        self.check_runnable(*args)
        if self._needs_parts(args):
            if self.on_parts is None:
                raise not_of_complex(self.name)
            return interpreted(self.on_parts, *args, **params)
        return self.numpy(*args, **params)

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        return functools.partial(self.numpy, **params) if params else self.numpy

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        if not (self.tangents or self.constant):
            raise NotImplementedError(f"Differentiation rule for '{self.name}' not implemented")
        out = self.bind(*primals, **params)
        if self.constant:
            return out, Zero.from_primal_value(out)
        parts = [rule(g, out, *primals, **params) for rule, g in zip(self.tangents, tangents, strict=True)
                 if type(g) is not Zero]
        return out, functools.reduce(add_any, parts)

    transpose: Any = refuse("it is not linear in its operands")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        shape, dim = next((x.shape, d) for x, d in zip(args, dims, strict=True) if d is not None)
        if all(np.shape(x) == shape and d == dim for x, d in zip(args, dims, strict=True) if np.ndim(x)):
            return self.bind(*args, **params), dim
        # An operand without a batch dimension gets one of size 1: it broadcasts by itself.
        front = [batch_dim_at_front(x, d, 1) if np.ndim(x) else x for x, d in zip(args, dims, strict=True)]
        ndim = max(np.ndim(x) for x in front)
        front = [x if d is None or np.ndim(x) == ndim else expand_dims(x, tuple(range(np.ndim(x), ndim)))
                 for x, d in zip(front, dims, strict=True)]
        return self.bind(*front, **params), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        self.check_runnable(*in_avals)
        if self._needs_parts(in_avals):
            return self.program_on_parts(in_avals, params)
        return Scalar(self.operation(*(aval.dtype for aval in in_avals), **params))

    def operation(self, *dtypes: DType, **params: Any) -> Operation:
        """Return the record of the operation on elements of these types."""
        key = (dtypes, typed_items(params)) if params else dtypes
        found = self._operations.get(key)
        if found is None:
            result = self.result_dtype(*(ShapedArray((), dtype) for dtype in dtypes), **params)
            c = self.c if callable(self.c) else next(c for kinds, c in self.c.items() if c_kind(dtypes[0]) in kinds)
            formula = as_formula(c(*(operand(k, dtype) for k, dtype in enumerate(dtypes)), **params))
            found = self._operations[key] = operation(
                self.operation_name, dtypes, result, formula, self.in_numpy(params), self.ulp_of(dtypes, result),
                self.laws)
        return found

    def _needs_parts(self, operands: Sequence[Any]) -> bool:
        """Is there a complex operand, and no formula for complex numbers?"""
        return any(is_complex(x.dtype) for x in operands) and not (
            isinstance(self.c, Mapping) and any("c" in kinds for kinds in self.c))

    def ulp_of(self, dtypes: Sequence[DType], result: DType) -> float | None:
        """Return by how many units in the last place the C may be off, for operands of these types."""
        if not is_inexact(result):
            return None
        return self.ulp[result.itemsize == 8] if isinstance(self.ulp, tuple) else self.ulp

    def result_shape(self, *avals: ShapedArray) -> tuple[int, ...]:
        """Return the common shape of the operands; raises TypeError when they have none."""
        return broadcast_operands(self.name, *avals)

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        """Return the dtype of the result for operands of accepted dtypes."""
        return self.result or avals[0].dtype

    def check_dtypes(self, *avals: ShapedArray) -> None:
        """Raise TypeError for an operand of a dtype that the operation has no meaning for."""
        if len(avals) != len(self.accepts):
            raise TypeError(f"{self.name} takes {len(self.accepts)} operands, got {len(avals)}")
        for position, (aval, accepted) in enumerate(zip(avals, self.accepts, strict=True)):
            if not accepts(accepted, aval.dtype):
                raise TypeError(_refused_dtype(self.name, aval.dtype, accepted, position, len(avals)))

    def check_runnable(self, *operands: Any) -> None:
        """Raise ValueError for operands of different dtypes: as in JAX 0.4.35 they can be traced, but not run."""
        first = operands[0].dtype
        for x in operands:
            if x.dtype is not first and x.dtype != first:
                names = ", ".join(x.dtype.name for x in operands)
                raise ValueError(
                    f"Cannot lower jaxpr with verifier errors:\n\t{self.name} requires the same element type for all "
                    f"operands and results, got {names}. Convert them first (lax.convert_element_type), or use the "
                    "function of numpy's name, which promotes its arguments.")


class LinearUnary(Elementwise):
    """An elementwise operation of one operand that is its own tangent and its own transpose: neg, copy."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(*tangents, **params)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        return [self.bind(ct, **params)]


class AddAny(Elementwise):
    """`add_any`: the sum of two tangents or of two cotangents of one value."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        # A tangent that is zero is added all the same, as JAX adds it.
        return self.bind(*primals), self.bind(*(filled_like(g.aval, 0) if type(g) is Zero else g for g in tangents))

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        return [ct if is_undefined_primal(x) else None for x in args]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        (x, y), (dim_x, dim_y) = args, dims
        dim = dim_x if dim_y is None else dim_y
        assert dim is not None
        if dim_x is None:
            x = repeat_along(x, np.shape(y)[dim], dim)
        elif dim_y is None:
            y = repeat_along(y, np.shape(x)[dim], dim)
        else:
            x = moveaxis(x, dim_x, dim)
        return self.bind(x, y), dim


add_any_p = AddAny("add_any", [ANY, ANY], np.add, {"fiuc": lambda x, y: x + y, "b": lambda x, y: x | y},
                   laws="commutative", operation_name="add")
neg_p = LinearUnary("neg", NUMBER, np.negative, {"fiuc": lambda x: -x}, laws="odd involution")


def add_any(x: Any, y: Any) -> Any:
    """Add two tangents or two cotangents of one value; they have one aval."""
    return add_any_p.bind(x, y)


def neg(x: Any) -> Any:
    """Negate; integers wrap.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.neg.html.

    >>> neg(np.float32(0))
    Array(-0., dtype=float32)
    """
    return neg_p.bind(x)


# --- shapes and dtypes of operands -----------------------------------------------------------------------------

def broadcast_operands(name: str, *avals: ShapedArray) -> tuple[int, ...]:
    """Return the shape that operands of equal rank (or rank 0) broadcast to.

    Raises: TypeError, in JAX's words, when ranks or sizes disagree.
    """
    shapes = [aval.shape for aval in avals if aval.shape]
    if not shapes:
        return ()
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    if len({len(shape) for shape in shapes}) != 1:
        raise TypeError(f"{name}: arrays must have same number of dimensions, got {', '.join(map(str, shapes))}.")
    result = []
    for sizes in zip(*shapes, strict=True):
        larger = {size for size in sizes if size != 1}
        if len(larger) > 1:
            raise TypeError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}.")
        result.append(larger.pop() if larger else 1)
    return tuple(result)


def accepts(accepted: Accepted, dtype: DType) -> bool:
    """Is `dtype` one of the kinds in `accepted`?"""
    if isinstance(dtype, KeyType):
        return "key" in accepted
    if is_float(dtype):
        return "floating" in accepted or dtype.name in accepted
    kind = computed_type(dtype).kind
    return {"b": "bool", "i": "integer", "u": "integer", "c": "complexfloating"}.get(kind) in accepted or (
        kind == "i" and "signedinteger" in accepted)


def _refused_dtype(name: str, dtype: DType, accepted: Accepted, position: int, operands: int) -> str:
    if dtype == FLOAT0:
        with_what = "array" if operands == 1 else f"at position {position}"
        return (f"Called {name} with a float0 {with_what}. float0s do not support any operations by design, because "
                "they are not compatible with non-trivial vector spaces. No implicit dtype conversion is done. You can "
                "use np.zeros_like(arr, dtype=np.float) to cast a float0 array to a regular zeros array. \nIf you "
                "didn't expect to get a float0 you might have accidentally taken a gradient with respect to an integer "
                "argument.")
    where = "" if operands == 1 else f" at position {position}"
    return (f"{name} does not accept dtype {dtype.name}{where}. "
            f"Accepted dtypes{where} are subtypes of {', '.join(accepted)}.")


def unbroadcast(aval: ShapedArray, ct: Any) -> Any:
    """Sum cotangent `ct` over the dimensions along which an operand of type `aval` was broadcast."""
    shape = np.shape(ct)
    if aval.shape == shape:
        return ct
    if not aval.shape:
        return reduce_sum(ct, tuple(range(len(shape))))
    axes = tuple(i for i, (size, wanted) in enumerate(zip(shape, aval.shape, strict=True)) if size != wanted)
    return reshape(reduce_sum(ct, axes), aval.shape)


def maybe_broadcast(shape: tuple[int, ...], x: Any) -> Any:
    """Broadcast tangent `x` of one operand to the `shape` of the result."""
    own = np.shape(x)
    if own == shape:
        return x
    if not own:
        return broadcast_in_dim(x, shape, ())
    kept = tuple(i for i, (size, wanted) in enumerate(zip(own, shape, strict=True)) if size == wanted)
    return broadcast_in_dim(reshape(x, tuple(own[i] for i in kept)), shape, kept)


def operand_aval(x: Any) -> ShapedArray:
    """Return the type of a transpose rule's operand, whether it is known or linear."""
    return x.aval if is_undefined_primal(x) else aval_of(x)


# --- constants in rules ----------------------------------------------------------------------------------------

def const_like(x: Any, value: Any) -> Any:
    """Return scalar `value` in the dtype of `x`: the literal of a rule, weakly typed if `x` is a weak scalar.

    >>> const_like(np.float32(3), 0.5)
    array(0.5, dtype=float32)
    """
    dtype = dtype_of(x)
    if is_weak(x) and np.ndim(x) == 0:
        return _scalar_like(x, value)
    return np.array(value, dtype)  # an array, not a NumPy scalar: staging folds conversions of the former only


def one_like(x: Any) -> Any:
    """Return the scalar 1 in the dtype and weak type of `x`."""
    return _scalar_like(x, 1)


def zero_like(x: Any) -> Any:
    """Return the scalar 0 in the dtype and weak type of `x`."""
    return _scalar_like(x, 0)


def filled_like(x: Any, value: Any) -> Any:
    """Return an array of the shape, dtype and weak type of `x`, all `value`."""
    shape = np.shape(x)
    scalar = _scalar_like(x, value)
    return broadcast_in_dim(scalar, shape, ()) if shape else scalar


def _scalar_like(x: Any, value: Any) -> Any:
    dtype = dtype_of(x)
    if is_weak(x) and isinstance(dtype, np.dtype):
        python_type = scalar_type_of(x)
        if canonicalize_dtype(dtype_of(python_type)) == dtype:
            return python_type(value)
    return np.array(value, dtype)


# --- C ---------------------------------------------------------------------------------------------------------

def function(family: str) -> Callable[..., Formula]:
    """Return the meaning in C that is one function of csrc/math: `tt_tanh_f32(x)`."""
    return functools.partial(call, family)


def itself(x: Formula) -> Formula:
    """Return `x`: the meaning in C of what changes no more than the type."""
    return x


def c_kind(dtype: DType) -> str:
    """Return f for floats, i and u for integers, b for bool, c for complex numbers, whatever the width."""
    return "f" if is_float(dtype) else computed_type(dtype).kind


# --- NumPy -----------------------------------------------------------------------------------------------------

def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a NumPy meaning of several steps compute half floats in float32 and round once, as compiled code does."""

    @functools.wraps(function)
    def wrapped(*args: Any, **params: Any) -> Any:
        dtype = args[0].dtype
        if dtype.itemsize == 2 and is_float(dtype):
            wide = [x.astype(np.float32) for x in args]
            return np.asarray(function(*wide, **params)).astype(dtype)
        return function(*args, **params)

    return wrapped
