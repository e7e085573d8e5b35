"""Why a case is above 2 of the best rival, or above 1.2 of JAX: what the rival does that is something else, or what
limits us. The table of the sweep prints them beside the cases; none is left out for having a reason."""
from __future__ import annotations

import fnmatch
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Why some cases miss, and which."""

    why: str
    names: str
    """Functions, separated by blanks; `*` stands for anything."""
    dtypes: str = "*"
    """The same for dtypes."""
    least: int = 0
    most: int = sys.maxsize
    calls: str = "*"
    """`jitted` or `un-jitted`, where it is so for these alone."""

    def holds(self, full_name: str, size: int, dtype: str, jitted: bool) -> bool:
        """Is this the reason for a case?"""
        return (any(fnmatch.fnmatchcase(full_name, pattern) for pattern in self.names.split())
                and any(fnmatch.fnmatchcase(dtype, pattern) for pattern in self.dtypes.split())
                and self.least <= size <= self.most and self.calls in ("*", "jitted" if jitted else "un-jitted"))


REASONS = (
    Reason("a copy of 4 KB: calls of Python around it, which keep where it lies", "numpy.array", most=10_000),
    Reason("the samples are JAX's to the bit, a hash for each; NumPy's generator counts on", "random.*"),
    Reason("from 1 MiB on elements that are reordered are copied, as JAX's are; NumPy shows its argument",
           "numpy.flip* numpy.rot90 numpy.moveaxis *.matrix_transpose", least=100_000, calls="jitted"),
    Reason("what lies apart, or is repeated, is written out, as JAX's is; NumPy shows its argument",
           "numpy.diag numpy.diagonal numpy.linalg.diagonal lax.broadcast", least=1_000_000),
    Reason("from 1 MiB on the parts of complex numbers are copied side by side, as JAX's are; NumPy shows them",
           "numpy.imag numpy.real lax.imag lax.real", "complex*", least=100_000),
    Reason("two selections, as JAX's, and what lies between; NumPy moves the elements once", "numpy.partition"),
    Reason("NumPy takes bfloat16 for no float, and copies", "numpy.nan_to_num", "bfloat16"),
    Reason("the steps of JAX's logarithm, and a quotient; with AVX-512 NumPy has Intel's functions",
           "numpy.log2 numpy.log10", "float32 float16"),
    Reason("powers in double precision, as float32's; JAX's in single precision", "numpy.vander", "float16"),
    Reason("in double precision, rounded once: without AVX-512 four to a vector, where JAX's floats are eight",
           "*.ndtr *.digamma"),
    Reason("integers are compared with themselves; jitted they are not read", "numpy.isnan", "int*", calls="un-jitted"),
    Reason("an Array is made for each row", "numpy.unstack"),
    Reason("a quotient, rounded once; JAX's programs multiply by the rounded reciprocal of a known number",
           "numpy.linspace numpy.fft.*fftfreq nn.hard_s*", "float32 float64", least=10_000),
    Reason("a call of a program, and an Array of its own; NumPy answers with its argument or what it has at hand",
           "numpy.asarray numpy.shape", calls="jitted"),
    Reason("in double precision, within 0.5 ulp; NumPy's is within 1", "*.asinh numpy.arcsinh *.pow numpy.power",
           "float32 float16"),
)


def reason_of(module: str, name: str, size: int, dtype: str, jitted: bool) -> str:
    """Return what is known of a case that misses, "" if nothing is.

    >>> reason_of("numpy", "unstack", 1000, "int8", False)
    'an Array is made for each row'
    >>> reason_of("numpy", "tan", 1000, "float64", False)
    ''
    """
    full_name = f"{module}.{name}"
    return next((reason.why for reason in REASONS if reason.holds(full_name, size, dtype, jitted)), "")
