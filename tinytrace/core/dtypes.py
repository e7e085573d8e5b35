"""The types of numbers: canonical dtypes, 64-bit truncation, and JAX's promotion lattice with weak types.

A Python scalar is *weakly* typed: `x + 1` keeps the type of `x`. The lattice below is the whole rule: a
join of two nodes is the type of a binary operation, and the weak nodes `i*`, `f*` stand for Python's int and
float. Source: JAX, "Type promotion semantics" (docs/type_promotion.rst) and JEP 9407.
"""
from __future__ import annotations

import functools
import warnings
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np

from tinytrace.config import config
from tinytrace.core.storage_types import SMALL_FLOATS, SMALL_INTEGERS, STORAGE_TYPES, computed_type


class extended(np.generic):  # noqa: N801 (JAX's name)
    """What all element types are that NumPy does not know; see `jax.dtypes.extended`."""


class prng_key(extended):  # noqa: N801 (JAX's name)
    """What all element types of typed PRNG keys are: `jnp.issubdtype(key.dtype, jax.dtypes.prng_key)`."""


class KeyType:
    """The element type of typed PRNG key arrays (`key<fry>`): uint32 words that only `random` may read.

    Args: impl: the tag of the generator in texts; generator: its name; words: how many one key has.
    """

    kind = "K"
    type = prng_key

    def __init__(self, impl: str, generator: str, words: int, key_shape: tuple[int, ...] = ()) -> None:
        self.impl = impl
        self.generator = generator
        self.words = words
        self.key_shape = key_shape or (words,)
        """The shape of one key as words."""
        self.itemsize = 4 * words
        self.name = f"key<{impl}>"
        self.storage = np.dtype(np.uint64) if words == 2 else np.dtype([(impl, np.uint32, words)])
        """The NumPy type of keys in memory: no two generators have the same."""

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return f"KEY_{self.impl.upper()}"  # there is one object of each key type: a copy is the same object


DType: TypeAlias = np.dtype[Any]
"""The type of an array's elements. `KeyType` passes for one: it has all that is asked of a dtype here."""

KEY_FRY = cast(DType, KeyType("fry", "threefry2x32", 2))
KEY_RBG = cast(DType, KeyType("rbg", "rbg", 4))
KEY_URBG = cast(DType, KeyType("urbg", "unsafe_rbg", 4))
KEY_TYPES: dict[str, DType] = {"fry": KEY_FRY, "rbg": KEY_RBG, "urbg": KEY_URBG}
"""The types of keys by the tags of their generators."""

FLOAT0 = np.dtype([("float0", np.void, 0)])
"""The tangent type of integers: no bytes, no information (`jax.dtypes.float0`)."""

BOOL = np.dtype(np.bool_)
INT16, INT32 = np.dtype(np.int16), np.dtype(np.int32)
INT64 = np.dtype(np.int64)
UINT32 = np.dtype(np.uint32)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)
BFLOAT16: DType = np.dtype(ml_dtypes.bfloat16)

_SHORT_NAMES = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}
_FLOATS_BESIDE_NUMPY = SMALL_FLOATS | {BFLOAT16}
_NARROW = {
    np.dtype(np.int64): INT32,
    np.dtype(np.uint64): UINT32,
    np.dtype(np.float64): FLOAT32,
    COMPLEX128: COMPLEX64,
}
_PYTHON_SCALARS: dict[type, np.dtype[Any]] = {bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}
SUPPORTED = frozenset(
    [BOOL, FLOAT16, BFLOAT16, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128]
    + [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)] + list(STORAGE_TYPES)
)


def _known(narrow: bool) -> dict[Any, DType]:
    """Pair dtypes, and the types of their scalars, with what `canonicalize_dtype` makes of them."""
    table: dict[Any, DType] = {}
    for dtype in SUPPORTED | frozenset(_NARROW):
        table[dtype] = table[dtype.type] = _NARROW.get(dtype, dtype) if narrow else dtype
    table.update({kind: table[np.dtype(kind)] for kind in (bool, int, float, complex)})
    return table


_KNOWN = (_known(narrow=True), _known(narrow=False))


def canonicalize_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype that values of `dtype` really have: 64-bit types narrow unless `enable_x64` is on.

    Raises TypeError for a dtype that no array here can have (strings, objects).

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    if isinstance(dtype, KeyType):
        return cast(DType, dtype)
    known = _KNOWN[config.enable_x64].get(dtype) if type(dtype) is type or isinstance(dtype, np.dtype) else None
    if known is not None:
        return known
    result = to_numpy_dtype(dtype)
    if not config.enable_x64:
        result = _NARROW.get(result, result)
    if result in SUPPORTED or result == FLOAT0:
        return result
    raise TypeError(f"Dtype {result} is not a valid JAX array type. Only arrays of numeric types are supported by JAX.")


def canonicalized(dtype: DType) -> DType:
    """Return what `canonicalize_dtype` does of a dtype that may be one that no array can have.

    >>> canonicalized(np.dtype("float64"))
    dtype('float32')
    """
    return dtype if config.enable_x64 else _NARROW.get(dtype, dtype)


def to_numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """Return `np.dtype(dtype)`, where Python's `int`, `float`, `bool` and scalar constructors also count."""
    if dtype is None:
        raise TypeError("dtype must be given here, got None")
    inner = getattr(dtype, "dtype", dtype)
    if not isinstance(inner, (np.dtype, KeyType)):  # `np.int32.dtype` is a descriptor of the class
        inner = dtype
    if isinstance(inner, (np.dtype, KeyType)):
        return cast(DType, inner)
    if isinstance(inner, str) and inner == "bfloat16":
        return BFLOAT16
    return cast(DType, np.dtype(inner))


def warn_if_truncated(requested: Any, function: str = "") -> None:
    """Warn as JAX does when an explicitly requested 64-bit dtype is narrowed."""
    if type(requested) is type and requested in _PYTHON_SCALARS:
        return
    wanted = to_numpy_dtype(requested)
    got = canonicalize_dtype(wanted)
    if wanted != got:
        shown = requested if isinstance(requested, type) else wanted
        where = f"requested in {function}" if function else ""
        warnings.warn(
            f"Explicitly requested dtype {shown} {where} is not available, and will be truncated to dtype {got.name}. "
            "To enable more dtypes, set the jax_enable_x64 configuration option or the JAX_ENABLE_X64 shell "
            "environment variable. See https://github.com/jax-ml/jax#current-gotchas for more.", stacklevel=4)


@functools.cache
def short_name(dtype: DType) -> str:
    """Return the name used in jaxprs: `f32`, `i8`, `bool`, `bf16`, `f8_e5m2`, `key<fry>`."""
    if dtype == FLOAT0:
        return "float0"
    stem = dtype.name.partition("_")[0].rstrip("0123456789")
    return _SHORT_NAMES.get(stem, stem) + dtype.name[len(stem):]


SHORT_NAMES = frozenset(map(short_name, SUPPORTED))
"""The dtypes of arrays as jaxprs write them."""


def scalar_type_of(x: Any) -> type:
    """Return the Python scalar type (bool, int, float, complex) that dtype or value `x` belongs to."""
    dtype = dtype_of(x, canonical=False)
    for is_one, result in ((is_float, float), (is_integer, int), (is_complex, complex)):
        if is_one(dtype):
            return result
    if dtype == BOOL:
        return bool
    raise TypeError(f"Invalid scalar value {x}")


def is_float(dtype: DType) -> bool:
    """Is this a real floating point type (bfloat16 and those of eight bits included)?"""
    return dtype.kind == "f" or dtype in _FLOATS_BESIDE_NUMPY


def is_complex(dtype: DType) -> bool:
    """Is this complex64 or complex128?"""
    return dtype.kind == "c"


def is_inexact(dtype: DType) -> bool:
    """Is this a type of real or complex floats: one that has tangents?"""
    return is_float(dtype) or dtype.kind == "c"


def part_dtype(dtype: DType) -> DType:
    """Return the type of the real and imaginary parts of complex numbers, and any other type as it is.

    >>> part_dtype(np.dtype("complex64"))
    dtype('float32')
    """
    if dtype.kind != "c":
        return dtype
    return FLOAT64 if dtype == COMPLEX128 else FLOAT32


def complex_dtype(dtype: DType) -> DType:
    """Return the type of complex numbers that hold elements of `dtype`: complex128 for 64-bit floats.

    >>> complex_dtype(np.dtype("float64")), complex_dtype(np.dtype("int32"))
    (dtype('complex128'), dtype('complex64'))
    """
    return COMPLEX128 if dtype in (FLOAT64, COMPLEX128) else COMPLEX64


def is_half(dtype: DType) -> bool:
    """Is this a two-byte float, which compiled code computes as float32?"""
    return is_float(dtype) and dtype.itemsize == 2


def element_size(dtype: DType) -> int:
    """Return the bytes of one element in memory."""
    return 0 if dtype == FLOAT0 else dtype.itemsize


def is_integer(dtype: DType) -> bool:
    """Is this a signed or unsigned integer type (bool is not)?"""
    return dtype.kind in "iu" or dtype in SMALL_INTEGERS


def is_discrete(dtype: DType) -> bool:
    """Is this bool or an integer type?"""
    return dtype.kind == "b" or is_integer(dtype)


def is_unsigned(dtype: DType) -> bool:
    """Is this an unsigned integer type?"""
    return computed_type(dtype).kind == "u"


def dtype_of(x: Any, canonical: bool = True) -> np.dtype[Any]:
    """Return the dtype of a value, a Python scalar or a dtype-like thing."""
    dtype: Any = _PYTHON_SCALARS.get(type(x)) or (_PYTHON_SCALARS.get(x) if isinstance(x, type) else None)
    if dtype is None:
        is_dtype = isinstance(x, (type, str, np.dtype, KeyType))
        try:
            dtype = to_numpy_dtype(x) if is_dtype else getattr(x, "dtype", None)
        except TypeError as error:
            raise TypeError(f"Cannot determine dtype of {x}") from error
        if dtype is None:
            dtype = np.asarray(x).dtype
    return canonicalize_dtype(dtype) if canonical else dtype


def is_weak(x: Any) -> bool:
    """Is `x` weakly typed: a Python scalar, or an array or tracer that came from one?"""
    return type(x) in (int, float, complex) or bool(getattr(x, "weak_type", False))


# --- the lattice ---------------------------------------------------------------------------------------------

_WEAK_NODES = {bool: BOOL, int: "i*", float: "f*", complex: "c*"}


def _edges() -> dict[Any, list[Any]]:
    def types(*names: str) -> list[np.dtype[Any]]:
        return [np.dtype(name) for name in names]

    i1, i2, i4, i8 = types("int8", "int16", "int32", "int64")
    u1, u2, u4, u8 = types("uint8", "uint16", "uint32", "uint64")
    f2, f4, f8, c4, c8 = types("float16", "float32", "float64", "complex64", "complex128")
    return {
        BOOL: ["i*"], "i*": [u1, i1, *SMALL_INTEGERS], u1: [i2, u2], u2: [i4, u4], u4: [i8, u8],
        i1: [i2], i2: [i4], i4: [i8], i8: ["f*"], u8: ["f*"],
        "f*": ["c*", f2, BFLOAT16, *SMALL_FLOATS], f2: [f4], BFLOAT16: [f4], f4: [f8, c4], f8: [c8],
        "c*": [c4], c4: [c8], c8: [],
        **{dtype: [] for dtype in STORAGE_TYPES},  # nothing is wider by itself
    }


@functools.cache
def _upper_bounds() -> dict[Any, frozenset[Any]]:
    edges = _edges()
    return {node: _reached(node, edges) for node in edges}


def _reached(node: Any, edges: dict[Any, list[Any]]) -> frozenset[Any]:
    return frozenset([node]).union(*(_reached(wider, edges) for wider in edges[node]))


@functools.cache
def _least_upper_bound(*nodes: Any) -> Any:
    bounds = _upper_bounds()
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    least = [node for node in common if common <= bounds[node]]
    if least:
        return least[0]
    kinds, to = ("8-bit floats", "float32") if any(node in SMALL_FLOATS for node in nodes) else (
        "2-bit and 4-bit integers", "int32")
    raise TypePromotionError(
        f"Input dtypes {_named(nodes)} have no available implicit dtype promotion path. To avoid unintended promotion, "
        f"{kinds} do not support implicit promotion. If you'd like your inputs to be promoted to another type, you can "
        f"do so explicitly using e.g. x.astype('{to}')")


def _named(nodes: tuple[Any, ...]) -> tuple[str, ...]:
    python_types = {name: str(python_type) for python_type, name in _WEAK_NODES.items() if python_type is not bool}
    return tuple(python_types.get(node, "") if isinstance(node, str) else str(node) for node in nodes)


@functools.cache
def _result(nodes: tuple[Any, ...], x64: bool) -> tuple[np.dtype[Any], bool]:
    node = _least_upper_bound(*nodes)
    if node in ("i*", "f*", "c*"):
        python_type = {"i*": int, "f*": float, "c*": complex}[node]
        return canonicalize_dtype(_PYTHON_SCALARS[python_type]), True
    return canonicalize_dtype(node), False


def promote_types(a: Any, b: Any) -> np.dtype[Any]:
    """Return the dtype of a binary operation on strong types `a` and `b`.

    >>> promote_types("int32", "float16")
    dtype('float16')
    """
    nodes = tuple(_WEAK_NODES[t] if isinstance(t, type) and t in _WEAK_NODES and t is not bool else to_numpy_dtype(t)
                  for t in (a, b))
    if config.numpy_dtype_promotion == "strict" and nodes[0] != nodes[1]:
        weak = [isinstance(node, str) for node in nodes]
        _check_strict([canonicalize_dtype(t) for t in (a, b)], weak)
    return _result(nodes, config.enable_x64)[0]


def result_type_and_weak(*args: Any) -> tuple[np.dtype[Any], bool]:
    """Return (dtype, weak_type) of an operation over `args`: values, tracers, Python scalars or dtypes.

    None stands for NumPy's default, float64. Raises ValueError when there are no `args`.
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    args = tuple(FLOAT64 if arg is None else arg for arg in args)
    dtypes = [dtype_of(arg) for arg in args]
    weak = [is_weak(arg) or arg in (int, float, complex) if isinstance(arg, type) else is_weak(arg) for arg in args]
    if all(d is dtypes[0] or d == dtypes[0] for d in dtypes):
        return dtypes[0], all(weak) and dtypes[0] != BOOL
    if config.numpy_dtype_promotion == "strict":
        _check_strict(dtypes, weak)
    elif all(weak):  # the widest of them, and weak: a weak int8 and a weak int16 make a weak int16
        dtype = _result(tuple(dtypes), config.enable_x64)[0]
        return dtype, dtype != BOOL
    nodes = tuple(_WEAK_NODES[scalar_type_of(d)] if w else d for d, w in zip(dtypes, weak, strict=True))
    return _result(nodes, config.enable_x64)


def result_type(*args: Any) -> np.dtype[Any]:
    """Return the dtype of an operation over `args`; see `jax.numpy.result_type`.

    What is weak has the widest dtype of its kind, also where an operation keeps a narrower one.

    >>> result_type(1, np.float16(2))
    dtype('float16')
    """
    dtype, weak = result_type_and_weak(*args)
    return canonicalize_dtype(np.uint64 if dtype.kind == "u" else scalar_type_of(dtype)) if weak else dtype


def _check_strict(dtypes: list[np.dtype[Any]], weak: list[bool]) -> None:
    strong = {d for d, w in zip(dtypes, weak, strict=True) if not w}
    kinds = {"bool": 0, "int": 1, "float": 2, "complex": 3}
    highest = max((kinds[scalar_type_of(d).__name__] for d in strong), default=3)
    too_wide = any(kinds[scalar_type_of(d).__name__] > highest for d, w in zip(dtypes, weak, strict=True) if w)
    if len(strong) > 1 or too_wide:
        names = [str(scalar_type_of(d)) if w else d.name for d, w in zip(dtypes, weak, strict=True)]
        raise TypePromotionError(
            f"Input dtypes {tuple(dict.fromkeys(names))} have no available implicit dtype promotion path when "
            f"jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the desired output type, or set "
            f"jax_numpy_dtype_promotion=standard.")


class TypePromotionError(ValueError):
    """Two dtypes have no implicit common type."""
