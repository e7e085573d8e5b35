"""Changes of representation: convert_element_type, bitcast_convert_type, reduce_precision, copy.

A conversion of floats to integers truncates towards zero and saturates, and NaN becomes 0; C leaves all of this
undefined, so `tt_f32_to_i8` and its kin say it. Integers wrap into narrower integers.
"""
from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import (
    BOOL,
    FLOAT0,
    FLOAT64,
    DType,
    KeyType,
    canonicalize_dtype,
    dtype_of,
    is_complex,
    is_float,
    is_half,
    is_inexact,
    is_integer,
    is_weak,
    part_dtype,
    short_name,
)
from tinytrace.core.formulas import Formula, call, call_named, cast, operand, place, real_part, suffix
from tinytrace.core.jaxpr import Atom, Literal
from tinytrace.core.kinds import Kind, Routine, Scalar
from tinytrace.core.operations import BITS_OF_HALVES, HALVES_OF_BITS, operation
from tinytrace.core.primitive import NONE, Primitive, refuse
from tinytrace.core.storage_types import STORAGE_TYPES, bits_of, computed_type, integer_limits, rounded_to
from tinytrace.core.tangents import Zero
from tinytrace.primitives.checks import is_array
from tinytrace.primitives.elementwise import ANY_OR_KEY, FLOAT, Elementwise, LinearUnary, NDArray, c_kind, itself


def convert_element_type(operand: Any, new_dtype: Any = None, weak_type: bool = False) -> Any:
    """Convert each element to `new_dtype`: like a cast in C, but defined for every value.

    Floats become integers by truncation and saturate, NaN becomes 0; integers wrap into narrower ones.

    Returns: the operand itself when it is an array of that type already.
    Raises: TypeError for a dtype that no array can have; ValueError for typed keys.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.convert_element_type.html.

    >>> convert_element_type(np.float32(-1e9), np.int8)
    Array(-128, dtype=int8)
    """
    if hasattr(operand, "__jax_array__"):
        operand = operand.__jax_array__()
    if hasattr(new_dtype, "array_of"):  # a type of elements that says itself what arrays of it are
        return new_dtype.array_of(operand)
    old_dtype = dtype_of(operand, canonical=False)
    new_dtype = canonicalize_dtype(old_dtype if new_dtype is None else new_dtype)
    if isinstance(old_dtype, KeyType) or isinstance(new_dtype, KeyType):
        return _convert_keys(operand, old_dtype, new_dtype)
    old_weak_type = is_weak(operand)
    if is_complex(old_dtype) and not is_complex(new_dtype):
        warn_of_imaginary_part(stacklevel=3)
    if old_dtype == FLOAT0:  # the tangents of integers: zeros, where numbers are asked for
        operand, old_dtype = np.zeros(np.shape(operand), new_dtype), new_dtype
    if type(operand) is int:  # it may fit into the new dtype without fitting into int32
        operand, old_weak_type = np.asarray(operand).astype(new_dtype), False
    if is_array(operand) and old_dtype == new_dtype and old_weak_type == weak_type:
        return operand
    return convert_element_type_p.bind(operand, new_dtype=new_dtype, weak_type=bool(weak_type))


def warn_of_imaginary_part(stacklevel: int) -> None:
    """Warn as NumPy does where complex numbers become real ones."""
    warnings.warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning,
                  stacklevel)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """Read the bits of each element as one of `new_dtype`.

    Between widths the last dimension counts the parts: f32[n] is i8[n, 4], and i8[n, 4] is f32[n].

    Raises: TypeError between bool and another dtype; ValueError when the last dimension does not fill an element.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.bitcast_convert_type.html.

    >>> bitcast_convert_type(np.float32(1), np.int32)
    Array(1065353216, dtype=int32)
    """
    return bitcast_convert_type_p.bind(operand, new_dtype=canonicalize_dtype(new_dtype))


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round floats to those of a format with so many bits of exponent and mantissa, and keep their dtype.

    Raises: ValueError when `exponent_bits` is not positive or `mantissa_bits` is negative.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.reduce_precision.html.

    >>> reduce_precision(np.float32(1.2), exponent_bits=5, mantissa_bits=2)
    Array(1.25, dtype=float32)
    """
    return reduce_precision_p.bind(operand, exponent_bits=operator.index(exponent_bits),
                                   mantissa_bits=operator.index(mantissa_bits))


def copy(x: Any) -> Any:
    """Return an array with the same elements: an equation that no pass removes.

    >>> copy(np.float32(3))
    Array(3., dtype=float32)
    """
    return copy_p.bind(x)


# --- rooms -----------------------------------------------------------------------------------------------------

class ConvertElementType(Elementwise):
    """`convert_element_type[new_dtype=int32 weak_type=False] x: f32[n]` is i32[n]."""

    reads = NONE  # it knows every type itself

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply it; `sharding=None`, which JAX's callers may pass, says nothing."""
        params.pop("sharding", None)
        return super().bind(*args, **params)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, = avals
        return ShapedArray(x.shape, params["new_dtype"], params["weak_type"])

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        return params["new_dtype"]  # type: ignore[no-any-return]

    def ulp_of(self, dtypes: Sequence[DType], result: DType) -> float | None:
        if result in STORAGE_TYPES or computed_type(dtypes[0]) == result:
            return 0
        return 0.5 if is_half(result) else super().ulp_of(dtypes, result)

    def fold(self, atom: Atom, *, new_dtype: np.dtype[Any], weak_type: bool) -> Atom | None:
        """Return what an equation need not be written for: `atom` if it is of that type, or a converted literal."""
        out_aval = ShapedArray(atom.aval.shape, new_dtype, weak_type)
        if atom.aval == out_aval:
            return atom
        if not isinstance(atom, Literal) or isinstance(atom.val, np.generic):
            return None
        value = _convert(np.array(atom.val), new_dtype=new_dtype, weak_type=weak_type)
        if not weak_type:
            return Literal(value, out_aval)
        return Literal(value.item(), out_aval) if dtype_of(value.item()) == new_dtype else None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = self.bind(*primals, **params)
        return out, self.bind(*tangents, **params) if is_inexact(params["new_dtype"]) else Zero.from_primal_value(out)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        aval = args[0].aval
        if not is_inexact(aval.dtype):
            return [Zero(aval.update(dtype=FLOAT0, weak_type=False))]
        return [self.bind(ct, new_dtype=aval.dtype, weak_type=aval.weak_type)]


class BitcastConvertType(Primitive):
    """`bitcast_convert_type[new_dtype=int32] x: f32[n]` is i32[n], of the same bits."""

    name = "bitcast_convert_type"

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, = avals
        old, new = x.dtype, params["new_dtype"]
        if old != new and (BOOL in (old, new) or "c" in (old.kind, new.kind)):
            raise TypeError("lax.bitcast_convert_type does not support bool or complex values unless the operand and "
                            f"destination types match. Got operand dtype={old}, new_dtype={new!r}. Consider using the "
                            "arr.view() method instead.")
        return ShapedArray(_bitcast_shape(x, new), new)

    def impl(self, x: NDArray, *, new_dtype: np.dtype[Any]) -> NDArray:
        _check_whole_bytes(x, new_dtype)
        x = np.ascontiguousarray(x).reshape(x.shape)  # the first makes a scalar an array of one element
        old, new = x.dtype.itemsize, new_dtype.itemsize
        if old == new:
            return x.view(new_dtype)
        if old > new:
            return x[..., np.newaxis].view(new_dtype)
        return x.view(new_dtype)[..., 0]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = self.bind(*primals, **params)
        return out, Zero.from_primal_value(out)

    transpose = refuse("bits are not linear")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        return self.bind(*args, **params), dims[0]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        (old,), (new,) = in_avals, out_avals
        _check_whole_bytes(old, new.dtype)
        if old.shape != new.shape or (is_half(new.dtype) and is_float(old.dtype)):
            return Routine((call_named("__builtin_memcpy", place("out0"), place("in0"), new.nbytes),))
        formula = _bitcast(operand(0, old.dtype), new.dtype)
        return Scalar(operation(self.name, (old.dtype,), new.dtype, formula, self.in_numpy(params), 0))


class ReducePrecision(LinearUnary):
    """`reduce_precision[exponent_bits=5 mantissa_bits=10] x`: every element as if it had gone through float16."""

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        if params["exponent_bits"] < 1:
            raise ValueError(f"reduce_precision: exponent_bits must be positive; got {params['exponent_bits']}")
        if params["mantissa_bits"] < 0:
            raise ValueError(f"reduce_precision: mantissa_bits must be non-negative; got {params['mantissa_bits']}")
        return super().abstract_eval(*avals, **params)


# --- meanings in NumPy -----------------------------------------------------------------------------------------

def _convert(x: NDArray, *, new_dtype: np.dtype[Any], weak_type: bool) -> NDArray:
    if is_complex(x.dtype) and not (is_complex(new_dtype) or new_dtype == BOOL):
        return _convert(x.real, new_dtype=new_dtype, weak_type=weak_type)
    if x.dtype in STORAGE_TYPES:
        x = x.astype(computed_type(x.dtype))
    if is_float(x.dtype) and is_integer(new_dtype):
        return _float_to_integer(x, computed_type(new_dtype), integer_limits(new_dtype)).astype(new_dtype, copy=False)
    return rounded_to(x, new_dtype) if new_dtype in STORAGE_TYPES else x.astype(new_dtype)


def _float_to_integer(x: NDArray, dtype: np.dtype[Any], info: Any) -> NDArray:
    if x.size and x.dtype.itemsize >= 4:
        least, greatest = np.minimum.reduce(x, None), np.maximum.reduce(x, None)
        if least >= info.min and greatest < info.max / 2:  # no NaN either
            return x.astype(dtype)
    wide = np.trunc(np.asarray(x).astype(np.float64))
    # The largest integer of 64 bits is no float64: what reaches 2**63 saturates before it is converted.
    below, above = wide <= info.min, wide >= float(info.max)
    inside = np.where(below | above | np.isnan(wide), 0.0, wide).astype(dtype)
    return np.where(above, dtype.type(int(info.max)), np.where(below, dtype.type(int(info.min)), inside))


def _reduce_precision(x: NDArray, *, exponent_bits: int, mantissa_bits: int) -> NDArray:
    """Round the mantissa to even on the bits, then send what leaves the exponent's range to infinity or zero."""
    if x.dtype.itemsize == 2:
        return _reduce_precision(x.astype(np.float32), exponent_bits=exponent_bits,
                                 mantissa_bits=mantissa_bits).astype(x.dtype)
    mantissa, exponent, word = (23, 8, np.uint32) if x.dtype.itemsize == 4 else (52, 11, np.uint64)
    bits: Any = np.asarray(x).view(word)
    sign = bits & (word(1) << word(mantissa + exponent))
    magnitude = bits ^ sign
    if mantissa_bits < mantissa:
        dropped = word(mantissa - mantissa_bits)
        last_kept = magnitude >> dropped & word(1)
        magnitude = magnitude + (word(1) << dropped >> word(1)) - word(1) + last_kept >> dropped << dropped
    if exponent_bits < exponent:
        bias, small_bias = 2 ** (exponent - 1) - 1, 2 ** (exponent_bits - 1) - 1
        infinity = word(2 ** exponent - 1 << mantissa)
        magnitude = np.where(magnitude >= word(bias + small_bias + 1 << mantissa), infinity, magnitude)
        magnitude = np.where(magnitude < word(bias - small_bias + 1 << mantissa), word(0), magnitude)
    return np.where(np.isnan(x), x, (sign | magnitude).view(x.dtype))


# --- meanings in C ---------------------------------------------------------------------------------------------

def c_type(dtype: DType) -> str:
    """Return the C type in which elements of `dtype` are computed: half floats are `float`, bool is `uint8_t`.

    >>> c_type(np.dtype("float16")), c_type(np.dtype("uint16"))
    ('float', 'uint16_t')
    """
    dtype = computed_type(dtype)
    if c_kind(dtype) == "f":
        return "double" if dtype.itemsize == 8 else "float"
    if is_complex(dtype):
        return f"{c_type(part_dtype(dtype))} _Complex"
    return f"{'int' if dtype.kind == 'i' else 'uint'}{8 * dtype.itemsize}_t"


def _converted(x: Formula, *, new_dtype: np.dtype[Any], weak_type: bool) -> Formula:
    assert x.dtype is not None
    if x.dtype == new_dtype:
        return x
    if x.dtype in STORAGE_TYPES:
        wide = computed_type(x.dtype)
        read = call_named(f"tt_{short_name(x.dtype)}_to_{suffix(wide)}", x)
        return _converted(Formula(read.op, read.args, wide), new_dtype=new_dtype, weak_type=weak_type)
    if new_dtype == BOOL:
        return x.differs(0)
    if is_complex(x.dtype) and not is_complex(new_dtype):  # the imaginary part is dropped
        part = real_part(x)
        return _converted(part, new_dtype=new_dtype, weak_type=weak_type)
    if new_dtype in STORAGE_TYPES:
        return call_named(f"tt_{suffix(computed_type(new_dtype))}_to_{short_name(new_dtype)}", _in_reach(x, new_dtype))
    if c_kind(x.dtype) == "f" and c_kind(new_dtype) in "iu":
        return _truncated(x, x.dtype, new_dtype)
    if x.dtype == BOOL and c_kind(new_dtype) == "f":
        return cast(c_type(new_dtype), cast("int32_t", x))  # gcc has no vectors for a comparison that becomes a float
    return x if c_type(x.dtype) == c_type(new_dtype) else cast(c_type(new_dtype), x)


def _in_reach(x: Formula, dtype: DType) -> Formula:
    """Return a number that is written as an element of a type that is only kept, as C writes it: a float or an int."""
    assert x.dtype is not None
    if is_integer(dtype):
        return _truncated(x, x.dtype, dtype) if c_kind(x.dtype) == "f" else x
    if c_kind(x.dtype) != "f":
        return call_named("tt_round_f16", cast("float", x))
    by = STORAGE_TYPES[dtype].rounded_by
    if by is None:
        return call_named("tt_f64_to_odd_f32", x) if x.dtype == FLOAT64 else x
    return x if by == x.dtype else call_named("tt_round_f16", cast("float", x) if x.dtype == FLOAT64 else x)


def _truncated(x: Formula, source: DType, dtype: np.dtype[Any]) -> Formula:
    if dtype.itemsize >= 4:
        return call_named(f"tt_{suffix(source)}_to_{suffix(dtype)}", x)
    info = integer_limits(dtype)
    return call_named(f"tt_{suffix(source)}_to_narrow", x, int(info.min), int(info.max))


def _bitcast(x: Formula, new: DType) -> Formula:
    assert x.dtype is not None
    if x.dtype == new:
        return x
    if is_half(x.dtype):
        return cast(c_type(new), call_named(BITS_OF_HALVES[x.dtype], x))
    bits = call("bits", x) if c_kind(x.dtype) == "f" and x.dtype not in STORAGE_TYPES else x
    if new in STORAGE_TYPES:
        return cast("uint8_t", bits)
    if is_half(new):
        return call_named(HALVES_OF_BITS[new], bits)
    return call_named(f"tt_float_{suffix(new)}", bits) if c_kind(new) == "f" else cast(c_type(new), bits)


def _bitcast_shape(x: ShapedArray, new: np.dtype[Any]) -> tuple[int, ...]:
    old_size, new_size = x.dtype.itemsize, new.itemsize
    if old_size == new_size:
        return x.shape
    if old_size > new_size:
        return (*x.shape, old_size // new_size)
    last = x.shape[-1] if x.shape else 1
    if last * old_size != new_size:
        raise ValueError(f"Attempting to convert array of shape {x.shape} from {x.dtype} of size {old_size} to {new} "
                         f"of size {new_size}, but {last} * {old_size} != {new_size}")
    return x.shape[:-1]


def _check_whole_bytes(x: Any, new: DType) -> None:
    """Raise ValueError between types of which one has less than a byte, as JAX 0.4.35 does when it compiles."""
    bits = bits_of(x.dtype), bits_of(new)
    if min(bits) >= 8 or bits[0] == bits[1]:
        return
    why = f"requires compatible bit widths. Got: {x.dtype} and {new}, but {bits[0]} != {bits[1]}." \
        if x.dtype.itemsize != new.itemsize else \
        f"rank of smaller element type ({x.ndim}) should be 1 more than rank of larger element type ({x.ndim}), but " \
        f"{x.ndim} != {x.ndim} + 1."
    raise ValueError(f"Cannot lower jaxpr with verifier errors:\n\t{why} Elements of {min(bits)} bits take a byte "
                     "each: convert them (x.astype) instead of reading their bits.")


def _convert_keys(operand: Any, old: Any, new: Any) -> Any:
    if old == new:
        return operand
    raise ValueError(f"Cannot convert_element_type from {old.name} to {new.name}. Typed PRNG keys are opaque: use "
                     "jax.random.key_data to read their words and jax.random.wrap_key_data to make keys of words.")


def _copied(x: NDArray) -> NDArray:
    return np.array(x)


convert_element_type_p = ConvertElementType("convert_element_type", ANY_OR_KEY, _convert, {"fiubcKV": _converted},
                                            laws="monotone")
bitcast_convert_type_p = BitcastConvertType()
reduce_precision_p = ReducePrecision("reduce_precision", FLOAT, _reduce_precision,
                                     lambda x, exponent_bits, mantissa_bits:
                                     call("reduce_precision", x, exponent_bits, mantissa_bits),
                                     ulp=0, laws="idempotent odd monotone")
copy_p = LinearUnary("copy", ANY_OR_KEY, _copied, {"fiubcKV": itself}, ulp=0, laws="idempotent odd monotone")

