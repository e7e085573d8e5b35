"""The ways to fold many elements into one: what it is to take in one more, and what a fold of nothing is.

    monoid("sum", "add", lambda x, y: x + y, np.add, lambda dtype: 0, laws="commutative", clause="+")

states one, for NumPy and for C; reductions, running folds, scatters and the code generator find it by its name, and
nothing else knows it. A room may state its own: see `docs/exercise.md`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.dtypes import BOOL, DType, is_complex, is_float
from tinytrace.core.formulas import Formula, call, choose, either, follows, product
from tinytrace.core.storage_types import computed_type, infinity, integer_limits
from tinytrace.records import NamedTuple


class Monoid(NamedTuple):
    """A fold: an operation on what is folded so far and the next element, and the element that changes nothing."""

    name: str
    operation: str
    """The name in the operation's record: where a primitive computes the same, that one's."""
    formula: Callable[[Formula, Formula], Formula]
    """The meaning in C."""
    ufunc: Any
    """The meaning in NumPy: a `np.ufunc` of two operands."""
    identity: Callable[[DType], Any]
    laws: str = ""
    """Names from `core.operations.LAWS`, with blanks between them."""
    clause: str = ""
    """What `#pragma omp simd reduction` calls it; nothing: there is no word for it, and its loops keep their order."""
    of_two: Callable[..., Any] | None = None
    """The meaning of one step in NumPy, where the ufunc does more than C: C's `y > x` says nothing of a NaN."""


monoids: dict[str, Monoid] = {}
"""Every fold by name."""


def monoid(name: str, operation: str, formula: Callable[[Formula, Formula], Formula], ufunc: Any,
           identity: Callable[[DType], Any], *, laws: str = "", clause: str = "",
           of_two: Callable[..., Any] | None = None) -> Monoid:
    """State a fold; see `Monoid`.

    Raises: ValueError if another one has this name.
    """
    if name in monoids:
        raise ValueError(f"there is a fold called {name!r} already: give this one a name of its own")
    monoids[name] = Monoid(name, operation, formula, ufunc, identity, laws, clause, of_two)
    return monoids[name]


def identity(combine: str, dtype: np.dtype[Any]) -> Any:
    """Return the value that `combine` with any other leaves as it is: what a reduction of nothing gives.

    >>> identity("max", np.dtype("int8"))
    np.int8(-128)
    """
    return np.array(monoids[combine].identity(dtype), dtype)[()]


def _lowest(dtype: DType) -> Any:
    if is_complex(dtype):
        return complex(-np.inf, -np.inf)
    if is_float(dtype):
        return -infinity(dtype)
    assert isinstance(dtype, np.dtype)
    return False if dtype == BOOL else int(integer_limits(dtype).min)


def _highest(dtype: DType) -> Any:
    if is_complex(dtype):
        return complex(np.inf, np.inf)
    if is_float(dtype):
        return infinity(dtype)
    assert isinstance(dtype, np.dtype)
    return True if dtype == BOOL else int(integer_limits(dtype).max)


def _zero(dtype: DType) -> Any:
    return 0


def _all_ones(dtype: DType) -> Any:
    return True if dtype == BOOL else -1 if computed_type(dtype).kind == "i" else _highest(dtype)


_BITS = "commutative associative"

monoid("sum", "add", lambda x, y: x + y, np.add, _zero, laws="commutative", clause="+")
monoid("sub", "sub", lambda x, y: x - y, np.subtract, _zero)  # of scatters alone: what is folded is subtracted
monoid("prod", "mul", product, np.multiply, lambda dtype: 1, laws="commutative", clause="*")
monoid("and", "and", lambda x, y: x & y, np.bitwise_and, _all_ones, laws=f"{_BITS} idempotent", clause="&")
monoid("or", "or", lambda x, y: x | y, np.bitwise_or, _zero, laws=f"{_BITS} idempotent", clause="|")
monoid("xor", "xor", lambda x, y: x ^ y, np.bitwise_xor, _zero, laws=_BITS, clause="^")
monoid("logsumexp", "logaddexp", lambda x, y: call("logaddexp", x, y), np.logaddexp, lambda dtype: -np.inf)

# max and min are right for numbers; nan_max and nan_min keep a NaN that they have, for then neither comparison holds
# for a number, and take one that comes.
monoid("max", "fold_max", lambda x, y: choose(follows(y, x), y, x, whole=True), np.fmax, _lowest, clause="max",
       of_two=lambda x, y: np.where(y > x, y, x))
monoid("min", "fold_min", lambda x, y: choose(follows(x, y), y, x, whole=True), np.fmin, _highest, clause="min",
       of_two=lambda x, y: np.where(y < x, y, x))
monoid("nan_max", "nan_max", lambda x, y: choose(either(y > x, y.differs(y)), y, x), np.maximum, _lowest)
monoid("nan_min", "nan_min", lambda x, y: choose(either(y < x, y.differs(y)), y, x), np.minimum, _highest)

# These keep a NaN that they have, and take none that comes: where NaNs are taken in besides.
monoid("number_max", "number_max", lambda x, y: call("number_max", x, y), np.maximum, _lowest,
       of_two=lambda x, y: np.where(y > x, y, x))
monoid("number_min", "number_min", lambda x, y: call("number_min", x, y), np.minimum, _highest,
       of_two=lambda x, y: np.where(y < x, y, x))
