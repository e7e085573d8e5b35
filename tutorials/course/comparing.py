"""Where two values differ first, in words: `difference(expected, got)`."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from course.running import Raised

RTOL = 1e-5
"""Floating-point numbers may differ by rounding."""


def difference(expected: Any, got: Any) -> str:
    """The first place where two values differ; the empty string if they are the same.

    Tuples and lists are alike; arrays must have the same shape and dtype; numbers may differ by rounding.

    >>> difference([1, (2, 3)], [1, [2, 4]])
    'at [1][1]: expected 3, got 4'
    >>> difference("a\\nb", "a\\nc")
    "in line 2: expected 'b', got 'c'"
    """
    return _difference(expected, got, "")


def same(expected: Any, got: Any) -> bool:
    """Whether there is no difference."""
    return not difference(expected, got)


def _difference(expected: Any, got: Any, path: str) -> str:
    if isinstance(expected, Raised) or isinstance(got, Raised):
        return "" if _kind(expected) == _kind(got) else _differs(expected, got, path)
    if isinstance(expected, str) and isinstance(got, str):
        return _of_texts(expected, got, path)
    if _is_array(expected) and _is_array(got):
        return _of_arrays(np.asarray(expected), np.asarray(got), path)
    if _is_number(expected) and _is_number(got):
        return "" if _close(expected, got) else _differs(expected, got, path)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return _of_mappings(expected, got, path)
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        return _of_sequences(expected, got, path)
    if callable(expected) and callable(got):
        return ""
    return "" if _equal(expected, got) else _differs(expected, got, path)


def _of_texts(expected: str, got: str, path: str) -> str:
    ours, theirs = without_addresses(expected).splitlines(), without_addresses(got).splitlines()
    for line, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if one != other:
            return _differs(one, other, path, f"in line {line}" if len(ours) > 1 else "")
    if len(ours) != len(theirs):
        return _differs(f"{len(ours)} lines", f"{len(theirs)} lines", path, show=str)
    return ""


def _of_arrays(expected: Any, got: Any, path: str) -> str:
    if (expected.shape, expected.dtype) != (got.shape, got.dtype):
        types = [f"{x.dtype.name}[{','.join(map(str, x.shape))}]" for x in (expected, got)]
        return _differs(types[0], types[1], path, "in the type", show=str)
    for at in np.ndindex(expected.shape):
        if not _close(expected[at], got[at]):
            place = f"[{', '.join(map(str, at))}]" if at else ""
            return _differs(expected[at], got[at], path + place, show=str)
    return ""


def _of_mappings(expected: Mapping[Any, Any], got: Mapping[Any, Any], path: str) -> str:
    if set(expected) != set(got):
        return _differs(list(expected), list(got), path, "in the keys")
    for key in expected:
        if found := _difference(expected[key], got[key], f"{path}[{key!r}]"):
            return found
    return ""


def _of_sequences(expected: Any, got: Any, path: str) -> str:
    for i, (one, other) in enumerate(zip(expected, got, strict=False)):
        if found := _difference(one, other, f"{path}[{i}]"):
            return found
    if len(expected) != len(got):
        return _differs(f"{len(expected)} items", f"{len(got)} items", path, show=str)
    return ""


def _differs(expected: Any, got: Any, path: str, place: str = "", show: Any = repr) -> str:
    where = " ".join(filter(None, [f"at {path}" if path else "", place]))
    texts = [str(x) if isinstance(x, Raised) else show(x) for x in (expected, got)]
    return f"{where + ': ' if where else ''}expected {texts[0]}, got {texts[1]}"


def _kind(value: Any) -> object:
    return value.kind if isinstance(value, Raised) else None


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "__array__")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number) and not _is_array(value)


def _close(expected: Any, got: Any) -> bool:
    if isinstance(expected, (bool, np.bool_)) != isinstance(got, (bool, np.bool_)):
        return False
    if isinstance(expected, int) and isinstance(got, int):
        return expected == got
    if isinstance(expected, (complex, np.complexfloating)):
        return bool(np.isclose(expected, got, rtol=RTOL, equal_nan=True))
    expected, got = float(expected), float(got)
    return math.isclose(expected, got, rel_tol=RTOL, abs_tol=1e-6) or (math.isnan(expected) and math.isnan(got))


def _equal(expected: Any, got: Any) -> bool:
    """Objects without an equality of their own are the same if they print the same, their addresses left out."""
    try:
        if expected == got:
            return True
    except Exception:
        return False
    has_own = "__eq__" in {name for base in type(expected).__mro__[:-1] for name in vars(base)}
    return not has_own and without_addresses(str(expected)) == without_addresses(str(got))


def without_addresses(text: str) -> str:
    """A text without the addresses that Python's own reprs hold, which differ from run to run.

    >>> without_addresses("<function f at 0x7f00>")
    '<function f>'
    """
    return re.sub(r" at 0x[0-9a-f]+|\bid=\d+", "", text)
