"""Sums of products over shared dimensions: dot_general, of which matrix products are one case."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import (
    FLOAT32,
    FLOAT64,
    INT32,
    canonicalize_dtype,
    is_complex,
    is_float,
    is_unsigned,
    part_dtype,
)
from tinytrace.core.kinds import (
    SMALL_PRODUCT,
    Call,
    Contraction,
    Kind,
    is_product_of_bytes,
    is_product_of_halves,
    is_product_with_vector,
)
from tinytrace.core.primitive import ALL
from tinytrace.core.storage_types import bits_of
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives.checks import remaining, shifted, without
from tinytrace.primitives.composite import OnParts, recorded
from tinytrace.primitives.conversion import convert_element_type, convert_element_type_p
from tinytrace.primitives.elementwise import add_any
from tinytrace.primitives.precision import DotAlgorithmPreset, canonicalize_precision, dtype_of_algorithm, is_algorithm
from tinytrace.primitives.shaping import NDArray, inverse_permutation, transpose

Ints: TypeAlias = tuple[int, ...]
DimensionNumbers: TypeAlias = tuple[tuple[Ints, Ints], tuple[Ints, Ints]]
"""((lhs contracting, rhs contracting), (lhs batch, rhs batch))"""


def dot_general(lhs: Any, rhs: Any, dimension_numbers: Any, precision: Any = None,
                preferred_element_type: Any = None) -> Any:
    """Sum products over contracting dimensions, for each position along batch dimensions.

    dimension_numbers: ((lhs contracting, rhs contracting), (lhs batch, rhs batch)).
    Returns: batch dimensions, then the others of `lhs`, then the others of `rhs`.
    Raises: TypeError when the dimension numbers or the shapes do not fit.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.dot_general.html.

    >>> dot_general(np.float32([[1, 2], [3, 4]]), np.float32([1, 1]), (((1,), (0,)), ((), ())))
    Array([3., 7.], dtype=float32)
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return dot_general_p.bind(
        lhs, rhs, dimension_numbers=((_ints(lhs_contract), _ints(rhs_contract)), (_ints(lhs_batch), _ints(rhs_batch))),
        precision=canonicalize_precision(precision),
        preferred_element_type=None if preferred_element_type is None else canonicalize_dtype(preferred_element_type))


def dot(lhs: Any, rhs: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Multiply vectors and matrices: the last dimension of `lhs` with the first of `rhs`.

    Raises: TypeError unless both have one or two dimensions that fit.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.dot.html.

    >>> dot(np.float32([1, 2]), np.float32([3, 4]))
    Array(11., dtype=float32)
    """
    left, right = np.shape(lhs), np.shape(rhs)
    if not (1 <= len(left) <= 2 and 1 <= len(right) <= 2 and left[-1] == right[0]):
        raise TypeError(f"Incompatible shapes for dot: got {left} and {right}.")
    return dot_general(lhs, rhs, (((len(left) - 1,), (0,)), ((), ())), precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Multiply matrices in the last two dimensions for each position along the others.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.batch_matmul.html.
    """
    ndim, rhs_ndim = np.ndim(lhs), np.ndim(rhs)
    if min(ndim, rhs_ndim) < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {ndim}, {rhs_ndim}")
    if ndim != rhs_ndim:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {ndim}, {rhs_ndim}")
    batch = tuple(range(ndim - 2))
    return dot_general(lhs, rhs, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision)


class Bilinear(OnParts):
    """The family: products, linear in each of two operands."""

    reads = ALL

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (lhs, rhs), (lhs_dot, rhs_dot) = primals, tangents
        out = self.bind(lhs, rhs, **params)
        if type(rhs_dot) is Zero:
            return out, self.bind(lhs_dot, rhs, **params)
        if type(lhs_dot) is Zero:
            return out, self.bind(lhs, rhs_dot, **params)
        return out, add_any(self.bind(lhs_dot, rhs, **params), self.bind(lhs, rhs_dot, **params))


class DotGeneral(Bilinear):
    """`dot_general[dimension_numbers=(([1], [0]), ([], []))] a: f32[n,k] b: f32[k,m]` is f32[n,m]."""

    name = "dot_general"

    def pp_params(self, params: dict[str, Any]) -> dict[str, Any]:
        numbers = tuple((list(lhs), list(rhs)) for lhs, rhs in params["dimension_numbers"])
        return super().pp_params({name: numbers if name == "dimension_numbers" else value
                                  for name, value in params.items() if value is not None})

    def parse_params(self, shown: dict[str, Any]) -> dict[str, Any]:
        numbers = tuple((tuple(lhs), tuple(rhs)) for lhs, rhs in shown["dimension_numbers"])
        precision = shown.get("precision")
        if str(precision) in DotAlgorithmPreset.__members__:
            precision = DotAlgorithmPreset[str(precision)]
        return {"preferred_element_type": None, **shown, "precision": precision, "dimension_numbers": numbers}

    def abstract_eval(self, lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: DimensionNumbers,
                      precision: Any, preferred_element_type: np.dtype[Any] | None) -> ShapedArray:
        (contract, rhs_contract), (batch, rhs_batch) = dimension_numbers
        _check_side("lhs", lhs, contract, batch)
        _check_side("rhs", rhs, rhs_contract, rhs_batch)
        _check_sides(lhs, rhs, dimension_numbers)
        shape = (*(lhs.shape[axis] for axis in batch), *without(lhs.shape, (*contract, *batch)),
                 *without(rhs.shape, (*rhs_contract, *rhs_batch)))
        dtype = _result_dtype(lhs, rhs, precision, preferred_element_type)
        return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)

    def impl(self, lhs: NDArray, rhs: NDArray, *, dimension_numbers: DimensionNumbers, precision: Any,
             preferred_element_type: np.dtype[Any] | None) -> NDArray:
        dtype = _result_dtype(aval_of(lhs), aval_of(rhs), precision, preferred_element_type)
        if asked := dtype_of_algorithm(precision):
            found = self.impl(lhs.astype(asked), rhs.astype(asked), dimension_numbers=dimension_numbers, precision=None,
                              preferred_element_type=None)
            return found.astype(dtype)
        wide = FLOAT32 if is_float(dtype) and dtype.itemsize == 2 else dtype
        (contract, rhs_contract), (batch, rhs_batch) = dimension_numbers
        kept = remaining(lhs.ndim, contract, batch)
        rhs_kept = remaining(rhs.ndim, rhs_contract, rhs_batch)
        sizes = [lhs.shape[axis] for axis in batch]
        k = _size(lhs, contract)
        lhs_t, rhs_t = lhs.transpose(*batch, *kept, *contract), rhs.transpose(*rhs_batch, *rhs_contract, *rhs_kept)
        out: NDArray = np.matmul(lhs_t.astype(wide, copy=False).reshape(*sizes, _size(lhs, kept), k),
                                 rhs_t.astype(wide, copy=False).reshape(*sizes, k, _size(rhs, rhs_kept)))
        shape = (*sizes, *(lhs.shape[axis] for axis in kept), *(rhs.shape[axis] for axis in rhs_kept))
        return out.reshape(shape).astype(dtype, copy=False)

    def transpose(self, ct: Any, lhs: Any, rhs: Any, *, dimension_numbers: DimensionNumbers, precision: Any,
                  preferred_element_type: np.dtype[Any] | None) -> Sequence[Any]:
        if is_undefined_primal(lhs):
            return [_transposed(ct, lhs.aval, rhs, dimension_numbers, precision, preferred_element_type), None]
        (contract, rhs_contract), (batch, rhs_batch) = dimension_numbers
        swapped = (rhs_contract, contract), (rhs_batch, batch)
        return [None, _transposed(ct, rhs.aval, lhs, swapped, precision, preferred_element_type, other_first=True)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: DimensionNumbers,
              precision: Any, preferred_element_type: np.dtype[Any] | None) -> tuple[Any, Any]:
        (lhs, rhs), (dim, rhs_dim) = args, dims
        (contract, rhs_contract), (batch, rhs_batch) = dimension_numbers
        if dim is not None and rhs_dim is not None:
            batch, rhs_batch = (dim, *shifted(batch, dim)), (rhs_dim, *shifted(rhs_batch, rhs_dim))
            contract, rhs_contract = shifted(contract, dim), shifted(rhs_contract, rhs_dim)
            out_dim = 0
        elif dim is not None:  # one more free dimension of lhs: not where it is first, but in order
            kept = remaining(np.ndim(lhs), contract, batch)
            out_dim = len(batch) + sum(axis < dim for axis in kept)
            batch, contract = shifted(batch, dim), shifted(contract, dim)
        else:
            assert rhs_dim is not None
            kept = remaining(np.ndim(rhs), rhs_contract, rhs_batch)
            out_dim = np.ndim(lhs) - len(contract) + sum(axis < rhs_dim for axis in kept)
            rhs_batch, rhs_contract = shifted(rhs_batch, rhs_dim), shifted(rhs_contract, rhs_dim)
        numbers = (contract, rhs_contract), (batch, rhs_batch)
        return dot_general(lhs, rhs, numbers, precision, preferred_element_type), out_dim

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              dimension_numbers: DimensionNumbers, precision: Any,
              preferred_element_type: np.dtype[Any] | None) -> Kind:
        dtype = out_avals[0].dtype
        asked = dtype_of_algorithm(precision)
        if asked and any(aval.dtype != asked for aval in (*in_avals, *out_avals)):
            return Call(recorded(functools.partial(_dot_in, dimension_numbers, asked, (dtype,)), in_avals))
        if is_complex(dtype) and any(aval.dtype != dtype for aval in in_avals):
            return Call(recorded(functools.partial(_dot_in, dimension_numbers, dtype, ()), in_avals))
        if is_complex(dtype):
            return self.program_on_parts(in_avals, {
                "dimension_numbers": dimension_numbers, "precision": precision,
                "preferred_element_type": preferred_element_type})
        (contract, rhs_contract), (batch, rhs_batch) = dimension_numbers
        kind = Contraction(contract, rhs_contract, batch, rhs_batch)
        wide = _computed_in(in_avals[0], in_avals[1], out_avals[0], kind)
        if wide == dtype:
            return kind
        steps = (dtype,) if is_float(dtype) else (np.dtype(np.int32), dtype)  # integers wrap
        return Call(recorded(functools.partial(_dot_in, dimension_numbers, wide, steps), in_avals))


dot_general_p = DotGeneral()


def _computed_in(lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray, kind: Contraction) -> np.dtype[Any]:
    """Return the type in which products are added up, or their own where the product is a call that knows better.

    For halves float32: the sum is rounded once. Large products of these are such calls. For a large product of small
    integers one of floats, as long as it holds every sum exactly, in any order: the BLAS multiplies these faster than
    loops multiply integers. CPUs multiply bytes faster still.
    """
    dtype: Any = out.dtype
    if is_float(dtype):
        return FLOAT32 if dtype.itemsize == 2 and not is_product_of_halves(kind, lhs, rhs, out) else dtype
    if dtype in (np.int8, np.int32) and is_product_of_bytes(kind, lhs, rhs, out.update(dtype=INT32)):
        return INT32
    depth = math.prod(lhs.shape[axis] for axis in kind.lhs_contract)
    if dtype.kind == "b" or out.size * depth <= SMALL_PRODUCT or is_product_with_vector(kind, lhs, rhs):
        return dtype  # type: ignore[no-any-return]
    most = depth * _largest(lhs.dtype) * _largest(rhs.dtype)
    if most <= 1 << 24:
        return FLOAT32
    return FLOAT64 if most < 1 << 31 else dtype


def _largest(dtype: Any) -> int:
    """Return the greatest absolute value that integers of a type have."""
    return 1 if dtype.kind == "b" else -int(np.iinfo(dtype).min) or int(np.iinfo(dtype).max)


def _dot_in(numbers: DimensionNumbers, wide: np.dtype[Any], steps: Sequence[Any], lhs: Any, rhs: Any) -> Any:
    """Return a product computed in the type `wide`, converted to one type after the other."""
    def converted(x: Any, new_dtype: Any) -> Any:
        if aval_of(x).dtype == new_dtype:
            return x
        return convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=False)

    out = dot_general_p.bind(converted(lhs, wide), converted(rhs, wide), dimension_numbers=numbers,
                             precision=None, preferred_element_type=wide)
    return functools.reduce(converted, steps, out)


def _transposed(ct: Any, x: ShapedArray, y: Any, numbers: DimensionNumbers, precision: Any,
                preferred_element_type: np.dtype[Any] | None, other_first: bool = False) -> Any:
    """Return the cotangent of the operand of type `x`, where `y` is the other and comes first in the result or not."""
    (contract, y_contract), (batch, y_batch) = numbers
    kept = remaining(x.ndim, contract, batch)
    y_kept = remaining(np.ndim(y), y_contract, y_batch)
    start = len(batch) if other_first else len(batch) + len(kept)
    ct_of_y = tuple(range(start, start + len(y_kept)))
    result = dot_general(ct, y, ((ct_of_y, y_kept), (range(len(batch)), y_batch)), precision, preferred_element_type)
    # The result has the dimensions of x: batch, free, then contracting in the order in which y has them.
    ordered = tuple(contract[k] for k in inverse_permutation(y_contract))
    result = transpose(result, inverse_permutation((*batch, *kept, *ordered)))
    return result if result.dtype == x.dtype else convert_element_type(result, x.dtype, x.weak_type)


def _result_dtype(lhs: ShapedArray, rhs: ShapedArray, precision: Any,
                  preferred: np.dtype[Any] | None) -> np.dtype[Any]:
    """Return the wider type of the operands (floats before integers), or the preferred one."""
    ranks: list[Any] = [_rank(lhs.dtype), _rank(rhs.dtype)]
    if part_dtype(lhs.dtype) == part_dtype(rhs.dtype):
        ranks = [(is_complex(x.dtype),) for x in (lhs, rhs)]
    elif ranks[0] == ranks[1]:
        raise TypeError(f"lax.dot_general argument type error: {lhs.dtype}, {rhs.dtype}")
    dtype: Any = lhs.dtype if ranks[0] >= ranks[1] else rhs.dtype
    if preferred is None or preferred == dtype:
        return dtype  # type: ignore[no-any-return]
    if not is_algorithm(precision) and not is_float(dtype) and _rank(preferred)[2] < _rank(dtype)[2]:
        raise TypeError("`preferred_element_type` must not be narrower than the original type, got "
                        f"preferred_element_type of {preferred} for result type of {dtype}.")
    return preferred


@functools.cache
def _rank(dtype: Any) -> tuple[int, int, int, bool]:
    """Return what orders operand types: largest exponent, digits, width, signedness."""
    dtype = part_dtype(dtype)
    if is_float(dtype):
        info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        return info.maxexp, info.nmant, info.bits, True
    return -1, -1, 1 if dtype.kind == "b" else bits_of(dtype), not is_unsigned(dtype)


def _check_side(side: str, x: ShapedArray, contract: Ints, batch: Ints) -> None:
    if not all(0 <= axis < x.ndim for axis in (*contract, *batch)):
        raise TypeError(
            f"dot_general requires {side} dimension numbers to be nonnegative and less than the number of axes of "
            f"the {side} value, got {side}_batch of {batch} and {side}_contracting of {contract} for {side} of rank "
            f"{x.ndim}")


def _check_sides(lhs: ShapedArray, rhs: ShapedArray, numbers: DimensionNumbers) -> None:
    (contract, rhs_contract), (batch, rhs_batch) = numbers
    if len(batch) != len(rhs_batch):
        raise TypeError("dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, got lhs_batch "
                        f"{batch} and rhs_batch {rhs_batch}.")
    for side, kind, axes in (("lhs", "batch", batch), ("rhs", "batch", rhs_batch),
                             ("lhs", "contracting", contract), ("rhs", "contracting", rhs_contract)):
        if len(set(axes)) != len(axes):
            raise TypeError(f"dot_general requires {side} {kind} dimensions to be distinct, got {side}_{kind} {axes}.")
    for side, axes, contracting in (("lhs", batch, contract), ("rhs", rhs_batch, rhs_contract)):
        if set(axes) & set(contracting):
            raise TypeError(f"dot_general requires {side} batch dimensions to be disjoint from contracting dimensions, "
                            f"got {side}_batch {axes} and {side}_contracting {contracting}.")
    sizes, rhs_sizes = tuple(lhs.shape[a] for a in batch), tuple(rhs.shape[a] for a in rhs_batch)
    if sizes != rhs_sizes:
        raise TypeError("dot_general requires lhs batch dimensions and rhs batch dimensions to have the same shape, "
                        f"got {sizes} and {rhs_sizes}.")
    sizes, rhs_sizes = tuple(lhs.shape[a] for a in contract), tuple(rhs.shape[a] for a in rhs_contract)
    if sizes != rhs_sizes:
        raise TypeError("dot_general requires contracting dimensions to have the same shape, "
                        f"got {sizes} and {rhs_sizes}.")


def _ints(axes: Any) -> Ints:
    return (operator.index(axes),) if hasattr(axes, "__index__") else tuple(operator.index(axis) for axis in axes)


def _size(x: NDArray, axes: Ints) -> int:
    return math.prod([x.shape[axis] for axis in axes])
