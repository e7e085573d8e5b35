"""What the extension `_runtime` offers while nothing is compiled: the texts of csrc/, and a number of threads."""
from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

PLACES = (Path(__file__).parent / "csrc", Path(__file__).parents[2] / "csrc")
"""Where the C texts are: in a pure wheel, in a checkout."""


class ffi:  # noqa: N801 (cffi's name)
    """The part of cffi's interface that is used while nothing is loaded."""

    CData = Any

    @staticmethod
    def def_extern(**options: Any) -> Callable[[Any], Any]:
        """Return a decorator that leaves the function as it is: no C calls it."""
        return lambda function: function

    @staticmethod
    def string(text: bytes) -> bytes:
        """Return a text as it is."""
        return text

    @staticmethod
    def from_buffer(kind: str, array: Any) -> Any:
        """Return an array as it is."""
        return array

    @staticmethod
    def cast(kind: str, value: int) -> int:
        """Return an address as it is."""
        return value

    @staticmethod
    def addressof(library: Any, name: str) -> int:
        """Return no address: there is no function of C."""
        return 0


class _Library:
    """The functions of csrc/ that have a meaning without C."""

    tt_python_callback = tt_python_factorization = None
    _threads = 1

    def tt_set_callback(self, function: Any) -> None:
        """Take the function that programs would call."""

    def tt_set_factorization(self, function: Any) -> None:
        """Take the function that programs would call for factorizations."""

    def tt_host_abi(self) -> int:
        """Return the version of the host's interface: there is none that programs could call."""
        return 0

    def tt_set_threads(self, threads: int) -> None:
        """Take a number of threads: NumPy uses its own."""
        self._threads = max(threads, 1)

    def tt_threads(self) -> int:
        """Return the number of threads."""
        return self._threads

    def tt_fma_array_f32(self, size: int, a: Any, b: Any, c: Any, out: Any) -> None:
        """Put `a * b + c` into `out`, rounded once: the product is exact in float64, and its sum is rounded to odd."""
        # Source: S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
        # rounding to odd", 2008. The error of the sum is Knuth's TwoSum.
        with np.errstate(all="ignore"):
            product, wide = a.astype(np.float64) * b, c.astype(np.float64)
            total = product + wide
            part = total - product
            error = (product - (total - part)) + (wide - part)
            even = (total.view(np.int64) & 1 == 0) & (error != 0) & np.isfinite(total)
            out[...] = np.where(even, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)

    def tt_fma_array_f64(self, size: int, a: Any, b: Any, c: Any, out: Any) -> None:
        """Put `a * b + c` into `out`, rounded once, with Python's fractions."""
        for k, (x, y, z) in enumerate(zip(a.flat, b.flat, c.flat, strict=True)):
            out.flat[k] = _fused(float(x), float(y), float(z))

    def tt_sort(self, size: int, kind: int, outer: int, n: int, inner: int, x: Any, out: Any) -> int:
        """Put the elements of `x` into `out`, in rising order, NaN last; returns that nothing failed."""
        out[...] = np.sort(x, kind="stable")
        return 0

    def tt_source_count(self) -> int:
        """Return how many texts there are."""
        return len(_texts())

    def tt_source_name(self, number: int) -> bytes:
        """Return the name of a text."""
        return _texts()[number][0].encode()

    def tt_source_text(self, number: int) -> bytes:
        """Return a text."""
        return _texts()[number][1].encode()


def _fused(x: float, y: float, z: float) -> float:
    plain = x * y + z
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return plain
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact) if exact else plain
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


lib = _Library()


@cache
def _texts() -> list[tuple[str, str]]:
    """Return (name, text) of what csrc/embedded.txt lists."""
    folder = next((place for place in PLACES if (place / "embedded.txt").is_file()), None)
    if folder is None:
        raise FileNotFoundError(f"the C texts are in none of {', '.join(map(str, PLACES))}: this copy of tinytrace is "
                                "not complete; install it again, or run it from a checkout")
    paths = [path for line in (folder / "embedded.txt").read_text().split() for path in sorted(folder.glob(line))]
    return [(path.relative_to(folder).as_posix(), path.read_text()) for path in paths]
