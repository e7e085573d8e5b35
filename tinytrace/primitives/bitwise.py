"""Operations on bits: and, or, xor, not, shifts, population count, leading zeros. On bool the first four are logical.

A shift by a negative distance or by the width of the type or more moves every bit out: the result is 0, or the sign
for `shift_right_arithmetic`. C leaves that undefined and the processor wraps the distance, so `tt_shl_*` and its kin
say it themselves.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.formulas import Formula, FormulaLike, call, call_named, cast, negated
from tinytrace.core.primitive import NONE
from tinytrace.core.storage_types import STORAGE_TYPES
from tinytrace.primitives.elementwise import BITS, CONSTANT, INTEGER, Elementwise, NDArray


def bitwise_and(x: Any, y: Any) -> Any:
    """Combine the bits of integers (or bools) by AND. Returns the operands' dtype.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.bitwise_and.html.

    >>> bitwise_and(np.int32(6), np.int32(3))
    Array(2, dtype=int32)
    """
    return and_p.bind(x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """Combine the bits of integers (or bools) by OR. Returns the operands' dtype.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.bitwise_or.html.

    >>> bitwise_or(np.int32(6), np.int32(3))
    Array(7, dtype=int32)
    """
    return or_p.bind(x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """Combine the bits of integers (or bools) by exclusive OR. Returns the operands' dtype.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.bitwise_xor.html.

    >>> bitwise_xor(np.int32(6), np.int32(3))
    Array(5, dtype=int32)
    """
    return xor_p.bind(x, y)


def bitwise_not(x: Any) -> Any:
    """Invert every bit of an integer, or a truth value.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.bitwise_not.html.

    >>> bitwise_not(np.uint8(1))
    Array(254, dtype=uint8)
    """
    return not_p.bind(x)


def shift_left(x: Any, y: Any) -> Any:
    """Move the bits of `x` up by `y` places; 0 when `y` is negative or not less than the width.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.shift_left.html.

    >>> shift_left(np.int32(3), np.int32(4))
    Array(48, dtype=int32)
    """
    return shift_left_p.bind(x, y)


def shift_right_logical(x: Any, y: Any) -> Any:
    """Move the bits of `x` down by `y` places and fill with 0; 0 when `y` is negative or not less than the width.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.shift_right_logical.html.

    >>> shift_right_logical(np.int8(-1), np.int8(4))
    Array(15, dtype=int8)
    """
    return shift_right_logical_p.bind(x, y)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """Move the bits of `x` down by `y` places and fill with the sign, of which a large or negative `y` leaves only it.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.shift_right_arithmetic.html.

    >>> shift_right_arithmetic(np.int8(-8), np.int8(1))
    Array(-4, dtype=int8)
    """
    return shift_right_arithmetic_p.bind(x, y)


def population_count(x: Any) -> Any:
    """Count the bits of an integer that are 1.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.population_count.html.

    >>> population_count(np.int8(-1))
    Array(8, dtype=int8)
    """
    return population_count_p.bind(x)


def clz(x: Any) -> Any:
    """Count the zero bits above the highest bit that is 1; the width of the type for 0.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.clz.html.

    >>> clz(np.int16(1))
    Array(15, dtype=int16)
    """
    return clz_p.bind(x)


# --- meanings in NumPy -----------------------------------------------------------------------------------------

def _unsigned(x: NDArray) -> NDArray:
    return np.asarray(x).view(f"u{x.dtype.itemsize}")


def _in_range(distance: NDArray) -> Any:
    return _unsigned(distance) < 8 * distance.dtype.itemsize


def _shift_left(x: NDArray, y: NDArray) -> Any:
    inside = _in_range(y)
    return np.where(inside, np.left_shift(x, np.where(inside, y, y.dtype.type(0))), x.dtype.type(0))


def _shift_right_logical(x: NDArray, y: NDArray) -> Any:
    inside = _in_range(y)
    shifted = np.right_shift(_unsigned(x), _unsigned(np.where(inside, y, y.dtype.type(0)))).view(x.dtype)
    return np.where(inside, shifted, x.dtype.type(0))


def _shift_right_arithmetic(x: NDArray, y: NDArray) -> Any:
    if x.dtype.kind == "u":  # as XLA: the highest bit is a sign here too
        signed = f"i{x.dtype.itemsize}"
        return np.asarray(_shift_right_arithmetic(np.asarray(x).view(signed), np.asarray(y).view(signed))).view(x.dtype)
    return np.right_shift(x, np.where(_in_range(y), y, y.dtype.type(8 * x.dtype.itemsize - 1)))


def _population_count(x: NDArray) -> Any:
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def _clz(x: NDArray) -> Any:
    bits = _unsigned(x)
    width = 8 * x.dtype.itemsize
    for distance in (1, 2, 4, 8, 16, 32):  # smear the highest one to the right: the zeros left are those asked for
        if distance < width:
            bits = bits | bits >> bits.dtype.type(distance)
    return (width - np.bitwise_count(bits)).astype(x.dtype)


# --- meanings in C: 8 and 16 bits are computed in words of 32 -----------------------------------------------------

def _width(x: Formula) -> int:
    assert x.dtype is not None
    return 8 * x.dtype.itemsize


def _on_words(name: str, kind: str, x: Formula, *others: FormulaLike) -> Formula:
    """Return the function `name` for words that hold `x`, signed ("i") or unsigned ("u").

    x is converted to its own width first, so that a narrow negative number has no bits above its width.
    """
    assert x.dtype is not None
    own = x if x.dtype.kind == kind else cast(f"{'u' * (kind == 'u')}int{_width(x)}_t", x)
    return call_named(f"tt_{name}_{kind}{max(_width(x), 32)}", own, *others)


def _counted(name: str, x: Formula) -> Formula:
    """Return the number of bits that the function `name` counts, in words as wide as `x`."""
    assert x.dtype is not None
    return call_named(f"tt_{name}_u{_width(x)}", x if x.dtype.kind == "u" else cast(f"uint{_width(x)}_t", x))


# --- rooms -----------------------------------------------------------------------------------------------------

LATTICE = "commutative associative idempotent"

and_p = Elementwise("and", [BITS, BITS], np.bitwise_and, lambda x, y: x & y, CONSTANT, laws=LATTICE)
or_p = Elementwise("or", [BITS, BITS], np.bitwise_or, lambda x, y: x | y, CONSTANT, laws=LATTICE)
xor_p = Elementwise("xor", [BITS, BITS], np.bitwise_xor, lambda x, y: x ^ y, CONSTANT,
                    laws="commutative associative")
not_p = Elementwise("not", BITS, np.invert, {"b": negated, "iu": lambda x: ~x}, CONSTANT, laws="involution")


class OnWords(Elementwise):
    """What depends on the width of a word, which integers of less than a byte are not computed in."""

    reads = NONE

    def check_runnable(self, *operands: Any) -> None:
        if any(x.dtype in STORAGE_TYPES for x in operands):
            raise NotImplementedError(f"{self.name} of {operands[0].dtype} is not implemented in tinytrace: elements "
                                      "of less than a byte are computed as bytes. Convert them first: x.astype(int8).")
        super().check_runnable(*operands)


shift_left_p = Elementwise("shift_left", [INTEGER, INTEGER], _shift_left,
                           lambda x, y: call("shl", x, y, _width(x)), CONSTANT)
shift_right_logical_p = OnWords("shift_right_logical", [INTEGER, INTEGER], _shift_right_logical,
                                lambda x, y: _on_words("shr", "u", x, y, _width(x)), CONSTANT)
shift_right_arithmetic_p = OnWords("shift_right_arithmetic", [INTEGER, INTEGER], _shift_right_arithmetic,
                                   lambda x, y: _on_words("sar", "i", x, y, _width(x)), CONSTANT)
population_count_p = OnWords("population_count", INTEGER, _population_count,
                             lambda x: _counted("popcount", x))
clz_p = OnWords("clz", INTEGER, _clz, lambda x: _counted("clz", x))
